// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who uses what: formats under EV profiles, profiles under queue pairs, and
 * what is refused and what is not while they do.
 */
#include <cerrno>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
constexpr uint64_t fmt = 5, ev = 9, other = 10, cc = 3;

EvSpec four_evs(uint16_t first)
{
	EvSpec spec;

	spec.fmt = fmt;
	spec.count = 4;
	for (uint16_t i = 0; i < 4; i++)
		spec.evs.push_back(ev16(static_cast<uint16_t>(first + i),
					static_cast<uint8_t>(1 + i % 2)));
	return spec;
}

int set_widths(mrc_context *ctx)
{
	mrc_ctl_ev_fmt_field w[] = {{8}, {8}};
	FmtAttr attr{};

	attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, w, 2};
	return modify<Format>(ctx, fmt, MRC_CTL_EV_FMT_PROFILE_OP, attr);
}

void format_in_use(Check &c, mrc_context *ctx, const std::string &why)
{
	const std::string before = dump(ctx, fmt, Format());
	FmtAttr attr{};

	attr.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
	c.err(go<Format>(ctx, fmt, OFFLINE), EBUSY, "OFFLINE, " + why);
	c.err(modify<Format>(ctx, fmt, MRC_CTL_EV_FMT_PROFILE_MODE, attr),
	      EBUSY, "MODE, " + why);
	c.err(modify<Format>(ctx, fmt, vendor_bit, attr), EBUSY,
	      "VENDOR_CFG, " + why);
	c.err(set_widths(ctx), EBUSY, "fields, " + why);
	c.eq(dump(ctx, fmt, Format()), before, "the format, " + why);
}

void formats(Check &c, mrc_context *ctx)
{
	must(evp_make(ctx, ev, four_evs(0xc000), OFFLINE), "profile");
	must(evp_make(ctx, other, four_evs(0xd000), ONLINE), "other profile");
	format_in_use(c, ctx, "one of two profiles ONLINE");
	must(go<EvProfile>(ctx, ev, ONLINE), "ONLINE");
	must(go<EvProfile>(ctx, other, OFFLINE), "OFFLINE");
	format_in_use(c, ctx, "the other profile ONLINE");
	must(go<EvProfile>(ctx, ev, OFFLINE), "OFFLINE");

	/* The other way: a profile needs its format ONLINE. */
	c.err(go<Format>(ctx, fmt, OFFLINE), 0, "nobody is ONLINE");
	c.err(go<EvProfile>(ctx, ev, ONLINE), EINVAL,
	      "ONLINE with a format that is not");
	c.eq(now<EvProfile>(ctx, ev), OFFLINE, "state");
	/* What fitted then may not fit now. */
	must(set_widths(ctx), "two fields");
	must(go<Format>(ctx, fmt, ONLINE), "ONLINE");
	c.err(go<EvProfile>(ctx, ev, ONLINE), 0, "ONLINE again");
	drop<EvProfile>(ctx, ev);
	drop<EvProfile>(ctx, other);
}

/* What may change under queue pairs, and what not. */
void in_use(Check &c, mrc_context *ctx, const std::string &why)
{
	const std::string before = dump(ctx, ev, EvProfile());
	const mrc_ctl_cc_nscc_cfg cfg = nscc_cfg();
	std::vector<Entry> e = {entry(ev16(0xc000, 1), MRC_CTL_EV_DENIED)};
	CcAttr cc_attr{};
	EvAttr attr{};

	c.err(go<EvProfile>(ctx, ev, OFFLINE), EBUSY, "EV profile, " + why);
	c.err(go<CcProfile>(ctx, cc, OFFLINE), EBUSY, "CC profile, " + why);
	attr.ev_count = 8;
	c.err(modify<EvProfile>(ctx, ev, MRC_CTL_EV_PROFILE_COUNT, attr),
	      EINVAL, "COUNT, " + why);
	c.err(modify<EvProfile>(
		      ctx, ev, state_bit | MRC_CTL_EV_PROFILE_EVENT_MASK,
		      [] {
			      EvAttr a{};

			      a.profile_state = MRC_CTL_PROFILE_OFFLINE;
			      a.ev_event_mask = MRC_CTL_EV_GOOD;
			      return a;
		      }()),
	      EBUSY, "OFFLINE with EVENT_MASK, " + why);
	c.eq(dump(ctx, ev, EvProfile()), before, "EV profile afterwards");
	c.eq(now<CcProfile>(ctx, cc), ONLINE, "CC profile afterwards");

	attr.ev_event_mask = MRC_CTL_EV_ASSUMED_BAD;
	c.err(modify<EvProfile>(ctx, ev, MRC_CTL_EV_PROFILE_EVENT_MASK, attr),
	      0, "EVENT_MASK, " + why);
	c.err(ev_op(ctx, ev, MRC_CTL_EV_OP_MODIFY_EV_STATE, e), 0,
	      "an EV denied, " + why);
	e[0].state = MRC_CTL_EV_GOOD;
	c.err(ev_op(ctx, ev, MRC_CTL_EV_OP_MODIFY_EV_STATE, e), 0,
	      "and allowed, " + why);
	e[0].ev_new = e[0].ev;
	c.err(ev_op(ctx, ev, MRC_CTL_EV_OP_REPLACE_EV, e), 0,
	      "an EV replaced, " + why);
	cc_attr.cc_config = &cfg;
	c.err(modify<CcProfile>(ctx, cc, MRC_CTL_CC_PROFILE_CONFIG, cc_attr), 0,
	      "CONFIG, " + why);
}

