// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Two sides with two pairs of engines each, and the network between them: the
// model's hosts, links and time.
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
	  time_(plan.net.start, 2)
{
	const Plan &p = plan_.net;

	for (u32 port = 0; port <= MRC_MAX_PORTS; port++)
		way_[port] = {.delay = p.delay[port], .jitter = p.jitter[port]};
	for (int side = 0; side < 2; side++)
		flow_[side] = plan_.attacker == ExtAttacker::OnPath
				      ? std::make_unique<ExtAttacked>(
						plan_, side, v_)
				      : std::make_unique<ExtFlow>(plan_, side,
								  v_);
	for (int side = 0; side < 2; side++) {
		for (int ans = 0; ans < 2; ans++)
			init_half(side, ans);
		for (const ExtOp &o : plan_.ops[side])
			schedule(o.post_at, Type::Kick, side);
		ports_up_[side] = (2u << p.n_ports) - 2;
		faults_[side] = mrc_model::Faults({
			.loss = p.loss_ppm[side],
			.feedback_loss = p.fb_loss_ppm[side],
			.dup = p.dup_ppm,
			.ce = p.ce_ppm,
			.trim = p.trim_ppm,
		});
	}
	for (u32 i = 0; i < p.outages.size(); i++) {
		const Outage &o = p.outages[i];

		schedule(o.from, Type::OutageOn, o.side, i);
		schedule(o.to, Type::OutageOff, o.side, i);
	}
	schedule(p.calm_at == MRC_NEVER ? now() + 20000000 : p.calm_at,
		 Type::Calm, 0);
}

// @ans: answers to the peer's requests go out, answers to own ones come in.
void ExtSim::init_half(int side, int ans)
{
	const Plan &p = plan_.net;
	const bool ext =
		plan_.fault < 0 || side == 0 ||
		plan_.ops[0][(u32)plan_.fault].fault != ExtFault::NoExt;
	const bool atomics =
		plan_.fault < 0 || side == 0 ||
		plan_.ops[0][(u32)plan_.fault].fault != ExtFault::NotAllowed;
	Half &e = side_[side].half[ans];
	mrc_model::QpCfg c;
	mrc_req_cfg &qc = c.req;
	mrc_resp_cfg &rc = c.resp;

	e.ctr.n_ports = p.n_ports;
	c.paths = p.paths_cfg(side);
	c.paths.seed = p.seed * 4 + (u64)side * 2 + (u64)ans;
	c.paths.ctr = &e.ctr;

	c.algorithm = mrc_cc_find(p.cc);
	c.cc = p.cc_cfg(side);
	c.cc.mtu = mrc_nominal_size(56, p.pmtu);

	// Room for all answers that the responder may want to give.
	qc = p.req_cfg(side);
	rc = p.resp_cfg(side);
	rc.ext = true;
	rc.max_rd = plan_.max_dest[1 - side];
	side_[side].answers.resize(mrc_resp_rd_slots(&rc));
	if (ans) {
		qc.sq_depth = mrc_resp_rd_slots(&rc);
		qc.sq_psn = p.psn[1 - side] ^ 0x800000;
		rc.rq_psn = p.psn[side] ^ 0x800000;
	}
	qc.ext = true;
	qc.ans = ans;
	qc.max_rd_atomic = ans ? 0 : plan_.max_rd[side];
	qc.rnr_retry = plan_.rnr_retry;
	qc.ctr = &e.ctr;

	rc.remote_read = true;
	rc.remote_atomic = atomics;
	rc.remote_flush = true;
	rc.ext = ext;
	rc.ans = ans && ext;
	rc.max_rd = ans ? plan_.max_rd[side] : plan_.max_dest[1 - side];
	rc.late_rd = true;
	rc.seed = p.seed * 8 + 1 + (u64)side * 2 + (u64)ans;
	rc.ctr = &e.ctr;
	c.resp_paths = p.resp_paths;
	if (!e.init(c))
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
	std::fprintf(stderr, "%14llu ", (unsigned long long)now());
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
	time_.at(at, {type, side, which, std::move(packet)});
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
	for (int side = 0; side < 2; side++)
		time_.alarm((u32)side, deadline(side));

	const u64 at = time_.next();

	if (at == MRC_NEVER)
		return false;
	time_.pass(at);
	if (++events_ > kMaxEvents || elapsed() > kMaxTime ||
	    now() > calm_limit_) {
		fail("a perfect network does not lead to completion");
		return false;
	}
	time_.step(
		at, [this](Event e) { dispatch(e); },
		[this](u32 side) { expire((int)side); });
	return !failed();
}

