// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Lone messages and the ends of bursts: what is lost is sent again after round
// trips, not after the program's timeout; what is only late is not sent again;
// and silence costs few probes. MRC 1.0 §9.3, §9.4, §9.5, §11.6.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "prop_options.hpp"
#include "prop_tail.hpp"

namespace prop
{

namespace
{

std::string describe(const TailLoss &l)
{
	switch (l.what) {
	case TailLoss::Packets:
		return strf("packets %u to %u lost %u time(s), %u probe(s)",
			    l.first, l.last, l.copies, l.probes);
	case TailLoss::Ack:
		return "transport ACK lost";
	case TailLoss::Sack:
		return strf("SACK %u lost", l.nth);
	case TailLoss::Feedback:
		return "all feedback lost";
	case TailLoss::Request:
		return "request lost";
	case TailLoss::RequestAck:
		return "feedback to the request lost";
	default:
		return "nothing lost";
	}
}

// How long the repair of @l may take: one round trip until the loss can be
// known, one for a probe, one for the copy; and what the sender's own pace and
// rounding add. Each that is lost on the way costs another probe, after twice
// the time.
u64 repair_time(const TailLoss &l, u64 rtt)
{
	const u32 rounds = l.copies + l.probes;
	u64 t = 3 * rtt + kTailFloor + rtt / 50 + 10000;

	for (u32 i = 1; i < rounds; i++)
		t += (2 * rtt + kTailFloor) * (1ull << i) + 2 * rtt;
	return t;
}

unsigned long long us(u64 ns)
{
	return ns / 1000;
}

} // namespace

std::map<u32, u64> tail_base(const TailPlan &p, const std::vector<u64> &took)
{
	std::map<u32, u64> most;

	for (std::size_t i = 10; i < took.size(); i++) {
		u64 &t = most[p.packets(i)];

		t = std::max(t, took[i]);
	}
	return most;
}

TailPlan tail_without_losses(const TailPlan &p)
{
	TailPlan calm = p;

	calm.losses.assign(p.losses.size(), {});
	return calm;
}

std::size_t tail_late(const TailPlan &p, const std::vector<u64> &took,
		      const std::map<u32, u64> &base, std::string &why)
{
	for (std::size_t i = p.warm; i < took.size(); i++) {
		const u64 calm = base.at(p.packets(i));
		const u64 most = calm + repair_time(p.losses[i], p.rtt);

		if (took[i] <= most)
			continue;
		why = strf("%s: took %llu us, without loss %llu, bound %llu",
			   describe(p.losses[i]).c_str(), us(took[i]), us(calm),
			   us(most));
		return i;
	}
	return ~(std::size_t)0;
}

namespace
{

constexpr std::size_t kNoMessage = ~(std::size_t)0;

u32 log2_of(u64 v)
{
	u32 n = 0;

	while (v >>= 1)
		n++;
	return n;
}

// Nothing is sent again that has arrived, but the last packet of a message for
// its transport ACK.
void check_needless(TailRun &r)
{
	const u64 rtx = r.count(0, MRC_CTR_TX_RTX);
	const u64 last = r.count(0, MRC_CTR_RTX_LAST_PSN);
	const u64 dup = r.count(1, MRC_CTR_RX_DUP);

	if (rtx > r.lost + last || dup > last || last > r.lost_acks)
		r.fail(kNoMessage,
		       strf("%llu packets sent again and %llu for their "
			    "transport ACKs, %llu arrived twice; lost were "
			    "%llu packets and %llu transport ACKs",
			    (unsigned long long)(rtx - last),
			    (unsigned long long)last, (unsigned long long)dup,
			    (unsigned long long)r.lost,
			    (unsigned long long)r.lost_acks));
}

// Kinds tail and tailagain.
std::string run_losses(TailPlan p, bool trace, bool again,
		       TailSabotage sabotage)
{
	TailRun calm(tail_without_losses(p), false);
	std::string why;
	std::size_t late;

	calm.run();
	check_needless(calm);
	for (std::size_t i = p.warm; i + 1 < calm.took.size(); i++)
		if (calm.done[i] > p.net.msgs[0][i + 1].post_at)
			calm.fail(i, "does not travel alone");
	if (calm.failed()) {
		if (trace)
			TailRun(calm.plan, true).run();
		return "without loss: " + calm.what();
	}

	p.sabotage = sabotage;

	TailRun r(p, trace);

	r.run();
	if (!r.failed() && r.sim.ep[0].dead)
		r.fail(r.sim.dir[0]->reaped, "the budget of retries is spent");
	late = tail_late(p, r.took, tail_base(p, calm.took), why);
	if (late < r.took.size())
		r.fail(late, why);
	check_needless(r);
	if (again && r.count(0, MRC_CTR_RTO))
		r.fail(kNoMessage,
		       strf("%llu timeouts of the program",
			    (unsigned long long)r.count(0, MRC_CTR_RTO)));
	return r.what();
}

std::string run_order(TailPlan p, bool trace, TailSabotage sabotage)
{
	p.sabotage = sabotage;

	TailRun r(p, trace);

	r.run();
	if (!r.failed() && r.sim.ep[0].dead)
		r.fail(kNoMessage, "the budget of retries is spent");
	check_needless(r);
	for (mrc_counter id : {MRC_CTR_EV_BAD, MRC_CTR_RTX_LAST_PSN,
			       MRC_CTR_TX_RTX, MRC_CTR_RTO})
		if (r.count(0, id))
			r.fail(kNoMessage,
			       strf("counter %u is %llu and nothing was lost",
				    (u32)id,
				    (unsigned long long)r.count(0, id)));
	return r.what();
}

std::string run_silent(TailPlan p, bool trace, TailSabotage sabotage)
{
	TailSilence &cut = p.silences[0];
	const u64 secs = (cut.to - cut.from) / 1000000000 + 1;
	u64 tail = 0, path = 0, last = p.net.start, pause = 0;
	u64 most;

	if (sabotage == TailSabotage::AllPlanes)
		cut.port = 0;

	TailRun r(p, trace);

	r.run();
	if (!r.failed() && r.sim.ep[0].dead)
		r.fail(kNoMessage, "a silent plane ends the connection");
	for (const TailRun::Probe &probe : r.probes) {
		if (probe.at < cut.from || probe.at >= cut.to)
			continue;
		tail += !probe.path;
		path += probe.path;
	}
	for (u64 at : r.done) {
		pause = std::max(pause, at - last);
		last = at;
	}
	check_needless(r);
	// Later packets show the first loss, OP-22.
	most = (16 + MRC_MPR_UNIT * p.net.mpr / 2) * p.net.gap + 8 * p.rtt +
	       20000000;
	if (pause > most)
		r.fail(kNoMessage, strf("no completion for %llu us, bound %llu",
					us(pause), us(most)));
	// The other planes go on: each packet that is lost or not heard of may
	// begin a silence of its own.
	most = secs * (log2_of(p.net.rto / p.rtt) + 8) + r.lost +
	       r.lost_feedback;
	if (tail > most)
		r.fail(kNoMessage,
		       strf("%llu tail probes in %llu s, bound "
			    "%llu",
			    (unsigned long long)tail, (unsigned long long)secs,
			    (unsigned long long)most));
	// From 1 ms on, doubling, to ten a second, MRC 1.0 §11.6.
	most = p.net.n_evs / p.net.n_ports * (10 * secs + 10);
	if (path > most)
		r.fail(kNoMessage,
		       strf("%llu path probes in %llu s, bound "
			    "%llu",
			    (unsigned long long)path, (unsigned long long)secs,
			    (unsigned long long)most));
	return r.what();
}

std::string run_gone(TailPlan p, bool trace, TailSabotage sabotage)
{
	const u64 cut = p.silences[0].from;
	const std::vector<PlanMsg> &msgs = p.net.msgs[0];
	const bool stream = msgs.size() > p.warm + 1;
	const mrc_req_cfg qc = p.net.req_cfg(0);
	const u64 probe_max = p.net.rto / 2;
	u64 tail = 0, path = 0, budget = 0, early, late, most;

	if (sabotage == TailSabotage::Return)
		p.silences[0].to = cut + p.net.rto / 2;

	TailRun r(p, trace);

	for (u32 k = 1; k <= (u32)p.net.linear_cnt + p.net.exp_cnt + 1; k++)
		budget += mrc_req_interval(&qc, k);
	r.run();
	if (!r.failed() && !r.sim.ep[0].dead)
		r.fail(kNoMessage, "a peer that is gone goes unnoticed");
	if (r.failed())
		return r.what();
	// By the oldest packet that is never acknowledged: of a lone message
	// its first one; of a stream one that was out when the peer went, or
	// the first after that.
	early = late = (stream ? cut : msgs.back().post_at) + budget;
	if (stream) {
		early -= p.rtt;
		late += p.rtt;
	}
	late += 64 * 16 * (p.net.gap + p.serialize) + 20000;
	if (r.sim.ep[0].failed_at < early || r.sim.ep[0].failed_at > late)
		r.fail(kNoMessage,
		       strf("the connection ended after %llu us, due between "
			    "%llu and %llu",
			    us(r.sim.ep[0].failed_at - cut), us(early - cut),
			    us(late - cut)));
	for (const TailRun::Probe &probe : r.probes) {
		if (probe.at < cut)
			continue;
		tail += !probe.path;
		path += probe.path;
	}
	// Doubling up to half the program's timeout.
	most = log2_of(probe_max / std::min(p.rtt, probe_max)) + 8 +
	       budget / probe_max;
	if (tail > most)
		r.fail(kNoMessage, strf("%llu tail probes, bound %llu",
					(unsigned long long)tail,
					(unsigned long long)most));
	// Of each path from 1 ms on, doubling, to ten a second.
	most = p.net.n_evs * (10 * (budget / 1000000000 + 1) + 10);
	if (path > most)
		r.fail(kNoMessage, strf("%llu path probes, bound %llu",
					(unsigned long long)path,
					(unsigned long long)most));
	return r.what();
}

} // namespace

std::string run_tail(const std::string &kind, u64 seed, bool trace,
		     TailSabotage sabotage)
{
	if (kind == "tailagain")
		return run_losses(tail_again_plan(seed), trace, true, sabotage);
	if (kind == "tailorder")
		return run_order(tail_order_plan(seed), trace, sabotage);
	if (kind == "tailsilent")
		return run_silent(tail_silent_plan(seed), trace, sabotage);
	if (kind == "tailgone")
		return run_gone(tail_gone_plan(seed), trace, sabotage);
	if (kind == "tailread")
		return run_tail_read(seed, trace);
	return run_losses(tail_plan(seed), trace, false, sabotage);
}

} // namespace prop

