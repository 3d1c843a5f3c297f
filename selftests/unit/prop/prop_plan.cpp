// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// How schedules are drawn.
#include "prop_plan.hpp"

#include <algorithm>

namespace prop
{

namespace
{

u32 packets(u32 len, u32 pmtu)
{
	return len ? (len + pmtu - 1) / pmtu : 1;
}

// Edges of packetisation and a few longer messages.
u32 random_len(Rng &rng, u32 pmtu)
{
	switch (rng.below(9)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return pmtu - 1;
	case 3:
		return pmtu;
	case 4:
		return pmtu + 1;
	case 5:
		return (u32)rng.range(1, 8) * pmtu;
	case 6:
		return (u32)rng.range(1, 6) * pmtu + (u32)rng.below(4);
	default:
		return (u32)rng.below(3 * pmtu);
	}
}

// Close to the wrap of the 24-bit space more often than not.
u32 random_psn(Rng &rng)
{
	switch (rng.below(4)) {
	case 0:
		return 0;
	case 1:
		return (u32)rng.below(MRC_PSN_MASK + 1);
	default:
		return MRC_PSN_MASK - (u32)rng.below(200);
	}
}

void random_messages(Rng &rng, Plan &p, int dir, u32 budget, u64 span)
{
	u64 at = p.start;
	u32 imm_ppm = rng.pick({0u, 100000u, 500000u, 1000000u});
	bool trickle = rng.chance(300000);

	while (budget) {
		PlanMsg m;

		m.len = random_len(rng, p.pmtu);
		if (budget >= 200 && rng.chance(100000))
			m.len = (u32)rng.range(100, 200) * p.pmtu;
		if (packets(m.len, p.pmtu) > budget)
			m.len = budget * p.pmtu;
		m.imm = rng.chance(imm_ppm);
		m.se = rng.chance(500000);
		if (trickle)
			at += rng.below(span / 8 + 1);
		m.post_at = at;
		budget -= packets(m.len, p.pmtu);
		p.msgs[dir].push_back(m);
	}
}

void random_qp(Rng &rng, Plan &p)
{
	p.start = rng.range(1, 1ull << 40);
	p.pmtu = 256u << rng.below(5);
	p.mpr = (u16)rng.range(1, 8);
	p.sq_depth = 1u << rng.below(7);
	p.dynamic_mpr = rng.chance(500000);
	p.mpr_max = (u16)rng.range(p.mpr, 16);
	p.max_wimm =
		(u16)(rng.chance(300000) ? rng.range(1, 3) : rng.range(1, 64));
	p.max_wimm_dest = (u16)(p.max_wimm + rng.below(3));
	switch (rng.below(4)) {
	case 0: // about one packet
		p.window = p.pmtu + 100;
		break;
	case 1:
		p.window = (u32)rng.range(1, 20) * p.pmtu;
		break;
	case 2:
		p.window = 0;
		break;
	default: // wide enough for the PSN window to be the limit
		p.window = 1u << 24;
		break;
	}
	// Another algorithm is used where the engine has it.
	if (rng.chance(400000))
		p.cc = MRC_CC_NSCC_NAME;
	else if (p.start & 1)
		p.cc = "vegas";
	p.bound_pkts = rng.chance(500000);
	p.line_rate = rng.chance(700000) ? rng.range(1000000, 50000000000) : 0;
	p.ignore_pen = rng.chance(200000);
	p.use_ts = rng.chance(700000);
	p.svc_time = p.use_ts && rng.chance(300000);
	for (bool &trim : p.trim_nack)
		trim = rng.chance(500000);
	p.ipv6 = rng.chance(700000);
	p.resp_paths = rng.chance(800000);
	p.n_ports = (u8)rng.range(1, 4);
	p.n_evs = (u16)rng.range(1, 32);
	if (rng.chance(400000))
		p.set_mode = rng.pick({(u8)MRC_EV_FMT_UDP, (u8)MRC_EV_FMT_STEV,
				       (u8)MRC_EV_FMT_SRV6});
	if (p.set_mode == MRC_EV_FMT_STEV)
		p.ipv6 = true;
	p.rto = rng.range(100000, 4200000);
	p.linear_cnt = (u8)rng.below(8);
	p.base_rtt = rng.range(10000, 200000);
	p.psn[0] = random_psn(rng);
	p.psn[1] = random_psn(rng);
}

void random_network(Rng &rng, Plan &p)
{
	const u32 loss = rng.pick({0u, 1000u, 20000u, 80000u, 200000u});

	for (int side = 0; side < 2; side++) {
		p.loss_ppm[side] = loss ? (u32)rng.below(loss + 1) : 0;
		p.fb_loss_ppm[side] =
			rng.chance(500000) ? (u32)rng.below(200001) : 0;
	}
	p.dup_ppm = rng.chance(500000) ? (u32)rng.below(100001) : 0;
	p.ce_ppm = rng.chance(300000) ? (u32)rng.below(200001) : 0;
	if (rng.chance(400000))
		p.trim_ppm = (u32)rng.below(150001);
	if (rng.chance(100000))
		p.rogue_trim_ppm = (u32)rng.below(20001);
	if (rng.chance(300000))
		p.refuse_ppm = (u32)rng.below(100001);
	p.odd_nack_ppm = rng.chance(500000) ? 300000 : 0;
	for (int port = 1; port <= MRC_MAX_PORTS; port++) {
		p.delay[port] = rng.range(1000, 40000);
		p.jitter[port] = rng.chance(600000) ? rng.below(60000) : 0;
	}
	p.gap = rng.chance(500000) ? rng.range(50, 3000) : 0;
	p.burst_ppm = rng.pick({0u, 500000u, 1000000u});
}

// Other processors place payload, and end in any order.
void random_placement(u64 seed, Plan &p)
{
	Rng rng(seed * 2 + 0xC000001);

	p.place_ppm = rng.pick({0u, 0u, 200000u, 1000000u});
	p.place_time = rng.pick({u64{500}, u64{5000}, u64{100000}});
}

void random_outages(Rng &rng, Plan &p, u64 span)
{
	u64 n = rng.chance(500000) ? rng.range(1, 4) : 0;

	while (n--) {
		Outage o;

		o.kind = rng.pick({Fault::PortDown, Fault::PortDown,
				   Fault::PortBlackhole, Fault::EvBlackhole,
				   Fault::EvBlackhole, Fault::EvDenied,
				   Fault::PeerStatus});
		o.side = (int)rng.below(2);
		o.port = (u8)rng.range(1, p.n_ports);
		o.ev = (u16)rng.below(p.n_evs);
		o.from = p.start + rng.below(span);
		o.to = o.from + rng.range(1000, 4 * span);
		o.tell_peer = rng.chance(600000);
		p.outages.push_back(o);
	}
}

// Ranges that come and go, penalties with and without the window before.
void random_changes(Rng &rng, Plan &p, u64 span)
{
	u64 n;

	if (p.dynamic_mpr)
		for (n = rng.below(12); n; n--)
			p.changes.push_back(
				{Change::Mpr, p.start + rng.below(2 * span),
				 (int)rng.below(2),
				 (u8)rng.range(
					 1, rng.chance(400000) ? 1 : p.mpr_max),
				 false});
	if (rng.chance(250000))
		for (n = rng.range(1, 8); n; n--)
			p.changes.push_back(
				{Change::Penalty, p.start + rng.below(2 * span),
				 (int)rng.below(2),
				 (u8)(rng.chance(300000) ? 0 : rng.below(128)),
				 rng.chance(500000)});
}

} // namespace

u32 Plan::total_packets(int dir) const
{
	u32 n = 0;

	for (const PlanMsg &m : msgs[dir])
		n += packets(m.len, pmtu);
	return n;
}

Plan random_plan(u64 seed)
{
	Rng rng(seed * 2 + 1);
	Plan p;
	u64 span;
	u32 size;

	p.seed = seed;
	random_qp(rng, p);
	random_network(rng, p);
	random_placement(seed, p);
	span = rng.range(50000, 3000000);
	// Mostly short; some fill the PSN window several times.
	size = rng.chance(500000) ? 20 : 80;
	if (rng.chance(120000)) {
		size = 600;
		p.mpr = (u16)rng.range(1, 3);
		p.mpr_max = (u16)rng.range(p.mpr, 8);
		p.sq_depth = std::max(p.sq_depth, 8u);
		if (rng.chance(500000))
			p.window = 1u << 24;
	}
	random_messages(rng, p, 0, (u32)rng.range(1, size), span);
	if (rng.chance(600000))
		random_messages(rng, p, 1, (u32)rng.range(1, size), span);
	random_outages(rng, p, span);
	random_changes(rng, p, span);
	if (rng.chance(400000))
		p.calm_at = p.start + rng.below(3 * span);

	if (rng.chance(50000)) {
		// No timer, as with timeout 0: silence probes find the losses,
		// nothing would replace a lost transport ACK.
		p.rto = 0;
		p.lose_acks = false;
		p.outages.clear();
	} else if (p.outages.empty() && rng.chance(300000)) {
		// A finite budget that random losses cannot plausibly exhaust.
		p.linear_cnt = 7;
		p.exp_cnt = 24;
	}
	return p;
}

Plan error_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x1000001);
	Plan p;
	std::vector<PlanMsg> &msgs = p.msgs[0];

	p.seed = seed;
	random_qp(rng, p);
	random_network(rng, p);
	random_placement(seed, p);
	random_messages(rng, p, 0, (u32)rng.range(3, 60), 100000);
	if (rng.chance(300000))
		random_messages(rng, p, 1, (u32)rng.range(1, 20), 100000);
	random_changes(rng, p, 100000);
	p.lose_naks = rng.chance(200000);
	if (p.lose_naks) {
		p.linear_cnt = 3;
		p.exp_cnt = (u8)rng.below(6);
	}

	if (rng.chance(500000)) {
		// One to three messages carry a key that is refused.
		for (u64 n = rng.range(1, 3); n; n--) {
			PlanMsg &m = msgs[rng.below(msgs.size())];

			m.len = std::max(m.len, 1u);
			m.bad_key = true;
		}
	} else {
		// Fewer receives than WRITE_IMMs.
		u32 imms = 0;

		msgs[rng.below(msgs.size())].imm = true;
		for (const PlanMsg &m : msgs)
			imms += m.imm;
		p.receives[0] = (u32)rng.below(imms);
	}
	return p;
}

