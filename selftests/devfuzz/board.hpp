/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that all programs of a run share. They announce queue pairs there, so
 * that others connect to them, and count what they did. A program gone wild may
 * overwrite it: readers check what they read.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <infiniband/verbs.h>

#include "options.hpp"

namespace devfuzz
{
constexpr unsigned max_announced = 256;
constexpr unsigned max_actions = 96;
constexpr uint32_t nobody = ~0u;

/* A queue pair, and a region that its peer may use. */
struct Announced {
	std::atomic<uint32_t> state; /* 0 free, 1 being written, 2 announced */
	std::atomic<uint32_t>
		peer;  /* index, nobody: connects to the first that asks */
	uint32_t type; /* enum ibv_qp_type */
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;
	uint64_t addr;
	uint64_t len;
	ibv_gid gid;
	pid_t owner;
};

struct Board {
	std::array<Announced, max_announced> qps;
	std::array<std::atomic<uint64_t>, max_actions> done, refused;
	/* By place: how many actions its program has begun, and the one that it
	 * is in. */
	std::array<std::atomic<uint64_t>, max_places> begun;
	std::array<std::atomic<uint32_t>, max_places> current;
	std::array<std::atomic<uint64_t>, kinds> lives;
	std::atomic<uint64_t> calls_changed, calls_repeated, rings_changed,
		no_memory;
	std::atomic<uint64_t> connected, completions, packets_sent,
		packets_seen;

	/* In memory that children share. Throws Failure. */
	static Board &make();

	/* The index of a free entry, which is now the caller's; nobody: all are
	 * taken. */
	uint32_t claim();
	void announce(uint32_t index);
	void forget(uint32_t index);
	/* What a program that has ended had announced. */
	void forget_all_of(pid_t owner);
	/* An announced one of that type without a peer, which now has @self. */
	uint32_t find_peer(uint32_t self, uint32_t type, bool own_too);
	bool is_announced(uint32_t index) const;
};
} // namespace devfuzz