namespace
{

constexpr u64 kShards = 10;

class TailShard : public testing::TestWithParam<u64>
{
protected:
	void run(const char *kind, u64 total)
	{
		u64 failures = 0;

		for (u64 i = GetParam(); i < total; i += kShards) {
			u64 seed = prop::options.first + i;
			std::string bad = prop::run_schedule(kind, seed, false);

			if (bad.empty())
				continue;
			ADD_FAILURE()
				<< kind << " schedule " << seed << ": " << bad;
			if (++failures == 5)
				break;
		}
	}
};

TEST_P(TailShard, OneLossIsRepairedInThreeRoundTrips)
{
	run("tail", prop::options.schedules / 200);
}

TEST_P(TailShard, LostCopiesCostProbesNotTimeouts)
{
	run("tailagain", prop::options.schedules / 200);
}

TEST_P(TailShard, OneLossOfAReadIsRepairedInThreeRoundTrips)
{
	run("tailread", prop::options.schedules / 400);
}

TEST_P(TailShard, LateIsNotLost)
{
	run("tailorder", prop::options.schedules / 200);
}

TEST_P(TailShard, SilentPlaneCostsFewProbes)
{
	run("tailsilent", prop::options.schedules / 1000);
}

TEST_P(TailShard, OnlyTheTimeoutEndsAConnection)
{
	run("tailgone", prop::options.schedules / 100);
}

// Each breaks one thing in the simulation, and the checks must say so.
struct TailControl {
	prop::TailSabotage what;
	const char *name;
	const char *kind;
	const char *expect; // part of the complaint
};

class TailNegative : public testing::TestWithParam<TailControl>
{
};

TEST_P(TailNegative, IsNoticed)
{
	const TailControl &c = GetParam();
	u32 noticed = 0;

	for (u64 seed = 1; seed <= 30 && noticed < 3; seed++) {
		std::string bad = prop::run_tail(c.kind, seed, false, c.what);

		if (bad.find(c.expect) == std::string::npos)
			continue; // the schedule had no opportunity
		noticed++;
		bad = prop::run_tail(c.kind, seed, false);
		EXPECT_TRUE(bad.empty())
			<< c.kind << " " << seed << ", nothing broken: " << bad;
	}
	EXPECT_EQ(noticed, 3u);
}

using prop::TailSabotage;

INSTANTIATE_TEST_SUITE_P(
	Controls, TailNegative,
	testing::Values(TailControl{TailSabotage::Deaf, "Deaf", "tail",
				    "bound"},
			TailControl{TailSabotage::Duplicate, "Duplicate",
				    "tail", "arrived twice"},
			TailControl{TailSabotage::Lose, "Lose", "tailorder",
				    "sent again"},
			TailControl{TailSabotage::AllPlanes, "AllPlanes",
				    "tailsilent", "no completion"},
			TailControl{TailSabotage::Return, "Return", "tailgone",
				    "goes unnoticed"}),
	[](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Random, TailShard, testing::Range<u64>(0, kShards));

} // namespace
