// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Modifying queue pairs, row by row: transition x attribute x errno. Here the
 * attributes of MRC. Whatever is refused has changed nothing.
 */
#include <cstring>

#include "modify.hpp"

namespace
{
/* Each attribute with each step: taken, or refused. */
void mrc_attributes(Check &c, const Env &env, Step s)
{
	for (const Attribute &a : attributes(env)) {
		const bool may = a.may & 1u << s;

		row(
			c, env, s, a.name, may ? 0 : EINVAL,
			[&](Call &call) {
				call.mmask = a.bit;
				a.set(call.m);
			},
			[&](mrc_qp *qp) {
				mrc_qp_attr got{};

				must(mrc_query_qp(qp, nullptr, 0, &got, all_mrc,
						  nullptr),
				     "query");
				c.that(a.is(got), std::string(steps[s].name) +
							  ", " + a.name +
							  ": not what was set");
			});
	}
}

/* Those that a step takes, all of them in one call. */
void mrc_together(Check &c, const Env &env, Step s)
{
	const auto list = attributes(env);

	row(
		c, env, s, "all MRC attributes", 0,
		[&](Call &call) {
			for (const Attribute &a : list)
				if (a.may & 1u << s) {
					call.mmask |= a.bit;
					a.set(call.m);
				}
		},
		[&](mrc_qp *qp) {
			mrc_qp_attr got{};

			must(mrc_query_qp(qp, nullptr, 0, &got, all_mrc,
					  nullptr),
			     "query");
			for (const Attribute &a : list)
				if (a.may & 1u << s)
					c.that(a.is(got),
					       std::string(steps[s].name) +
						       ", together, " + a.name);
		});
}

struct Value {
	const char *what;
	uint32_t bit;
	uint32_t may; /* steps that take the attribute */
	int want;
	std::function<void(mrc_qp_attr &)> set;
};

std::vector<Value> values(const Env &env)
{
	const mrc_device_attr &dev = env.n.attr;
	mrc_qp_hint *const foreign = env.foreign_hint.get();
	const uint16_t wimm = dev.wimm_attr.max_wimm;
	const uint16_t wimm_dest = dev.wimm_attr.max_wimm_dest;
	const uint8_t mpr = dev.mpr_attr.max_mpr;
	std::vector<Value> v = {
		{"timeout 24", MRC_QP_TIMEOUT, until_rts, 0,
		 [](auto &m) { m.timeout = 24; }},
		{"timeout 0", MRC_QP_TIMEOUT, until_rts, 0,
		 [](auto &m) { m.timeout = 0; }},
		{"timeout 25", MRC_QP_TIMEOUT, until_rts, EINVAL,
		 [](auto &m) { m.timeout = 25; }},
		{"timeout 255", MRC_QP_TIMEOUT, until_rts, EINVAL,
		 [](auto &m) { m.timeout = 255; }},
		{"linear 7, exp 25", MRC_QP_RETRY_CNT, until_rts, 0,
		 [](auto &m) {
			 m.retry.linear_cnt = 7;
			 m.retry.exp_cnt = 25;
		 }},
		{"linear 0, exp 0", MRC_QP_RETRY_CNT, until_rts, 0,
		 [](auto &m) { m.retry = {}; }},
		{"linear 8", MRC_QP_RETRY_CNT, until_rts, EINVAL,
		 [](auto &m) { m.retry.linear_cnt = 8; }},
		{"exp 26", MRC_QP_RETRY_CNT, until_rts, EINVAL,
		 [](auto &m) { m.retry.exp_cnt = 26; }},
		{"mpr 0", MRC_QP_MPR, until_rts, 0,
		 [](auto &m) { m.mpr.mpr = 0; }},
		{"largest mpr", MRC_QP_MPR, until_rts, 0,
		 [mpr](auto &m) { m.mpr.mpr = mpr; }},
		{"mpr_dest 0", MRC_QP_MPR_DEST, until_rtr, 0,
		 [](auto &m) { m.mpr.mpr_dest = 0; }},
		{"largest mpr_dest", MRC_QP_MPR_DEST, until_rtr, 0,
		 [mpr](auto &m) { m.mpr.mpr_dest = mpr; }},
		{"max_wimm 0", MRC_QP_MAX_WIMM, until_rts, 0,
		 [](auto &m) { m.wimm.max_wimm = 0; }},
		{"largest max_wimm", MRC_QP_MAX_WIMM, until_rts, 0,
		 [wimm](auto &m) { m.wimm.max_wimm = wimm; }},
		{"larger max_wimm", MRC_QP_MAX_WIMM, until_rts, EINVAL,
		 [wimm](auto &m) {
			 m.wimm.max_wimm = static_cast<uint16_t>(wimm + 1);
		 }},
		{"largest max_wimm_dest", MRC_QP_MAX_WIMM_DEST, until_rtr, 0,
		 [wimm_dest](auto &m) { m.wimm.max_wimm_dest = wimm_dest; }},
		{"larger max_wimm_dest", MRC_QP_MAX_WIMM_DEST, until_rtr,
		 EINVAL,
		 [wimm_dest](auto &m) {
			 m.wimm.max_wimm_dest =
				 static_cast<uint16_t>(wimm_dest + 1);
		 }},
		{"EV profile that is OFFLINE", MRC_QP_EV_PROFILE_ID, until_rtr,
		 EINVAL, [](auto &m) { m.profile.ev_profile_id = ev_offline; }},
		{"EV profile that never was", MRC_QP_EV_PROFILE_ID, until_rtr,
		 EINVAL, [](auto &m) { m.profile.ev_profile_id = ev_never; }},
		{"EV profile that cannot be", MRC_QP_EV_PROFILE_ID, until_rtr,
		 EINVAL, [](auto &m) { m.profile.ev_profile_id = nowhere; }},
		{"CC profile that is OFFLINE", MRC_QP_CC_PROFILE_ID, until_rtr,
		 EINVAL, [](auto &m) { m.profile.cc_profile_id = cc_offline; }},
		{"CC profile that never was", MRC_QP_CC_PROFILE_ID, until_rtr,
		 EINVAL, [](auto &m) { m.profile.cc_profile_id = cc_never; }},
		{"CC profile that cannot be", MRC_QP_CC_PROFILE_ID, until_rtr,
		 EINVAL, [](auto &m) { m.profile.cc_profile_id = nowhere; }},
		{"no hint", MRC_QP_HINT, until_rtr, 0,
		 [](auto &m) { m.qp_hint = nullptr; }},
		{"foreign hint", MRC_QP_HINT, until_rtr, EINVAL,
		 [foreign](auto &m) { m.qp_hint = foreign; }},
	};

	for (uint32_t bit = 3; bit < 32; bit++)
		v.push_back({"unknown capability", MRC_QP_CAP, until_rtr,
			     EINVAL, [bit](auto &m) { m.cap = 1u << bit; }});
	for (uint32_t cap = 0; cap < 8; cap++)
		v.push_back({"capabilities", MRC_QP_CAP, until_rtr, 0,
			     [cap](auto &m) { m.cap = cap; }});
	/* Where the limit leaves room for numbers above it. */
	if (mpr < 255) {
		v.push_back({"larger mpr", MRC_QP_MPR, until_rts, EINVAL,
			     [mpr](auto &m) {
				     m.mpr.mpr = static_cast<uint8_t>(mpr + 1);
			     }});
		v.push_back({"larger mpr_dest", MRC_QP_MPR_DEST, until_rtr,
			     EINVAL, [mpr](auto &m) {
				     m.mpr.mpr_dest =
					     static_cast<uint8_t>(mpr + 1);
			     }});
	}
	return v;
}

/* The ends of each range, and what lies outside, with every transition. */
void mrc_values(Check &c, const Env &env, Step s)
{
	for (const Value &v : values(env)) {
		if (!(v.may & 1u << s))
			continue;
		row(c, env, s, v.what, v.want, [&](Call &call) {
			call.mmask = v.bit;
			v.set(call.m);
		});
	}
}

void mrc_unknown(Check &c, const Env &env)
{
	for (int s = 0; s < STEPS; s++)
		for (uint32_t bit : {10u, 11u, 16u, 30u})
			row(c, env, static_cast<Step>(s),
			    "MRC mask bit " + std::to_string(bit),
			    looked_at & 1u << s ? EINVAL : 0,
			    [&](Call &call) { call.mmask = 1u << bit; });
}

/* Some programs never set what they pass, with a mask of 0. */
void mrc_garbage(Check &c, const Env &env)
{
	auto *const bad = reinterpret_cast<mrc_qp_attr *>(8);

	for (int i = 0; i < STEPS; i++) {
		const auto s = static_cast<Step>(i);

		for (mrc_qp_attr *p :
		     {static_cast<mrc_qp_attr *>(nullptr), bad}) {
			const Qp qp = make_qp(env.n, env.cq.get());

			bring(env.n, qp.get(), steps[s].from);
			Call call = minimum(env, qp.get(), s);

			c.err(0, std::string(steps[s].name) + ", mask 0", [&] {
				return mrc_modify_qp(qp.get(), &call.v,
						     call.vmask, p, 0);
			});
			c.eq(state(qp.get()), steps[s].to, "state");
		}
		row(c, env, s, "garbage with mask 0", 0, [](Call &call) {
			std::memset(static_cast<void *>(&call.m), 0xa5,
				    sizeof(call.m));
		});
	}
}

/* Neither is a mask looked at that means nothing. */
void garbage_to_reset_and_err(Check &c, const Env &env)
{
	for (ibv_qp_state from : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
				  IBV_QPS_RTS, IBV_QPS_ERR})
		for (ibv_qp_state to : {IBV_QPS_RESET, IBV_QPS_ERR})
			for (uint32_t mask :
			     {~0u, 0x80000000u, 0x3ffu, 0x400u}) {
				const Qp qp = make_qp(env.n, env.cq.get());
				ibv_qp_attr v{};

				bring(env.n, qp.get(), from);
				v.qp_state = to;
				c.err(0,
				      "from " + std::to_string(from) + " to " +
					      std::to_string(to),
				      [&] {
					      return mrc_modify_qp(
						      qp.get(), &v,
						      IBV_QP_STATE,
						      reinterpret_cast<
							      mrc_qp_attr *>(8),
						      static_cast<int>(mask));
				      });
				c.eq(state(qp.get()), to, "state");
			}
}

