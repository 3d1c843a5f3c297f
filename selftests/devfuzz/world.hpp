/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The objects of one program, and what actions share. An action returns 0, the
 * errno of the call that it made, or nothing_to_do if the objects that it needs
 * are missing.
 */
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mrc.h>

#include <infiniband/verbs.h>

#include "board.hpp"
#include "options.hpp"
#include "rng.hpp"

namespace devfuzz
{
constexpr int nothing_to_do = -1;

struct Region {
	ibv_mr *mr;
	uint64_t addr;
	uint64_t len;
};

struct Queue_pair {
	ibv_qp *qp;  /* or */
	mrc_qp *mrc; /* of libMRC */
	ibv_qp_type type;
	uint32_t slot; /* on the board, or nobody */
	uint32_t peer; /* likewise */
	uint32_t psn;
	uint32_t inline_bytes;
	bool has_srq;
	bool up; /* was RTS */
};

class World
{
public:
	/* Opens the device. Throws Failure. */
	World(Board &board, const Host &host, uint64_t seed);
	World(const World &) = delete;
	World &operator=(const World &) = delete;
	~World();

	/* Destroys all objects in some order, in rounds while that gets
	 * further. */
	void destroy_all();

	/* Has a peer written where it has no key for? */
	bool guard_intact() const;

	/* A place in the memory that regions are made of. */
	std::span<uint8_t> some_memory(uint64_t longest);
	ibv_sge some_sge();
	/* One that is connected, mostly; there is at least one. */
	Queue_pair &busy_qp();
	ibv_gid some_gid(uint8_t &port, uint8_t &index);

	template <typename T> T *some(std::vector<T *> &from)
	{
		return from.empty() ? nullptr : rng.pick(from);
	}

	/* Removes and returns one of them. */
	template <typename T> T take(std::vector<T> &from)
	{
		const std::size_t i = rng.below(from.size());
		T one = from[i];

		from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
		return one;
	}

	/* Keeps a new object; the errno if there is none. */
	template <typename T> static int keep(std::vector<T *> &all, T *made)
	{
		if (!made)
			return errno;
		all.push_back(made);
		return 0;
	}

	/* Ends one of at least @least objects, which stays if @end fails. */
	template <typename T, typename F>
	int end_one(std::vector<T> &all, std::size_t least, F end)
	{
		if (all.size() < least)
			return nothing_to_do;
		T one = take(all);
		const int err = end(one);

		if (err)
			all.push_back(one);
		return err;
	}

	Board &board;
	Rng rng;
	ibv_context *ctx = nullptr;
	mrc_context *mrc = nullptr;
	unsigned ports = 1;
	std::vector<ibv_pd *> pds;
	std::vector<Region> mrs;
	std::vector<ibv_mw *> mws;
	std::vector<ibv_comp_channel *> channels;
	std::vector<ibv_cq *> cqs;
	std::vector<mrc_cq *> mrc_cqs;
	std::vector<mrc_cq *> event_cqs;
	std::vector<ibv_srq *> srqs;
	std::vector<Queue_pair> qps;
	std::vector<ibv_ah *> ahs;
	std::vector<mrc_qp_hint *> hints;
	std::vector<ibv_gid> gids; /* of port 1 */

	static constexpr std::size_t arena_size = 4 << 20;
	uint8_t *arena = nullptr;

private:
	uint8_t *guard_ = nullptr;
	ibv_mr *guard_mr_ = nullptr;
	ibv_pd *guard_pd_ = nullptr;
};

/* A function of the table of actions. */
struct Action {
	const char *name;
	unsigned weight; /* how often, in proportion to others */
	int (*run)(World &w);
};

std::span<const Action> memory_actions();
std::span<const Action> queue_actions();
std::span<const Action> qp_actions();
std::span<const Action> traffic_actions();
std::span<const Action> mrc_actions();
std::span<const Action> control_actions();
std::span<const Action> device_actions();

/* Of two files. */
int destroy_qp(World &w, Queue_pair &q);
} // namespace devfuzz
