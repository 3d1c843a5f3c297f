/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl doctor: what was seen of the machine. The findings follow from this
 * alone. A value that is missing could not be read.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "firewall.hpp"
#include "gids.hpp"
#include "model.hpp"

namespace mrcctl::doctor
{
/* Values that hold for a netdev: the stricter of "all" and its own. */
struct SeenSysctls {
	std::optional<uint64_t> rp_filter{};
	std::optional<uint64_t> arp_ignore{};
	std::optional<uint64_t> arp_filter{};
	std::optional<uint64_t> disable_ipv6{};
	/* Of the whole namespace. */
	std::optional<uint64_t> udp_l3mdev_accept{};
};

/* What the firewall does with packets to a UDP port. */
struct SeenPassage {
	Way way;
	uint64_t udp_port;
	Passage passage;
};

struct SeenPort {
	uint32_t num = 0;
	std::string state{}; /* "ACTIVE" */
	std::string netdev{};
	/* Whether the netdev is in this network namespace. */
	bool here = false;
	std::optional<uint64_t> master{}; /* index of the netdev above it */
	std::string vrf{};		  /* name of the master, if it is one */
	std::optional<bool> enabled{};	  /* by the controller */
	std::optional<uint64_t> mtu{};
	std::optional<bool> up{};      /* administrative state of the netdev */
	std::optional<bool> carrier{}; /* unreadable while the netdev is down */
	SeenSysctls sysctls{};
	std::vector<Gid> gids{};
	std::vector<SeenPassage> passages{};
};

struct SeenEvs {
	uint64_t good = 0, skip = 0, assumed_bad = 0, denied = 0;

	uint64_t all() const { return good + skip + assumed_bad + denied; }
};

/* EVs of queue pairs or of a profile on a port. */
struct SeenPortEvs {
	uint32_t port = 0;
	SeenEvs evs{};
};

struct SeenProfile {
	uint64_t id = 0;
	std::vector<SeenPortEvs> ports{};
};

struct SeenDevice {
	std::string name{};
	std::vector<SeenPort> ports{};
	/* Why libibverbs and libMRC cannot open it; "" if they can. */
	std::string open_error{};
	bool uverbs = false; /* there is a /dev/infiniband/uverbsN for it */
	std::optional<bool> extension{};
	/* Of peers, where the controller has named them; sorted. */
	std::vector<uint64_t> peer_udp_ports{};
	/* EVs could not be read: the right is missing, or another error. */
	std::string ev_error{};
	std::vector<SeenPortEvs> qp_evs{};
	std::vector<SeenProfile> profiles{};
	uint64_t qps = 0;
	uint64_t qps_in_error = 0;
};

/* The route to a peer through a port. */
struct SeenRoute {
	bool there = false;
	std::string gateway{};
	std::string prefsrc{};
	std::optional<uint64_t> mtu{};
};

struct SeenPath {
	std::string device{};
	uint32_t port = 0;
	std::string peer{};
	std::string own{}; /* the address that the device has of this family */
	std::optional<SeenRoute> route{}; /* no value: could not be asked */
	std::string neigh{};		  /* "FAILED"; "" = no entry */
	FmtMode mode = FmtMode::udp;	  /* of the EVs that were probed */
	uint32_t probes = 0, answers = 0;
	uint32_t unprobed = 0; /* for lack of time */
	uint64_t rtt_ns = 0;   /* the shortest */
	/* Some that did not answer, as the profile shows them. */
	std::vector<std::string> silent{};
};

/* How long the probes of a peer may take, in seconds. */
constexpr uint64_t probe_seconds = 10;

/* A peer that was not probed, and why. */
struct SeenSilence {
	std::string device{};
	std::string peer{};
	std::string why{};
	bool privilege = false; /* only the right is missing */
};

/* The UDP port of RoCE v2, and the one that MRC 1.0 prints. */
constexpr uint64_t usual_udp_port = 4791;
constexpr uint64_t printed_udp_port = 4971;

struct Snapshot {
	std::string wanted; /* the device that was named, or "" */
	bool module = false;
	bool uverbs_module = false;
	bool rxe = false;
	/* Of the module: devices send to it, and receive on it. */
	uint64_t udp_port = usual_udp_port;
	/* Why the kernel loads only signed modules; "" if it loads all. */
	std::string signatures_only;
	/* The kernel has loaded mrc without a signature that it knows. */
	bool unsigned_module = false;
	/* Of the file of mrc, which is looked at if that may be why it is not
	 * loaded. The signer is "" without a signature. */
	bool module_file = false;
	std::string module_signer;
	bool provider = false; /* a .driver file names it */
	bool net_admin = false;
	bool ipc_lock = false;
	/* In bytes; no value: unlimited. */
	std::optional<uint64_t> memlock;
	bool memlock_known = false;
	/* Why the rules of netfilter could not be read; "" if they were. */
	std::string firewall_error;
	bool legacy_iptables = false;
	std::vector<SeenDevice> devices;
	std::vector<SeenPath> paths;
	std::vector<SeenSilence> silences;
};

/* The UDP ports on which devices receive: with the usual one the other one too.
 */
std::set<uint64_t> udp_ports_received(const Snapshot &s);
} // namespace mrcctl::doctor
