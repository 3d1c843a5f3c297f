/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl plane: what makes a netdev a plane of this host, as changes that can
 * be taken back. Nothing here touches the system.
 */
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json.hpp"

namespace mrcctl::plane
{
struct WantedRoute {
	std::string prefix; /* "10.1.0.2/32" */
	std::string via{};  /* "" = on link */
	std::optional<uint64_t> metric{};
};

struct Wanted {
	std::string netdev;
	std::optional<uint64_t> mtu{};
	std::vector<std::string> addresses{}; /* "10.1.0.1/32" */
	std::vector<WantedRoute> routes{};
};

/* The netdev as it is. */
struct Present {
	bool there = false;
	uint64_t index = 0;
	uint64_t mtu = 0;
	bool up = false;
	std::set<std::string> addresses{}; /* as in Wanted */
	/* Of this netdev; "default" is written as 0.0.0.0/0 or ::/0. */
	std::set<std::string> routes{};
	/* By name: "net.ipv4.conf.all.rp_filter". */
	std::map<std::string, uint64_t> sysctls{};
};

enum class Kind { mtu, up, address, route, sysctl };

/* A change, with what is needed to take it back. */
struct Step {
	Kind kind = Kind::mtu;
	std::string netdev;
	std::string name;   /* the address, the prefix, the sysctl */
	std::string from{}; /* the value before */
	std::string to{};
	std::string via{};
	std::string source{};
	std::string metric{};
};

using Steps = std::vector<Step>;

/* What is missing; in this order. Throws UsageError if it cannot be. */
Steps steps_to(const Wanted &w, const Present &now);

std::vector<std::string> make_command(const Step &s);
std::vector<std::string> undo_command(const Step &s);
/* Whether the change is still there, so that it can be taken back. */
bool in_effect(const Step &s, const Present &now);
/* Sysctls of "all" concern the other planes, too. */
bool is_shared(const Step &s);

/* Names of sysctls that steps_to() looks at. */
std::vector<std::string> sysctl_names(const std::string &netdev);

/* The changes of each plane, by netdev. */
using Planes = std::map<std::string, Steps>;

/*
 * Takes a plane from @planes and returns what is to be undone, the last first.
 * What other planes need as well goes to one of them.
 */
Steps take(Planes &planes, const std::string &netdev);

std::string state_text(const Planes &planes);
/* Throws DeviceError if the text is none that state_text() has made. */
Planes planes_in(const std::string &text, const std::string &file);
} // namespace mrcctl::plane
