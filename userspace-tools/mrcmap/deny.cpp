// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "deny.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace mrcmap
{
namespace
{
using mrclab::Topology;

/* What is slow is less bad than any loss. */
constexpr double slow_badness = 1e-9;

double badness(const Finding &f)
{
	return f.state == State::slow ? slow_badness : f.loss;
}

/* How bad switches and directions are; 0: nothing is wrong. */
class Badness
{
public:
	Badness(const Topology &t, const std::vector<Finding> &findings)
		: t_(t), nodes_(t.nodes().size()), up_(t.links().size()),
		  down_(t.links().size())
	{
		for (const Finding &f : findings) {
			const double b = badness(f);

			switch (f.place.element) {
			case Element::t0:
			case Element::t1:
				raise(nodes_[f.place.number], b);
				break;
			default:
				if (f.place.way != Way::down)
					raise(up_[f.place.number], b);
				if (f.place.way != Way::up)
					raise(down_[f.place.number], b);
			}
		}
	}

	/* Of what the plane needs in any case: both NICs and T0s. */
	double plane(uint32_t p, uint32_t from, uint32_t to) const
	{
		return std::max(
			{nic(p, from), nic(p, to), t0(p, from), t0(p, to)});
	}

	/* Of the way over a T1. */
	double spine(uint32_t p, uint32_t s, uint32_t from, uint32_t to) const
	{
		return std::max({nodes_[t_.index(t_.t1(p, s))],
				 up_[fabric(p, from, s)],
				 down_[fabric(p, to, s)]});
	}

private:
	static void raise(double &to, double b) { to = std::max(to, b); }

	/* Feedback comes by the same plane, so both directions matter. */
	double nic(uint32_t p, uint32_t host) const
	{
		const uint32_t l =
			t_.direction(fmt::format("h{}:p{}", host, p)).link;

		return std::max(up_[l], down_[l]);
	}

	double t0(uint32_t p, uint32_t host) const
	{
		return nodes_[t_.index(t_.t0(p, t_.t0_of(host)))];
	}

	uint32_t fabric(uint32_t p, uint32_t host, uint32_t s) const
	{
		return t_
			.direction(
				fmt::format("p{}l{}:s{}", p, t_.t0_of(host), s))
			.link;
	}

	const Topology &t_;
	std::vector<double> nodes_, up_, down_;
};

/* The T1s of a path; 0 stands for none. */
std::vector<uint32_t> spines(const Topology &t, uint32_t a, uint32_t b)
{
	std::vector<uint32_t> out;

	if (t.t0_of(a) == t.t0_of(b))
		return {0};
	for (uint32_t s = 1; s <= t.fabric().t1; s++)
		out.push_back(s);
	return out;
}

void deny_to(const Topology &t, const Badness &bad, uint32_t host,
	     uint32_t destination, const Config &config,
	     std::vector<Denied> &out)
{
	const uint32_t planes = t.fabric().planes;
	const std::vector<uint32_t> over = spines(t, host, destination);
	const auto most = std::min<std::size_t>(
		planes - 1, static_cast<std::size_t>(
				    std::floor(config.deny_planes * planes)));
	std::vector<std::vector<double>> ways(planes + 1);
	std::vector<std::pair<double, uint32_t>> worst;

	for (uint32_t p = 1; p <= planes; p++) {
		double least = 1;

		for (const uint32_t s : over) {
			ways[p].push_back(s ? bad.spine(p, s, host, destination)
					    : 0);
			least = std::min(least, ways[p].back());
		}

		const double b =
			std::max(bad.plane(p, host, destination), least);

		if (b > 0)
			worst.emplace_back(-b, p);
	}
	std::sort(worst.begin(), worst.end());
	worst.resize(std::min(most, worst.size()));
	for (uint32_t p = 1; p <= planes; p++) {
		const bool all = std::any_of(
			worst.begin(), worst.end(),
			[p](const auto &w) { return w.second == p; });
		const double least =
			*std::min_element(ways[p].begin(), ways[p].end());

		/* If it must stay in use, then by what is least bad. */
		for (std::size_t i = 0; i < over.size(); i++)
			if (all || ways[p][i] > least)
				out.push_back({destination, p, over[i]});
	}
}

/* The value of an EV of mrclab's profiles is the number of the T1. */
std::string commands(const char *verb, const std::vector<Denied> &evs)
{
	std::map<uint32_t, std::string> lists;
	std::string out;

	for (const Denied &d : evs) {
		std::string &list = lists[d.destination];

		list += fmt::format("{}{:02x}@{}", list.empty() ? "" : ",",
				    d.t1, d.plane);
	}
	for (const auto &[destination, list] : lists)
		out += fmt::format("ev {} {} {}\n", verb, destination, list);
	return out;
}
} // namespace

DenyList deny_list(const Topology &t, const std::vector<Finding> &findings,
		   uint32_t host, const Config &config)
{
	const Badness bad(t, findings);
	DenyList list;

	if (findings.empty())
		return list;
	for (uint32_t d = 1; d <= t.fabric().all_hosts(); d++)
		if (d != host)
			deny_to(t, bad, host, d, config, list.evs);
	std::sort(list.evs.begin(), list.evs.end());
	return list;
}

std::string deny_commands(const DenyList &before, const DenyList &after)
{
	std::vector<Denied> allow, deny;

	std::set_difference(before.evs.begin(), before.evs.end(),
			    after.evs.begin(), after.evs.end(),
			    std::back_inserter(allow));
	std::set_difference(after.evs.begin(), after.evs.end(),
			    before.evs.begin(), before.evs.end(),
			    std::back_inserter(deny));
	return commands("allow", allow) + commands("deny", deny);
}
} // namespace mrcmap
