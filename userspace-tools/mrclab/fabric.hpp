/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: a fabric as its file describes it. Two tiers in each plane: every
 * host has one netdev in each plane, connected to one T0 of that plane; every
 * T0 has a link to every T1 of its plane.
 */
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mrclab
{
/*
 * One direction of a link. Members without a value change nothing; a link
 * without a rate is as fast as the machine, and no queue builds up in it.
 */
struct LinkProps {
	std::optional<uint64_t> rate;	  /* bit/s; 0: none */
	std::optional<uint64_t> burst;	  /* bytes that pass at once */
	std::optional<uint64_t> delay;	  /* ns */
	std::optional<uint64_t> jitter;	  /* ns, on both sides of the delay */
	std::optional<double> loss;	  /* share of packets, 0 to 1 */
	std::optional<double> corrupt;	  /* share with one wrong bit */
	std::optional<double> duplicate;  /* share sent twice */
	std::optional<double> reorder;	  /* share sent without the delay */
	std::optional<uint64_t> queue;	  /* bytes, then packets are dropped */
	std::optional<uint64_t> mark_min; /* bytes, ECN from here on ... */
	std::optional<uint64_t> mark_max; /* ... and on every packet here */
	std::optional<uint64_t> trim;	  /* bytes, then packets are trimmed */
	std::optional<uint64_t> trim_len; /* bytes of a trimmed IP packet */

	/* Members of @over that have a value replace those of this. */
	void apply(const LinkProps &over);
	bool empty() const;
	bool operator==(const LinkProps &) const = default;
};

enum class Forwarding { srv6, ecmp, both };
enum class Devices { none, mrc, rxe };

/* Settings for the links whose names match a pattern of fnmatch(3). */
struct LinkRule {
	std::string pattern;
	LinkProps props;
	int line = 0;
};

/* Profiles of mrcctl(8) for the paths between all hosts. */
struct Profiles {
	/*
	 * false: queue pairs make their own paths. A file that does not say
	 * has what needs_evs() returns.
	 */
	bool evs = false;
	std::string cc; /* congestion control algorithm; empty: none */
	std::vector<std::pair<std::string, std::string>> cc_params;
};

struct Fabric {
	std::string file;   /* for messages */
	std::string name;   /* of the fabric */
	std::string prefix; /* of its namespaces */
	uint32_t planes = 0;
	uint32_t t0 = 0;    /* of each plane */
	uint32_t t1 = 0;    /* of each plane; 0: hosts of one T0 alone */
	uint32_t hosts = 0; /* of each T0 */
	Forwarding forwarding = Forwarding::srv6;
	uint32_t mtu = 4500;
	uint16_t block = 0xfcbb;  /* first 16 bits of every IPv6 address */
	uint16_t block4 = 0x0a01; /* first 16 bits of every IPv4 address */
	Devices devices = Devices::mrc;
	std::string device =
		"mrc";	      /* device names: this and the host's number */
	LinkProps host_links; /* both directions */
	LinkProps fabric_links;
	std::vector<LinkRule> rules; /* later ones win */
	Profiles profiles;
	std::map<std::string, int> lines; /* of the file's keys */

	uint32_t all_hosts() const { return t0 * hosts; }
	bool srv6() const { return forwarding != Forwarding::ecmp; }
	bool ecmp() const { return forwarding != Forwarding::srv6; }
	/* Are paths that queue pairs make by themselves not forwarded? */
	bool needs_evs() const
	{
		return devices == Devices::mrc && srv6() && !ecmp();
	}
	/* Line of @key in the file, 0 if it is not there. */
	int line_of(const std::string &key) const;
};
} // namespace mrclab
