// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "locate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "merge.hpp"
#include "places.hpp"

namespace mrcmap
{
namespace
{
/*
 * A time over which losses are counted, in parts. A burst is no loss of a link:
 * the parts that speak for a loss most do not count.
 */
struct Scale {
	uint64_t time;
	uint32_t parts;
	double trimmed; /* share of the parts */
};

/* The times; those of loss with the shortest first. */
enum Index : std::size_t {
	at_dead,  /* dead, and nothing else */
	at_first, /* much loss: what has just begun */
	at_second,
	at_short,
	at_medium,
	at_long
};
/* Parts of the short time: the first and the second time of much loss. */
constexpr double first_share = 0.28, second_share = 0.5;

/* Share of the parts of the time of death from which there must be counts. */
constexpr double parts_needed = 0.6;
/* Losses that are expected in the last time, to see whether they go on. */
constexpr double recent_losses = 20;
constexpr double recent_share = 0.25;
/* Parts of the time with so many expected losses should have some ... */
constexpr double steady_losses = 8;
/* ... but for this share of them. */
constexpr double steady_share = 0.25;
/* What is a fault is measured with an error. */
constexpr double alarm_slack = 0.8;
/*
 * A fault that was there before needs less evidence. So does one that has just
 * begun: the parts that are trimmed are most of what there is of it.
 */
constexpr double stay_slack = 0.75;
constexpr double less_significance = 0.5;
/* Loss that needs not the longest time to be told apart. */
constexpr double much_loss = 0.01;
/* Loss of a part that shows that it is no loss at random. */
constexpr double silent_share = 0.7;
/* Slices of the short time that are the last moment. */
constexpr std::size_t newest_slices = 3;

uint64_t part_of(uint64_t time, double share)
{
	return static_cast<uint64_t>(static_cast<double>(time) * share);
}

Place both_ways(Place p)
{
	p.way = Way::both;
	return p;
}

std::vector<PathCount> newest(const Slices &s)
{
	std::vector<PathCount> out(s.total.size());

	for (std::size_t i = 0; i < std::min(newest_slices, s.slices.size());
	     i++)
		for (std::size_t p = 0; p < out.size(); p++) {
			const PathCount &c =
				s.slices[s.slices.size() - 1 - i][p];

			out[p].sent += c.sent;
			out[p].lost += c.lost;
		}
	return out;
}
} // namespace

struct Locator::Work {
	Work(const mrclab::Topology &topology, const Plan &plan,
	     const Config &c)
		: t(topology), config(c), places(topology, plan)
	{
	}

	void look(Evidence &evidence, const Carriers &carriers);
	void look_for_loss(std::size_t index, const Slices &slices);
	bool significant(const LossFit &fit, const Cause &c, std::size_t index,
			 const Slices &slices) const;
	bool recent(const LossFit &fit, const Cause &c) const;
	bool steady(const LossFit &fit, const Cause &c, const Slices &s) const;
	double dispersion(const LossFit &fit, const Cause &c,
			  const Slices &s) const;
	bool certain(const Cause &c, std::size_t index) const;
	bool link_certain(const Cause &c, std::size_t index) const;
	bool silent(const Cause &c, const Slices &s) const;
	void forget_unused(Slices &s, const Carriers &carriers) const;
	bool known(const Place &place) const;
	bool is_same(const Finding &f);
	void settle(Finding &f) const;
	void add_hasty();
	Finding finding(const Cause &c,
			const std::vector<PathCount> &counts) const;
	void look_for_delay(Evidence &evidence);
	void find_link_loss(const std::vector<PathCount> &counts);

