// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A controller: profiles in all states, ports, probes, events. */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <mrc_ctl.h>

#include "world.hpp"

namespace devfuzz
{
namespace
{
constexpr unsigned profile_ids = 6;

mrc_ctl_profile_state state(World &w)
{
	return w.rng.one_of(MRC_CTL_PROFILE_INIT, MRC_CTL_PROFILE_OFFLINE,
			    MRC_CTL_PROFILE_ONLINE, MRC_CTL_PROFILE_ONLINE);
}

/* Alone, as a step of its life, or with other members. */
int mask_of(World &w, int state_bit, int known)
{
	return w.rng.chance(50) ? state_bit
				: static_cast<int>(w.rng.bits(
					  static_cast<uint64_t>(known)));
}

int result(int ret)
{
	return ret ? errno : 0;
}

/* Profiles of all modes are there, and are used. */
mrc_ctl_ev_fmt_mode fmt_mode(uint64_t id)
{
	return id % 3 == 0   ? MRC_CTL_EV_FMT_MODE_UDP
	       : id % 3 == 1 ? MRC_CTL_EV_FMT_MODE_STEV
			     : MRC_CTL_EV_FMT_MODE_SRV6;
}

int fmt_profile(World &w)
{
	std::array<mrc_ctl_ev_fmt_field, 12> fields{};
	mrc_ctl_ev_fmt_profile_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	for (mrc_ctl_ev_fmt_field &f : fields)
		f.width = static_cast<uint8_t>(
			w.rng.chance(80) ? w.rng.one_of(16, 16, 20, 4, 8)
					 : w.rng.any());
	a.profile_state = state(w);
	a.cur_profile_state = state(w);
	a.ev_fmt_mode =
		w.rng.one_of(MRC_CTL_EV_FMT_MODE_STEV, MRC_CTL_EV_FMT_MODE_SRV6,
			     MRC_CTL_EV_FMT_MODE_UDP);
	a.ev_fmt_op.op = w.rng.one_of(MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
				      MRC_CTL_EV_FMT_OP_QUERY_FIELDS);
	a.ev_fmt_op.fmt_fields = fields.data();
	a.ev_fmt_op.fmt_field_count =
		static_cast<int>(w.rng.below(fields.size() + 1));
	return result(mrc_ctl_modify_ev_fmt_profile(
		w.mrc, w.rng.below(profile_ids), &a,
		mask_of(w, MRC_CTL_EV_FMT_PROFILE_STATE, 0xf)));
}

void some_ev(World &w, mrc_ctl_ev &ev)
{
	for (unsigned i = 0; i < 6; i++)
		ev.val[i] = static_cast<uint8_t>(w.rng.any());
	ev.port = static_cast<uint8_t>(
		w.rng.range(w.rng.chance(90) ? 1 : 0, w.ports + 1));
}

int ev_profile(World &w)
{
	std::array<mrc_ctl_ev_op_entry, 40> entries{};
	std::array<mrc_ctl_ev_field, 12> fields{};
	mrc_ctl_ev_profile_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	for (mrc_ctl_ev_op_entry &e : entries) {
		some_ev(w, e.ev);
		some_ev(w, e.ev_new);
		e.state = w.rng.one_of(MRC_CTL_EV_GOOD, MRC_CTL_EV_ASSUMED_BAD,
				       MRC_CTL_EV_DENIED, MRC_CTL_EV_UNKNOWN);
		e.flags = static_cast<uint32_t>(w.rng.bits(1));
	}
	for (mrc_ctl_ev_field &f : fields) {
		f.width = static_cast<uint32_t>(w.rng.one_of(16, 16, 20, 32));
		f.init_val = static_cast<uint32_t>(w.rng.below(1 << 16));
		f.max_val = static_cast<uint32_t>(w.rng.nasty());
		f.mask = static_cast<uint32_t>(w.rng.nasty());
	}
	a.profile_state = state(w);
	a.cur_profile_state = state(w);
	a.ev_mode = w.rng.one_of(MRC_CTL_EV_MODE_AUTO, MRC_CTL_EV_MODE_EXP,
				 MRC_CTL_EV_MODE_GEN);
	a.ev_fmt_profile_id = w.rng.below(profile_ids);
	a.ev_count = static_cast<uint32_t>(w.rng.chance(85) ? w.rng.range(1, 64)
							    : w.rng.nasty());
	a.ev_min_active = static_cast<uint32_t>(w.rng.below(8));
	a.ev_event_mask = static_cast<int>(w.rng.bits(7));
	a.ev_op.op = w.rng.one_of(MRC_CTL_EV_OP_REPLACE_EV,
				  MRC_CTL_EV_OP_MODIFY_EV_STATE,
				  MRC_CTL_EV_OP_QUERY_EV_STATE);
	a.ev_op.entries = entries.data();
	a.ev_op.entry_count = static_cast<int>(w.rng.below(entries.size() + 1));
	a.ev_fields_op.op = w.rng.one_of(MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
					 MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS);
	a.ev_fields_op.fields = fields.data();
	a.ev_fields_op.field_count =
		static_cast<int>(w.rng.below(fields.size() + 1));
	return result(mrc_ctl_modify_ev_profile(
		w.mrc, w.rng.below(profile_ids), &a,
		mask_of(w, MRC_CTL_EV_PROFILE_STATE, 0x1ff)));
}

/* The steps of a format's life until programs can use it. */
int good_fmt_profile(World &w)
{
	const uint64_t id = w.rng.below(profile_ids);
	const auto mode = fmt_mode(id);
	std::array<mrc_ctl_ev_fmt_field, 4> fields{};
	mrc_ctl_ev_fmt_profile_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	for (mrc_ctl_ev_fmt_field &f : fields)
		f.width = mode == MRC_CTL_EV_FMT_MODE_SRV6 ? 32 : 16;
	a.profile_state = MRC_CTL_PROFILE_OFFLINE;
	a.ev_fmt_mode = mode;
	a.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
	a.ev_fmt_op.fmt_fields = fields.data();
	a.ev_fmt_op.fmt_field_count = mode == MRC_CTL_EV_FMT_MODE_UDP	 ? 1
				      : mode == MRC_CTL_EV_FMT_MODE_STEV ? 2
									 : 4;
	(void)mrc_ctl_modify_ev_fmt_profile(
		w.mrc, id, &a,
		MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
			MRC_CTL_EV_FMT_PROFILE_OP);
	a.profile_state = MRC_CTL_PROFILE_ONLINE;
	return result(mrc_ctl_modify_ev_fmt_profile(
		w.mrc, id, &a, MRC_CTL_EV_FMT_PROFILE_STATE));
}

/* All entries of an explicit profile, which are empty at first. */
void populate(World &w, uint64_t id, unsigned n)
{
	std::array<mrc_ctl_ev_op_entry, 40> entries{};
	mrc_ctl_ev_profile_attr a{};

	for (unsigned i = 0; i < n; i++) {
		mrc_ctl_ev &ev = entries[i].ev_new;

		ev.val[0] = static_cast<uint8_t>(0xc0 + i);
		ev.val[1] = static_cast<uint8_t>(w.rng.any());
		ev.port = static_cast<uint8_t>(1 + i % w.ports);
		entries[i].state = MRC_CTL_EV_GOOD;
	}
	a.ev_op.op = MRC_CTL_EV_OP_REPLACE_EV;
	a.ev_op.entries = entries.data();
	a.ev_op.entry_count = static_cast<int>(n);
	(void)mrc_ctl_modify_ev_profile(w.mrc, id, &a,
					MRC_CTL_EV_PROFILE_EV_OP);
}

/* The same of an EV profile. Its format may be missing. */
int good_ev_profile(World &w)
{
	const uint64_t id = w.rng.below(profile_ids);
	const unsigned n = 8 * w.rng.u32(4) + 8;
	mrc_ctl_ev_profile_attr a{};
	std::array<mrc_ctl_ev_field, 1> field{};
	int mask = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
		   MRC_CTL_EV_PROFILE_EVENT_MASK;

	if (!w.mrc)
		return nothing_to_do;
	a.profile_state = MRC_CTL_PROFILE_OFFLINE;
	a.ev_mode = w.rng.one_of(MRC_CTL_EV_MODE_AUTO, MRC_CTL_EV_MODE_EXP,
				 MRC_CTL_EV_MODE_GEN);
	a.ev_event_mask = static_cast<int>(w.rng.below(4));
	if (a.ev_mode != MRC_CTL_EV_MODE_AUTO) {
		mask |= MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT;
		a.ev_fmt_profile_id = id;
		a.ev_count = n;
	}
	if (a.ev_mode == MRC_CTL_EV_MODE_GEN) {
		mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
		field[0].width = 16;
		field[0].mask = 0x3fff;
		field[0].init_val = 0xc000;
		a.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
		a.ev_fields_op.fields = field.data();
		a.ev_fields_op.field_count = 1;
	}
	(void)mrc_ctl_modify_ev_profile(w.mrc, id, &a, mask);
	if (a.ev_mode == MRC_CTL_EV_MODE_EXP)
		populate(w, id, n);
	a.profile_state = MRC_CTL_PROFILE_ONLINE;
	return result(mrc_ctl_modify_ev_profile(w.mrc, id, &a,
						MRC_CTL_EV_PROFILE_STATE));
}

int query_ev_profile(World &w)
{
	std::array<mrc_ctl_ev_op_entry, 40> entries{};
	mrc_ctl_ev_profile_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	a.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_ARRAY;
	a.ev_op.entries = entries.data();
	a.ev_op.entry_count = static_cast<int>(w.rng.below(entries.size() + 1));
	return result(mrc_ctl_query_ev_profile(
		w.mrc, w.rng.below(profile_ids), &a,
		w.rng.chance(50) ? 0xff : static_cast<int>(w.rng.bits(0xff))));
}

int cc_profile(World &w)
{
	mrc_ctl_cc_profile_attr a{};
	mrc_ctl_cc_nscc_cfg cfg{};

	if (!w.mrc)
		return nothing_to_do;
	cfg.adjust_bytes_threshold = static_cast<uint32_t>(w.rng.nasty());
	cfg.base_rtt = static_cast<uint32_t>(w.rng.nasty());
	cfg.max_cwnd = static_cast<uint32_t>(w.rng.nasty());
	cfg.target_delay = static_cast<uint32_t>(w.rng.nasty());
	cfg.gamma = static_cast<float>(w.rng.below(1000)) / 500;
	cfg.eta = static_cast<float>(w.rng.nasty());
	a.profile_state = state(w);
	a.cur_profile_state = state(w);
	a.algorithm = w.rng.one_of("uet-1.0-nscc", "none", "");
	if (w.rng.chance(10))
		a.algorithm = nullptr;
	a.cc_config = w.rng.chance(80) ? &cfg : nullptr;
	return result(mrc_ctl_modify_cc_profile(
		w.mrc, w.rng.below(profile_ids), &a,
		mask_of(w, MRC_CTL_CC_PROFILE_STATE, 0xf)));
}

int port(World &w)
{
	mrc_ctl_port_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	a.port_admin_state = w.rng.chance(75) ? MRC_CTL_PORT_ADMIN_ENABLED
					      : MRC_CTL_PORT_ADMIN_DISABLED;
	return result(mrc_ctl_modify_port(
		w.mrc, static_cast<uint8_t>(w.rng.range(0, w.ports + 1)), &a,
		MRC_CTL_PORT_ADMIN_STATE));
}

bool is_v4(const ibv_gid &gid)
{
	static constexpr std::array<uint8_t, 12> mapped = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return std::equal(mapped.begin(), mapped.end(), gid.raw);
}

/* The address of another host's program, of the same family. */
ibv_gid some_peer(World &w, const ibv_gid &own)
{
	const uint32_t first = w.rng.u32(max_announced);

	for (uint32_t i = 0; i < max_announced && w.rng.chance(99); i++) {
		const uint32_t at = (first + i) % max_announced;
		const ibv_gid gid = w.board.qps[at].gid;

		if (w.board.is_announced(at) && is_v4(gid) == is_v4(own) &&
		    std::memcmp(gid.raw, own.raw, sizeof(gid.raw)) != 0)
			return gid;
	}
	return own;
}

int probes(World &w)
{
	std::array<mrc_ctl_ep_req, 8> req{};
	std::array<mrc_ctl_ep_rsp, 8> rsp;
	uint8_t any_port, index;
	int n = 0;

	if (!w.mrc)
		return nothing_to_do;
	for (mrc_ctl_ep_req &r : req) {
		r.req_id = static_cast<uint16_t>(&r - req.data());
		r.sgid = w.some_gid(any_port, index);
		/* Link-local ones lead nowhere. */
		for (unsigned tries = 0; r.sgid.raw[0] == 0xfe && tries < 4;
		     tries++)
			r.sgid = w.some_gid(any_port, index);
		r.dgid = some_peer(w, r.sgid);
		r.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
		if (w.rng.chance(20))
			r.ev_fmt_mode = w.rng.one_of(MRC_CTL_EV_FMT_MODE_STEV,
						     MRC_CTL_EV_FMT_MODE_SRV6);
		some_ev(w, r.req_ev);
		/* A value of this mode, mostly. */
		if (w.rng.chance(95))
			std::fill(
				r.req_ev.val +
					(r.ev_fmt_mode ==
							 MRC_CTL_EV_FMT_MODE_UDP
						 ? 2
						 : 4),
				std::end(r.req_ev.val), uint8_t{0});
		if (w.rng.chance(90))
			r.req_ev.port =
				static_cast<uint8_t>(w.rng.range(1, w.ports));
		r.op.port_status_update.port_status =
			static_cast<uint32_t>(w.rng.bits(0x1e));
	}
	/* It is done if all are answered. */
	const uint64_t n_req =
		w.rng.chance(60) ? 1 : w.rng.range(1, req.size());
	const int err = result(mrc_ctl_ep_batch_send_wait(
		w.mrc, static_cast<uint8_t>(w.rng.any()),
		w.rng.one_of(MRC_CTL_EP_OP_EV_PROBE,
			     MRC_CTL_EP_OP_PORT_STATUS_UPDATE),
		req.data(), static_cast<int>(n_req),
		w.rng.u32(w.rng.chance(50) ? 20000000 : 400000000), rsp.data(),
		&n));

	/* Also if no request could be sent. If the device has gone, the next
	 * call says so. */
	return err == EIO ? ENETDOWN : err;
}

int create_events(World &w)
{
	if (!w.mrc || w.event_cqs.size() > 3)
		return nothing_to_do;
	mrc_cq *cq = mrc_ctl_create_ev_event_cq(
		w.mrc, static_cast<int>(w.rng.size(64)), nullptr, nullptr, 0);

	return World::keep(w.event_cqs, cq);
}

int poll_events(World &w)
{
	mrc_cq *cq = w.some(w.event_cqs);
	std::array<mrc_ctl_ev_event, 8> events;

	if (!cq)
		return nothing_to_do;
	const int n = mrc_ctl_poll_ev_event(cq, static_cast<int>(events.size()),
					    events.data());

	return n < 0 ? -n : 0;
}

constexpr Action actions[] = {
	{"ctl_ev_fmt_profile", 8, fmt_profile},
	{"ctl_ev_profile", 12, ev_profile},
	{"ctl_good_ev_fmt_profile", 6, good_fmt_profile},
	{"ctl_good_ev_profile", 8, good_ev_profile},
	{"ctl_query_ev_profile", 3, query_ev_profile},
	{"ctl_cc_profile", 8, cc_profile},
	{"ctl_port", 4, port},
	{"ctl_ep_batch", 4, probes},
	{"ctl_create_ev_event_cq", 2, create_events},
	{"ctl_poll_ev_event", 4, poll_events},
};
} // namespace

std::span<const Action> control_actions()
{
	return actions;
}
} // namespace devfuzz
