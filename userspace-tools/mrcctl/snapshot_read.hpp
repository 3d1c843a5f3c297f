/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl doctor: reads the snapshot from a machine. Changes nothing. */
#pragma once

#include <functional>
#include <span>

#include "backend.hpp"
#include "host.hpp"
#include "snapshot.hpp"

namespace mrcctl::doctor
{
/* The time, and whom to tell how far the probes of a peer are. */
struct Probing {
	std::function<uint64_t()> now_ns;
	std::function<void(const std::string &peer, std::size_t done,
			   std::size_t all)>
		progress;
};

/*
 * Looks at the device @wanted, or at all if it is "", and at the ways to
 * @peers, which are addresses. What cannot be read is missing in the result;
 * nothing is thrown for it.
 */
Snapshot read_snapshot(Host &host, System &system, const std::string &wanted,
		       const std::vector<std::string> &peers,
		       const Probing &how);

/* --- parts, each in a file of its own ------------------------------------- */

/* The netdevs of the ports, and what the kernel says of them. */
void read_ports(Host &host, SeenDevice &d);
void read_firewall(Host &host, Snapshot &s);
void read_paths(Host &host, const SeenDevice &d, const std::string &peer,
		std::vector<SeenPath> &out);
/*
 * Probes the EVs that queue pairs to this peer have: those of the profile, as
 * they go on the wire, or source ports like those that the device makes. Adds
 * what came of it to @paths, or to @silences why the peer was not probed. @dev
 * may be nullptr.
 */
void probe_peer(Backend *dev, const SeenDevice &d, const std::string &peer,
		uint32_t num_evs, const Probing &how, std::span<SeenPath> paths,
		std::vector<SeenSilence> &silences);
/* After the probes, which resolve neighbours. */
void read_neighbour(Host &host, const std::string &netdev, SeenPath &path);
} // namespace mrcctl::doctor
