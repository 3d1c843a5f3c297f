// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A responder under any sequence of data packets, probes and trims.
#include <algorithm>
#include <deque>
#include <unordered_set>

#include "fuzz_check.hpp"
#include "fuzz_evset.hpp"
#include "fuzz_input.hpp"
#include "fuzz_responder_seeds.hpp"
#include "model/qp.hpp"

using fuzz::Input;
using fuzz::require;

namespace
{

using namespace fuzz::responder;

constexpr u32 kMaxPsns = 8192;

class Responder
{
public:
	explicit Responder(Input &in);
	void op();
	void check();

private:
	mrc_hdr stream(u32 index);
	mrc_hdr ext_stream(u32 index);
	mrc_hdr answers(u32 index);
	void execute();
	void failed(u8 which);
	void data(mrc_hdr &h, u8 trim, u8 refuse = 0);
	void extension(u8 v);
	bool place_later(const mrc_hdr &h, const mrc_rx &rx, u8 v);
	[[nodiscard]] bool waits(u32 psn) const;
	void placed(u8 which);
	void any();
	void probe();
	void raw();
	void feedback(const mrc_rx &rx, bool answer_due);
	// PSNs above cack that are acceptable.
	s32 room() const { return mrc_psn_diff(resp_.edge, resp_.cack); }

