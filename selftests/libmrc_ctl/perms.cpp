// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who may do what: a process without CAP_NET_ADMIN is refused by every
 * controller function but the queries of devices and versions, and has
 * everything of the application's side.
 *
 * usage: libmrc_ctl DEV refused PEER
 *	libmrc_ctl DEV allowed PEER EV-PROFILE CC-PROFILE
 */
#include <cerrno>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
/* Each is a call that an administrator could make. */
void refused(Check &c, const Device &dev, const Device &peer)
{
	constexpr uint64_t id = 40;
	const mrc_ctl_cc_nscc_cfg cfg = nscc_cfg();
	mrc_ctl_device_attr device{};
	mrc_context *ctx = dev.ctx();
	mrc_ctl_port_attr port{};
	mrc_ctl_ep_req req{};
	mrc_ctl_ep_rsp rsp{};
	int supported = 0, n = 9;
	FmtAttr fmt{};
	EvAttr ev{};
	CcAttr cc{};

	port.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
	c.err(failed(mrc_ctl_query_port(ctx, 1, &port, 1)), EPERM,
	      "query port");
	c.err(failed(mrc_ctl_modify_port(ctx, 1, &port, 1)), EPERM,
	      "modify port");
	c.err(query<Format>(ctx, id, state_bit, fmt), EPERM, "query format");
	c.err(fmt_make(ctx, id, MRC_CTL_EV_FMT_MODE_UDP, {16}, OFFLINE), EPERM,
	      "modify format");
	c.err(query<EvProfile>(ctx, id, state_bit, ev), EPERM,
	      "query EV profile");
	ev.ev_mode = MRC_CTL_EV_MODE_AUTO;
	ev.profile_state = MRC_CTL_PROFILE_OFFLINE;
	c.err(modify<EvProfile>(ctx, id, state_bit | MRC_CTL_EV_PROFILE_MODE,
				ev),
	      EPERM, "modify EV profile");
	c.err(query<CcProfile>(ctx, id, state_bit, cc), EPERM,
	      "query CC profile");
	c.err(ccp_make(ctx, id, nscc_name, &cfg, OFFLINE), EPERM,
	      "modify CC profile");
	c.that(!mrc_ctl_create_ev_event_cq(ctx, 16, nullptr, nullptr, 0) &&
		       errno == EPERM,
	       "event queue");
	req.sgid = dev.gid(4);
	req.dgid = peer.gid(4);
	req.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
	req.req_ev = ev16(0xc001, 1);
	for (const auto op :
	     {MRC_CTL_EP_OP_EV_PROBE, MRC_CTL_EP_OP_PORT_STATUS_UPDATE}) {
		n = 9;
		c.err(failed(mrc_ctl_ep_batch_send_wait(ctx, 0, op, &req, 1,
							1000000000, &rsp, &n)),
		      EPERM, "endpoint operation " + std::to_string(op));
		c.eq(n, 0, "responses");
	}

	c.err(failed(mrc_ctl_query_device(dev.verbs(), &device)), 0,
	      "query device");
	c.err(failed(mrc_ctl_query_device_ex(dev.verbs(), ctx, &device,
					     &supported)),
	      0, "query device, extended");
	c.eq(supported, 1, "supported");
	c.that(device.ev.ev_max_profiles > 0, "nothing was said");
	uint32_t version = 0;

	mrc_ctl_query_version(&version, nullptr, nullptr, nullptr);
	c.eq(version, 0x01000001, "version");
}

void application(Check &c, const Device &dev, const Device &peer,
		 const QpSpec &spec)
{
	mrc_device_attr attr{};
	mrc_qp_hint_init_attr hint_attr{};
	int supported = 0;

	c.err(failed(mrc_query_device(dev.verbs(), &attr, &supported)), 0,
	      "query device");
	c.eq(supported, 1, "supported");
	mrc_qp_hint *hint =
		made(mrc_create_qp_hint(dev.ctx(), &hint_attr), "hint");

	c.err(failed(mrc_destroy_qp_hint(hint)), 0, "hint");
	Pair p(dev, peer, spec);

	for (int i = 0; i < 5; i++)
		p.a.write(p.b);
	for (int i = 0; i < 5; i++)
		p.b.write(p.a);
	if (spec.ev == no_profile)
		return;
	c.eq(static_cast<int64_t>(p.a.query().profile.ev_profile_id),
	     static_cast<int64_t>(spec.ev), "EV profile");
	c.eq(static_cast<int64_t>(p.a.query().profile.cc_profile_id),
	     static_cast<int64_t>(spec.cc), "CC profile");
}
} // namespace

bool test_refused(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	Report r(Report::counted);

	r.run("controller functions are refused",
	      [&](Check &c) { refused(c, dev, peer); });
	return r.good();
}

bool test_allowed(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	QpSpec spec;
	Report r(Report::counted);

	r.run("programs work",
	      [&](Check &c) { application(c, dev, peer, spec); });
	spec.ev = std::stoull(args.at(1));
	spec.cc = std::stoull(args.at(2));
	r.run("programs work with profiles that a controller made",
	      [&](Check &c) { application(c, dev, peer, spec); });
	return r.good();
}
