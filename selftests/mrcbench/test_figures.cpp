// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Processor time of the kernel's files, and figures of counts. */
#include <stdexcept>

#include <gtest/gtest.h>

#include "cpu.hpp"
#include "error.hpp"
#include "measure.hpp"

namespace mrcbench
{
namespace
{
constexpr uint64_t second = 1000000000;

CpuTimes times(uint64_t busy, uint64_t idle, unsigned int processors = 2)
{
	CpuTimes t;

	t.system = busy;
	t.idle = idle;
	t.processors = processors;
	return t;
}

/* Two processors, two seconds, a quarter of which they were idle. */
Counts two_seconds(uint64_t messages)
{
	Counts c;

	c.from.at = 10;
	c.to.at = 12;
	c.from.cpu = times(0, 5 * second);
	c.to.cpu = times(3 * second, 6 * second);
	c.messages = {messages};
	return c;
}
} // namespace

TEST(Cpu, FileOfTheKernel)
{
	const CpuTimes t = parse_cpu_times("cpu  1 2 3 4 5 6 7 8 9 10\n"
					   "cpu0 1 2 3 4 5 6 7 8 9 10\n"
					   "cpu3 0 0 0 0 0 0 0 0 0 0\n"
					   "intr 12\n",
					   100);

	EXPECT_EQ(t.user, 30000000u);
	EXPECT_EQ(t.system, 30000000u);
	EXPECT_EQ(t.idle, 90000000u);
	EXPECT_EQ(t.irq, 130000000u);
	EXPECT_EQ(t.steal, 80000000u);
	EXPECT_EQ(t.processors, 2u);
}

TEST(Cpu, OtherFiles)
{
	EXPECT_THROW(parse_cpu_times("", 100), std::runtime_error);
	EXPECT_THROW(parse_cpu_times("cpu  1 2 x\ncpu0 1\n", 100),
		     std::runtime_error);
	EXPECT_THROW(parse_cpu_times("cpu  1 2 3 4 5 6 7 8\n", 100),
		     std::runtime_error);
}

TEST(Cpu, BusyIsWhatWasNotIdle)
{
	const CpuUse u = cpu_use(times(0, 0), times(second, second), 2, 0);

	EXPECT_DOUBLE_EQ(u.busy, 0.75);
	EXPECT_DOUBLE_EQ(u.seconds, 3);
	EXPECT_DOUBLE_EQ(u.system, 0.25);
	EXPECT_DOUBLE_EQ(
		cpu_use(times(0, 0), times(0, second), 2, 0.25).busy, 0.5);
	/* More idle than there was time: the clock of idle time is coarse. */
	EXPECT_EQ(cpu_use(times(0, 0), times(0, 9 * second), 2, 0).busy, 0);
	EXPECT_EQ(cpu_use(times(0, 0), times(0, 0), 0, 0).busy, 0);
}

TEST(Figures, OfAStreamOnOneMachine)
{
	Shape shape;
	Counts c = two_seconds(1000);

	c.to.own = 0.5;
	c.to.sent = 200;
	c.to.resent = 10;
	c.from.sent = 100;
	Values v = figures(shape, c, {}, {}, false, true, 0);

	EXPECT_DOUBLE_EQ(v["rate"], 500);
	EXPECT_DOUBLE_EQ(v["goodput"], 500 * 65536 * 8 / 1e6);
	EXPECT_DOUBLE_EQ(v["cpu_msg"], 3e9 / 1000);
	EXPECT_DOUBLE_EQ(v["cpu_byte"], 3e9 / 1000 / 65536);
	EXPECT_DOUBLE_EQ(v["cpu_busy"], 75);
	EXPECT_DOUBLE_EQ(v["client_cpu"], 5e5);
	EXPECT_DOUBLE_EQ(v["resent"], 10);
	EXPECT_EQ(v.count("lat_p50"), 0u);
	EXPECT_EQ(v.count("fairness"), 0u);
}

TEST(Figures, TwoMachinesSpendBoth)
{
	Shape shape;
	Counts c = two_seconds(1000);
	Snapshot from, to;

	from.at = 100;
	to.at = 102;
	from.cpu = times(0, 0, 4);
	to.cpu = times(0, 6 * second, 4);
	Values v = figures(shape, c, from, to, false, false, 0);

	EXPECT_DOUBLE_EQ(v["cpu_msg"], (3e9 + 2e9) / 1000);
	EXPECT_DOUBLE_EQ(v["cpu_busy"], (75 + 25) / 2.0);
}

TEST(Figures, OfSocketsTheServerCounts)
{
	Shape shape;
	Counts c = two_seconds(999999);
	Snapshot from, to;

	shape.size = 1000;
	from.at = 0;
	to.at = 4;
	from.bytes = 1000;
	to.bytes = 401000;
	Values v = figures(shape, c, from, to, true, true, 0);

	EXPECT_DOUBLE_EQ(v["rate"], 100);
	EXPECT_DOUBLE_EQ(v["goodput"], 0.8);
	EXPECT_DOUBLE_EQ(v["cpu_msg"], 3e9 / 400);
}

TEST(Figures, PingPongIsHalfARoundTrip)
{
	Shape shape;
	Counts c = two_seconds(3);

	shape.test = Kind::lat;
	c.latencies = {3000, 1000, 2000};
	Values v = figures(shape, c, {}, {}, false, true, 0);

	EXPECT_DOUBLE_EQ(v["lat_p50"], 1);
	EXPECT_DOUBLE_EQ(v["lat_max"], 1.5);
	shape.test = Kind::rtt;
	v = figures(shape, c, {}, {}, false, true, 0);
	EXPECT_DOUBLE_EQ(v["lat_p50"], 2);
}

TEST(Figures, NothingIsAnError)
{
	Counts c = two_seconds(0);

	EXPECT_THROW(figures({}, c, {}, {}, false, true, 0),
		     mrcperf::RunError);
}

TEST(Figures, Fairness)
{
	EXPECT_DOUBLE_EQ(jain({5, 5, 5, 5}), 1);
	EXPECT_DOUBLE_EQ(jain({7, 0, 0, 0}), 0.25);
	EXPECT_EQ(jain({0, 0}), 0);
	Counts c = two_seconds(1);

	c.messages = {10, 10};
	EXPECT_DOUBLE_EQ(
		figures({}, c, {}, {}, false, true, 0)["fairness"], 1);
}
} // namespace mrcbench
