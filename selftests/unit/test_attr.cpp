// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What engines are configured with, from the attributes of a connection.
#include "mrc_attr.h"
#include "mrc_psn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace
{

struct mrc_attr base()
{
	struct mrc_attr a = {};

	a.qpn = 0x123456;
	a.dqpn = 0x654321;
	a.pmtu = 4096;
	a.sq_psn = 0x000010;
	a.rq_psn = 0xfffff0;
	a.n_ports = 4;
	a.ext = true;
	a.timeout = 14;
	a.retry_cnt = 5;
	a.rnr_retry = 3;
	return a;
}

struct mrc_retry retry_of(const struct mrc_attr &a)
{
	struct mrc_retry r;

	mrc_attr_retry(&a, &r);
	return r;
}

struct mrc_req_cfg req_of(const struct mrc_attr &a)
{
	struct mrc_req_cfg c;

	mrc_attr_req_cfg(&a, &c);
	return c;
}

struct mrc_resp_cfg resp_of(const struct mrc_attr &a)
{
	struct mrc_resp_cfg c;

	mrc_attr_resp_cfg(&a, &c);
	return c;
}

struct mrc_paths_cfg paths_of(const struct mrc_attr &a, uint32_t n, uint32_t min)
{
	struct mrc_paths_cfg c;

	mrc_attr_paths_cfg(&a, n, min, &c);
	return c;
}

} // namespace

TEST(AttrRetry, VerbsTimeout)
{
	struct mrc_attr a = base();

	EXPECT_EQ(retry_of(a).rto, 4096ull << 14);
	EXPECT_EQ(retry_of(a).linear, 5);
	EXPECT_EQ(retry_of(a).exp, 0);
	EXPECT_EQ(retry_of(a).rnr, 3);
	EXPECT_EQ(mrc_attr_timeout_code(&a), 16);

	a.timeout = 0;
	EXPECT_EQ(retry_of(a).rto, 0u);
	EXPECT_EQ(mrc_attr_timeout_code(&a), 0);
}

TEST(AttrRetry, VerbsTimeoutIsBounded)
{
	struct mrc_attr a = base();

	for (int t = 1; t <= 31; t++) {
		a.timeout = t;
		EXPECT_EQ(retry_of(a).rto,
			  std::min<uint64_t>(4096ull << t, MRC_RTO_MAX_NS)) << t;
		EXPECT_EQ(mrc_attr_timeout_code(&a),
			  std::min(t + 2, MRC_TIMEOUT_MAX)) << t;
	}
}

TEST(AttrRetry, MrcTimeoutWins)
{
	struct mrc_attr a = base();

	a.mrc_timeout_set = true;
	for (int t = 1; t <= MRC_TIMEOUT_MAX; t++) {
		a.mrc_timeout = t;
		EXPECT_EQ(retry_of(a).rto, 1024ull << t) << t;
		EXPECT_EQ(mrc_attr_timeout_code(&a), t);
	}
	a.mrc_timeout = 0;
	EXPECT_EQ(retry_of(a).rto, 0u);
	EXPECT_EQ(mrc_attr_timeout_code(&a), 0);
}

TEST(AttrRetry, MrcRetryWins)
{
	struct mrc_attr a = base();

	a.mrc_retry_set = true;
	a.retry_linear = 2;
	a.retry_exp = MRC_RETRY_EXP_INFINITE;
	EXPECT_EQ(retry_of(a).linear, 2);
	EXPECT_EQ(retry_of(a).exp, MRC_RETRY_EXP_INFINITE);
	EXPECT_EQ(retry_of(a).rto, 4096ull << 14);
}

TEST(AttrRetry, AnswersHaveATimerAndDoNotGiveUp)
{
	struct mrc_attr a = base();

	a.ans = true;
	a.timeout = 0;
	EXPECT_EQ(retry_of(a).rto, 4096ull << MRC_ANS_TIMEOUT);
	a.mrc_timeout_set = true;
	EXPECT_EQ(retry_of(a).rto, 4096ull << MRC_ANS_TIMEOUT);
	a.timeout = 10;
	EXPECT_EQ(retry_of(a).rto, 4096ull << 10);
	a.mrc_timeout = 12;
	EXPECT_EQ(retry_of(a).rto, 1024ull << 12);

	a.mrc_retry_set = true;
	EXPECT_EQ(retry_of(a).linear, MRC_RETRY_LINEAR_MAX);
	EXPECT_EQ(retry_of(a).exp, MRC_RETRY_EXP_INFINITE);
}