/* Dynamic MPR: the responder changes its range while it is connected. */
void dynamic_mpr(Check &c, const Env &env)
{
	const Qp qp = make_qp(env.n, env.cq.get());
	ibv_qp_attr v = init_attr();
	mrc_qp_attr m{};

	const auto set = [&](int want, const char *what, uint8_t mpr) {
		mrc_qp_attr got{};

		m.mpr.mpr_dest = mpr;
		c.err(want, what, [&] {
			return mrc_modify_qp(qp.get(), nullptr, 0, &m,
					     MRC_QP_MPR_DEST);
		});
		must(mrc_query_qp(qp.get(), nullptr, 0, &got, MRC_QP_MPR_DEST,
				  nullptr),
		     "query");
		c.eq(int{got.mpr.mpr_dest}, int{mpr}, what);
	};

	m.cap = MRC_QP_CAP_DYNAMIC_MPR;
	must(mrc_modify_qp(qp.get(), &v, init_mask, &m, MRC_QP_CAP), "INIT");
	v = rtr_attr(env.n, env.n.gid, num(qp.get()));
	must(mrc_modify_qp(qp.get(), &v, rtr_mask, nullptr, 0), "RTR");
	set(0, "in RTR", 4);
	v = rts_attr();
	m.mpr.mpr_dest = 3;
	c.err(0, "with RTS", [&] {
		return mrc_modify_qp(qp.get(), &v, rts_mask, &m,
				     MRC_QP_MPR_DEST);
	});
	set(0, "in RTS", 2);
}
} // namespace

void test_modify(Suite &s, const Devices &d)
{
	const Env env(d);

	for (int i = 0; i < STEPS; i++) {
		const auto step = static_cast<Step>(i);

		if (!(looked_at & 1u << step))
			continue;
		s.run(std::string("MRC attributes, ") + steps[i].name,
		      [&](Check &c) {
			      mrc_attributes(c, env, step);
			      mrc_together(c, env, step);
		      });
	}
	for (Step step : {RESET_INIT, INIT_INIT, INIT_RTR, RTR_RTS, IN_RESET,
			  IN_INIT, IN_RTR})
		s.run(std::string("ranges of MRC attributes, ") +
			      steps[step].name,
		      [&](Check &c) { mrc_values(c, env, step); });
	s.run("unknown MRC mask bits", [&](Check &c) { mrc_unknown(c, env); });
	s.run("mask 0: MRC attributes are not read",
	      [&](Check &c) { mrc_garbage(c, env); });
	s.run("to RESET and ERR no MRC mask is looked at",
	      [&](Check &c) { garbage_to_reset_and_err(c, env); });
	s.run("Dynamic MPR: the range in RTR and RTS",
	      [&](Check &c) { dynamic_mpr(c, env); });
	test_modify_verbs(s, env);
}
