// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The network, its outages and what is forged in it.
#include <algorithm>

#include "prop_sim.hpp"

namespace prop
{

std::string describe(const Packet &p)
{
	const char *name = mrc_op_info(p.opcode())->name;
	mrc_hdr h{};
	std::string s;

	mrc_hdr_parse(p.bytes.data(), (u32)p.bytes.size(), (u32)p.bytes.size(),
		      &h);
	s = strf("%s psn %06x port %u ev %08x%s%s%s%s%s", name ? name : "?",
		 p.psn(), p.port, p.entropy, h.a ? " a" : "",
		 h.rtx ? " rtx" : "", p.ce ? " CE" : "",
		 p.trim ? " trimmed" : "", p.forged ? " forged" : "");
	switch (p.opcode()) {
	case MRC_OP_SACK:
		s += strf(" %s %d base %+d map %llx m %u",
			  h.seth.pr ? "pr" : "ack",
			  h.seth.pr ? h.seth.probe_id : h.seth.ack_psn_offset,
			  h.seth.sack_offset, (unsigned long long)h.seth.bitmap,
			  h.seth.m);
		break;
	case MRC_OP_NACK:
		s += strf(" reason %02x", h.neth.reason);
		break;
	case MRC_OP_ACK:
		s += strf(" syndrome %02x", h.aeth.syndrome);
		break;
	case MRC_OP_PROBE:
		s += strf(" id %04x", h.peth.probe_id);
		break;
	default:
		break;
	}
	return s;
}

void Sim::note(const char *fmt, ...)
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
bool Sim::sabotage(Sabotage which)
{
	if (plan.sabotage != which)
		return false;
	if (which == Sabotage::NeverDeliver)
		return true;
	if (sabotaged_ || spared_++ < plan.sabotage_after)
		return false;
	sabotaged_ = true;
	note("sabotage");
	return true;
}

bool Sim::lost(int from, const Packet &p)
{
	return !(ep[from].ports_up >> p.port & 1) || faults[from].lost(p, rng_);
}

void Sim::network(int from, Packet p)
{
	const int to = 1 - from;
	u64 delay = way_[p.port].time(rng_);
	u64 later;

	if (on_send && !on_send(from, p, delay))
		return;
	if (sabotage(Sabotage::NeverDeliver) || lost(from, p)) {
		note("%c lost %s", 'A' + from, describe(p).c_str());
		return;
	}
	faults[from].mark(p, rng_);
	if (!faults[from].trim(p, rng_)) {
		note("%c no room for %s", 'A' + from, describe(p).c_str());
		return;
	}
	// Every recoverable reason there is, MRC 1.0 §8.4.
	if (p.opcode() == MRC_OP_NACK && p.bytes[14] >= MRC_NACK_NO_BITMAP &&
	    rng_.chance(plan.odd_nack_ppm))
		p.bytes[14] = rng_.pick({(u8)0x03, (u8)0x42, (u8)0xFF,
					 (u8)MRC_NACK_PSN_OOR_WINDOW});
	if (faults[from].twice(rng_, &later)) {
		Packet copy = p;

		if (copy.data() && !copy.trim &&
		    sabotage(Sabotage::RenumberDup))
			put_unaligned_be32(
				(get_unaligned_be32(&copy.bytes[8]) &
				 0xFF000000) |
					((copy.psn() + 1) & MRC_PSN_MASK),
				&copy.bytes[8]);
		schedule(now() + delay + later, Type::Arrive, to, 0,
			 std::move(copy));
	}
	schedule(now() + delay, Type::Arrive, to, 0, std::move(p));
}

// A packet that the peer never sent, made of one that it did or of nothing.
void Sim::forge(int to)
{
	Packet p = seen_[to];
	const mrc_req &req = ep[to].req;
	mrc_hdr h{};
	const u32 size = (u32)p.bytes.size();

	p.forged = true;
	if (p.bytes.empty() || rng_.chance(300000)) {
		// Plausible fields around what is outstanding.
		h.opcode = rng_.pick(
			{(u8)MRC_OP_SACK, (u8)MRC_OP_SACK, (u8)MRC_OP_NACK,
			 (u8)MRC_OP_ACK, (u8)MRC_OP_PROBE,
			 (u8)MRC_OP_WRITE_ONLY_IMM, (u8)MRC_OP_WRITE_LAST});
		h.psn = mrc_psn_add(req.cack, (s32)rng_.range(0, 300) - 100);
		if (rng_.chance(100000))
			h.psn = (u32)rng_.below(MRC_PSN_MASK + 1);
		h.rtx = rng_.chance(500000);
		h.a = rng_.chance(500000);
		h.pkey = MRC_PKEY_DEFAULT;
		h.dqp = ep[to].req.cfg.qpn;
		h.tstamp = (u16)rng_.next();
		h.rqmsn = (u16)(ep[to].resp.rqmsn + rng_.below(4));
		switch (h.opcode) {
		case MRC_OP_SACK:
			h.seth.cack_psn = h.psn;
			h.seth.m = (u8)rng_.below(3);
			h.seth.pr = rng_.chance(300000);
			h.seth.ack_psn_offset = (s16)rng_.next();
			if (rng_.chance(800000))
				h.seth.ack_psn_offset /= 256;
			if (h.seth.pr)
				h.seth.probe_id =
					(u16)(req.probe_id - rng_.below(3));
			h.seth.sack_offset = (s16)rng_.next();
			if (rng_.chance(800000))
				h.seth.sack_offset /= 256;
			h.seth.bitmap = rng_.next() & rng_.next();
			h.seth.mpr = (u8)rng_.next();
			h.seth.rcvd_bytes = (u32)rng_.below(1 << 24);
			h.seth.rcv_cwnd_pen = (u8)rng_.below(128);
			h.seth.entropy = mrc_paths_entropy(&ep[to].paths, 0);
			break;
		case MRC_OP_NACK:
			h.neth.nack_psn = h.psn;
			h.neth.reason = rng_.pick({(u8)MRC_NACK_TRIMMED,
						   (u8)MRC_NACK_NO_RESOURCE,
						   (u8)MRC_NACK_PSN_OOR_WINDOW,
						   (u8)rng_.below(256)});
			break;
		case MRC_OP_ACK:
			h.aeth.syndrome = rng_.chance(900000) ? (u8)MRC_SYN_ACK
							      : (u8)rng_.next();
			break;
		case MRC_OP_PROBE:
			h.peth.probe_id = (u16)rng_.next();
			h.ftype = MRC_TS_FTYPE;
			break;
		default:
			h.psn = mrc_psn_add(ep[to].resp.cack,
					    (s32)rng_.range(0, 300) - 100);
			h.reth.dmalen = (u32)rng_.below(3);
			break;
		}
		p.bytes.assign(mrc_hdr_len(&h) + MRC_ICRC_LEN, 0);
		mrc_hdr_build(&h, p.bytes.data(), (u32)p.bytes.size());
		if (h.opcode == MRC_OP_WRITE_LAST ||
		    h.opcode == MRC_OP_WRITE_ONLY_IMM)
			p.bytes.resize(p.bytes.size() + rng_.below(8));
	} else {
		// A few bits of a genuine one.
		for (u64 n = rng_.range(1, 6); n; n--)
			p.bytes[rng_.below(size)] ^= (u8)(1 << rng_.below(8));
		if (rng_.chance(50000))
			p.bytes.resize(rng_.range(1, size));
	}
	p.port = (u8)rng_.range(1, plan.n_ports);
	p.entropy = (u32)rng_.next();
	p.ce = rng_.chance(200000);
	schedule(now() + rng_.below(50000), Type::Arrive, to, 0, std::move(p));
}

// The responder of @c.side changes what its SACKs say.
void Sim::change(const Change &c)
{
	Endpoint &e = ep[c.side];

	if (e.dead || (calm && c.kind == Change::Penalty && c.value))
		return;
	note("%c %s %u", 'A' + c.side,
	     c.kind == Change::Mpr ? "offers" : "penalty", c.value);
	if (c.kind == Change::Mpr) {
		if (mrc_resp_set_mpr(&e.resp, c.value))
			fail("a valid range was refused");
	} else {
		mrc_resp_set_penalty(&e.resp, c.value, c.restore);
	}
	dir[1 - c.side]->change(c);
}

// What @side knows of its peer's ports, MRC 1.0 §12.3.
void Sim::peer_status(int side)
{
	Endpoint &e = ep[side];
	u32 word;

	if (e.dead)
		return;
	word = e.told_ports & ~e.peer_denies;
	mrc_req_peer_status(&e.req, word == ~0u ? word : word & ~1u,
			  now());
	service(side);
}

void Sim::outage(const Outage &o, bool on)
{
	Endpoint &e = ep[o.side];
	Endpoint &peer = ep[1 - o.side];
	u32 &cut = faults[o.side].cut_ports;
	auto &evs = faults[o.side].cut_paths;
	u32 entropy;

	if (calm && on)
		return;
	note("%c outage kind %d port %u ev %u %s", 'A' + o.side, (int)o.kind,
	     o.port, o.ev, on ? "begins" : "ends");
	switch (o.kind) {
	case Fault::PortDown:
		set_ports(o.side, on ? e.ports_up & ~(1u << o.port)
				     : e.ports_up | 1u << o.port);
		if (o.tell_peer) {
			peer.told_ports = e.ports_up;
			peer_status(1 - o.side);
		}
		break;
	case Fault::PeerStatus:
		if (on)
			e.peer_denies |= 1u << o.port;
		else
			e.peer_denies &= ~(1u << o.port);
		peer_status(o.side);
		break;
	case Fault::PortBlackhole:
		if (on)
			cut |= 1u << o.port;
		else
			cut &= ~(1u << o.port);
		break;
	case Fault::EvBlackhole:
		entropy = mrc_paths_entropy(&e.paths, o.ev);
		if (!plan.ipv6)
			entropy &= 0xFFFF;
		if (on)
			evs.push_back(entropy);
		else
			evs.erase(std::remove(evs.begin(), evs.end(), entropy),
				  evs.end());
		break;
	case Fault::EvDenied:
		mrc_paths_verdict(&e.paths, o.ev,
				  on ? MRC_EVV_DENY : MRC_EVV_ALLOW, now());
		if (!e.dead)
			service(o.side);
		break;
	}
}

// From now on nothing is lost, everything that was taken away comes back.
void Sim::become_calm()
{
	u64 slowest = 0;

	if (calm)
		return;
	note("calm");
	calm = true;
	for (mrc_model::Way &w : way_)
		w.jitter = 0;
	for (int side = 0; side < 2; side++) {
		Endpoint &e = ep[side];
		u64 wait, last = now();

		faults[side].end();
		for (u16 i = 0; i < e.paths.n; i++)
			mrc_paths_verdict(&e.paths, i, MRC_EVV_ALLOW, now());
		change({Change::Penalty, now(), side, 0, true});
		e.told_ports = ~0u;
		e.peer_denies = 0;
		peer_status(side);
		set_ports(side, (2u << plan.n_ports) - 2);
		if (dir[side]->plan_msgs.size())
			last = std::max(last,
					dir[side]->plan_msgs.back().post_at);
		// Whatever was in flight is found lost at the latest by the
		// current back-off interval; then each packet may still have
		// to wait for the one before it.
		wait = 2 * mrc_req_interval(&e.req.cfg, e.req.retries + 1) +
		       mrc_req_interval(&e.req.cfg, e.req.retries + 2);
		if (!plan.rto)
			wait = 200000000;
		last += wait + 20 * (plan.rto + 2 * plan.base_rtt);
		last += (plan.total_packets(side) + 20) *
			(4 * (100000 + plan.gap) + 2 * plan.base_rtt);
		slowest = std::max(slowest, last);
	}
	calm_limit_ = slowest;
}

} // namespace prop
