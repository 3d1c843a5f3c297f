// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder of the extension: requests, and the ACKs that wait for their
// answers. Documentation/extension.md.
#include "resp_ext_fixture.hpp"

#include <algorithm>
#include <random>

using namespace mrc_test;

namespace
{

constexpr u8 kRequests[] = {MRC_OP_READ_REQ, MRC_OP_CMP_SWAP, MRC_OP_FETCH_ADD,
			    MRC_OP_ATOMIC_WRITE, MRC_OP_FLUSH};

// The oldest answer was acknowledged; what is owed then.
std::vector<mrc_tx_desc> answered(Responder &r)
{
	mrc_resp_answered(&r.resp);
	r.check();
	return r.feedback();
}

void expect_bad(const DataSpec &s, void (*change)(mrc_resp_cfg &) = nullptr)
{
	ExtResponder r;

	if (change)
		change(r.cfg);
	r.init();
	mrc_rx_action act;
	auto fb = r.data(s, &act);
	EXPECT_EQ(act, MRC_RX_DONE);
	expect_ack(fb, s.psn, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(r.reqs.size(), 0u);
	EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 1u);
}

} // namespace

TEST(RespReq, Fields)
{
	u32 psn = 0;
	ExtResponder r;
	r.cfg.max_rd = 8;
	r.init();
	for (u8 op : kRequests) {
		DataSpec s = request(psn, (u16)psn, op);
		s.va = 0x7F1200001008;
		s.compare = 5;
		if (op != MRC_OP_FLUSH)
			s.swap = 0x1122334455667788;
		mrc_rx_action act;
		r.data(s, &act);
		EXPECT_EQ(act, MRC_RX_DONE);
		ASSERT_EQ(r.reqs.size(), psn + 1);
		const mrc_rd &rd = r.reqs.back();
		EXPECT_EQ(rd.op, op);
		EXPECT_EQ(rd.psn, psn);
		EXPECT_EQ(rd.num, psn);
		EXPECT_EQ(rd.va, s.va);
		EXPECT_EQ(rd.rkey, 0xABCDu);
		EXPECT_EQ(rd.len, (u32)s.dmalen);
		EXPECT_EQ(rd.swap, op == MRC_OP_READ_REQ ? 0 : s.swap);
		EXPECT_EQ(rd.compare, op == MRC_OP_READ_REQ ? 0 : 5u);
		psn++;
	}
	EXPECT_EQ(r.count(MRC_CTR_RX_REQUEST), psn);
	EXPECT_EQ(r.resp.msn, psn);
	EXPECT_EQ(r.placed, 0u);
}

TEST(RespReq, Malformed)
{
	DataSpec s;
	for (u8 op : kRequests) {
		s = request(0, 0, op);
		s.len = 4;
		expect_bad(s);
		s = request(0, 0, op);
		s.pad = 1;
		expect_bad(s);
		// Numbers count by one from zero.
		s = request(0, 1, op);
		expect_bad(s);
		s = request(0, 0xFFFF, op);
		expect_bad(s);
		expect_bad(request(0, 0, op),
			   [](mrc_resp_cfg &c) { c.max_rd = 0; });
	}
	for (u8 op : {MRC_OP_CMP_SWAP, MRC_OP_FETCH_ADD, MRC_OP_ATOMIC_WRITE}) {
		for (int n = 1; n < 8; n++) {
			s = request(0, 0, op);
			s.va += n;
			expect_bad(s);
		}
		for (int len : {0, 4, 7, 9, 16}) {
			s = request(0, 0, op);
			s.dmalen = len;
			expect_bad(s);
		}
	}
	s = request(0, 0);
	s.dmalen = (1ll << 31) + 1;
	expect_bad(s);
	for (u64 flags : {0x0ull, 0x4ull, 0x8ull, 0x5ull, 0x21ull, 0x101ull,
			  0x10ull, 1ull << 63 | 1}) {
		s = request(0, 0, MRC_OP_FLUSH);
		s.swap = flags;
		expect_bad(s);
	}
	for (u64 flags : {0x1, 0x2, 0x3, 0x11, 0x12, 0x13}) {
		ExtResponder r;
		r.init();
		s = request(0, 0, MRC_OP_FLUSH);
		s.swap = flags;
		r.data(s);
		EXPECT_EQ(r.reqs.size(), 1u);
	}
}