TEST(AttrReq, Defaults)
{
	const struct mrc_req_cfg c = req_of(base());

	EXPECT_EQ(c.qpn, 0x123456u);
	EXPECT_EQ(c.dqpn, 0x654321u);
	EXPECT_EQ(c.pmtu, 4096u);
	EXPECT_EQ(c.sq_psn, 0x10u);
	EXPECT_EQ(c.pkey, MRC_PKEY_DEFAULT);
	EXPECT_EQ(c.mpr, MRC_MPR_DEFAULT);
	EXPECT_EQ(c.mpr_max, MRC_MPR_DEFAULT);
	EXPECT_EQ(c.max_wimm, MRC_WIMM_DEFAULT);
	EXPECT_EQ(c.n_ports, 4);
	EXPECT_EQ(c.max_rd_atomic, MRC_MAX_RD_ATOMIC);
	EXPECT_EQ(c.rnr_retry, 3);
	EXPECT_TRUE(c.use_ts);
	EXPECT_TRUE(c.ext);
	EXPECT_FALSE(c.ans);
	EXPECT_FALSE(c.dynamic_mpr);
	EXPECT_FALSE(c.svc_time);
	EXPECT_FALSE(c.ignore_pen);
	EXPECT_EQ(c.rev, nullptr);
	EXPECT_EQ(c.ctr, nullptr);
}

TEST(AttrReq, OwnAndForeignRangesAreApart)
{
	struct mrc_attr a = base();

	a.mpr = 3;
	a.mpr_dest = 5;
	a.max_wimm = 7;
	a.max_wimm_dest = 9;
	EXPECT_EQ(req_of(a).mpr, 3);
	EXPECT_EQ(req_of(a).max_wimm, 7);
	EXPECT_EQ(resp_of(a).mpr, 5);
	EXPECT_EQ(resp_of(a).max_wimm, 9);
}

TEST(AttrReq, DynamicMprMayGrow)
{
	struct mrc_attr a = base();

	a.mpr = 4;
	a.mpr_dest = MRC_MPR_DYNAMIC_MAX + 8;
	a.dynamic_mpr = true;
	EXPECT_TRUE(req_of(a).dynamic_mpr);
	EXPECT_TRUE(resp_of(a).dynamic_mpr);
	EXPECT_EQ(req_of(a).mpr, 4);
	EXPECT_EQ(req_of(a).mpr_max, MRC_MPR_DYNAMIC_MAX);
	EXPECT_EQ(resp_of(a).mpr_max, MRC_MPR_DYNAMIC_MAX + 8);
	a.dynamic_mpr = false;
	EXPECT_EQ(req_of(a).mpr_max, 4);
}

TEST(AttrReq, TrimsNeedFabricAndPeer)
{
	struct mrc_attr a = base();

	EXPECT_FALSE(req_of(a).trim_nack);
	EXPECT_FALSE(paths_of(a, 8, 0).trim_nack);
	a.trimming = true;
	EXPECT_TRUE(req_of(a).trim_nack);
	EXPECT_TRUE(paths_of(a, 8, 0).trim_nack);
	a.caps_set = true;
	a.no_trim_nack = true;
	EXPECT_FALSE(req_of(a).trim_nack);
	EXPECT_FALSE(paths_of(a, 8, 0).trim_nack);
	/* The own responder answers whatever comes trimmed. */
	EXPECT_TRUE(resp_of(a).trim_nack);
}

