/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl doctor: what netfilter does with packets to a UDP port, from what
 * "nft -j list ruleset" prints. Conditions that cannot be judged may be true or
 * false, so the answer has three values.
 */
#pragma once

#include <cstdint>
#include <string>

#include "json.hpp"

namespace mrcctl::doctor
{
/* Of the chain that is the worst for the packets. */
struct Passage {
	enum class Fate { passes, may_drop, drops };

	Fate fate = Fate::passes;
	std::string family; /* of the chain that drops */
	std::string table;
	std::string chain;

	bool operator==(const Passage &) const = default;
};

enum class Way { in, out };

/*
 * @ruleset is the whole document; throws Json::exception if it is not one.
 * Text in it is hostile, so names that are not plain make no command.
 */
Passage passage(const Json &ruleset, Way way, const std::string &netdev,
		uint64_t udp_port);
} // namespace mrcctl::doctor
