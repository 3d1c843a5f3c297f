// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A link and its queue, without hosts. */
#include <cmath>

#include <gtest/gtest.h>

#include "fabrics.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 size = 4000;	 /* bytes */
constexpr u64 sending = 320'000; /* ps of them at 100 Gbit/s */
constexpr u32 to_host = 2;	 /* p1l1:h1 of two hosts */

/* Two hosts at one T0, of which one link is used. */
struct OneLink {
	explicit OneLink(const LinkSpec &spec, u64 seed = 1)
		: shape(with(spec)), links(shape, size),
		  queues(links, 0, seed, 1 << 12, events, nullptr)
	{
	}

	static Shape with(const LinkSpec &spec)
	{
		Shape s = plain_clos(1, 1, 0, 2);

		s.of(Kind::host_down) = spec;
		return s;
	}

	/* Everything that arrives by @until. */
	void arrivals(u64 until)
	{
		Event e{};

		while (next || events.pop(e)) {
			if (!next)
				pending = e;
			next = pending.at > until;
			if (next)
				return;
			const u32 p = queues.arrived(
				static_cast<u32>(pending.key & 0xffffff) >> 1,
				pending.key & 1);

			if (p == no_packet)
				continue;
			got.push_back({pending.at, queues.packet(p).qp,
				       queues.packet(p).flags});
			queues.give(p);
		}
	}

	void send(u64 now, u32 number, u8 flags = 0, u16 bytes = size)
	{
		const u32 p = queues.take();
		Packet &k = queues.packet(p);

		k.qp = number;
		k.flags = flags;
		k.size = bytes;
		k.dst = 0;
		queues.send(to_host, p, now);
	}

	struct Got {
		u64 at;
		u32 number;
		u8 flags;
	};

	Shape shape;
	EventList events{10};
	Links links;
	Queues queues;
	std::vector<Got> got;
	Event pending{};
	bool next = false;
};

TEST(Link, packetsLeaveOneAfterTheOther)
{
	OneLink l(plain_link());

	l.send(0, 1);
	l.send(0, 2);
	l.send(5 * us, 3);
	l.arrivals(100 * us);
	ASSERT_EQ(l.got.size(), 3U);
	EXPECT_EQ(l.got[0].at, sending + 1 * us);
	EXPECT_EQ(l.got[1].at, 2 * sending + 1 * us);
	EXPECT_EQ(l.got[2].at, 6 * us + sending);
}

