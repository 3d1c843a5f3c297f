// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Modifying queue pairs: attributes of verbs, with a meaning and without one,
 * and the states themselves.
 */
#include "modify.hpp"

namespace
{
/* --- attributes ------------------------------------------------------- */

/* Bits that are no attributes of MRC, with values out of every range. */
void tolerated(Check &c, const Env &env)
{
	struct {
		const char *name;
		int bit;
		Change set;
	} const list[] = {
		{"PKEY_INDEX", IBV_QP_PKEY_INDEX,
		 [](Call &k) { k.v.pkey_index = 999; }},
		{"PORT 0", IBV_QP_PORT, [](Call &k) { k.v.port_num = 0; }},
		{"PORT 2", IBV_QP_PORT, [](Call &k) { k.v.port_num = 2; }},
		{"PORT 77", IBV_QP_PORT, [](Call &k) { k.v.port_num = 77; }},
		{"TIMEOUT", IBV_QP_TIMEOUT, [](Call &k) { k.v.timeout = 99; }},
		{"RETRY_CNT", IBV_QP_RETRY_CNT,
		 [](Call &k) { k.v.retry_cnt = 14; }},
		{"RNR_RETRY", IBV_QP_RNR_RETRY,
		 [](Call &k) { k.v.rnr_retry = 14; }},
		{"MIN_RNR_TIMER", IBV_QP_MIN_RNR_TIMER,
		 [](Call &k) { k.v.min_rnr_timer = 99; }},
		{"MAX_QP_RD_ATOMIC", IBV_QP_MAX_QP_RD_ATOMIC,
		 [](Call &k) { k.v.max_rd_atomic = 255; }},
		{"MAX_DEST_RD_ATOMIC", IBV_QP_MAX_DEST_RD_ATOMIC,
		 [](Call &k) { k.v.max_dest_rd_atomic = 255; }},
	};

	for (int s = 0; s < STEPS; s++) {
		for (const auto &t : list)
			row(c, env, static_cast<Step>(s), t.name, 0,
			    [&](Call &call) {
				    call.vmask |= t.bit;
				    t.set(call);
			    });
		row(c, env, static_cast<Step>(s), "all that is ignored", 0,
		    [&](Call &call) {
			    for (const auto &t : list) {
				    call.vmask |= t.bit;
				    t.set(call);
			    }
		    });
	}
}

void forbidden(Check &c, const Env &env)
{
	for (int s = 0; s < STEPS; s++)
		for (int bit :
		     {0 + IBV_QP_ALT_PATH, 0 + IBV_QP_PATH_MIG_STATE,
		      0 + IBV_QP_QKEY, 0 + IBV_QP_CAP,
		      0 + IBV_QP_EN_SQD_ASYNC_NOTIFY, 0 + IBV_QP_RATE_LIMIT,
		      1 << 21, 1 << 22, 1 << 26, 1 << 30})
			row(c, env, static_cast<Step>(s),
			    "verbs mask bit " + std::to_string(bit), EINVAL,
			    [&](Call &call) { call.vmask |= bit; });
}

/* Attributes with a meaning, each where it belongs and nowhere else. */
void honoured(Check &c, const Env &env)
{
	struct {
		const char *name;
		int bit;
		uint32_t may;
	} const list[] = {
		{"ACCESS_FLAGS", IBV_QP_ACCESS_FLAGS,
		 bits({RESET_INIT, INIT_INIT, INIT_RTR, RTR_RTS, RTS_RTS,
		       IN_INIT, IN_RTS})},
		{"AV", IBV_QP_AV, bits({INIT_RTR})},
		{"PATH_MTU", IBV_QP_PATH_MTU, bits({INIT_RTR})},
		{"DEST_QPN", IBV_QP_DEST_QPN, bits({INIT_RTR})},
		{"RQ_PSN", IBV_QP_RQ_PSN, bits({INIT_RTR})},
		{"SQ_PSN", IBV_QP_SQ_PSN, bits({RTR_RTS})},
	};

	for (int s = 0; s < STEPS; s++)
		for (const auto &h : list)
			row(c, env, static_cast<Step>(s), h.name,
			    h.may & 1u << s ? 0 : EINVAL,
			    [&](Call &call) { call.vmask |= h.bit; });
}

void access_flags(Check &c, const Env &env)
{
	const auto flags_are = [&](unsigned want) {
		return [&c, want](mrc_qp *qp) {
			ibv_qp_attr v{};

			must(mrc_query_qp(qp, &v, IBV_QP_ACCESS_FLAGS, nullptr,
					  0, nullptr),
			     "query");
			c.eq(v.qp_access_flags & IBV_ACCESS_REMOTE_WRITE, want,
			     "right to be written to");
		};
	};

	for (Step s : {RESET_INIT, INIT_INIT, INIT_RTR, RTR_RTS, RTS_RTS,
		       IN_INIT, IN_RTS})
		for (unsigned flags :
		     {0u, 0u + IBV_ACCESS_REMOTE_WRITE, ~0u,
		      0u + IBV_ACCESS_REMOTE_READ + IBV_ACCESS_REMOTE_ATOMIC,
		      0u + IBV_ACCESS_REMOTE_WRITE + IBV_ACCESS_REMOTE_READ +
			      IBV_ACCESS_REMOTE_ATOMIC})
			row(
				c, env, s, "flags " + std::to_string(flags), 0,
				[&](Call &call) {
					call.vmask |= IBV_QP_ACCESS_FLAGS;
					call.v.qp_access_flags = flags;
				},
				flags_are(flags & IBV_ACCESS_REMOTE_WRITE));
}

void address(Check &c, const Env &env)
{
	const auto bad = [&](const char *what, const Change &change) {
		row(c, env, INIT_RTR, what, EINVAL, change);
	};
	const auto good = [&](const std::string &what, const Change &change) {
		row(c, env, INIT_RTR, what, 0, change);
	};

	bad("without AV", [](Call &k) { k.vmask &= ~IBV_QP_AV; });
	bad("without DEST_QPN", [](Call &k) { k.vmask &= ~IBV_QP_DEST_QPN; });
	bad("is_global 0", [](Call &k) { k.v.ah_attr.is_global = 0; });
	bad("DEST_QPN of 25 bits", [](Call &k) { k.v.dest_qp_num = 1 << 24; });
	bad("no such GID index",
	    [](Call &k) { k.v.ah_attr.grh.sgid_index = 255; });
	row(c, env, INIT_RTR, "GID index of an empty entry", ENODATA,
	    [](Call &k) { k.v.ah_attr.grh.sgid_index = 127; });
	bad("no such port", [](Call &k) { k.v.ah_attr.port_num = 99; });
	for (int mtu : {-1, 0, 6, 255})
		bad("MTU out of range", [&](Call &k) {
			k.vmask |= IBV_QP_PATH_MTU;
			k.v.path_mtu = static_cast<ibv_mtu>(mtu);
		});
	for (int mtu = IBV_MTU_256; mtu <= env.n.mtu; mtu++)
		good("MTU " + std::to_string(mtu), [&](Call &k) {
			k.vmask |= IBV_QP_PATH_MTU;
			k.v.path_mtu = static_cast<ibv_mtu>(mtu);
		});
	good("port 0", [](Call &k) { k.v.ah_attr.port_num = 0; });
	good("port 2", [](Call &k) { k.v.ah_attr.port_num = 2; });
	good("hop limit 1", [](Call &k) { k.v.ah_attr.grh.hop_limit = 1; });
	good("any flow label",
	     [](Call &k) { k.v.ah_attr.grh.flow_label = 0xfffff; });
	good("largest DEST_QPN", [](Call &k) { k.v.dest_qp_num = 0xffffff; });
	good("largest RQ_PSN", [](Call &k) {
		k.vmask |= IBV_QP_RQ_PSN;
		k.v.rq_psn = 0xffffff;
	});
	row(c, env, RTR_RTS, "largest SQ_PSN", 0, [](Call &k) {
		k.vmask |= IBV_QP_SQ_PSN;
		k.v.sq_psn = 0xffffff;
	});
}

/* --- states ----------------------------------------------------------- */

void transitions(Check &c, const Env &env)
{
	for (ibv_qp_state from : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
				  IBV_QPS_RTS, IBV_QPS_ERR})
		for (int to = -1; to <= 8; to++) {
			const bool legal =
				to == IBV_QPS_RESET || to == IBV_QPS_ERR ||
				(to == IBV_QPS_INIT &&
				 (from == IBV_QPS_RESET ||
				  from == IBV_QPS_INIT)) ||
				(to == IBV_QPS_RTR && from == IBV_QPS_INIT) ||
				(to == IBV_QPS_RTS &&
				 (from == IBV_QPS_RTR || from == IBV_QPS_RTS));
			const std::string what = "from " +
						 std::to_string(from) + " to " +
						 std::to_string(to);
			const Qp qp = make_qp(env.n, env.cq.get());

			bring(env.n, qp.get(), from);
			Call call = minimum(env, qp.get(),
					    to == IBV_QPS_RTR ? INIT_RTR
							      : RESET_INIT);

			call.v.qp_state = static_cast<ibv_qp_state>(to);
			c.err(legal ? 0 : EINVAL, what, [&] {
				return mrc_modify_qp(qp.get(), &call.v,
						     call.vmask, nullptr, 0);
			});
			c.eq(state(qp.get()),
			     legal ? static_cast<ibv_qp_state>(to) : from,
			     what + ": state");
		}
}