	const mrclab::Topology &t;
	Config config;
	Places places;
	std::vector<Scale> scales;
	std::vector<Slices> slices; /* by scale */
	std::vector<Finding> found;
	/* Those of which nothing but the link is certain, by the shortest
	 * scales; others have precedence.
	 */
	std::vector<Finding> hasty;
	/* Places of the last call; of the hasty ones without the direction. */
	std::set<Place> before, hasty_before;
	/* Places that were certain, and the looks since then. */
	std::map<Place, uint32_t> settled;
	LinkLoss loss;
};

const char *element_name(Element e)
{
	switch (e) {
	case Element::nic_link:
		return "nic_link";
	case Element::t0:
		return "t0";
	case Element::fabric_link:
		return "fabric_link";
	default:
		return "t1";
	}
}

const char *state_name(State s)
{
	switch (s) {
	case State::down:
		return "down";
	case State::gray:
		return "gray";
	case State::lossy:
		return "lossy";
	default:
		return "slow";
	}
}

const char *way_name(Way w)
{
	switch (w) {
	case Way::up:
		return "up";
	case Way::down:
		return "down";
	default:
		return "both";
	}
}

std::string place_name(const mrclab::Topology &t, const Place &p)
{
	if (p.element == Element::t0 || p.element == Element::t1)
		return t.nodes()[p.number].name;
	return t.name({p.number, p.way != Way::down}) +
	       (p.way == Way::both ? "+" : "");
}

std::vector<mrclab::Direction> directions_of(const mrclab::Topology &t,
					     const Place &p)
{
	std::vector<mrclab::Direction> out;

	if (p.element == Element::t0 || p.element == Element::t1)
		return t.sent_by(t.nodes()[p.number]);
	if (p.way != Way::down)
		out.push_back({p.number, true});
	if (p.way != Way::up)
		out.push_back({p.number, false});
	return out;
}

/*
 * Bursts leave most parts of the time without a loss; a link that loses does
 * not. What is before the first loss does not count: there was no fault yet.
 */
bool Locator::Work::steady(const LossFit &fit, const Cause &c,
			   const Slices &s) const
{
	double parts = 0, empty = 0;

	for (const auto &part : s.slices) {
		const double expected = fit.expected(c, part);

		if (expected < steady_losses)
			continue;
		if (fit.excess(c, part) < expected * recent_share)
			empty += parts > 0 ? 1 : 0;
		else
			parts++;
	}
	return empty <= steady_share * (parts + empty);
}

/*
 * How much more the losses vary from part to part than those of a link that
 * loses each packet by itself: about the number of losses in a burst. So much
 * less they say. Few parts vary by chance: two standard deviations do not
 * count.
 */
double Locator::Work::dispersion(const LossFit &fit, const Cause &c,
				 const Slices &s) const
{
	std::vector<std::pair<double, double>> parts; /* expected, seen */
	double expected = 0, seen = 0, sum = 0;

	for (const auto &part : s.slices) {
		const double n = fit.expected(c, part);
		const double k = std::max(0.0, fit.excess(c, part));

		if (n <= 0 || (parts.empty() && k < 1))
			continue;
		parts.emplace_back(n, k);
		expected += n;
		seen += k;
	}
	if (parts.size() < 2 || seen <= 0)
		return 1;
	for (const auto &[n, k] : parts) {
		const double mean = n * seen / expected;

		sum += (k - mean) * (k - mean) / mean;
	}

	const auto freedom = static_cast<double>(parts.size() - 1);

	return std::max(1.0, sum / (freedom + 2 * std::sqrt(2 * freedom)));
}

/*
 * Nearly nothing passed in some part. That was a burst, or the place is dead:
 * longer times will tell.
 */
bool Locator::Work::silent(const Cause &c, const Slices &s) const
{
	return std::any_of(
		s.slices.begin(), s.slices.end(), [&](const auto &part) {
			uint64_t sent = 0, lost = 0;

			for (const Passage &p : places.passages(c.place)) {
				sent += part[p.path].sent;
				lost += part[p.path].lost;
			}
			return sent >= config.min_probes &&
			       static_cast<double>(lost) >=
				       silent_share * static_cast<double>(sent);
		});
}

/* Some of the losses must also be in the parts that are not trimmed. */
bool Locator::Work::significant(const LossFit &fit, const Cause &c,
				std::size_t index, const Slices &s) const
{
	const Place &place = places.place(c.place);
	const bool stay =
		before.contains(place) ||
		(index <= at_short && hasty_before.contains(both_ways(place)));
	const bool first = index == at_first || index == at_second;
	const double q = -std::expm1(c.keep);
	std::vector<double> gains;
	double sum = 0;
	std::size_t used = 0;

	if (q <
	    config.loss_alarm * (stay ? stay_slack * alarm_slack : alarm_slack))
		return false;
	for (const auto &part : s.slices) {
		uint64_t sent = 0;

		for (const Passage &p : places.passages(c.place))
			sent += part[p.path].sent;
		if (!sent)
			continue;
		used++;
		gains.push_back(fit.gain(c, part));
		sum += gains.back();
	}
	if (index == at_dead)
		return q >= config.dead_loss &&
		       static_cast<double>(used) >=
			       parts_needed *
				       static_cast<double>(s.slices.size());
	if (first && (q < much_loss || silent(c, s)))
		return false;
	/* A few bursts in a few parts look steady. */
	if (2 * used < s.slices.size())
		return false;
	std::sort(gains.rbegin(), gains.rend());

	const auto trimmed = static_cast<std::size_t>(std::ceil(
		scales[index].trimmed * static_cast<double>(s.slices.size())));

	for (std::size_t i = 0; i < std::min(trimmed, gains.size()); i++)
		sum -= std::max(0.0, gains[i]);
	return sum >= config.significance *
			       (stay || first ? less_significance : 1) *
			       dispersion(fit, c, s) &&
	       steady(fit, c, s);
}

/* Do the losses go on? Looks back until enough of them should be there. */
bool Locator::Work::recent(const LossFit &fit, const Cause &c) const
{
	for (const std::size_t index : {at_short, at_medium, at_long}) {
		const auto &parts = slices[index].slices;
		double expected = 0, seen = 0;

		for (auto i = parts.rbegin(); i != parts.rend(); i++) {
			expected += fit.expected(c, *i);
			seen += fit.excess(c, *i);
			if (expected >= recent_losses)
				return seen >= expected * recent_share;
		}
	}
	return true;
}

/*
 * Other places that no probe can tell from this one are no reason to wait. For
 * others there will be more probes.
 */
bool Locator::Work::certain(const Cause &c, std::size_t index) const
{
	const double q = -std::expm1(c.keep);

	if (index + 1 == scales.size() ||
	    before.contains(places.place(c.place)) ||
	    (index == at_short && q >= config.dead_loss) ||
	    (index == at_medium && q >= much_loss))
		return true;
	return std::all_of(c.rivals.begin(), c.rivals.end(),
			   [&](uint32_t other) {
				   return places.same_group(other, c.place);
			   });
}

/*
 * A loss of this size should not wait until its direction is certain: deny
 * lists are the same for both.
 */
bool Locator::Work::link_certain(const Cause &c, std::size_t index) const
{
	const Place &own = places.place(c.place);

	return index <= at_short && -std::expm1(c.keep) >= much_loss &&
	       std::all_of(c.rivals.begin(), c.rivals.end(),
			   [&](uint32_t other) {
				   const Place &p = places.place(other);

				   return p.element == own.element &&
					  p.number == own.number;
			   });
}

/*
 * A shorter time knows better what a link or switch does now. A switch can have
 * a fault of its own beside that of one of its links.
 */
bool Locator::Work::known(const Place &place) const
{
	return std::any_of(found.begin(), found.end(), [&](const Finding &f) {
		if (f.place.element == place.element &&
		    f.place.number == place.number)
			return true;
		return covers(t, f.place, place);
	});
}

Finding Locator::Work::finding(const Cause &c,
			       const std::vector<PathCount> &counts) const
{
	Finding f;

	f.place = places.place(c.place);
	for (const uint32_t other : c.rivals)
		f.others.push_back(places.place(other));
	std::sort(f.others.begin(), f.others.end());
	f.loss = -std::expm1(c.keep);
	f.state = f.loss >= config.dead_loss ? State::gray : State::lossy;
	if (f.state == State::gray)
		f.loss = 1;
	f.extra_delay = c.delay;
	f.confidence = -std::expm1(-c.margin / config.separation);
	for (const Passage &p : places.passages(c.place)) {
		f.paths += counts[p.path].sent ? 1 : 0;
		f.sent += counts[p.path].sent;
		f.lost += counts[p.path].lost;
	}
	return f;
}

/*
 * A longer time may tell apart what a shorter one could not: one fault, and not
 * two.
 */
bool Locator::Work::is_same(const Finding &f)
{
	const auto among = [](const Place &p, const std::vector<Place> &all) {
		return std::find(all.begin(), all.end(), p) != all.end();
	};

	for (Finding &g : found) {
		if (among(f.place, g.others) &&
		    f.others.size() < g.others.size())
			g = f;
		else if (!among(f.place, g.others) && !among(g.place, f.others))
			continue;
		return true;
	}
	return false;
}

/*
 * What was certain some moments ago is named as long as it can be the cause:
 * one fault does not change its name whenever there is less evidence.
 */
void Locator::Work::settle(Finding &f) const
{
	const auto is_settled = [this](const Place &p) {
		return settled.contains(p);
	};
	const auto i =
		std::find_if(f.others.begin(), f.others.end(), is_settled);

	if (is_settled(f.place))
		f.others.clear();
	if (f.others.empty() || i == f.others.end())
		return;
	f.place = *i;
	f.others.clear();
}

/* What is certain of other times has precedence. */
void Locator::Work::add_hasty()
{
	hasty_before.clear();
	for (Finding &f : hasty)
		if (!known(f.place)) {
			hasty_before.insert(both_ways(f.place));
			found.push_back(std::move(f));
		}
	for (auto &[place, looks] : settled)
		looks++;
	std::erase_if(settled, [this](const auto &s) {
		return s.second > config.clear_after;
	});
	for (const Finding &f : found)
		if (f.others.empty())
			settled[f.place] = 0;
}

void Locator::Work::look_for_loss(std::size_t index, const Slices &s)
{
	const LossFit fit(places, s.total, config);
	std::vector<Finding> here;

	for (Cause c : fit.causes()) {
		if (!significant(fit, c, index, s) || !recent(fit, c))
			continue;

		const bool sure = certain(c, index);

		if (!sure && !link_certain(c, index))
			continue;
		name_first(places, c);

		Finding f = finding(c, s.total);

		settle(f);
		if (f.sent < config.min_probes || known(f.place) ||
		    (sure && is_same(f)))
			continue;
		(sure ? here : hasty).push_back(std::move(f));
	}
	found.insert(found.end(), here.begin(), here.end());
}

void Locator::Work::look_for_delay(Evidence &evidence)
{
	const std::vector<PathDelay> delays = evidence.delays();

	for (const Cause &c : explain_delays(places, delays, config)) {
		Finding f = finding(c, slices[at_short].total);

		f.state = State::slow;
		f.loss = 0;
		/* What is dead has no delay; what is lossy is worse. */
		if (f.extra_delay && !known(f.place))
			found.push_back(std::move(f));
	}
}

/*
 * A direction loses no more than the best path over it, so this is a bound; for
 * findings it is what was found.
 */
void Locator::Work::find_link_loss(const std::vector<PathCount> &counts)
{
	loss.assign(2 * t.links().size(), std::nullopt);
	for (uint32_t i = 0; i < places.size(); i++) {
		const Place &p = places.place(i);

		if ((p.element != Element::nic_link &&
		     p.element != Element::fabric_link) ||
		    p.way == Way::both)
			continue;

		std::optional<double> &l =
			loss[2 * p.number + (p.way == Way::up ? 0 : 1)];

		for (const Passage &passage : places.passages(i)) {
			const PathCount &c = counts[passage.path];

			if (c.sent >= config.min_probes)
				l = std::min(l.value_or(1),
					     static_cast<double>(c.lost) /
						     c.sent);
		}
	}
	for (const Finding &f : found)
		if (f.state != State::slow)
			for (const mrclab::Direction &d :
			     directions_of(t, f.place)) {
				std::optional<double> &l =
					loss[2 * d.link + (d.up ? 0 : 1)];

				l = std::max(l.value_or(0), f.loss);
			}
}

/*
 * What crosses a link without carrier says nothing: hosts cannot send there any
 * more, and what is older is of another time than what others still send.
 */
void Locator::Work::forget_unused(Slices &s, const Carriers &carriers) const
{
	for (uint32_t h = 1; h <= carriers.size(); h++)
		for (uint32_t p = 1; p <= carriers[h - 1].size(); p++) {
			if (carriers[h - 1][p - 1] != false)
				continue;

			const uint32_t link =
				t.sent_by(t.host(h)).at(p - 1).link;

			for (const Passage &q :
			     places.passages(Places::of_link(link))) {
				s.total[q.path] = {};
				for (auto &part : s.slices)
					part[q.path] = {};
			}
		}
}

void Locator::Work::look(Evidence &evidence, const Carriers &carriers)
{
	scales = {
		{config.dead_time, 5, 0},
		{part_of(config.loss_time_short, first_share), 7, 0.4},
		{part_of(config.loss_time_short, second_share), 12, 0.25},
		{config.loss_time_short, 25, 0.25},
		{config.loss_time_medium, 20, 0.15},
		{config.loss_time_long, 20, 0.1},
	};
	slices.clear();
	for (const Scale &s : scales) {
		slices.push_back(evidence.slices(s.time, s.parts));
		forget_unused(slices.back(), carriers);
	}
	found.clear();
	hasty.clear();
	for (std::size_t i = 0; i < scales.size(); i++)
		look_for_loss(i, slices[i]);
	add_hasty();
	look_for_delay(evidence);
	merge(t, config, slices[at_short].total, newest(slices[at_short]),
	      places, carriers, found);
	find_link_loss(slices[at_short].total);
	before.clear();
	for (const Finding &f : found)
		if (!hasty_before.contains(both_ways(f.place)))
			before.insert(f.place);
}

Locator::Locator(const mrclab::Topology &topology, const Plan &plan,
		 const Config &config)
	: work_(std::make_unique<Work>(topology, plan, config))
{
}

Locator::~Locator() = default;

std::vector<Finding> Locator::locate(Evidence &evidence,
				     const Carriers &carriers)
{
	work_->look(evidence, carriers);
	return work_->found;
}

const LinkLoss &Locator::link_loss() const
{
	return work_->loss;
}
} // namespace mrcmap
