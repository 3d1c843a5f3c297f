/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: which agent probes what. The plan follows from the fabric's file
 * alone: every agent and the collector make the same one.
 */
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "config.hpp"
#include "topology.hpp"

namespace mrcmap
{
using Address = std::array<uint8_t, 16>;

/* From the text of an IPv6 address, which must be one. */
Address address(const std::string &text);

enum class PathKind {
	t0,    /* agent, its T0, agent */
	t1,    /* agent, T0, T1, T0, agent */
	cross, /* agent, T0, a T1, another T0, another T1, T0, agent */
	peer,  /* agent, T0, another host; or over a T1 */
};

const char *kind_name(PathKind kind);

struct ProbePath {
	uint32_t id = 0; /* index into Plan::paths() */
	PathKind kind = PathKind::t0;
	uint32_t host = 0;     /* who sends */
	uint32_t receiver = 0; /* who counts; the sender but for peer */
	uint32_t plane = 0;
	std::vector<mrclab::Direction> hops;
	std::string outer;     /* destination of the outer header */
	uint64_t interval = 0; /* ns from one probe to the next */

	bool one_way() const { return kind == PathKind::peer; }
};

class Plan
{
public:
	/* Throws mrclab::FileError if the fabric does not forward by SRv6, or
	 * has more nodes than there are addresses.
	 */
	Plan(const mrclab::Topology &topology, const Config &config);

	const std::vector<ProbePath> &paths() const { return paths_; }
	/* Ids of the paths that a host sends on; and of peers' to it. */
	const std::vector<uint32_t> &sent_by(uint32_t host) const;
	const std::vector<uint32_t> &peers_to(uint32_t host) const;
	/* Of everything that sender and receiver must agree upon. */
	uint64_t digest() const { return digest_; }

private:
	void add(ProbePath path);
	void add_host(const mrclab::Topology &t, uint32_t host, uint32_t plane);
	void add_cross(const mrclab::Topology &t, uint32_t host, uint32_t plane,
		       uint32_t spine, uint32_t turn);
	void add_peers(const mrclab::Topology &t, uint32_t host,
		       uint32_t plane);
	void set_intervals(const mrclab::Topology &t, const Config &config);
	void set_digest(const mrclab::Topology &t, const Config &config);

	std::vector<ProbePath> paths_;
	std::vector<std::vector<uint32_t>> sent_by_;  /* by host - 1 */
	std::vector<std::vector<uint32_t>> peers_to_; /* by host - 1 */
	uint64_t digest_ = 0;
};
} // namespace mrcmap
