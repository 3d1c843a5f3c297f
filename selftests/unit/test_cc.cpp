// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Congestion control selection and the fixed window.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine.hpp"

namespace
{

mrc_cc make(std::uint32_t window, std::uint32_t mtu)
{
	mrc_cc_cfg cfg{};
	mrc_cc cc;

	cfg.window = window;
	cfg.mtu = mtu;
	cfg.base_rtt = 100000;
	// Initialisation must not depend on what was there.
	std::memset(&cc, 0xA5, sizeof(cc));
	mrc_cc_init(&cc, nullptr, &cfg);
	return cc;
}

TEST(Cc, FindByName)
{
	EXPECT_EQ(mrc_cc_find("none"), &mrc_cc_none);
	EXPECT_EQ(mrc_cc_find("vegas"), &mrc_cc_vegas);
	EXPECT_EQ(mrc_cc_default(), &mrc_cc_vegas);
	EXPECT_EQ(mrc_cc_find("None"), nullptr);
	EXPECT_EQ(mrc_cc_find(""), nullptr);
	EXPECT_EQ(mrc_cc_find("nonesuch"), nullptr);
	EXPECT_EQ(mrc_cc_find(nullptr), nullptr);
	EXPECT_STREQ(mrc_cc_none.name, "none");
}

TEST(Cc, ListsEachAlgorithmOnce)
{
	std::set<const mrc_cc_ops *> seen;
	size_t n = 0;

	for (; const mrc_cc_ops *ops = mrc_cc_nth(n); n++) {
		EXPECT_EQ(mrc_cc_find(ops->name), ops);
		EXPECT_TRUE(seen.insert(ops).second) << ops->name;
	}
	EXPECT_EQ(n, 3u);
	EXPECT_TRUE(seen.contains(mrc_cc_default()));
	EXPECT_EQ(mrc_cc_nth(n + 1), nullptr);
	EXPECT_EQ(mrc_cc_nth(SIZE_MAX), nullptr);
	// MRC_ABI_CC_NAMES: so many can be reported to programs
	EXPECT_EQ(mrc_cc_nth(8), nullptr);
}

// The requester calls every operation without looking whether it is there.
TEST(Cc, NoneIsComplete)
{
	EXPECT_NE(mrc_cc_none.init, nullptr);
	EXPECT_NE(mrc_cc_none.can_send, nullptr);
	EXPECT_NE(mrc_cc_none.on_send, nullptr);
	EXPECT_NE(mrc_cc_none.on_ack, nullptr);
	EXPECT_NE(mrc_cc_none.on_loss, nullptr);
	EXPECT_NE(mrc_cc_none.on_nack, nullptr);
	EXPECT_NE(mrc_cc_none.ack_request, nullptr);
}

TEST(Cc, Init)
{
	mrc_cc cc = make(0, 4188);

	EXPECT_EQ(cc.ops, &mrc_cc_none);
	EXPECT_EQ(cc.cwnd, MRC_CC_FIXED_WINDOW);
	EXPECT_EQ(cc.mtu, 4188u);
	EXPECT_EQ(cc.sack_threshold, unsigned{MRC_SACK_THRESHOLD});
	for (std::uint64_t word : cc.priv)
		EXPECT_EQ(word, 0u);
	EXPECT_EQ(make(100000, 4188).cwnd, 100000u);
	EXPECT_EQ(make(4188, 4188).cwnd, 4188u);
	// Never below one packet.
	EXPECT_EQ(make(1, 4188).cwnd, 4188u);
}

TEST(Cc, InitWithGivenOps)
{
	mrc_cc_cfg cfg{};
	mrc_cc cc;

	cfg.mtu = 1000;
	mrc_cc_init(&cc, &mrc_cc_none, &cfg);
	EXPECT_EQ(cc.ops, &mrc_cc_none);
	EXPECT_EQ(cc.cwnd, MRC_CC_FIXED_WINDOW);
}

// OP-22: 1.5 windows of packets are no more than half of the PSN window.
TEST(Cc, PacketsBoundTheWindow)
{
	for (unsigned mtu : {340u, 600u, 1112u, 4188u}) {
		mrc_cc_cfg cfg{};
		mrc_cc cc;

		cfg.mtu = mtu;
		cfg.max_pkts = MRC_CC_WINDOW_PKTS(1024);
		mrc_cc_init(&cc, &mrc_cc_none, &cfg);
		EXPECT_EQ(cc.cwnd,
			  std::min(MRC_CC_FIXED_WINDOW, cfg.max_pkts * mtu));
		EXPECT_LE(cc.cwnd / mtu * 3 / 2, 512u);
		cfg.window = mtu;
		mrc_cc_init(&cc, &mrc_cc_none, &cfg);
		EXPECT_EQ(cc.cwnd, mtu);
	}
}

TEST(Cc, WindowIsNeverExceeded)
{
	mrc_cc cc = make(10000, 1000);

	EXPECT_TRUE(cc.ops->can_send(&cc, 0, 1000));
	EXPECT_TRUE(cc.ops->can_send(&cc, 9000, 1000));
	EXPECT_FALSE(cc.ops->can_send(&cc, 9001, 1000));
	EXPECT_TRUE(cc.ops->can_send(&cc, 9001, 999));
	EXPECT_FALSE(cc.ops->can_send(&cc, 10000, 1));
	EXPECT_FALSE(cc.ops->can_send(&cc, ~0ull >> 1, 1000));
}

TEST(Cc, OnePacketMayAlwaysGo)
{
	mrc_cc cc = make(1000, 1000);

	EXPECT_TRUE(cc.ops->can_send(&cc, 0, 5000));
	EXPECT_FALSE(cc.ops->can_send(&cc, 1, 5000));
}

// §6.1: cwnd - inflight < MTU, or the window is below the SACK threshold.
TEST(Cc, AckRequest)
{
	mrc_cc cc = make(100000, 1000);

	EXPECT_FALSE(cc.ops->ack_request(&cc, 0));
	EXPECT_FALSE(cc.ops->ack_request(&cc, 99000));
	EXPECT_TRUE(cc.ops->ack_request(&cc, 99001));
	EXPECT_TRUE(cc.ops->ack_request(&cc, 100000));
	EXPECT_TRUE(cc.ops->ack_request(&cc, 200000));

	mrc_cc small = make(MRC_SACK_THRESHOLD - 1, 1000);
	EXPECT_TRUE(small.ops->ack_request(&small, 0));
	mrc_cc edge = make(MRC_SACK_THRESHOLD, 1000);
	EXPECT_FALSE(edge.ops->ack_request(&edge, 0));
}

// The window is fixed: no event moves it.
TEST(Cc, NothingMovesTheWindow)
{
	mrc_cc cc = make(50000, 1000);
	mrc_cc_ack ack{};

	ack.newly = 4000;
	ack.freed = 4000;
	ack.ce = true;
	ack.rtt = MRC_CC_NONE_RTT;
	ack.pen = 127;
	ack.restore = true;
	ack.now = 1;
	for (int i = 0; i < 100; i++) {
		cc.ops->on_send(&cc, 1000, 1);
		cc.ops->on_ack(&cc, &ack);
		cc.ops->on_loss(&cc, 1000, 2);
		cc.ops->on_nack(&cc, 1000, MRC_NACK_TRIMMED, MRC_CC_NONE_RTT,
				3);
	}
	EXPECT_EQ(cc.cwnd, 50000u);
	EXPECT_TRUE(cc.ops->can_send(&cc, 49000, 1000));
}

} // namespace
