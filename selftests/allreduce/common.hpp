/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_allreduce: what every file needs.
 */
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/say.hpp"

using Clock = std::chrono::steady_clock;

/* How the end of a message is told to its receiver. */
enum class Op {
	imm,   /* by the completion of a receive, for a WRITE_IMM */
	flag,  /* by a word in memory that the sender writes afterwards */
	mixed, /* rounds of one kind and of the other in turn */
};

struct Options {
	unsigned rank = 0;
	unsigned ranks = 0;
	std::string dev;
	std::string gid;
	std::string root; /* management address of rank 0 */
	uint16_t port = 18700;
	unsigned qps = 1; /* per neighbour and direction of the data */
	Op op = Op::imm;
	bool inline_data = false;
	uint64_t rounds = 0; /* 0: until SIGINT reaches rank 0 */
	std::vector<uint32_t> counts{1, 6, 1023, 4096, 20001};
	uint32_t piece = 4096; /* bytes of one WRITE */
	unsigned timeout = 18; /* MRC_QP_TIMEOUT */
	unsigned stall = 60;   /* seconds without progress */
	uint64_t report = 1;   /* rank 0 tells every so many rounds */
	uint64_t seed = 0x5eed;
	bool timed = false; /* rank 0 tells how long each round took */
};
