// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What belongs to the device and to no profile: ports, traffic classes, attributes,
 * default profiles.
 */
#include "selftest_rules.hpp"

#include <cstring>
#include <initializer_list>
#include <utility>

namespace
{
void ports_and_classes(Dev &dev, Check &c)
{
	mrc_abi_port p{};
	mrc_abi_tc tc{}, now{};

	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "port 0");
	p.port = 200;
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "port 200");
	p = {.port = 1, .mask = 1, .admin_state = 2, .reserved = 0};
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "admin state 2");
	p = {.port = 1, .mask = 0, .admin_state = 0, .reserved = 1};
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), EINVAL,
	      "reserved");
	p = {.port = 1, .mask = 0, .admin_state = 0, .reserved = 0};
	c.err(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), 0,
	      "query port");
	c.eq(p.admin_state, 1, "admin state");

	must(dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, tc), "tc");
	now = tc;
	for (uint8_t &dscp : now.dscp) {
		dscp = 64;
		c.err(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, now),
		      EINVAL, "DSCP 64");
		now = tc;
	}
	now.dscp[0] = now.dscp[1];
	c.err(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, now), EINVAL,
	      "two equal DSCPs");
	now = tc;
	now.trimming = 2;
	c.err(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, now), EINVAL,
	      "trimming 2");
	must(dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, now), "tc");
	c.that(!std::memcmp(&tc, &now, sizeof(tc)), "the map changed");
}

/* All or none, by bits; a device keeps what was refused as it was. */
void device_attributes(Dev &dev, Check &c)
{
	const auto call = [&](mrc_abi_dev_attr &a) {
		return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, a);
	};
	constexpr uint32_t all =
		MRC_ABI_DEV_ATTR_EXTENSION | MRC_ABI_DEV_ATTR_NUM_EVS |
		MRC_ABI_DEV_ATTR_CWND | MRC_ABI_DEV_ATTR_CC | MRC_ABI_DEV_ATTR_MPR;
	mrc_abi_dev_attr was{}, a{};

	c.err(call(was), 0, "query");
	c.eq(was.num_evs, 64, "num_evs at first");
	c.eq(was.cwnd, 0, "cwnd at first");
	c.eq(was.mpr, 8, "mpr at first");
	c.that(!std::strcmp(was.cc, "vegas"), "cc at first");
	a = {.mask = all, .extension = 0, .num_evs = 17, .cwnd = 1 << 20, .cc = {},
	     .mpr = 255, .reserved = 0};
	std::strcpy(a.cc, "uet-1.0-nscc");
	const mrc_abi_dev_attr good = a;

	for (const auto &[what, spoil] :
	     std::initializer_list<
		     std::pair<const char *, void (*)(mrc_abi_dev_attr &)>>{
		     {"unknown bit", [](auto &x) { x.mask |= 1u << 20; }},
		     {"extension 2", [](auto &x) { x.extension = 2; }},
		     {"no EVs", [](auto &x) { x.num_evs = 0; }},
		     {"1025 EVs", [](auto &x) { x.num_evs = 1025; }},
		     {"no MPR", [](auto &x) { x.mpr = 0; }},
		     {"MPR 256", [](auto &x) { x.mpr = 256; }},
		     {"reserved", [](auto &x) { x.reserved = 1; }},
		     {"no algorithm", [](auto &x) { x.cc[0] = 0; }},
		     {"unknown algorithm", [](auto &x) { x.cc[0] = 'x'; }},
		     {"name without end",
		      [](auto &x) { std::memset(x.cc, 'x', sizeof(x.cc)); }},
	     }) {
		a = good;
		spoil(a);
		c.err(call(a), EINVAL, what);
		a = {};
		must(call(a), "query");
		c.that(!std::memcmp(&a, &was, sizeof(a)),
		       std::string("changed by ") + what);
	}
	a = good;
	c.err(call(a), 0, "all at once");
	a = {};
	a.mask = MRC_ABI_DEV_ATTR_NUM_EVS;
	a.num_evs = 5;
	c.err(call(a), 0, "one");
	c.eq(a.num_evs, 5, "num_evs");
	c.eq(a.cwnd, 1 << 20, "cwnd, which was not named");
	c.eq(a.mpr, 255, "mpr, which was not named");
	c.eq(a.extension, 0, "extension, which was not named");
	c.that(!std::strcmp(a.cc, "uet-1.0-nscc"), "cc, which was not named");
	was.mask = all;
	must(call(was), "back");
}

