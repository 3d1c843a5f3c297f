/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Devices and profiles in the terms of mrc_ctl.h, with errnos for results. The
 * three kinds of profiles have the same states and the same way to be asked, so
 * most of it is written once.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mrc.h>
#include <mrc_ctl.h>

#include "check.hpp"

using FmtAttr = mrc_ctl_ev_fmt_profile_attr;
using EvAttr = mrc_ctl_ev_profile_attr;
using CcAttr = mrc_ctl_cc_profile_attr;
using Entry = mrc_ctl_ev_op_entry;
using Field = mrc_ctl_ev_field;

/* Bit 31 is what the enums call their last one, as an int. */
constexpr int vendor_bit = MRC_CTL_EV_FMT_VENDOR_CFG;
/* The same for all kinds. */
constexpr int state_bit = MRC_CTL_EV_PROFILE_STATE;
constexpr int cur_state_bit = MRC_CTL_EV_PROFILE_CUR_STATE;

constexpr int INIT = MRC_CTL_PROFILE_INIT;
constexpr int OFFLINE = MRC_CTL_PROFILE_OFFLINE;
constexpr int ONLINE = MRC_CTL_PROFILE_ONLINE;
constexpr const char *state_names[] = {"INIT", "OFFLINE", "ONLINE"};

constexpr const char *nscc_name = "uet-1.0-nscc";

class Device
{
public:
	/* @version: of the API that the context is for, 0 the latest. */
	explicit Device(const std::string &name, uint32_t version = 0);
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	ibv_context *verbs() const { return verbs_; }
	mrc_context *ctx() const { return ctx_; }
	mrc_ctl_device_attr query() const;
	/* Index of a GID of port 1 that is an address of @family, 4 or 6. */
	uint8_t gid(int family, ibv_gid &gid) const;
	ibv_gid gid(int family) const;

private:
	ibv_context *verbs_;
	mrc_context *ctx_;
};

/* A context more on a device that is open. */
mrc_context *context(const Device &dev, uint32_t version = 0);

struct Format {
	using Attr = FmtAttr;
	static constexpr auto modify = mrc_ctl_modify_ev_fmt_profile;
	static constexpr auto query = mrc_ctl_query_ev_fmt_profile;
};
struct EvProfile {
	using Attr = EvAttr;
	static constexpr auto modify = mrc_ctl_modify_ev_profile;
	static constexpr auto query = mrc_ctl_query_ev_profile;
};
struct CcProfile {
	using Attr = CcAttr;
	static constexpr auto modify = mrc_ctl_modify_cc_profile;
	static constexpr auto query = mrc_ctl_query_cc_profile;
};

template <typename K>
int modify(mrc_context *ctx, uint64_t id, int mask, typename K::Attr attr)
{
	return failed(K::modify(ctx, id, &attr, mask));
}

template <typename K>
int query(mrc_context *ctx, uint64_t id, int mask, typename K::Attr &attr)
{
	return failed(K::query(ctx, id, &attr, mask));
}

template <typename K> int go(mrc_context *ctx, uint64_t id, int state)
{
	typename K::Attr attr{};

	attr.profile_state = static_cast<mrc_ctl_profile_state>(state);
	return modify<K>(ctx, id, state_bit, attr);
}

template <typename K> int now(mrc_context *ctx, uint64_t id)
{
	typename K::Attr attr{};

	must(query<K>(ctx, id, state_bit | cur_state_bit, attr), "state");
	if (attr.profile_state != attr.cur_profile_state)
		throw Failure("a profile in two states");
	return attr.profile_state;
}

/* Back to INIT, from wherever it is. */
template <typename K> void drop(mrc_context *ctx, uint64_t id)
{
	for (int state = now<K>(ctx, id); state > INIT; state--)
		must(go<K>(ctx, id, state - 1), "down");
}

/* Everything that a profile has, for comparisons. */
std::string dump(mrc_context *ctx, uint64_t id, Format);
std::string dump(mrc_context *ctx, uint64_t id, EvProfile);
std::string dump(mrc_context *ctx, uint64_t id, CcProfile);

int fmt_make(mrc_context *ctx, uint64_t id, mrc_ctl_ev_fmt_mode mode,
	     const std::vector<uint8_t> &widths, int to);

/* What an EV profile is made from. */
struct EvSpec {
	mrc_ctl_ev_mode mode = MRC_CTL_EV_MODE_EXP;
	uint64_t fmt = 0;
	uint32_t count = 0;
	uint32_t min_active = 0;
	int events = 0;
	std::vector<Field> fields = {};
	std::vector<mrc_ctl_ev> evs = {}; /* explicit; else unpopulated */
};
int evp_make(mrc_context *ctx, uint64_t id, const EvSpec &spec, int to);

int ccp_make(mrc_context *ctx, uint64_t id, const char *algorithm,
	     const mrc_ctl_cc_nscc_cfg *cfg, int to);
/* Values that differ from each other and from those that are derived. */
mrc_ctl_cc_nscc_cfg nscc_cfg();

/* EV operations; what a query found replaces @entries. */
int ev_op(mrc_context *ctx, uint64_t id, mrc_ctl_ev_op op,
	  std::vector<Entry> &entries);
std::vector<Entry> ev_array(mrc_context *ctx, uint64_t id);

mrc_ctl_ev ev_bytes(const std::vector<uint8_t> &val, uint8_t port);
mrc_ctl_ev ev16(uint16_t val, uint8_t port);
Entry entry(const mrc_ctl_ev &ev, int state = 0);
Entry replacement(const mrc_ctl_ev &ev, const mrc_ctl_ev &ev_new, int state,
		  uint32_t flags = 0);
bool same(const mrc_ctl_ev &a, const mrc_ctl_ev &b);
std::string text(const mrc_ctl_ev &ev);
std::vector<uint8_t> from_hex(std::string_view hex);
std::string to_hex(const uint8_t *bytes, std::size_t n);

/* A field, bounds only where EVs are generated. */
Field field(uint32_t width, uint32_t init, uint32_t mask, uint32_t min = 0,
	    uint32_t max = 0);
