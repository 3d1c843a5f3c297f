// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Computes figures from counts; independent of devices. */
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "error.hpp"
#include "measure.hpp"
#include "stats.hpp"

namespace mrcbench
{
namespace
{
void latency_figures(Values &v, std::vector<uint64_t> &samples, double share)
{
	const auto p = mrcperf::scaled(mrcperf::percentiles(samples),
				       share / 1000);

	v["lat_min"] = p.min;
	v["lat_p50"] = p.p50;
	v["lat_p90"] = p.p90;
	v["lat_p99"] = p.p99;
	v["lat_p999"] = p.p999;
	v["lat_max"] = p.max;
	v["lat_mean"] = p.mean;
}

void cpu_figures(Values &v, const CpuUse &client, const CpuUse *server,
		 double messages, double bytes)
{
	const double seconds = client.seconds + (server ? server->seconds : 0);
	const double sides = server ? 2 : 1;
	const auto share = [&](double CpuUse::*what) {
		return (client.*what + (server ? server->*what : 0)) / sides *
		       100;
	};

	v["cpu_byte"] = seconds * 1e9 / bytes;
	v["cpu_msg"] = seconds * 1e9 / messages;
	v["cpu_busy"] = share(&CpuUse::busy);
	v["cpu_user"] = share(&CpuUse::user);
	v["cpu_system"] = share(&CpuUse::system);
	v["cpu_irq"] = share(&CpuUse::irq);
}
} // namespace

Values figures(const Shape &shape, Counts &counts, const Snapshot &server_from,
	       const Snapshot &server_to, bool by_server, bool one_machine,
	       double background)
{
	const double seconds = counts.to.at - counts.from.at;
	const double server_seconds = server_to.at - server_from.at;
	double messages = static_cast<double>(
		std::accumulate(counts.messages.begin(), counts.messages.end(),
				uint64_t{0}));
	double rate = seconds > 0 ? messages / seconds : 0;
	Values v;

	/* A socket accepts more data than has arrived. */
	if (by_server && server_seconds > 0) {
		messages = static_cast<double>(server_to.bytes -
					       server_from.bytes) /
			   static_cast<double>(shape.size);
		rate = messages / server_seconds;
	}
	if (!(messages > 0) || !(seconds > 0))
		throw mrcperf::RunError(fmt::format(
			"nothing arrived within {:g} s", shape.seconds));
	const double bytes = messages * static_cast<double>(shape.size);

	v["rate"] = rate;
	v["goodput"] = rate * static_cast<double>(shape.size) * 8 / 1e6;
	if (counts.messages.size() > 1)
		v["fairness"] = jain(
			{counts.messages.begin(), counts.messages.end()});
	if (!counts.latencies.empty())
		latency_figures(v, counts.latencies,
				shape.test == Kind::lat ? 0.5 : 1);
	const CpuUse client = cpu_use(counts.from.cpu, counts.to.cpu, seconds,
				      background);

	if (one_machine) {
		cpu_figures(v, client, nullptr, messages, bytes);
	} else {
		const CpuUse server = cpu_use(server_from.cpu, server_to.cpu,
					      server_seconds, background);

		cpu_figures(v, client, &server, messages, bytes);
	}
	v["client_cpu"] =
		(counts.to.own - counts.from.own) * 1e9 / messages;
	v["server_cpu"] = (server_to.own - server_from.own) * 1e9 / messages;
	const uint64_t sent = counts.to.sent - counts.from.sent;

	if (counts.to.sent && sent)
		v["resent"] = static_cast<double>(counts.to.resent -
						  counts.from.resent) *
			      100 / static_cast<double>(sent);
	return v;
}
} // namespace mrcbench