TEST(RespReq, Permissions)
{
	expect_bad(request(0, 0),
		   [](mrc_resp_cfg &c) { c.remote_read = false; });
	expect_bad(request(0, 0, MRC_OP_CMP_SWAP),
		   [](mrc_resp_cfg &c) { c.remote_atomic = false; });
	expect_bad(request(0, 0, MRC_OP_FETCH_ADD),
		   [](mrc_resp_cfg &c) { c.remote_atomic = false; });
	expect_bad(request(0, 0, MRC_OP_ATOMIC_WRITE),
		   [](mrc_resp_cfg &c) { c.remote_write = false; });
	expect_bad(request(0, 0, MRC_OP_FLUSH),
		   [](mrc_resp_cfg &c) { c.remote_flush = false; });
	// One at a time suffices.
	for (u8 op : kRequests) {
		ExtResponder r;
		r.cfg.remote_read = op == MRC_OP_READ_REQ;
		r.cfg.remote_atomic =
			op == MRC_OP_CMP_SWAP || op == MRC_OP_FETCH_ADD;
		r.cfg.remote_write = op == MRC_OP_ATOMIC_WRITE;
		r.cfg.remote_flush = op == MRC_OP_FLUSH;
		r.init();
		r.data(request(0, 0, op));
		EXPECT_EQ(r.reqs.size(), 1u);
	}
}

// exec stops at each, and again for what is delivered between them.
TEST(RespReq, OrderWithOtherMessages)
{
	for (u32 first : {0u, 0xFFFFFDu}) {
		std::vector<int> order = {0, 1, 2, 3, 4};
		do {
			ExtResponder r;
			r.cfg.rq_psn = first;
			r.deliver = false;
			r.init();
			r.resp.rd_next = r.resp.rd_oldest = 0xFFFF;
			for (int k : order) {
				if (k == 0)
					r.data(request(r.psn(0), 0xFFFF));
				else if (k == 1)
					r.data(send_part(r.psn(1), 0, 5, 0));
				else if (k == 2)
					r.data({.psn = r.psn(2)});
				else if (k == 3)
					r.data(request(r.psn(3), 0,
						       MRC_OP_FETCH_ADD));
				else
					r.data(write_imm(r.psn(4), 1));
				// In arrival order too only in PSN order.
				mrc_recv_msg imm;
				mrc_rd rd;
				for (;;) {
					s32 at = mrc_psn_diff(r.resp.exec,
							      first);
					if (mrc_resp_next_req(&r.resp, &rd)) {
						EXPECT_EQ(rd.psn,
							  r.psn(at + 1));
						r.reqs.push_back(rd);
						mrc_resp_req_done(&r.resp, 0);
					} else if (mrc_resp_next_recv(&r.resp,
								     &imm)) {
						EXPECT_EQ(imm.psn,
							  r.psn(at + 1));
						r.imms.push_back(imm);
						mrc_resp_recv_done(&r.resp, 0);
					} else {
						break;
					}
					r.check();
				}
				r.feedback();
			}
			ASSERT_EQ(r.reqs.size(), 2u);
			ASSERT_EQ(r.imms.size(), 2u);
			EXPECT_EQ(r.reqs[0].num, 0xFFFF);
			EXPECT_EQ(r.reqs[1].num, 0);
			EXPECT_EQ(r.resp.exec, r.psn(4));
		} while (std::next_permutation(order.begin(), order.end()));
	}
}

TEST(RespReq, ExecutedOnce)
{
	ExtResponder r;
	r.init();
	for (int i = 0; i < 3; i++) {
		r.data(request(0, 0, MRC_OP_FETCH_ADD));
		r.data(request(2, 1, MRC_OP_FETCH_ADD));
	}
	EXPECT_EQ(r.reqs.size(), 1u);
	for (int i = 0; i < 3; i++)
		r.data({.psn = 1});
	EXPECT_EQ(r.reqs.size(), 2u);
	// The number of one that was executed and waits for its answer.
	ExtResponder t;
	t.init();
	t.data(request(0, 0));
	t.data(request(1, 0));
	EXPECT_EQ(t.reqs.size(), 1u);
	EXPECT_EQ(t.count(MRC_CTR_ERR_INV_REQ), 1u);
	EXPECT_EQ(mrc_resp_failed(&t.resp), 0); // waits for the answer
	expect_ack(answered(t), 1, MRC_SYN_NAK_INV_REQ);
}

