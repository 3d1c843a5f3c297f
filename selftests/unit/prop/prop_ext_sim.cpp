// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Two sides with two pairs of engines each, and the network between them.
#include <algorithm>

#include "prop_ext.hpp"

namespace prop
{

namespace
{

constexpr u64 kMaxEvents = 300000;
constexpr u64 kMaxTime = 600ull * 1000000000;

} // namespace

ExtSim::ExtSim(const ExtPlan &plan, bool trace)
	: plan_(plan), rng_(plan.net.seed * 4 + 1), trace_(trace),
	  now_(plan.net.start)
{
	for (int side = 0; side < 2; side++)
		flow_[side] = plan_.attacker == ExtAttacker::OnPath
				      ? std::make_unique<ExtAttacked>(
						plan_, side, v_)
				      : std::make_unique<ExtFlow>(plan_, side,
								  v_);
	for (int side = 0; side < 2; side++) {
		for (int chan = 0; chan < 2; chan++)
			init_half(side, chan);
		for (const ExtOp &o : plan_.ops[side])
			schedule(o.post_at, Type::Kick, side);
		ports_up_[side] = (2u << plan_.net.n_ports) - 2;
	}
	for (u32 i = 0; i < plan_.net.outages.size(); i++) {
		const Outage &o = plan_.net.outages[i];

		schedule(o.from, Type::OutageOn, o.side, i);
		schedule(o.to, Type::OutageOff, o.side, i);
	}
	schedule(plan_.net.calm_at == MRC_NEVER ? now_ + 20000000
						: plan_.net.calm_at,
		 Type::Calm, 0);
}

// @chan: answers to the peer's requests go out, answers to own ones come in.
void ExtSim::init_half(int side, int chan)
{
	const Plan &p = plan_.net;
	const bool ext =
		plan_.fault < 0 || side == 0 ||
		plan_.ops[0][(u32)plan_.fault].fault != ExtFault::NoExt;
	const bool atomics =
		plan_.fault < 0 || side == 0 ||
		plan_.ops[0][(u32)plan_.fault].fault != ExtFault::NotAllowed;
	Half &e = side_[side].half[chan];
	mrc_paths_cfg pc = p.paths_cfg(side);
	mrc_cc_cfg cc = p.cc_cfg(side);
	mrc_req_cfg qc = p.req_cfg(side);
	mrc_resp_cfg rc = p.resp_cfg(side);
	bool ok = true;

	e.ctr.n_ports = p.n_ports;
	pc.seed = p.seed * 4 + (u64)side * 2 + (u64)chan;
	pc.ctr = &e.ctr;
	e.paths_mem = mrc_test::EngineMem(mrc_paths_mem(&pc));
	ok &= !mrc_paths_init(&e.paths, &pc, e.paths_mem.get());

	cc.mtu = mrc_nominal_size(56, p.pmtu);
	mrc_cc_init(&e.cc, mrc_cc_find(p.cc), &cc);

	// Room for all answers that the responder may want to give.
	rc.ext = true;
	rc.max_rd = plan_.max_dest[1 - side];
	side_[side].answers.resize(mrc_resp_rd_slots(&rc));
	if (chan) {
		qc.sq_depth = mrc_resp_rd_slots(&rc);
		qc.sq_psn = p.psn[1 - side] ^ 0x800000;
		rc.rq_psn = p.psn[side] ^ 0x800000;
	}
	qc.ext = true;
	qc.chan = chan;
	qc.max_rd_atomic = chan ? 0 : plan_.max_rd[side];
	qc.rnr_retry = plan_.rnr_retry;
	qc.rev = &e.resp.rev;
	qc.ctr = &e.ctr;
	e.req_mem = mrc_test::EngineMem(mrc_req_mem(&qc));
	ok &= !mrc_req_init(&e.req, &qc, &e.paths, &e.cc, e.req_mem.get());

	rc.remote_read = true;
	rc.remote_atomic = atomics;
	rc.remote_flush = true;
	rc.ext = ext;
	rc.chan = chan && ext;
	rc.max_rd = chan ? plan_.max_rd[side] : plan_.max_dest[1 - side];
	rc.late_rd = true;
	rc.seed = p.seed * 8 + 1 + (u64)side * 2 + (u64)chan;
	rc.ctr = &e.ctr;
	e.resp_mem = mrc_test::EngineMem(mrc_resp_mem(&rc));
	ok &= !mrc_resp_init(&e.resp, &rc, p.resp_paths ? &e.paths : nullptr,
			     e.resp_mem.get());
	if (!ok)
		fail("init refused a valid configuration");
}

void ExtSim::fail(const std::string &what)
{
	if (!v_.failed())
		note("FAIL %s", what.c_str());
	v_.fail(what);
}

void ExtSim::note(const char *fmt, ...)
{
	va_list ap;

	if (!trace_)
		return;
	std::fprintf(stderr, "%14llu ", (unsigned long long)now_);
	va_start(ap, fmt);
	std::vfprintf(stderr, fmt, ap);
	va_end(ap);
	std::fputc('\n', stderr);
}

// True once, after the planned number of eligible events.
bool ExtSim::sabotage(ExtSabotage which)
{
	if (plan_.sabotage != which || sabotaged_ ||
	    spared_++ < plan_.sabotage_after)
		return false;
	sabotaged_ = true;
	note("sabotage");
	return true;
}

void ExtSim::schedule(u64 at, Type type, int side, u32 which, Packet packet)
{
	queue_.push_back({at, seq_++, type, side, which, std::move(packet)});
	std::push_heap(queue_.begin(), queue_.end());
}

u64 ExtSim::deadline(int side) const
{
	const Side &s = side_[side];
	u64 at;

	if (s.dead)
		return MRC_NEVER;
	at = std::min(mrc_req_deadline(&s.half[0].req),
		      mrc_req_deadline(&s.half[1].req));
	// The running send loop comes first, as under the shell's lock.
	return s.kicked ? std::max(at, s.tx_free) : at;
}

bool ExtSim::finished() const
{
	// The peer of a queue pair that died may wait for ever.
	if (plan_.fault >= 0 && side_[0].dead)
		return flow_[0]->all_reaped();
	if (!flow_[0]->all_reaped() || !flow_[1]->all_reaped())
		return false;
	// Until the answers are acknowledged too, all is well if it is quiet.
	for (const Side &s : side_)
		if (!s.dead && (!s.waiting.empty() ||
				s.half[1].req.wq_post != s.half[1].req.wq_reap))
			return false;
	return true;
}

bool ExtSim::step()
{
	u64 at = queue_.empty() ? MRC_NEVER : queue_.front().at;
	int side = -1;

	for (int i = 0; i < 2; i++) {
		if (deadline(i) < at) {
			at = deadline(i);
			side = i;
		}
	}
	if (at == MRC_NEVER)
		return false;
	now_ = std::max(now_, at);
	if (++events_ > kMaxEvents || now_ - plan_.net.start > kMaxTime ||
	    now_ > calm_limit_) {
		fail("a perfect network does not lead to completion");
		return false;
	}
	if (side >= 0) {
		note("%c deadline", 'A' + side);
		for (Half &h : side_[side].half)
			if (mrc_req_deadline(&h.req) <= now_)
				mrc_req_on_deadline(&h.req, now_);
		service(side);
		if (!side_[side].kicked && deadline(side) <= now_)
			fail(strf("%c deadline does not lie ahead",
				  'A' + side));
		return !failed();
	}
	std::pop_heap(queue_.begin(), queue_.end());

	Event e = std::move(queue_.back());

	queue_.pop_back();
	switch (e.type) {
	case Type::Arrive:
		arrive(e.side, std::move(e.packet));
		break;
	case Type::Kick:
		side_[e.side].kicked = false;
		service(e.side);
		break;
	case Type::OutageOn:
		outage(plan_.net.outages[e.which], true);
		break;
	case Type::OutageOff:
		outage(plan_.net.outages[e.which], false);
		break;
	case Type::Calm:
		become_calm();
		break;
	}
	return !failed();
}

// A link that is down, or a plane that swallows what one side sends.
void ExtSim::outage(const Outage &o, bool on)
{
	const u32 bit = 1u << o.port;
	u32 &map = o.kind == Fault::PortBlackhole ? blackholed_[o.side]
						  : ports_up_[o.side];

	if (calm_)
		return;
	if (on == (o.kind == Fault::PortBlackhole))
		map |= bit;
	else
		map &= ~bit;
	if (o.kind == Fault::PortBlackhole || side_[o.side].dead)
		return;
	for (Half &h : side_[o.side].half)
		mrc_req_set_ports(&h.req, map, now_);
	service(o.side);
}

// From now on nothing is lost.
void ExtSim::become_calm()
{
	note("calm");
	calm_ = true;
	calm_limit_ = now_ + 120ull * 1000000000;
	for (int side = 0; side < 2; side++) {
		ports_up_[side] = (2u << plan_.net.n_ports) - 2;
		blackholed_[side] = 0;
		if (side_[side].dead)
			continue;
		for (Half &h : side_[side].half)
			mrc_req_set_ports(&h.req, ports_up_[side], now_);
		service(side);
	}
}

void ExtSim::run(const std::function<void()> &look)
{
	while (!failed() && !finished() && step())
		if (look)
			look();
	if (!failed() && !finished())
		fail("nothing is scheduled, but not all is completed");
}

bool ExtSim::lost(int from, const Packet &p)
{
	const Plan &n = plan_.net;

	if (!(ports_up_[from] >> p.port & 1) ||
	    !(ports_up_[1 - from] >> p.port & 1) ||
	    blackholed_[from] >> p.port & 1)
		return true;
	return rng_.chance(p.control() ? n.fb_loss_ppm[from]
				       : n.loss_ppm[from]);
}

void ExtSim::network(int from, Packet p)
{
	const Plan &n = plan_.net;
	u64 delay = n.delay[p.port];

	if (n.jitter[p.port] && !calm_)
		delay += rng_.below(n.jitter[p.port]);
	if (on_send && !on_send(from, p, delay))
		return;
	if (!calm_) {
		const bool nak =
			p.opcode() == MRC_OP_ACK && p.bytes[12] != MRC_SYN_ACK;

		if (!nak && lost(from, p)) {
			note("%c lost %s", 'A' + from, describe(p).c_str());
			return;
		}
		if (!p.control() && rng_.chance(n.ce_ppm))
			p.ce = true;
		if (p.data() && rng_.chance(n.trim_ppm)) {
			if (p.tc != MRC_TC_TRIMMABLE &&
			    p.tc != MRC_TC_TRIMMABLE_RETX)
				return;
			p.bytes.resize(std::min<std::size_t>(
				p.bytes.size(),
				rng_.pick({12u, 16u, 20u, 24u})));
			p.trim = rng_.chance(500000) ? MRC_TRIM_TRIMMED
						     : MRC_TRIM_LASTHOP;
		}
		if (rng_.chance(n.dup_ppm))
			schedule(now_ + delay + rng_.below(200000),
				 Type::Arrive, 1 - from, 0, p);
	}
	schedule(now_ + delay, Type::Arrive, 1 - from, 0, std::move(p));
}

void ExtSim::arrive(int to, Packet p)
{
	const u32 size = (u32)p.bytes.size();
	Side &s = side_[to];
	enum mrc_drop drop;
	mrc_hdr h{};
	u32 flags;

	if (s.dead)
		return;
	drop = p.trim ? mrc_hdr_parse_trimmed(p.bytes.data(), size, &h)
		      : mrc_hdr_parse(p.bytes.data(), size, size, &h);
	if (drop) {
		if (!p.forged)
			fail(strf("parse dropped a genuine packet: %d", drop));
		return;
	}
	note("%c rx %s%s", 'A' + to, describe(p).c_str(),
	     h.chan ? " chan" : "");

	mrc_req &req = s.half[h.chan].req;

	flags = mrc_op_info(h.opcode)->flags;
	if (flags & MRC_OPF_TO_REQ) {
		if (h.opcode == MRC_OP_SACK)
			mrc_req_on_sack(&req, &h, p.port, now_);
		else if (h.opcode == MRC_OP_NACK)
			mrc_req_on_nack(&req, &h, p.port, now_);
		else
			mrc_req_on_ack(&req, &h, p.port, now_);
	} else if (flags & MRC_OPF_DATA) {
		receive_data(to, p, h);
	} else if (flags & MRC_OPF_TO_RESP) {
		mrc_rx rx{&h, p.entropy, p.port, p.ce, p.trim, now_};

		mrc_resp_on_probe(&s.half[h.chan].resp, &rx, now_);
		feedback(to, h.chan);
	}
	if (!p.forged && plan_.attacker != ExtAttacker::None) {
		seen_[to].push_back(std::move(p));
		if (rng_.chance(plan_.attack_ppm))
			forge(to);
	}
	if (!failed())
		service(to);
}

void ExtSim::check_final()
{
	for (int side = 0; side < 2 && !failed(); side++) {
		flow_[side]->check_final();
		if (side_[side].dead)
			fail(strf("%c died", 'A' + side));
	}
}

// What an exterror schedule must end with.
void ExtSim::check_error()
{
	const int at = plan_.fault;
	ExtFault fault;
	bool ended = false;
	int want;

	if (failed() || at < 0)
		return;
	fault = plan_.ops[0][(u32)at].fault;
	want = fault == ExtFault::BadKey      ? MRC_WC_REM_ACCESS
	       : fault == ExtFault::NoReceive ? MRC_WC_RNR_RETRY_EXC
					      : MRC_WC_REM_INV_REQ;
	if (!side_[0].dead)
		fail("no error");
	for (std::size_t i = 0; i < flow_[0]->ops.size(); i++) {
		const ExtFlow::Op &m = flow_[0]->ops[i];
		bool ok;

		// These two do not wait for what comes before them, and the
		// first is refused wherever the opcode is seen first.
		if (fault == ExtFault::NoExt || fault == ExtFault::NoReceive) {
			ok = ended ? m.status == MRC_WC_FLUSH
				   : m.status == MRC_WC_SUCCESS ||
					     m.status == MRC_WC_FLUSH;
			if (!ended && m.status == want && (int)i >= at) {
				ended = true;
				ok = m.plan.request() || m.plan.consumes();
			}
			if (!ended && m.status == MRC_WC_SUCCESS &&
			    (int)i >= at)
				ok = false;
		} else {
			ok = m.status == ((int)i < at	? MRC_WC_SUCCESS
					  : (int)i > at ? MRC_WC_FLUSH
							: want);
			ended |= (int)i == at;
		}
		if (!ok)
			fail(strf("operation %zu ended with status %d after an "
				  "error of %d",
				  i, m.status, at));
	}
	if (!ended)
		fail("nothing failed");
	ended = false;
	for (const ExtFlow::Op &m : flow_[1]->ops) {
		if (m.status == MRC_WC_SUCCESS && ended)
			fail("success after an error");
		ended |= m.status > MRC_WC_SUCCESS;
	}
}

} // namespace prop
