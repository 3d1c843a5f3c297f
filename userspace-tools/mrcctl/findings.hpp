/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl doctor: what is wrong, and what mends it. */
#pragma once

#include <string>
#include <vector>

#include "snapshot.hpp"

namespace mrcctl::doctor
{
enum class Level { ok, note, warning, error };

struct Finding {
	Level level = Level::ok;
	std::string check{};  /* a word for programs: "route" */
	std::string device{}; /* "" = of the machine */
	uint32_t port = 0;    /* 0 = of the whole device */
	std::string peer{};
	std::string text{}; /* a sentence */
	std::string fix{};  /* a command; "" = nothing to do */
};

using Findings = std::vector<Finding>;

/* In the order of checks; the worst of a check is not first. */
Findings findings(const Snapshot &s);

std::string level_name(Level l);
std::string text_of(const Findings &list);
Json json_of(const Findings &list);
/* Whether one of them is an error. */
bool has_errors(const Findings &list);

/* --- the parts of findings(), each in a file of its own ------------------- */

void check_machine(const Snapshot &s, Findings &out);
void check_device(const Snapshot &s, const SeenDevice &d, Findings &out);
void check_gids(const SeenDevice &d, Findings &out);
void check_network(const Snapshot &s, const SeenDevice &d, Findings &out);
void check_peers(const Snapshot &s, Findings &out);

/*
 * The address of the family that all ports with a netdev have, and that
 * connections therefore can use on every plane; "" without one. Link-local
 * addresses do not count.
 */
std::string common_address(const SeenDevice &d, bool ipv4);

/* @s as one word of a shell: names of netdevs may have any sign. */
std::string shell_word(const std::string &s);
/* The part of a sysctl's name that is a netdev: dots in it become slashes. */
std::string sysctl_name(std::string netdev);

/* Payload of packets that a netdev of this MTU carries; 0 if none fits. */
uint64_t active_mtu(uint64_t netdev_mtu);
} // namespace mrcctl::doctor
