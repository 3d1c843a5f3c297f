// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// How schedules of the tail kinds are drawn.
#include <algorithm>

#include "prop_tail.hpp"

namespace prop
{

namespace
{

constexpr u64 kMsec = 1000000;
constexpr u64 kSec = 1000 * kMsec;

// About log-uniform from 10 us to @max, in integers only.
u64 random_rtt(Rng &rng, u64 max)
{
	u64 milli = 0;

	while (milli < 40000 && (10000ull << milli / 1000) < max)
		milli += 1000;
	milli = rng.below(milli);
	return std::min<u64>(
		(10000ull << milli / 1000) * (1000 + milli % 1000) / 1000, max);
}

// A program's timeout code from 14 to 22, longer than @least.
void random_timeout(Rng &rng, Plan &p, u64 least)
{
	u64 t = rng.range(14, 22);

	while (t < 22 && (4096ull << t) <= least)
		t++;
	p.rto = std::min<u64>(4096ull << t, MRC_RTO_MAX_NS);
}

// NSCC takes a slow plane for a queue and closes its window: that is not what
// the kinds that lose something are about.
bool even_planes(Rng &rng, const TailPlan &p)
{
	return rng.chance(400000) || p.net.line_rate;
}

void random_delays(Rng &rng, TailPlan &p, u64 rtt, bool even)
{
	const u8 n = p.net.n_ports;
	const u64 there = rtt * rng.range(30, 70) / 100;
	const u64 way[2] = {there, rtt - there};
	const u32 kind = even ? 0 : (u32)rng.below(3);
	u64 most[2] = {0, 0};

	for (int side = 0; side < 2; side++) {
		for (u8 port = 1; port <= n; port++) {
			u64 d = way[side];

			if (kind == 1) // somewhat unequal
				d = d * rng.range(75, 100) / 100;
			else if (kind == 2 && n == 2) // 1:4
				d = port == 1 ? d / 4 : d;
			else if (kind == 2 && n > 2) // 1:2:3:4
				d = d * ((port - 1u) % 4 + 1) / 4;
			p.delay[side][port] = d;
			most[side] = std::max(most[side], d);
		}
	}
	p.rtt = most[0] + most[1] + 2 * p.serialize;
}

// The shortest round trip, ns.
u64 shortest(const TailPlan &p)
{
	u64 least[2] = {MRC_NEVER, MRC_NEVER};

	for (int side = 0; side < 2; side++)
		for (u8 port = 1; port <= p.net.n_ports; port++)
			least[side] = std::min(least[side], p.delay[side][port]);
	return least[0] + least[1];
}

// A queue pair as the module makes one.
TailPlan base(Rng &rng, u64 seed)
{
	TailPlan t;
	Plan &p = t.net;

	p.seed = seed;
	p.start = rng.range(1, 1ull << 40);
	p.pmtu = rng.chance(850000) ? 256 : rng.pick({1024u, 4096u});
	p.mpr = 8;
	p.sq_depth = 64;
	p.bound_pkts = true;
	if (rng.chance(300000)) {
		p.cc = MRC_CC_NSCC_NAME;
		p.line_rate = 1250000000;
	} else if (p.start & 1) {
		p.cc = "vegas";
	}
	p.use_ts = rng.chance(850000);
	p.trim_nack[0] = p.trim_nack[1] = rng.chance(300000);
	p.n_ports = rng.pick({(u8)1, (u8)2, (u8)4, (u8)8});
	p.n_evs = (u16)std::max<u32>(rng.pick({16u, 32u, 64u}), 4u * p.n_ports);
	p.linear_cnt = 7;
	p.exp_cnt = 0;
	p.base_rtt = MRC_BASE_RTT_DEFAULT;
	p.psn[0] = MRC_PSN_MASK - (u32)rng.below(3000);
	p.psn[1] = (u32)rng.below(MRC_PSN_MASK);
	p.regions = 4;
	p.gap = rng.chance(500000) ? 0 : rng.range(100, 2000);
	t.serialize = rng.chance(500000) ? 0 : rng.range(20, 1000);
	return t;
}

// Appends messages that travel alone.
class Schedule
{
public:
	Schedule(Rng &rng, TailPlan &p) : rng_(rng), p_(p), at_(p.net.start) {}

