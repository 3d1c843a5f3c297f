// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A requester under any sequence of work requests, feedback, time and ports.
// The peer may say whatever it likes.
#include "fuzz_check.hpp"
#include "fuzz_evset.hpp"
#include "fuzz_input.hpp"
#include "fuzz_requester_seeds.hpp"
#include "model/qp.hpp"

using fuzz::Input;
using fuzz::require;

namespace
{

using namespace fuzz::requester;

class Requester
{
public:
	explicit Requester(Input &in);
	void op();
	void check();

private:
	void post();
	void send(u32 limit);
	void feedback(mrc_hdr &h);
	void sack(bool probe_reply);
	void nack();
	void ack();
	void raw();
	void honest();
	void reap();
	void post_ext(mrc_wr &wr);
	bool acceptable(const mrc_wr &wr) const;
	bool step(mrc_tx_desc &d);
	// A PSN around what is outstanding, or any.
	u32 psn();
	// Of the packet @psn, of now, or none, and some service time.
	u16 echo(u32 psn);
	u32 window_max() const
	{
		return (qc_.dynamic_mpr && qc_.mpr_max ? qc_.mpr_max
						       : qc_.mpr) *
		       (u32)MRC_MPR_UNIT;
	}

	Input &in_;
	mrc_counters ctr_{};
	mrc_model::QpCfg cfg_;
	mrc_req_cfg &qc_ = cfg_.req;
	fuzz::EvSets sets_;
	mrc_model::Qp qp_;
	mrc_paths &paths_ = qp_.paths;
	mrc_cc &cc_ = qp_.cc;
	mrc_req &req_ = qp_.req;
	u64 now_ = 1;
	u32 posted_ = 0;
	u32 reaped_ = 0;
	u32 losses_ = 0;
	u32 errors_ = 0;
	u32 local_ = 0; // newest slot that MRC_TX_LOCAL named
	bool failed_ = false;
};

Requester::Requester(Input &in) : in_(in)
{
	mrc_paths_cfg &pc = cfg_.paths;
	mrc_cc_cfg &cc = cfg_.cc;
	u8 v;

	v = in.byte();
	pc.n_evs = (u16)(v % 64 + 1);
	pc.n_ports = (u8)(v / 64 + 1);
	v = in.byte();
	pc.ipv6 = v & 1;
	pc.trim_nack = v & 2;
	qc_.use_ts = v & 4;
	qc_.pmtu = 256u << (v >> 3) % 5;
	v = in.byte();
	qc_.sq_depth = 1u << v % 7;
	qc_.mpr = (u16)((v / 7) % 4 + 1);
	v = in.byte();
	qc_.max_wimm = (u16)(v % 16 + 1);
	qc_.linear_cnt = v >> 4 & 7;
	if (v & 0x80) {
		v = in.byte();
		qc_.ext = true;
		qc_.ans = v % 8 == 7;
		qc_.max_rd_atomic = v >> 3 & 7;
		qc_.rnr_retry = in.byte() & 7;
	}
	v = in.byte();
	qc_.exp_cnt = v % 26;
	qc_.rto = (v & 0x80) ? 0 : 1000ull << (v & 15);
	qc_.sq_psn = in.half() << 8 | in.byte();
	cc.window = (u32)in.byte() * 512;
	cc.mtu = mrc_nominal_size(40, qc_.pmtu);
	cc.base_rtt = qc_.base_rtt = 1000ull * in.byte();
	qc_.trim_nack = pc.trim_nack;
	qc_.qpn = 0x101;
	qc_.dqpn = 0x202;
	qc_.pkey = MRC_PKEY_DEFAULT;
	ctr_.n_ports = pc.n_ports;
	qc_.ctr = pc.ctr = &ctr_;
	pc.rto = qc_.rto;
	pc.base_rtt = qc_.base_rtt;
	pc.seed = qc_.sq_psn;
	qc_.ctx = this;
	qc_.on_loss = [](void *ctx, u32, int, u8) {
		static_cast<Requester *>(ctx)->losses_++;
	};
	v = in.byte();
	sets_.init(in, pc.n_evs, pc.n_ports, pc.ipv6);
	pc.set = sets_.get();
	qc_.dynamic_mpr = v & 2;
	qc_.svc_time = (v & 4) && qc_.use_ts;
	qc_.ignore_pen = v & 8;
	if (v & 16)
		qc_.mpr_max = (u16)(qc_.mpr + (v >> 5));
	if (v & 16)
		cc.max_pkts = MRC_CC_WINDOW_PKTS(window_max());
	cc.now = now_;
	cc.trim_nack = qc_.trim_nack;
	cfg_.algorithm = v & 1  ? &mrc_cc_nscc :
			 v & 64 ? &mrc_cc_vegas :
				  nullptr;
	cfg_.responder = false;
	require(qp_.init(cfg_), "requester refused");
}

u32 Requester::psn()
{
	u8 how = in_.byte();

	if (how < 8)
		return in_.half() << 8 | in_.byte();
	return mrc_psn_add(how & 1 ? req_.cack : req_.next_psn, in_.near());
}

u16 Requester::echo(u32 psn)
{
	const u8 v = in_.byte();
	u64 at = now_;

	if (v & 1)
		at = req_.pkt[psn & req_.ring_mask].sent_at;
	return v & 2 ? 0 : (u16)((at >> MRC_TS_SHIFT) + (v >> 2));
}

// Another operation, with all that it may have.
void Requester::post_ext(mrc_wr &wr)
{
	const u8 v = in_.byte();

	wr.op = v & 15;
	wr.fence = v & 16;
	if (v & 32)
		wr.len = MRC_ATOMIC_LEN;
	wr.num = in_.byte();
	wr.swap = wr.compare = in_.half();
}

bool Requester::acceptable(const mrc_wr &wr) const
{
	if (wr.len > MRC_MAX_MSG)
		return false;
	if (!qc_.ext)
		return true;
	switch (wr.op) {
	case MRC_WR_CMP_SWAP:
	case MRC_WR_FETCH_ADD:
	case MRC_WR_ATOMIC_WRITE:
		return !qc_.ans && qc_.max_rd_atomic && wr.len == 8;
	case MRC_WR_READ:
	case MRC_WR_FLUSH:
		return !qc_.ans && qc_.max_rd_atomic;
	case MRC_WR_ANSWER:
		return qc_.ans;
	case MRC_WR_ANSWER_ATOMIC:
		return qc_.ans && wr.len == 8;
	default:
		return !qc_.ans && wr.op < MRC_WR_MAX;
	}
}

void Requester::post()
{
	u8 v = in_.byte();
	mrc_wr wr{};
	int slot;

	wr.op = v & 1 ? MRC_WR_WRITE_IMM : MRC_WR_WRITE;
	wr.se = v & 2;
	wr.rkey = 0x1234;
	wr.va = (u64)in_.byte() << 56;
	switch (v >> 2 & 3) {
	case 0:
		wr.len = v >> 4;
		break;
	case 1:
		wr.len = (v >> 4) * qc_.pmtu;
		break;
	case 2:
		wr.len = in_.half();
		break;
	default:
		wr.len = in_.word();
		break;
	}
	if (qc_.ext)
		post_ext(wr);
	bool room = mrc_req_can_post(&req_);

	slot = mrc_req_post(&req_, &wr, now_);
	if (!acceptable(wr))
		require(slot == -EINVAL, "bad work request accepted");
	else if (!room)
		require(slot == -ENOSPC, "posted into a full queue");
	else
		require(slot == (int)(posted_++ % qc_.sq_depth), "wrong slot");
}

// The next packet; local operations are executed later, if at all.
bool Requester::step(mrc_tx_desc &d)
{
	const enum mrc_tx_verdict v = mrc_req_next(&req_, now_, &d);

	if (v == MRC_TX_LOCAL) {
		require(d.slot < qc_.sq_depth &&
				req_.wqe[d.slot].wr.op == MRC_WR_LOCAL,
			"not a local operation");
		local_ = d.slot;
	}
	return v == MRC_TX_PACKET;
}

void Requester::send(u32 limit)
{
	// Nothing may be sent for ever at one instant.
	const u32 bound = window_max() + 3u * paths_.n + 16;
	mrc_tx_desc d;
	u32 n = 0;

	while (n < limit) {
		if (!step(d))
			return;
		require(++n <= bound, "sends without end");
		require(d.ev >= 0 && d.ev < paths_.n &&
				mrc_paths_port(&paths_, d.ev) == d.port &&
				mrc_paths_entropy(&paths_, d.ev) == d.entropy,
			"packet on an unknown EV");
		require(mrc_paths_port_up(&paths_, d.port),
			"packet through a port that is down");
		require(mrc_paths_state(&paths_, d.ev) != MRC_EV_DENIED,
			"packet on a denied EV");
		fuzz::check_wire(d.hdr);
		require(d.hdr.ans == qc_.ans, "packet of another channel");
		if (!d.data)
			continue;
		require(d.slot < qc_.sq_depth, "slot out of range");

		const mrc_tx_wqe &wqe = req_.wqe[d.slot];

		require(d.len <= qc_.pmtu && d.off <= wqe.wr.len &&
				d.len <= wqe.wr.len - d.off,
			"payload outside of the message");
		require((u32)mrc_psn_diff(d.hdr.psn, req_.cack) <=
					req_.window ||
				mrc_psn_diff(d.hdr.psn, req_.cack) <= 0,
			"PSN outside of the window");
	}
}

void Requester::feedback(mrc_hdr &h)
{
	const u8 port = (u8)(in_.byte() % 18);
	const u32 cack = req_.cack;
	const u32 tack = req_.tack;
	bool unsent = false;

	switch (h.opcode) {
	case MRC_OP_SACK:
		unsent = mrc_psn_diff(h.seth.cack_psn, req_.next_psn) >= 0;
		break;
	case MRC_OP_NACK:
		break;
	default:
		unsent = mrc_psn_diff(h.psn, req_.next_psn) >= 0;
		break;
	}
	qp_.feedback(h, port, now_);
	require(mrc_psn_diff(req_.cack, cack) >= 0 &&
			mrc_psn_diff(req_.tack, tack) >= 0,
		"state moved backwards");
	require(!unsent || (req_.cack == cack && req_.tack == tack),
		"believed feedback about an unsent PSN");
}

void Requester::sack(bool probe_reply)
{
	mrc_hdr h{};
	u8 v = in_.byte();

	h.opcode = MRC_OP_SACK;
	h.pkey = MRC_PKEY_DEFAULT;
	h.dqp = qc_.qpn;
	h.rtx = v & 1;
	h.seth.m = v >> 1 & 3;
	if (h.seth.m > 2)
		h.seth.m = 0;
	h.seth.pr = probe_reply;
	h.seth.cack_psn = psn();
	h.psn = h.seth.cack_psn;
	if (probe_reply)
		h.seth.probe_id = (u16)(req_.probe_id - 1 - (v >> 4));
	else
		h.seth.ack_psn_offset =
			v & 8 ? (s16)in_.half() : (s16)in_.near();
	h.seth.sack_offset = v & 16 ? (s16)in_.half() : (s16)in_.near();
	if (v & 32)
		h.seth.bitmap = in_.quad();
	else
		h.seth.bitmap = in_.half();
	h.seth.entropy =
		v & 64 ? in_.word()
		       : mrc_paths_entropy(&paths_, in_.byte() % paths_.n);
	h.seth.cc_type = v & 128 ? in_.byte() & 15 : 0;
	h.seth.mpr = v & 128 ? in_.byte() : 0;
	h.seth.rcvd_bytes = in_.half();
	h.seth.rcv_cwnd_pen = v & 128 ? in_.byte() & 127 : 0;
	h.seth.restore_cwnd = v & 4;
	h.tstamp = echo(mrc_psn_add(h.seth.cack_psn, h.seth.ack_psn_offset));
	feedback(h);
}

void Requester::nack()
{
	static const u8 reasons[] = {MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP,
				     MRC_NACK_NO_BITMAP, MRC_NACK_NO_RESOURCE,
				     MRC_NACK_PSN_OOR_WINDOW};
	mrc_hdr h{};
	u8 v = in_.byte();

	h.opcode = MRC_OP_NACK;
	h.neth.nack_psn = psn();
	h.psn = h.neth.nack_psn;
	h.neth.reason = v & 128 ? in_.byte() : reasons[v % 5];
	if (qc_.ext)
		h.neth.vendor = in_.byte();
	h.neth.cc_type = v & 64 ? 2 : in_.byte() & 15;
	h.neth.entropy = mrc_paths_entropy(&paths_, in_.byte() % paths_.n);
	h.tstamp = echo(h.neth.nack_psn);
	feedback(h);
}

void Requester::ack()
{
	mrc_hdr h{};
	u8 v = in_.byte();

	h.opcode = MRC_OP_ACK;
	h.psn = psn();
	h.aeth.syndrome = v < 240 ? (u8)MRC_SYN_ACK : in_.byte();
	h.aeth.msn = v;
	feedback(h);
}

void Requester::raw()
{
	const std::vector<u8> p =
		in_.bytes(in_.byte() % (MRC_HDR_MAX + MRC_ICRC_LEN));
	const u32 n = (u32)p.size();
	mrc_hdr h;

	if (mrc_hdr_parse(p.data(), n, n, &h))
		return;
	if (mrc_op_info(h.opcode)->flags & MRC_OPF_TO_REQ)
		feedback(h);
}

// All that was sent arrived and was executed.
void Requester::honest()
{
	mrc_hdr h{};

	h.opcode = MRC_OP_SACK;
	h.seth.cack_psn = h.psn = mrc_psn_add(req_.next_psn, -1);
	h.seth.sack_offset = 1;
	h.seth.entropy = mrc_paths_entropy(&paths_, 0);
	feedback(h);
	require(req_.state == MRC_REQ_ERROR || !req_.inflight,
		"in flight after everything was acknowledged");
	h = {};
	h.opcode = MRC_OP_ACK;
	h.psn = mrc_psn_add(req_.next_psn, -1);
	h.aeth.syndrome = MRC_SYN_ACK;
	feedback(h);
	for (u32 n = req_.rd_out; n; n--)
		mrc_req_answered(&req_, now_);
	require(!req_.rd_out, "answers without effect");
	require(req_.wq_done == req_.wq_send, "transport ACK without effect");
}

void Requester::reap()
{
	enum mrc_wc_status status;
	u32 slot;

	while (mrc_req_reap(&req_, &slot, &status)) {
		require(slot == reaped_ % qc_.sq_depth,
			"completion out of order");
		require(++reaped_ <= posted_, "completion without request");
		require(!failed_ || status != MRC_WC_SUCCESS,
			"success after an error");
		failed_ |= status != MRC_WC_SUCCESS;
		if (status != MRC_WC_SUCCESS && status != MRC_WC_FLUSH)
			require(!errors_++, "two messages to blame");
	}
	if (req_.state == MRC_REQ_ERROR)
		require(reaped_ == posted_, "not flushed");
}

void Requester::check()
{
	const char *bad = mrc_req_check(&req_);

	if (bad)
		fuzz::die(bad);
	require(posted_ - reaped_ <= qc_.sq_depth, "queue overrun");
	require(mrc_psn_diff(req_.next_psn, req_.cack) - 1 <= (s32)window_max(),
		"window exceeded");
	require(req_.window && req_.window <= window_max(),
		"range that there cannot be");
	require(cc_.cwnd != 0, "closed for ever");
	require(req_.rd_out <= qc_.max_rd_atomic, "too many requests");
	if (req_.state == MRC_REQ_ERROR)
		require(mrc_req_deadline(&req_) == MRC_NEVER,
			"deadline in the error state");
}

void Requester::op()
{
	u64 at;
	u8 v;

	switch (in_.byte() % (qc_.ext ? OpExtCount : OpCount)) {
	case OpPost:
		post();
		break;
	case OpNext:
		send(~0u);
		break;
	case OpNextSome:
		send(in_.byte() % 16);
		break;
	case OpSack:
		sack(false);
		break;
	case OpReply:
		sack(true);
		break;
	case OpNack:
		nack();
		break;
	case OpAck:
		ack();
		break;
	case OpRaw:
		raw();
		break;
	case OpTime:
		now_ += 1ull << (in_.byte() & 31);
		break;
	case OpDeadline:
		at = mrc_req_deadline(&req_);
		if (at == MRC_NEVER)
			break;
		if (at > now_)
			now_ = at;
		mrc_req_on_deadline(&req_, now_);
		send(~0u);
		require(mrc_req_deadline(&req_) > now_,
			"deadline does not lie ahead");
		break;
	case OpPorts:
		mrc_req_set_ports(&req_, in_.byte(), now_);
		break;
	case OpPeerPorts:
		mrc_req_peer_status(&req_, in_.byte(), now_);
		break;
	case OpVerdict:
		v = in_.byte();
		// A controller changes the profile.
		if (sets_.used() && v & 0x80) {
			mrc_paths_update(&paths_, sets_.next(in_.byte()), now_);
			break;
		}
		mrc_paths_verdict(&paths_, in_.byte(),
				  (enum mrc_ev_verdict)(v % MRC_EVV_MAX), now_);
		break;
	case OpFail:
		v = in_.byte();
		// Rare, or most inputs would end here.
		if (v & 15)
			break;
		mrc_req_fail(&req_, (v >> 4) - 1, MRC_WC_LOC_QP_OP);
		break;
	case OpAnswered:
		mrc_req_answered(&req_, now_);
		break;
	case OpLocal:
		v = in_.byte();
		mrc_req_local_done(&req_, v & 1 ? local_ : v,
				   v < 250 ? MRC_WC_SUCCESS : MRC_WC_MW_BIND,
				   now_);
		break;
	default:
		honest();
		break;
	}
	reap();
	check();
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz::write_seeds(*argc, *argv, kSeeds);
	return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, std::size_t size)
{
	fuzz::run<Requester>(data, size);
	return 0;
}
