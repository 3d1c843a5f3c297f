// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "modify.hpp"

const StepInfo steps[STEPS] = {
	{"RESET to INIT", IBV_QPS_RESET, IBV_QPS_INIT, true},
	{"INIT to INIT", IBV_QPS_INIT, IBV_QPS_INIT, true},
	{"INIT to RTR", IBV_QPS_INIT, IBV_QPS_RTR, true},
	{"RTR to RTS", IBV_QPS_RTR, IBV_QPS_RTS, true},
	{"RTS to RTS", IBV_QPS_RTS, IBV_QPS_RTS, true},
	{"in RESET", IBV_QPS_RESET, IBV_QPS_RESET, false},
	{"in INIT", IBV_QPS_INIT, IBV_QPS_INIT, false},
	{"in RTR", IBV_QPS_RTR, IBV_QPS_RTR, false},
	{"in RTS", IBV_QPS_RTS, IBV_QPS_RTS, false},
	{"in ERR", IBV_QPS_ERR, IBV_QPS_ERR, false},
	{"RTS to RESET", IBV_QPS_RTS, IBV_QPS_RESET, true},
	{"RTS to ERR", IBV_QPS_RTS, IBV_QPS_ERR, true},
};

void ev_state(mrc_context *ctx, uint64_t id, mrc_ctl_profile_state to)
{
	mrc_ctl_ev_profile_attr a{};
	int mask = MRC_CTL_EV_PROFILE_STATE;

	a.profile_state = to;
	a.ev_mode = MRC_CTL_EV_MODE_AUTO;
	must(mrc_ctl_query_ev_profile(ctx, id, &a,
				      MRC_CTL_EV_PROFILE_CUR_STATE),
	     "state of an EV profile");
	if (a.cur_profile_state == MRC_CTL_PROFILE_INIT)
		mask |= MRC_CTL_EV_PROFILE_MODE;
	must(mrc_ctl_modify_ev_profile(ctx, id, &a, mask), "EV profile");
}

void cc_state(mrc_context *ctx, uint64_t id, mrc_ctl_profile_state to)
{
	mrc_ctl_cc_profile_attr a{};
	int mask = MRC_CTL_CC_PROFILE_STATE;

	must(mrc_ctl_query_cc_profile(ctx, id, &a,
				      MRC_CTL_CC_PROFILE_CUR_STATE),
	     "state of a CC profile");
	if (a.cur_profile_state == MRC_CTL_PROFILE_INIT)
		mask |= MRC_CTL_CC_PROFILE_ALGORITHM;
	a.profile_state = to;
	a.algorithm = nullptr;
	must(mrc_ctl_modify_cc_profile(ctx, id, &a, mask), "CC profile");
}

Env::Env(const Devices &d)
	: n(d.a), elsewhere(make_context(n.verbs.get())), cq(make_cq(n, 64)),
	  hint(make_hint(n.ctx.get())), foreign_hint(make_hint(elsewhere.get()))
{
	for (auto to : {MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_ONLINE}) {
		ev_state(n.ctx.get(), ev_online, to);
		cc_state(n.ctx.get(), cc_online, to);
	}
	ev_state(n.ctx.get(), ev_offline, MRC_CTL_PROFILE_OFFLINE);
	cc_state(n.ctx.get(), cc_offline, MRC_CTL_PROFILE_OFFLINE);
}

Env::~Env()
{
	mrc_context *const ctx = n.ctx.get();

	try {
		for (auto to :
		     {MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT}) {
			ev_state(ctx, ev_online, to);
			cc_state(ctx, cc_online, to);
		}
		ev_state(ctx, ev_offline, MRC_CTL_PROFILE_INIT);
		cc_state(ctx, cc_offline, MRC_CTL_PROFILE_INIT);
	} catch (const Failure &e) {
		teardown_failed(e.what(), EBUSY);
	}
}

Call minimum(const Env &env, mrc_qp *qp, Step s)
{
	Call c;

	c.v = rtr_attr(env.n, env.n.gid, num(qp));
	c.v.qp_state = steps[s].to;
	c.v.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	c.v.port_num = 1;
	if (steps[s].transition)
		c.vmask = IBV_QP_STATE;
	if (s == INIT_RTR)
		c.vmask |= IBV_QP_AV | IBV_QP_DEST_QPN;
	return c;
}

