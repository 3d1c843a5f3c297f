// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Snapshots of what engines have come to, and questions whose answer is one value.
#include "engine_fixture.hpp"

#include <gtest/gtest.h>

using namespace mrc_test;

namespace
{

struct mrc_req_info info_of(const Requester &r)
{
	struct mrc_req_info info;

	mrc_req_info(&r.req, &info);
	return info;
}

struct mrc_resp_info info_of(const Responder &r)
{
	struct mrc_resp_info info;

	mrc_resp_info(&r.resp, &info);
	return info;
}

struct mrc_paths_info paths_of(const Requester &r)
{
	struct mrc_paths_info info;

	mrc_paths_info(&r.paths, &info);
	return info;
}

} // namespace

TEST(InfoReq, NothingSent)
{
	Requester r;
	r.init();
	const auto i = info_of(r);
	EXPECT_STREQ(i.cc, r.cc.ops->name);
	EXPECT_EQ(i.next_psn, r.psn(0));
	EXPECT_EQ(i.cack, r.psn(-1));
	EXPECT_EQ(i.tack, r.psn(-1));
	EXPECT_EQ(i.window, 8U * MRC_MPR_UNIT);
	EXPECT_EQ(i.unsacked, 0U);
	EXPECT_EQ(i.unacked, 0U);
	EXPECT_EQ(i.inflight, 0U);
	EXPECT_EQ(i.queued, 0U);
	EXPECT_EQ(i.pkts, 0U);
	EXPECT_EQ(i.sched, MRC_SCHED_IDLE);
	EXPECT_FALSE(i.failed);
	EXPECT_TRUE(mrc_req_ready(&r.req));
	EXPECT_TRUE(mrc_req_all_sent(&r.req));
	EXPECT_FALSE(mrc_req_may_request(&r.req));
}

TEST(InfoReq, SentAndAcknowledgedInPart)
{
	Requester r;
	r.init();
	r.write(256);
	EXPECT_FALSE(mrc_req_all_sent(&r.req));
	EXPECT_EQ(info_of(r).sched, MRC_SCHED_READY);
	ASSERT_EQ(r.send_n(3).size(), 4U);
	EXPECT_TRUE(mrc_req_all_sent(&r.req));
	auto i = info_of(r);
	EXPECT_EQ(i.next_psn, r.psn(4));
	EXPECT_EQ(i.unsacked, 4U);
	EXPECT_EQ(i.unacked, 4U);
	EXPECT_EQ(i.queued, 4U);
	EXPECT_EQ(i.pkts, 4U);
	EXPECT_EQ(i.rtx, 0U);
	EXPECT_GT(i.inflight, 0U);
	EXPECT_EQ(i.sched, MRC_SCHED_PENDING);
	EXPECT_EQ(i.port_bytes[1] + i.port_bytes[2], 4U * 256);

	// Received are three, executed is one.
	r.sack_all(r.psn(2));
	r.ack(r.psn(0));
	i = info_of(r);
	EXPECT_EQ(i.cack, r.psn(2));
	EXPECT_EQ(i.tack, r.psn(0));
	EXPECT_EQ(i.unsacked, 1U);
	EXPECT_EQ(i.unacked, 3U);
}

TEST(InfoReq, LostAndSentAgain)
{
	Requester r;
	r.init();
	r.send_n(2);
	r.nack(r.psn(0), MRC_NACK_TRIMMED, 0);
	EXPECT_EQ(info_of(r).lost, 1U);
	ASSERT_EQ(r.send().size(), 1U);
	const auto i = info_of(r);
	EXPECT_EQ(i.lost, 0U);
	EXPECT_EQ(i.pkts, 3U);
	EXPECT_EQ(i.rtx, 1U);
}

TEST(InfoReq, Failed)
{
	Requester r;
	r.init();
	r.send_n(1);
	mrc_req_fail(&r.req, -1, MRC_WC_FLUSH);
	EXPECT_TRUE(info_of(r).failed);
	EXPECT_TRUE(mrc_req_failed(&r.req));
	EXPECT_FALSE(mrc_req_ready(&r.req));
}

