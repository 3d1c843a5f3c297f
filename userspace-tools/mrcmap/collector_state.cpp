// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "collector_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace mrcmap
{
namespace
{
void add(Evidence::Totals &to, const Evidence::Totals &n)
{
	to.sent += n.sent;
	to.received += n.received;
	to.lost += n.lost;
	to.duplicates += n.duplicates;
	to.late += n.late;
	to.disturbed += n.disturbed;
}

constexpr std::size_t path_kinds = 4;
} // namespace

CollectorState::CollectorState(const mrclab::Topology &topology,
			       const Plan &plan, const Config &config)
	: t_(topology), plan_(plan), config_(config), evidence_(plan, config),
	  locator_(topology, plan, config), health_(config),
	  agents_(topology.fabric().all_hosts()),
	  lists_(topology.fabric().all_hosts())
{
	for (uint32_t l = 0; l < t_.links().size(); l++)
		for (const bool up : {true, false}) {
			links_.emplace_back();
			links_.back().direction = {l, up};
		}
	for (Agent &a : agents_)
		a.carrier.resize(t_.fabric().planes);
}

CollectorState::Answer CollectorState::refuse(const std::string &why)
{
	bad_lines_++;
	return {{write(ErrorText{why})}, true, why};
}

CollectorState::Answer CollectorState::on_hello(Connection from, const Hello &h)
{
	if (hosts_.contains(from))
		return refuse("a second hello");
	if (h.fabric != t_.fabric().name)
		return refuse(fmt::format(
			"the collector is for fabric \"{}\", the agent for "
			"\"{}\"",
			t_.fabric().name, h.fabric));
	if (h.host < 1 || h.host > agents_.size())
		return refuse(fmt::format("fabric {} has no host h{}", h.fabric,
					  h.host));
	if (h.plan != plan_.digest())
		return refuse(
			"the agent's fabric file or probe settings differ "
			"from those of the collector");

	Agent &a = agents_[h.host - 1];

	/* Its old connection may not have ended yet, after a crash. */
	if (a.connection) {
		close_also_.push_back(*a.connection);
		hosts_.erase(*a.connection);
	}
	hosts_[from] = h.host;
	a.connection = from;
	a.carrier.assign(t_.fabric().planes, std::nullopt);
	/* It has no list; so it gets one if it should have one. */
	a.told = {};
	return {};
}

/* Throws ReportError for what cannot be about this fabric. */
void CollectorState::on_windows(uint32_t host, const Windows &w, uint64_t now)
{
	Agent &a = agents_[host - 1];

	for (const PathWindow &p : w.paths)
		if (p.path >= plan_.paths().size() ||
		    plan_.paths()[p.path].host != host)
			throw ReportError(fmt::format(
				"path {} is none of host h{}", p.path, host));
	for (const PeerWindow &p : w.peers)
		if (p.path >= plan_.paths().size() ||
		    !plan_.paths()[p.path].one_way() ||
		    plan_.paths()[p.path].receiver != host)
			throw ReportError(fmt::format(
				"path {} is none to host h{}", p.path, host));
	for (const PathWindow &p : w.paths)
		evidence_.on_window(p, now);
	for (const PeerWindow &p : w.peers)
		evidence_.on_peer(p, now);
	evidence_.on_report_of(host, now);
	a.last = now;
	a.reports++;
}

void CollectorState::check_path(uint32_t host, uint32_t to, uint32_t plane,
				uint32_t t1) const
{
	const mrclab::Fabric &f = t_.fabric();

	if (to < 1 || to > f.all_hosts() || to == host || plane < 1 ||
	    plane > f.planes || t1 > f.t1 ||
	    (t1 == 0) != (t_.t0_of(host) == t_.t0_of(to)))
		throw ReportError(
			fmt::format("no path from host h{} to h{} in plane {} "
				    "over T1 {}",
				    host, to, plane, t1));
}

void CollectorState::on_evs(uint32_t host, const EvCounts &counts)
{
	for (const EvCount &c : counts.evs)
		check_path(host, c.destination, c.plane, c.t1);
	for (const EvCount &c : counts.evs)
		for (const mrclab::Direction &d :
		     t_.path(host, c.plane, c.t1, c.destination)) {
			LinkView &l = links_[2 * d.link + (d.up ? 0 : 1)];

			l.qp_sent += c.sent;
			l.qp_lost += c.lost;
		}
}

CollectorState::Answer
CollectorState::on_message(uint32_t host, const Message &m, uint64_t now)
{
	Agent &a = agents_[host - 1];

	if (const auto *w = std::get_if<Windows>(&m)) {
		on_windows(host, *w, now);
	} else if (const auto *p = std::get_if<Ports>(&m)) {
		if (p->carrier.size() != t_.fabric().planes)
			throw ReportError(fmt::format("carrier has not {} "
						      "entries",
						      t_.fabric().planes));
		a.carrier = p->carrier;
	} else if (const auto *e = std::get_if<EvEvent>(&m)) {
		check_path(host, e->destination, e->plane, e->t1);
		a.ev_events++;
	} else if (const auto *c = std::get_if<EvCounts>(&m)) {
		on_evs(host, *c);
	} else {
		throw ReportError("agents send no such line");
	}
	return {};
}

CollectorState::Answer
CollectorState::on_line(Connection from, std::string_view line, uint64_t now)
{
	try {
		const Message m = parse_line(line);
		const auto host = hosts_.find(from);

		if (const auto *h = std::get_if<Hello>(&m))
			return on_hello(from, *h);
		if (host == hosts_.end())
			return refuse("no hello yet");
		return on_message(host->second, m, now);
	} catch (const ReportError &e) {
		return refuse(e.what());
	}
}

std::vector<Connection> CollectorState::close_also()
{
	return std::exchange(close_also_, {});
}

void CollectorState::on_disconnect(Connection from)
{
	const auto host = hosts_.find(from);

	if (host == hosts_.end())
		return;

	Agent &a = agents_[host->second - 1];

	/* Nobody knows any more. */
	a.connection.reset();
	a.carrier.assign(t_.fabric().planes, std::nullopt);
	hosts_.erase(host);
}

std::vector<Change> CollectorState::evaluate(uint64_t now, int64_t wall)
{
	Carriers carriers;
	std::vector<Finding> raised;

	evidence_.advance(now);
	for (const Agent &a : agents_)
		carriers.push_back(a.carrier);

	std::vector<Change> changes =
		health_.update(locator_.locate(evidence_, carriers), wall);

	for (std::size_t i = 0; i < links_.size(); i++)
		links_[i].loss = locator_.link_loss()[i];
	for (const Alarm &a : health_.alarms())
		raised.push_back(a.finding);
	for (uint32_t h = 1; h <= lists_.size(); h++)
		lists_[h - 1] =
			deny_ ? deny_list(t_, raised, h, config_) : DenyList();
	return changes;
}

std::vector<CollectorState::Line> CollectorState::deny_lines()
{
	std::vector<Line> out;

	for (std::size_t i = 0; i < agents_.size(); i++) {
		Agent &a = agents_[i];

		if (!a.connection || a.told == lists_[i])
			continue;
		a.told = lists_[i];
		out.push_back({*a.connection, write(lists_[i])});
	}
	return out;
}

const DenyList &CollectorState::deny_list_of(uint32_t host) const
{
	return lists_.at(host - 1);
}

Snapshot CollectorState::snapshot(uint64_t now, int64_t wall) const
{
	Snapshot s;

	s.wall = wall;
	s.alarms = health_.alarms();
	s.links = links_;
	s.kinds.resize(path_kinds);
	s.history = health_.history();
	s.bad_lines = bad_lines_;
	for (uint32_t h = 1; h <= agents_.size(); h++) {
		const Agent &a = agents_[h - 1];
		AgentView v;

		v.host = h;
		v.connected = a.connection.has_value();
		v.reports = a.reports;
		if (a.last)
			v.age = now - std::min(now, *a.last);
		v.silent = !v.age || *v.age > config_.silent_time;
		for (const uint32_t id : plan_.sent_by(h))
			add(v.probes, evidence_.totals()[id]);
		v.carrier = a.carrier;
		v.ev_events = a.ev_events;
		v.denied = lists_[h - 1].evs.size();
		s.agents.push_back(std::move(v));
	}
	for (const ProbePath &p : plan_.paths())
		add(s.kinds[static_cast<std::size_t>(p.kind)],
		    evidence_.totals()[p.id]);
	return s;
}
} // namespace mrcmap