TEST(RespReq, NumbersThatCollideOrSkip)
{
	// Two of the same number that wait.
	ExtResponder r;
	r.init();
	r.data(request(1, 0));
	r.data(request(2, 0));
	EXPECT_EQ(r.count(MRC_CTR_ERR_INV_REQ), 1u);
	r.data({.psn = 0});
	EXPECT_EQ(r.reqs.size(), 1u);
	expect_ack(answered(r), 2, MRC_SYN_NAK_INV_REQ);

	// In the wrong order.
	ExtResponder w;
	w.init();
	w.data(request(2, 0));
	w.data(request(1, 1));
	expect_ack(w.data({.psn = 0}), 1, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(w.reqs.size(), 0u);

	// Answered long ago.
	ExtResponder o;
	o.init();
	o.data(request(0, 0));
	answered(o);
	expect_ack(o.data(request(1, 0)), 1, MRC_SYN_NAK_INV_REQ);
	EXPECT_EQ(o.reqs.size(), 1u);
}

// Twice as many as may be open, because the peer knows first.
TEST(RespReq, FullRingRefuses)
{
	for (u16 max : {1, 3, 4}) {
		ExtResponder r;
		r.cfg.max_rd = max;
		r.init();
		const u32 slots = mrc_resp_rd_slots(&r.cfg);
		EXPECT_EQ(slots, max == 1 ? 2u : 8u);
		for (u32 n = 0; n < slots; n++)
			r.data(request(n, (u16)n));
		EXPECT_EQ(r.reqs.size(), slots);
		for (int i = 0; i < 2; i++) {
			auto fb = r.data(request(slots, (u16)slots));
			ASSERT_EQ(fb.size(), 1u);
			EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
			EXPECT_EQ(fb[0].hdr.neth.vendor, 0);
		}
		EXPECT_EQ(r.count(MRC_CTR_RX_REFUSED), 2u);
		EXPECT_EQ(r.resp.cack, slots - 1);
		answered(r);
		r.data(request(slots, (u16)slots));
		EXPECT_EQ(r.reqs.size(), slots + 1);
	}
}

TEST(RespReq, NumbersWrap)
{
	ExtResponder r;
	r.cfg.max_rd = 3;
	r.init();
	r.resp.rd_next = r.resp.rd_oldest = 0xFFF0;
	for (u32 n = 0; n < 100; n += 4) {
		for (u32 k : {3u, 1u, 0u, 2u})
			r.data(request(n + k, (u16)(0xFFF0 + n + k)));
		ASSERT_EQ(r.reqs.size(), n + 4);
		for (u32 k = 0; k < 4; k++)
			answered(r);
	}
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	EXPECT_EQ(r.resp.rd_oldest, r.resp.rd_next);
}

TEST(RespReq, LateRing)
{
	ExtResponder r;
	r.cfg.late_rd = true;
	const size_t late = mrc_resp_mem(&r.cfg);
	r.cfg.late_rd = false;
	EXPECT_EQ(mrc_resp_mem(&r.cfg), late + mrc_resp_rd_mem(&r.cfg));
	EXPECT_EQ(mrc_resp_rd_mem(&r.cfg), 8 * sizeof(mrc_rd));
	r.cfg.late_rd = true;
	r.init();
	r.poor = true;
	for (int i = 0; i < 2; i++) {
		auto fb = r.data(request(0, 0));
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
	}
	EXPECT_EQ(r.resp.rd, nullptr);
	r.poor = false;
	// Memory is taken for good requests only.
	DataSpec s = request(1, 0, MRC_OP_CMP_SWAP);
	s.va = 1;
	r.data(s);
	EXPECT_EQ(r.resp.rd, nullptr);
	ExtResponder q;
	q.cfg.late_rd = true;
	q.init();
	q.data(request(0, 0));
	EXPECT_NE(q.resp.rd, nullptr);
	EXPECT_EQ(q.reqs.size(), 1u);
	void *const ring = q.resp.rd;
	mrc_resp_set_rd(&q.resp, &s);
	EXPECT_EQ(q.resp.rd, ring);
	// Nor where no requests are taken.
	ExtResponder n;
	n.cfg.max_rd = 0;
	n.init();
	mrc_resp_set_rd(&n.resp, &s);
	EXPECT_EQ(n.resp.rd, nullptr);
}

TEST(RespReq, Configurations)
{
	ExtResponder r;
	r.cfg.max_rd = MRC_RD_MAX;
	EXPECT_NE(mrc_resp_mem(&r.cfg), 0u);
	r.cfg.max_rd = MRC_RD_MAX + 1;
	EXPECT_EQ(mrc_resp_mem(&r.cfg), 0u);
	EXPECT_EQ(mrc_resp_rd_mem(&r.cfg), 0u);
	ChanResponder c;
	EXPECT_EQ(mrc_resp_rd_slots(&c.cfg), 0u);
	EXPECT_EQ(mrc_resp_rd_mem(&c.cfg), 0u);
	c.cfg.max_rd = 0;
	EXPECT_EQ(mrc_resp_mem(&c.cfg), 0u);
	c.cfg.max_rd = 1;
	c.cfg.ext = false;
	EXPECT_EQ(mrc_resp_mem(&c.cfg), 0u);
}

// Rule 5 of the responder.
TEST(RespAck, WithheldBeforeTheOldestRequest)
{
	ExtResponder r;
	r.init();
	expect_ack(r.data({.psn = 0}), 0);
	// The request itself, what comes behind it, and the next one.
	EXPECT_EQ(how_many(r.data(request(1, 0)), MRC_OP_ACK), 0u);
	EXPECT_EQ(how_many(r.data({.psn = 2}), MRC_OP_ACK), 0u);
	EXPECT_EQ(how_many(r.data(send_part(3, 0, 5, 0)), MRC_OP_ACK), 0u);
	EXPECT_EQ(how_many(r.data(request(4, 1)), MRC_OP_ACK), 0u);
	EXPECT_EQ(how_many(r.data({.psn = 5}), MRC_OP_ACK), 0u);
	EXPECT_EQ(r.resp.exec, 5u);
	// Not even when asked again for any of them.
	for (u32 psn = 0; psn < 6; psn++)
		expect_ack(r.data({.psn = psn, .rtx = true}), 0);
	for (auto fb = r.probe(1); const auto &d : fb)
		EXPECT_NE(d.hdr.opcode, MRC_OP_ACK);
	// SACKs are not withheld.
	EXPECT_EQ(find(r.probe(2), MRC_OP_SACK)->hdr.seth.cack_psn, 5u);
	expect_ack(answered(r), 3);
	expect_ack(r.data({.psn = 1, .rtx = true}), 3);
	expect_ack(answered(r), 5);
	expect_ack(r.data({.psn = 1, .rtx = true}), 5);
	EXPECT_EQ(answered(r).size(), 0u); // one too many
	expect_ack(r.data({.psn = 6}), 6);
}

// The answer is the acknowledgement of the request and all before it.
TEST(RespAck, NoneForAnAnswerAlone)
{
	ExtResponder r;
	r.init();
	r.data(request(0, 0));
	r.data(request(1, 1));
	EXPECT_EQ(answered(r).size(), 0u);
	EXPECT_EQ(answered(r).size(), 0u);
	expect_ack(r.data({.psn = 1, .rtx = true}), 1);
}

TEST(RespAck, BeforeTheFirstPacket)
{
	ExtResponder r;
	r.cfg.rq_psn = 0;
	r.init();
	r.data(request(0, 0));
	expect_ack(r.data(request(0, 0)), 0xFFFFFF);
}

TEST(RespAck, WhatWasExecutedBeforeIsAcknowledged)
{
	ExtResponder r;
	r.init();
	r.data({.psn = 1});
	r.data(request(2, 0));
	r.data({.psn = 3});
	expect_ack(r.data({.psn = 0}), 1);
}

TEST(RespNak, WaitsForTheAnswers)
{
	ExtResponder r;
	r.init();
	r.data(request(0, 0));
	r.data(request(1, 1));
	auto fb = r.data({.psn = 2, .place = MRC_SYN_NAK_ACCESS});
	EXPECT_EQ(how_many(fb, MRC_OP_ACK), 0u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	// Meanwhile it is not dead,
	fb = r.probe(1);
	ASSERT_EQ(fb.size(), 1u);
	EXPECT_EQ(fb[0].hdr.seth.cack_psn, 2u);
	expect_ack(r.data({.psn = 2, .rtx = true}), 0xFFFFFF);
	// but takes nothing that is new.
	for (const DataSpec &s :
	     {DataSpec{.psn = 3}, request(3, 2), send_part(3, 0, 5, 0)}) {
		fb = r.data(s);
		ASSERT_EQ(fb.size(), 1u);
		EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
	}
	EXPECT_EQ(r.resp.max_rcv, 2u);
	EXPECT_EQ(answered(r).size(), 0u);
	EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
	expect_ack(answered(r), 2, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(answered(r).size(), 0u);
}

// An error with requests before it and behind it, in any order of arrival.
TEST(RespNak, RequestsAroundAnError)
{
	std::vector<int> order = {0, 1, 2, 3};
	do {
		ExtResponder r;
		r.init();
		for (int k : order) {
			if (k == 0)
				r.data(request(0, 0));
			else if (k == 1)
				r.data({.psn = 1, .place = MRC_SYN_NAK_ACCESS});
			else if (k == 2)
				r.data(request(2, 1));
			else
				r.data(send_part(3, 0, 5, 0));
		}
		ASSERT_EQ(r.reqs.size(), 1u);
		EXPECT_EQ(r.reqs[0].psn, 0u);
		EXPECT_EQ(r.imms.size(), 0u);
		EXPECT_EQ(mrc_resp_failed(&r.resp), 0);
		expect_ack(answered(r), 1, MRC_SYN_NAK_ACCESS);
	} while (std::next_permutation(order.begin(), order.end()));
}

TEST(RespNak, RequestThatFails)
{
	for (u8 syn :
	     {MRC_SYN_NAK_INV_REQ, MRC_SYN_NAK_ACCESS, MRC_SYN_NAK_REM_OP}) {
		ExtResponder r;
		r.init();
		r.data(request(0, 0));
		r.req_syn = syn;
		r.data(request(1, 1));
		r.data(request(2, 2));
		EXPECT_EQ(r.reqs.size(), 1u);
		EXPECT_EQ(r.resp.exec, 0u);
		EXPECT_EQ(r.count(syn == MRC_SYN_NAK_INV_REQ
					  ? MRC_CTR_ERR_INV_REQ
				  : syn == MRC_SYN_NAK_ACCESS
					  ? MRC_CTR_ERR_ACCESS
					  : MRC_CTR_ERR_REM_OP),
			  1u);
		expect_ack(answered(r), 1, syn);
		mrc_rd rd;
		EXPECT_FALSE(mrc_resp_next_req(&r.resp, &rd));
	}
}

// The memory of a READ that went away before all of it was sent.
TEST(RespNak, AnswerThatFails)
{
	ExtResponder r;
	r.init();
	for (u32 n = 0; n < 4; n++) {
		r.data(request(2 * n, (u16)n));
		r.data({.psn = 2 * n + 1});
	}
	EXPECT_EQ(r.resp.exec, 7u);
	mrc_resp_req_failed(&r.resp, 4, MRC_SYN_NAK_ACCESS); // none of them
	mrc_resp_req_failed(&r.resp, 0xFFFF, MRC_SYN_NAK_ACCESS);
	EXPECT_EQ(r.resp.err_syn, 0);
	mrc_resp_req_failed(&r.resp, 2, MRC_SYN_NAK_ACCESS);
	r.check();
	EXPECT_EQ(r.feedback().size(), 0u);
	// An earlier one may fail as well.
	expect_ack(answered(r), 1);
	mrc_resp_req_failed(&r.resp, 1, MRC_SYN_NAK_REM_OP);
	r.check();
	expect_ack(r.feedback(), 2, MRC_SYN_NAK_REM_OP);
	EXPECT_EQ(mrc_resp_failed(&r.resp), MRC_SYN_NAK_REM_OP);
	mrc_resp_req_failed(&r.resp, 1, MRC_SYN_NAK_REM_OP);
	EXPECT_EQ(r.feedback().size(), 0u);
}

// While something behind it is being delivered or executed.
TEST(RespNak, AnswerThatFailsMeanwhile)
{
	for (bool imm : {false, true}) {
		ExtResponder r;
		r.init();
		r.data(request(0, 0));
		r.deliver = false;
		r.data(imm ? send_part(1, 0, 5, 0) : request(1, 1));
		EXPECT_EQ(imm ? r.resp.recv_due : r.resp.rd_due, true);
		mrc_resp_req_failed(&r.resp, 0, MRC_SYN_NAK_ACCESS);
		r.check();
		mrc_resp_recv_done(&r.resp, 0);
		mrc_resp_req_done(&r.resp, 0);
		r.check();
		r.deliver_imms();
		EXPECT_EQ(r.imms.size(), 0u);
		EXPECT_EQ(r.reqs.size(), 1u);
		expect_ack(r.feedback(), 0, MRC_SYN_NAK_ACCESS);
	}
}

TEST(RespReq, NothingIsAcceptedBeforeItIsDone)
{
	ExtResponder r;
	r.deliver = false;
	r.init();
	r.data(request(0, 0));
	mrc_rx_action act;
	r.data({.psn = 1}, &act);
	EXPECT_EQ(act, MRC_RX_DROP);
	mrc_resp_recv_done(&r.resp, 0); // not what is due
	r.check();
	EXPECT_EQ(r.resp.rqmsn, 0);
	r.deliver_imms();
	r.data({.psn = 1}, &act);
	EXPECT_EQ(act, MRC_RX_PLACE);
	mrc_resp_req_done(&r.resp, 0); // nothing is
	r.check();
	EXPECT_EQ(r.resp.rd_next, 1);
}

// A stream of everything, with losses, duplicates, another order and answers
// that are acknowledged at any time: each once, in order, and no ACK too far.
TEST(RespExtAny, RandomStream)
{
	for (u64 seed = 0; seed < 60; seed++) {
		std::mt19937_64 rng(seed);
		ExtResponder r;
		r.cfg.rq_psn = (u32)(rng() % 2 ? 0xFFFF80 : rng() & kPsnMask);
		r.cfg.mpr = 1;
		r.cfg.max_wimm = 1 + rng() % 9;
		r.cfg.max_rd = 1 + rng() % 9;
		r.cfg.late_stash = r.cfg.late_rd = true;
		r.recvs = 0;
		r.init();

		// The plan: packets, and for each the number of its message.
		std::vector<DataSpec> plan;
		std::vector<u32> reqs, sends; // PSN of the last packet
		while (plan.size() < 600) {
			u32 psn = r.psn((s64)plan.size());
			u32 len = rng() % 4 ? rng() % 257 : rng() % 1500;
			u32 n = len ? (len - 1) / 256 + 1 : 1;
			switch (rng() % 4) {
			case 0:
				plan.push_back({.psn = psn});
				break;
			case 1:
				plan.push_back(write_imm(psn, sends.size()));
				sends.push_back(psn);
				break;
			case 2:
				for (u32 k = 0; k < n; k++)
					plan.push_back(send_part(psn, k, len,
								 sends.size()));
				sends.push_back(r.psn((s64)plan.size() - 1));
				break;
			default:
				plan.push_back(request(psn, reqs.size(),
						       kRequests[rng() % 5]));
				reqs.push_back(psn);
				break;
			}
		}
		const s64 total = (s64)plan.size();
		size_t answers = 0, posted = 0;
		for (int step = 0; step < 200000; step++) {
			s64 cack = mrc_psn_diff(r.resp.cack, r.psn(0));
			if (cack == total - 1 && answers == reqs.size())
				break;
			if (rng() % 8 == 0 && answers < r.reqs.size()) {
				answered(r);
				answers++;
			}
			if (rng() % 4 == 0 && posted < sends.size()) {
				posted++;
				r.recvs++;
			}
			s64 k = cack + (s64)(rng() % 12) - 2;
			if (k < 0 || k >= total)
				continue;
			DataSpec s = plan[(size_t)k];
			// The requester keeps to this limit (§14).
			if ((mrc_op_info(s.opcode)->flags &
			     (MRC_OPF_SEND | MRC_OPF_IMM)) &&
			    k > cack &&
			    (u16)(s.rqmsn - r.resp.rqmsn) >= r.cfg.max_wimm)
				continue;
			s.rtx = rng() & 1;
			for (const auto &d : r.data(s)) {
				if (d.hdr.opcode != MRC_OP_ACK)
					continue;
				ASSERT_EQ(d.hdr.aeth.syndrome, MRC_SYN_ACK);
				if (answers < r.reqs.size())
					ASSERT_EQ(d.hdr.psn,
						  psn_at(r.reqs[answers].psn,
							 -1));
				else
					ASSERT_LE(mrc_psn_diff(d.hdr.psn,
							       r.resp.exec),
						  0);
			}
			r.now += 1000;
		}
		ASSERT_EQ(mrc_resp_failed(&r.resp), 0) << seed;
		ASSERT_EQ(r.resp.exec, r.psn(total - 1)) << seed;
		ASSERT_EQ(r.reqs.size(), reqs.size());
		ASSERT_EQ(r.imms.size(), sends.size());
		for (size_t i = 0; i < reqs.size(); i++)
			ASSERT_EQ(r.reqs[i].psn, reqs[i]);
		for (size_t i = 0; i < sends.size(); i++)
			ASSERT_EQ(r.imms[i].psn, sends[i]);
		ASSERT_EQ(answers, reqs.size());
	}
}

// Any packet at all.
TEST(RespExtHostile, RandomPacketsKeepTheInvariants)
{
	std::mt19937_64 rng(11);
	for (int round = 0; round < 400; round++) {
		ExtResponder r;
		r.cfg.rq_psn = rng() & kPsnMask;
		r.cfg.mpr = 1 + rng() % 3;
		r.cfg.max_wimm = 1 + rng() % 9;
		r.cfg.max_rd = rng() % 5;
		r.cfg.late_stash = rng() & 1;
		r.cfg.late_rd = rng() & 1;
		r.cfg.ans = r.cfg.max_rd && rng() % 3 == 0;
		r.recvs = rng() % 20;
		r.init();
		for (int i = 0; i < 200 && !mrc_resp_failed(&r.resp); i++) {
			DataSpec s =
				part(0, rng() % 4, rng() % 1200, r.cfg.ans);
			if (s.len > 256) // k beyond the message
				continue;
			if (rng() % 2)
				s.opcode = 0xC0 + rng() % 32;
			s.psn = rng() % 8 ? psn_at(r.resp.cack,
						   (s64)(rng() % 20) - 3)
					  : (u32)(rng() & kPsnMask);
			if (mrc_op_info(s.opcode)->flags & MRC_OPF_REQUEST) {
				u64 op = s.opcode;
				s = request(s.psn, r.resp.rd_next + rng() % 3,
					    (u8)op);
			} else {
				s.rqmsn = s.msn = r.resp.rqmsn + rng() % 3;
			}
			if (!(rng() % 16))
				s.rqmsn = s.msn = (u16)rng();
			if (!(rng() % 32))
				s.va = rng();
			if (!(rng() % 32))
				s.dmalen = (u32)rng();
			if (!mrc_op_info(s.opcode)->name)
				continue;
			if (mrc_op_info(s.opcode)->flags & MRC_OPF_CONTROL)
				continue;
			s.a = rng() & 1;
			s.trim = rng() % 8 ? 0 : rng() % 3;
			s.place = rng() % 200 ? 0 : MRC_SYN_NAK_ACCESS;
			r.poor = !(rng() % 8);
			auto fb = rng() % 10 ? r.data(s) : r.probe((u16)rng());
			EXPECT_LE(fb.size(), r.resp.window / 64 + 3);
			if (!(rng() % 4))
				answered(r);
			if (!(rng() % 100)) {
				mrc_resp_req_failed(
					&r.resp, r.resp.rd_oldest + rng() % 3,
					MRC_SYN_NAK_ACCESS);
				r.check();
				r.feedback();
			}
			mrc_resp_take_done(&r.resp);
			r.recvs += rng() % 2;
			r.now += rng() % (100 * kUs);
		}
	}
}
