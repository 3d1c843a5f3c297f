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
	  now_(p.start)
{
	for (int side = 0; side < 2; side++)
		dir[side] = std::make_unique<Direction>(plan, side, v_);
	for (int side = 0; side < 2; side++)
		init_endpoint(side);
	for (u32 i = 0; i < plan.outages.size(); i++) {
		const Outage &o = plan.outages[i];

		schedule(o.from, Type::OutageOn, o.side, i);
		schedule(o.to, Type::OutageOff, o.side, i);
	}
	for (int side = 0; side < 2; side++)
		for (const PlanMsg &m : plan.msgs[side])
			schedule(m.post_at, Type::Post, side);
	if (plan.calm_at != MRC_NEVER)
		schedule(plan.calm_at, Type::Calm, 0);
}

void Sim::init_endpoint(int side)
{
	Endpoint &e = ep[side];
	mrc_paths_cfg pc{};
	mrc_cc_cfg cc{};
	mrc_req_cfg qc{};
	mrc_resp_cfg rc{};
	bool ok = true;

	e.ctr.n_ports = plan.n_ports;
	e.ports_up = (2u << plan.n_ports) - 2;

	pc.n_evs = plan.n_evs;
	pc.n_ports = plan.n_ports;
	pc.ipv6 = plan.ipv6;
	pc.trim_nack = plan.trim_nack;
	pc.rto = plan.rto;
	pc.base_rtt = plan.base_rtt;
	pc.seed = plan.seed * 2 + (u64)side;
	pc.ctr = &e.ctr;
	e.paths_mem = mrc_test::EngineMem(mrc_paths_mem(&pc));
	ok &= !mrc_paths_init(&e.paths, &pc, e.paths_mem.get());

	cc.window = plan.window;
	cc.mtu = mrc_nominal_size(40, plan.pmtu);
	cc.base_rtt = plan.base_rtt;
	cc.trim_nack = plan.trim_nack;
	mrc_cc_init(&e.cc, mrc_cc_find(plan.cc), &cc);

	qc.sq_depth = plan.sq_depth;
	qc.pmtu = plan.pmtu;
	qc.mpr = plan.mpr;
	qc.max_wimm = plan.max_wimm;
	qc.sq_psn = plan.psn[side];
	qc.qpn = 0x100u + (u32)side;
	qc.dqpn = 0x100u + (u32)(1 - side);
	qc.pkey = MRC_PKEY_DEFAULT;
	qc.rto = plan.rto;
	qc.linear_cnt = plan.linear_cnt;
	qc.exp_cnt = plan.exp_cnt;
	qc.base_rtt = plan.base_rtt;
	qc.use_ts = plan.use_ts;
	qc.trim_nack = plan.trim_nack;
	qc.ctr = &e.ctr;
	e.req_mem = mrc_test::EngineMem(mrc_req_mem(&qc));
	ok &= !mrc_req_init(&e.req, &qc, &e.paths, &e.cc, e.req_mem.get());

	rc.pmtu = plan.pmtu;
	rc.mpr = plan.mpr;
	rc.max_wimm = plan.max_wimm;
	rc.rq_psn = plan.psn[1 - side];
	rc.qpn = qc.qpn;
	rc.dqpn = qc.dqpn;
	rc.pkey = MRC_PKEY_DEFAULT;
	rc.remote_write = true;
	rc.trim_nack = plan.trim_nack;
	rc.base_rtt = plan.base_rtt;
	rc.ctr = &e.ctr;
	e.resp_mem = mrc_test::EngineMem(mrc_resp_mem(&rc));
	ok &= !mrc_resp_init(&e.resp, &rc, plan.resp_paths ? &e.paths : nullptr,
			     e.resp_mem.get());
	if (!ok)
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
	queue_.push_back({at, seq_++, type, side, which, std::move(packet)});
	std::push_heap(queue_.begin(), queue_.end());
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
	u64 at = queue_.empty() ? MRC_NEVER : queue_.front().at;
	int side = -1;

	for (int i = 0; i < 2; i++) {
		if (deadline(i) < at) {
			at = deadline(i);
			side = i;
		}
	}
	if (at == MRC_NEVER || at > until)
		return false;
	now_ = std::max(now_, at);
	if (++events_ > kMaxEvents || now_ - plan.start > kMaxTime) {
		fail("no end in sight");
		return false;
	}
	// A forger may claim what was lost as received; no retry helps then.
	if (strict_ && calm && now_ > calm_limit_ && !delivered()) {
		fail("a perfect network does not lead to completion");
		return false;
	}
	if (side >= 0) {
		note("%c deadline", 'A' + side);
		mrc_req_on_deadline(&ep[side].req, now_);
		service(side);
		// Whatever was due has been done, or time would stand still.
		if (!ep[side].kicked && deadline(side) <= now_)
			fail(strf("%c deadline %llu does not lie ahead",
				  'A' + side,
				  (unsigned long long)deadline(side)));
		return !failed();
	}
	std::pop_heap(queue_.begin(), queue_.end());

	Event e = std::move(queue_.back());

	queue_.pop_back();
	dispatch(e);
	return !failed();
}

