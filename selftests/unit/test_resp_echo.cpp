// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder: what a SACK returns, and the path it takes.
// MRC 1.0 §8.3, §9.5, §11.8.
#include "engine_fixture.hpp"

#include <algorithm>
#include <set>

using namespace mrc_test;

namespace
{

// A responder with the paths of a requester, through both planes or only the second.
struct Pair {
	explicit Pair(bool two)
	{
		q.init();
		if (!two)
			mrc_paths_set_ports(&q.paths, 1u << 2);
		r.init(&q.paths);
	}
	Requester q;
	Responder r;
};

} // namespace

TEST(RespEcho, TimestampOnlyIfItIsOne)
{
	Responder r;
	r.init();
	auto echo = [&](DataSpec s) {
		s.psn = psn_at(r.resp.cack, 1);
		s.a = true;
		return find(r.data(s), MRC_OP_SACK)->hdr.tstamp;
	};
	EXPECT_EQ(echo({.ts = true, .tstamp = 0x105}), 0x105);
	EXPECT_EQ(echo({.ts = false, .tstamp = 0x105}), 0);
	EXPECT_EQ(echo({.ts = true, .tstamp = 0x105, .ftype = 2}), 0);
}

TEST(RespEcho, ReverseEvComesFromTheOwnSet)
{
	Requester q;
	q.init();
	Responder r;
	r.init(&q.paths);
	for (u8 port : {1, 2}) {
		auto fb = r.data({.psn = psn_at(r.resp.cack, 1),
				  .a = true,
				  .entropy = 0x55,
				  .port = port});
		for (const auto &d : fb) {
			ASSERT_GE(d.ev, 0);
			EXPECT_EQ(d.port, port);
			EXPECT_EQ(d.entropy, q.ev(d.ev).entropy);
		}
		EXPECT_EQ(find(fb, MRC_OP_SACK)->hdr.seth.entropy, 0x55u);
	}
	// The arrival port is down for us: another one.
	mrc_paths_set_ports(&q.paths, 1u << 1);
	auto fb = r.data({.psn = psn_at(r.resp.cack, 1), .port = 2});
	EXPECT_EQ(fb[0].port, 1);
	// Without a set the packet's own path is echoed.
	Responder s;
	s.init();
	fb = s.data({.psn = 0, .entropy = 0x77, .port = 3});
	EXPECT_EQ(fb[0].ev, -1);
	EXPECT_EQ(fb[0].entropy, 0x77u);
	EXPECT_EQ(fb[0].port, 3);
}

// The peer may not have heard feedback of one plane: the answer to a probe takes two.
TEST(RespEcho, ProbesAreAnsweredThroughTwoPlanes)
{
	for (bool two : {true, false}) {
		Pair p(two);
		Responder &r = p.r;
		auto fb = r.data({.psn = r.psn(0), .a = true, .port = 2});
		ASSERT_FALSE(fb.empty());
		EXPECT_EQ(fb.back().port, 2);
		fb = r.probe(1); // on port 2
		ASSERT_EQ(fb.size(), 2u);
		EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_SACK);
		EXPECT_EQ(fb[0].port, 2);
		EXPECT_EQ(fb[1].hdr.opcode, MRC_OP_ACK);
		EXPECT_EQ(fb[1].port != 2, two);
	}
}

// The peer asks for an ACK again, by a probe or by a copy of the packet: it did not hear
// those before. Whatever it asks through, the ACK takes another EV each time.
TEST(RespEcho, RepeatedAcksTakeOtherPaths)
{
	for (bool two : {true, false}) {
		Pair p(two);
		Requester &q = p.q;
		Responder &r = p.r;
		mrc_rev *rev = mrc_resp_rev(&r.resp);
		for (int ev = 0; ev < q.paths.n_ports; ev++)
			mrc_rev_confirm(rev, &q.paths, ev, r.now);
		auto fb = r.data({.psn = r.psn(0), .a = true, .port = 2});
		std::set<int> evs{find(fb, MRC_OP_ACK)->ev};
		u8 last = find(fb, MRC_OP_ACK)->port;
		EXPECT_EQ(last, 2);
		for (u16 i = 1; i <= 6; i++) {
			if (i & 1)
				fb = r.data({.psn = r.psn(0),
					     .a = true,
					     .rtx = true,
					     .port = 2});
			else
				fb = r.probe(i); // on port 2
			const mrc_tx_desc *ack = find(fb, MRC_OP_ACK);
			ASSERT_NE(ack, nullptr);
			EXPECT_EQ(find(fb, MRC_OP_SACK)->port, 2);
			if (two)
				EXPECT_NE(ack->port, 2);
			EXPECT_TRUE(evs.insert(ack->ev).second) << i;
		}
	}
}

// A reverse EV has turned out to be dead: the same SACK on each plane, everything else
// once. Of a train only the last one.
TEST(RespEcho, SackGoesToAllPlanesIfReverseEvsDie)
{
	Requester q;
	q.init();
	Responder r;
	r.init(&q.paths);
	mrc_rev *rev = mrc_resp_rev(&r.resp);
	const u8 ports = q.paths.n_ports;
	mrc_rev_confirm(rev, &q.paths, 0, r.now);
	mrc_rev_probe_sent(rev, &q.paths, 0, 1, r.now);
	mrc_rev_probe_sent(rev, &q.paths, 1, 2, r.now);
	auto fb = r.data({.psn = r.psn(1), .a = true, .port = 2});
	std::vector<u8> sacks;
	const mrc_seth first = find(fb, MRC_OP_SACK)->hdr.seth;
	for (const auto &d : fb) {
		if (d.hdr.opcode != MRC_OP_SACK)
			continue;
		sacks.push_back(d.port);
		EXPECT_EQ(d.hdr.seth.bitmap, first.bitmap);
		EXPECT_EQ(d.hdr.seth.sack_offset, first.sack_offset);
		EXPECT_EQ(d.hdr.seth.cack_psn, first.cack_psn);
	}
	EXPECT_EQ(sacks.size(), ports);
	std::sort(sacks.begin(), sacks.end());
	EXPECT_EQ(std::unique(sacks.begin(), sacks.end()), sacks.end());
	fb = r.data({.psn = r.psn(200), .a = true, .port = 2});
	std::vector<s16> maps;
	for (const auto &d : fb)
		if (d.hdr.opcode == MRC_OP_SACK)
			maps.push_back(d.hdr.seth.sack_offset);
	ASSERT_GT(maps.size(), ports);
	EXPECT_EQ(std::count(maps.begin(), maps.end(), maps.back()), ports);
	EXPECT_EQ(std::set<s16>(maps.begin(), maps.end()).size(),
		  maps.size() - ports + 1);
	// The path works again.
	EXPECT_TRUE(mrc_rev_response(rev, &q.paths, 2, r.now));
	fb = r.data({.psn = r.psn(2), .a = true, .port = 2});
	EXPECT_EQ(std::count_if(fb.begin(), fb.end(),
				[](const mrc_tx_desc &d) {
					return d.hdr.opcode == MRC_OP_SACK &&
					       d.port != 2;
				}),
		  0);
}
