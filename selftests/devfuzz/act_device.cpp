// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What else a controller calls: attributes, limits, traffic classes and
 * defaults of the device, any queue pair's state, and queries of all kinds. By
 * libMRC where it has a function, otherwise by the method of the control
 * interface, in the form that it takes, or nearly.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <mrc_ctl.h>
#include <rdma/mrc-ctl-abi.h>

#include "../../userspace-tools/common/uverbs.hpp"
#include "world.hpp"

namespace devfuzz
{
namespace
{
constexpr unsigned ids = 6; /* of profiles, as in act_control.cpp */

int result(int ret)
{
	return ret ? errno : 0;
}

/* A call of the control interface. Most are as they should be. */
class Method
{
public:
	Method(World &w, uint16_t object, uint16_t method)
		: w_(w), command_(object, method)
	{
	}

	void handle(uint32_t id)
	{
		command_.add(MRC_ABI_ATTR_HANDLE, 0,
			     w_.rng.chance(95) ? id : w_.rng.below(40));
	}

	template <typename T> void in(const T &t)
	{
		in_.resize(sizeof(t));
		std::memcpy(in_.data(), &t, sizeof(t));
		if (w_.rng.chance(15))
			in_[w_.rng.below(in_.size())] =
				static_cast<std::byte>(w_.rng.nasty());
		if (w_.rng.chance(5))
			in_.resize(w_.rng.below(2 * sizeof(t)) + 1);
		command_.add_in(MRC_ABI_ATTR_IN, in_);
	}

	template <typename T> void out()
	{
		if (w_.rng.chance(5))
			return;
		out_.resize(w_.rng.chance(95)
				    ? sizeof(T)
				    : w_.rng.below(2 * sizeof(T)) + 1);
		command_.add_out(MRC_ABI_ATTR_OUT, out_);
	}

	/* Room for some elements, or for none. */
	template <typename T> void array_out(std::size_t most)
	{
		array_.resize(sizeof(T) * w_.rng.below(most + 1));
		if (w_.rng.chance(5))
			array_.resize(w_.rng.below(sizeof(T) * most));
		command_.add_out(MRC_ABI_ATTR_ARRAY_OUT, array_);
	}

	int run() { return command_.run(w_.ctx->cmd_fd); }

private:
	World &w_;
	uverbs::Command command_;
	std::vector<std::byte> in_, out_, array_;
};

/* The method returns nothing. */
template <typename T>
int only_in(World &w, uint16_t object, uint16_t method, const T &t)
{
	Method m(w, object, method);

	m.in(t);
	if (w.rng.chance(5))
		m.out<T>();
	return m.run();
}

template <typename T>
int both(World &w, uint16_t object, uint16_t method, const T &t)
{
	Method m(w, object, method);

	m.in(t);
	m.out<T>();
	return m.run();
}

uint32_t u32(uint64_t n)
{
	return static_cast<uint32_t>(n);
}

int query_device(World &w)
{
	mrc_ctl_device_attr a{};
	mrc_abi_device d{};
	int supported;

	switch (w.rng.below(3)) {
	case 0:
		return result(mrc_ctl_query_device(w.ctx, &a));
	case 1:
		return w.mrc ? result(mrc_ctl_query_device_ex(w.ctx, w.mrc, &a,
							      &supported))
			     : nothing_to_do;
	default:
		return both(w, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QUERY, d);
	}
}

/* The extension is on, mostly: programs need it. */
int attributes(World &w)
{
	mrc_abi_dev_attr a{};

	a.mask = w.rng.chance(50) ? 0 : u32(w.rng.bits(0x1f));
	a.extension = w.rng.chance(90);
	a.num_evs = u32(w.rng.chance(85) ? w.rng.range(1, 64) : w.rng.nasty());
	a.cwnd = u32(w.rng.chance(50) ? 0 : w.rng.nasty());
	std::strcpy(a.cc, w.rng.one_of("uet-1.0-nscc", "none", "", "vegas"));
	a.mpr = u32(w.rng.chance(85) ? w.rng.range(1, 32) : w.rng.nasty());
	return both(w, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, a);
}

/* Low ones seldom: programs need objects. */
int limits(World &w)
{
	mrc_abi_dev_limits l{};

	l.mask = w.rng.chance(50) ? 0
				  : u32(w.rng.bits((1u << MRC_ABI_LIMITS) - 1));
	for (unsigned i = 0; i < MRC_ABI_LIMITS; i++)
		l.max[i] = u32(w.rng.chance(85)	  ? 65536
			       : w.rng.chance(50) ? w.rng.range(20, 400)
						  : w.rng.nasty());
	return both(w, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_LIMITS, l);
}

int query_port(World &w)
{
	mrc_ctl_port_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	return result(mrc_ctl_query_port(
		w.mrc, static_cast<uint8_t>(w.rng.range(0, w.ports + 1)), &a,
		static_cast<int>(w.rng.bits(MRC_CTL_PORT_ADMIN_STATE))));
}

int get_tc(World &w)
{
	Method m(w, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET);

	m.out<mrc_abi_tc>();
	return m.run();
}

int set_tc(World &w)
{
	mrc_abi_tc tc{};
	const uint64_t first = w.rng.below(64);

	/* 7 and 64 have no common factor: all differ. */
	for (unsigned i = 0; i < MRC_ABI_DSCP_NAMES; i++)
		tc.dscp[i] = static_cast<uint8_t>((first + 7 * i) % 64);
	tc.trimming = w.rng.chance(50);
	if (w.rng.chance(10))
		tc.dscp[w.rng.below(MRC_ABI_DSCP_NAMES)] =
			static_cast<uint8_t>(w.rng.nasty());
	return only_in(w, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, tc);
}

int get_defaults(World &w)
{
	Method m(w, MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET);

	m.out<mrc_abi_defaults>();
	m.array_out<mrc_abi_default>(70);
	return m.run();
}

uint64_t some_profile(World &w)
{
	return w.rng.chance(50) ? MRC_ABI_PROFILE_NONE : w.rng.below(ids + 1);
}

/* For the address of a peer, a part of it, or of all. Half of them end one. */
int set_default(World &w)
{
	mrc_abi_default d{};
	const Announced &peer = w.board.qps[w.rng.below(max_announced)];

	std::memcpy(d.prefix, peer.gid.raw, sizeof(d.prefix));
	d.prefix_len = u32(w.rng.one_of(0, 96, 120, 128, 128));
	for (unsigned bit = d.prefix_len; bit < 128 && w.rng.chance(99); bit++)
		d.prefix[bit / 8] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
	d.ev_profile = d.cc_profile = MRC_ABI_PROFILE_NONE;
	if (w.rng.chance(50)) {
		d.ev_profile = some_profile(w);
		d.cc_profile = some_profile(w);
		d.udp_port = u32(w.rng.chance(97) ? w.rng.one_of(0, 4791)
						  : w.rng.nasty());
	}
	return only_in(w, MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d);
}

/* Its own, or one of any program, which may end meanwhile. */
int query_any_qp(World &w)
{
	mrc_abi_qp_info i{};
	const Announced &one = w.board.qps[w.rng.below(max_announced)];
	Method m(w, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QP_QUERY);

	i.qpn = one.qpn;
	if (!w.qps.empty() && w.rng.chance(50)) {
		const Queue_pair &q = w.rng.pick(w.qps);

		i.qpn = q.qp ? q.qp->qp_num : one.qpn;
	}
	m.in(i);
	m.out<mrc_abi_qp_info>();
	m.array_out<mrc_abi_qp_ev>(100);
	return m.run();
}

int set_qp(World &w)
{
	mrc_abi_qp_attr a{};

	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);

