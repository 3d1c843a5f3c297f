// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "state.hpp"

#include <map>

#include "names.hpp"

namespace mrcctl
{
namespace
{
double seconds(uint64_t ns)
{
	return static_cast<double>(ns) / 1e9;
}

Json evs_by_state(const Qp &q)
{
	/* In the order in which they are shown. */
	Json n = {{"good", 0}, {"skip", 0}, {"assumed_bad", 0}, {"denied", 0}};

	for (const QpEv &e : q.evs) {
		Json &of = n[qp_ev_state(e.state)];

		of = of.is_null() ? 1 : of.get<uint32_t>() + 1;
	}
	return n;
}

Json evs_by_state(const EvProfile &p)
{
	Json n = {{"good", 0}, {"assumed_bad", 0}, {"denied", 0}};

	for (const EvEntry &e : p.evs) {
		Json &of = n[name_of(e.state)];

		of = of.is_null() ? 1 : of.get<uint32_t>() + 1;
	}
	return n;
}

Json state_of(const QpRate &r, bool rates)
{
	Json j = json_without_evs(r.qp);

	j["rates"] = rates ? rates_json(r) : Json(nullptr);
	j["evs"] = r.qp.evs.size();
	j["evs_by_state"] = evs_by_state(r.qp);
	return j;
}

/* All that is known of one whose details the kernel refuses. */
Json state_of(const QpName &q)
{
	return {{"qpn", q.qpn},
		{"state", q.state},
		{"pid", q.pid},
		{"program", q.program}};
}

Json state_of(const PortRate &r, bool rates)
{
	Port p = r.port;

	p.counters.clear();
	Json j = json_of(p);

	j["rates"] = rates ? rates_json(r) : Json(nullptr);
	return j;
}

Json state_of(const EvProfile &p, std::size_t qps)
{
	Json j = {{"id", p.id},
		  {"state", name_of(p.state)},
		  {"mode", name_of(p.mode)},
		  {"min_active", p.min_active},
		  {"qps", qps}};

	j["fmt"] = p.fmt ? Json(*p.fmt) : Json(nullptr);
	j["evs"] = p.evs.size();
	j["evs_by_state"] = evs_by_state(p);
	return j;
}

Json qps_of(const SampledDevice &d)
{
	Json list = Json::array();

	if (d.figures.qps) {
		for (const QpRate &q : d.frame.qps)
			if (list.size() < max_qps_shown)
				list.push_back(
					state_of(q, d.rates_over_ns != 0));
	} else if (d.figures.qp_names) {
		for (const QpName &q : *d.figures.qp_names)
			if (list.size() < max_qps_shown)
				list.push_back(state_of(q));
	} else {
		return nullptr;
	}
	return list;
}

std::size_t number_of_qps(const MetricsOfDevice &m)
{
	if (m.qps)
		return m.qps->size();
	return m.qp_names ? m.qp_names->size() : 0;
}

Json profiles_of(const MetricsOfDevice &m)
{
	Json list = Json::array();
	std::map<uint64_t, std::size_t> users;

	if (!m.ev_profiles)
		return nullptr;
	for (const Qp &q : m.qps.value_or(std::vector<Qp>{}))
		users[q.ev_profile]++;
	for (const EvProfile &p : *m.ev_profiles)
		list.push_back(state_of(p, users[p.id]));
	return list;
}

Json state_of(const SampledDevice &d)
{
	const MetricsOfDevice &m = d.figures;
	const bool rates = d.rates_over_ns != 0;
	Json j = {{"name", m.name}};

	j["missing"] = Json::array();
	for (const MissingPart &p : m.missing)
		j["missing"].push_back({{"part", p.part}, {"error", p.error}});
	j["rates_over_s"] =
		rates ? Json(seconds(d.rates_over_ns)) : Json(nullptr);
	j["device"] = m.device ? json_of(*m.device) : Json(nullptr);
	j["ports"] = nullptr;
	if (m.ports) {
		j["ports"] = Json::array();
		for (const PortRate &p : d.frame.ports)
			j["ports"].push_back(state_of(p, rates));
	}
	j["qps_all"] = number_of_qps(m);
	j["qps"] = qps_of(d);
	j["ev_profiles"] = profiles_of(m);
	return j;
}
} // namespace

Json state_of(const SampleOfAll &s, const StateOptions &o)
{
	Json devices = Json::array();

	for (const SampledDevice &d : s.devices)
		devices.push_back(state_of(d));
	return {{"time", timestamp(s.wall_us)},
		{"host", o.host},
		{"sample", s.number},
		{"interval_s", seconds(o.interval_ns)},
		{"next_in_s", seconds(o.next_in_ns)},
		{"devices", devices}};
}

std::optional<Json> qp_of(const SampleOfAll &s, const std::string &device,
			  uint64_t qpn)
{
	for (const SampledDevice &d : s.devices) {
		if (d.figures.name != device || !d.figures.qps)
			continue;
		for (const Qp &q : *d.figures.qps)
			if (q.name.qpn == qpn)
				return json_of(q);
	}
	return {};
}
} // namespace mrcctl
