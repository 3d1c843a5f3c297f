// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "commands.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

void cmd_dev(Dev &dev, const Words &)
{
	const mrc_abi_device d = dev.query();

	std::printf("protocol_version %u\n", d.protocol_version);
	std::printf("max_wimm %u\nmax_wimm_dest %u\n", d.max_wimm,
		    d.max_wimm_dest);
	std::printf("max_mpr %u\nmpr_resolution %u\n", d.max_mpr,
		    d.mpr_resolution);
	std::printf("max_qp_hint %u\ncap 0x%x\n", d.max_qp_hint, d.cap);
	std::printf("ev_max_fmt_profiles %u\n", d.ev_max_fmt_profiles);
	std::printf("ev_max_profiles %u\n", d.ev_max_profiles);
	std::printf("ev_max_count %u\n", d.ev_max_count);
	std::printf("ev_free_count %u\n", d.ev_free_count);
	std::printf("ev_max_count_profile %u\n", d.ev_max_count_profile);
	std::printf("ev_count_align %u\n", d.ev_count_align);
	std::printf("ev_max_width %u\n", d.ev_max_width);
	std::printf("ev_fmt_mode_mask 0x%x\n", d.ev_fmt_mode_mask);
	std::printf("ev_mode_mask 0x%x\n", d.ev_mode_mask);
	std::printf("ev_op_max_entries %u\n", d.ev_op_max_entries);
	std::printf("cc_max_profiles %u\n", d.cc_max_profiles);
	std::printf("phy_port_mask 0x%x\n", d.phy_port_mask);
	std::printf("opt 0x%x\n", d.opt);
	std::printf("ep_batch_max %u\n", d.ep_batch_max);
	std::printf("max_defaults %u\n", d.max_defaults);
	std::printf("max_event_depth %u\n", d.max_event_depth);
	for (uint32_t i = 0;
	     i < std::min<uint32_t>(d.n_algorithms, MRC_ABI_CC_NAMES); i++)
		std::printf("algorithm %.*s\n", MRC_ABI_CC_NAME,
			    d.algorithm[i]);
}

/* port N [enable|disable] */
void cmd_port(Dev &dev, const Words &w)
{
	mrc_abi_port p{};

	if (w.size() < 2 || w.size() > 3)
		throw Failure("port N [enable|disable]");
	p.port = static_cast<uint32_t>(number(w[1], UINT32_MAX));
	if (w.size() == 3) {
		if (w[2] != "enable" && w[2] != "disable")
			throw Failure("port N [enable|disable]");
		p.mask = MRC_ABI_PORT_ADMIN_STATE;
		p.admin_state = w[2] == "enable";
	}
	must(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), "port " + w[1]);
	std::printf("port %u %s\n", p.port,
		    p.admin_state ? "enabled" : "disabled");
}

static const char *const dscp_names[] = {"no_trim",	    "trimmable",
					 "trimmable_retx",  "trimmed",
					 "trimmed_lasthop", "control"};

/* tc [NAME=DSCP]... [trimming=0|1] */
void cmd_tc(Dev &dev, const Words &w)
{
	const Keys keys(w, 1);
	mrc_abi_tc tc{};

	must(dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, tc), "tc");
	for (int i = 0; i < MRC_ABI_DSCP_NAMES; i++)
		tc.dscp[i] = static_cast<uint8_t>(
			keys.num(dscp_names[i], tc.dscp[i], 255));
	tc.trimming =
		static_cast<uint8_t>(keys.num("trimming", tc.trimming, 255));
	keys.done();
	if (w.size() > 1) {
		must(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, tc), "tc");
		return;
	}
	for (int i = 0; i < MRC_ABI_DSCP_NAMES; i++)
		std::printf("%s %u\n", dscp_names[i], tc.dscp[i]);
	std::printf("trimming %u\n", tc.trimming);
}