Plan attack_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x2000001);
	Plan p = random_plan(seed ^ 0x5A5A5A5A);

	p.seed = seed;
	p.attack_ppm = (u32)rng.range(10000, 1000000);
	if (rng.chance(500000)) {
		p.linear_cnt = (u8)rng.below(4);
		p.exp_cnt = (u8)rng.below(6);
	}
	return p;
}

mrc_paths_cfg Plan::paths_cfg(int side) const
{
	mrc_paths_cfg pc{};

	pc.n_evs = n_evs;
	pc.n_ports = n_ports;
	pc.ipv6 = ipv6;
	pc.trim_nack = trim_nack[side];
	pc.rto = rto;
	pc.base_rtt = base_rtt;
	return pc;
}

mrc_cc_cfg Plan::cc_cfg(int side) const
{
	mrc_cc_cfg cfg{};

	cfg.window = window;
	cfg.base_rtt = base_rtt;
	cfg.line_rate = line_rate;
	cfg.now = start;
	cfg.trim_nack = trim_nack[side];
	return cfg;
}

mrc_req_cfg Plan::req_cfg(int side) const
{
	mrc_req_cfg qc{};

	qc.sq_depth = sq_depth;
	qc.pmtu = pmtu;
	qc.mpr = mpr;
	qc.mpr_max = mpr_max;
	qc.dynamic_mpr = dynamic_mpr;
	qc.max_wimm = max_wimm;
	qc.sq_psn = psn[side];
	qc.qpn = 0x100u + (u32)side;
	qc.dqpn = 0x100u + (u32)(1 - side);
	qc.pkey = MRC_PKEY_DEFAULT;
	qc.rto = rto;
	qc.linear_cnt = linear_cnt;
	qc.exp_cnt = exp_cnt;
	qc.base_rtt = base_rtt;
	qc.use_ts = use_ts;
	qc.trim_nack = trim_nack[side];
	qc.svc_time = svc_time;
	return qc;
}

mrc_resp_cfg Plan::resp_cfg(int side) const
{
	mrc_resp_cfg rc{};

	rc.pmtu = pmtu;
	rc.mpr = mpr;
	rc.mpr_max = mpr_max;
	rc.dynamic_mpr = dynamic_mpr;
	rc.max_wimm = max_wimm_dest;
	rc.rq_psn = psn[1 - side];
	rc.qpn = 0x100u + (u32)side;
	rc.dqpn = 0x100u + (u32)(1 - side);
	rc.pkey = MRC_PKEY_DEFAULT;
	rc.remote_write = true;
	rc.trim_nack = trim_nack[1 - side];
	rc.svc_time = svc_time;
	rc.late_stash = true;
	rc.base_rtt = base_rtt;
	return rc;
}

} // namespace prop