TEST(InfoPaths, StatesAndPorts)
{
	Requester r;
	r.init();
	auto i = paths_of(r);
	EXPECT_EQ(i.n, 16U);
	EXPECT_EQ(i.n, mrc_paths_count(&r.paths));
	EXPECT_EQ(i.n_ports, 2U);
	EXPECT_EQ(i.state[MRC_EV_GOOD], 16U);
	EXPECT_EQ(i.ports_up, mrc_paths_ports_up(&r.paths));

	mrc_paths_verdict(&r.paths, 3, MRC_EVV_TIMEOUT, r.now);
	mrc_req_set_ports(&r.req, 1U << 2, r.now);
	i = paths_of(r);
	EXPECT_EQ(i.state[MRC_EV_ASSUMED_BAD], 1U);
	EXPECT_EQ(i.state[MRC_EV_GOOD], 15U);
	EXPECT_EQ(i.ports_up, 1U << 2);
	EXPECT_EQ(mrc_paths_rto(&r.paths), r.cfg.rto);
}

TEST(InfoResp, AheadOfAHole)
{
	Responder r;
	r.init();
	auto i = info_of(r);
	EXPECT_EQ(i.cack, r.psn(-1));
	EXPECT_EQ(i.exec, r.psn(-1));
	EXPECT_EQ(i.ahead, 0U);

	r.data({.psn = r.psn(0)});
	r.data({.psn = r.psn(2)});
	r.data({.psn = r.psn(3)});
	i = info_of(r);
	EXPECT_EQ(i.cack, r.psn(0));
	EXPECT_EQ(i.max_rcv, r.psn(3));
	EXPECT_EQ(i.ahead, 3U);
	EXPECT_EQ(i.ooo, 2U);
	EXPECT_EQ(i.msn, 1U);
	EXPECT_GT(i.bytes, 0U);
}

// What a QP's attributes allow its peer counts from the next packet on.
TEST(InfoResp, Permit)
{
	Responder r;
	r.cfg.remote_write = true;
	r.init();
	r.data({.psn = r.psn(0)});
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	const struct mrc_resp_permit none = {};
	mrc_resp_permit(&r.resp, &none);
	r.data({.psn = r.psn(1)});
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_INV_REQ);
}

// What only the extension has needs the extension, whatever is asked for.
TEST(InfoResp, PermitOfTheExtension)
{
	const struct mrc_resp_permit all = { true, true, true, true, 16 };
	Responder plain, ext;
	plain.init();
	mrc_resp_permit(&plain.resp, &all);
	EXPECT_FALSE(mrc_resp_takes_requests(&plain.resp));
	EXPECT_EQ(mrc_resp_rd_slots_for(&plain.resp, 16), 0U);
	EXPECT_EQ(mrc_resp_rd_mem_for(&plain.resp, 16), 0U);

	ext.cfg.ext = true;
	ext.cfg.late_rd = true;
	ext.init();
	EXPECT_FALSE(mrc_resp_takes_requests(&ext.resp));
	EXPECT_EQ(mrc_resp_rd_slots_for(&ext.resp, 16), 32U);
	EXPECT_EQ(mrc_resp_rd_mem_for(&ext.resp, 16), 32 * sizeof(struct mrc_rd));
	mrc_resp_permit(&ext.resp, &all);
	EXPECT_TRUE(mrc_resp_takes_requests(&ext.resp));
}

TEST(InfoResp, Restart)
{
	Responder r;
	r.init();
	ASSERT_EQ(mrc_resp_restart(&r.resp, 0x4321), 0);
	EXPECT_EQ(info_of(r).cack, 0x4320U);
	EXPECT_EQ(info_of(r).exec, 0x4320U);
	r.data({.psn = 0x4321});
	EXPECT_EQ(info_of(r).cack, 0x4321U);
}

TEST(InfoNews, SettledUntilToldAndWhenKept)
{
	struct mrc_status_tx n = {};
	EXPECT_TRUE(mrc_status_tx_settled(&n));
	mrc_status_tx_set(&n, 6, true, 77, kMs, kMs);
	EXPECT_FALSE(mrc_status_tx_settled(&n));
	EXPECT_EQ(mrc_status_tx_mask(&n), 6U);
	EXPECT_EQ(mrc_status_tx_id(&n), 77U);
}