	Input &in_;
	mrc_counters ctr_{};
	mrc_model::QpCfg cfg_;
	mrc_resp_cfg &rc_ = cfg_.resp;
	fuzz::EvSets sets_;
	mrc_model::Qp qp_;
	mrc_paths &paths_ = qp_.paths;
	mrc_resp &resp_ = qp_.resp;
	u64 now_ = 1;
	u32 next_ = 0; // of the honest stream
	u32 receives_ = 0;
	u16 rqmsn_ = 0; // of the next delivery
	bool dead_ = false;
	std::deque<mrc_rd> open_;	 // requests executed, not answered
	u16 num_ = 0;			 // of the next request or answer
	std::unordered_set<u32> placed_; // PSNs
	// Packets whose payload is being placed.
	struct Later {
		mrc_hdr hdr;
		mrc_rx rx; // of hdr
	};
	std::deque<Later> later_;
};

Responder::Responder(Input &in) : in_(in)
{
	mrc_paths_cfg &pc = cfg_.paths;
	u8 v;

	v = in.byte();
	pc.n_evs = (u16)(v % 16 + 1);
	pc.n_ports = (u8)(v / 64 + 1);
	pc.ipv6 = v & 16;
	pc.seed = 1;
	v = in.byte();
	rc_.pmtu = 256u << v % 5;
	rc_.trim_nack = v & 16;
	rc_.remote_write = (v & 0xE0) != 0xE0;
	rc_.mpr = (u16)(in.byte() % 5 + 1);
	rc_.max_wimm = (u16)(in.byte() % 40 + 1);
	rc_.rq_psn = in.half() << 8 | in.byte();
	rc_.base_rtt = 1000ull * in.byte();
	rc_.sack_threshold = 256u * in.byte();
	rc_.qpn = 0x202;
	rc_.dqpn = 0x101;
	rc_.pkey = MRC_PKEY_DEFAULT;
	ctr_.n_ports = pc.n_ports;
	rc_.ctr = &ctr_;
	receives_ = in.byte();
	v = in.byte();
	sets_.init(in, pc.n_evs, pc.n_ports, pc.ipv6);
	pc.set = sets_.get();
	rc_.dynamic_mpr = v & 2;
	rc_.svc_time = v & 4;
	rc_.late_stash = true;
	if (v & 8)
		rc_.mpr_max = (u16)(rc_.mpr + (v >> 4));
	else if (v & 16)
		extension(v);
	rc_.seed = v;
	cfg_.requester = false;
	cfg_.resp_paths = v & 1;
	require(qp_.init(cfg_), "responder refused");
}

void Responder::extension(u8 v)
{
	rc_.ext = true;
	rc_.ans = v & 32;
	rc_.late_rd = v & 64;
	rc_.max_rd = v & 128 ? 1 : 5;
	rc_.remote_read = true;
	rc_.remote_atomic = true;
	rc_.remote_flush = true;
}

// An answer without payload and one of three packets in turn.
mrc_hdr Responder::answers(u32 index)
{
	const u32 at = index % 4;
	mrc_hdr h{};

	h.ans = true;
	h.msn = (u16)(index / 4 * 2 + (at > 0));
	h.opcode = !at	     ? MRC_OP_READ_RESP_ONLY
		   : at == 1 ? MRC_OP_READ_RESP_FIRST
		   : at == 2 ? MRC_OP_READ_RESP_MIDDLE
			     : MRC_OP_READ_RESP_LAST;
	if (at) {
		h.reth.dmalen = 2 * rc_.pmtu + 5;
		h.reth.va = (u64)(at - 1) * rc_.pmtu;
		h.payload_len = at < 3 ? rc_.pmtu : 5;
	}
	return h;
}

// A write, a SEND of three packets, two requests and two more that consume
// receives.
mrc_hdr Responder::ext_stream(u32 index)
{
	static const u8 ops[] = {MRC_OP_WRITE_ONLY,    MRC_OP_SEND_FIRST,
				 MRC_OP_SEND_MIDDLE,   MRC_OP_SEND_LAST_IMM,
				 MRC_OP_READ_REQ,      MRC_OP_FETCH_ADD,
				 MRC_OP_SEND_ONLY_INV, MRC_OP_WRITE_ONLY_IMM};
	const u32 round = index / 8, at = index % 8;
	mrc_hdr h{};

	h.opcode = ops[at];
	if (at >= 1 && at <= 3) {
		h.rqmsn = (u16)(3 * round);
		h.reth.dmalen = 2 * rc_.pmtu + 5;
		h.reth.va = (u64)(at - 1) * rc_.pmtu;
		h.payload_len = at < 3 ? rc_.pmtu : 5;
	} else if (at == 4 || at == 5) {
		h.rqmsn = (u16)(2 * round + at - 4);
		h.reth.dmalen = 8;
		h.reth.va = 0x1008;
	} else {
		h.rqmsn = at > 5 ? (u16)(3 * round + at - 5) : 0;
		h.payload_len = h.reth.dmalen = round % 7;
	}
	return h;
}

// Messages of one and of three packets in turn, every second one with an
// immediate.
mrc_hdr Responder::stream(u32 index)
{
	const u32 pair = index / 4, at = index % 4;
	mrc_hdr h{};

	if (rc_.ans)
		h = answers(index);
	else if (rc_.ext)
		h = ext_stream(index);
	h.pkey = MRC_PKEY_DEFAULT;
	h.dqp = rc_.qpn;
	h.psn = mrc_psn_add(rc_.rq_psn, (s32)index);
	if (rc_.ext) {
		h.a = at == 3;
		h.pad = (u8)(-h.payload_len & 3);
		h.hdr_len = (u16)mrc_hdr_len(&h);
		return h;
	}
	h.msn = (u16)(2 * pair + (at > 0));
	h.rqmsn = (u16)pair;
	if (!at) {
		h.opcode = MRC_OP_WRITE_ONLY;
		h.payload_len = h.reth.dmalen = pair % 7;
		h.rqmsn = 0;
	} else {
		h.opcode = at == 1   ? MRC_OP_WRITE_FIRST
			   : at == 2 ? MRC_OP_WRITE_MIDDLE
				     : MRC_OP_WRITE_LAST_IMM;
		h.reth.dmalen = 2 * rc_.pmtu + 5;
		h.payload_len = at < 3 ? rc_.pmtu : 5;
		h.a = at == 3;
	}
	h.pad = (u8)(-h.payload_len & 3);
	h.hdr_len = (u16)mrc_hdr_len(&h);
	return h;
}

void Responder::feedback(const mrc_rx &rx, bool answer_due)
{
	mrc_tx_desc d;
	u32 n = 0;

	// An ACK waits for more packets, now and then.
	if (!answer_due && rx.hdr->psn & 1 && mrc_resp_may_wait(&resp_)) {
		require(!mrc_resp_failed(&resp_), "waits after the end");
		return;
	}
	while (mrc_resp_next_feedback(&resp_, now_, &d)) {
		const mrc_seth &s = d.hdr.seth;

		require(++n <= (resp_.ring_mask + 1) / 64 + 4,
			"feedback without end");
		require(!d.data && d.tc == MRC_TC_CONTROL, "not a control");
		require(d.ev < paths_.n, "EV out of range");
		if (d.ev >= 0)
			require(mrc_paths_port_up(&paths_, d.port),
				"feedback through a port that is down");
		fuzz::check_wire(d.hdr);
		require(d.hdr.ans == rc_.ans, "on the wrong channel");
		if (d.hdr.opcode == MRC_OP_ACK)
			require(open_.empty() || mrc_psn_diff(open_.front().psn,
							      d.hdr.psn) == 1,
				"ACK beyond a request without answer");
		if (d.hdr.opcode != MRC_OP_SACK)
			continue;
		require(s.cack_psn == resp_.cack, "wrong cack_psn");
		require(!rc_.dynamic_mpr == !s.mpr, "wrong range");
		require(s.mpr * MRC_MPR_UNIT <= room(),
			"offers more than it accepts");
		for (u32 i = 0; i < 64; i++) {
			u32 psn =
				mrc_psn_add(s.cack_psn, s.sack_offset + (s32)i);

			if (s.bitmap >> i & 1)
				require(mrc_psn_diff(psn, resp_.max_rcv) <= 0,
					"SACK of a PSN above all received");
		}
	}
	if (answer_due && !dead_ && !(rx.trim && !rc_.trim_nack))
		require(n, "no answer");
	if (mrc_resp_failed(&resp_))
		dead_ = true;
}

bool Responder::place_later(const mrc_hdr &h, const mrc_rx &rx, u8 v)
{
	if (v < 128 || v >= 240 || !mrc_resp_has_place(&resp_))
		return false;
	later_.push_back({h, rx});
	return true;
}

bool Responder::waits(u32 psn) const
{
	return std::ranges::any_of(later_, [psn](const Later &l) {
		return !mrc_psn_diff(l.hdr.psn, psn);
	});
}

// The payload of a packet is in place.
void Responder::placed(u8 which)
{
	if (later_.empty())
		return;
	const auto it = later_.begin() + which % (int)later_.size();
	Later l = *it;
	const u64 bytes = resp_.rcvd_bytes;

	later_.erase(it);
	l.rx.hdr = &l.hdr;
	mrc_resp_placed(&resp_, &l.rx, which < 240 ? 0 : (u8)MRC_SYN_NAK_REM_OP,
			now_);
	require(bytes < resp_.rcvd_bytes, "placed packet not received");
	execute();
	feedback(l.rx, l.hdr.a || l.hdr.rtx || l.rx.ce);
}

void Responder::data(mrc_hdr &h, u8 trim, u8 refuse)
{
	u8 v = in_.byte();
	mrc_rx rx{&h,	in_.byte() * 0x01010101u, (u8)(v % 18), (v & 32) != 0,
		  trim, v & 64 ? now_ : 0};
	const s32 ahead = mrc_psn_diff(h.psn, resp_.cack);
	const bool inside = ahead > -(1 << 23) && ahead <= room();
	const bool write = mrc_op_info(h.opcode)->flags & MRC_OPF_DATA;
	const u64 bytes = resp_.rcvd_bytes;
	const u32 cack = resp_.cack;
	const bool was_dead = dead_;
	const bool early = waits(h.psn);
	enum mrc_rx_action got;
	bool poor = false;
	const u32 flags = mrc_op_info(h.opcode)->flags;
	bool rnr = false;
	u32 n = 0;

	if (!refuse && mrc_resp_wants_stash(&resp_, &rx)) {
		poor = v % 16 == 15;
		if (!poor)
			qp_.give_stash();
	}
	if (!refuse && mrc_resp_wants_rd(&resp_, &rx)) {
		poor = v % 16 == 15;
		if (!poor)
			qp_.give_requests();
	}
	const bool recv = mrc_resp_wants_recv(&resp_, &rx, &n);
	if (recv)
		require(rc_.ext && n && n <= rc_.max_wimm && !trim,
			"wants receives that it does not need");
	rnr = recv && n > receives_;
	// The same packet again is answered whatever it says, a trim with a
	// NACK.
	if (refuse)
		got = mrc_resp_refuse(&resp_, &rx, refuse, now_);
	else if (rnr)
		got = mrc_resp_refuse_rnr(&resp_, &rx, v, now_);
	else
		got = mrc_resp_on_data(&resp_, &rx, now_);
	require(!(refuse || poor || rnr) ||
			(got != MRC_RX_PLACE && bytes == resp_.rcvd_bytes),
		"took what was refused");
	if (was_dead) {
		require(got == MRC_RX_DROP, "packet taken after a NAK");
		return;
	}
	if (got == MRC_RX_PLACE) {
		require(!trim && write && ahead > 0 && inside,
			"placed outside of the window");
		require((h.payload_len || rc_.ans) &&
				h.payload_len <= rc_.pmtu &&
				h.payload_len <= h.reth.dmalen,
			"placed a wrong length");
		require(!(flags & MRC_OPF_SEND) || recv,
			"placed into a receive that was not asked for");
		require(!(flags & MRC_OPF_EXT) ||
				(h.reth.va <= h.reth.dmalen &&
				 h.payload_len <= h.reth.dmalen - h.reth.va),
			"placed outside of the message");
		require(placed_.insert(h.psn).second, "placed twice");
		if (place_later(h, rx, v)) {
			require(bytes == resp_.rcvd_bytes, "received too early");
			execute();
			feedback(rx, false);
			return;
		}
		mrc_resp_placed(&resp_, &rx,
				v < 240 ? 0 : (u8)MRC_SYN_NAK_ACCESS, now_);
	}
	require(trim ? bytes == resp_.rcvd_bytes : bytes <= resp_.rcvd_bytes,
		"rcvd_bytes is wrong");
	require(mrc_psn_diff(resp_.cack, cack) >= 0, "cack moved backwards");
	execute();
	feedback(rx, write && inside && got != MRC_RX_DROP && !early &&
			     (h.a || h.rtx || rx.ce || trim || refuse || poor ||
			      rnr || ahead <= 0));
}

// What is due, in the order of the PSNs.
void Responder::execute()
{
	mrc_recv_msg imm;
	mrc_rd rd;
	u32 n = 0, answers;

	answers = mrc_resp_take_done(&resp_);
	require(rc_.ans || !answers, "answers on the wrong channel");
	num_ = (u16)(num_ + answers);
	require(!rc_.ans || num_ == resp_.rqmsn, "answers lost");
	for (;;) {
		require(++n <= resp_.window + 2, "deliveries without end");
		if (mrc_resp_next_req(&resp_, &rd)) {
			require(rc_.ext && !rc_.ans, "request out of place");
			require(rd.num == num_, "request out of order");
			require(rd.psn == mrc_psn_add(resp_.exec, 1),
				"request executed too early or late");
			if (rd.rkey & 1) {
				mrc_resp_req_done(&resp_, MRC_SYN_NAK_ACCESS);
				continue;
			}
			open_.push_back(rd);
			require(open_.size() <= mrc_resp_rd_slots(&rc_),
				"more requests than allowed");
			num_++;
			mrc_resp_req_done(&resp_, 0);
			continue;
		}
		if (!mrc_resp_next_recv(&resp_, &imm))
			return;
		require(imm.rqmsn == rqmsn_, "delivery out of order");
		require(imm.psn == mrc_psn_add(resp_.exec, 1),
			"delivered before all before it was executed");
		if (receives_) {
			receives_--;
			rqmsn_++;
			mrc_resp_recv_done(&resp_, 0);
		} else {
			require(!rc_.ext, "delivered without a receive");
			mrc_resp_recv_done(&resp_, MRC_SYN_NAK_INV_REQ);
		}
	}
}

// The answer to one of those that wait, and then to all after it, is not sent.
void Responder::failed(u8 which)
{
	mrc_hdr h{};
	const mrc_rx rx{&h, 0, 1, false, MRC_TRIM_NONE, 0};

	if (open_.empty() || dead_)
		return;
	const std::size_t at = which % open_.size();
	mrc_resp_req_failed(&resp_, open_[at].num, MRC_SYN_NAK_REM_OP);
	num_ = open_[at].num;
	open_.resize(at);
	feedback(rx, false);
}

// A data packet with any fields, often close to the window.
void Responder::any()
{
	static const u8 ops[] = {MRC_OP_WRITE_FIRST,
				 MRC_OP_WRITE_MIDDLE,
				 MRC_OP_WRITE_LAST,
				 MRC_OP_WRITE_LAST_IMM,
				 MRC_OP_WRITE_ONLY,
				 MRC_OP_WRITE_ONLY_IMM,
				 0xC0,
				 0xDF};
	u8 v = in_.byte();
	mrc_hdr h{};

	h.opcode = ops[v & 7];
	h.rtx = v & 8;
	h.a = v & 16;
	h.ts = v & 32;
	h.ftype = MRC_TS_FTYPE;
	h.tstamp = in_.byte();
	if (v & 64)
		h.psn = in_.half() << 8 | in_.byte();
	else
		h.psn = mrc_psn_add(resp_.cack, in_.near() * 8 + (v >> 7));
	h.rqmsn = (u16)(resp_.rqmsn + in_.near());
	if (rc_.ext) {
		const u8 op = in_.byte();

		h.opcode = (u8)(0xC0 | op % 32);
		if (!(mrc_op_info(h.opcode)->flags & MRC_OPF_DATA))
			h.opcode = MRC_OP_SEND_MIDDLE;
		if (op & 32)
			h.rqmsn = (u16)(resp_.rd_next + in_.near());
		h.msn = h.rqmsn;
		h.reth.va = op & 64 ? in_.word() : in_.byte() * rc_.pmtu;
		h.reth.rkey = in_.byte();
		h.opeth.swap = h.reth.rkey;
	}
	h.reth.dmalen = v & 128 ? in_.word() : in_.half();
	h.payload_len = in_.half() % (2 * rc_.pmtu);
	h.pad = v & 64 ? in_.byte() & 3 : -h.payload_len & 3;
	h.hdr_len = (u16)mrc_hdr_len(&h);
	data(h, MRC_TRIM_NONE);
}

void Responder::probe()
{
	u8 v = in_.byte();
	mrc_hdr h{};
	mrc_rx rx{&h, 0x1234C001, (u8)(v % 18), (v & 32) != 0, MRC_TRIM_NONE,
		  0};

	h.opcode = MRC_OP_PROBE;
	h.peth.probe_id = in_.half();
	h.ftype = v & 64 ? 0 : MRC_TS_FTYPE;
	h.hdr_len = (u16)mrc_hdr_len(&h);
	mrc_resp_on_probe(&resp_, &rx, now_);
	feedback(rx, !dead_);
}

void Responder::raw()
{
	const bool trimmed = in_.byte() & 1;
	const std::vector<u8> p = in_.bytes(in_.byte() % 128);
	const u32 n = (u32)p.size();
	enum mrc_drop drop;
	mrc_hdr h{};
	u32 flags;

	if (trimmed)
		drop = mrc_hdr_parse_trimmed(p.data(), n, &h);
	else
		drop = mrc_hdr_parse(p.data(), n, n, &h);
	flags = mrc_op_info(h.opcode)->flags;
	if (drop == MRC_DROP_OPCODE || (!drop && flags & MRC_OPF_DATA)) {
		data(h, trimmed ? MRC_TRIM_TRIMMED : MRC_TRIM_NONE);
	} else if (!drop && h.opcode == MRC_OP_PROBE) {
		mrc_rx rx{&h, 0, 1, false, MRC_TRIM_NONE, 0};

		mrc_resp_on_probe(&resp_, &rx, now_);
		feedback(rx, !dead_);
	}
}

void Responder::check()
{
	const char *bad = mrc_resp_check(&resp_);

	if (bad)
		fuzz::die(bad);
	require((s32)resp_.ooo <= room(), "window exceeded");
}

void Responder::op()
{
	mrc_hdr h;
	u32 n;

	switch (in_.byte() % OpCount) {
	case OpWrite:
		for (n = in_.byte() % 64 + 1; n && next_ < kMaxPsns; n--) {
			h = stream(next_++);
			data(h, MRC_TRIM_NONE);
		}
		break;
	case OpSkip:
		next_++;
		break;
	case OpAgain:
		n = in_.byte();
		h = stream(next_ > n ? next_ - 1 - n : 0);
		h.rtx = true;
		data(h, MRC_TRIM_NONE);
		break;
	case OpData:
		any();
		break;
	case OpTrimmed:
		n = in_.byte();
		h = stream(next_ > n / 2 ? next_ - n / 2 : 0);
		h.payload_len = 0;
		data(h, n & 1 ? MRC_TRIM_TRIMMED : MRC_TRIM_LASTHOP);
		break;
	case OpProbe:
		probe();
		break;
	case OpRefused:
		n = in_.byte();
		h = stream(next_ > n / 4 ? next_ - n / 4 : 0);
		data(h, MRC_TRIM_NONE,
		     n & 1 ? (u8)MRC_NACK_NO_BITMAP : (u8)MRC_NACK_NO_RESOURCE);
		break;
	case OpMpr:
		n = in_.byte() % 24;
		require(!mrc_resp_set_mpr(&resp_, (u16)n) ==
				(rc_.dynamic_mpr && n &&
				 n <= std::max(rc_.mpr, rc_.mpr_max)),
			"range taken or refused wrongly");
		break;
	case OpPenalty:
		n = in_.byte();
		mrc_resp_set_penalty(&resp_, (u8)n, n & 1);
		break;
	case OpRaw:
		raw();
		break;
	case OpTime:
		now_ += 1ull << (in_.byte() & 31);
		break;
	case OpPorts:
		n = in_.byte();
		// A controller changes the profile.
		if (sets_.used() && n & 0x80)
			mrc_paths_update(&paths_, sets_.next(in_.byte()), now_);
		else
			mrc_paths_set_ports(&paths_, n);
		break;
	case OpAnswered:
		if (open_.empty())
			break;
		open_.pop_front();
		mrc_resp_answered(&resp_);
		h = {};
		feedback({&h, 0, 1, false, MRC_TRIM_NONE, 0}, false);
		break;
	case OpFailed:
		failed(in_.byte());
		break;
	case OpPlaced:
		placed(in_.byte());
		break;
	default:
		receives_ += in_.byte();
		break;
	}
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
	fuzz::run<Responder>(data, size);
	return 0;
}
