// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A requester and a responder with memory, clock and counters, checked for
// consistency after every call.
#pragma once

#include "engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <vector>

namespace mrc_test
{

constexpr u64 kUs = 1000;
constexpr u64 kMs = 1000 * kUs;
constexpr u32 kPsnMask = 0xFFFFFF;

inline u32 psn_at(u32 first, s64 n)
{
	return (u32)(first + (u32)n) & kPsnMask;
}

// What a SACK is to say; missing entropy means that of the packet it answers.
struct SackSpec {
	u32 cack = 0;
	s32 ack = 0;  // ack_psn - cack
	s32 base = 1; // first PSN of the map - cack
	u64 map = 0;
	bool rtx = false;
	u8 m = MRC_M_NONE;
	s32 probe = -1; // >= 0: pr = 1 with this id
	u32 entropy = 0;
	u8 cc_type = 0;
	u32 rcvd = 0;
	u8 pen = 0;
	bool restore = false;
	u8 mpr = 0;
	u16 tstamp = 0;
	u8 via = 1; // port of arrival
};

// Congestion control that records what it was told and can close the window.
struct RecordingCc {
	static inline RecordingCc *self;

	std::vector<mrc_cc_ack> acks;
	std::vector<u32> sent;
	std::vector<u32> lost;
	std::vector<u32> late;
	struct Nack {
		u32 size;
		u8 reason;
		u64 rtt;
	};
	std::vector<Nack> nacks;
	u64 limit = ~0ull; // bytes that may be in flight

	RecordingCc() { self = this; }

	static const mrc_cc_ops *ops()
	{
		static const mrc_cc_ops o = {
			"recording",
			[](mrc_cc *cc, const mrc_cc_cfg *cfg) {
				cc->cwnd = cfg->window;
			},
			[](const mrc_cc *, u64 inflight, u32 size) {
				return inflight + size <= self->limit;
			},
			[](mrc_cc *, u32 size, u64) {
				self->sent.push_back(size);
			},
			[](mrc_cc *, const mrc_cc_ack *a) {
				self->acks.push_back(*a);
			},
			[](mrc_cc *, u32 size, u64) {
				self->lost.push_back(size);
			},
			[](mrc_cc *, u32 size, u8 reason, u64 rtt, u64) {
				self->nacks.push_back({size, reason, rtt});
			},
			[](const mrc_cc *, u64) { return false; },
			[](mrc_cc *, u32 size) { self->late.push_back(size); },
			[](mrc_cc *, const mrc_cc_cfg *) {},
			false,
		};
		return &o;
	}
};

// Finished work requests: slot and status.
using Done = std::vector<std::pair<u32, mrc_wc_status>>;

class Requester
{
public:
	mrc_req req{};
	mrc_paths paths{};
	mrc_cc cc{};
	mrc_counters ctr{};
	RecordingCc rec;
	mrc_req_cfg cfg{};
	mrc_paths_cfg pcfg{};
	mrc_cc_cfg ccfg{};
	u64 now = 10 * kMs;
	struct Loss {
		u32 psn;
		int ev;
		u8 cause;
	};
	std::vector<Loss> losses;
	std::vector<mrc_tx_desc> probes; // sent so far

	Requester()
	{
		ctr.n_ports = 16;
		cfg.sq_depth = 64;
		cfg.pmtu = 256;
		cfg.mpr = 8;
		cfg.max_wimm = 4;
		cfg.sq_psn = 0x100;
		cfg.qpn = 0x12345;
		cfg.dqpn = 0x6789A;
		cfg.pkey = 0xFFFF;
		cfg.rto = 4 * kMs;
		cfg.linear_cnt = 3;
		cfg.exp_cnt = 7;
		cfg.base_rtt = 100 * kUs;
		cfg.use_ts = true;
		cfg.ctr = &ctr;
		cfg.on_loss = [](void *ctx, u32 psn, int ev, u8 cause) {
			((Requester *)ctx)->losses.push_back({psn, ev, cause});
		};
		cfg.ctx = this;
		pcfg.n_evs = 16;
		pcfg.n_ports = 2;
		pcfg.ipv6 = true;
		pcfg.min_active = 1;
		pcfg.seed = 42;
		ccfg.window =
			8 * 256; // small loss range; see RecordingCc::limit
	}

	Requester(const Requester &) = delete;