void queue_pairs(Check &c, const Device &dev, const Device &peer)
{
	const mrc_ctl_cc_nscc_cfg cfg = nscc_cfg();
	mrc_context *ctx = dev.ctx();
	QpSpec spec;

	must(evp_make(ctx, ev, four_evs(0xc000), ONLINE), "EV profile");
	must(ccp_make(ctx, cc, nscc_name, &cfg, ONLINE), "CC profile");
	spec.ev = ev;
	spec.cc = cc;
	{
		Pair p(dev, peer, spec);
		Qp second(dev, spec);

		p.a.write(p.b);
		c.eq(static_cast<int64_t>(p.a.query().profile.ev_profile_id),
		     ev, "EV profile of the queue pair");
		c.eq(static_cast<int64_t>(p.a.query().profile.cc_profile_id),
		     cc, "CC profile of the queue pair");
		in_use(c, ctx, "used by one");
		p.a.write(p.b);
		must(second.init(), "INIT");
		must(second.rtr(p.b), "RTR");
		must(p.a.state(IBV_QPS_RESET), "RESET");
		in_use(c, ctx, "used by the other");
		must(second.state(IBV_QPS_RESET), "RESET");
		c.err(go<EvProfile>(ctx, ev, OFFLINE), 0, "EV profile unused");
		c.err(go<CcProfile>(ctx, cc, OFFLINE), 0, "CC profile unused");

		/* The other way: profiles that are not ONLINE. */
		c.err(second.init(), EINVAL, "both profiles OFFLINE");
		must(go<EvProfile>(ctx, ev, ONLINE), "ONLINE");
		c.err(second.init(), EINVAL, "the CC profile OFFLINE");
		must(go<CcProfile>(ctx, cc, ONLINE), "ONLINE");
		c.err(second.init_with(77, cc), EINVAL,
		      "an EV profile that is not there");
		c.err(second.init_with(ev, 33), EINVAL,
		      "a CC profile that is not there");
		c.err(second.init_with(1ULL << 40, cc), EINVAL,
		      "an id beyond capacity");
		c.err(second.init(), 0, "both ONLINE");
		/* Used is what is connected. */
		must(go<EvProfile>(ctx, ev, OFFLINE), "OFFLINE");
		c.err(second.rtr(p.b), EINVAL, "OFFLINE since INIT");
		must(go<EvProfile>(ctx, ev, ONLINE), "ONLINE");
		c.err(second.rtr(p.b), 0, "ONLINE again");
		c.err(go<EvProfile>(ctx, ev, OFFLINE), EBUSY, "connected");
	}
	c.err(go<EvProfile>(ctx, ev, OFFLINE), 0, "queue pairs are gone");
	c.err(go<CcProfile>(ctx, cc, OFFLINE), 0, "queue pairs are gone");
	drop<EvProfile>(ctx, ev);
	drop<CcProfile>(ctx, cc);
}
} // namespace

bool test_busy(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	Report r(Report::counted);

	must(fmt_make(dev.ctx(), fmt, MRC_CTL_EV_FMT_MODE_UDP, {16}, ONLINE),
	     "format");
	r.run("a format that profiles use",
	      [&](Check &c) { formats(c, dev.ctx()); });
	drop<Format>(dev.ctx(), fmt);
	must(fmt_make(dev.ctx(), fmt, MRC_CTL_EV_FMT_MODE_UDP, {16}, ONLINE),
	     "format");
	r.run("profiles that queue pairs use, and need",
	      [&](Check &c) { queue_pairs(c, dev, peer); });
	drop<Format>(dev.ctx(), fmt);
	return r.good();
}