TEST(Link, controlGoesFirstAfterThePacketThatIsBeingSent)
{
	OneLink l(plain_link());

	for (u32 n = 1; n <= 3; n++)
		l.send(0, n);
	/* In the middle of the first packet; 80 bytes take 6.4 ns. */
	l.send(sending / 2, 9, packet_control, 80);
	l.send(sending / 2, 4);
	l.arrivals(100 * us);
	ASSERT_EQ(l.got.size(), 5U);
	EXPECT_EQ(l.got[0].number, 1U);
	EXPECT_EQ(l.got[1].number, 9U);
	EXPECT_EQ(l.got[1].at, sending + 6'400 + 1 * us);
	/* The packets behind make up for it. */
	EXPECT_EQ(l.got[4].number, 4U);
	EXPECT_EQ(l.got[4].at, 4 * sending + 6'400 + 1 * us);
}

TEST(Link, trimsWhatDoesNotFitAndDropsWhatMustNotBeTrimmed)
{
	LinkSpec s = plain_link();

	s.trim = 3 * size;
	s.queue = 5 * size;

	OneLink l(s);

	for (u32 n = 1; n <= 3; n++)
		l.send(0, n, packet_may_trim);
	l.send(1, 4, packet_may_trim); /* trimmed; its header takes some room */
	l.send(1, 5);
	l.send(1, 6); /* dropped */
	l.arrivals(100 * us);
	EXPECT_EQ(l.queues.sums.trimmed, 1U);
	EXPECT_EQ(l.queues.sums.dropped, 1U);
	ASSERT_EQ(l.got.size(), 5U);
	EXPECT_EQ(l.got[1].number, 4U);
	EXPECT_EQ(l.got[1].flags,
		  packet_trimmed | packet_control | packet_last_hop);
	EXPECT_EQ(l.queues.in_use(), 0U);
}

TEST(Link, marksMoreTheLongerTheQueue)
{
	LinkSpec s = plain_link();

	s.mark_min = 2 * size;
	s.mark_max = 12 * size;

	/* The share of marks behind @n packets, over many seeds. */
	const auto marks = [&s](u32 n) {
		u32 sum = 0;

		for (u64 seed = 1; seed <= 1000; seed++) {
			OneLink l(s, seed);

			for (u32 i = 0; i <= n; i++)
				l.send(0, i);
			l.arrivals(100 * us);
			sum += (l.got.back().flags & packet_ce) != 0;
		}
		return sum / 1000.0;
	};

	EXPECT_EQ(marks(2), 0);
	EXPECT_NEAR(marks(4), 0.2, 0.05);
	EXPECT_NEAR(marks(7), 0.5, 0.06);
	EXPECT_EQ(marks(12), 1);
}

TEST(Link, cutsOffWhatIsUnderWay)
{
	OneLink l(plain_link());

	l.send(0, 1);
	l.links.set_down(to_host, true, us / 2);
	l.send(us / 2, 2);
	l.links.set_down(to_host, false, us);
	l.send(us, 3);
	l.arrivals(100 * us);
	ASSERT_EQ(l.got.size(), 1U);
	EXPECT_EQ(l.got[0].number, 3U);
	EXPECT_EQ(l.got[0].at, 2 * us + sending);
	EXPECT_EQ(l.queues.sums.cut, 2U);
	EXPECT_EQ(l.queues.in_use(), 0U);
}

TEST(Link, slowerLinksKeepWhatIsQueued)
{
	OneLink l(plain_link());
	LinkSpec slow = plain_link();

	slow.rate /= 4;
	for (u32 n = 1; n <= 4; n++)
		l.send(0, n);
	l.links.set(to_host, slow, 2 * sending);
	l.send(2 * sending, 5);
	l.arrivals(100 * us);
	/* Two packets had left; two and the new one take four times as long. */
	EXPECT_EQ(l.got[4].at, 2 * sending + 3 * 4 * sending + 1 * us);
}

/*
 * Packets of one size that arrive at random: the mean wait of M/D/1 is
 * rho / (2 (1 - rho)) sending times. Little's law gives the mean queue.
 */
TEST(Link, waitsAsMD1Says)
{
	for (const double rho : {0.5, 0.8, 0.9}) {
		OneLink l(plain_link());
		const u32 n = rho > 0.85 ? 1'500'000 : 500'000;
		double at = 0, wait = 0;

		for (u32 i = 0; i < n; i++) {
			const double u =
				(static_cast<double>(
					 draw(3, Draws::traffic, 1, i) >> 11) +
				 0.5) /
				9007199254740992.0;

			at -= std::log(u) * sending / rho;

			const u64 now = static_cast<u64>(at);

			l.arrivals(now);
			wait += static_cast<double>(
				l.links.backlog(to_host, now));
			l.send(now, i);
			l.got.clear();
		}
		const double mean = wait / n / sending;

		EXPECT_NEAR(mean, rho / (2 * (1 - rho)),
			    0.02 * rho / (2 * (1 - rho)))
			<< rho;
	}
}

TEST(Link, losesItsShare)
{
	LinkSpec s = plain_link();

	s.loss = 0.01;

	OneLink l(s);

	for (u32 n = 0; n < 100'000; n++) {
		l.send(n * sending, n);
		l.arrivals(n * sending);
	}
	EXPECT_NEAR(static_cast<double>(l.queues.sums.lost), 1000, 100);
}
} // namespace
} // namespace mrcsim
