/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: options. Local ones belong to one side; test options are given
 * to the client, which sends them to the server.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

enum class Op { write, write_imm, mixed };

/* What both sides must agree on. */
struct TestOptions {
	int mtu = 0; /* bytes, 0 = the smaller active MTU */
	std::vector<uint32_t> sizes = {4096};
	uint64_t iters = 0;  /* per QP and direction; 0: the test's default */
	double duration = 0; /* seconds, 0 = count iters */
	Op op = Op::write_imm;
	bool inline_data = false;
	unsigned sges = 1;
	bool unaligned = false;
	unsigned unsignalled = 1;
	bool sig_all = false;
	unsigned post_list = 1;
	bool ex = false;
	bool cq_ex = false;
	bool events = false;
	bool solicited = false;
	bool resize_cq = false;
	unsigned qps = 1;
	bool bidir = false;
	unsigned depth = 16;
	int timeout = 14;
	int retry = 7;
	int rnr_retry = 7;
	int min_rnr = 12;
	uint64_t seed = 1;
	double watchdog = 30;	   /* seconds */
	std::vector<uint32_t> mpr; /* empty: no Dynamic MPR */
	bool peer_gone = false;
	bool blackhole = false;
	double expect_min_ms = -1;
	double expect_max_ms = -1;
	unsigned churn = 0;
	std::string error_test;
	std::string ext_test;
	uint32_t ext_max = 120000; /* longest message of such a test */
	bool hostile = false;

	uint32_t max_size() const;
	std::string encode() const;
	/* Throws Failure for anything that is not an encoding. */
	static TestOptions decode(const std::string &text);
};

struct LocalOptions {
	std::string dev;
	int ib_port = 1;
	int gid_index = -1;
	std::string gid;
	uint16_t port = 18600;
	std::string bind;
	std::optional<uint64_t> ev_profile; /* none: the device's default */
	std::optional<uint64_t> cc_profile;
	double accept_timeout = 30;
	double connect_timeout = 30;
	bool quiet = false;
	std::string server; /* empty: this is the server */
};

struct Options {
	LocalOptions local;
	TestOptions test;
};

/* Prints usage and exits with status 2 on errors. */
Options parse_options(int argc, char **argv);
