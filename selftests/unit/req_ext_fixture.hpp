// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A requester of the extension.
#pragma once

#include "engine_fixture.hpp"

namespace mrc_test
{

struct ExtRequester : Requester {
	ExtRequester()
	{
		cfg.ext = true;
		cfg.max_rd_atomic = 4;
		cfg.rnr_retry = 3;
	}

	int post(mrc_wr wr)
	{
		int slot = mrc_req_post(&req, &wr, now);
		check();
		return slot;
	}

	// A work request with every field set.
	static mrc_wr wr(u8 op, u32 len = 8)
	{
		mrc_wr w{};
		w.op = op;
		w.se = true;
		w.rkey = 0xABCD;
		w.va = 0x10008;
		w.len = len;
		w.imm = (__be32)0x11223344;
		w.swap = 0x0102030405060708;
		w.compare = 0x1112131415161718;
		w.num = 77;
		return w;
	}

	int post(u8 op, u32 len = 8) { return post(wr(op, len)); }

	int fenced(u8 op, u32 len = 8)
	{
		mrc_wr w = wr(op, len);
		w.fence = true;
		return post(w);
	}

	// Post, and send what may go.
	std::vector<mrc_tx_desc> go(u8 op, u32 len = 8)
	{
		EXPECT_GE(post(op, len), 0);
		return send();
	}

	void answered()
	{
		mrc_req_answered(&req, now);
		check();
	}

	void local_done(u32 slot, mrc_wc_status st = MRC_WC_SUCCESS)
	{
		mrc_req_local_done(&req, slot, st, now);
		check();
	}

	// The peer has no receive for @psn.
	void rnr(u32 psn, u8 code, u16 tstamp = 0)
	{
		mrc_hdr h{};
		h.opcode = MRC_OP_NACK;
		h.psn = psn;
		h.neth.reason = MRC_NACK_NO_RESOURCE;
		h.neth.vendor = MRC_RNR_VALID | code;
		h.neth.nack_psn = psn;
		h.neth.cc_type = 2;
		h.tstamp = tstamp;
		mrc_req_on_nack(&req, &h, 1, now);
		check();
	}

	// Slots of what is finished; all of it well.
	std::vector<u32> done()
	{
		std::vector<u32> out;
		for (auto [slot, st] : reap()) {
			EXPECT_EQ(st, MRC_WC_SUCCESS) << slot;
			out.push_back(slot);
		}
		return out;
	}

	mrc_tx_verdict verdict()
	{
		mrc_tx_verdict why;
		EXPECT_TRUE(send(&why).empty());
		return why;
	}

	// As the shell: time passes to the next deadline, then all may go.
	std::vector<mrc_tx_desc> step()
	{
		u64 at = mrc_req_deadline(&req);
		// At the end of time all that is periodic is due for ever.
		if (at == MRC_NEVER) {
			ADD_FAILURE() << "nothing is due any more";
			return {};
		}
		if (at > now)
			now = at;
		deadline();
		return send();
	}

	// Timers may go off early: until data is sent or the QP has failed.
	std::vector<mrc_tx_desc> wait()
	{
		std::vector<mrc_tx_desc> out;
		for (int i = 0;
		     i < 3000 && out.empty() && req.state == MRC_REQ_READY; i++)
			out = step();
		return out;
	}
};

using Slots = std::vector<u32>;

} // namespace mrc_test