	// What a message of @n packets takes, at most.
	u64 lone(u32 n) const
	{
		const u32 slack = p_.net.line_rate ? 3 : 1;

		return slack * rounds(n) * p_.rtt +
		       n * (p_.net.gap + p_.serialize) + 10000;
	}

	// Windows that such a message fills.
	u32 rounds(u32 n) const
	{
		const u32 window =
			std::min(MRC_CC_FIXED_WINDOW / (p_.net.pmtu + 120),
				 MRC_CC_WINDOW_PKTS(8u * MRC_MPR_UNIT));

		return (n + window - 1) / window;
	}

	void add(u32 n, u64 room, const TailLoss &loss = {})
	{
		PlanMsg m;

		m.len = (n - 1) * p_.net.pmtu + (u32)rng_.range(1, p_.net.pmtu);
		m.imm = rng_.chance(300000);
		m.post_at = at_;
		p_.net.msgs[0].push_back(m);
		p_.losses.push_back(loss);
		at_ += room;
	}

	// 50 messages or 200 ms, whichever is more; some of the last ones
	// without a pause.
	void warm_up(u32 n)
	{
		const u64 pause = 200 * kMsec / 50;

		for (u32 i = 0; i < 70; i++) {
			u32 k = rng_.chance(500000) ? n
						    : rng_.pick({1u, 2u, 5u});
			u64 room = lone(k);

			if (i < 55)
				room += rng_.range(pause, pause + p_.rtt);
			add(k, room);
		}
		p_.warm = (u32)p_.net.msgs[0].size();
	}

	// The loss, then room to repair it, then a few without.
	void lossy(u32 n, const TailLoss &loss, u64 repair)
	{
		add(n, lone(n) + repair + rng_.below(p_.rtt + 1), loss);
		for (u64 k = rng_.range(1, 3); k; k--) {
			u32 size =
				rng_.chance(700000) ? n : (u32)rng_.range(1, 5);

			add(size, lone(size) + rng_.below(p_.rtt + 1));
		}
	}

	u64 now() const { return at_; }

private:
	Rng &rng_;
	TailPlan &p_;
	u64 at_;
};

// What packets may be late. Distance, OP-22, is measured by windows, and those of NSCC,
// or of few packets, can be shorter than what that reorders.
u64 most_late(const TailPlan &p)
{
	return p.net.line_rate || p.net.pmtu > 1024 ? p.rtt / 8 : kSec;
}

TailLoss packets(u32 first, u32 last)
{
	TailLoss l;

	l.what = TailLoss::Packets;
	l.first = first;
	l.last = last;
	return l;
}

TailLoss feedback(TailLoss::What what, u32 nth = 0)
{
	TailLoss l;

	l.what = what;
	l.nth = nth;
	return l;
}

void shuffle(Rng &rng, std::vector<TailLoss> &v)
{
	for (std::size_t i = v.size(); i > 1; i--)
		std::swap(v[i - 1], v[rng.below(i)]);
}

} // namespace

std::string TailPlan::describe() const
{
	std::string s;

	s = strf("%u plane(s), RTT %llu us, timeout %llu ms, %s, PMTU %u, "
		 "gap %llu ns",
		 net.n_ports, (unsigned long long)rtt / 1000,
		 (unsigned long long)(net.rto / kMsec), net.cc, net.pmtu,
		 (unsigned long long)net.gap);
	if (detour)
		s += strf(", %u %% bypass %llu us", direct_ppm / 10000,
			  (unsigned long long)detour / 1000);
	if (jitter)
		s += strf(", jitter %llu us",
			  (unsigned long long)jitter / 1000);
	if (delay[0][1] != delay[0][net.n_ports])
		s += ", unequal";
	return s;
}

// Every loss of one packet that a message of one size can suffer, one message
// after the other.
TailPlan tail_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x5000001);
	TailPlan p = base(rng, seed);
	const u32 any = rng.pick(
		{1u, 1u, 1u, 2u, 2u, 5u, 5u, 5u, 64u, (u32)rng.range(3, 40)});
	// What NSCC lets out at a time is its own affair.
	const u32 n = p.net.line_rate ? std::min(any, 5u) : any;
	std::vector<TailLoss> all;

	random_delays(rng, p, random_rtt(rng, 100 * kMsec),
		      even_planes(rng, p));

	Schedule s(rng, p);

	// The timeout must not end what the repair does in time.
	random_timeout(rng, p.net,
		       s.lone(n) + 3 * p.rtt + p.rtt / 50 + kTailFloor);
	for (u32 i = 0; i < n; i++)
		all.push_back(packets(i, i));
	if (n > 1)
		all.push_back(packets(n - 2, n - 1));
	for (u32 i = 0; i < 3; i++) {
		all.push_back(feedback(TailLoss::Ack));
		all.push_back(feedback(TailLoss::Sack, i));
		// Where a window holds it all: else it is lost in each round.
		if (!p.net.line_rate && s.rounds(n) == 1)
			all.push_back(feedback(TailLoss::Feedback));
	}
	shuffle(rng, all);
	s.warm_up(n);
	for (const TailLoss &l : all)
		s.lossy(n, l, 3 * p.rtt + kTailFloor);
	for (u32 i = 0; i < 5; i++)
		s.add(n, s.lone(n));
	return p;
}

