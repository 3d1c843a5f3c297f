// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the engine keeps for a QP. An idle QP is to take no more than 4 KiB
// outside its rings; the kernel's part of the sum is measured by figures.sh.
#include "engine.hpp"

#include <gtest/gtest.h>

namespace
{

// Of the 1.7 KiB that a QP of the shell has; it says so itself as well.
static_assert(sizeof(mrc_resp) + sizeof(mrc_paths) <= 744);
// One for each packet of the window, one for each message that waits for its
// receive.
static_assert(sizeof(mrc_tx_pkt) == 32);
static_assert(sizeof(mrc_recv_msg) == 20);

mrc_resp_cfg resp_cfg()
{
	mrc_resp_cfg cfg{};
	cfg.pmtu = 4096;
	cfg.mpr = MRC_MPR_DEFAULT;
	cfg.max_wimm = MRC_WIMM_DEFAULT;
	cfg.late_stash = true;
	return cfg;
}

} // namespace

// What a QP that has not sent keeps does not depend on how many EVs it has: there
// is no memory but that of struct mrc_paths, and it answers for all of them.
TEST(IdleQp, NothingForEachEv)
{
	for (bool ipv6 : {false, true}) {
		for (u8 ports : {1, 2, 4, 8, 16}) {
			mrc_paths_cfg cfg{};
			mrc_paths p;
			u16 cursor = 0;
			cfg.n_evs = MRC_EV_MAX;
			cfg.n_ports = ports;
			cfg.ipv6 = ipv6;
			ASSERT_EQ(mrc_paths_prepare(&p, &cfg), 0);
			EXPECT_EQ(p.ev, nullptr);
			EXPECT_EQ(p.walk, nullptr);
			EXPECT_EQ(mrc_paths_pick_ctrl(&p, &cursor, 1), 0);
			EXPECT_EQ(mrc_paths_tables(&p), mrc_paths_mem(&cfg));
		}
	}
}

// A QP that sends: at most 16 bytes per EV and 64 per port, however many there are.
TEST(ActiveQp, BytesPerEv)
{
	for (u8 ports : {1, 2, 4, 8, 16}) {
		for (u16 n = 64; n <= MRC_EV_MAX; n += 64) {
			mrc_paths_cfg cfg{};
			cfg.n_evs = n;
			cfg.n_ports = ports;
			EXPECT_NE(mrc_paths_mem(&cfg), 0u);
			EXPECT_LE(mrc_paths_mem(&cfg), 16u * n + 64u * ports)
				<< n;
		}
	}
}

TEST(IdleQp, ResponderFitsHalfAKilobyte)
{
	mrc_resp_cfg cfg = resp_cfg();
	const size_t late = mrc_resp_mem(&cfg);

	EXPECT_NE(late, 0u);
	EXPECT_LE(late, 512u);
	cfg.late_stash = false;
	EXPECT_EQ(mrc_resp_mem(&cfg), late + mrc_resp_stash_mem(&cfg));
	EXPECT_EQ(mrc_resp_stash_mem(&cfg), MRC_WIMM_DEFAULT * sizeof(mrc_recv_msg));
}
