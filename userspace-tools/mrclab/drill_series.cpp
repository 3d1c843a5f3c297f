// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_series.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include <fnmatch.h>

#include "error.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
/* Only names of directions have a colon. */
bool is_direction(const std::string &name)
{
	return name.find(':') != std::string::npos;
}

std::string plane_name(uint32_t plane)
{
	return fmt::format("plane {}", plane);
}

double rate(uint64_t before, uint64_t after, uint64_t ns)
{
	/* A counter goes back when its netdev or device is made anew. */
	return after < before || ns == 0
		       ? 0
		       : static_cast<double>(after - before) * 1e9 /
				 static_cast<double>(ns);
}

/* @count gives the counter in a reading, of which a second has @scale. */
template <typename Count>
Series rates_of(const std::string &name, const std::vector<Reading> &readings,
		double scale, Count count)
{
	Series s;

	s.name = name;
	for (std::size_t i = 1; i < readings.size(); i++)
		s.values.push_back(
			scale * rate(count(readings[i - 1]), count(readings[i]),
				     readings[i].at - readings[i - 1].at));
	return s;
}

/* bit/s; @bytes gives the counter in a reading. */
template <typename Bytes>
Series series_of(const std::string &name, const std::vector<Reading> &readings,
		 Bytes bytes)
{
	return rates_of(name, readings, 8, bytes);
}

/* packets/s */
template <typename Packets>
Series packets_of(const std::string &name, const std::vector<Reading> &readings,
		  Packets packets)
{
	return rates_of(name + " packets", readings, 1, packets);
}

bool is_packets(const std::string &name)
{
	return name.ends_with(" packets");
}

Counters counters_of(const Reading &r, Direction d)
{
	const auto c = r.links.find(d);

	return c == r.links.end() ? Counters() : c->second;
}

void add_flows(DrillRun &run, const Drill &d,
	       const std::vector<Reading> &readings)
{
	for (std::size_t f = 0; f < d.flows.size(); f++) {
		if (d.flows[f].latency)
			continue;
		run.series.push_back(series_of(
			d.flows[f].name, readings,
			[f](const Reading &r) { return r.flows[f]; }));
		run.series.back().flow = true;
	}

	Series total;

	total.name = "total";
	total.flow = true;
	for (std::size_t i = 0; i < run.times.size(); i++) {
		double sum = 0;

		for (const Series &s : run.series)
			sum += s.values[i];
		total.values.push_back(sum);
	}
	run.series.push_back(total);
}

void add_planes(DrillRun &run, const Topology &t,
		const std::vector<Reading> &readings)
{
	for (uint32_t p = 1; p <= t.fabric().planes; p++) {
		std::vector<Direction> of_hosts;

		for (uint32_t l = 0; l < t.links().size(); l++)
			if (t.links()[l].plane == p &&
			    t.nodes()[t.links()[l].low.node].kind == Kind::host)
				of_hosts.push_back({l, true});
		const auto sum_of = [&of_hosts](uint64_t Counters::*counter) {
			return [&of_hosts, counter](const Reading &r) {
				uint64_t sum = 0;

				for (const Direction d : of_hosts)
					sum += counters_of(r, d).*counter;
				return sum;
			};
		};

		run.series.push_back(series_of(plane_name(p), readings,
					       sum_of(&Counters::rx_bytes)));
		run.series.push_back(packets_of(plane_name(p), readings,
						sum_of(&Counters::rx_packets)));
	}
}

/* All that the last reading has: counts only grow. */
void add_evs(DrillRun &run, const std::vector<Reading> &readings)
{
	if (readings.empty())
		return;
	for (const auto &[path, last] : readings.back().evs) {
		const std::string name =
			fmt::format("ev p{} h{}>h{} {:08x}", path.plane,
				    path.from, path.to, path.entropy);
		const auto count = [&path = path](const Reading &r) {
			const auto c = r.evs.find(path);

			return c == r.evs.end() ? EvCount() : c->second;
		};

		run.series.push_back(
			series_of(name, readings, [&count](const Reading &r) {
				return count(r).bytes;
			}));
		run.series.push_back(
			packets_of(name, readings, [&count](const Reading &r) {
				return count(r).packets;
			}));
	}
}

} // namespace