static void show_defaults(Dev &dev)
{
	std::vector<mrc_abi_default> def(dev.query().max_defaults);
	mrc_abi_defaults d{};
	char addr[INET6_ADDRSTRLEN];

	must(dev.raw(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, {},
		     uverbs::bytes_out(d), {},
		     {array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(def))}),
	     "defaults");
	for (uint32_t i = 0; i < d.n; i++)
		std::printf(
			"%s/%u ev %s cc %s\n",
			inet_ntop(AF_INET6, def[i].prefix, addr, sizeof(addr)),
			def[i].prefix_len,
			show_profile(def[i].ev_profile).c_str(),
			show_profile(def[i].cc_profile).c_str());
}

/* default [PREFIX/LEN [ev=ID|none] [cc=ID|none]]; IPv4 lengths count from 96 */
void cmd_default(Dev &dev, const Words &w)
{
	mrc_abi_default d{};

	if (w.size() < 2)
		return show_defaults(dev);
	const auto part = split(w[1], '/');
	const Keys keys(w, 2);
	const auto gid = parse_gid(part.at(0));
	const bool v4 = w[1].find(':') == std::string::npos;

	if (part.size() != 2)
		throw Failure("not PREFIX/LEN: " + w[1]);
	std::copy(gid.begin(), gid.end(), d.prefix);
	d.prefix_len =
		static_cast<uint32_t>(number(part[1], 255) + (v4 ? 96 : 0));
	d.ev_profile = parse_profile(keys.str("ev", "none"));
	d.cc_profile = parse_profile(keys.str("cc", "none"));
	keys.done();
	must(dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d),
	     "default " + w[1]);
}

static std::vector<mrc_abi_ep_req> ep_requests(const Keys &keys)
{
	const uint32_t mode = parse_fmt_mode(keys.str("fmt", "udp"));
	const auto status =
		static_cast<uint32_t>(keys.num("port_status", 0, UINT32_MAX));
	auto id = static_cast<uint16_t>(keys.num("id", 0, UINT16_MAX));
	std::vector<mrc_abi_ep_req> out;

	for (const std::string &ev : split(keys.need("ev"), ',')) {
		mrc_abi_ep_req r{};

		r.id = id++;
		r.fmt_mode = mode;
		r.ev = parse_ev(ev);
		r.port_status = status;
		out.push_back(r);
	}
	return out;
}

/*
 * ep probe|status sgid=A dgid=A ev=HEX@PORT[,...] [fmt=udp|stev|srv6] [tc=N]
 *	[timeout=MS] [id=FIRST] [port_status=MASK] [times=N]
 * times: so often, as long as each runs into its time-out
 */
void cmd_ep(Dev &dev, const Words &w)
{
	if (w.size() < 2 || (w[1] != "probe" && w[1] != "status"))
		throw Failure("ep probe|status ...");
	const Keys keys(w, 2);
	const auto sgid = parse_gid(keys.need("sgid"));
	const auto dgid = parse_gid(keys.need("dgid"));
	const auto req = ep_requests(keys);
	std::vector<mrc_abi_ep_addr> addr(req.size());
	std::vector<mrc_abi_ep_rsp> rsp(req.size());
	With<mrc_abi_ep_batch> b{};

	for (mrc_abi_ep_addr &a : addr) {
		std::copy(sgid.begin(), sgid.end(), a.sgid);
		std::copy(dgid.begin(), dgid.end(), a.dgid);
	}
	b.arrays = {array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(req)),
		    array_in(MRC_ABI_ATTR_SECOND_IN, std::span(addr)),
		    array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(rsp))};
	b.op = w[1] == "status";
	b.timeout =
		static_cast<uint32_t>(keys.num("timeout", 100, 4000) * 1000000);
	b.tc = static_cast<uint8_t>(keys.num("tc", 0, 255));
	auto times = keys.num("times", 1, UINT32_MAX);
	keys.done();
	int err;

	do {
		err = dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_EP_BATCH, b);
	} while (err == ETIMEDOUT && times-- > 1);
	if (!err || err == ETIMEDOUT)
		for (uint32_t i = 0; i < b.n_rsp; i++)
			std::printf("id %u port %u rtt_ns %u svc %u\n",
				    rsp[i].id, rsp[i].port, rsp[i].rtt,
				    rsp[i].adj_svc_time);
	std::fflush(stdout);
	must(err, "ep " + w[1]);
}

