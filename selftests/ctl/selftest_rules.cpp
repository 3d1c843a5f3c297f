// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which request in which state gives which errno. CC profiles are here, the rest in
 * selftest_rules_*.cpp. A refused request leaves the state alone.
 */
#include "selftest_rules.hpp"

#include <cstring>

namespace
{
void ccp_name(mrc_abi_ccp &p, const char *name)
{
	p.mask |= mrc::CCP_ALGORITHM;
	std::strncpy(p.algorithm, name, sizeof(p.algorithm) - 1);
}

const std::vector<Row<mrc_abi_ccp>> ccp_rows = {
	{"state -> INIT",
	 true,
	 [](auto &p) { p.mask = mrc::CCP_STATE; },
	 {I, 0, I}},
	{"state -> OFFLINE alone",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_STATE;
		 p.state = mrc::OFFLINE;
	 },
	 {I, I, 0}},
	{"state -> OFFLINE with algorithm",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_STATE;
		 p.state = mrc::OFFLINE;
		 ccp_name(p, "uet-1.0-nscc");
	 },
	 {0, I, I}},
	{"state -> ONLINE",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_STATE;
		 p.state = mrc::ONLINE;
	 },
	 {I, 0, I}},
	{"algorithm",
	 true,
	 [](auto &p) { ccp_name(p, "uet-1.0-nscc"); },
	 {I, 0, I}},
	{"unknown algorithm",
	 true,
	 [](auto &p) { ccp_name(p, "reno"); },
	 {I, I, I}},
	{"config", true, [](auto &p) { p.mask = mrc::CCP_CONFIG; }, {I, 0, 0}},
	{"gamma above 1",
	 true,
	 [](auto &p) {
		 p.mask = mrc::CCP_CONFIG;
		 p.nscc.gamma = 0x10001;
	 },
	 {I, I, I}},
	{"query state",
	 false,
	 [](auto &p) { p.mask = mrc::CCP_STATE; },
	 {0, 0, 0}},
	{"query algorithm",
	 false,
	 [](auto &p) { p.mask = mrc::CCP_ALGORITHM; },
	 {I, 0, 0}},
	{"query config",
	 false,
	 [](auto &p) { p.mask = mrc::CCP_CONFIG; },
	 {I, 0, 0}},
	{"unknown bit", true, [](auto &p) { p.mask = 1u << 20; }, {I, I, I}},
};

void ccp_table(Dev &dev, Check &c)
{
	const auto make = [](Dev &d, uint32_t to) {
		return ccp_make(d, CCP, "uet-1.0-nscc", to);
	};

	rules_table(dev, c,
		    {MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY,
		     MRC_ABI_CCP_QUERY, CCP, ccp_now, ccp_drop, make},
		    ccp_rows);
	c.err(ccp_make(dev, CCP, "", mrc::ONLINE), 0,
	      "congestion control off needs no config");
	ccp_drop(dev, CCP);
}
} // namespace

bool selftest_rules(Dev &dev)
{
	Report r;

	rules_fmt(dev, r);
	rules_evp(dev, r);
	r.run("CC profiles: request x state",
	      [&](Check &c) { ccp_table(dev, c); });
	rules_dev(dev, r);
	return r.good();
}