// The copies that repair a loss are lost as well, and probes.
TailPlan tail_again_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x6000001);
	TailPlan p = base(rng, seed);
	const bool tight = rng.chance(500000);

	random_delays(rng, p, random_rtt(rng, tight ? 2 * kMsec : 100 * kMsec),
		      even_planes(rng, p));

	Schedule s(rng, p);
	// What the longest repair may take, see tail_again_bound().
	const u64 most = 7 * (2 * p.rtt + kTailFloor) + 6 * p.rtt;

	random_timeout(rng, p.net, s.lone(5) + p.rtt + most);
	if (tight) {
		p.net.rto = 4096ull << 14;
		p.net.linear_cnt = 1;
	}
	s.warm_up(1);
	for (u32 i = 0; i < 12; i++) {
		const u32 n = rng.pick({1u, 1u, 1u, 5u});
		const u32 at = n == 1 || rng.chance(500000) ? n - 1
							    : (u32)rng.below(n);
		TailLoss l = packets(at, at);

		l.copies = (u32)rng.range(1, 3);
		l.probes = (u32)rng.below(4 - l.copies);
		s.lossy(n, l, most);
		// What it did to the EVs is forgotten.
		for (u32 k = 0; k < 6; k++)
			s.add(1, s.lone(1) + rng.below(10 * kMsec));
	}
	return p;
}

// Nothing is lost, but packets come late and out of order from the first one
// on.
TailPlan tail_order_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x7000001);
	TailPlan p = base(rng, seed);
	const u32 kind = (u32)rng.below(4);
	const bool stream = rng.chance(500000);
	u64 late = 0;

	random_delays(rng, p, random_rtt(rng, 100 * kMsec), kind == 1);
	if (kind == 1 || kind == 3) {
		p.direct_ppm = 250000;
		p.detour = std::min(10 * random_rtt(rng, 2 * kMsec),
				    most_late(p));
		late += p.detour;
	} else if (kind == 2) {
		p.jitter = random_rtt(rng, 20 * kMsec);
		p.jitter = std::min(p.jitter, most_late(p));
		late += p.jitter;
	}
	p.uneven_back = rng.chance(500000);
	p.rtt += late * (p.uneven_back ? 2 : 1);

	Schedule s(rng, p);

	random_timeout(rng, p.net, 2 * (s.lone(64) + p.rtt));
	if (stream) {
		const u64 span = rng.chance(500000) ? 0 : p.rtt;

		p.net.regions = 64;
		p.net.sq_depth = rng.pick({4u, 16u, 64u});
		for (u32 i = 0; i < 150; i++)
			s.add(rng.pick({1u, 2u, 5u, 16u, 64u,
					(u32)rng.range(1, 30)}),
			      span ? rng.below(span / 8 + 1) : 0);
	} else {
		for (u32 i = 0; i < 200; i++) {
			u32 n = rng.pick(
				{1u, 1u, 1u, 2u, 5u, (u32)rng.range(1, 64)});

			s.add(n,
			      s.lone(n) + rng.below(p.rtt + 1) * rng.below(2));
		}
	}
	return p;
}