	// After the configuration was adjusted.
	int init(const mrc_cc_ops *ops = RecordingCc::ops())
	{
		pcfg.rto = cfg.rto;
		pcfg.base_rtt = cfg.base_rtt;
		ccfg.mtu = mrc_nominal_size(36, cfg.pmtu);
		ccfg.base_rtt = cfg.base_rtt;
		pmem = Mem(mrc_paths_mem(&pcfg));
		EXPECT_EQ(mrc_paths_init(&paths, &pcfg, pmem.get()), 0);
		mrc_cc_init(&cc, ops, &ccfg);
		size_t size = mrc_req_mem(&cfg);
		if (!size)
			return mrc_req_init(&req, &cfg, &paths, &cc, &now);
		mem = Mem(size);
		int rc = mrc_req_init(&req, &cfg, &paths, &cc, mem.get());
		check();
		return rc;
	}

	void check() { EXPECT_STREQ(mrc_req_check(&req), nullptr); }

	u64 count(mrc_counter id) const { return counter(ctr, id); }

	u32 psn(s64 n) const { return psn_at(cfg.sq_psn, n); }

	int write(u32 len, bool imm = false, bool se = false)
	{
		mrc_wr wr{};
		wr.op = imm ? MRC_WR_WRITE_IMM : MRC_WR_WRITE;
		wr.se = se;
		wr.rkey = 0xABCD;
		wr.va = 0x10000;
		wr.len = len;
		wr.imm = imm ? (__be32)0x11223344 : 0;
		int slot = mrc_req_post(&req, &wr, now);
		check();
		return slot;
	}

	mrc_tx_verdict next(mrc_tx_desc *d)
	{
		mrc_tx_verdict v = mrc_req_next(&req, now, d);
		check();
		return v;
	}

	// All data that may go now, until the first verdict that is no packet;
	// probes are collected apart.
	std::vector<mrc_tx_desc> send(mrc_tx_verdict *why = nullptr)
	{
		std::vector<mrc_tx_desc> out;
		mrc_tx_desc d;
		mrc_tx_verdict v;
		while ((v = next(&d)) == MRC_TX_PACKET)
			(d.data ? out : probes).push_back(d);
		if (why)
			*why = v;
		return out;
	}

	// Post and send @n single-packet writes.
	std::vector<mrc_tx_desc> send_n(unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			EXPECT_GE(write(256), 0);
		return send();
	}

	void sack(const SackSpec &s)
	{
		mrc_hdr h{};
		h.opcode = MRC_OP_SACK;
		h.psn = s.cack;
		h.rtx = s.rtx;
		h.seth.m = s.m;
		h.seth.pr = s.probe >= 0;
		if (h.seth.pr)
			h.seth.probe_id = (u16)s.probe;
		else
			h.seth.ack_psn_offset = (s16)s.ack;
		h.seth.entropy = s.entropy;
		h.seth.cack_psn = s.cack;
		h.seth.cc_type = s.cc_type;
		h.seth.sack_offset = (s16)s.base;
		h.seth.bitmap = s.map;
		h.seth.rcvd_bytes = s.rcvd;
		h.seth.rcv_cwnd_pen = s.pen;
		h.seth.restore_cwnd = s.restore;
		h.seth.mpr = s.mpr;
		h.tstamp = s.tstamp;
		mrc_req_on_sack(&req, &h, s.via, now);
		check();
	}

	// The plain SACK of an in-order packet.
	void sack_all(u32 cack) { sack({.cack = cack}); }

	void nack(u32 psn, u8 reason, u32 entropy, u8 cc_type = 2,
		  u16 tstamp = 0)
	{
		mrc_hdr h{};
		h.opcode = MRC_OP_NACK;
		h.psn = psn;
		h.neth.reason = reason;
		h.neth.nack_psn = psn;
		h.neth.entropy = entropy;
		h.neth.cc_type = cc_type;
		h.tstamp = tstamp;
		mrc_req_on_nack(&req, &h, 1, now);
		check();
	}

	void ack(u32 psn, u8 syndrome = MRC_SYN_ACK)
	{
		mrc_hdr h{};
		h.opcode = MRC_OP_ACK;
		h.psn = psn;
		h.aeth.syndrome = syndrome;
		mrc_req_on_ack(&req, &h, 1, now);
		check();
	}

	void deadline()
	{
		mrc_req_on_deadline(&req, now);
		check();
	}

	// Let time pass to the retransmission timer, whatever else is due.
	void expire()
	{
		ASSERT_NE(req.timer_at, MRC_NEVER);
		now = req.timer_at;
		deadline();
	}

