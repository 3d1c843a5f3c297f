// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "evidence.hpp"

#include <algorithm>
#include <tuple>

namespace mrcmap
{
namespace
{
constexpr uint64_t fine_slices = 25;   /* of the short time of loss */
constexpr uint64_t coarse_slices = 20; /* of the medium one */
constexpr uint64_t minima_slices = 5;  /* of the time of delays */

/* How much of a small change of a one-way delay becomes usual. */
constexpr int64_t drift_share = 20;

/* Windows that only one side has told of are forgotten after so many times
 * join_time.
 */
constexpr uint64_t forget = 25;

uint64_t slice_length(uint64_t time, uint64_t slices)
{
	return std::max<uint64_t>(1, time / slices);
}
} // namespace

std::vector<PathCount> &Evidence::Ring::current()
{
	return slices[last % slices.size()];
}

bool Evidence::Ring::advance(uint64_t now)
{
	const uint64_t number = now / length;

	if (number <= last)
		return false;

	const uint64_t steps = std::min<uint64_t>(number - last, slices.size());

	for (uint64_t i = 0; i < steps; i++) {
		auto &slice = slices[(number - i) % slices.size()];

		std::fill(slice.begin(), slice.end(), PathCount{});
	}
	last = number;
	return true;
}

void Evidence::Ring::unlose(uint32_t path, uint32_t count)
{
	for (std::size_t i = 0; i < slices.size() && count; i++) {
		PathCount &c = slices[(last + slices.size() - i) %
				      slices.size()][path];
		const uint32_t n = std::min(c.lost, count);

		c.lost -= n;
		count -= n;
	}
}

Evidence::Evidence(const Plan &plan, const Config &config)
	: plan_(plan), config_(config), base_(plan.paths().size()),
	  totals_(plan.paths().size())
{
	const std::vector<PathCount> none(plan.paths().size());
	uint32_t hosts = 0;

	/* One slice more is the one that is being filled. */
	fine_.length = slice_length(config.loss_time_short, fine_slices);
	fine_.slices.assign(config.loss_time_short / fine_.length + 1, none);
	coarse_.length = slice_length(config.loss_time_medium, coarse_slices);
	coarse_.slices.assign(config.loss_time_long / coarse_.length + 1, none);
	minima_.assign(minima_slices + 1, base_);
	samples_.assign(minima_slices + 1,
			std::vector<Samples>(plan.paths().size()));
	for (const ProbePath &p : plan.paths())
		hosts = std::max({hosts, p.host, p.receiver});
	reported_.resize(hosts);
}

void Evidence::roll(uint64_t now)
{
	const uint64_t number =
		now / slice_length(config_.slow_time, minima_slices);

	fine_.advance(now);
	coarse_.advance(now);
	for (uint64_t i = 0;
	     i < std::min<uint64_t>(number - minima_last_, minima_.size());
	     i++) {
		auto &m = minima_[(number - i) % minima_.size()];
		auto &s = samples_[(number - i) % minima_.size()];

		std::fill(m.begin(), m.end(), Minimum());
		std::fill(s.begin(), s.end(), Samples());
	}
	minima_last_ = number;
}

void Evidence::advance(uint64_t now)
{
	roll(now);
	join(now);
}

void Evidence::count(uint32_t path, uint32_t sent, uint32_t received)
{
	const uint32_t lost = sent - received;

	for (Ring *r : {&fine_, &coarse_}) {
		r->current()[path].sent += sent;
		r->current()[path].lost += lost;
	}
	totals_[path].lost += lost;
}

void Evidence::note_delay(uint32_t path, int64_t delay, uint32_t probes)
{
	Minimum &m = minima_[minima_last_ % minima_.size()][path];

	m = m ? std::min(*m, delay) : delay;

	Samples &s = samples_[minima_last_ % samples_.size()][path];

	s.probes += probes;
	s.windows++;
	s.sum += static_cast<double>(delay);
}

void Evidence::on_window(const PathWindow &w, uint64_t now)
{
	Totals &t = totals_[w.path];

	roll(now);
	t.duplicates += w.duplicates;
	t.late += w.late;
	if (w.late) {
		/* They are part of a window that was told of as lost. */
		fine_.unlose(w.path, w.late);
		coarse_.unlose(w.path, w.late);
		t.lost -= std::min<uint64_t>(t.lost, w.late);
		t.received += w.late;
	}
	t.sent += w.sent;
	t.received += w.received;
	if (w.disturbed) {
		t.disturbed++;
		return;
	}
	if (plan_.paths()[w.path].one_way()) {
		if (w.sent)
			sent_[{w.path, w.window}] = {w, now};
		return;
	}
	count(w.path, w.sent, w.received);
	if (w.received)
		note_delay(w.path, static_cast<int64_t>(w.rtt_min), w.received);
}

void Evidence::on_peer(const PeerWindow &w, uint64_t now)
{
	roll(now);
	totals_[w.path].duplicates += w.duplicates;
	totals_[w.path].received += w.received;
	totals_[w.path].disturbed += w.disturbed ? 1 : 0;
	received_[{w.path, w.window}] = {w, now};
}

void Evidence::on_report_of(uint32_t host, uint64_t now)
{
	reported_.at(host - 1) = now;
}

/*
 * What the receiver has not named by now is nothing, if it reports at all. Both
 * sides are waited for in the same way, whoever is first.
 */
void Evidence::join(uint64_t now)
{
	for (auto i = sent_.begin(); i != sent_.end();) {
		const auto &[id, half] = *i;
		const auto other = received_.find(id);
		const std::optional<uint64_t> &heard =
			reported_[plan_.paths()[id.first].receiver - 1];

		if (other != received_.end()) {
			const PeerWindow &w = other->second.first;

			if (!w.disturbed && w.received <= half.sent.sent) {
				count(id.first, half.sent.sent, w.received);
				note_delay(id.first, w.delay_min, w.received);
			}
			received_.erase(other);
			i = sent_.erase(i);
		} else if (heard && *heard >= half.since + config_.join_time) {
			count(id.first, half.sent.sent, 0);
			i = sent_.erase(i);
		} else if (half.since + forget * config_.join_time < now) {
			i = sent_.erase(i);
		} else {
			i++;
		}
	}
	std::erase_if(received_, [&](const auto &r) {
		return r.second.second + forget * config_.join_time < now;
	});
}

Slices Evidence::slices(uint64_t time, uint32_t parts) const
{
	const Ring &ring = time < fine_.covers() ? fine_ : coarse_;
	const uint64_t have = ring.slices.size() - 1;
	const uint64_t want = std::clamp<uint64_t>(
		(time + ring.length - 1) / ring.length, 1, have);
	const uint64_t each = std::max<uint64_t>(1, want / parts);
	Slices out;

	out.length = each * ring.length;
	out.slices.assign(want / each,
			  std::vector<PathCount>(plan_.paths().size()));
	out.total.resize(plan_.paths().size());
	/* The current slice belongs to the newest ones. */
	for (uint64_t i = 0; i < out.slices.size() * each + 1; i++) {
		if (i > ring.last)
			break;

		const PathCount *from =
			ring.slices[(ring.last - i) % ring.slices.size()]
				.data();
		const uint64_t age = i ? (i - 1) / each : 0;
		PathCount *to = out.slices[out.slices.size() - 1 - age].data();

		for (std::size_t p = 0; p < out.total.size(); p++) {
			to[p].sent += from[p].sent;
			to[p].lost += from[p].lost;
		}
	}
	for (const auto &slice : out.slices) {
		const PathCount *from = slice.data();
		PathCount *to = out.total.data();

		for (std::size_t p = 0; p < out.total.size(); p++) {
			to[p].sent += from[p].sent;
			to[p].lost += from[p].lost;
		}
	}
	return out;
}

Evidence::Minimum Evidence::minimum(uint32_t path) const
{
	Minimum least;
	uint64_t samples = 0;

	for (std::size_t i = 0; i < minima_.size(); i++) {
		const Minimum &m = minima_[i][path];

		samples += samples_[i][path].probes;
		if (m)
			least = least ? std::min(*least, *m) : *m;
	}
	return samples >= config_.min_probes ? least : Minimum();
}

uint64_t Evidence::spread(uint32_t path, int64_t least) const
{
	double sum = 0;
	uint32_t windows = 0;

	for (const auto &s : samples_) {
		sum += s[path].sum;
		windows += s[path].windows;
	}
	return static_cast<uint64_t>(
		std::max(0.0, sum / std::max(windows, 1u) -
				      static_cast<double>(least)));
}

void Evidence::round_trip_delays(std::vector<PathDelay> &out)
{
	for (const ProbePath &p : plan_.paths()) {
		const Minimum now = p.one_way() ? Minimum() : minimum(p.id);
		Minimum &base = base_[p.id];

		if (!now)
			continue;
		base = base ? std::min(*base, *now) : *now;
		out[p.id] = {true, static_cast<uint64_t>(*base),
			     static_cast<uint64_t>(*now - *base), spread(p.id, *now)};
	}
}

/*
 * Two hosts' clocks differ by what nobody knows, and drift. But it is the same
 * in all planes, so the planes between two hosts are compared. What is usual
 * then is the difference to the middle one.
 */
void Evidence::one_way_delays(std::vector<PathDelay> &out)
{
	std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> groups;

	for (const ProbePath &p : plan_.paths())
		if (p.one_way())
			groups[{p.host, p.receiver}].push_back(p.id);
	for (const auto &[ends, ids] : groups) {
		std::vector<int64_t> all;

		for (const uint32_t id : ids)
			if (const Minimum m = minimum(id))
				all.push_back(*m);
		if (all.size() < 2)
			continue;

		const auto middle = all.begin() + (all.size() - 1) / 2;

		std::nth_element(all.begin(), middle, all.end());
		for (const uint32_t id : ids) {
			const Minimum m = minimum(id);
			Minimum &base = base_[id];

			if (!m)
				continue;

			const int64_t now = *m - *middle;

			if (!base)
				base = now;

			const int64_t more = now - *base;

			if (std::abs(more) <
			    static_cast<int64_t>(config_.slow_alarm / 2))
				*base += more / drift_share;
			out[id] = {true, 0,
				   static_cast<uint64_t>(
					   std::max<int64_t>(more, 0)), spread(id, *m)};
		}
	}
}

std::vector<PathDelay> Evidence::delays()
{
	std::vector<PathDelay> out(plan_.paths().size());

	round_trip_delays(out);
	one_way_delays(out);
	return out;
}
} // namespace mrcmap
