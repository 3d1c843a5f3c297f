// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace mrcmap
{
bool takes_long()
{
	return std::getenv("MRCMAP_LONG");
}

uint64_t draw(Random &r, uint64_t min, uint64_t max)
{
	return min + r() % (max - min + 1);
}

double draw_share(Random &r)
{
	return static_cast<double>(r() >> 11) * 0x1p-53;
}

double draw_log(Random &r, double min, double max)
{
	return min * std::pow(max / min, draw_share(r));
}

mrclab::Fabric fabric_of(uint32_t planes, uint32_t t0, uint32_t t1,
			 uint32_t hosts)
{
	mrclab::Fabric f;

	f.file = "test.yaml";
	f.name = "test";
	f.prefix = "test-";
	f.planes = planes;
	f.t0 = t0;
	f.t1 = t1;
	f.hosts = hosts;
	return f;
}

mrclab::Fabric random_fabric(Random &r)
{
	const auto n = [&r](uint64_t min, uint64_t max) {
		return static_cast<uint32_t>(draw(r, min, max));
	};
	const uint32_t planes = n(1, 4), t0 = n(1, 8);
	const uint32_t t1 = n(t0 > 1 ? 1 : 0, 8);

	return fabric_of(planes, t0, t1, n(1, 4));
}

Fault random_fault(Random &r, const mrclab::Topology &t)
{
	Fault f;

	/* Each kind of element is as likely, however many there are. */
	for (;;) {
		const auto kind = static_cast<Element>(draw(r, 0, 3));

		f.place.element = kind;
		if (kind == Element::t0 || kind == Element::t1) {
			f.place.number = static_cast<uint32_t>(
				draw(r, 0, t.nodes().size() - 1));
			f.place.way = Way::both;
			if (t.nodes()[f.place.number].kind ==
			    (kind == Element::t0 ? mrclab::Kind::t0
						 : mrclab::Kind::t1))
				break;
			continue;
		}
		f.place.number =
			static_cast<uint32_t>(draw(r, 0, t.links().size() - 1));
		f.place.way = static_cast<Way>(draw(r, 0, 2));
		if ((t.nodes()[t.links()[f.place.number].low.node].kind ==
		     mrclab::Kind::host) == (kind == Element::nic_link))
			break;
	}
	f.state = static_cast<State>(draw(r, 0, 3));
	/* Hosts see only what concerns their own ports. */
	if (f.state == State::down && (f.place.way != Way::both ||
				       (f.place.element != Element::nic_link &&
					f.place.element != Element::t0)))
		f.state = State::gray;
	if (f.state == State::lossy)
		f.loss = draw_log(r, 0.001, 0.5);
	else if (f.state == State::slow)
		f.delay = draw(r, 2 * ms, 50 * ms);
	else
		f.loss = 1;
	return f;
}

std::string text_of(const mrclab::Topology &t, const Fault &f)
{
	return fmt::format("{} {} {} loss {:.4f} delay {} ms",
			   place_name(t, f.place),
			   element_name(f.place.element), state_name(f.state),
			   f.loss, static_cast<double>(f.delay) / ms);
}

Sim::Sim(const mrclab::Topology &t, const Plan &plan, const Config &config,
	 uint64_t seed)
	: t_(t), plan_(plan), config_(config), random_(seed),
	  ways_(2 * t.links().size()), due_(plan.paths().size()),
	  stopped_(t.fabric().all_hosts()),
	  carriers_(t.fabric().all_hosts(),
		    std::vector<std::optional<bool>>(t.fabric().planes, true))
{
	for (Way &w : ways_)
		w.usual = draw(random_, 5'000, 50'000);
	for (double &d : due_)
		d = draw_share(random_);
	for (uint32_t h = 0; h < t.fabric().all_hosts(); h++) {
		clocks_.push_back(
			static_cast<int64_t>(draw(random_, 0, 1000 * second)));
		drifts_.push_back(draw_share(random_) * 100'000 - 50'000);
	}
}

void Sim::add(const Fault &f)
{
	const bool nic = f.place.element == Element::nic_link;

	for (const mrclab::Direction &d : directions_of(t_, f.place)) {
		way(d).loss = 1 - (1 - way(d).loss) * (1 - f.loss);
		way(d).delay += f.delay;
	}
	if (f.state != State::down)
		return;
	for (uint32_t h = 1; h <= t_.fabric().all_hosts(); h++)
		for (uint32_t p = 1; p <= t_.fabric().planes; p++) {
			const auto up =
				t_.direction(fmt::format("h{}:p{}", h, p));

			if (nic ? up.link == f.place.number
				: t_.to(up).node == f.place.number)
				carriers_[h - 1][p - 1] = false;
		}
}

void Sim::clear()
{
	for (Way &w : ways_) {
		w.loss = 0;
		w.delay = 0;
	}
	for (auto &c : carriers_)
		std::fill(c.begin(), c.end(), true);
}

void Sim::begin_step(uint64_t step)
{
	for (Way &w : ways_) {
		w.queue = 0.9 * w.queue +
			  0.1 * draw_share(random_) *
				  static_cast<double>(noise.queue) * 2;
		w.queue = std::min(w.queue, static_cast<double>(noise.queue));
		if (noise.burst == 0)
			continue;
		/* The mean of the lengths is half of the longest. */
		if (w.burst_left == 0 &&
		    draw_share(random_) <
			    2 * noise.burst_share * static_cast<double>(step) /
				    static_cast<double>(noise.burst))
			w.burst_left = draw(random_, 1, noise.burst);

		const uint64_t now = std::min(w.burst_left, step);

		w.burst = static_cast<double>(now) / static_cast<double>(step);
		w.burst_left -= now;
	}
}

void Sim::probe(Evidence &evidence, const ProbePath &p, uint64_t step)
{
	const double wanted =
		due_[p.id] +
		static_cast<double>(step) / static_cast<double>(p.interval);
	const auto sent = static_cast<uint32_t>(wanted);
	double keep = 1, burst = 0, delay = 0;
	uint32_t received = sent;

	due_[p.id] = wanted - sent;
	if (!sent)
		return;
	for (const mrclab::Direction &d : p.hops) {
		const Way &w = way(d);

		keep *= (1 - w.loss) * (1 - noise.background);
		burst = std::max(burst, w.burst);
		delay += static_cast<double>(w.usual + w.delay) +
			 w.queue * (1 -
				    std::pow(draw_share(random_), 1.0 / sent));
	}
	if (burst > 0)
		received -= static_cast<uint32_t>(std::lround(burst * sent));
	if (keep == 0)
		received = 0;
	else if (keep < 1)
		received =
			static_cast<uint32_t>(std::binomial_distribution<int>(
				static_cast<int>(received), keep)(random_));
	delay -= std::log(1 - draw_share(random_)) *
		 static_cast<double>(noise.jitter) / std::max(received, 1u);

	PathWindow w;
	const auto rtt = static_cast<uint64_t>(delay);

	w.path = p.id;
	w.window = window_;
	w.sent = sent;
	if (!p.one_way()) {
		w.received = received;
		if (received)
			w.rtt_min = w.rtt_mean = w.rtt_max = rtt;
		evidence.on_window(w, now_);
		return;
	}
	evidence.on_window(w, now_);
	if (!received || stopped_[p.receiver - 1])
		return;

	const auto clock = [&](uint32_t host) {
		return clocks_[host - 1] +
		       static_cast<int64_t>(drifts_[host - 1] *
					    static_cast<double>(now_) /
					    static_cast<double>(second));
	};
	PeerWindow v;

	v.path = p.id;
	v.window = window_;
	v.received = received;
	v.delay_min =
		static_cast<int64_t>(rtt) + clock(p.receiver) - clock(p.host);
	evidence.on_peer(v, now_);
}

void Sim::run(Evidence &evidence, uint64_t time, uint64_t step)
{
	for (uint64_t end = now_ + time; now_ < end;) {
		now_ += step;
		window_++;
		begin_step(step);
		for (const ProbePath &p : plan_.paths())
			if (!stopped_[p.host - 1] &&
			    carriers_[p.host - 1][p.plane - 1] != false)
				probe(evidence, p, step);
		for (uint32_t h = 1; h <= stopped_.size(); h++)
			if (!stopped_[h - 1])
				evidence.on_report_of(h, now_);
	}
}
} // namespace mrcmap