	Done reap()
	{
		Done out;
		u32 slot;
		mrc_wc_status st;
		while (mrc_req_reap(&req, &slot, &st))
			out.emplace_back(slot, st);
		check();
		return out;
	}

	bool lost(u32 psn) const
	{
		return mrc_bit_test(req.lost, req.ring_mask, psn);
	}

	EvView ev(int i) const { return EvView(paths, i); }

private:
	Mem mem, pmem;
};

// A data packet as a peer would send it.
struct DataSpec {
	u32 psn = 0;
	u8 opcode = MRC_OP_WRITE_ONLY;
	u32 len = 256;
	s64 dmalen = -1; // < 0: what fits the opcode
	int pad = -1;	 // < 0: what fits the length
	u16 rqmsn = 0;
	bool a = false;
	bool rtx = false;
	bool se = false;
	bool ce = false;
	bool ts = false;
	bool tsr = false;
	u16 tstamp = 0;
	u8 ftype = MRC_TS_FTYPE;
	u8 trim = MRC_TRIM_NONE;
	u32 entropy = 0x1234C001;
	u8 port = 1;
	__be32 imm = 0;
	u8 place = 0;  // syndrome of the placement
	u8 refuse = 0; // the shell refuses it for this reason
	u64 at = 0;    // time of arrival
	u64 va = 0x1000;
	u16 msn = 0;
	u32 rkey = 7;
	u64 swap = 0;
	u64 compare = 0;
};

class Responder
{
public:
	mrc_resp resp{};
	mrc_resp_cfg cfg{};
	mrc_counters ctr{};
	u64 now = 10 * kMs;
	unsigned placed = 0;	   // packets whose payload was placed
	std::vector<mrc_recv_msg> imms; // delivered
	unsigned recvs = 1000;	   // receives posted
	bool tells = false;	   // and the peer is told
	bool deliver = true;	   // hand out immediates at once
	bool poor = false;	   // no memory for a stash that comes late
	// The extension: with cfg.ext receives are counted before a packet is
	// accepted.
	std::vector<mrc_rd> reqs;   // executed
	std::vector<mrc_hdr> parts; // placed
	u8 req_syn = 0;		    // what executing a request returns
	u8 rnr_timer = 12;

	Responder()
	{
		ctr.n_ports = 16;
		cfg.pmtu = 256;
		cfg.mpr = 8;
		cfg.max_wimm = 4;
		cfg.rq_psn = 0;
		cfg.qpn = 0x6789A;
		cfg.dqpn = 0x12345;
		cfg.pkey = 0xFFFF;
		cfg.remote_write = true;
		cfg.trim_nack = true;
		cfg.base_rtt = 100 * kUs;
		cfg.ctr = &ctr;
	}

	Responder(const Responder &) = delete;

	int init(const mrc_paths *paths = nullptr)
	{
		size_t size = mrc_resp_mem(&cfg);
		if (!size)
			return mrc_resp_init(&resp, &cfg, paths, &now);
		mem = Mem(size);
		int rc = mrc_resp_init(&resp, &cfg, paths, mem.get());
		check();
		return rc;
	}

	void check() { EXPECT_STREQ(mrc_resp_check(&resp), nullptr); }

	u64 count(mrc_counter id) const { return counter(ctr, id); }

	u32 psn(s64 n) const { return psn_at(cfg.rq_psn, n); }

	void deliver_imms()
	{
		mrc_recv_msg imm;
		mrc_rd rd;
		for (;;) {
			if (mrc_resp_next_req(&resp, &rd)) {
				EXPECT_FALSE(mrc_resp_next_recv(&resp, &imm));
				if (!req_syn)
					reqs.push_back(rd);
				mrc_resp_req_done(&resp, req_syn);
				check();
				continue;
			}
			if (!mrc_resp_next_recv(&resp, &imm))
				break;
			bool have = recvs > 0;
			if (have) {
				recvs--;
				imms.push_back(imm);
			}
			mrc_resp_recv_done(&resp,
					  have ? 0 : MRC_SYN_NAK_INV_REQ);
			check();
		}
	}

	std::vector<mrc_tx_desc> feedback()
	{
		std::vector<mrc_tx_desc> out;
		mrc_tx_desc d;
		if (tells && mrc_resp_tells_recvs(&resp))
			mrc_resp_set_recvs(&resp, recvs);
		while (mrc_resp_next_feedback(&resp, now, &d)) {
			out.push_back(d);
			check();
			if (out.size() > 2000) {
				ADD_FAILURE() << "endless feedback";
				break;
			}
		}
		return out;
	}

