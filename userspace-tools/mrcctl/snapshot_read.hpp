/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl doctor: reads the snapshot from a machine. Changes nothing. */
#pragma once

#include "backend.hpp"
#include "host.hpp"
#include "snapshot.hpp"

namespace mrcctl::doctor
{
/*
 * Looks at the device @wanted, or at all if it is "", and at the ways to
 * @peers, which are addresses. What cannot be read is missing in the result;
 * nothing is thrown for it.
 */
Snapshot read_snapshot(Host &host, System &system, const std::string &wanted,
		       const std::vector<std::string> &peers);

/* --- parts, each in a file of its own ------------------------------------- */

/* The netdevs of the ports, and what the kernel says of them. */
void read_ports(Host &host, SeenDevice &d);
void read_firewall(Host &host, Snapshot &s);
void read_paths(Host &host, const SeenDevice &d, const std::string &peer,
		std::vector<SeenPath> &out);
/* After the probes, which resolve neighbours. */
void read_neighbour(Host &host, const std::string &netdev, SeenPath &path);
} // namespace mrcctl::doctor
