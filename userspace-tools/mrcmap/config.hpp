/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: everything that can be tuned. Agents and the collector of a fabric
 * need the same values of the part "probes"; the digest of the plan shows
 * whether they have them. All times are nanoseconds.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mrcmap
{
struct Config {
	/* --- probes: agents and collector */

	/* Each link is probed once in this time by all agents together. */
	uint64_t period = 1'000'000;
	/* Probes are counted by windows of the sender's clock. */
	uint64_t window = 100'000'000;
	/*
	 * A probe that has not come back after the longer one of this and
	 * @wait_rtts times the largest round trip is lost.
	 */
	uint64_t wait = 50'000'000;
	double wait_rtts = 4;
	/* But no longer than this. What comes later still is not lost. */
	uint64_t wait_most = 2'000'000'000;
	uint32_t udp_port = 48620;
	/* Bytes of a probe from the inner IPv6 header on. */
	uint32_t size = 128;
	/* Of both headers. Gray failures can depend on it and on the size. */
	uint32_t dscp = 0;

	/* --- evidence and localisation: collector */

	/* Nothing came in this time: dead. */
	uint64_t dead_time = 500'000'000;
	/* Probes that a path needs to be judged. */
	uint32_t min_probes = 10;
	/* From this share on, a lost share counts as dead. */
	double dead_loss = 0.95;
	/*
	 * Loss is looked for over each of these times. Much loss is also looked
	 * for over 0.28 and 0.5 of the short one.
	 */
	uint64_t loss_time_short = 2'000'000'000;
	uint64_t loss_time_medium = 20'000'000'000;
	uint64_t loss_time_long = 200'000'000'000;
	/* The smallest share of loss, in one direction, that is a fault ... */
	double loss_alarm = 0.001;
	/*
	 * ... and the largest one that certainly is none. Samples cannot tell
	 * shares that are arbitrarily close. Between the two a fault may be
	 * reported, after a long time.
	 */
	double loss_tolerated = 0.0005;
	/*
	 * How much more likely (as a natural logarithm) losses must be with a
	 * fault than without it.
	 */
	double significance = 14;
	/* And with this fault than with another one, or both are named. */
	double separation = 5;
	/* A round trip's minimum over this time is compared ... */
	uint64_t slow_time = 5'000'000'000;
	/* ... and this much more, or this many times its usual value, is slow.
	 */
	uint64_t slow_alarm = 1'000'000;
	double slow_ratio = 5;
	/* Share of a switch's links that must be bad, for it to be the cause.
	 */
	double switch_share = 0.8;
	/* A peer's probes are joined when both agents had time to report. */
	uint64_t join_time = 400'000'000;
	/* An agent that has not reported for this time is silent. */
	uint64_t silent_time = 3'000'000'000;

	/* --- findings over time: collector */

	uint64_t evaluate_every = 100'000'000;
	/* Evaluations in a row that raise a finding, and that clear it. */
	uint32_t raise_after = 2;
	uint32_t clear_after = 12;
	/* Changes that are remembered. */
	uint32_t history = 1000;

	/* --- deny lists: collector */

	/* At most this share of the planes is denied for a destination. */
	double deny_planes = 0.5;
};

/* One setting, as a word on a command line or a key in a file. */
struct Setting {
	std::string name;  /* "loss-alarm" */
	std::string range; /* "0.01% to 50%" */
	std::string help;
};

/* All settings, in the order of Config. */
const std::vector<Setting> &settings();

/*
 * Sets one, with the units of mrclab's units.hpp. Throws mrclab::UsageError,
 * which names the setting and its range.
 */
void set_config(Config &config, std::string_view name, std::string_view value);
/* What set_config() reads. Throws mrclab::UsageError for an unknown name. */
std::string get_config(const Config &config, std::string_view name);

/* What set_config() cannot see: settings that contradict each other. */
void check_config(const Config &config);
} // namespace mrcmap
