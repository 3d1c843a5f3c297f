// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cut.hpp"

#include <algorithm>
#include <numeric>

namespace mrcsim
{
namespace
{
/* Shorter delays are not worth the meetings of threads. */
constexpr u64 least_window = 1000; /* ps */

/* Sets of T0s. */
class Groups
{
public:
	explicit Groups(u32 n) : up_(n)
	{
		std::iota(up_.begin(), up_.end(), 0);
	}

	u32 of(u32 a)
	{
		while (up_[a] != a)
			a = up_[a] = up_[up_[a]];
		return a;
	}
	/* The smallest number stands for the set. */
	void join(u32 a, u32 b)
	{
		a = of(a);
		b = of(b);
		up_[std::max(a, b)] = std::min(a, b);
	}

private:
	std::vector<u32> up_;
};

/* Whoever makes a trigger fire, and whoever starts then. */
void join_triggered(Groups &g, const Traffic &t, u32 hosts)
{
	constexpr u32 nobody = ~0u;
	std::vector<u32> first(t.triggers.size(), nobody);
	const auto takes_part = [&](u32 trigger, u32 host) {
		u32 &one = first[trigger];

		if (one == nobody)
			one = host / hosts;
		g.join(one, host / hosts);
	};

	for (const Flow &f : t.flows) {
		if (f.sent_trigger != no_trigger)
			takes_part(f.sent_trigger, f.src);
		if (f.received_trigger != no_trigger)
			takes_part(f.received_trigger, f.dst);
	}
	for (u32 n = 0; n < t.triggers.size(); n++)
		for (const u32 f : t.triggers[n].flows)
			takes_part(n, t.flows[f].src);
}

u64 shortest_delay(const Shape &s)
{
	u64 least = ~0ull;

	for (std::size_t k = 0; k < kinds; k++) {
		const auto kind = static_cast<Kind>(k);

		if (kind > Kind::host_down && s.count(kind))
			least = std::min(least, s.spec[k].delay);
	}
	for (const LinkException &e : s.exceptions)
		if (s.kind_of(e.link) > Kind::host_down)
			least = std::min(least, e.spec.delay);
	return least;
}
} // namespace

Cut::Cut(const Shape &s, const Traffic &t, u32 most)
	: hosts_(s.hosts), t0_(s.t0), t1_(s.t1), uplinks_(s.uplinks()),
	  bundle_(s.bundle), t1_uplinks_(s.t1_uplinks), of_t0_(s.all_t0())
{
	const u32 all = s.all_t0();
	const u64 delay = shortest_delay(s);
	Groups groups(all);
	std::vector<u32> size(all);
	u32 sets = 0, before = 0;

	/* With a T0 alone nothing crosses, and any window will do. */
	window_ = std::max<u64>(delay == ~0ull ? s.path_delay() : delay, 1);
	if (most < 2 || delay == ~0ull || delay < least_window)
		return;
	join_triggered(groups, t, hosts_);
	for (u32 i = 0; i < all; i++)
		sets += !size[groups.of(i)]++;
	count_ = std::min({most, sets, 0xffffu});
	for (u32 i = 0; i < all; i++) {
		const u32 of = groups.of(i);

		if (of == i) {
			of_t0_[i] =
				static_cast<u16>(u64{before} * count_ / all);
			before += size[i];
		} else {
			of_t0_[i] = of_t0_[of];
		}
	}
}

/* T1s and T2s are shared out as the T0s are. */
u32 Cut::of_t1(u64 t1) const
{
	return of_t0_[t1 / t1_ * t0_ + t1 % t1_ * t0_ / t1_];
}

u32 Cut::of_t2(u64 t2) const
{
	return of_t0_[t2 * of_t0_.size() / (u64{t1_} * t1_uplinks_)];
}

u32 Cut::behind(Kind kind, u64 n) const
{
	switch (kind) {
	case Kind::host_up:
	case Kind::host_down:
		return of_host(static_cast<u32>(n));
	case Kind::t0_up:
		return of_t1(n / uplinks_ / t0_ * t1_ + n % uplinks_ / bundle_);
	case Kind::t1_down:
		return of_t0_[n / uplinks_];
	case Kind::t1_up:
		return of_t2(n / t1_uplinks_ % t1_ * t1_uplinks_ +
			     n % t1_uplinks_);
	default: /* t2_down */
		return of_t1(n / t1_uplinks_);
	}
}

/* The node that sends is behind the other direction of the link. */
u32 Cut::before(const Shape &s, u32 id) const
{
	const u32 other = s.reverse(id);
	const Kind kind = s.kind_of(other);

	return behind(kind, other - s.id(s.plane_of(other), kind, 0));
}
} // namespace mrcsim
