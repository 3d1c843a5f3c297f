/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the queues of links as commands for "tc -batch", one a line. */
#pragma once

#include <optional>
#include <string>

#include "fabric.hpp"

namespace mrclab
{
/*
 * Parameters of the module sch_mrcsw. tc(8) cannot pass options to its qdiscs:
 * they take the module's parameters of the moment in which they are made.
 */
struct SwitchPort {
	uint64_t ecn_min = 0;	 /* bytes of the queue */
	uint64_t ecn_max = 0;	 /* 0: no marking */
	uint64_t trim_bytes = 0; /* 0: no trimming */
	uint64_t trim_len = 132;
	uint64_t data_limit = 4 << 20;

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const SwitchPort &) const = default;
};

struct Queues {
	std::string commands; /* impairments and rate; may be empty */
	/* The queue that marks and trims, if there is one. */
	std::optional<SwitchPort> port;
	std::string port_command; /* needs the parameters of @port */
};

/*
 * The queues of a netdev that has none. @last_hop: it leads to the host that
 * packets are for, so that trimmed packets get the codepoint for that.
 *
 * Packets pass delay and loss first, then the rate, in whose queue marking and
 * trimming are. Throws UsageError for combinations that cannot be.
 */
Queues queues_of(const std::string &netdev, const LinkProps &props,
		 bool last_hop);

/* Throws UsageError if a bucket or a queue cannot hold one packet of @mtu. */
void check_room(const LinkProps &props, uint32_t mtu);
} // namespace mrclab
