// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Profiles, through libMRC. */
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "error.hpp"
#include "kernel.hpp"

namespace mrcctl
{
namespace
{
static_assert(static_cast<int>(State::online) == MRC_CTL_PROFILE_ONLINE);
static_assert(static_cast<int>(FmtMode::srv6) == MRC_CTL_EV_FMT_MODE_SRV6);
static_assert(static_cast<int>(EvMode::generated) == MRC_CTL_EV_MODE_GEN);
static_assert(static_cast<int>(EvState::denied) == MRC_CTL_EV_DENIED);

constexpr std::size_t max_fields = 32;

mrc_ctl_profile_state to_api(State s)
{
	return static_cast<mrc_ctl_profile_state>(s);
}

State from_api(mrc_ctl_profile_state s)
{
	return static_cast<State>(s);
}

mrc_ctl_ev to_api(const Ev &ev)
{
	mrc_ctl_ev out{};

	std::copy(ev.val.begin(), ev.val.end(), out.val);
	out.port = ev.port;
	return out;
}

Ev from_api(const mrc_ctl_ev &ev)
{
	Ev out;

	std::copy(std::begin(ev.val), std::end(ev.val), out.val.begin());
	out.port = ev.port;
	return out;
}

std::vector<mrc_ctl_ev_field> to_api(const std::vector<EvField> &fields)
{
	std::vector<mrc_ctl_ev_field> out;

	for (const EvField &f : fields) {
		mrc_ctl_ev_field to{};

		to.width = f.width;
		to.init_val = f.init;
		to.min_val = f.min;
		to.max_val = f.max;
		to.mask = f.mask;
		out.push_back(to);
	}
	return out;
}

mrc_ctl_cc_nscc_cfg to_api(const Nscc &n)
{
	mrc_ctl_cc_nscc_cfg c{};

	c.disable_qa = n.disable_qa;
	c.adjust_bytes_threshold = n.adjust_bytes_threshold;
	c.adjust_period_threshold = n.adjust_period_threshold;
	c.base_rtt = n.base_rtt;
	c.eta = n.eta;
	c.fi = n.fi;
	c.fi_scale = n.fi_scale;
	c.gamma = n.gamma;
	c.max_md_jump = n.max_md_jump;
	c.max_cwnd = n.max_cwnd;
	c.qa_gate = n.qa_gate;
	c.qa_threshold = n.qa_threshold;
	c.target_delay = n.target_delay;
	return c;
}

Nscc from_api(const mrc_ctl_cc_nscc_cfg &c)
{
	Nscc n;

	n.disable_qa = c.disable_qa != 0;
	n.adjust_bytes_threshold = c.adjust_bytes_threshold;
	n.adjust_period_threshold = c.adjust_period_threshold;
	n.base_rtt = c.base_rtt;
	n.eta = c.eta;
	n.fi = c.fi;
	n.fi_scale = c.fi_scale;
	n.gamma = c.gamma;
	n.max_md_jump = c.max_md_jump;
	n.max_cwnd = c.max_cwnd;
	n.qa_gate = c.qa_gate;
	n.qa_threshold = c.qa_threshold;
	n.target_delay = c.target_delay;
	return n;
}

template <typename Id> std::string name(const char *kind, Id id)
{
	return fmt::format("{} {}", kind, id);
}

void must(int ret, const char *kind, uint64_t id)
{
	if (ret)
		throw DeviceError(name(kind, id), errno);
}
} // namespace

/* --- states ------------------------------------------------------------------
 */

State KernelDevice::fmt_state(uint64_t id)
{
	mrc_ctl_ev_fmt_profile_attr a{};

	must(mrc_ctl_query_ev_fmt_profile(mrc_, id, &a,
					  MRC_CTL_EV_FMT_PROFILE_CUR_STATE),
	     "fmt", id);
	return from_api(a.cur_profile_state);
}

State KernelDevice::ev_state(uint64_t id)
{
	mrc_ctl_ev_profile_attr a{};

	query_ev(id, a, MRC_CTL_EV_PROFILE_CUR_STATE);
	return from_api(a.cur_profile_state);
}

State KernelDevice::cc_state(uint64_t id)
{
	mrc_ctl_cc_profile_attr a{};

	must(mrc_ctl_query_cc_profile(mrc_, id, &a,
				      MRC_CTL_CC_PROFILE_CUR_STATE),
	     "cc", id);
	return from_api(a.cur_profile_state);
}

/* --- EV formats
 * --------------------------------------------------------------- */

Fmt KernelDevice::fmt(uint64_t id)
{
	mrc_ctl_ev_fmt_field fields[max_fields]{};
	mrc_ctl_ev_fmt_profile_attr a{};
	Fmt f;

	a.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
	a.ev_fmt_op.fmt_fields = fields;
	a.ev_fmt_op.fmt_field_count = max_fields;
	must(mrc_ctl_query_ev_fmt_profile(mrc_, id, &a,
					  MRC_CTL_EV_FMT_PROFILE_CUR_STATE |
						  MRC_CTL_EV_FMT_PROFILE_MODE |
						  MRC_CTL_EV_FMT_PROFILE_OP),
	     "fmt", id);
	f.id = id;
	f.state = from_api(a.cur_profile_state);
	f.mode = static_cast<FmtMode>(a.ev_fmt_mode);
	for (int i = 0; i < a.ev_fmt_op.fmt_field_count; i++)
		f.fields.push_back(fields[i].width);
	return f;
}

void KernelDevice::change(const FmtChange &c)
{
	std::vector<mrc_ctl_ev_fmt_field> fields;
	mrc_ctl_ev_fmt_profile_attr a{};
	int mask = 0;

	if (c.state) {
		mask |= MRC_CTL_EV_FMT_PROFILE_STATE;
		a.profile_state = to_api(*c.state);
	}
	if (c.mode) {
		mask |= MRC_CTL_EV_FMT_PROFILE_MODE;
		a.ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(*c.mode);
	}
	if (c.fields) {
		for (const uint8_t width : *c.fields)
			fields.push_back({.width = width});
		mask |= MRC_CTL_EV_FMT_PROFILE_OP;
		a.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
		a.ev_fmt_op.fmt_fields = fields.data();
		a.ev_fmt_op.fmt_field_count = static_cast<int>(fields.size());
	}
	if (mask)
		must(mrc_ctl_modify_ev_fmt_profile(mrc_, c.id, &a, mask), "fmt",
		     c.id);
}

/* --- EV profiles
 * -------------------------------------------------------------- */

void KernelDevice::query_ev(uint64_t id, mrc_ctl_ev_profile_attr &a, int mask)
{
	must(mrc_ctl_query_ev_profile(mrc_, id, &a, mask), "ev", id);
}

/*
 * Format, fields and EVs do not exist in every mode, and one call returns
 * either fields or EVs.
 */
EvProfile KernelDevice::ev(uint64_t id)
{
	mrc_ctl_ev_field fields[max_fields]{};
	mrc_ctl_ev_profile_attr a{};
	EvProfile p;

	query_ev(id, a,
		 MRC_CTL_EV_PROFILE_CUR_STATE | MRC_CTL_EV_PROFILE_MODE |
			 MRC_CTL_EV_PROFILE_MIN_ACTIVE |
			 MRC_CTL_EV_PROFILE_EVENT_MASK);
	p.id = id;
	p.state = from_api(a.cur_profile_state);
	p.mode = static_cast<EvMode>(a.ev_mode);
	p.min_active = a.ev_min_active;
	p.event_mask = static_cast<uint32_t>(a.ev_event_mask);
	if (p.mode == EvMode::automatic)
		return p;

	a.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS;
	a.ev_fields_op.fields = fields;
	a.ev_fields_op.field_count = max_fields;
	query_ev(id, a,
		 MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
			 MRC_CTL_EV_PROFILE_EV_FIELDS_OP);
	p.fmt = a.ev_fmt_profile_id;
	p.count = a.ev_count;
	for (int i = 0; i < a.ev_fields_op.field_count; i++)
		p.fields.push_back({.width = fields[i].width,
				    .init = fields[i].init_val,
				    .mask = fields[i].mask,
				    .min = fields[i].min_val,
				    .max = fields[i].max_val});

	std::vector<mrc_ctl_ev_op_entry> entries(p.count);

	a.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
	a.ev_op.entries = entries.data();
	a.ev_op.entry_count = static_cast<int>(entries.size());
	query_ev(id, a, MRC_CTL_EV_PROFILE_EV_OP);
	entries.resize(std::min<std::size_t>(
		entries.size(), static_cast<std::size_t>(a.ev_op.entry_count)));
	for (const mrc_ctl_ev_op_entry &e : entries)
		p.evs.push_back({.ev = from_api(e.ev),
				 .state = static_cast<EvState>(e.state)});
	return p;
}

void KernelDevice::change(const EvChange &c)
{
	std::vector<mrc_ctl_ev_field> fields;
	mrc_ctl_ev_profile_attr a{};
	int mask = 0;

	if (c.state) {
		mask |= MRC_CTL_EV_PROFILE_STATE;
		a.profile_state = to_api(*c.state);
	}
	if (c.mode) {
		mask |= MRC_CTL_EV_PROFILE_MODE;
		a.ev_mode = static_cast<mrc_ctl_ev_mode>(*c.mode);
	}
	if (c.fmt) {
		mask |= MRC_CTL_EV_PROFILE_FMT_ID;
		a.ev_fmt_profile_id = *c.fmt;
	}
	if (c.count) {
		mask |= MRC_CTL_EV_PROFILE_COUNT;
		a.ev_count = *c.count;
	}
	if (c.min_active) {
		mask |= MRC_CTL_EV_PROFILE_MIN_ACTIVE;
		a.ev_min_active = *c.min_active;
	}
	if (c.event_mask) {
		mask |= MRC_CTL_EV_PROFILE_EVENT_MASK;
		a.ev_event_mask = static_cast<int>(*c.event_mask);
	}
	if (c.fields) {
		fields = to_api(*c.fields);
		mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
		a.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
		a.ev_fields_op.fields = fields.data();
		a.ev_fields_op.field_count = static_cast<int>(fields.size());
	}
	if (mask)
		must(mrc_ctl_modify_ev_profile(mrc_, c.id, &a, mask), "ev",
		     c.id);
}

void KernelDevice::edit(uint64_t ev_profile, const std::vector<EvEdit> &edits)
{
	mrc_ctl_ev_profile_attr a{};
	std::vector<mrc_ctl_ev_op_entry> entries;

	if (edits.empty())
		return;
	for (const EvEdit &e : edits) {
		mrc_ctl_ev_op_entry to{};

		to.ev = to_api(e.old);
		if (e.with)
			to.ev_new = to_api(*e.with);
		to.state = static_cast<mrc_ctl_ev_state>(e.state);
		to.flags = e.all_copies ? MRC_CTL_EV_OP_F_ALL_COPIES : 0;
		entries.push_back(to);
	}
	a.ev_op.op = edits[0].with ? MRC_CTL_EV_OP_REPLACE_EV
				   : MRC_CTL_EV_OP_MODIFY_EV_STATE;
	a.ev_op.entries = entries.data();
	a.ev_op.entry_count = static_cast<int>(entries.size());
	must(mrc_ctl_modify_ev_profile(mrc_, ev_profile, &a,
				       MRC_CTL_EV_PROFILE_EV_OP),
	     "ev", ev_profile);
}

/* --- CC profiles
 * -------------------------------------------------------------- */

CcProfile KernelDevice::cc(uint64_t id)
{
	mrc_ctl_cc_profile_attr a{};
	CcProfile p;

	must(mrc_ctl_query_cc_profile(mrc_, id, &a,
				      MRC_CTL_CC_PROFILE_CUR_STATE |
					      MRC_CTL_CC_PROFILE_ALGORITHM |
					      MRC_CTL_CC_PROFILE_CONFIG),
	     "cc", id);
	p.id = id;
	p.state = from_api(a.cur_profile_state);
	p.algorithm = a.algorithm ? a.algorithm : "";
	if (a.cc_config && p.algorithm == "uet-1.0-nscc")
		p.nscc = from_api(
			*static_cast<const mrc_ctl_cc_nscc_cfg *>(a.cc_config));
	return p;
}

void KernelDevice::change(const CcChange &c)
{
	mrc_ctl_cc_profile_attr a{};
	mrc_ctl_cc_nscc_cfg cfg{};
	int mask = 0;

	if (c.state) {
		mask |= MRC_CTL_CC_PROFILE_STATE;
		a.profile_state = to_api(*c.state);
	}
	if (c.algorithm) {
		mask |= MRC_CTL_CC_PROFILE_ALGORITHM;
		a.algorithm =
			c.algorithm->empty() ? nullptr : c.algorithm->c_str();
	}
	if (c.nscc) {
		cfg = to_api(*c.nscc);
		mask |= MRC_CTL_CC_PROFILE_CONFIG;
		a.cc_config = &cfg;
	}
	if (mask)
		must(mrc_ctl_modify_cc_profile(mrc_, c.id, &a, mask), "cc",
		     c.id);
}
} // namespace mrcctl