std::string all_of(mrc_qp *qp)
{
	ibv_qp_attr v{};
	mrc_qp_attr m{};
	std::string out;

	must(mrc_query_qp(qp, &v, IBV_QP_STATE | IBV_QP_AV, &m, all_mrc,
			  nullptr),
	     "query");
	for (uint64_t f : {0ull + v.qp_state,
			   0ull + v.qp_access_flags,
			   0ull + v.path_mtu,
			   0ull + v.dest_qp_num,
			   0ull + v.rq_psn,
			   0ull + v.sq_psn,
			   0ull + v.port_num,
			   0ull + v.ah_attr.port_num,
			   0ull + v.ah_attr.grh.hop_limit,
			   0ull + m.mpr.mpr,
			   0ull + m.mpr.mpr_dest,
			   0ull + m.wimm.max_wimm,
			   0ull + m.wimm.max_wimm_dest,
			   0ull + m.timeout,
			   0ull + m.retry.linear_cnt,
			   0ull + m.retry.exp_cnt,
			   m.profile.ev_profile_id + 0ull,
			   m.profile.cc_profile_id + 0ull,
			   0ull + reinterpret_cast<uintptr_t>(m.qp_hint),
			   0ull + m.cap})
		out += std::to_string(f) + " ";
	out.append(reinterpret_cast<const char *>(m.vendor_cfg),
		   sizeof(m.vendor_cfg));
	return out;
}

void row(Check &c, const Env &env, Step s, const std::string &what, int want,
	 const Change &change, const std::function<void(mrc_qp *)> &after)
{
	const std::string where = std::string(steps[s].name) + ", " + what;
	const Qp qp = make_qp(env.n, env.cq.get());

	bring(env.n, qp.get(), steps[s].from);
	Call call = minimum(env, qp.get(), s);
	const std::string before = all_of(qp.get());

	change(call);
	c.err(want, where, [&] {
		return mrc_modify_qp(qp.get(), &call.v, call.vmask, &call.m,
				     static_cast<int>(call.mmask));
	});
	if (want) {
		c.that(all_of(qp.get()) == before,
		       where + ": refused, but something has changed");
		return;
	}
	c.eq(state(qp.get()), steps[s].to, where + ": state");
	if (after)
		after(qp.get());
}

std::vector<Attribute> attributes(const Env &env)
{
	mrc_qp_hint *const hint = env.hint.get();

	return {
		{"MAX_WIMM", MRC_QP_MAX_WIMM, until_rts,
		 [](auto &m) { m.wimm.max_wimm = 17; },
		 [](const auto &m) { return m.wimm.max_wimm == 17; }},
		{"MAX_WIMM_DEST", MRC_QP_MAX_WIMM_DEST, until_rtr,
		 [](auto &m) { m.wimm.max_wimm_dest = 19; },
		 [](const auto &m) { return m.wimm.max_wimm_dest == 19; }},
		{"MPR", MRC_QP_MPR, until_rts, [](auto &m) { m.mpr.mpr = 5; },
		 [](const auto &m) { return m.mpr.mpr == 5; }},
		{"MPR_DEST", MRC_QP_MPR_DEST, until_rtr,
		 [](auto &m) { m.mpr.mpr_dest = 6; },
		 [](const auto &m) { return m.mpr.mpr_dest == 6; }},
		{"TIMEOUT", MRC_QP_TIMEOUT, until_rts,
		 [](auto &m) { m.timeout = 21; },
		 [](const auto &m) { return m.timeout == 21; }},
		{"EV_PROFILE_ID", MRC_QP_EV_PROFILE_ID, until_rtr,
		 [](auto &m) { m.profile.ev_profile_id = ev_online; },
		 [](const auto &m) {
			 return m.profile.ev_profile_id == ev_online;
		 }},
		{"CC_PROFILE_ID", MRC_QP_CC_PROFILE_ID, until_rtr,
		 [](auto &m) { m.profile.cc_profile_id = cc_online; },
		 [](const auto &m) {
			 return m.profile.cc_profile_id == cc_online;
		 }},
		{"HINT", MRC_QP_HINT, until_rtr,
		 [hint](auto &m) { m.qp_hint = hint; },
		 [hint](const auto &m) { return m.qp_hint == hint; }},
		{"RETRY_CNT", MRC_QP_RETRY_CNT, until_rts,
		 [](auto &m) {
			 m.retry.linear_cnt = 3;
			 m.retry.exp_cnt = 9;
		 },
		 [](const auto &m) {
			 return m.retry.linear_cnt == 3 && m.retry.exp_cnt == 9;
		 }},
		{"CAP", MRC_QP_CAP, until_rtr, [](auto &m) { m.cap = 7; },
		 [](const auto &m) { return m.cap == 7; }},
		/* It means nothing here, and nobody has to be told. */
		{"VENDOR_CFG", static_cast<uint32_t>(MRC_QP_VENDOR_CFG),
		 looked_at,
		 [](auto &m) {
			 for (unsigned i = 0; i < sizeof(m.vendor_cfg); i++)
				 m.vendor_cfg[i] =
					 static_cast<uint8_t>(3 * i + 1);
		 },
		 [](const auto &m) {
			 for (unsigned i = 0; i < sizeof(m.vendor_cfg); i++)
				 if (m.vendor_cfg[i] !=
				     static_cast<uint8_t>(3 * i + 1))
					 return false;
			 return true;
		 }},
	};
}