/* All or none. What exists stays; what is beyond the limit is refused until there is room. */
void device_limits(Dev &dev, Check &c)
{
	const auto call = [&](mrc_abi_dev_limits &l) {
		return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_LIMITS, l);
	};
	constexpr unsigned pd = MRC_ABI_LIMIT_PD, qp = MRC_ABI_LIMIT_QP;
	mrc_abi_dev_limits was{}, l{};

	c.err(call(was), 0, "query");
	for (unsigned i = 0; i < MRC_ABI_LIMITS; i++)
		c.eq(was.max[i], 65536, "limit " + std::to_string(i) + " at first");
	l.mask = 1u << pd | 1u << qp;
	l.max[pd] = was.now[pd] + 2;
	l.max[qp] = 0;
	const mrc_abi_dev_limits good = l;

	for (const auto &[what, spoil] :
	     std::initializer_list<
		     std::pair<const char *, void (*)(mrc_abi_dev_limits &)>>{
		     {"unknown bit", [](auto &x) { x.mask |= 1u << MRC_ABI_LIMITS; }},
		     {"reserved", [](auto &x) { x.reserved = 1; }},
		     {"65537 QPs", [](auto &x) { x.max[qp] = 65537; }},
		     {"2^32 - 1 PDs", [](auto &x) { x.max[pd] = UINT32_MAX; }},
	     }) {
		l = good;
		spoil(l);
		c.err(call(l), EINVAL, what);
		l = {};
		must(call(l), "query");
		c.that(!std::memcmp(l.max, was.max, sizeof(l.max)),
		       std::string("changed by ") + what);
	}
	l = good;
	c.err(call(l), 0, "two at once");
	c.eq(l.max[pd], good.max[pd], "PDs");
	c.eq(l.max[MRC_ABI_LIMIT_MR], 65536, "MRs, which were not named");
	ibv_device_attr attr{};
	must(ibv_query_device(dev.ctx(), &attr), "device");
	c.eq(attr.max_pd, good.max[pd], "max_pd of the device");
	c.eq(attr.max_qp, 0, "max_qp of the device");

	std::vector<ibv_pd *> pds;
	for (ibv_pd *p; pds.size() < 10 && (p = ibv_alloc_pd(dev.ctx()));)
		pds.push_back(p);
	c.err(errno, ENOMEM, "a PD beyond the limit");
	c.eq(pds.size(), 2, "PDs");
	l = {};
	l.mask = 1u << pd;
	l.max[pd] = good.max[pd] - 1;
	c.err(call(l), 0, "a limit below the number");
	c.eq(l.now[pd], good.max[pd], "PDs, which stay");
	for (const bool room : {false, true}) {
		if (pds.empty())
			break;
		must(ibv_dealloc_pd(pds.back()), "PD");
		pds.pop_back();
		ibv_pd *p = ibv_alloc_pd(dev.ctx());

		c.that(!!p == room, room ? "no room for a PD" : "a PD beyond the limit");
		if (p)
			pds.push_back(p);
	}
	for (ibv_pd *p : pds)
		must(ibv_dealloc_pd(p), "PD");
	was.mask = (1u << MRC_ABI_LIMITS) - 1;
	must(call(was), "back");
	c.eq(was.now[pd], good.max[pd] - 2, "PDs at the end");
}

int default_set(Dev &dev, uint8_t last, uint32_t len, uint64_t ev, uint64_t cc,
		uint32_t udp_port = 0)
{
	mrc_abi_default d{};

	d.prefix[0] = 0xfd;
	d.prefix[15] = last;
	d.prefix_len = len;
	d.ev_profile = ev;
	d.cc_profile = cc;
	d.udp_port = udp_port;
	return dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d);
}

void defaults_table(Dev &dev, Check &c)
{
	constexpr uint64_t none = MRC_ABI_PROFILE_NONE;
	const uint32_t max = dev.query().max_defaults;
	mrc_abi_defaults d{};

	c.err(default_set(dev, 0, 129, 0, 0), EINVAL, "length 129");
	c.err(default_set(dev, 1, 64, 0, 0), EINVAL, "bits beyond the prefix");
	c.err(default_set(dev, 1, 128, 1000, none), EINVAL,
	      "EV profile beyond capacity");
	c.err(default_set(dev, 1, 128, none, 1000), EINVAL,
	      "CC profile beyond capacity");
	c.err(default_set(dev, 1, 128, none, none), ENOENT,
	      "removal of what is not there");
	c.err(default_set(dev, 1, 128, none, none, 65536), EINVAL, "UDP port");
	c.err(default_set(dev, 1, 128, none, none, 65535), 0, "only a UDP port");
	c.err(default_set(dev, 1, 128, none, none), 0, "its removal");
	for (uint32_t i = 0; i < max; i++)
		c.err(default_set(dev, static_cast<uint8_t>(i), 128, 0, none),
		      0, "entry");
	c.err(default_set(dev, static_cast<uint8_t>(max), 128, 0, none), ENOSPC,
	      "one too many");
	c.err(default_set(dev, 0, 128, 1, 2), 0, "replace");
	c.err(dev.get(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, d), E2BIG,
	      "no room");
	c.eq(d.n, max, "entries");
	for (uint32_t i = 0; i < max; i++)
		c.err(default_set(dev, static_cast<uint8_t>(i), 128, none,
				  none),
		      0, "removal");
	c.err(dev.get(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, d), 0,
	      "empty table");
	c.eq(d.n, 0, "entries at the end");
}
} // namespace

void rules_dev(Dev &dev, Report &r)
{
	r.run("ports and traffic classes",
	      [&](Check &c) { ports_and_classes(dev, c); });
	r.run("attributes of the device",
	      [&](Check &c) { device_attributes(dev, c); });
	r.run("limits of the device",
	      [&](Check &c) { device_limits(dev, c); });
	r.run("defaults: bounded, replaced, removed",
	      [&](Check &c) { defaults_table(dev, c); });
}