	mrc_rx_action hand_in(const mrc_rx &rx, u8 place, u8 refuse = 0)
	{
		if (!refuse && !poor && mrc_resp_wants_stash(&resp, &rx)) {
			stash = Mem(mrc_resp_stash_mem(&cfg));
			mrc_resp_set_stash(&resp, stash.get());
		}
		if (!refuse && !poor && mrc_resp_wants_rd(&resp, &rx)) {
			ring = Mem(mrc_resp_rd_mem(&cfg));
			mrc_resp_set_rd(&resp, ring.get());
		}
		u32 need = 0;
		const bool recv = mrc_resp_wants_recv(&resp, &rx, &need);
		mrc_rx_action act =
			refuse ? mrc_resp_refuse(&resp, &rx, refuse, now)
			: recv && need > recvs
				? mrc_resp_refuse_rnr(&resp, &rx, rnr_timer,
						      now)
				: mrc_resp_on_data(&resp, &rx, now);
		check();
		if (act == MRC_RX_PLACE) {
			placed++;
			parts.push_back(*rx.hdr);
			// Never into a receive that is not there.
			EXPECT_TRUE(recv ||
				    !(mrc_op_info(rx.hdr->opcode)->flags &
				      MRC_OPF_SEND));
			mrc_resp_placed(&resp, &rx, place, now);
			check();
		}
		if (deliver)
			deliver_imms();
		return act;
	}

	std::vector<mrc_tx_desc> data(const DataSpec &s,
				      mrc_rx_action *act = nullptr)
	{
		const u32 flags = mrc_op_info(s.opcode)->flags;
		mrc_hdr h{};
		h.opcode = s.opcode;
		h.psn = s.psn;
		h.a = s.a;
		h.rtx = s.rtx;
		h.se = s.se;
		h.ts = s.ts;
		h.tstamp = s.tstamp;
		h.ftype = s.ts ? s.ftype : 0;
		h.tsr = s.tsr;
		h.rqmsn = s.rqmsn;
		h.pad = s.pad >= 0 ? (u8)s.pad : (u8)(-s.len & 3);
		h.payload_len = s.len;
		h.hdr_len = (u16)mrc_hdr_len(&h);
		h.msn = s.msn;
		h.reth.va = s.va;
		h.reth.rkey = s.rkey;
		h.opeth.swap = s.swap;
		h.opeth.compare = s.compare;
		h.reth.imm = s.imm;
		if (s.dmalen >= 0)
			h.reth.dmalen = (u32)s.dmalen;
		else if ((flags & MRC_OPF_FIRST) && (flags & MRC_OPF_LAST))
			h.reth.dmalen = s.len;
		else if (flags & MRC_OPF_LAST)
			h.reth.dmalen = cfg.pmtu * 4 + s.len;
		else
			h.reth.dmalen = cfg.pmtu * 8;
		mrc_rx rx{};
		rx.hdr = &h;
		rx.entropy = s.entropy;
		rx.port = s.port;
		rx.ce = s.ce;
		rx.trim = s.trim;
		rx.at = s.at;
		mrc_rx_action a = hand_in(rx, s.place, s.refuse);
		if (act)
			*act = a;
		return feedback();
	}

	std::vector<mrc_tx_desc> probe(u16 id, u16 tstamp = 0x200,
				       bool ce = false, u8 ftype = MRC_TS_FTYPE)
	{
		mrc_hdr h{};
		h.opcode = MRC_OP_PROBE;
		h.peth.probe_id = id;
		h.tstamp = tstamp;
		h.ftype = ftype;
		mrc_rx rx{};
		rx.hdr = &h;
		rx.entropy = 0x1237C004;
		rx.port = 2;
		rx.ce = ce;
		mrc_resp_on_probe(&resp, &rx, now);
		check();
		return feedback();
	}

private:
	Mem mem, stash, ring;
};

inline const mrc_tx_desc *find(const std::vector<mrc_tx_desc> &v, u8 opcode)
{
	for (const auto &d : v)
		if (d.hdr.opcode == opcode)
			return &d;
	return nullptr;
}

inline unsigned how_many(const std::vector<mrc_tx_desc> &v, u8 opcode)
{
	unsigned n = 0;
	for (const auto &d : v)
		n += d.hdr.opcode == opcode;
	return n;
}

} // namespace mrc_test