/* events [depth=N] [count=N] [timeout=MS]: until so many came, or silence */
void cmd_events(Dev &dev, const Words &w)
{
	const Keys keys(w, 1);
	const auto depth =
		static_cast<uint32_t>(keys.num("depth", 1024, UINT32_MAX));
	uint64_t count = keys.num("count", UINT64_MAX);
	const auto timeout =
		static_cast<int>(keys.num("timeout", 10000, INT32_MAX));
	mrc_abi_ev_event ev[16];

	keys.done();
	const int fd = dev.events(depth);

	if (fd < 0)
		throw Refused("events", -fd);
	std::printf("listening\n");
	std::fflush(stdout);
	while (count) {
		pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
		const int n = poll(&p, 1, timeout);

		if (n <= 0)
			break;
		const ssize_t got = read(
			fd, ev, std::min<uint64_t>(count, 16) * sizeof(ev[0]));

		if (got < 0)
			throw Refused("reading events", errno);
		for (std::size_t i = 0;
		     i < static_cast<std::size_t>(got) / sizeof(ev[0]); i++) {
			std::printf("profile %llu ev %s state %s drops %u\n",
				    static_cast<unsigned long long>(
					    ev[i].profile_id),
				    show_ev(ev[i].ev).c_str(),
				    show_ev_state(ev[i].state),
				    ev[i].drop_count);
			count--;
		}
		std::fflush(stdout);
	}
	close(fd);
}

/* qp QPN: lines of "name value", then a line per EV */
void cmd_qp(Dev &dev, const Words &w)
{
	static const char *const states[] = {"good", "denied", "skip",
					     "assumed_bad"};
	static const char *const sched[] = {"idle", "active", "ready",
					    "pending"};
	std::vector<mrc_abi_qp_ev> ev(1024);
	With<mrc_abi_qp_info> q{};

	if (w.size() != 2)
		throw Failure("qp QPN");
	q.qpn = static_cast<uint32_t>(number(w[1], UINT32_MAX));
	q.arrays = {array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(ev))};
	must(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QP_QUERY, q),
	     "qp " + w[1]);
	const auto u64 = [](const char *name, uint64_t v) {
		std::printf("%s %llu\n", name,
			    static_cast<unsigned long long>(v));
	};
	u64("state", q.state);
	u64("dest_qpn", q.dest_qpn);
	std::printf("ev_profile %s\ncc_profile %s\n",
		    show_profile(q.ev_profile).c_str(),
		    show_profile(q.cc_profile).c_str());
	std::printf("cc %.*s\nsched %s\n", MRC_ABI_CC_NAME, q.cc,
		    sched[q.sched_state & 3]);
	u64("cwnd", q.cwnd);
	u64("window", q.window);
	u64("inflight", q.inflight);
	u64("base_rtt", q.base_rtt);
	u64("srtt", q.srtt);
	u64("tx_pkts", q.tx_pkts);
	u64("rtx_pkts", q.rtx_pkts);
	u64("timeouts", q.timeouts);
	std::printf("ports_up 0x%x\npeer_ports 0x%x\n", q.ports_up,
		    q.peer_ports);
	for (uint32_t i = 0; i < std::min<uint32_t>(q.n_ports, MRC_ABI_PORTS);
	     i++)
		std::printf(
			"port_tx %u %u %llu\n", i + 1, q.port_tx[i],
			static_cast<unsigned long long>(q.port_tx_bytes[i]));
	for (uint32_t i = 0; i < std::min<uint32_t>(q.n_evs, 1024); i++)
		std::printf("ev 0x%08x port %u %s drops %u\n", ev[i].entropy,
			    ev[i].port, states[ev[i].state & 3], ev[i].drops);
}
