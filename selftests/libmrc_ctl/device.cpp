// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a device says about itself, versions, ports. */
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "api.hpp"
#include "tests.hpp"

namespace
{
void device(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	mrc_ctl_device_attr attr, again;
	int supported = 5;

	std::memset(&attr, 0xee, sizeof(attr));
	c.err(failed(mrc_ctl_query_device_ex(dev.verbs(), nullptr, &attr,
					     &supported)),
	      0, "query without a context");
	c.eq(supported, 1, "supported");
	c.err(failed(mrc_ctl_query_device_ex(dev.verbs(), ctx, &again,
					     &supported)),
	      0, "query with a context");
	c.that(!std::memcmp(&attr.ev, &again.ev, sizeof(attr.ev)),
	       "the context makes a difference");
	again = dev.query();
	c.that(!std::memcmp(&attr.ev, &again.ev, sizeof(attr.ev)),
	       "the two queries differ");

	c.eq(attr.mrc_ctl_protocol_version, MRC_CTL_PROTOCOL_VERSION_1,
	     "protocol version");
	c.that(attr.ev.ev_max_fmt_profiles && attr.ev.ev_max_profiles &&
		       attr.cc.cc_max_profiles,
	       "no profiles");
	c.eq(attr.ev.ev_free_count, attr.ev.ev_max_count, "EVs that are free");
	c.that(attr.ev.ev_max_count_profile &&
		       attr.ev.ev_max_count_profile <= attr.ev.ev_max_count,
	       "EVs of a profile");
	c.that(attr.ev.ev_count_align <= 1, "alignment of EV arrays");
	c.eq(attr.ev.ev_max_width, 256, "bits of an EV");
	c.eq(attr.ev.ev_fmt_mode_mask,
	     MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_SRV6 |
		     MRC_CTL_EV_FMT_MODE_UDP,
	     "formats");
	c.eq(attr.ev.ev_mode_mask,
	     MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP | MRC_CTL_EV_MODE_GEN,
	     "modes");
	c.eq(attr.phy_port_mask, 0b110, "ports");
	c.eq(attr.opt_attr,
	     MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE |
		     MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE |
		     MRC_CTL_OPT_CAP_EV_EVENT |
		     MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT |
		     MRC_CTL_OPT_CAP_EP_OP_EV_PROBE,
	     "capabilities");
	bool nscc = false;

	for (const char **name = attr.cc.algorithms; *name; name++)
		nscc = nscc || !std::strcmp(*name, nscc_name);
	c.that(nscc, "no NSCC among the algorithms");
	c.that(attr.cc.algorithms == again.cc.algorithms,
	       "every query has names of its own");

	c.err(failed(mrc_ctl_query_device(nullptr, &attr)), EINVAL,
	      "no device");
	c.err(failed(mrc_ctl_query_device(dev.verbs(), nullptr)), EINVAL,
	      "no attributes");
	c.err(failed(mrc_ctl_query_device_ex(dev.verbs(), nullptr, &attr,
					     nullptr)),
	      EINVAL, "no place for the answer");
}

void versions(Check &c)
{
	uint32_t v[4] = {1, 1, 1, 1};

	mrc_ctl_query_version(&v[0], &v[1], &v[2], &v[3]);
	c.eq(v[0], 0x01000001, "version");
	c.eq(v[1], 0, "last supported version");
	c.eq(v[2], 0x01000000, "vendor version");
	c.eq(v[3], 0, "last supported vendor version");
	mrc_ctl_query_version(nullptr, nullptr, nullptr, nullptr);
}

/* --- ports -------------------------------------------------------------------
 */

int set_port(mrc_context *ctx, uint8_t port, int state)
{
	mrc_ctl_port_attr attr{};

	attr.port_admin_state = static_cast<mrc_ctl_port_admin_state>(state);
	return failed(mrc_ctl_modify_port(ctx, port, &attr,
					  MRC_CTL_PORT_ADMIN_STATE));
}

int get_port(mrc_context *ctx, uint8_t port)
{
	mrc_ctl_port_attr attr{};

	must(failed(mrc_ctl_query_port(ctx, port, &attr,
				       MRC_CTL_PORT_ADMIN_STATE)),
	     "query port");
	return attr.port_admin_state;
}

ibv_port_state state_of(const Device &dev, uint8_t port)
{
	ibv_port_attr attr{};

	must(ibv_query_port(dev.verbs(), port, &attr), "query port of verbs");
	return attr.state;
}

/* Link states follow in their own time. */
bool becomes(const Device &dev, uint8_t port, ibv_port_state state)
{
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds(20);

	while (state_of(dev, port) != state) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	return true;
}

void ports(Check &c, const Device &dev)
{
	constexpr int off = MRC_CTL_PORT_ADMIN_DISABLED;
	constexpr int on = MRC_CTL_PORT_ADMIN_ENABLED;
	mrc_context *ctx = dev.ctx();

	for (const uint8_t port : {1, 2}) {
		const auto other = static_cast<uint8_t>(3 - port);
		const std::string p = " of port " + std::to_string(port);

		c.eq(get_port(ctx, port), on, "state" + p);
		c.eq(state_of(dev, port), IBV_PORT_ACTIVE, "verbs' state" + p);
		c.err(set_port(ctx, port, off), 0, "disabling" + p);
		c.eq(get_port(ctx, port), off, "state after that" + p);
		c.that(becomes(dev, port, IBV_PORT_DOWN),
		       "verbs do not see the end" + p);
		c.eq(get_port(ctx, other), on, "state beside that" + p);
		c.eq(state_of(dev, other), IBV_PORT_ACTIVE,
		     "verbs' state beside that" + p);
		c.err(set_port(ctx, port, off), 0, "disabling again" + p);
		c.err(set_port(ctx, port, 2), EINVAL, "a state of 2" + p);
		c.eq(get_port(ctx, port), off, "state after a refusal" + p);
		c.err(set_port(ctx, port, on), 0, "enabling" + p);
		c.that(becomes(dev, port, IBV_PORT_ACTIVE),
		       "verbs do not see it back" + p);
	}
}

void port_rules(Check &c, mrc_context *ctx)
{
	mrc_ctl_port_attr attr{};

	for (const uint8_t port : {0, 3, 16, 255}) {
		const std::string p = "port " + std::to_string(port);

		c.err(set_port(ctx, port, MRC_CTL_PORT_ADMIN_DISABLED), EINVAL,
		      p);
		c.err(failed(mrc_ctl_query_port(ctx, port, &attr,
						MRC_CTL_PORT_ADMIN_STATE)),
		      EINVAL, "query of " + p);
	}
	c.err(failed(mrc_ctl_query_port(ctx, 1, &attr, 2)), EINVAL,
	      "an unknown bit");
	c.err(failed(mrc_ctl_modify_port(ctx, 1, &attr, 3)), EINVAL,
	      "an unknown bit beside a known one");
	c.eq(get_port(ctx, 1), MRC_CTL_PORT_ADMIN_ENABLED, "after that");
	c.err(failed(mrc_ctl_modify_port(ctx, 1, &attr, 0)), 0,
	      "nothing to change");
	c.eq(get_port(ctx, 1), MRC_CTL_PORT_ADMIN_ENABLED, "after that");
	c.err(failed(mrc_ctl_query_port(ctx, 1, nullptr,
					MRC_CTL_PORT_ADMIN_STATE)),
	      EINVAL, "no attributes");
	c.err(failed(mrc_ctl_modify_port(ctx, 1, nullptr,
					 MRC_CTL_PORT_ADMIN_STATE)),
	      EINVAL, "no attributes to set");
	c.err(failed(mrc_ctl_query_port(nullptr, 1, &attr,
					MRC_CTL_PORT_ADMIN_STATE)),
	      EINVAL, "no context");
}

/* A device of another kind: no MRC is an answer where there is room for it. */
void foreign(Check &c, ibv_context *verbs, mrc_context *ctx)
{
	mrc_ctl_device_attr attr{};
	int supported = 5;

	c.err(failed(mrc_ctl_query_device_ex(verbs, nullptr, &attr,
					     &supported)),
	      0, "query that can say so");
	c.eq(supported, 0, "supported");
	c.err(failed(mrc_ctl_query_device(verbs, &attr)), ENOTSUP,
	      "query that cannot");
	c.err(failed(mrc_ctl_query_device_ex(verbs, ctx, &attr, &supported)),
	      EINVAL, "a context of another device");
	c.that(!mrc_create_context(verbs, nullptr) && errno == ENOTSUP,
	       "a context of a device without MRC");
}
} // namespace

bool test_device(const Device &dev, const Args &args)
{
	Report r(Report::counted);

	r.run("device query", [&](Check &c) { device(c, dev); });
	r.run("versions", versions);
	if (!args.empty()) {
		ibv_device **list = ibv_get_device_list(nullptr);
		ibv_context *verbs = nullptr;

		for (ibv_device **d = list; d && *d; d++)
			if (args[0] == ibv_get_device_name(*d))
				verbs = ibv_open_device(*d);
		r.run("device query of a device without MRC", [&](Check &c) {
			foreign(c, made(verbs, "device"), dev.ctx());
		});
		if (verbs)
			ibv_close_device(verbs);
		if (list)
			ibv_free_device_list(list);
	}
	return r.good();
}

bool test_ports(const Device &dev, const Args &)
{
	Report r(Report::counted);

	r.run("ports: disabled means DOWN", [&](Check &c) { ports(c, dev); });
	r.run("ports: what is refused",
	      [&](Check &c) { port_rules(c, dev.ctx()); });
	return r.good();
}
