// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A device with a format of each mode, and EVs to put into profiles.
#pragma once

#include <gtest/gtest.h>

#include "ev_profile.hpp"

namespace mrc_test
{

const u32 kAuto = MRC_EVP_AUTO, kExplicit = MRC_EVP_EXPLICIT,
	  kGenerated = MRC_EVP_GENERATED;
const u64 kStev = 10, kUdp = 11, kSrv6 = 12;
const mrc_evp_val kNone{};
const u32 kGood = MRC_EVP_GOOD, kBad = MRC_EVP_ASSUMED_BAD,
	  kDenied = MRC_EVP_DENIED, kUnknown = MRC_EVP_UNKNOWN;
const u32 kAll = MRC_EVP_F_ALL_COPIES;
const mrc_evp_val A = val("0a", 1), B = val("0b", 2), C = val("0c", 1),
		  D = val("0d", 2);

inline void complain(const char *what)
{
	ADD_FAILURE() << what;
}

class ProfileEvOp : public testing::Test
{
protected:
	ProfileEvOp()
	{
		d.add(kStev, MRC_EV_FMT_STEV, {16, 16});
		d.add(kUdp, MRC_EV_FMT_UDP, {16});
		d.add(kSrv6, MRC_EV_FMT_SRV6, {32, 16, 16});
	}

	// An explicit one with these EVs.
	void make(EvProfile &e, const std::vector<mrc_evp_val> &evs,
		  u8 state = kOffline, u64 fmt = kUdp)
	{
		EvCall c, up;

		c.state(kOffline).mode(kExplicit).fmt(fmt).count(
			static_cast<u32>(evs.size()));
		ASSERT_EQ(e.modify(c), 0);
		for (const mrc_evp_val &v : evs) {
			EvCall one;

			if (!(v == kNone))
				ASSERT_EQ(e.modify(one.replace(kNone, v)), 0);
		}
		if (state == kOnline)
			ASSERT_EQ(e.modify(up.state(kOnline)), 0);
	}

	void generate(EvProfile &e, u64 fmt, u32 count, const Fields &f)
	{
		EvCall c;

		c.state(kOffline)
			.mode(kGenerated)
			.fmt(fmt)
			.count(count)
			.fields(f);
		ASSERT_EQ(e.modify(c), 0);
		e.check();
	}

	int modify(EvProfile &e, EvCall &c)
	{
		const int rc = e.modify(c);

		e.check();
		return rc;
	}

	static std::vector<bool> denied(const EvProfile &e)
	{
		std::vector<bool> v;

		for (u32 i = 0; i < e.p.n_ev; i++)
			v.push_back(e.p.ev[i].denied);
		return v;
	}

	Device d;
};

} // namespace mrc_test
