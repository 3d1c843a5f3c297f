// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "config.hpp"

#include <charconv>
#include <variant>

#include <fmt/format.h>

#include "error.hpp"
#include "units.hpp"

namespace mrcmap
{
namespace
{
constexpr double us = 1e3, ms = 1e6, s = 1e9;

/* How a setting is written. */
enum class As { time, share, number, count };

using Member =
	std::variant<uint64_t Config::*, uint32_t Config::*, double Config::*>;

struct Row {
	const char *name;
	Member member;
	As as;
	double min, max;
	const char *help;
};

const std::vector<Row> rows = {
	{"period", &Config::period, As::time, 10 * us, 10 * s,
	 "each link is probed once in this time"},
	{"window", &Config::window, As::time, 10 * ms, 10 * s,
	 "probes are counted by windows of this length"},
	{"wait", &Config::wait, As::time, 1 * ms, 10 * s,
	 "a probe is not lost before this time"},
	{"wait-rtts", &Config::wait_rtts, As::number, 1, 100,
	 "nor before so many of the largest round trips"},
	{"wait-most", &Config::wait_most, As::time, 1 * ms, 60 * s,
	 "but it is after this time"},
	{"udp-port", &Config::udp_port, As::count, 1, 65535,
	 "UDP port of probes"},
	{"size", &Config::size, As::count, 96, 9000,
	 "bytes of a probe, with its inner headers"},
	{"dscp", &Config::dscp, As::count, 0, 63, "codepoint of probes"},
	{"dead-time", &Config::dead_time, As::time, 10 * ms, 60 * s,
	 "nothing came in this time: dead"},
	{"min-probes", &Config::min_probes, As::count, 3, 10000,
	 "probes that are needed to judge"},
	{"dead-loss", &Config::dead_loss, As::share, 0.5, 1,
	 "loss from here on is dead"},
	{"loss-time-short", &Config::loss_time_short, As::time, 100 * ms,
	 3600 * s, "loss is looked for over this time"},
	{"loss-time-medium", &Config::loss_time_medium, As::time, 100 * ms,
	 3600 * s, "and over this one"},
	{"loss-time-long", &Config::loss_time_long, As::time, 100 * ms,
	 3600 * s, "and over this one"},
	{"loss-alarm", &Config::loss_alarm, As::share, 1e-6, 0.5,
	 "smallest loss of a direction that is a fault"},
	{"loss-tolerated", &Config::loss_tolerated, As::share, 1e-7, 0.5,
	 "largest loss that certainly is none"},
	{"significance", &Config::significance, As::number, 3, 1000,
	 "logarithm of how much more likely a fault must be"},
	{"separation", &Config::separation, As::number, 1, 1000,
	 "logarithm of how much less likely other faults must be"},
	{"slow-time", &Config::slow_time, As::time, 100 * ms, 600 * s,
	 "smallest delays of this time are compared"},
	{"slow-alarm", &Config::slow_alarm, As::time, 1 * us, 10 * s,
	 "smallest extra delay that is a fault"},
	{"slow-ratio", &Config::slow_ratio, As::number, 0, 1000,
	 "and so many usual round trips"},
	{"switch-share", &Config::switch_share, As::share, 0.5, 1,
	 "share of bad links that makes it the switch"},
	{"join-time", &Config::join_time, As::time, 1 * ms, 60 * s,
	 "what sender and receiver say is joined after this time"},
	{"silent-time", &Config::silent_time, As::time, 100 * ms, 600 * s,
	 "an agent without reports for this time is silent"},
	{"evaluate-every", &Config::evaluate_every, As::time, 10 * ms, 60 * s,
	 "faults are looked for this often"},
	{"raise-after", &Config::raise_after, As::count, 1, 1000,
	 "evaluations that raise a finding"},
	{"clear-after", &Config::clear_after, As::count, 1, 1000,
	 "evaluations that clear it"},
	{"history", &Config::history, As::count, 1, 1000000,
	 "changes that are remembered"},
	{"deny-planes", &Config::deny_planes, As::share, 0, 0.99,
	 "largest share of planes that is denied"},
};

const Row &row(std::string_view name)
{
	for (const Row &r : rows)
		if (name == r.name)
			return r;
	throw mrclab::UsageError(fmt::format("no setting \"{}\"", name));
}

std::string show(As as, double value)
{
	switch (as) {
	case As::time:
		return mrclab::show_time(static_cast<uint64_t>(value));
	case As::share:
		return mrclab::show_percent(value);
	case As::number:
		return fmt::format("{:g}", value);
	default:
		return fmt::format("{:.0f}", value);
	}
}

double parse(As as, std::string_view word)
{
	double value = 0;

	switch (as) {
	case As::time:
		return static_cast<double>(mrclab::parse_time(word));
	case As::share:
		return mrclab::parse_percent(word);
	case As::number: {
		const char *end = word.data() + word.size();
		const auto [at, error] =
			std::from_chars(word.data(), end, value);

		if (error != std::errc() || at != end)
			throw mrclab::UsageError(
				fmt::format("\"{}\" is no number", word));
		return value;
	}
	default:
		return static_cast<double>(
			mrclab::parse_count(word, 0, UINT32_MAX));
	}
}
} // namespace

const std::vector<Setting> &settings()
{
	static const std::vector<Setting> all = [] {
		std::vector<Setting> list;

		for (const Row &r : rows)
			list.push_back(
				{r.name,
				 show(r.as, r.min) + " to " + show(r.as, r.max),
				 r.help});
		return list;
	}();

	return all;
}

void set_config(Config &config, std::string_view name, std::string_view value)
{
	const Row &r = row(name);
	const auto wrong = [&](const std::string &why) {
		throw mrclab::UsageError(fmt::format("{}: {} ({} to {})", name,
						     why, show(r.as, r.min),
						     show(r.as, r.max)));
	};
	double number = 0;

	try {
		number = parse(r.as, value);
	} catch (const mrclab::UsageError &e) {
		wrong(e.what());
	}
	/* Also refuses what is not a number. */
	if (!(number >= r.min && number <= r.max))
		wrong(fmt::format("{} is out of range", value));
	std::visit(
		[&]<typename T>(T Config::*m) {
			config.*m = static_cast<T>(number);
		},
		r.member);
}

std::string get_config(const Config &config, std::string_view name)
{
	const Row &r = row(name);

	return std::visit(
		[&](auto m) {
			return show(r.as, static_cast<double>(config.*m));
		},
		r.member);
}

void check_config(const Config &c)
{
	const auto rising = [&c](const char *small, const char *large, double a,
				 double b) {
		if (a > b)
			throw mrclab::UsageError(
				fmt::format("{} ({}) is more than {} ({})",
					    small, get_config(c, small), large,
					    get_config(c, large)));
	};
	const auto times = [&](const char *small, const char *large, uint64_t a,
			       uint64_t b) {
		rising(small, large, static_cast<double>(a),
		       static_cast<double>(b));
	};

	times("period", "window", c.period, c.window);
	times("wait", "wait-most", c.wait, c.wait_most);
	times("window", "dead-time", c.window, c.dead_time);
	times("dead-time", "loss-time-short", c.dead_time, c.loss_time_short);
	times("loss-time-short", "loss-time-medium", c.loss_time_short,
	      c.loss_time_medium);
	times("loss-time-medium", "loss-time-long", c.loss_time_medium,
	      c.loss_time_long);
	rising("loss-tolerated", "loss-alarm", c.loss_tolerated, c.loss_alarm);
	rising("loss-alarm", "dead-loss", c.loss_alarm, c.dead_loss);
}
} // namespace mrcmap
