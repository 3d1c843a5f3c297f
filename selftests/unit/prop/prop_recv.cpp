// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The receiving side of the shell, and what the engine must answer.
#include <algorithm>

#include "prop_sim.hpp"

namespace prop
{

namespace
{

// What the answer to @h must return, with @spent ns of service time.
u16 echo_of(const mrc_hdr &h, u64 spent)
{
	if (!h.ts && h.opcode != MRC_OP_PROBE)
		return 0;
	return (u16)(h.tstamp + (spent >> MRC_TS_SHIFT));
}

} // namespace

void Sim::arrive(int to, const Packet &p)
{
	Endpoint &e = ep[to];
	mrc_hdr h{};
	enum mrc_drop drop;
	u32 flags;

	if (e.dead || (!(e.ports_up >> p.port & 1) && !p.forged)) {
		note("%c drops %s", 'A' + to, describe(p).c_str());
		return;
	}
	note("%c rx %s", 'A' + to, describe(p).c_str());
	if (p.trim)
		e.tally.rx_trimmed++;
	else
		e.tally.rx[p.opcode()]++;
	if (p.ce && !p.trim)
		e.tally.rx_ce++;
	drop = p.parse(h);
	if (drop && !p.forged)
		fail(strf("parse dropped a genuine packet: %d", drop));
	if (drop && drop != MRC_DROP_OPCODE)
		return;
	flags = mrc_op_info(h.opcode)->flags;
	if (flags & MRC_OPF_TO_REQ) {
		if (!p.forged)
			seen_[to] = p;
		receive_feedback(to, p, h);
	} else if (flags & MRC_OPF_DATA || drop) {
		receive_data(to, p, h);
	} else if (flags & MRC_OPF_TO_RESP) {
		receive_probe(to, p, h);
	}
	if (!p.forged && rng_.chance(plan.attack_ppm))
		forge(to);
	if (!failed())
		service(to);
}

void Sim::receive_feedback(int to, const Packet &p, const mrc_hdr &h)
{
	mrc_req &req = ep[to].req;
	const u32 cack = req.cack;
	const u32 tack = req.tack;
	const u64 inflight = req.inflight;
	bool unsent = false;

	if (strict_)
		dir[to]->on_feedback(h);
	switch (h.opcode) {
	case MRC_OP_SACK:
		ep[to].tally.rx_penalty += h.seth.rcv_cwnd_pen != 0;
		unsent = mrc_psn_diff(h.seth.cack_psn, req.next_psn) >= 0;
		break;
	case MRC_OP_NACK:
		break;
	default:
		unsent = mrc_psn_diff(h.psn, req.next_psn) >= 0;
		break;
	}
	ep[to].feedback(h, p.port, now());
	// MRC 1.0 §10: feedback about what was never sent changes nothing.
	if (unsent &&
	    (req.cack != cack || req.tack != tack || req.inflight != inflight))
		fail(strf("%c believed feedback about an unsent PSN",
			  'A' + to));
}

void Sim::receive_probe(int to, const Packet &p, const mrc_hdr &h)
{
	const Direction &d = *dir[1 - to];
	// No packet takes less time than this from its sender to here.
	const u64 spent = rng_.below(900);
	mrc_rx rx = p.rx(h, now() - spent);
	const u16 echo = echo_of(h, plan.svc_time ? spent : 0);
	Endpoint &e = ep[to];
	std::vector<mrc_hdr> sent;
	std::vector<bool> shown(d.got.size());
	const bool waited = e.waits;
	bool whole = true;

	mrc_resp_on_probe(&e.resp, &rx, now());
	drain_feedback(to, sent);
	if (e.waits)
		check_progress(to, e.wait_from);
	if (!strict_)
		return;
	if (d.top - d.cum > 64) {
		// One train per base RTT.
		whole = !e.train_at || now() - e.train_at >= plan.base_rtt;
		if (whole)
			e.train_at = now();
		else
			e.tally.trains_cut++;
	}
	// A train of replies that describes the whole window, MRC 1.0 §8.3.
	for (const mrc_hdr &s : sent) {
		// The peer may have missed the transport ACK, OP-20.
		if (s.opcode == MRC_OP_ACK && (waited || d.top == d.cum))
			continue;
		if (s.opcode != MRC_OP_SACK || !s.seth.pr ||
		    s.seth.probe_id != h.peth.probe_id ||
		    s.seth.entropy != p.entropy || s.tstamp != echo ||
		    s.seth.m != (p.ce ? MRC_M_SKIP_ONCE : MRC_M_NONE)) {
			fail(strf("%c answers a probe wrongly", 'A' + to));
			return;
		}
		for (u32 i = 0; i < 64; i++) {
			u32 index = d.index_of(s.seth.cack_psn +
					       (u32)s.seth.sack_offset + i);

			if (s.seth.bitmap >> i & 1 && index < shown.size())
				shown[index] = true;
		}
	}
	if (sent.empty())
		fail(strf("%c does not answer a probe", 'A' + to));
	for (u32 i = d.cum; i < d.top && whole; i++) {
		if (d.got[i] && !shown[i]) {
			fail(strf("%c hides packet %u from a probe", 'A' + to,
				  i));
			return;
		}
	}
}

// Copies the payload, as far as the schedule lets it.
void Sim::place(int to, Taken &t)
{
	Endpoint &e = ep[to];
	Direction &d = *dir[1 - to];
	const mrc_hdr &h = t.hdr;
	u8 syn = strict_ ? d.placement_syndrome(h) : 0;

	if (!strict_)
		syn = rng_.chance(20000) ? MRC_SYN_NAK_REM_OP : 0;
	else if (!syn && !sabotage(Sabotage::DropPlacement))
		d.place(h, t.packet.payload(h));
	mrc_resp_placed(&e.resp, &t.rx, syn, now());
}

void Sim::receive_data(int to, const Packet &p, const mrc_hdr &h)
{
	Endpoint &e = ep[to];
	Direction &d = *dir[1 - to];
	const u64 spent = rng_.below(900);
	const u32 was = d.cum;
	const bool waited = e.waits;
	const bool slow = plan.place_ppm && rng_.chance(plan.place_ppm);
	const u32 id = placements_++;
	Taken &t = placing_[id];
	enum mrc_rx_action got;
	bool poor = false;
	u8 reason = 0;

	t.to = to;
	t.packet = p;
	t.hdr = h;
	t.rx = p.rx(t.hdr, now() - spent);
	if (!calm && rng_.chance(plan.refuse_ppm))
		reason = rng_.pick({(u8)MRC_NACK_NO_BITMAP,
				    (u8)MRC_NACK_NO_PKT_BUFFER,
				    (u8)MRC_NACK_NO_RESOURCE});
	if (!reason && e.wants_stash(t.rx)) {
		poor = !calm && rng_.chance(plan.refuse_ppm);
		if (poor)
			reason = MRC_NACK_NO_RESOURCE;
		else
			e.give_stash();
	}
	if (strict_)
		t.want = d.on_rx(h, p.trim || reason);
	if (failed())
		return;
	if ((t.want == Direction::Rx::Duplicate ||
	     t.want == Direction::Rx::EarlyCopy) &&
	    p.trim && plan.trim_nack[1 - to])
		e.tally.rx_trimmed_dup++;
	if (reason && !poor)
		got = mrc_resp_refuse(&e.resp, &t.rx, reason, now());
	else
		got = mrc_resp_on_data(&e.resp, &t.rx, now());
	if (reason && t.want == Direction::Rx::Done && !p.trim) {
		e.tally.refused++;
		if (sabotage(Sabotage::SilentRefusal))
			e.resp.fb.nack = false;
	}
	if (p.trim)
		reason = p.trim == MRC_TRIM_TRIMMED ? MRC_NACK_TRIMMED
						    : MRC_NACK_TRIMMED_LASTHOP;
	t.reason = reason;
	if (strict_ && (t.want == Direction::Rx::Place) != (got == MRC_RX_PLACE) &&
	    t.want != Direction::Rx::Unknown)
		fail(strf("%c: verdict %d on PSN %06x, expected %d", 'A' + to,
			  got, h.psn, (int)t.want));
	if (t.want == Direction::Rx::EarlyCopy &&
	    (!p.trim || plan.trim_nack[1 - to]))
		early_copy(to, h.psn);
	if (got == MRC_RX_PLACE && slow && mrc_resp_has_place(&e.resp)) {
		note("%c places PSN %06x", 'A' + to, h.psn);
		schedule(now() + rng_.below(plan.place_time), Type::Placed, to,
			 id);
		if (!sabotage(Sabotage::EarlyPlaced))
			return;
		mrc_resp_placed(&e.resp, &t.rx, 0, now());
		after_data(to, t, was, waited);
		return;
	}
	if (got == MRC_RX_PLACE)
		place(to, t);
	else if (t.want == Direction::Rx::Duplicate && h.payload_len &&
		 sabotage(Sabotage::PlaceDuplicate))
		d.place(h, p.payload(h));
	if (strict_ && !reason && t.want != Direction::Rx::Duplicate &&
	    t.want != Direction::Rx::EarlyCopy &&
	    t.want != Direction::Rx::OutOfWindow)
		d.received(h);
	after_data(to, t, was, waited);
	placing_.erase(id);
}

// The packet whose payload is being placed has to report this copy, too.
void Sim::early_copy(int to, u32 psn)
{
	for (auto &[id, t] : placing_) {
		if (t.to == to && t.hdr.psn == psn)
			t.again = true;
	}
}

// Another processor has copied the payload.
void Sim::end_placement(int to, u32 which)
{
	Endpoint &e = ep[to];
	Direction &d = *dir[1 - to];
	Taken &t = placing_.at(which);
	const u32 was = d.cum;
	const bool waited = e.waits;

	if (!e.dead) {
		note("%c has placed PSN %06x", 'A' + to, t.hdr.psn);
		place(to, t);
		if (strict_)
			d.received(t.hdr);
		after_data(to, t, was, waited);
	}
	placing_.erase(which);
	if (!failed())
		service(to);
}

// What a packet causes when its payload is in place.
void Sim::after_data(int to, const Taken &t, u32 was, bool waited)
{
	Endpoint &e = ep[to];
	Direction &d = *dir[1 - to];
	const mrc_hdr &h = t.hdr;
	std::vector<mrc_hdr> sent;
	mrc_recv_msg imm;
	u32 n = 0;

	if (strict_ && d.got[d.index_of(h.psn)] && d.index_of(h.psn) > d.cum &&
	    mrc_op_info(h.opcode)->flags & MRC_OPF_IMM &&
	    sabotage(Sabotage::EarlyImm)) {
		imm = {};
		imm.psn = h.psn;
		imm.len = h.reth.dmalen;
		imm.imm = h.reth.imm;
		imm.rqmsn = h.rqmsn;
		imm.se = h.se;
		d.on_imm(imm);
	}
	while (!failed() && mrc_resp_next_recv(&e.resp, &imm)) {
		u8 syn = 0;

		note("%c receive completion psn %06x", 'A' + to, imm.psn);
		if (strict_)
			syn = d.on_imm(imm);
		else if (rng_.chance(20000))
			syn = MRC_SYN_NAK_INV_REQ;
		mrc_resp_recv_done(&e.resp, syn);
		if (++n > plan.window_max() + 1)
			fail("receive completions without end");
	}
	if (wait_for_burst(to, was)) {
		note("%c lets its ACK wait", 'A' + to);
	} else {
		drain_feedback(to, sent);
		if (!failed())
			check_progress(to, waited ? e.wait_from : was);
	}
	if (mrc_resp_failed(&e.resp))
		die(to);
	if (!strict_ || failed())
		return;
	if (!e.dead)
		check_answer(t, waited,
			     echo_of(h, plan.svc_time ? now() - t.rx.at : 0),
			     sent);
	if (d.cum > d.fail_index() && !d.nak_sent)
		fail(strf("%c owes a NAK", 'A' + to));
}

// Whether what @to owes waits; @was: what had been executed before this packet.
bool Sim::wait_for_burst(int to, u32 was)
{
	Endpoint &e = ep[to];

	if (failed() || !mrc_resp_may_wait(&e.resp) ||
	    !rng_.chance(plan.burst_ppm))
		return false;
	if (!e.waits) {
		e.waits = true;
		e.wait_from = was;
		schedule(now() + rng_.below(3000), Type::Burst, to);
	}
	return true;
}

// All that was here has been handed in. Others may have taken the ACK along.
void Sim::end_burst(int to)
{
	Endpoint &e = ep[to];
	std::vector<mrc_hdr> sent;

	if (e.dead)
		return;
	if (!e.waits || !sabotage(Sabotage::ForgetBurst))
		drain_feedback(to, sent);
	for (const mrc_hdr &s : sent)
		if (s.opcode != MRC_OP_ACK || s.aeth.syndrome != MRC_SYN_ACK)
			fail(strf("%c let more than an ACK wait", 'A' + to));
	if (sent.size() > 1)
		fail(strf("%c: two ACKs for a burst", 'A' + to));
	if (!failed() && e.waits)
		check_progress(to, e.wait_from);
}

// Progress must be acknowledged, MRC 1.0 §8.6.
void Sim::check_progress(int to, u32 was)
{
	const Direction &d = *dir[1 - to];
	Endpoint &e = ep[to];

	e.waits = false;
	if (!strict_ || e.dead || mrc_resp_failed(&e.resp))
		return;
	for (u32 i = was; i < std::min(d.cum, d.fail_index()); i++)
		if (i == d.msgs[d.owner[i]].last() && d.last_ack <= i)
			fail(strf("%c executed packet %u, the end of a "
				  "message, without transport ACK",
				  'A' + to, i));
}

void Sim::drain_feedback(int to, std::vector<mrc_hdr> &sent)
{
	Endpoint &e = ep[to];
	Direction &d = *dir[1 - to];
	mrc_tx_desc desc;

	while (!failed() && mrc_resp_next_feedback(&e.resp, now(), &desc)) {
		if (desc.hdr.opcode == MRC_OP_SACK && d.top > d.cum &&
		    sabotage(Sabotage::CorruptSack)) {
			s16 off = desc.hdr.seth.sack_offset;

			// Claim the packet after the contiguous ones.
			if (off == 1)
				desc.hdr.seth.bitmap |= 1;
			else
				desc.hdr.seth.cack_psn++;
		}
		if (desc.hdr.opcode == MRC_OP_SACK && plan.dynamic_mpr &&
		    sabotage(Sabotage::WrongMpr))
			desc.hdr.seth.mpr ^= 1;
		if (desc.data || desc.tc != MRC_TC_CONTROL || desc.ect ||
		    desc.hdr.dqp != 0x100u + (u32)(1 - to) || desc.port < 1 ||
		    desc.port > MRC_MAX_PORTS)
			fail(strf("%c: wrong feedback descriptor", 'A' + to));
		if (desc.ev >= 0 &&
		    !(e.paths.ports_up >> mrc_paths_port(&e.paths, desc.ev) &
		      1))
			fail(strf("%c: feedback through a port that is down",
				  'A' + to));
		if (strict_ && desc.hdr.opcode == MRC_OP_SACK)
			d.check_sack(desc.hdr);
		if (strict_ && desc.hdr.opcode == MRC_OP_ACK)
			d.check_ack(desc.hdr);
		sent.push_back(desc.hdr);
		if (sent.size() > plan.window_max() / 64 + 8)
			fail(strf("%c: feedback without end", 'A' + to));

		Packet p(desc, plan.ipv6);

		if (p.bytes.empty()) {
			fail("feedback cannot be built");
			return;
		}
		e.tally.tx[p.opcode()]++;
		note("%c tx %s", 'A' + to, describe(p).c_str());
		network(to, std::move(p));
	}
}

// MRC 1.0 §7.3, §8.2, §8.5: what one packet must be answered with; an ACK that
// waited for it comes along.
void Sim::check_answer(const Taken &t, bool waited, u16 echo,
		       const std::vector<mrc_hdr> &sent)
{
	const int to = t.to;
	const Packet &p = t.packet;
	const mrc_hdr &h = t.hdr;
	const Direction &d = *dir[1 - to];
	const bool trim_nack = plan.trim_nack[1 - to];
	bool sack = false, ack = false, nack = false;

	for (const mrc_hdr &s : sent) {
		switch (s.opcode) {
		case MRC_OP_ACK:
			ack = true;
			break;
		case MRC_OP_NACK:
			nack = true;
			if (s.neth.nack_psn != h.psn || s.psn != h.psn ||
			    s.neth.entropy != p.entropy ||
			    s.neth.reason != t.reason || s.neth.cc_type != 2 ||
			    s.tstamp != echo)
				fail(strf("%c: wrong NACK", 'A' + to));
			break;
		default:
			sack = true;
			if (s.seth.pr || s.seth.entropy != p.entropy ||
			    s.rtx != h.rtx ||
			    mrc_psn_add(s.seth.cack_psn,
					s.seth.ack_psn_offset) != h.psn ||
			    s.seth.m != (p.ce ? MRC_M_SKIP_ONCE : MRC_M_NONE) ||
			    s.tstamp != echo)
				fail(strf("%c: SACK does not describe its "
					  "trigger",
					  'A' + to));
			break;
		}
	}
	switch (t.want) {
	case Direction::Rx::Duplicate:
		if (p.trim && !trim_nack)
			break;
		if (!sack)
			fail(strf("%c: no SACK for a duplicate", 'A' + to));
		if (ack != (waited || d.index_of(h.psn) < d.cum))
			fail(strf("%c: transport ACK for a duplicate: %d",
				  'A' + to, ack));
		break;
	case Direction::Rx::EarlyCopy:
		if (sack || nack || (ack && !waited))
			fail(strf("%c: answer to a copy of a packet that is "
				  "being placed",
				  'A' + to));
		break;
	case Direction::Rx::OutOfWindow:
		fail(strf("%c: PSN %06x is outside the window", 'A' + to,
			  h.psn));
		break;
	default:
		if (p.trim) {
			if (nack != trim_nack || sack || (ack && !waited))
				fail(strf("%c: wrong answer to a trim",
					  'A' + to));
		} else if (t.reason) {
			if (!nack || sack || (ack && !waited))
				fail(strf("%c: wrong answer to a refusal",
					  'A' + to));
		} else if (nack) {
			fail(strf("%c: NACK for an acceptable packet",
				  'A' + to));
		} else if ((h.a || h.rtx || p.ce || t.again) && !sack) {
			fail(strf("%c: no SACK where one is due", 'A' + to));
		}
		break;
	}
}

} // namespace prop
