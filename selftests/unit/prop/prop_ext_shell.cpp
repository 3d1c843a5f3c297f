// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The shell around the two pairs of engines of a side.
#include <algorithm>

#include "prop_ext.hpp"

namespace prop
{

void ExtSim::die(int side)
{
	Side &s = side_[side];

	if (s.dead)
		return;
	note("%c QP -> ERROR", 'A' + side);
	s.dead = true;
	for (Half &h : s.half)
		if (h.req.state != MRC_REQ_ERROR)
			mrc_req_fail(&h.req, -1, MRC_WC_FLUSH);
	s.waiting.clear();
}

void ExtSim::reap(int side)
{
	Side &s = side_[side];
	enum mrc_wc_status status;
	u32 slot;

	while (mrc_req_reap(&s.half[0].req, &slot, &status)) {
		note("%c completion slot %u status %d", 'A' + side, slot,
		     (int)status);
		if (!sabotage(ExtSabotage::LoseCompletion))
			flow_[side]->on_reap(slot, status);
	}
	while (mrc_req_reap(&s.half[1].req, &slot, &status)) {
		ExtFlow &f = *flow_[1 - side];

		note("%c answer acknowledged, slot %u status %d", 'A' + side,
		     slot, (int)status);
		if (status != MRC_WC_SUCCESS)
			continue;
		if (s.answers[slot].num != (u16)f.acked)
			fail("answers acknowledged out of order");
		f.acked++;
		mrc_resp_answered(&s.half[0].resp);
		feedback(side, 0);
	}
}

void ExtSim::post(int side)
{
	Side &s = side_[side];
	ExtFlow &f = *flow_[side];

	while (!f.all_posted() && f.next().post_at <= now() &&
	       mrc_req_can_post(&s.half[0].req)) {
		mrc_wr wr = f.make_wr();
		int slot = mrc_req_post(&s.half[0].req, &wr, now());

		note("%c post kind %u len %u slot %d%s", 'A' + side, wr.op,
		     wr.len, slot, wr.fence ? " fence" : "");
		f.on_posted(slot);
		if (s.dead)
			reap(side);
	}
}

void ExtSim::post_answers(int side)
{
	Side &s = side_[side];

	while (!s.waiting.empty() && mrc_req_can_post(&s.half[1].req)) {
		const ExtAnswer &a = s.waiting.front();
		mrc_wr wr{};
		int slot;

		wr.op = a.atomic ? MRC_WR_ANSWER_ATOMIC : MRC_WR_ANSWER;
		wr.len = a.len;
		wr.num = a.num;
		slot = mrc_req_post(&s.half[1].req, &wr, now());
		if (slot < 0 || (u32)slot >= s.answers.size()) {
			fail(strf("answer cannot be posted: %d", slot));
			return;
		}
		note("%c answer to request %u slot %d", 'A' + side, a.num,
		     slot);
		s.answers[(u32)slot] = std::move(s.waiting.front());
		s.waiting.pop_front();
	}
}

// One packet, or false.
bool ExtSim::send(int side, int ans)
{
	Side &s = side_[side];
	mrc_tx_desc d;

	switch (mrc_req_next(&s.half[ans].req, now(), &d)) {
	case MRC_TX_PACKET:
		transmit(side, ans, d);
		return true;
	case MRC_TX_LOCAL:
		if (ans) {
			fail("local operation on the answer channel");
			return false;
		}
		if (!s.local_due && rng_.chance(plan_.late_local_ppm)) {
			s.local_due = true;
			schedule(now() + rng_.below(100000), Type::Kick, side);
			return false;
		}
		s.local_due = false;
		note("%c local slot %u", 'A' + side, d.slot);
		if (!sabotage(ExtSabotage::SkipLocal))
			flow_[side]->on_local(d.slot);
		mrc_req_local_done(&s.half[0].req, d.slot, MRC_WC_SUCCESS,
				   now());
		reap(side);
		post(side);
		return true;
	default:
		return false;
	}
}

// What the shell does after every event.
void ExtSim::service(int side)
{
	Side &s = side_[side];
	u32 n = 0;

	for (Half &h : s.half)
		if (h.req.state == MRC_REQ_ERROR)
			die(side);
	reap(side);
	post(side);
	post_answers(side);
	while (!s.dead && !failed() && now() >= s.tx_free) {
		const int first = (int)rng_.below(2);

		if (!send(side, first) && !send(side, 1 - first))
			break;
		if (plan_.net.gap)
			s.tx_free = now() + plan_.net.gap;
		if (++n > 5000) {
			fail(strf("%c sends without end", 'A' + side));
			break;
		}
	}
	if (!s.dead && now() < s.tx_free && !s.kicked) {
		s.kicked = true;
		schedule(s.tx_free, Type::Kick, side);
	}
	reap(side);
	check(side);
}

void ExtSim::check(int side)
{
	const Side &s = side_[side];

	for (int ans = 0; ans < 2 && !failed(); ans++) {
		const char *bad = mrc_req_check(&s.half[ans].req);

		if (bad)
			fail(strf("%c requester %d: %s", 'A' + side, ans,
				  bad));
		bad = mrc_resp_check(&s.half[ans].resp);
		if (bad)
			fail(strf("%c responder %d: %s", 'A' + side, ans,
				  bad));
		if (s.dead &&
		    (mrc_req_deadline(&s.half[ans].req) != MRC_NEVER))
			fail(strf("%c is dead but not quiet", 'A' + side));
	}
	if (s.waiting.size() > s.answers.size())
		fail(strf("%c holds too many requests", 'A' + side));
	if (s.dead && !failed() &&
	    s.half[0].req.wq_post != s.half[0].req.wq_reap)
		fail(strf("%c is dead but not flushed", 'A' + side));
}

void ExtSim::transmit(int side, int ans, const mrc_tx_desc &d)
{
	const u32 n = mrc_hdr_len(&d.hdr);
	Packet p(d, plan_.net.ipv6);

	if (p.bytes.empty()) {
		fail("header cannot be built");
		return;
	}
	if (d.hdr.ans != (ans != 0) || d.hdr.dqp != 0x100u + (u32)(1 - side))
		fail(strf("%c sends on the wrong channel", 'A' + side));
	note("%c tx %s%s", 'A' + side, describe(p).c_str(),
	     ans ? " ans" : "");
	if (d.data && !ans) {
		flow_[side]->on_tx(d);
		if (d.len && !failed())
			flow_[side]->payload(d, &p.bytes[n]);
	} else if (d.data) {
		const ExtAnswer &a = side_[side].answers.at(d.slot);
		const ExtFlow &f = *flow_[1 - side];

		flow_[1 - side]->check_answer_tx(a.op, d);
		if (d.len > a.len || d.off > a.len - d.len)
			fail(strf("%c sends more than the answer", 'A' + side));
		else if (d.len && !a.data.empty())
			std::copy_n(&a.data[d.off], d.len, &p.bytes[n]);
		else if (d.len)
			f.read(a.op, d.off, d.len, &p.bytes[n]);
		if (d.len && sabotage(ExtSabotage::CorruptAnswer))
			p.bytes[n] ^= 0x10;
	}
	network(side, std::move(p));
}

void ExtSim::receive_data(int to, const Packet &p, const mrc_hdr &h)
{
	Side &s = side_[to];
	Half &half = s.half[h.ans];
	ExtFlow &f = *flow_[1 - to];
	mrc_resp &resp = half.resp;
	const u32 id = placements_++;
	const bool slow = plan_.attacker == ExtAttacker::None &&
			  plan_.net.place_ppm && rng_.chance(plan_.net.place_ppm);
	Taken t{p, h, p.rx(h, now())};
	mrc_rx &rx = t.rx;
	u32 n = 0;

	rx.hdr = &t.hdr;
	if (!calm_ && rng_.chance(plan_.net.refuse_ppm)) {
		mrc_resp_refuse(&resp, &rx, MRC_NACK_NO_RESOURCE, now());
		feedback(to, h.ans);
		return;
	}
	if (half.wants_stash(rx))
		half.give_stash();
	if (half.wants_requests(rx))
		half.give_requests();
	f.now = now();
	if (mrc_resp_wants_recv(&resp, &rx, &n) && !f.has_receives(n) &&
	    !sabotage(ExtSabotage::NoReceiveCheck)) {
		note("%c not ready for %06x", 'A' + to, h.psn);
		mrc_resp_refuse_rnr(&resp, &rx, plan_.rnr_timer, now());
		feedback(to, h.ans);
		return;
	}
	if (mrc_resp_on_data(&resp, &rx, now()) == MRC_RX_PLACE) {
		if (slow && mrc_resp_has_place(&resp)) {
			Taken &kept = placing_[id];

			kept = t;
			kept.rx.hdr = &kept.hdr;
			schedule(now() + rng_.below(plan_.net.place_time),
				 Type::Placed, to, id);
			return;
		}
		place(to, t);
	}
	after_data(to, h.ans);
}

// Copies the payload.
void ExtSim::place(int to, Taken &t)
{
	Side &s = side_[to];
	const mrc_hdr &h = t.hdr;
	mrc_resp &resp = s.half[h.ans].resp;
	const u8 *payload = t.packet.payload(h);
	u32 slot;
	u8 syn = 0;

	if (!h.ans)
		syn = flow_[1 - to]->place(h, (u16)(h.rqmsn - resp.rqmsn),
					   payload);
	else if ((plan_.attacker == ExtAttacker::OnPath &&
		  !mrc_req_find(&s.half[0].req, h.msn, &slot)) ||
		 !flow_[to]->place_answer(h, payload))
		syn = MRC_SYN_NAK_INV_REQ;
	mrc_resp_placed(&resp, &t.rx, syn, now());
}

// Another processor has copied the payload.
void ExtSim::end_placement(int to, u32 which)
{
	Taken &t = placing_.at(which);

	if (!side_[to].dead) {
		note("%c has placed PSN %06x", 'A' + to, t.hdr.psn);
		flow_[1 - to]->now = now();
		place(to, t);
		after_data(to, t.hdr.ans);
	}
	placing_.erase(which);
	if (!failed())
		service(to);
}

// What a packet causes when its payload is in place.
void ExtSim::after_data(int to, bool ans)
{
	if (ans)
		take_answers(to);
	else
		execute(to);
	feedback(to, ans);
	if (mrc_resp_failed(&side_[to].half[ans].resp))
		die(to);
}

// Receives and requests whose turn has come.
void ExtSim::execute(int to)
{
	Side &s = side_[to];
	mrc_resp &resp = s.half[0].resp;
	ExtFlow &f = *flow_[1 - to];
	bool more = true;
	u32 n = 0;

	while (more && !failed()) {
		mrc_recv_msg imm;
		mrc_rd rd;

		more = false;
		while (!failed() && mrc_resp_next_recv(&resp, &imm)) {
			note("%c receive completion psn %06x", 'A' + to,
			     imm.psn);
			if (sabotage(ExtSabotage::SwapReceives))
				imm.rqmsn++;
			mrc_resp_recv_done(&resp, f.on_recv(imm));
			more = true;
		}
		while (!failed() && mrc_resp_next_req(&resp, &rd)) {
			ExtAnswer a;
			u8 syn = f.on_request(rd, a);

			note("%c executes request %u psn %06x: %02x", 'A' + to,
			     rd.num, rd.psn, syn);
			if (failed())
				return;
			if (!syn) {
				if (a.atomic &&
				    sabotage(ExtSabotage::ExecuteTwice))
					f.execute(f.ops[a.op]);
				if (!sabotage(ExtSabotage::LoseAnswer))
					s.waiting.push_back(std::move(a));
			}
			if (f.executed - f.acked > s.answers.size())
				fail(strf("%c has %u answers to give",
					  'A' + to, f.executed - f.acked));
			mrc_resp_req_done(&resp, syn);
			if (!syn && sabotage(ExtSabotage::EarlyAnswered))
				mrc_resp_answered(&resp);
			more = true;
		}
		if (++n > 100000)
			fail("executes without end");
	}
}

// Complete answers, in the order of the requests.
void ExtSim::take_answers(int to)
{
	mrc_req &req = side_[to].half[0].req;

	u32 n = mrc_resp_take_done(&side_[to].half[1].resp);

	if (!n && req.rd_out && sabotage(ExtSabotage::EarlyComplete))
		n = 1;
	for (; n; n--) {
		u32 slot;

		if (!mrc_req_oldest(&req, &slot)) {
			// Answered by the attacker, and failed since.
			if (plan_.attacker == ExtAttacker::OnPath)
				return;
			fail("answer without a request");
			return;
		}
		note("%c answered slot %u", 'A' + to, slot);
		if (!flow_[to]->on_answered(slot)) {
			mrc_req_fail(&req, (int)slot, MRC_WC_REM_OP);
			return;
		}
		mrc_req_answered(&req, now());
	}
}

void ExtSim::feedback(int to, int ans)
{
	mrc_resp &resp = side_[to].half[ans].resp;
	mrc_tx_desc d;
	u32 n = 0;

	if (plan_.tells && mrc_resp_tells_recvs(&resp)) {
		flow_[1 - to]->now = now();
		mrc_resp_set_recvs(&resp, flow_[1 - to]->receives());
	}
	while (!failed() && mrc_resp_next_feedback(&resp, now(), &d)) {
		Packet p(d, plan_.net.ipv6);

		if (d.data || d.tc != MRC_TC_CONTROL || d.hdr.ans != ans)
			fail(strf("%c: wrong feedback descriptor", 'A' + to));
		if (!ans && d.hdr.opcode == MRC_OP_ACK)
			flow_[1 - to]->check_ack(d.hdr, flow_[1 - to]->acked);
		note("%c tx %s%s", 'A' + to, describe(p).c_str(),
		     ans ? " ans" : "");
		network(to, std::move(p));
		if (++n > plan_.net.window_max() / 64 + 8)
			fail(strf("%c: feedback without end", 'A' + to));
	}
	if (mrc_resp_failed(&resp))
		die(to);
}

} // namespace prop
