// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "json.hpp"

#include <cmath>

#include <fmt/format.h>

#include "names.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
Json id_or_null(uint64_t id)
{
	return id == no_profile ? Json(nullptr) : Json(id);
}

/* With the digits of a float, not those of the double that holds it. */
Json number(const NsccParam &p, const Nscc &c)
{
	if (p.whole)
		return static_cast<uint64_t>(p.get(c));
	return std::stod(fmt::format("{}", static_cast<float>(p.get(c))));
}

Json counters(const std::vector<Counter> &list)
{
	Json out = Json::object();

	for (const Counter &c : list)
		out[c.name] = c.value;
	return out;
}
} // namespace

std::string dumped(const Json &j, int indent)
{
	return j.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of(const Device &d)
{
	return {
		{"name", d.name},
		{"protocol_version", bits_of(d.protocol_version << 1)},
		{"ctl_protocol_version", bits_of(d.ctl_protocol_version << 1)},
		{"ports", bits_of(d.port_mask)},
		{"cap", cap_names(d.cap)},
		{"opt", opt_names(d.opt)},
		{"max_wimm", d.max_wimm},
		{"max_wimm_dest", d.max_wimm_dest},
		{"max_mpr", d.max_mpr},
		{"mpr_resolution", d.mpr_resolution},
		{"max_qp_hint", d.max_qp_hint},
		{"extension", d.extension ? Json(*d.extension) : Json(nullptr)},
		{"attr", d.qp ? Json({{"num_evs", d.qp->num_evs},
				      {"mpr", d.qp->mpr ? Json(d.qp->mpr)
							: Json(nullptr)},
				      {"cwnd", d.qp->cwnd},
				      {"cc", d.qp->cc}})
			      : Json(nullptr)},
		{"fmt",
		 {{"max_profiles", d.max_fmt_profiles},
		  {"modes", fmt_modes(d.fmt_modes)}}},
		{"ev",
		 {{"max_profiles", d.max_ev_profiles},
		  {"modes", ev_modes(d.ev_modes)},
		  {"max_count", d.max_evs},
		  {"free_count", d.free_evs},
		  {"max_count_profile", d.max_evs_profile},
		  {"count_align", d.ev_count_align},
		  {"max_width", d.ev_max_width},
		  {"op_max_entries", d.ev_op_max_entries}}},
		{"cc",
		 {{"max_profiles", d.max_cc_profiles},
		  {"algorithms", d.algorithms}}},
	};
}

Json json_of(const Port &p)
{
	Json j = {{"port", p.num},
		  {"admin", p.enabled
				    ? Json(*p.enabled ? "enabled" : "disabled")
				    : Json(nullptr)},
		  {"state", p.state},
		  {"netdev", p.netdev}};

	if (!p.counters.empty())
		j["counters"] = counters(p.counters);
	return j;
}

Json json_of(const TrafficClasses &tc)
{
	Json dscp = Json::object();

	for (std::size_t i = 0; i < tc.dscp.size(); i++)
		dscp[std::string(dscp_names[i])] = tc.dscp[i];
	return {{"dscp", dscp}, {"trimming", tc.trimming}};
}

Json json_of(const Limits &l)
{
	Json out = Json::object();

	for (std::size_t i = 0; i < l.max.size(); i++)
		out[std::string(limit_names[i])] = {{"now", l.now[i]},
						    {"max", l.max[i]}};
	return out;
}

Json json_of(const Default &d)
{
	Json j = {{"prefix", show_prefix(d.prefix)},
		  {"ev_profile", id_or_null(d.ev_profile)},
		  {"cc_profile", id_or_null(d.cc_profile)}};

	if (d.udp_port)
		j["udp_port"] = d.udp_port;
	return j;
}

Json json_of(const Fmt &f)
{
	return {{"id", f.id},
		{"state", name_of(f.state)},
		{"mode", name_of(f.mode)},
		{"fields", f.fields}};
}

static Json json_of(const EvField &f)
{
	return {{"width", f.width},
		{"init", fmt::format("{:#x}", f.init)},
		{"mask", fmt::format("{:#x}", f.mask)},
		{"min", fmt::format("{:#x}", f.min)},
		{"max", fmt::format("{:#x}", f.max)}};
}

static Json json_of(const EvEntry &e)
{
	return {{"ev", show_ev(e.ev)}, {"state", name_of(e.state)}};
}

Json json_of(const EvProfile &p)
{
	Json j = {{"id", p.id},
		  {"state", name_of(p.state)},
		  {"mode", name_of(p.mode)},
		  {"min_active", p.min_active},
		  {"events", event_names(p.event_mask)}};

	if (p.fmt)
		j["fmt"] = *p.fmt;
	if (p.mode == EvMode::automatic)
		return j;
	j["count"] = p.count;
	j["fields"] = Json::array();
	for (const EvField &f : p.fields)
		j["fields"].push_back(json_of(f));
	j["evs"] = Json::array();
	for (const EvEntry &e : p.evs)
		j["evs"].push_back(json_of(e));
	return j;
}

Json json_of(const CcProfile &p)
{
	Json j = {{"id", p.id},
		  {"state", name_of(p.state)},
		  {"algorithm",
		   p.algorithm.empty() ? Json("off") : Json(p.algorithm)}};

	if (p.nscc)
		for (const NsccParam &param : nscc_params())
			j["parameters"][std::string(param.name)] =
				number(param, *p.nscc);
	return j;
}

Json json_of(const EvEvent &e)
{
	return {{"event", "ev"},
		{"ev_profile", e.profile},
		{"ev", show_ev(e.ev)},
		{"state", name_of(e.state)},
		{"dropped", e.dropped}};
}

Json json_of(const QpEv &e)
{
	return {{"entropy", fmt::format("{:#010x}", e.entropy)},
		{"port", e.port},
		{"state", qp_ev_state(e.state)},
		{"drops", e.drops}};
}

Json json_without_evs(const Qp &q)
{
	Json ports = Json::array();

	for (std::size_t i = 0; i < q.ports.size(); i++)
		ports.push_back(
			{{"port", i + 1},
			 {"up", (q.ports_up >> (i + 1) & 1) != 0},
			 {"peer_up", (q.peer_ports >> (i + 1) & 1) != 0},
			 {"tx_pkts", q.ports[i].tx_pkts},
			 {"tx_bytes", q.ports[i].tx_bytes}});
	return {
		{"qpn", q.name.qpn},
		{"state", q.name.state},
		{"dest_qpn", q.dest_qpn},
		{"pid", q.name.pid},
		{"program", q.name.program},
		{"ev_profile", id_or_null(q.ev_profile)},
		{"cc_profile", id_or_null(q.cc_profile)},
		{"cc", q.cc},
		{"sched", sched_state(q.sched_state)},
		{"cwnd", q.cwnd},
		{"inflight", q.inflight},
		{"window", q.window},
		{"base_rtt_ns", q.base_rtt_ns},
		{"srtt_ns", q.srtt_ns},
		{"tx_pkts", q.tx_pkts},
		{"rtx_pkts", q.rtx_pkts},
		{"timeouts", q.timeouts},
		{"ports", ports},
	};
}

Json json_of(const Qp &q)
{
	Json j = json_without_evs(q);

	j["evs"] = json_of(q.evs);
	return j;
}

Json json_of(const Definitions &d)
{
	return {{"formats", json_of(d.formats)},
		{"ev_profiles", json_of(d.ev_profiles)},
		{"cc_profiles", json_of(d.cc_profiles)},
		{"defaults", json_of(d.defaults)}};
}
} // namespace mrcctl
