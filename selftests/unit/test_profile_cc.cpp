// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Congestion control profiles: libMRC's table, cell by cell.
#include <gtest/gtest.h>

#include "profiles.hpp"

namespace
{

using namespace mrc_test;

const char *const kNscc = "uet-1.0-nscc";

struct Call {
	explicit Call(u32 mask) : r{}, nscc{}, vendor(vendor_of(0x50))
	{
		r.mask = mask;
		r.name = kNscc;
		r.nscc = &nscc;
		nscc.fi = 777;
		r.vendor = vendor.data();
	}
	Call(const Call &) = delete;
	Call &operator=(const Call &) = delete;

	Call &state(u32 to)
	{
		r.mask |= MRC_CCP_STATE;
		r.state = to;
		return *this;
	}

	Call &cur(u32 is)
	{
		r.mask |= MRC_CCP_CUR_STATE;
		r.cur_state = is;
		return *this;
	}

	Call &algorithm(const char *name)
	{
		r.mask |= MRC_CCP_ALGORITHM;
		r.name = name;
		return *this;
	}

	mrc_ccp_req r;
	mrc_nscc_cfg nscc;
	Vendor vendor;
};

int modify(mrc_cc_profile &p, Call &c, bool online = false)
{
	const std::vector<u8> before = bytes_of(p);
	const int rc = mrc_ccp_modify(&p, &c.r, online);

	if (rc)
		EXPECT_EQ(before, bytes_of(p));
	return rc;
}

mrc_cc_profile make(u8 state, const char *name, bool config)
{
	mrc_cc_profile p;
	Call c(config ? MRC_CCP_CONFIG : 0u);

	std::memset(&p, 0, sizeof(p));
	if (state == kInit)
		return p;
	c.nscc.fi = 111;
	c.state(kOffline).algorithm(name);
	EXPECT_EQ(modify(p, c), 0);
	if (state == kOnline)
		EXPECT_EQ(modify(p, Call(0).state(kOnline)), 0);
	return p;
}

struct Case {
	u8 state; // of the profile
	bool off; // congestion control is off
	bool has_config;
	bool used;
	bool online; // capability
	u32 to;
	u32 algorithm; // none, NSCC, off, unknown
	bool config, vendor;
};

int expected(const Case &c)
{
	const bool attrs = c.algorithm || c.config || c.vendor;

	if (c.to != kNoState && !legal_step(c.state, c.to))
		return -EINVAL;
	if (c.used && c.to != kNoState)
		return -EBUSY;
	if (c.state == kInit) {
		if (c.vendor || (c.to == kNoState && attrs))
			return -EINVAL;
		if (c.to != kNoState && !c.algorithm)
			return -EINVAL;
	}
	if (c.state == kOnline &&
	    (c.algorithm || c.vendor || (c.config && !c.online)))
		return -EINVAL;
	if (c.algorithm == 3)
		return -EINVAL;
	if (c.to == kOnline) {
		const bool off = c.algorithm ? c.algorithm == 2 : c.off;
		// Parameters belong to the algorithm they were given for.
		const bool kept =
			c.has_config && (!c.algorithm || off == c.off);

		if (!off && !c.config && !kept)
			return -EINVAL;
	}
	return 0;
}

TEST(ProfileCc, TableOfModify)
{
	const char *const names[] = {nullptr, kNscc, nullptr, "cubic"};
	unsigned ok = 0, refused = 0;

	each(
		[&](u8 state, bool off, bool has_config, bool used, bool online,
		    u32 to, u32 algorithm, bool config, bool vendor) {
			const Case k = {state,	   off,	   has_config,
					used,	   online, to,
					algorithm, config, vendor};

			if (used && state != kOnline)
				return;
			if (state == kOnline && !off && !has_config)
				return;
			if (state == kInit && (off || has_config))
				return;
			mrc_cc_profile p =
				make(state, off ? nullptr : kNscc, has_config);
			Call c((config ? MRC_CCP_CONFIG : 0u) |
			       (vendor ? MRC_CCP_VENDOR_CFG : 0u));

			p.users = used;
			if (to != kNoState)
				c.state(to);
			if (algorithm)
				c.algorithm(names[algorithm]);
			const int want = expected(k);

			SCOPED_TRACE(testing::Message()
				     << "state " << int{state} << " off " << off
				     << " config " << has_config << " used "
				     << used << " capability " << online
				     << " to " << to << " algorithm "
				     << algorithm << " config " << config
				     << " vendor " << vendor);
			ASSERT_EQ(modify(p, c, online), want);
			(want ? refused : ok)++;
			if (want)
				return;
			EXPECT_EQ(p.state, to == kNoState ? state : to);
			if (to == kInit) {
				mrc_cc_profile zero;

				std::memset(&zero, 0, sizeof(zero));
				EXPECT_EQ(bytes_of(p), bytes_of(zero));
				return;
			}
			EXPECT_EQ(p.users, used ? 1u : 0u);
			if (algorithm)
				EXPECT_EQ(p.ops, algorithm == 1
							 ? mrc_cc_find(kNscc)
							 : nullptr);
			if (config)
				EXPECT_EQ(p.nscc.fi, 777u);
			else if (p.has_config)
				EXPECT_EQ(p.nscc.fi, 111u);
			else
				EXPECT_EQ(p.nscc.fi, 0u);
			if (vendor)
				EXPECT_EQ(p.vendor[0], 0x50);
		},
		kStates, kBools, kBools, kBools, kBools, kTargets, up_to(4),
		kBools, kBools);
	EXPECT_GT(ok, 50u);
	EXPECT_GT(refused, 200u);
}

TEST(ProfileCc, TableOfQuery)
{
	each(
		[&](u8 state, bool off, u32 mask) {
			mrc_cc_profile p =
				make(state, off ? nullptr : kNscc, true);
			// The last bit stands for the vendor's.
			Call c((mask & 15) |
			       (mask & 16 ? MRC_CCP_VENDOR_CFG : 0u));
			const bool bad = state == kInit && mask & 0x1C;
			const std::vector<u8> before = bytes_of(p);

			c.r.name = "untouched";
			ASSERT_EQ(mrc_ccp_query(&p, &c.r), bad ? -EINVAL : 0);
			EXPECT_EQ(before, bytes_of(p));
			if (bad)
				return;
			if (mask & MRC_CCP_STATE)
				EXPECT_EQ(c.r.state, state);
			if (mask & MRC_CCP_CUR_STATE)
				EXPECT_EQ(c.r.cur_state, state);
			if (mask & MRC_CCP_ALGORITHM)
				EXPECT_STREQ(c.r.name, off ? "" : kNscc);
			else
				EXPECT_STREQ(c.r.name, "untouched");
			EXPECT_EQ(c.nscc.fi,
				  mask & MRC_CCP_CONFIG ? 111u : 777u);
		},
		kStates, kBools, up_to(32));
}

TEST(ProfileCc, UnknownAttributes)
{
	for (u32 bit = 4; bit < 31; bit++) {
		mrc_cc_profile p = make(kOffline, kNscc, true);
		Call c(1u << bit);

		EXPECT_EQ(modify(p, c), -EINVAL);
		EXPECT_EQ(mrc_ccp_query(&p, &c.r), -EINVAL);
	}
}

TEST(ProfileCc, CurrentState)
{
	for (u8 state : kStates) {
		for (u32 is = 0; is < 4; is++) {
			mrc_cc_profile p = make(state, kNscc, true);

			EXPECT_EQ(modify(p, Call(0).cur(is)),
				  is == state ? 0 : -EINVAL);
		}
	}
}

TEST(ProfileCc, Names)
{
	const auto rc = [](const char *name) {
		mrc_cc_profile p = make(kInit, nullptr, false);

		return modify(p, Call(0).state(kOffline).algorithm(name));
	};

	EXPECT_EQ(rc(kNscc), 0);
	EXPECT_EQ(rc(nullptr), 0);
	EXPECT_EQ(rc(""), 0);
	EXPECT_EQ(rc("none"), 0);
	EXPECT_EQ(rc("vegas"), 0);
	EXPECT_EQ(rc("uet-1.0-nsc"), -EINVAL);
	EXPECT_EQ(rc("uet-1.0-nscc "), -EINVAL);
	EXPECT_EQ(rc("UET-1.0-NSCC"), -EINVAL);
}

TEST(ProfileCc, OnlyNsccNeedsConfig)
{
	for (const char *name : {(const char *)nullptr, "", "none", "vegas"}) {
		mrc_cc_profile p = make(kOffline, name, false);

		EXPECT_EQ(modify(p, Call(0).state(kOnline)), 0);
	}
	mrc_cc_profile p = make(kOffline, kNscc, false);
	EXPECT_EQ(modify(p, Call(0).state(kOnline)), -EINVAL);
	EXPECT_EQ(modify(p, Call(MRC_CCP_CONFIG).state(kOnline)), 0);
}

template <typename T> struct Bound {
	T mrc_nscc_cfg::*member;
	u64 max;
	const char *name;
};

const Bound<u32> kBounds[] = {
	{&mrc_nscc_cfg::adjust_bytes_threshold, 1u << 30, "adjust_bytes"},
	{&mrc_nscc_cfg::adjust_period_threshold, 1000000000, "adjust_period"},
	{&mrc_nscc_cfg::base_rtt, 1000000000, "base_rtt"},
	{&mrc_nscc_cfg::eta, 1u << 30, "eta"},
	{&mrc_nscc_cfg::fi, 1u << 30, "fi"},
	{&mrc_nscc_cfg::fi_scale, 1024u << 16, "fi_scale"},
	{&mrc_nscc_cfg::gamma, 1u << 16, "gamma"},
	{&mrc_nscc_cfg::max_md_jump, 1u << 16, "max_md_jump"},
	{&mrc_nscc_cfg::max_cwnd, 1u << 30, "max_cwnd"},
	{&mrc_nscc_cfg::qa_threshold, 1000000000, "qa_threshold"},
	{&mrc_nscc_cfg::target_delay, 1000000000, "target_delay"},
};

// In OFFLINE and, with the capability, in ONLINE.
TEST(ProfileCc, ParameterBounds)
{
	for (u8 state : {kOffline, kOnline}) {
		for (const Bound<u32> &b : kBounds) {
			for (u64 v : {u64{0}, u64{1}, b.max, b.max + 1,
				      u64{0xFFFFFFFF}}) {
				mrc_cc_profile p = make(state, kNscc, true);
				Call c(MRC_CCP_CONFIG);

				c.nscc = {};
				c.nscc.*b.member = static_cast<u32>(v);
				EXPECT_EQ(modify(p, c, true),
					  v <= b.max ? 0 : -EINVAL)
					<< b.name << " " << v;
				if (v <= b.max)
					EXPECT_EQ(p.nscc.*b.member, v);
				else
					EXPECT_EQ(p.nscc.fi, 111u);
			}
		}
		for (unsigned gate = 0; gate < 256; gate++) {
			mrc_cc_profile p = make(state, kNscc, true);
			Call c(MRC_CCP_CONFIG);

			c.nscc.qa_gate = static_cast<u8>(gate);
			EXPECT_EQ(modify(p, c, true), gate <= 31 ? 0 : -EINVAL);
		}
	}
}

// Parameters of one algorithm do not become those of the next.
TEST(ProfileCc, AnotherAlgorithmForgets)
{
	mrc_cc_profile p = make(kOffline, kNscc, true);

	EXPECT_EQ(modify(p, Call(0).algorithm(kNscc)), 0);
	EXPECT_TRUE(p.has_config);
	EXPECT_EQ(p.nscc.fi, 111u);
	EXPECT_EQ(modify(p, Call(0).algorithm(nullptr)), 0);
	EXPECT_FALSE(p.has_config);
	EXPECT_EQ(p.nscc.fi, 0u);
	EXPECT_EQ(modify(p, Call(0).algorithm(kNscc)), 0);
	EXPECT_EQ(modify(p, Call(0).state(kOnline)), -EINVAL);
}

} // namespace
