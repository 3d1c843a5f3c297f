// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Responder of the extension: the answer channel. Documentation/extension.md.
#include "resp_ext_fixture.hpp"

#include <algorithm>

using namespace mrc_test;

TEST(RespAnswers, AnswersInOrder)
{
	for (u32 first : {0u, 0xFFFFFEu}) {
		std::vector<int> order = {0, 1, 2, 3, 4};
		do {
			ChanResponder r;
			r.cfg.rq_psn = first;
			r.init();
			r.resp.rqmsn = 0xFFFF;
			u32 done = 0;
			for (int k : order) {
				mrc_rx_action act;
				std::vector<mrc_tx_desc> fb;
				if (k < 3)
					fb = r.data(answer_part(first, k, 600,
								0xFFFF),
						    &act);
				else if (k == 3)
					fb = r.data(
						answer_part(r.psn(3), 0, 0, 0),
						&act);
				else
					fb = r.data(
						[&] {
							DataSpec s = answer_part(
								r.psn(4), 0, 8,
								1);
							s.opcode =
								MRC_OP_ATOMIC_RESP;
							return s;
						}(),
						&act);
				// Each is shown to the shell, empty ones too.
				EXPECT_EQ(act, MRC_RX_PLACE);
				for (const auto &d : fb)
					EXPECT_TRUE(d.hdr.ans);
				u32 n = mrc_resp_take_done(&r.resp);
				EXPECT_EQ(mrc_resp_take_done(&r.resp), 0u);
				done += n;
				s32 at = mrc_psn_diff(r.resp.exec, first);
				EXPECT_EQ(done, at < 2 ? 0u : (u32)at - 1);
			}
			EXPECT_EQ(done, 3u);
			EXPECT_EQ(r.resp.rqmsn, 2);
			EXPECT_EQ(r.placed, 5u);
			mrc_recv_msg imm;
			EXPECT_FALSE(mrc_resp_next_recv(&r.resp, &imm));
		} while (std::next_permutation(order.begin(), order.end()));
	}
}

TEST(RespAnswers, AcksCompleteAnswers)
{
	ChanResponder r;
	r.init();
	EXPECT_EQ(how_many(r.data(answer_part(0, 0, 600, 0)), MRC_OP_ACK), 0u);
	EXPECT_EQ(how_many(r.data(answer_part(0, 1, 600, 0)), MRC_OP_ACK), 0u);
	auto fb = r.data(answer_part(0, 2, 600, 0));
	expect_ack(fb, 2);
	EXPECT_TRUE(find(fb, MRC_OP_ACK)->hdr.ans);
	// Where a duplicate comes in it is not shown again.
	mrc_rx_action act;
	expect_ack(r.data(answer_part(0, 0, 600, 0), &act), 2);
	EXPECT_EQ(act, MRC_RX_DONE);
	fb = r.probe(3);
	EXPECT_TRUE(find(fb, MRC_OP_SACK)->hdr.ans);
}

TEST(RespAnswers, NothingElseIsTaken)
{
	for (unsigned op = 0xC0; op < 0xE0; op++) {
		const u32 flags = mrc_op_info((u8)op)->flags;
		if (!(flags & MRC_OPF_DATA) || flags & MRC_OPF_ANSWER)
			continue;
		ChanResponder r;
		r.cfg.remote_write = true;
		r.cfg.late_stash = true;
		r.init();
		DataSpec s;
		s.opcode = (u8)op;
		s.va = 0;
		s.len = flags & MRC_OPF_REQUEST ? 0 : 256;
		expect_ack(r.data(s), 0, MRC_SYN_NAK_INV_REQ);
		EXPECT_EQ(r.placed, 0u);
		EXPECT_EQ(r.resp.stash, nullptr);
	}
	ChanResponder r;
	r.init();
	auto fb = r.data({.psn = 0, .opcode = 0xDF});
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_UNEXP_EVENT);
	EXPECT_TRUE(fb[0].hdr.ans);
}

TEST(RespAnswers, Malformed)
{
	const auto bad = [](DataSpec s) {
		ChanResponder r;
		r.init();
		s.psn = 0;
		expect_ack(r.data(s), 0, MRC_SYN_NAK_INV_REQ);
		EXPECT_EQ(mrc_resp_take_done(&r.resp), 0u);
		EXPECT_EQ(r.count(MRC_CTR_ERR_WIMM_LIMIT), 0u);
	};
	bad(answer_part(0, 0, 5, 1));	   // not its turn
	bad(answer_part(0, 0, 5, 4));	   // cannot have been asked
	bad(answer_part(0, 0, 5, 0xFFFF)); // had its answer
	DataSpec s = answer_part(0, 0, 5, 0);
	s.va = 256;
	bad(s);
	for (u32 len : {0u, 4u, 7u, 9u}) {
		s = answer_part(0, 0, len, 0);
		s.opcode = MRC_OP_ATOMIC_RESP;
		bad(s);
	}
	s = answer_part(0, 1, 300, 0); // a last packet alone
	bad(s);
	s = answer_part(0, 0, 8, 0); // the shell finds no such request
	s.place = MRC_SYN_NAK_INV_REQ;
	bad(s);
	// Another length half way.
	ChanResponder r;
	r.init();
	r.data(answer_part(0, 0, 300, 0));
	expect_ack(r.data(answer_part(0, 1, 301, 0)), 1, MRC_SYN_NAK_INV_REQ);
}

TEST(RespAnswers, LateStash)
{
	ChanResponder r;
	r.cfg.late_stash = true;
	EXPECT_EQ(mrc_resp_stash_mem(&r.cfg), 4 * sizeof(mrc_recv_msg));
	r.init();
	r.poor = true;
	auto fb = r.data(answer_part(0, 0, 0, 0));
	EXPECT_EQ(fb[0].hdr.neth.reason, MRC_NACK_NO_RESOURCE);
	r.poor = false;
	r.data(answer_part(0, 0, 0, 0));
	EXPECT_EQ(mrc_resp_take_done(&r.resp), 1u);
}