void Sim::dispatch(Event &e)
{
	switch (e.type) {
	case Type::Arrive:
		arrive(e.side, std::move(e.packet));
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
	run_until(now_ + 2 * std::max<u64>(rto, MRC_EV_PROBE_MAX_NS) +
		  10 * rto + 100 * plan.base_rtt);
	for (int side = 0; side < 2 && !failed(); side++)
		if (deadline(side) != MRC_NEVER)
			fail(strf("%c does not become idle", 'A' + side));
	if (!queue_.empty() && plan.outages.empty() && !failed())
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
	}
}

void Sim::set_ports(int side, u32 mask)
{
	ep[side].ports_up = mask;
	if (ep[side].dead)
		return;
	mrc_req_set_ports(&ep[side].req, mask, now_);
	service(side);
}

void Sim::die(int side)
{
	Endpoint &e = ep[side];

	if (e.dead)
		return;
	note("%c QP -> ERROR", 'A' + side);
	e.dead = true;
	e.failed_at = now_;
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

	while (d.may_post(now_) && mrc_req_can_post(&e.req)) {
		mrc_wr wr = d.make_wr();
		int slot = mrc_req_post(&e.req, &wr, now_);

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
	const u32 limit = plan.mpr * 128u + 2u * e.paths.n + 16;
	enum mrc_tx_verdict verdict = MRC_TX_IDLE;
	mrc_tx_desc desc;
	u32 n = 0;

	if (e.req.state == MRC_REQ_ERROR)
		die(side);
	reap(side);
	post(side);
	while (!e.dead && !failed() && now_ >= e.tx_free) {
		verdict = mrc_req_next(&e.req, now_, &desc);
		if (verdict != MRC_TX_PACKET)
			break;
		transmit(side, desc);
		if (plan.gap)
			e.tx_free = now_ + plan.gap;
		if (++n > limit) {
			fail(strf("%c sends without end", 'A' + side));
			break;
		}
	}
	if (!e.dead && now_ < e.tx_free && !e.kicked) {
		e.kicked = true;
		schedule(e.tx_free, Type::Kick, side);
	}
	check_after(side, now_ >= e.tx_free);
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

	if (d.ev < 0 || d.ev >= p.n || p.ev[d.ev].port != d.port ||
	    p.ev[d.ev].entropy != d.entropy) {
		fail(strf("%c sends on an unknown EV", 'A' + side));
		return;
	}
	state = p.ev[d.ev].state;
	if (!mrc_paths_port_ok(&p, d.port) ||
	    !(ep[side].ports_up >> d.port & 1))
		fail(strf("%c sends through port %u which is down", 'A' + side,
			  d.port));
	if (state == MRC_EV_DENIED)
		fail(strf("%c uses a denied EV", 'A' + side));
	if (!d.data)
		return;
	if (state == MRC_EV_SKIP)
		fail(strf("%c sends data on an EV in SKIP", 'A' + side));
	if (state != MRC_EV_ASSUMED_BAD)
		return;
	for (u16 i = 0; i < p.n; i++) {
		if ((p.ev[i].state == MRC_EV_GOOD ||
		     p.ev[i].state == MRC_EV_SKIP) &&
		    mrc_paths_port_ok(&p, p.ev[i].port)) {
			fail(strf("%c uses bad EV %d, %u is usable", 'A' + side,
				  d.ev, i));
			return;
		}
	}
}

void Sim::transmit(int side, const mrc_tx_desc &desc)
{
	mrc_tx_desc d = desc;
	Packet p;
	u32 n;

	if (on_desc)
		on_desc(side, d);
	if (d.data && d.hdr.rtx && sabotage(Sabotage::ResendAsNew))
		d.hdr.rtx = false;
	p.bytes.assign(mrc_hdr_len(&d.hdr) + d.len + d.hdr.pad + MRC_ICRC_LEN,
		       0);
	n = mrc_hdr_build(&d.hdr, p.bytes.data(), (u32)p.bytes.size());
	if (n != mrc_hdr_len(&d.hdr) || n != d.hdr.hdr_len)
		fail("header length is inconsistent");
	p.port = d.port;
	p.entropy = plan.ipv6 ? d.entropy : d.entropy & 0xFFFF;
	note("%c tx %s", 'A' + side, describe(p).c_str());
	check_usable(side, d);
	if (d.data) {
		if (strict_ && !dir[side]->on_tx(d, now_))
			return;
		dir[side]->payload(d, &p.bytes[n]);
	} else if (d.hdr.opcode != MRC_OP_PROBE || d.tc != MRC_TC_DATA ||
		   !d.ect || d.hdr.dqp != 0x100u + (u32)(1 - side)) {
		fail(strf("%c sends a wrong probe", 'A' + side));
	}
	network(side, std::move(p));
}

} // namespace prop