	if (!q.qp)
		return nothing_to_do;
	a.mask = u32(w.rng.bits(0x37f));
	a.cap = u32(w.rng.bits(MRC_ABI_QP_CAP_DYNAMIC_MPR |
			       MRC_ABI_QP_CAP_SVC_TIME_DEST_UNSUPPORTED |
			       MRC_ABI_QP_CAP_NO_RESP_FC));
	a.ev_profile = some_profile(w);
	a.cc_profile = some_profile(w);
	a.max_wimm = static_cast<uint16_t>(w.rng.below(200));
	a.max_wimm_dest = static_cast<uint16_t>(w.rng.below(200));
	a.mpr = static_cast<uint8_t>(w.rng.below(20));
	a.mpr_dest = static_cast<uint8_t>(w.rng.below(20));
	a.timeout = static_cast<uint8_t>(w.rng.range(8, 16));
	a.retry_linear = static_cast<uint8_t>(w.rng.below(8));
	a.retry_exp = static_cast<uint8_t>(w.rng.below(10));
	Method m(w, MRC_ABI_OBJECT_QP, MRC_ABI_QP_SET);

	m.handle(q.qp->handle);
	m.in(a);
	return m.run();
}

int query_qp(World &w)
{
	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);

	if (!q.qp)
		return nothing_to_do;
	Method m(w, MRC_ABI_OBJECT_QP, MRC_ABI_QP_QUERY);

	m.handle(q.qp->handle);
	m.out<mrc_abi_qp_info>();
	m.array_out<mrc_abi_qp_ev>(100);
	return m.run();
}

int query_fmt_profile(World &w)
{
	std::array<mrc_ctl_ev_fmt_field, 12> fields{};
	mrc_ctl_ev_fmt_profile_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	a.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
	a.ev_fmt_op.fmt_fields = fields.data();
	a.ev_fmt_op.fmt_field_count =
		static_cast<int>(w.rng.below(fields.size() + 1));
	return result(mrc_ctl_query_ev_fmt_profile(
		w.mrc, w.rng.below(ids), &a,
		static_cast<int>(w.rng.bits(0xf))));
}

int query_cc_profile(World &w)
{
	mrc_ctl_cc_profile_attr a{};

	if (!w.mrc)
		return nothing_to_do;
	return result(
		mrc_ctl_query_cc_profile(w.mrc, w.rng.below(ids), &a,
					 static_cast<int>(w.rng.bits(0xf))));
}

constexpr Action actions[] = {
	{"ctl_query_device", 3, query_device},
	{"ctl_dev_attr", 4, attributes},
	{"ctl_dev_limits", 4, limits},
	{"ctl_query_port", 2, query_port},
	{"ctl_tc_get", 2, get_tc},
	{"ctl_tc_set", 3, set_tc},
	{"ctl_default_get", 2, get_defaults},
	{"ctl_default_set", 6, set_default},
	{"ctl_any_qp_query", 4, query_any_qp},
	{"ctl_qp_set", 3, set_qp},
	{"ctl_qp_query", 3, query_qp},
	{"ctl_query_ev_fmt_profile", 2, query_fmt_profile},
	{"ctl_query_cc_profile", 2, query_cc_profile},
};
} // namespace

std::span<const Action> device_actions()
{
	return actions;
}
} // namespace devfuzz