// A stream, and one of its planes is silent for a while.
TailPlan tail_silent_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x8000001);
	TailPlan p = base(rng, seed);
	TailSilence cut;

	p.net.n_ports = rng.pick({(u8)2, (u8)4, (u8)8});
	p.net.n_evs = std::max<u16>(p.net.n_evs, 4u * p.net.n_ports);
	p.net.pmtu = 256;
	p.net.linear_cnt = (u8)rng.range(1, 7);
	p.net.gap = rng.range(5000, 50000);
	p.net.regions = 64;
	p.net.sq_depth = rng.pick({4u, 16u, 64u});
	// What is due every 16 packets, §8.2, is no silence.
	random_delays(rng, p,
		      std::max(random_rtt(rng, 20 * kMsec), 10 * p.net.gap),
		      even_planes(rng, p));

	Schedule s(rng, p);

	random_timeout(rng, p.net, 10 * p.rtt + 50 * kMsec);
	for (u32 n = 0; n < 5000;) {
		const u32 k = (u32)rng.range(1, 16);

		s.add(k, 0);
		n += k;
	}
	cut.port = (u8)rng.range(1, p.net.n_ports);
	cut.sides = (u32)rng.range(1, 3);
	cut.from = p.net.start + 1000 * p.net.gap;
	cut.to = cut.from + rng.range(500, 3000) * p.net.gap;
	p.silences.push_back(cut);
	return p;
}

// The peer is gone for good: with a lone message to come, or in mid-stream.
TailPlan tail_gone_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x9000001);
	TailPlan p = base(rng, seed);
	const bool stream = rng.chance(300000);
	TailSilence cut;

	p.net.linear_cnt = (u8)rng.below(8);
	p.net.exp_cnt = rng.chance(500000) ? 0 : (u8)rng.below(4);
	random_delays(rng, p, random_rtt(rng, 100 * kMsec),
		      even_planes(rng, p));

	Schedule s(rng, p);

	random_timeout(rng, p.net, 2 * (s.lone(64) + p.rtt));
	s.warm_up(1);
	cut.from = s.now();
	p.silences.push_back(cut);
	if (stream) {
		p.net.regions = 64;
		// Before the stream ends, through the shortest plane as well.
		p.silences[0].from += rng.below(shortest(p));
		for (u32 i = 0; i < 64; i++)
			s.add((u32)rng.range(1, 16), 0);
	} else {
		s.add(rng.pick({1u, 1u, 2u, 5u, 64u}), 0);
	}
	return p;
}

// READs of the extension: the request, a packet of the answer or what
// acknowledges one of them is lost.
TailPlan tail_read_plan(u64 seed)
{
	Rng rng(seed * 2 + 0xB000001);
	TailPlan p = base(rng, seed);
	const u32 any = rng.pick({1u, 1u, 2u, 5u, 30u});
	const u32 n = p.net.line_rate ? std::min(any, 5u) : any;
	std::vector<TailLoss> all;

	p.net.pmtu = 256;
	random_delays(rng, p, random_rtt(rng, 100 * kMsec),
		      even_planes(rng, p));

	Schedule s(rng, p);

	// The request's own timer must not strike before its answer is repaired.
	random_timeout(rng, p.net, s.lone(n) + 6 * p.rtt + kTailFloor);
	for (u32 i = 0; i < n; i++)
		all.push_back(packets(i, i));
	for (u32 i = 0; i < 4; i++) {
		all.push_back(feedback(TailLoss::Request));
		all.push_back(feedback(TailLoss::RequestAck));
		all.push_back(feedback(TailLoss::Ack));
	}
	shuffle(rng, all);
	s.warm_up(n);
	for (const TailLoss &l : all)
		s.lossy(n, l, 3 * p.rtt + kTailFloor);
	return p;
}

} // namespace prop
