// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* monitor and top, on a clock that only moves when they wait. */
#include "fake.hpp"
#include "watch.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
constexpr uint64_t second = 1000000000;

EvEvent event(uint64_t profile, const char *ev, EvState state,
	      uint32_t dropped = 0)
{
	EvEvent e;

	e.profile = profile;
	e.ev = parse_ev(ev);
	e.state = state;
	e.dropped = dropped;
	return e;
}
} // namespace

TEST_F(MrcctlTest, MonitorsEvEvents)
{
	const auto script = [&] {
		clock_.ns = 0;
		dev().events = {{event(3, "c001@1", EvState::assumed_bad)},
				{event(3, "c001@1", EvState::good),
				 event(4, "c0@2", EvState::assumed_bad, 7)}};
	};

	script();
	Result r = run("monitor ev -n 3");
	EXPECT_EQ(r.status, 0) << r.err;
	golden("monitor_ev.txt", r.out);
	script();
	r = run("-j monitor ev -n 3");
	golden("monitor_ev.json", r.out);
	/* Pretty or not, an event is a line. */
	script();
	EXPECT_EQ(run("-p monitor ev -n 3").out, r.out);
}

TEST_F(MrcctlTest, MonitorsStates)
{
	const auto script = [&] {
		clock_.ns = 0;
		dev().qps.clear();
		dev().fmts.clear();
		dev().ports[1].state = "DOWN";
		clock_.tick = [&](uint64_t now) {
			if (now == second) {
				dev().ports[1].state = "ACTIVE";
				add_qps();
			} else if (now == 2 * second) {
				dev().qps.pop_back();
				dev().qps[0].name.state = "ERR";
				dev().fmts[1].state = State::offline;
			}
		};
	};

	script();
	Result r = run("monitor state -t 3s");
	EXPECT_EQ(r.status, 0) << r.err;
	golden("monitor_state.txt", r.out);
	script();
	r = run("-j monitor state -t 3");
	golden("monitor_state.json", r.out);
}

TEST_F(MrcctlTest, MonitorsBothAtOnce)
{
	dev().events = {{event(3, "c001@1", EvState::assumed_bad)}};
	clock_.tick = [&](uint64_t now) {
		if (now > second / 2)
			dev().ports[0].state = "DOWN";
	};
	const Result r = run("monitor -t 2s -i 500ms");

	EXPECT_EQ(r.out,
		  "2026-01-02T03:04:05.001000Z ev profile 3 c001@1 state "
		  "assumed_bad\n"
		  "2026-01-02T03:04:05.501000Z port 1 state ACTIVE -> DOWN\n");
}

TEST_F(MrcctlTest, StopsMonitoringInTime)
{
	EXPECT_EQ(run("monitor ev -t 250ms").out, "");
	EXPECT_EQ(clock_.ns, second / 4);
	EXPECT_EQ(run("monitor state -t 1500ms").status, 0);
	EXPECT_EQ(clock_.ns, second / 4 + second * 3 / 2);
}

TEST_F(MrcctlTest, ShowsTop)
{
	const auto script = [&] {
		clock_.ns = 0;
		dev().qps.clear();
		add_qps();
		dev().ports[0].counters[1].value = 1000000;
		clock_.tick = [&](uint64_t) {
			dev().ports[0].counters[1].value += 2500000;
			dev().qps[0].tx_pkts += 1234;
			dev().qps[0].ports[0].tx_bytes += 4000000;
			dev().qps[0].ports[1].tx_bytes += 1000000;
			dev().qps[0].rtx_pkts += 5;
			dev().qps[1].tx_pkts += 20000;
		};
	};

	script();
	Result r = run("top -n 2 -i 500ms");
	EXPECT_EQ(r.status, 0) << r.err;
	golden("top.txt", r.out);
	script();
	r = run("-j top -n 2 -i 500ms");
	golden("top.json", r.out);
	script();
	tty_ = true;
	EXPECT_EQ(run("top -n 1").out.substr(0, 6), "\033[H\033[J");
}

TEST(Watch, RatesOfWhatIsNewOrSetBackAreZero)
{
	Sample before, after;
	Qp q;

	q.name.qpn = 1;
	q.tx_pkts = 100;
	before.qps = {q};
	q.tx_pkts = 50;
	after.qps = {q};
	q.name.qpn = 2;
	after.qps.push_back(q);
	after.mono_ns = second;
	for (const QpRate &r : frame(before, after, 0).qps)
		EXPECT_EQ(r.tx_pkts, 0);
	/* No time has passed. */
	after.mono_ns = 0;
	after.qps[0].tx_pkts = 200;
	EXPECT_EQ(frame(before, after, 0).qps[0].tx_pkts, 0);
}

TEST(Watch, FitsTheTerminal)
{
	Frame f;

	f.qps.resize(100);
	f.ports.resize(2);
	const std::string s = text_of(f, 24);

	EXPECT_EQ(std::count(s.begin(), s.end(), '\n'), 23);
	EXPECT_EQ(timestamp(0), "1970-01-01T00:00:00.000000Z");
}
} // namespace mrcctl
