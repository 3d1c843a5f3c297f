/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_ctl: what the selftests with queue pairs have in common. */
#pragma once

#include "qp.hpp"
#include "selftest.hpp"

constexpr uint64_t FMT = 5, EVP = 9, CCP = 3;
constexpr uint32_t N = 8; /* EVs of the profile */

/* An explicit UDP profile, ONLINE; gone at the end. */
struct Profile {
	Profile(Dev &d, uint32_t ports, uint32_t event_mask = 0)
		: dev(d), evs(udp_evs(N, ports))
	{
		must(fmt_make(dev, FMT, mrc::UDP, {16}, mrc::ONLINE), "format");
		must(evp_make(dev, EVP, FMT, evs, event_mask, mrc::ONLINE),
		     "EV profile");
	}
	Profile(const Profile &) = delete;
	Profile &operator=(const Profile &) = delete;
	~Profile()
	{
		try {
			evp_drop(dev, EVP);
			fmt_drop(dev, FMT);
		} catch (const Refused &) {
			/* the check that holds it has failed already */
		}
	}

	int entry(uint32_t op, std::size_t i, uint32_t state,
		  const mrc_abi_ev &with = {})
	{
		std::vector<mrc_abi_ev_entry> e = {
			{.ev = evs[i], .state = state, .flags = 0}};

		if (op == mrc::REPLACE_EV)
			return evp_op(dev, EVP, op, e, nullptr, {with});
		return evp_op(dev, EVP, op, e);
	}

	Dev &dev;
	std::vector<mrc_abi_ev> evs;
};

inline mrc_abi_qp_attr with_profile(uint64_t ev,
				    uint64_t cc = MRC_ABI_PROFILE_NONE)
{
	mrc_abi_qp_attr a{};

	a.mask = MRC_ABI_QP_EV_PROFILE | MRC_ABI_QP_CC_PROFILE;
	a.ev_profile = ev;
	a.cc_profile = cc;
	return a;
}

inline uint32_t ports_of(Dev &dev)
{
	return static_cast<uint32_t>(
		__builtin_popcount(dev.query().phy_port_mask));
}