bool is_flow(const std::string &name, const std::string &what)
{
	return what == "flows" || name == what || name.starts_with(what + " ");
}

void check_series(const Topology &t, const std::vector<Flow> &flows,
		  const std::string &name)
{
	if (name == "total" || name == "planes")
		return;
	if (std::any_of(flows.begin(), flows.end(), [&name](const Flow &f) {
		    return !f.latency && is_flow(f.name, name);
	    }))
		return;
	if (!latency_names(flows, name).empty())
		throw UsageError(fmt::format(
			"\"{}\" has a latency, and no series", name));
	for (uint32_t p = 1; p <= t.fabric().planes; p++)
		if (name == plane_name(p))
			return;
	if (t.matching(name).empty())
		throw UsageError(fmt::format(
			"there is no series \"{}\"; there are the names of "
			"traffic, flows, total, planes, \"plane 1\", and "
			"directions of links like p1l1:h1",
			name));
}

std::vector<std::string> latency_names(const std::vector<Flow> &flows,
				       const std::string &what)
{
	std::vector<std::string> names;

	for (const Flow &f : flows)
		if (f.latency && what != "flows" && is_flow(f.name, what))
			names.push_back(f.name);
	return names;
}

void check_latency(const std::vector<Flow> &flows, const std::string &name)
{
	if (latency_names(flows, name).empty())
		throw UsageError(fmt::format(
			"there is no latency of \"{}\"; there are the names of "
			"traffic whose program ends with _lat",
			name));
}

void add_series(DrillRun &run, const Topology &t, const Drill &d,
		const std::vector<Reading> &readings)
{
	std::set<Direction> directions;

	for (std::size_t i = 1; i < readings.size(); i++)
		run.times.push_back(static_cast<double>(readings[i].at) / 1e9);
	add_flows(run, d, readings);
	add_planes(run, t, readings);
	add_evs(run, readings);
	for (const std::string &name : d.shown)
		for (const Direction dir : t.matching(name))
			directions.insert(dir);
	for (const Must &m : d.musts)
		for (const Direction dir : t.matching(m.what))
			directions.insert(dir);
	for (const Direction dir : directions)
		run.series.push_back(series_of(
			t.name(dir), readings, [dir](const Reading &r) {
				return counters_of(r, dir).tx_bytes;
			}));
}

std::vector<std::string> series_names(const DrillRun &run,
				      const std::string &what)
{
	std::vector<std::string> names;

	for (const Series &s : run.series) {
		const bool total = s.name == "total";

		if (!s.flow && is_packets(s.name))
			continue;
		if (s.flow && !total   ? is_flow(s.name, what)
		    : s.name == what   ? true
		    : what == "planes" ? s.name.starts_with("plane ")
		    : what == "evs"    ? s.name.starts_with("ev ")
				       : is_direction(s.name) &&
					      fnmatch(what.c_str(),
						      s.name.c_str(), 0) == 0)
			names.push_back(s.name);
	}
	return names;
}

std::vector<std::string> busiest(const DrillRun &run,
				 const std::vector<std::string> &names,
				 std::size_t most)
{
	std::map<std::string, double> sums;
	std::vector<std::string> order = names, kept;

	for (const Series &s : run.series)
		sums[s.name] =
			std::accumulate(s.values.begin(), s.values.end(), 0.0);
	std::stable_sort(order.begin(), order.end(),
			 [&sums](const std::string &a, const std::string &b) {
				 return sums[a] > sums[b];
			 });
	order.resize(std::min(order.size(), most));
	for (const std::string &name : names)
		if (std::find(order.begin(), order.end(), name) != order.end())
			kept.push_back(name);
	return kept;
}
} // namespace mrclab
