// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "output.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calendar.hpp"
#include "units.hpp"

namespace mrcmap
{
namespace
{
using mrclab::Topology;
using Json = nlohmann::ordered_json;

/* The link itself is certain, and its direction is not. */
bool direction_unknown(const Finding &f)
{
	return std::any_of(f.others.begin(), f.others.end(),
			   [&](const Place &o) {
				   return !is_switch(f.place) &&
					  o.element == f.place.element &&
					  o.number == f.place.number;
			   });
}

/* Places that could be meant instead, without directions of the same link. */
std::vector<Place> others(const Finding &f)
{
	std::vector<Place> out;

	for (const Place &o : f.others)
		if (is_switch(o) || is_switch(f.place) ||
		    o.number != f.place.number)
			out.push_back(o);
	return out;
}

std::string percent(double share)
{
	return fmt::format("{:.3g}%", 100 * share);
}

std::string joined(const std::vector<std::string> &words)
{
	std::string out;

	for (const std::string &w : words)
		out += (out.empty() ? "" : " or ") + w;
	return out;
}

/* JSON has no times: seconds since 1970. */
double seconds(int64_t ms)
{
	return static_cast<double>(ms) / 1000;
}

Json json_finding(const Topology &t, const Finding &f)
{
	Json j, directions = Json::array(), names = Json::array();

	for (const mrclab::Direction &d : directions_of(t, f.place))
		directions.push_back(t.name(d));
	for (const Place &o : f.others)
		names.push_back(place_name(t, o));
	j["element"] = element_name(f.place.element);
	j["name"] = place_name(t, f.place);
	j["directions"] = directions;
	j["direction_known"] = !direction_unknown(f);
	j["others"] = names;
	j["state"] = state_name(f.state);
	j["loss"] = f.loss;
	j["extra_delay_ns"] = f.extra_delay;
	j["confidence"] = f.confidence;
	j["carrier"] = f.carrier ? Json(*f.carrier) : Json();
	j["paths"] = f.paths;
	j["sent"] = f.sent;
	j["lost"] = f.lost;
	return j;
}

Json json_change(const Topology &t, const Change &c)
{
	Json j;

	j["at"] = seconds(c.at);
	j["what"] = what_name(c.what);
	j["finding"] = json_finding(t, c.finding);
	return j;
}

Json json_totals(const Evidence::Totals &n)
{
	Json j;

	j["sent"] = n.sent;
	j["received"] = n.received;
	j["lost"] = n.lost;
	j["duplicates"] = n.duplicates;
	j["late"] = n.late;
	j["disturbed"] = n.disturbed;
	return j;
}

Json json_agent(const AgentView &a)
{
	Json j, carrier = Json::array();

	for (const std::optional<bool> &c : a.carrier)
		carrier.push_back(c ? Json(*c) : Json());
	j["name"] = fmt::format("h{}", a.host);
	j["connected"] = a.connected;
	j["silent"] = a.silent;
	j["reports"] = a.reports;
	j["age_ns"] = a.age ? Json(*a.age) : Json();
	j["carrier"] = carrier;
	j["probes"] = json_totals(a.probes);
	j["ev_events"] = a.ev_events;
	j["denied"] = a.denied;
	return j;
}

Json json_link(const Topology &t, const LinkView &l)
{
	Json j;

	j["name"] = t.name(l.direction);
	j["loss"] = l.loss ? Json(*l.loss) : Json();
	j["qp_sent"] = l.qp_sent;
	j["qp_lost"] = l.qp_lost;
	return j;
}

Json json_history(const Topology &t, const Snapshot &s)
{
	Json list = Json::array();

	for (const Change &c : s.history)
		list.push_back(json_change(t, c));
	return list;
}

std::string dumped(const Json &j)
{
	return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string agents_line(const Snapshot &s)
{
	const auto silent =
		std::count_if(s.agents.begin(), s.agents.end(),
			      [](const AgentView &a) { return a.silent; });
	std::string names;

	for (const AgentView &a : s.agents)
		if (a.silent)
			names += fmt::format(" h{}", a.host);
	return fmt::format("{} of {} agents report{}{}",
			   static_cast<std::ptrdiff_t>(s.agents.size()) -
				   silent,
			   s.agents.size(), silent ? "; silent:" : "", names);
}

/* The text format: a name, what it is, and its type. */
void family(std::string &out, const char *name, const char *type,
	    const char *help)
{
	fmt::format_to(std::back_inserter(out),
		       "# HELP mrcmap_{} {}\n# TYPE mrcmap_{} {}\n", name, help,
		       name, type);
}

std::string label(const std::string &text)
{
	std::string out;

	for (const char c : text)
		if (c == '\n')
			out += "\\n";
		else if (c == '"' || c == '\\')
			out += std::string("\\") + c;
		else
			out += c;
	return out;
}

void probe_counters(std::string &out, const std::string &fabric,
		    const Snapshot &s)
{
	using Totals = Evidence::Totals;
	static const struct {
		const char *name;
		uint64_t Totals::*member;
		const char *help;
	} rows[] = {
		{"probe_sent_total", &Totals::sent, "Probes sent."},
		{"probe_received_total", &Totals::received,
		 "Probes received by whom they were meant for."},
		{"probe_lost_total", &Totals::lost,
		 "Probes that count as lost."},
		{"probe_duplicates_total", &Totals::duplicates,
		 "Probes received a second time."},
		{"probe_late_total", &Totals::late,
		 "Probes received after they had counted as lost."},
		{"probe_disturbed_total", &Totals::disturbed,
		 "Windows without meaning, since the agent did not run."},
	};

	for (const auto &r : rows) {
		family(out, r.name, "counter", r.help);
		for (std::size_t k = 0; k < s.kinds.size(); k++)
			fmt::format_to(
				std::back_inserter(out),
				"mrcmap_{}{{fabric=\"{}\",kind=\"{}\"}} {}\n",
				r.name, fabric,
				kind_name(static_cast<PathKind>(k)),
				s.kinds[k].*r.member);
	}
}
} // namespace

std::string finding_line(const Topology &t, const Finding &f)
{
	std::vector<std::string> names = {place_name(t, f.place)};
	std::string s;

	for (const Place &o : others(f))
		names.push_back(place_name(t, o));
	s = joined(names) + ": " + state_name(f.state);
	if (f.state == State::lossy)
		s += " " + percent(f.loss);
	if (f.extra_delay)
		s += " by " + mrclab::show_time(f.extra_delay);
	if (!is_switch(f.place))
		s += direction_unknown(f)	? ", direction unknown"
		     : f.place.way == Way::both ? ", both directions"
						: ", one direction";
	if (f.state == State::gray)
		s += f.carrier ? ", carrier is up" : ", carrier not known";
	return s;
}

std::string change_line(const Topology &t, const Change &c)
{
	return fmt::format("{} {} {}", iso_time(c.at), what_name(c.what),
			   finding_line(t, c.finding));
}

std::string text_of(const Topology &t, const Snapshot &s)
{
	std::string out = fmt::format("fabric {}, {}\n{}\n", t.fabric().name,
				      iso_time(s.wall), agents_line(s));
	Evidence::Totals sum;

	for (const Evidence::Totals &k : s.kinds) {
		sum.sent += k.sent;
		sum.lost += k.lost;
		sum.late += k.late;
	}
	out += fmt::format("{} probes, {} lost, {} late\n", sum.sent, sum.lost,
			   sum.late);
	if (s.alarms.empty())
		return out + "no findings\n";
	out += fmt::format("{} finding{}\n\n{:<12} {:<6} {:<20} {:>8} {:>8} "
			   "{:<20} {}\n",
			   s.alarms.size(), s.alarms.size() == 1 ? "" : "s",
			   "ELEMENT", "STATE", "NAME", "LOSS", "DELAY", "SINCE",
			   "WHAT");
	for (const Alarm &a : s.alarms) {
		const Finding &f = a.finding;

		out += fmt::format(
			"{:<12} {:<6} {:<20} {:>8} {:>8} {:<20} {}\n",
			element_name(f.place.element), state_name(f.state),
			place_name(t, f.place),
			f.state == State::slow ? "-" : percent(f.loss),
			f.extra_delay ? mrclab::show_time(f.extra_delay) : "-",
			iso_time(a.since), finding_line(t, f));
	}
	return out;
}

std::string json_of(const Topology &t, const Snapshot &s)
{
	Json j, findings = Json::array(), agents = Json::array(),
		links = Json::array(), probes;

	for (const Alarm &a : s.alarms) {
		Json f = json_finding(t, a.finding);

		f["since"] = seconds(a.since);
		findings.push_back(std::move(f));
	}
	for (const AgentView &a : s.agents)
		agents.push_back(json_agent(a));
	for (const LinkView &l : s.links)
		links.push_back(json_link(t, l));
	for (std::size_t k = 0; k < s.kinds.size(); k++)
		probes[kind_name(static_cast<PathKind>(k))] =
			json_totals(s.kinds[k]);
	j["fabric"] = t.fabric().name;
	j["time"] = seconds(s.wall);
	j["findings"] = findings;
	j["agents"] = agents;
	j["probes"] = probes;
	j["links"] = links;
	j["history"] = json_history(t, s);
	j["bad_lines"] = s.bad_lines;
	return dumped(j);
}

std::string history_json(const Topology &t, const Snapshot &s)
{
	return dumped(json_history(t, s));
}

std::string prometheus_of(const Topology &t, const Snapshot &s)
{
	const std::string fabric = label(t.fabric().name);
	std::string out;
	const auto add = std::back_inserter(out);

	family(out, "link_loss_ratio", "gauge",
	       "Share of packets that a direction of a link loses, at most.");
	for (const LinkView &l : s.links)
		if (l.loss)
			fmt::format_to(add,
				       "mrcmap_link_loss_ratio{{fabric=\"{}\","
				       "link=\"{}\",direction=\"{}\"}} {:g}\n",
				       fabric, t.name({l.direction.link, true}),
				       l.direction.up ? "up" : "down", *l.loss);
	family(out, "finding", "gauge", "1 for each fault that is raised.");
	for (const Alarm &a : s.alarms)
		fmt::format_to(add,
			       "mrcmap_finding{{fabric=\"{}\",element=\"{}\","
			       "name=\"{}\",state=\"{}\"}} 1\n",
			       fabric, element_name(a.finding.place.element),
			       place_name(t, a.finding.place),
			       state_name(a.finding.state));
	family(out, "findings", "gauge", "Faults that are raised.");
	fmt::format_to(add, "mrcmap_findings{{fabric=\"{}\"}} {}\n", fabric,
		       s.alarms.size());
	family(out, "agent_up", "gauge", "1 for each agent that reports.");
	for (const AgentView &a : s.agents)
		fmt::format_to(
			add,
			"mrcmap_agent_up{{fabric=\"{}\",host=\"h{}\"}} {:d}\n",
			fabric, a.host, !a.silent);
	family(out, "denied_paths", "gauge",
	       "Entries of the deny list of a host.");
	for (const AgentView &a : s.agents)
		fmt::format_to(add,
			       "mrcmap_denied_paths{{fabric=\"{}\","
			       "host=\"h{}\"}} {}\n",
			       fabric, a.host, a.denied);
	probe_counters(out, fabric, s);
	family(out, "qp_lost_total", "counter",
	       "Packets that queue pairs lost on paths over a direction.");
	for (const LinkView &l : s.links)
		if (l.qp_sent)
			fmt::format_to(add,
				       "mrcmap_qp_lost_total{{fabric=\"{}\","
				       "link=\"{}\",direction=\"{}\"}} {}\n",
				       fabric, t.name({l.direction.link, true}),
				       l.direction.up ? "up" : "down",
				       l.qp_lost);
	family(out, "bad_lines_total", "counter",
	       "Wrong lines, after each of which a connection was closed.");
	fmt::format_to(add, "mrcmap_bad_lines_total{{fabric=\"{}\"}} {}\n",
		       fabric, s.bad_lines);
	return out;
}
} // namespace mrcmap
