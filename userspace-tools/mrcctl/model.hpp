/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl: the tool's view of a device, as values. Numbers of states, modes and
 * bits are those of the kernel and of libMRC.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrcctl
{
/* No profile: the device's own defaults apply. */
constexpr uint64_t no_profile = ~0ull;

enum class State : uint32_t { init, offline, online };
enum class FmtMode : uint32_t { stev = 1, srv6 = 2, udp = 4 };
enum class EvMode : uint32_t {
	automatic = 1,
	explicit_list = 2,
	generated = 4
};
enum class EvState : uint32_t {
	good = 1,
	assumed_bad = 2,
	denied = 4,
	unknown = 1u << 31,
};

/* Defaults of new QPs without a profile. */
struct QpDefaults {
	uint32_t num_evs = 0;
	uint32_t mpr = 0;  /* units of 128 PSNs, 0: the module has no such attribute */
	uint32_t cwnd = 0; /* the first one, bytes, 0: 256 KiB */
	std::string cc;
};

/* Changes to a device. */
struct DeviceChange {
	std::optional<bool> extension;
	std::optional<uint32_t> num_evs;
	std::optional<uint32_t> mpr;
	std::optional<uint32_t> cwnd;
	std::optional<std::string> cc;
};

struct Device {
	std::string name;
	uint32_t protocol_version = 0; /* set of versions, as bits */
	uint32_t ctl_protocol_version = 0;
	uint32_t max_wimm = 0;
	uint32_t max_wimm_dest = 0;
	uint32_t max_mpr = 0; /* in units of 128 PSNs, like mpr_resolution */
	uint32_t mpr_resolution = 0;
	uint32_t max_qp_hint = 0;
	uint32_t cap = 0;
	uint32_t opt = 0;
	uint32_t max_fmt_profiles = 0;
	uint32_t max_ev_profiles = 0;
	uint32_t max_cc_profiles = 0;
	uint32_t max_evs = 0; /* of all profiles */
	uint32_t free_evs = 0;
	uint32_t max_evs_profile = 0;
	uint32_t ev_count_align = 0;
	uint32_t ev_max_width = 0; /* bits */
	uint32_t ev_op_max_entries = 0;
	uint32_t fmt_modes = 0;
	uint32_t ev_modes = 0;
	uint32_t port_mask = 0; /* bit N = port N */
	std::vector<std::string> algorithms;
	/* Missing with modules that lack these attributes. */
	std::optional<bool> extension;
	std::optional<QpDefaults> qp;
};

struct Counter {
	std::string name;
	uint64_t value = 0;
};

struct Port {
	uint32_t num = 0;
	/* Missing without the permission to query it. */
	std::optional<bool> enabled;
	std::string state; /* the verbs state: ACTIVE, DOWN, ... */
	std::string netdev;
	std::vector<Counter> counters;
};

/* Codepoints in the order of the kernel's enum mrc_abi_dscp. */
struct TrafficClasses {
	static constexpr std::size_t count = 6;
	std::array<uint8_t, count> dscp{};
	bool trimming = false;
};

/* How many objects programs may have, in the order of the kernel's enum mrc_abi_limit. */
struct Limits {
	static constexpr std::size_t count = 7;
	std::array<uint32_t, count> max{};
	std::array<uint32_t, count> now{};
};

/* Limits to change, those without a value stay. */
using LimitChange = std::array<std::optional<uint32_t>, Limits::count>;

struct Prefix {
	std::array<uint8_t, 16> addr{}; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t len = 0;
};

struct Default {
	Prefix prefix;
	uint64_t ev_profile = no_profile;
	uint64_t cc_profile = no_profile;
	uint16_t udp_port = 0; /* 0: the entry names none */

	bool empty() const
	{
		return ev_profile == no_profile && cc_profile == no_profile && !udp_port;
	}
};

/* --- profiles --------------------------------------------------------------
 */

struct Fmt {
	uint64_t id = 0;
	State state = State::init;
	FmtMode mode = FmtMode::udp;
	std::vector<uint8_t> fields; /* widths */
};

struct Ev {
	std::array<uint8_t, 32> val{};
	uint8_t port = 0;
	bool operator==(const Ev &) const = default;
};

struct EvField {
	uint32_t width = 0;
	uint32_t init = 0;
	uint32_t mask = 0;
	uint32_t min = 0;
	uint32_t max = 0;
};

struct EvEntry {
	Ev ev;
	EvState state = EvState::good;
};

struct EvProfile {
	uint64_t id = 0;
	State state = State::init;
	EvMode mode = EvMode::automatic;
	std::optional<uint64_t> fmt;
	uint32_t count = 0;
	uint32_t min_active = 0;
	uint32_t event_mask = 0;
	std::vector<EvField> fields;
	std::vector<EvEntry> evs;
};

/* Parameters of uet-1.0-nscc; for 0 the device derives a value. */
struct Nscc {
	bool disable_qa = false;
	uint32_t adjust_bytes_threshold = 0;
	uint32_t adjust_period_threshold = 0;
	uint32_t base_rtt = 0;
	float eta = 0;
	float fi = 0;
	float fi_scale = 0;
	float gamma = 0;
	float max_md_jump = 0;
	uint32_t max_cwnd = 0;
	uint8_t qa_gate = 0;
	uint32_t qa_threshold = 0;
	uint32_t target_delay = 0;
};

struct CcProfile {
	uint64_t id = 0;
	State state = State::init;
	std::string algorithm;	  /* "" = off */
	std::optional<Nscc> nscc; /* only with that algorithm */
};

/* --- changes of profiles: what is there is changed ---------------------------
 */

struct FmtChange {
	uint64_t id = 0;
	std::optional<State> state;
	std::optional<FmtMode> mode;
	std::optional<std::vector<uint8_t>> fields;
};

struct EvChange {
	uint64_t id = 0;
	std::optional<State> state;
	std::optional<EvMode> mode;
	std::optional<uint64_t> fmt;
	std::optional<uint32_t> count;
	std::optional<uint32_t> min_active;
	std::optional<uint32_t> event_mask;
	std::optional<std::vector<EvField>> fields;
};

struct CcChange {
	uint64_t id = 0;
	std::optional<State> state;
	std::optional<std::string> algorithm;
	std::optional<Nscc> nscc;
};

/* Replaces @old by @with, or without @with sets the state of @old. */
struct EvEdit {
	Ev old;
	std::optional<Ev> with;
	EvState state = EvState::good;
	bool all_copies = false;
};

/* --- endpoint operations, events ---------------------------------------------
 */

struct EpRequest {
	std::array<uint8_t, 16> src{};
	std::array<uint8_t, 16> dst{};
	FmtMode mode = FmtMode::udp;
	std::vector<Ev> evs;		     /* expanded; one request each */
	std::optional<uint32_t> port_status; /* set: an update, else a probe */
	uint8_t tc = 0;
	uint32_t timeout_ns = 0;
};

struct EpResponse {
	uint32_t request = 0; /* place in EpRequest.evs */
	uint32_t port = 0;
	uint32_t rtt_ns = 0;
	bool service_time_removed = false;
};

struct EvEvent {
	uint64_t profile = 0;
	Ev ev;
	EvState state = EvState::good;
	uint32_t dropped = 0; /* events lost before this one */
};

/* --- queue pairs -------------------------------------------------------------
 */

struct QpName {
	uint32_t qpn = 0;
	uint32_t pid = 0;    /* 0: of the kernel, or not visible */
	std::string program; /* or the kernel module */
	std::string type;
	std::string state;
};

struct QpEv {
	uint32_t entropy = 0;
	uint32_t port = 0;
	uint32_t state = 0; /* 0 good, 1 denied, 2 skip, 3 assumed bad */
	uint32_t drops = 0;
};

/* What a queue pair has sent through a port. */
struct QpPort {
	uint32_t tx_pkts = 0;  /* data and probes, modulo 2^32 */
	uint64_t tx_bytes = 0; /* payload */
};

struct Qp {
	QpName name;
	uint32_t dest_qpn = 0;
	uint64_t ev_profile = no_profile;
	uint64_t cc_profile = no_profile;
	std::string cc;
	uint32_t sched_state = 0;
	uint64_t cwnd = 0;
	uint64_t inflight = 0;
	uint64_t window = 0; /* PSNs */
	uint64_t base_rtt_ns = 0;
	uint64_t srtt_ns = 0;
	uint64_t tx_pkts = 0;
	uint64_t rtx_pkts = 0;
	uint64_t timeouts = 0;
	uint32_t ports_up = 0; /* bit N = port N */
	uint32_t peer_ports = 0;
	std::vector<QpPort> ports; /* port 1 first */
	std::vector<QpEv> evs;
};
} // namespace mrcctl
