// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CC profiles: which request is possible in which state. */
#include <cerrno>
#include <cstring>

#include "table.hpp"
#include "tests.hpp"
#include "values_cc.hpp"

namespace
{
constexpr uint64_t id = 3;
constexpr int I = EINVAL;
constexpr int alg_bit = MRC_CTL_CC_PROFILE_ALGORITHM;
constexpr int cfg_bit = MRC_CTL_CC_PROFILE_CONFIG;

const mrc_ctl_cc_nscc_cfg cfg = nscc_cfg();

template <int state> void values(CcAttr &a)
{
	a.profile_state = static_cast<mrc_ctl_profile_state>(state);
	a.algorithm = nscc_name;
	a.cc_config = &cfg;
}

void nothing(CcAttr &) {}

const mrc_ctl_cc_nscc_cfg &bad_cfg()
{
	static mrc_ctl_cc_nscc_cfg bad = nscc_cfg();

	bad.gamma = 1.5F;
	return bad;
}

const std::vector<Row<CcProfile>> rows = {
	{"-> INIT", Call::modify, state_bit, values<INIT>, {I, 0, I}},
	{"-> OFFLINE", Call::modify, state_bit, values<OFFLINE>, {I, I, 0}},
	{"-> OFFLINE, ALGORITHM",
	 Call::modify,
	 state_bit | alg_bit,
	 values<OFFLINE>,
	 {0, I, I}},
	{"-> OFFLINE, ALGORITHM, CONFIG",
	 Call::modify,
	 state_bit | alg_bit | cfg_bit,
	 values<OFFLINE>,
	 {0, I, I}},
	{"-> OFFLINE, CONFIG",
	 Call::modify,
	 state_bit | cfg_bit,
	 values<OFFLINE>,
	 {I, I, 0}},
	{"-> OFFLINE, ALGORITHM, a wrong CONFIG",
	 Call::modify,
	 state_bit | alg_bit | cfg_bit,
	 [](CcAttr &a) {
		 values<OFFLINE>(a);
		 a.cc_config = &bad_cfg();
	 },
	 {I, I, I}},
	{"-> OFFLINE, ALGORITHM, VENDOR_CFG",
	 Call::modify,
	 state_bit | alg_bit | vendor_bit,
	 values<OFFLINE>,
	 {I, I, I}},
	{"-> ONLINE", Call::modify, state_bit, values<ONLINE>, {I, 0, I}},
	{"-> ONLINE, CONFIG",
	 Call::modify,
	 state_bit | cfg_bit,
	 values<ONLINE>,
	 {I, 0, I}},
	{"-> ONLINE, ALGORITHM, CONFIG",
	 Call::modify,
	 state_bit | alg_bit | cfg_bit,
	 values<ONLINE>,
	 {I, 0, I}},
	/* Another algorithm has another configuration. */
	{"-> ONLINE, ALGORITHM NULL",
	 Call::modify,
	 state_bit | alg_bit,
	 [](CcAttr &a) { a.profile_state = MRC_CTL_PROFILE_ONLINE; },
	 {I, 0, I}},
	{"-> 3",
	 Call::modify,
	 state_bit,
	 [](CcAttr &a) {
		 a.profile_state = static_cast<mrc_ctl_profile_state>(3);
	 },
	 {I, I, I}},
	{"ALGORITHM", Call::modify, alg_bit, values<INIT>, {I, 0, I}},
	{"ALGORITHM NULL", Call::modify, alg_bit, nothing, {I, 0, I}},
	{"ALGORITHM \"none\"",
	 Call::modify,
	 alg_bit,
	 [](CcAttr &a) { a.algorithm = "none"; },
	 {I, 0, I}},
	{"ALGORITHM that is not there",
	 Call::modify,
	 alg_bit,
	 [](CcAttr &a) { a.algorithm = "uet-1.0-nsc"; },
	 {I, I, I}},
	{"ALGORITHM in capitals",
	 Call::modify,
	 alg_bit,
	 [](CcAttr &a) { a.algorithm = "UET-1.0-NSCC"; },
	 {I, I, I}},
	{"ALGORITHM \"\"",
	 Call::modify,
	 alg_bit,
	 [](CcAttr &a) { a.algorithm = ""; },
	 {I, I, I}},
	{"ALGORITHM with a long name",
	 Call::modify,
	 alg_bit,
	 [](CcAttr &a) {
		 a.algorithm = "uet-1.0-nsccuet-1.0-nsccuet-1.0-nscc";
	 },
	 {I, I, I}},
	{"ALGORITHM NULL, VENDOR_CFG",
	 Call::modify,
	 alg_bit | vendor_bit,
	 nothing,
	 {I, 0, I}},
	{"ALGORITHM that is not there, VENDOR_CFG",
	 Call::modify,
	 alg_bit | vendor_bit,
	 [](CcAttr &a) {
		 a.algorithm = "bbr";
		 a.vendor_cfg[0] = 1;
	 },
	 {I, I, I}},
	{"CONFIG", Call::modify, cfg_bit, values<INIT>, {I, 0, 0}},
	{"CONFIG NULL", Call::modify, cfg_bit, nothing, {I, I, I}},
	{"a wrong CONFIG",
	 Call::modify,
	 cfg_bit,
	 [](CcAttr &a) { a.cc_config = &bad_cfg(); },
	 {I, I, I}},
	{"CONFIG, VENDOR_CFG",
	 Call::modify,
	 cfg_bit | vendor_bit,
	 values<INIT>,
	 {I, 0, I}},
	{"ALGORITHM NULL, CONFIG NULL",
	 Call::modify,
	 alg_bit | cfg_bit,
	 nothing,
	 {I, 0, I}},
	{"VENDOR_CFG", Call::modify, vendor_bit, nothing, {I, 0, I}},
	{"CUR_STATE INIT", Call::modify, cur_state_bit, nothing, {0, I, I}},
	{"CUR_STATE ONLINE, CONFIG",
	 Call::modify,
	 cur_state_bit | cfg_bit,
	 [](CcAttr &a) {
		 values<INIT>(a);
		 a.cur_profile_state = MRC_CTL_PROFILE_ONLINE;
	 },
	 {I, I, 0}},
	{"nothing", Call::modify, 0, nothing, {0, 0, 0}},
	{"unknown bit", Call::modify, 1 << 20, nothing, {I, I, I}},
	{"query STATE", Call::query, state_bit, nothing, {0, 0, 0}},
	{"query CUR_STATE", Call::query, cur_state_bit, nothing, {0, 0, 0}},
	{"query ALGORITHM", Call::query, alg_bit, nothing, {I, 0, 0}},
	{"query CONFIG", Call::query, cfg_bit, nothing, {I, 0, 0}},
	{"query VENDOR_CFG", Call::query, vendor_bit, nothing, {I, 0, 0}},
	{"query all of it",
	 Call::query,
	 state_bit | cur_state_bit | alg_bit | cfg_bit | vendor_bit,
	 nothing,
	 {I, 0, 0}},
	{"query unknown bit", Call::query, 1 << 20, nothing, {I, I, I}},
};

void table(Check &c, mrc_context *ctx)
{
	run_table<CcProfile>(c, ctx, id, rows, [&](int state) {
		must(ccp_make(ctx, id, nscc_name, &cfg, state), "profile");
	});
}
} // namespace

bool test_cc(const Device &dev, const Args &)
{
	Report r(Report::counted);

	r.run("CC profiles: every request in every state",
	      [&](Check &c) { table(c, dev.ctx()); });
	cc_values(r, dev);
	return r.good();
}
