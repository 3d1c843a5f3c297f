// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Virtual time and the sending side of the shell. The receiving side is in
// prop_recv.cpp, the network in prop_net.cpp.
#include "prop_sim.hpp"

#include <algorithm>

namespace prop
{

namespace
{

constexpr u64 kMaxEvents = 400000;
// No schedule needs more: a dozen of the longest back-off intervals.
constexpr u64 kMaxTime = 3600ull * 1000000000;

} // namespace

Sim::Sim(const Plan &p, bool trace)
	: plan(p), rng_(p.seed * 4 + 3), trace_(trace), strict_(!p.attack_ppm),
	  time_(p.start, 2)
{
	for (u32 port = 0; port <= MRC_MAX_PORTS; port++)
		way_[port] = {.delay = p.delay[port], .jitter = p.jitter[port]};
	for (int side = 0; side < 2; side++)
		dir[side] = std::make_unique<Direction>(plan, side, v_);
	for (int side = 0; side < 2; side++) {
		init_endpoint(side);
		faults[side] = mrc_model::Faults({
			.loss = p.loss_ppm[side],
			.feedback_loss = p.fb_loss_ppm[side],
			.lose_acks = p.lose_acks,
			.lose_naks = p.lose_naks,
			.dup = p.dup_ppm,
			.ce = p.ce_ppm,
			.trim = p.trim_ppm,
			.rogue_trim = p.rogue_trim_ppm,
		});
	}
	for (u32 i = 0; i < plan.outages.size(); i++) {
		const Outage &o = plan.outages[i];

		schedule(o.from, Type::OutageOn, o.side, i);
		schedule(o.to, Type::OutageOff, o.side, i);
	}
	for (u32 i = 0; i < plan.changes.size(); i++)
		schedule(plan.changes[i].at, Type::Change, plan.changes[i].side,
			 i);
	for (int side = 0; side < 2; side++)
		for (const PlanMsg &m : plan.msgs[side])
			schedule(m.post_at, Type::Post, side);
	if (plan.calm_at != MRC_NEVER)
		schedule(plan.calm_at, Type::Calm, 0);
}

// The EVs of a profile, some of them listed several times.
void Sim::make_set(int side)
{
	Rng rng(plan.seed * 8 + 5 + (u64)side);
	std::vector<mrc_evset_src> src(plan.n_evs);
	Endpoint &e = ep[side];

	for (u32 i = 0; i < src.size(); i++) {
		mrc_evset_src &s = src[i];

		if (i >= plan.n_ports && rng.chance(150000)) {
			s = src[rng.below(i)];
			continue;
		}
		s.port = (u8)(i % plan.n_ports + 1);
		// Distinct, with nothing else in common.
		put_unaligned_be32((i + 1) << 16 | (u32)rng.below(0x10000),
				   s.val);
		if (plan.set_mode == MRC_EV_FMT_UDP)
			s.val[2] = s.val[3] = 0;
	}
	e.set_mem = mrc_model::Mem(mrc_evset_mem(plan.n_evs, plan.set_mode));
	if (mrc_evset_init(&e.set, plan.n_evs, plan.set_mode, false,
			   (u16)rng.below(plan.n_evs / 2 + 1), src.data(),
			   plan.seed, e.set_mem.get()))
		fail("a valid set was refused");
}

void Sim::init_endpoint(int side)
{
	Endpoint &e = ep[side];
	mrc_model::QpCfg c;

	e.ctr.n_ports = plan.n_ports;
	e.ports_up = (2u << plan.n_ports) - 2;

	c.paths = plan.paths_cfg(side);
	if (plan.set_mode) {
		make_set(side);
		c.paths.set = &e.set;
	}
	c.paths.seed = plan.seed * 2 + (u64)side;
	c.paths.ctr = &e.ctr;

	c.algorithm = mrc_cc_find(plan.cc);
	c.cc = plan.cc_cfg(side);
	c.cc.mtu = mrc_nominal_size(40, plan.pmtu);
	if (plan.bound_pkts)
		c.cc.max_pkts = MRC_CC_WINDOW_PKTS(plan.window_max());

	c.req = plan.req_cfg(side);
	c.req.ignore_pen = plan.ignore_pen;
	c.req.ctr = &e.ctr;

	c.resp = plan.resp_cfg(side);
	c.resp.seed = plan.seed * 2 + 1 + (u64)side;
	c.resp.ctr = &e.ctr;
	c.resp_paths = plan.resp_paths;
	if (!e.init(c))
		fail("init refused a valid configuration");
}

void Sim::fail(const std::string &what)
{
	if (!v_.failed())
		note("FAIL %s", what.c_str());
	v_.fail(what);
}

void Sim::schedule(u64 at, Type type, int side, u32 which, Packet packet)
{
	time_.at(at, {type, side, which, std::move(packet)});
}

u64 Sim::deadline(int side) const
{
	const Endpoint &e = ep[side];
	u64 at;

	if (e.dead)
		return MRC_NEVER;
	at = mrc_req_deadline(&e.req);
	// The running send loop comes first, as it would under the shell's
	// lock.
	return e.kicked ? std::max(at, e.tx_free) : at;
}

bool Sim::delivered() const
{
	return dir[0]->all_reaped() && dir[1]->all_reaped();
}

bool Sim::step(u64 until)
{
	for (int side = 0; side < 2; side++)
		time_.alarm((u32)side, deadline(side));

	const u64 at = time_.next();

	if (at == MRC_NEVER || at > until)
		return false;
	time_.pass(at);
	if (++events_ > kMaxEvents || now() - plan.start > kMaxTime) {
		fail("no end in sight");
		return false;
	}
	// A forger may claim what was lost as received; no retry helps then.
	if (strict_ && calm && now() > calm_limit_ && !delivered()) {
		fail("a perfect network does not lead to completion");
		return false;
	}
	time_.step(
		until, [this](Event e) { dispatch(e); },
		[this](u32 side) { expire((int)side); });
	return !failed();
}

void Sim::expire(int side)
{
	note("%c deadline", 'A' + side);
	mrc_req_on_deadline(&ep[side].req, now());
	service(side);
	// Whatever was due has been done, or time would stand still.
	if (!ep[side].kicked && deadline(side) <= now())
		fail(strf("%c deadline %llu does not lie ahead", 'A' + side,
			  (unsigned long long)deadline(side)));
}

void Sim::dispatch(Event &e)
{
	switch (e.type) {
	case Type::Arrive:
		arrive(e.side, e.packet);
		break;
	case Type::Kick:
		ep[e.side].kicked = false;
		service(e.side);
		break;
	case Type::Post:
		service(e.side);
		break;
	case Type::OutageOn:
		outage(plan.outages[e.which], true);
		break;
	case Type::OutageOff:
		outage(plan.outages[e.which], false);
		break;
	case Type::Change:
		change(plan.changes[e.which]);
		break;
	case Type::Burst:
		end_burst(e.side);
		break;
	case Type::Placed:
		end_placement(e.side, e.which);
		break;
	case Type::Calm:
		become_calm();
		break;
	}
}

void Sim::run_until(u64 until, const std::function<bool()> &stop)
{
	while (!failed() && !(stop && stop()) && step(until))
		;
}

void Sim::run()
{
	run_until(MRC_NEVER, [this] { return delivered(); });
	if (failed())
		return;
	if (!delivered())
		fail("nothing is scheduled, but not all is delivered");
	settle();
	check_final();
}

void Sim::settle()
{
	const u64 rto = plan.rto ? plan.rto : MRC_EV_RTO_DEFAULT;

	become_calm();
	// Condemned EVs are probed at least once in a second (MRC 1.0 §11.6);
	// two good answers bring each back, after that nothing may be pending.
	run_until(now() + 2 * std::max<u64>(rto, MRC_EV_PROBE_MAX_NS) +
		  10 * rto + 100 * plan.base_rtt);
	for (int side = 0; side < 2 && !failed(); side++)
		if (deadline(side) != MRC_NEVER)
			fail(strf("%c does not become idle", 'A' + side));
	if (time_.events() && plan.outages.empty() && !failed())
		fail("events are left");
}

void Sim::check_final()
{
	if (failed())
		return;
	for (int side = 0; side < 2; side++) {
		const Endpoint &e = ep[side];
		const Endpoint &peer = ep[1 - side];
		const Direction &d = *dir[side];

		dir[side]->check_final();
		if (e.req.inflight || e.req.n_lost || e.req.wimm_out ||
		    e.req.wq_post != e.req.wq_reap)
			fail(strf("%c has something outstanding", 'A' + side));
		if (d.sent && e.req.tack != d.psn_of(d.sent - 1))
			fail(strf("%c lacks a transport ACK", 'A' + side));
		if (e.paths.bad || e.paths.denied)
			fail(strf("%c has bad EVs on good paths", 'A' + side));
		if (peer.resp.ooo || peer.resp.rcvd_bytes != d.nominal)
			fail(strf("%c counts wrongly", 'B' - side));
		if (e.count(MRC_CTR_TX_DATA) != d.sent + d.rtx)
			fail(strf("%c: counter tx_data_pkts is wrong",
				  'A' + side));
		if (peer.count(MRC_CTR_RX_DATA) != d.sent)
			fail(strf("%c: counter rx_data_pkts is wrong",
				  'B' - side));
		if (peer.count(MRC_CTR_RX_WIMM) != d.imms)
			fail(strf("%c: counter rx_write_imm is wrong",
				  'B' - side));
		check_counters(side);
	}
}

// Every packet is counted, and once.
void Sim::check_counters(int side)
{
	const Endpoint &e = ep[side];
	const Tally &t = e.tally;
	const auto sum = [&e](std::initializer_list<mrc_counter> ids) {
		u64 n = 0;

		for (mrc_counter id : ids)
			n += e.count(id);
		return n;
	};
	u64 rx_data = 0;
	const struct {
		const char *what;
		u64 counted, is;
	} all[] = {
		{"tx_rtx", e.count(MRC_CTR_TX_RTX), dir[side]->rtx},
		{"tx_sack", e.count(MRC_CTR_TX_SACK), t.tx[MRC_OP_SACK]},
		{"tx_nack", e.count(MRC_CTR_TX_NACK), t.tx[MRC_OP_NACK]},
		{"tx_ack", sum({MRC_CTR_TX_ACK, MRC_CTR_TX_NAK}),
		 t.tx[MRC_OP_ACK]},
		{"tx_probe", e.count(MRC_CTR_TX_PROBE), t.tx[MRC_OP_PROBE]},
		{"rx_sack", e.count(MRC_CTR_RX_SACK), t.rx[MRC_OP_SACK]},
		{"rx_nack", e.count(MRC_CTR_RX_NACK), t.rx[MRC_OP_NACK]},
		{"rx_nack by reason",
		 sum({MRC_CTR_NACK_TRIMMED, MRC_CTR_NACK_SHORTAGE,
		      MRC_CTR_NACK_WINDOW, MRC_CTR_NACK_FATAL}),
		 t.rx[MRC_OP_NACK]},
		{"rx_ack", sum({MRC_CTR_RX_ACK, MRC_CTR_RX_NAK}),
		 t.rx[MRC_OP_ACK]},
		{"rx_probe", e.count(MRC_CTR_RX_PROBE), t.rx[MRC_OP_PROBE]},
		{"rx_trimmed", e.count(MRC_CTR_RX_TRIMMED), t.rx_trimmed},
		{"rx_ce", e.count(MRC_CTR_RX_CE), t.rx_ce},
		{"rx_refused", e.count(MRC_CTR_RX_REFUSED), t.refused},
		{"rx_penalty", e.count(MRC_CTR_RX_PENALTY),
		 t.rx_penalty},
		{"probe_sack_limited", e.count(MRC_CTR_TRAIN_LIMIT),
		 t.trains_cut},
		{"drops",
		 sum({MRC_CTR_DROP_STALE, MRC_CTR_DROP_STATE, MRC_CTR_RX_OOR}),
		 0},
	};

	for (const auto &c : all)
		if (c.counted != c.is)
			fail(strf("%c counts %s as %llu, not %llu", 'A' + side,
				  c.what, (unsigned long long)c.counted,
				  (unsigned long long)c.is));
	for (u32 op = 0; op < 256; op++)
		if (mrc_op_info((u8)op)->flags & MRC_OPF_DATA)
			rx_data += t.rx[op];
	if (sum({MRC_CTR_RX_DATA, MRC_CTR_RX_DUP, MRC_CTR_RX_REFUSED}) !=
	    rx_data + t.rx_trimmed_dup)
		fail(strf("%c counts received data wrongly", 'A' + side));
	// What was taken for lost was sent again or acknowledged before that.
	if (sum({MRC_CTR_LOSS_SACK, MRC_CTR_LOSS_PROBE, MRC_CTR_LOSS_NACK,
		 MRC_CTR_LOSS_TIMEOUT, MRC_CTR_RTX_LAST_PSN}) < dir[side]->rtx)
		fail(strf("%c retransmits what was not lost", 'A' + side));
}

void Sim::set_ports(int side, u32 mask)
{
	ep[side].ports_up = mask;
	if (ep[side].dead)
		return;
	mrc_req_set_ports(&ep[side].req, mask, now());
	service(side);
}

void Sim::die(int side)
{
	Endpoint &e = ep[side];

	if (e.dead)
		return;
	note("%c QP -> ERROR", 'A' + side);
	e.dead = true;
	e.failed_at = now();
	if (e.req.state != MRC_REQ_ERROR)
		mrc_req_fail(&e.req, -1, MRC_WC_FLUSH);
}

void Sim::reap(int side)
{
	enum mrc_wc_status status;
	u32 slot;

	while (mrc_req_reap(&ep[side].req, &slot, &status)) {
		note("%c completion slot %u status %d", 'A' + side, slot,
		     (int)status);
		if (!sabotage(Sabotage::LoseCompletion))
			dir[side]->on_reap(slot, status);
	}
	if (strict_)
		dir[side]->check_reaped();
}

void Sim::post(int side)
{
	Endpoint &e = ep[side];
	Direction &d = *dir[side];

	while (d.may_post(now()) && mrc_req_can_post(&e.req)) {
		mrc_wr wr = d.make_wr();
		int slot = mrc_req_post(&e.req, &wr, now());

		note("%c post %s len %u slot %d", 'A' + side,
		     wr.op == MRC_WR_WRITE ? "WRITE" : "WRITE_IMM", wr.len,
		     slot);
		d.on_posted(slot);
		if (e.dead)
			reap(side);
	}
}

// Completions, posts, then the send loop until it has nothing or the link is
// busy: what the shell does after every event.
void Sim::service(int side)
{
	Endpoint &e = ep[side];
	const u32 limit = plan.window_max() + 2u * e.paths.n + 16;
	enum mrc_tx_verdict verdict = MRC_TX_IDLE;
	mrc_tx_desc desc;
	u32 n = 0;

	if (e.req.state == MRC_REQ_ERROR)
		die(side);
	reap(side);
	post(side);
	while (!e.dead && !failed() && now() >= e.tx_free) {
		verdict = mrc_req_next(&e.req, now(), &desc);
		if (verdict != MRC_TX_PACKET)
			break;
		transmit(side, desc);
		if (plan.gap)
			e.tx_free = now() + plan.gap;
		if (++n > limit) {
			fail(strf("%c sends without end", 'A' + side));
			break;
		}
	}
	if (!e.dead && now() < e.tx_free && !e.kicked) {
		e.kicked = true;
		schedule(e.tx_free, Type::Kick, side);
	}
	check_after(side, now() >= e.tx_free);
}

void Sim::check_after(int side, bool drained)
{
	const Endpoint &e = ep[side];
	const Direction &d = *dir[side];
	const char *bad = mrc_req_check(&e.req);
	const u32 one = mrc_nominal_size(40, plan.pmtu);
	u64 at;

	if (failed())
		return;
	if (bad)
		fail(strf("%c requester: %s", 'A' + side, bad));
	bad = mrc_resp_check(&e.resp);
	if (bad)
		fail(strf("%c responder: %s", 'A' + side, bad));
	at = mrc_req_deadline(&e.req);
	if (e.dead) {
		if (at != MRC_NEVER || e.req.inflight ||
		    e.req.wq_reap != e.req.wq_post)
			fail(strf("%c is dead but not quiet", 'A' + side));
		return;
	}
	if (drained && plan.rto && at == MRC_NEVER &&
	    e.req.wq_done != e.req.wq_post)
		fail(strf("%c has work but no deadline", 'A' + side));
	if (e.cc.ops == &mrc_cc_none &&
	    e.req.inflight > std::max(e.cc.cwnd, one))
		fail(strf("%c has %llu bytes in flight, window %u", 'A' + side,
			  (unsigned long long)e.req.inflight, e.cc.cwnd));
	if (!strict_)
		return;
	if (e.req.next_psn != d.psn_of(d.sent))
		fail(strf("%c next_psn is %06x after %u packets", 'A' + side,
			  e.req.next_psn, d.sent));
	if (e.req.wimm_out != d.wimm_out)
		fail(strf("%c wimm_out is %u, not %u", 'A' + side,
			  e.req.wimm_out, d.wimm_out));
	if (dir[1 - side]->psn_of(dir[1 - side]->cum) !=
	    mrc_psn_add(e.resp.cack, 1))
		fail(strf("%c cack_psn is %06x after %u packets", 'A' + side,
			  e.resp.cack, dir[1 - side]->cum));
}

// MRC 1.0 §11.5: which EVs a packet of the requester may use.
void Sim::check_usable(int side, const mrc_tx_desc &d)
{
	const mrc_paths &p = ep[side].paths;
	u8 state;

	if (d.ev < 0 || d.ev >= p.n || mrc_paths_port(&p, d.ev) != d.port ||
	    mrc_paths_entropy(&p, d.ev) != d.entropy) {
		fail(strf("%c sends on an unknown EV", 'A' + side));
		return;
	}
	state = mrc_paths_state(&p, d.ev);
	if (!mrc_paths_port_up(&p, d.port) ||
	    !(ep[side].ports_up >> d.port & 1))
		fail(strf("%c sends through port %u which is down", 'A' + side,
			  d.port));
	if (state == MRC_EV_DENIED)
		fail(strf("%c uses a denied EV", 'A' + side));
	if (!d.data)
		return;
	// GOOD when it was picked; a path that is marked again and again rests after each
	// packet.
	if (state == MRC_EV_SKIP && p.ev[d.ev].skip.level <= MRC_EV_SKIP_FREE)
		fail(strf("%c sends data on an EV in SKIP", 'A' + side));
	if (state != MRC_EV_ASSUMED_BAD && mrc_paths_port_ok(&p, d.port))
		return;
	// Bad ones, and ports that the peer called down, if there is nothing else.
	for (u16 i = 0; i < p.n; i++) {
		if ((mrc_paths_state(&p, i) == MRC_EV_GOOD ||
		     mrc_paths_state(&p, i) == MRC_EV_SKIP) &&
		    mrc_paths_port_ok(&p, mrc_paths_port(&p, i))) {
			fail(strf("%c uses EV %d which it should avoid, "
				  "%u is usable",
				  'A' + side, d.ev, i));
			return;
		}
	}
}

void Sim::transmit(int side, const mrc_tx_desc &desc)
{
	mrc_tx_desc d = desc;

	if (on_desc)
		on_desc(side, d);
	if (d.data && d.hdr.rtx && sabotage(Sabotage::ResendAsNew))
		d.hdr.rtx = false;

	Packet p(d, plan.ipv6);

	if (p.bytes.empty() || mrc_hdr_len(&d.hdr) != d.hdr.hdr_len) {
		fail("header length is inconsistent");
		return;
	}
	ep[side].tally.tx[p.opcode()]++;
	note("%c tx %s", 'A' + side, describe(p).c_str());
	check_usable(side, d);
	if (d.data) {
		if (strict_ && !dir[side]->on_tx(d, now()))
			return;
		dir[side]->payload(d, &p.bytes[d.hdr.hdr_len]);
	} else if (d.hdr.opcode != MRC_OP_PROBE || !d.ect ||
		   d.tc != (plan.trim_nack[side] ? MRC_TC_TRIMMABLE
						 : MRC_TC_DATA) ||
		   d.hdr.dqp != 0x100u + (u32)(1 - side)) {
		fail(strf("%c sends a wrong probe", 'A' + side));
	}
	network(side, std::move(p));
}

} // namespace prop
