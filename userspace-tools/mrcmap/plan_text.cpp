// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plan_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace mrcmap
{
namespace
{
using mrclab::Topology;
using Json = nlohmann::ordered_json;

constexpr double ns_in_s = 1e9;

bool concerns(const ProbePath &p, std::optional<uint32_t> host)
{
	return !host || p.host == *host || p.receiver == *host;
}

std::string hops(const Topology &t, const ProbePath &p)
{
	std::string s;

	for (const mrclab::Direction &d : p.hops)
		s += " " + t.name(d);
	return s;
}

/* Probes that a host sends in a second. */
double rate_of(const Plan &plan, uint32_t host)
{
	double rate = 0;

	for (const uint32_t id : plan.sent_by(host))
		rate += ns_in_s /
			static_cast<double>(plan.paths()[id].interval);
	return rate;
}
} // namespace

std::string plan_text(const Topology &t, const Plan &plan,
		      std::optional<uint32_t> host)
{
	std::string s =
		fmt::format("{:>5} {:<5} {:>4} {:>4} {:>5} {:>8}  {:<32}"
			    " {}\n",
			    "path", "kind", "from", "to", "plane", "each",
			    "destination", "hops");

	for (const ProbePath &p : plan.paths())
		if (concerns(p, host))
			s += fmt::format("{:>5} {:<5} {:>4} {:>4} {:>5} {:>8}  "
					 "{:<32}{}\n",
					 p.id, kind_name(p.kind),
					 fmt::format("h{}", p.host),
					 fmt::format("h{}", p.receiver),
					 p.plane, mrclab::show_time(p.interval),
					 p.outer, hops(t, p));
	for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++)
		if (!host || h == *host)
			s += fmt::format("h{}: {:.0f} probes/s on {} paths\n",
					 h, rate_of(plan, h),
					 plan.sent_by(h).size());
	return s;
}

std::string plan_json(const Topology &t, const Plan &plan,
		      std::optional<uint32_t> host)
{
	Json j, paths = Json::array();

	for (const ProbePath &p : plan.paths()) {
		Json o, names = Json::array();

		if (!concerns(p, host))
			continue;
		for (const mrclab::Direction &d : p.hops)
			names.push_back(t.name(d));
		o["path"] = p.id;
		o["kind"] = kind_name(p.kind);
		o["from"] = fmt::format("h{}", p.host);
		o["to"] = fmt::format("h{}", p.receiver);
		o["plane"] = p.plane;
		o["interval_ns"] = p.interval;
		o["destination"] = p.outer;
		o["hops"] = names;
		paths.push_back(o);
	}
	j["fabric"] = t.fabric().name;
	j["digest"] = fmt::format("{:016x}", plan.digest());
	j["paths"] = paths;
	return j.dump(2) + "\n";
}
} // namespace mrcmap
