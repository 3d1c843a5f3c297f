// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "tc_commands.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "error.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t ethernet = 14; /* bytes before an IP packet */
/* Packets that are on their way in a netem at most. */
constexpr int netem_packets = 100000;
/* Timers on busy machines can be this late. The bucket must hold what passes in
 * that time.
 */
constexpr uint64_t bucket_ms = 64;
constexpr uint64_t bucket_bytes = 10000;
/* tc has 32 bits for it. */
constexpr uint64_t max_bucket = 1 << 30;
/* netem has 32 bits for it in tc of iproute2 6.1, of 64 ns. */
constexpr uint64_t max_delay = 274'000'000'000;

std::string percent(const char *what, const std::optional<double> &share)
{
	return share && *share > 0
		       ? fmt::format(" {} {:.6g}%", what, *share * 100)
		       : "";
}

/* In microseconds: tc of iproute2 6.1 knows no nanoseconds here. */
std::string time(uint64_t ns)
{
	return ns % 1000
		       ? fmt::format("{:.3f}us", static_cast<double>(ns) / 1000)
		       : fmt::format("{}us", ns / 1000);
}

std::string netem(const LinkProps &p)
{
	std::string args;

	if (p.delay.value_or(0) || p.jitter.value_or(0) ||
	    p.reorder.value_or(0) > 0) {
		args += " delay " + time(p.delay.value_or(0));
		if (p.jitter.value_or(0))
			args += " " + time(*p.jitter);
	}
	args += percent("loss", p.loss) + percent("corrupt", p.corrupt) +
		percent("duplicate", p.duplicate) +
		percent("reorder", p.reorder);
	return args;
}
} // namespace

Queues queues_of(const std::string &dev, const LinkProps &p, bool last_hop)
{
	const std::string impair = netem(p);
	const bool marks = p.mark_max.value_or(0) || p.trim.value_or(0);
	std::string at = "root";
	Queues q;

	if (p.reorder.value_or(0) > 0 && !p.delay.value_or(0))
		throw UsageError("reordering needs a delay, which some packets "
				 "skip");
	if (p.delay.value_or(0) > max_delay || p.jitter.value_or(0) > max_delay)
		throw UsageError(fmt::format("delay and jitter are at most {}",
					     show_time(max_delay)));
	if (marks && !p.rate.value_or(0))
		throw UsageError("marking and trimming need a rate: without "
				 "one no queue builds up");
	if (p.rate.value_or(0) && (p.burst == 0u || p.queue == 0u))
		throw UsageError("a rate needs a burst and a queue of more "
				 "than 0 bytes");
	if (!impair.empty()) {
		q.commands += fmt::format("qdisc add dev {} {} handle 1: netem "
					  "limit {}{}\n",
					  dev, at, netem_packets, impair);
		at = "parent 1:1";
	}
	if (p.rate.value_or(0)) {
		const uint64_t burst = p.burst.value_or(std::min(
			*p.rate / 8000 * bucket_ms + bucket_bytes, max_bucket));

		/* Behind the queue that trims, the bucket itself has none. */
		q.commands += fmt::format(
			"qdisc add dev {} {} handle 2: tbf rate {}bit burst {} "
			"limit {}\n",
			dev, at, *p.rate, burst, p.queue.value_or(4 << 20));
		at = "parent 2:1";
	}
	if (marks) {
		q.port = SwitchPort{};
		q.port->ecn_min = p.mark_min.value_or(0);
		q.port->ecn_max = p.mark_max.value_or(0);
		q.port->trim_bytes = p.trim.value_or(0);
		q.port->trim_len = p.trim_len.value_or(q.port->trim_len);
		q.port->data_limit = p.queue.value_or(q.port->data_limit);
		q.port_command =
			fmt::format("qdisc add dev {} {} handle 3: {}\n", dev,
				    at, last_hop ? "mrcsw_last" : "mrcsw");
	}
	return q;
}
void check_room(const LinkProps &p, uint32_t mtu)
{
	const uint64_t frame = mtu + ethernet;
	const std::pair<const char *, std::optional<uint64_t>> rooms[] = {
		{"burst", p.burst}, {"queue", p.queue}};

	if (!p.rate.value_or(0))
		return;
	for (const auto &[key, bytes] : rooms)
		if (bytes && *bytes < frame)
			throw UsageError(fmt::format(
				"a {} of {} bytes has no room for a packet of "
				"{} bytes",
				key, *bytes, frame));
}
} // namespace mrclab