TEST(AttrReq, ServiceTimeOnlyWhereTheProgramSaidSo)
{
	struct mrc_attr a = base();

	EXPECT_FALSE(req_of(a).svc_time);
	a.caps_set = true;
	EXPECT_TRUE(req_of(a).svc_time);
	EXPECT_TRUE(resp_of(a).svc_time);
	a.no_svc_time = true;
	EXPECT_FALSE(req_of(a).svc_time);
	EXPECT_FALSE(resp_of(a).svc_time);
}

TEST(AttrReq, StrictHasNoRequests)
{
	struct mrc_attr a = base();

	a.ext = false;
	EXPECT_FALSE(req_of(a).ext);
	EXPECT_EQ(req_of(a).max_rd_atomic, 0);
	EXPECT_EQ(resp_of(a).max_rd, 0);
}

TEST(AttrAnswers, PsnsMirrorTheQueuePair)
{
	struct mrc_attr a = base(), b = base();

	/* The two ends of a connection. */
	std::swap(b.sq_psn, b.rq_psn);
	a.ans = b.ans = true;
	EXPECT_EQ(req_of(a).sq_psn, 0xfffff0u ^ 0x800000u);
	EXPECT_EQ(resp_of(a).rq_psn, 0x000010u ^ 0x800000u);
	EXPECT_EQ(req_of(a).sq_psn, resp_of(b).rq_psn);
	EXPECT_EQ(req_of(b).sq_psn, resp_of(a).rq_psn);
	EXPECT_EQ(mrc_attr_rq_psn(&a), resp_of(a).rq_psn);
	EXPECT_TRUE(req_of(a).ans);
	EXPECT_TRUE(resp_of(a).ans);
	EXPECT_EQ(req_of(a).max_rd_atomic, 0);
	EXPECT_EQ(resp_of(a).max_rd, MRC_MAX_RD_ATOMIC);
}

TEST(AttrPermit, FollowsTheAttributes)
{
	struct mrc_attr a = base();
	struct mrc_resp_permit p;

	mrc_attr_permit(&a, &p);
	EXPECT_FALSE(p.remote_write || p.remote_read || p.remote_atomic ||
		     p.remote_flush);
	EXPECT_EQ(p.max_rd, 0);
	a.remote_write = a.remote_flush = a.max_rd = true;
	mrc_attr_permit(&a, &p);
	EXPECT_TRUE(p.remote_write && p.remote_flush);
	EXPECT_FALSE(p.remote_read || p.remote_atomic);
	EXPECT_EQ(p.max_rd, MRC_MAX_RD_ATOMIC);
}

TEST(AttrPaths, NumbersAreClamped)
{
	struct mrc_attr a = base();

	EXPECT_EQ(paths_of(a, 0, 0).n_evs, 1);
	EXPECT_EQ(paths_of(a, 1u << 20, 0).n_evs, MRC_EV_MAX);
	EXPECT_EQ(paths_of(a, 16, 20).min_active, 16);
	EXPECT_EQ(paths_of(a, 16, 3).min_active, 3);
	a.n_ports = 3;
	/* No more than a set of equal shares has. */
	EXPECT_EQ(paths_of(a, 1u << 20, 1u << 20).min_active,
		  MRC_EV_MAX / 3 * 3);
	EXPECT_EQ(paths_of(a, 16, 3).n_ports, 3);
}

/* Every configuration that follows from valid attributes is one that engines take. */
TEST(AttrPaths, EnginesTakeThem)
{
	for (unsigned int bits = 0; bits < 64; bits++) {
		struct mrc_attr a = base();
		struct mrc_resp_cfg rcfg;
		struct mrc_req_cfg qcfg;

		a.ext = bits & 1;
		a.ans = (bits & 3) == 3;
		a.caps_set = bits & 4;
		a.dynamic_mpr = a.caps_set && bits & 8;
		a.mpr = bits & 16 ? 255 : 0;
		a.mpr_dest = bits & 32 ? 1 : 0;
		rcfg = resp_of(a);
		qcfg = req_of(a);
		qcfg.sq_depth = 64;
		EXPECT_GT(mrc_resp_mem(&rcfg), 0u) << bits;
		EXPECT_GT(mrc_req_mem(&qcfg), 0u) << bits;
	}
}
