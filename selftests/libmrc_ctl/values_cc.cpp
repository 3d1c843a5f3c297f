// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What CC profiles hold: parameters come back as they were given although the
 * kernel has no floating point; what has no parameters; whose memory it is.
 */
#include "values_cc.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

namespace
{
constexpr uint64_t id = 3;
constexpr int alg_bit = MRC_CTL_CC_PROFILE_ALGORITHM;
constexpr int cfg_bit = MRC_CTL_CC_PROFILE_CONFIG;

using Cfg = mrc_ctl_cc_nscc_cfg;

int set(mrc_context *ctx, const Cfg &cfg)
{
	CcAttr attr{};

	attr.cc_config = &cfg;
	return modify<CcProfile>(ctx, id, cfg_bit, attr);
}

const Cfg *get(mrc_context *ctx)
{
	CcAttr attr{};

	must(query<CcProfile>(ctx, id, cfg_bit, attr), "CONFIG");
	return static_cast<const Cfg *>(attr.cc_config);
}

void round_trip(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	const Cfg in = nscc_cfg();
	CcAttr attr{};

	c.err(ccp_make(ctx, id, nscc_name, nullptr, ONLINE), EINVAL,
	      "ONLINE without CONFIG");
	c.eq(now<CcProfile>(ctx, id), OFFLINE, "state");
	{
		/* The library copies what it is given. */
		Cfg passing = in;

		c.err(set(ctx, passing), 0, "CONFIG");
		std::memset(&passing, 0xee, sizeof(passing));
	}
	c.err(go<CcProfile>(ctx, id, ONLINE), 0, "ONLINE");
	c.err(query<CcProfile>(ctx, id, state_bit | alg_bit | cfg_bit, attr), 0,
	      "query");
	c.eq(attr.profile_state, ONLINE, "STATE");
	c.eq(attr.algorithm ? attr.algorithm : "off", nscc_name, "ALGORITHM");
	const Cfg *out = static_cast<const Cfg *>(attr.cc_config);

	if (!out)
		throw Failure("no CONFIG");
	c.eq(out->disable_qa, in.disable_qa, "disable_qa");
	c.eq(out->adjust_bytes_threshold, in.adjust_bytes_threshold,
	     "adjust_bytes_threshold");
	c.eq(out->adjust_period_threshold, in.adjust_period_threshold,
	     "adjust_period_threshold");
	c.eq(out->base_rtt, in.base_rtt, "base_rtt");
	c.that(out->eta == in.eta, "eta");
	c.that(out->fi == in.fi, "fi");
	c.that(out->fi_scale == in.fi_scale, "fi_scale");
	c.that(out->gamma == in.gamma, "gamma");
	c.that(out->max_md_jump == in.max_md_jump, "max_md_jump");
	c.eq(out->max_cwnd, in.max_cwnd, "max_cwnd");
	c.eq(out->qa_gate, in.qa_gate, "qa_gate");
	c.eq(out->qa_threshold, in.qa_threshold, "qa_threshold");
	c.eq(out->target_delay, in.target_delay, "target_delay");
	c.that(get(ctx) == out, "a second query moved the first one's answer");
	c.that(dev.query().cc.algorithms[0] == attr.algorithm,
	       "two names for one algorithm");
	attr.algorithm = nullptr;
	must(query<CcProfile>(ctx, id, cfg_bit, attr), "query");
	c.that(!attr.algorithm, "ALGORITHM, which nobody asked for");

	/* Ratios that a person would write read back as that. */
	for (int i = 0; i <= 10000; i += 371) {
		Cfg cfg = in;

		cfg.gamma = static_cast<float>(i) / 10000;
		cfg.fi_scale = static_cast<float>(i) / 1000;
		must(set(ctx, cfg), "CONFIG while ONLINE");
		out = get(ctx);
		c.that(out->gamma == cfg.gamma,
		       "gamma " + std::to_string(cfg.gamma));
		c.that(out->fi_scale == cfg.fi_scale,
		       "fi_scale " + std::to_string(cfg.fi_scale));
	}
	drop<CcProfile>(ctx, id);
}

void ranges(Check &c, mrc_context *ctx)
{
	constexpr float inf = std::numeric_limits<float>::infinity();
	const float bad[] = {-1, inf, -inf, std::nanf(""), 1e30F, -1e-30F};
	float Cfg::*const ratios[] = {&Cfg::eta, &Cfg::fi, &Cfg::fi_scale,
				      &Cfg::gamma, &Cfg::max_md_jump};
	const struct {
		const char *what;
		void (*change)(Cfg &);
		int want;
	} cases[] = {
		{"eta -0", [](Cfg &k) { k.eta = -0.0F; }, 0},
		{"eta 0.1", [](Cfg &k) { k.eta = 0.1F; }, 0},
		{"eta 2^30", [](Cfg &k) { k.eta = 1 << 30; }, 0},
		{"gamma 10^-9", [](Cfg &k) { k.gamma = 1e-9F; }, 0},
		{"gamma 1", [](Cfg &k) { k.gamma = 1; }, 0},
		{"gamma 1.001", [](Cfg &k) { k.gamma = 1.001F; }, EINVAL},
		{"max_md_jump 1", [](Cfg &k) { k.max_md_jump = 1; }, 0},
		{"max_md_jump 2", [](Cfg &k) { k.max_md_jump = 2; }, EINVAL},
		{"fi_scale 1024", [](Cfg &k) { k.fi_scale = 1024; }, 0},
		{"fi_scale 1025", [](Cfg &k) { k.fi_scale = 1025; }, EINVAL},
		{"qa_gate 31", [](Cfg &k) { k.qa_gate = 31; }, 0},
		{"qa_gate 32", [](Cfg &k) { k.qa_gate = 32; }, EINVAL},
		{"base_rtt 2^32 - 1", [](Cfg &k) { k.base_rtt = ~0U; }, EINVAL},
		{"all 0, to be derived", [](Cfg &k) { k = Cfg{}; }, 0},
	};
	const Cfg in = nscc_cfg();

	must(ccp_make(ctx, id, nscc_name, &in, ONLINE), "profile");
	for (const auto &k : cases) {
		Cfg cfg = in;

		k.change(cfg);
		must(set(ctx, in), "start");
		const std::string before = dump(ctx, id, CcProfile());

		c.err(set(ctx, cfg), k.want, k.what);
		if (k.want)
			c.eq(dump(ctx, id, CcProfile()), before, k.what);
	}
	for (const float value : bad) {
		for (float Cfg::*const ratio : ratios) {
			Cfg cfg = in;

			cfg.*ratio = value;
			c.err(set(ctx, cfg), EINVAL,
			      "a ratio of " + std::to_string(value));
		}
	}
	/* More than nothing stays more than nothing, which means "derive". */
	Cfg tiny = in;

	tiny.eta = 0.1F;
	tiny.gamma = 1e-9F;
	must(set(ctx, tiny), "tiny");
	c.that(get(ctx)->eta > 0 && get(ctx)->gamma > 0, "tiny became 0");
	drop<CcProfile>(ctx, id);
}

void without_parameters(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	const Cfg in = nscc_cfg();
	CcAttr attr{};

	c.err(ccp_make(ctx, id, nullptr, nullptr, ONLINE), 0, "CC off");
	attr.algorithm = nscc_name;
	attr.cc_config = &in;
	c.err(query<CcProfile>(ctx, id, alg_bit | cfg_bit, attr), 0, "query");
	c.that(!attr.algorithm, "ALGORITHM of CC off");
	c.that(!attr.cc_config, "CONFIG of CC off");
	drop<CcProfile>(ctx, id);

	c.err(ccp_make(ctx, id, "none", nullptr, ONLINE), 0, "none");
	must(query<CcProfile>(ctx, id, alg_bit, attr), "query");
	c.eq(attr.algorithm ? attr.algorithm : "off", "none", "ALGORITHM");
	drop<CcProfile>(ctx, id);

	/* A configuration goes with its algorithm. */
	must(ccp_make(ctx, id, nscc_name, &in, OFFLINE), "nscc");
	attr = {};
	must(modify<CcProfile>(ctx, id, alg_bit, attr), "off");
	attr.algorithm = nscc_name;
	must(modify<CcProfile>(ctx, id, alg_bit, attr), "nscc again");
	c.err(go<CcProfile>(ctx, id, ONLINE), EINVAL,
	      "ONLINE with the configuration from before");
	drop<CcProfile>(ctx, id);

	const uint32_t most = dev.query().cc.cc_max_profiles;

	c.err(ccp_make(ctx, most, nullptr, nullptr, OFFLINE), EINVAL,
	      "id beyond capacity");
	c.err(ccp_make(ctx, most - 1, nullptr, nullptr, OFFLINE), 0, "last id");
	drop<CcProfile>(ctx, most - 1);
	c.err(failed(mrc_ctl_query_cc_profile(ctx, id, nullptr, state_bit)),
	      EINVAL, "no attributes");
	c.err(failed(mrc_ctl_modify_cc_profile(ctx, id, nullptr, state_bit)),
	      EINVAL, "no attributes to set");
	c.err(query<CcProfile>(nullptr, id, state_bit, attr), EINVAL,
	      "no context");
}
} // namespace

void cc_values(Report &r, const Device &dev)
{
	r.run("CC profiles: parameters come back",
	      [&](Check &c) { round_trip(c, dev); });
	r.run("CC profiles: ranges of parameters",
	      [&](Check &c) { ranges(c, dev.ctx()); });
	r.run("CC profiles: none, off, ids",
	      [&](Check &c) { without_parameters(c, dev); });
}