void cur_state(Check &c, const Env &env)
{
	for (int i = 0; i < STEPS; i++)
		for (ibv_qp_state cur :
		     {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		      IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
			const auto s = static_cast<Step>(i);

			row(c, env, s, "CUR_STATE " + std::to_string(cur),
			    cur == steps[s].from ? 0 : EINVAL, [&](Call &call) {
				    call.vmask |= IBV_QP_CUR_STATE;
				    call.v.cur_qp_state = cur;
			    });
		}
}

/* RESET forgets what was set, and the way back is open from everywhere. */
void reset_forgets(Check &c, const Env &env)
{
	const auto list = attributes(env);

	for (ibv_qp_state from :
	     {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR}) {
		const Qp qp = make_qp(env.n, env.cq.get());
		const std::string fresh = all_of(qp.get());
		ibv_qp_attr v = init_attr();
		mrc_qp_attr m{}, got{};
		uint32_t mask = 0;

		for (const Attribute &a : list) {
			a.set(m);
			mask |= a.bit;
		}
		must(mrc_modify_qp(qp.get(), &v, init_mask, &m,
				   static_cast<int>(mask)),
		     "INIT");
		if (from == IBV_QPS_RTR || from == IBV_QPS_RTS) {
			v = rtr_attr(env.n, env.n.gid, num(qp.get()));
			must(mrc_modify_qp(qp.get(), &v, rtr_mask, nullptr, 0),
			     "RTR");
		}
		if (from == IBV_QPS_RTS) {
			v = rts_attr();
			must(mrc_modify_qp(qp.get(), &v, rts_mask, nullptr, 0),
			     "RTS");
		}
		if (from == IBV_QPS_ERR)
			set_state(qp.get(), IBV_QPS_ERR);
		must(mrc_query_qp(qp.get(), nullptr, 0, &got, all_mrc, nullptr),
		     "query");
		for (const Attribute &a : list)
			c.that(a.is(got), std::string(a.name) + " in state " +
						  std::to_string(from));
		set_state(qp.get(), IBV_QPS_RESET);
		must(mrc_query_qp(qp.get(), nullptr, 0, &got, all_mrc, nullptr),
		     "query");
		for (const Attribute &a : list)
			c.that(!a.is(got), std::string(a.name) +
						   " is still there after " +
						   std::to_string(from));
		bring(env.n, qp.get(), IBV_QPS_RTS);
	}
}

/* A profile is in use from RTR until RESET. */
void profile_use(Check &c, const Env &env)
{
	mrc_context *const ctx = env.n.ctx.get();
	mrc_ctl_ev_profile_attr ev{};
	mrc_ctl_cc_profile_attr cc{};
	ibv_qp_attr v = init_attr();
	mrc_qp_attr m{};

	ev.profile_state = MRC_CTL_PROFILE_OFFLINE;
	cc.profile_state = MRC_CTL_PROFILE_OFFLINE;
	m.profile.ev_profile_id = ev_online;
	m.profile.cc_profile_id = cc_online;
	{
		const Qp qp = make_qp(env.n, env.cq.get());

		must(mrc_modify_qp(qp.get(), &v, init_mask, &m,
				   MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID),
		     "INIT");
		v = rtr_attr(env.n, env.n.gid, num(qp.get()));
		must(mrc_modify_qp(qp.get(), &v, rtr_mask, nullptr, 0), "RTR");
		c.minus1(EBUSY, "EV profile of a QP in RTR", [&] {
			return mrc_ctl_modify_ev_profile(
				ctx, ev_online, &ev, MRC_CTL_EV_PROFILE_STATE);
		});
		c.minus1(EBUSY, "CC profile of a QP in RTR", [&] {
			return mrc_ctl_modify_cc_profile(
				ctx, cc_online, &cc, MRC_CTL_CC_PROFILE_STATE);
		});
		set_state(qp.get(), IBV_QPS_RESET);
	}
	c.minus1(0, "EV profile without users", [&] {
		return mrc_ctl_modify_ev_profile(ctx, ev_online, &ev,
						 MRC_CTL_EV_PROFILE_STATE);
	});
	c.minus1(0, "CC profile without users", [&] {
		return mrc_ctl_modify_cc_profile(ctx, cc_online, &cc,
						 MRC_CTL_CC_PROFILE_STATE);
	});
	ev_state(ctx, ev_online, MRC_CTL_PROFILE_ONLINE);
	cc_state(ctx, cc_online, MRC_CTL_PROFILE_ONLINE);
}
} // namespace

void test_modify_verbs(Suite &s, const Env &env)
{
	s.run("verbs attributes that are tolerated, in all steps",
	      [&](Check &c) { tolerated(c, env); });
	s.run("verbs attributes that are refused, in all steps",
	      [&](Check &c) { forbidden(c, env); });
	s.run("verbs attributes where they belong, and elsewhere",
	      [&](Check &c) { honoured(c, env); });
	s.run("access flags", [&](Check &c) { access_flags(c, env); });
	s.run("address, MTU, numbers", [&](Check &c) { address(c, env); });
	s.run("transitions, legal and illegal",
	      [&](Check &c) { transitions(c, env); });
	s.run("CUR_STATE", [&](Check &c) { cur_state(c, env); });
	s.run("RESET forgets", [&](Check &c) { reset_forgets(c, env); });
	s.run("profiles are in use from RTR to RESET",
	      [&](Check &c) { profile_use(c, env); });
}
