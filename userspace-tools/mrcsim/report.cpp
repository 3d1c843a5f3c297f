// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "../common/fairness.hpp"

namespace mrcsim
{
namespace
{
double us(u64 ps)
{
	return static_cast<double>(ps) / 1e6;
}

/* Of links that all carry the same if the load is even. */
PlaneRow plane_of(const Simulator &sim, u32 plane)
{
	const Shape &s = sim.shape();
	const Kind k = s.count(Kind::t0_up) ? Kind::t0_up : Kind::host_down;
	const u64 n = s.count(k);
	PlaneRow row;

	row.least = ~0ull;
	for (u64 i = 0; i < n; i++) {
		const u64 bytes = sim.links().link(s.id(plane, k, i)).bytes;

		row.bytes += bytes;
		row.least = std::min(row.least, bytes);
		row.most = std::max(row.most, bytes);
	}
	return row;
}

nlohmann::ordered_json spread_json(const Spread &s)
{
	return {{"n", s.n},
		{"min_us", us(s.min)},
		{"mean_us", s.mean / 1e6},
		{"p50_us", us(s.p50)},
		{"p90_us", us(s.p90)},
		{"p99_us", us(s.p99)},
		{"max_us", us(s.max)}};
}

std::string us_or_nothing(u64 ps, u64 from)
{
	return ps == never_ps ? "" : fmt::format("{:.6f}", us(ps - from));
}
} // namespace

Spread spread_of(std::vector<u64> v)
{
	Spread s;

	if (v.empty())
		return s;
	std::sort(v.begin(), v.end());
	s.n = v.size();
	/* The smallest value that this share of all is not above. */
	const auto share = [&v](u64 percent) {
		return v[(v.size() * percent + 99) / 100 - 1];
	};
	s.min = v.front();
	s.p50 = share(50);
	s.p90 = share(90);
	s.p99 = share(99);
	s.max = v.back();
	s.mean = std::accumulate(v.begin(), v.end(), 0.0) /
		 static_cast<double>(v.size());
	return s;
}

RunResult result_of(const Simulator &sim, const Traffic &traffic)
{
	RunResult r;
	std::vector<u64> times;
	std::vector<double> rates;

	r.column = column_name(sim.settings().column);
	r.seed = sim.settings().seed;
	r.digest = sim.digest();
	r.time = sim.now();
	r.flows = traffic.flows.size();
	r.queue_pairs = traffic.connections;
	r.totals = sim.totals();
	r.links = sim.sums();
	r.spurious = sim.counter(MRC_CTR_SPURIOUS_RTX);
	r.timeouts = sim.counter(MRC_CTR_RTO);
	r.evs_bad = sim.counter(MRC_CTR_EV_BAD);
	r.probes = sim.counter(MRC_CTR_TX_PROBE);
	r.wrong = sim.check();
	r.memory = sim.memory();
	r.samples = sim.samples();
	r.trace = sim.trace();
	r.captured = sim.captured();
	for (u32 p = 0; p < sim.shape().planes; p++)
		r.planes.push_back(plane_of(sim, p));
	for (std::size_t n = 0; n < traffic.flows.size(); n++) {
		const Flow &f = traffic.flows[n];
		const FlowState &s = sim.flows()[n];

		r.rows.push_back({static_cast<u32>(n + 1), f.src + 1, f.dst + 1,
				  f.bytes, s.began, s.ended, s.received,
				  s.failed});
		if (s.received != never_ps)
			r.last_received = std::max(r.last_received, s.received);
		if (s.ended == never_ps || s.failed)
			continue;
		times.push_back(s.ended - s.began);
		rates.push_back(static_cast<double>(f.bytes) /
				static_cast<double>(s.ended - s.began));
	}
	r.fct = spread_of(std::move(times));
	r.jain = fairness::jain(rates);
	return r;
}

std::string text_of(const RunResult &r)
{
	const Totals &t = r.totals;
	std::string s = fmt::format(
		"{}, seed {}: {} of {} flows in {:.3f} us{}\n", r.column,
		r.seed, t.finished - t.failed, r.flows, us(r.time),
		t.failed ? fmt::format(", {} failed", t.failed) : "");

	if (r.fct.n) {
		s += fmt::format(
			"  FCT us: min {:.2f}, mean {:.2f}, p50 {:.2f}, p99 "
			"{:.2f}, max {:.2f}; max/min {:.3f}, Jain {:.4f}\n",
			us(r.fct.min), r.fct.mean / 1e6, us(r.fct.p50),
			us(r.fct.p99), us(r.fct.max),
			us(r.fct.max) / us(r.fct.min), r.jain);
	}
	s += fmt::format("  data packets {}, sent again {} ({} needlessly), "
			 "control {}, probes {}\n",
			 t.data, t.resent, r.spurious, t.control, t.probes);
	s += fmt::format("  marked {}, trimmed {}, dropped {}, lost {}, cut "
			 "off {}; EVs condemned {}, timeouts {}, pauses {}\n",
			 r.links.marked, r.links.trimmed, r.links.dropped,
			 r.links.lost, r.links.cut, r.evs_bad, r.timeouts,
			 r.links.pauses);
	for (std::size_t p = 0; p < r.planes.size(); p++)
		s += fmt::format("  plane {}: {} bytes, a link {} to {}\n",
				 p + 1, r.planes[p].bytes, r.planes[p].least,
				 r.planes[p].most);
	s += fmt::format("  {} events, {:.2f} s of processor time: {:.0f} data "
			 "packets/s; digest {:016x}\n",
			 t.events, r.cpu,
			 r.cpu > 0 ? static_cast<double>(t.data) / r.cpu : 0,
			 r.digest);
	if (!r.wrong.empty())
		s += "  error of the simulator: " + r.wrong + "\n";
	return s;
}

nlohmann::ordered_json json_of(const RunResult &r)
{
	const Totals &t = r.totals;
	nlohmann::ordered_json j = {
		{"column", r.column},
		{"seed", r.seed},
		{"digest", fmt::format("{:016x}", r.digest)},
		{"time_us", us(r.time)},
		{"flows", r.flows},
		{"queue_pairs", r.queue_pairs},
		{"finished", t.finished},
		{"failed", t.failed},
		{"fct", spread_json(r.fct)},
		{"jain", r.jain},
		{"last_received_us", us(r.last_received)},
		{"data_packets", t.data},
		{"resent", t.resent},
		{"resent_needlessly", r.spurious},
		{"control_packets", t.control},
		{"probes", t.probes},
		{"marked", r.links.marked},
		{"trimmed", r.links.trimmed},
		{"dropped", r.links.dropped},
		{"lost", r.links.lost},
		{"cut_off", r.links.cut},
		{"pauses", r.links.pauses},
		{"evs_condemned", r.evs_bad},
		{"timeouts", r.timeouts},
		{"events", t.events},
		{"cpu_s", r.cpu},
		{"wall_s", r.wall},
		{"memory", r.memory}};

	j["planes"] = nlohmann::ordered_json::array();
	for (const PlaneRow &p : r.planes)
		j["planes"].push_back({{"bytes", p.bytes},
				       {"least_of_link", p.least},
				       {"most_of_link", p.most}});
	j["samples"] = nlohmann::ordered_json::array();
	for (const Sample &s : r.samples) {
		nlohmann::ordered_json one = {{"at_us", us(s.at)},
					      {"placed", s.placed},
					      {"resent", s.resent},
					      {"trimmed", s.trimmed},
					      {"dropped", s.dropped},
					      {"marked", s.marked},
					      {"finished", s.finished},
					      {"lost", s.lost},
					      {"evs_condemned", s.condemned}};

		if (!s.flows.empty())
			one["flows"] = s.flows;
		if (!s.queues.empty())
			one["queues"] = s.queues;
		j["samples"].push_back(std::move(one));
	}
	return j;
}

std::string csv_of(const std::vector<RunResult> &runs)
{
	std::string s = "column,seed,flow,src,dst,bytes,start_us,fct_us,"
			"received_us,failed\n";

	for (const RunResult &r : runs)
		for (const FlowRow &f : r.rows)
			s += fmt::format("{},{},{},{},{},{},{},{},{},{}\n",
					 r.column, r.seed, f.flow, f.src, f.dst,
					 f.bytes, us_or_nothing(f.began, 0),
					 us_or_nothing(f.ended, f.began),
					 us_or_nothing(f.received, f.began),
					 f.failed ? 1 : 0);
	return s;
}
} // namespace mrcsim