void ExtSim::expire(int side)
{
	note("%c deadline", 'A' + side);
	for (Half &h : side_[side].half)
		if (mrc_req_deadline(&h.req) <= now())
			mrc_req_on_deadline(&h.req, now());
	service(side);
	if (!side_[side].kicked && deadline(side) <= now())
		fail(strf("%c deadline does not lie ahead", 'A' + side));
}

void ExtSim::dispatch(Event &e)
{
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
	case Type::Placed:
		end_placement(e.side, e.which);
		break;
	case Type::Calm:
		become_calm();
		break;
	}
}

// A link that is down, or a plane that swallows what one side sends.
void ExtSim::outage(const Outage &o, bool on)
{
	const u32 bit = 1u << o.port;
	u32 &map = o.kind == Fault::PortBlackhole ? faults_[o.side].cut_ports
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
		mrc_req_set_ports(&h.req, map, now());
	service(o.side);
}

// From now on nothing is lost.
void ExtSim::become_calm()
{
	note("calm");
	calm_ = true;
	for (mrc_model::Way &w : way_)
		w.jitter = 0;
	calm_limit_ = now() + 120ull * 1000000000;
	for (int side = 0; side < 2; side++) {
		ports_up_[side] = (2u << plan_.net.n_ports) - 2;
		faults_[side].end();
		if (side_[side].dead)
			continue;
		for (Half &h : side_[side].half)
			mrc_req_set_ports(&h.req, ports_up_[side], now());
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

// A NAK ends a queue pair and is sent once, so it always arrives here.
bool ExtSim::lost(int from, const Packet &p)
{
	if (p.nak())
		return false;
	return !(ports_up_[from] >> p.port & 1) ||
	       !(ports_up_[1 - from] >> p.port & 1) ||
	       faults_[from].lost(p, rng_);
}

void ExtSim::network(int from, Packet p)
{
	const mrc_model::Faults &faults = faults_[from];
	u64 delay = way_[p.port].time(rng_);
	u64 later;

	if (on_send && !on_send(from, p, delay))
		return;
	if (!calm_ && lost(from, p)) {
		note("%c lost %s", 'A' + from, describe(p).c_str());
		return;
	}
	faults.mark(p, rng_);
	if (!faults.trim(p, rng_))
		return;
	if (faults.twice(rng_, &later))
		schedule(now() + delay + later, Type::Arrive, 1 - from, 0, p);
	schedule(now() + delay, Type::Arrive, 1 - from, 0, std::move(p));
}

void ExtSim::arrive(int to, Packet p)
{
	Side &s = side_[to];
	enum mrc_drop drop;
	mrc_hdr h{};
	u32 flags;

	if (s.dead)
		return;
	drop = p.parse(h);
	if (drop) {
		if (!p.forged)
			fail(strf("parse dropped a genuine packet: %d", drop));
		return;
	}
	note("%c rx %s%s", 'A' + to, describe(p).c_str(),
	     h.ans ? " ans" : "");

	flags = mrc_op_info(h.opcode)->flags;
	if (flags & MRC_OPF_TO_REQ) {
		s.half[h.ans].feedback(h, p.port, now());
	} else if (flags & MRC_OPF_DATA) {
		receive_data(to, p, h);
	} else if (flags & MRC_OPF_TO_RESP) {
		mrc_rx rx = p.rx(h, now());

		mrc_resp_on_probe(&s.half[h.ans].resp, &rx, now());
		feedback(to, h.ans);
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
