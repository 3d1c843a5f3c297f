// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "prop_model.hpp"

#include <algorithm>

namespace prop
{

namespace
{

constexpr u8 kGuard = 0xEE;
constexpr std::size_t kGuardBytes = 16;
constexpr u32 kGoodKey = 0x00C0FFEE;
constexpr u32 kBadKey = 0x00BADBAD;

u8 opcode_of(const Message &m, u32 i)
{
	const bool imm = m.plan.imm;

	if (m.npkts == 1)
		return imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
	if (i == 0)
		return MRC_OP_WRITE_FIRST;
	if (i + 1 < m.npkts)
		return MRC_OP_WRITE_MIDDLE;
	return imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
}

} // namespace

Direction::Direction(const Plan &p, int d, Verdict &verdict)
	: plan(p), dir(d), plan_msgs(p.msgs[d]),
	  told_window(p.mpr * (u32)MRC_MPR_UNIT), window(told_window),
	  edge(window), v_(verdict), first_psn(p.psn[d]),
	  rng_(p.seed * 4 + 2 + (u64)d)
{
	std::size_t longest = 0;
	u32 index = 0, imm = 0;

	for (const PlanMsg &m : plan_msgs) {
		u32 n = std::max(1u, (m.len + p.pmtu - 1) / p.pmtu);
		u32 bad = ~0u;
		u8 syn = 0;

		longest = std::max<std::size_t>(longest, m.len);
		if (m.bad_key && m.len) {
			bad = index;
			syn = MRC_SYN_NAK_ACCESS;
		}
		if (m.imm && imm++ >= p.receives[d] && bad == ~0u) {
			bad = index + n - 1;
			syn = MRC_SYN_NAK_INV_REQ;
		}
		if (bad < fail_) {
			fail_ = bad;
			fail_syn_ = syn;
		}
		index += n;
	}
	base_va_ = rng_.next() >> 1;
	salt_ = (u32)rng_.next();
	// Few regions, so that they are used again as soon as they are free:
	// a late duplicate of the previous user must not be written.
	regions_ = p.regions ? p.regions : rng_.range(1, 6);
	stride_ = longest + 8 + kGuardBytes;
	region_user_.assign(regions_, 0);
	memory.assign(regions_ * stride_, kGuard);
	shadow = memory;
	got.assign(index, false);
	told.assign(index, false);
	placing.assign(index, false);
	placements.assign(index, 0);
}

u32 Direction::fail_index() const
{
	return fail_;
}

u8 Direction::fail_syndrome() const
{
	return fail_syn_;
}

bool Direction::region_free(std::size_t region) const
{
	return !region_user_[region];
}

bool Direction::may_post(u64 now) const
{
	return !all_posted() && plan_msgs[msgs.size()].post_at <= now &&
	       (region_free(next_region_) || !plan_msgs[msgs.size()].len);
}

u64 Direction::next_post_at() const
{
	return all_posted() ? MRC_NEVER : plan_msgs[msgs.size()].post_at;
}

mrc_wr Direction::make_wr()
{
	Message m;
	mrc_wr wr{};

	m.plan = plan_msgs[msgs.size()];
	m.region = next_region_;
	m.where = m.region * stride_ + (std::size_t)rng_.below(8);
	m.va = base_va_ + m.where;
	m.rkey = m.plan.bad_key ? kBadKey : kGoodKey;
	m.imm = (u32)rng_.next();
	m.first = packets_posted;
	m.npkts = std::max(1u, (m.plan.len + plan.pmtu - 1) / plan.pmtu);
	m.msn = (u16)msgs.size();
	for (const Message &before : msgs)
		m.rqmsn = (u16)(m.rqmsn + before.plan.imm);
	msgs.push_back(m);
	wr.op = m.plan.imm ? MRC_WR_WRITE_IMM : MRC_WR_WRITE;
	wr.se = m.plan.se;
	wr.rkey = m.rkey;
	wr.va = m.va;
	wr.len = m.plan.len;
	std::memcpy(&wr.imm, &m.imm, sizeof(wr.imm));
	return wr;
}

void Direction::on_posted(int slot)
{
	Message &m = msgs.back();
	u32 id = (u32)msgs.size() - 1;

	if (slot < 0 || (u32)slot != id % plan.sq_depth)
		v_.fail(strf("post of message %u gave slot %d", id, slot));
	m.slot = (u32)slot;
	if (m.plan.len) {
		region_user_[m.region] = id + 1;
		next_region_ = (next_region_ + 1) % regions_;
	}
	owner.insert(owner.end(), m.npkts, id);
	packets_posted += m.npkts;
}

// Every header field of a data packet against the plan.
void Direction::check_data(const mrc_hdr &h, u32 payload_len, const char *where)
{
	const u32 index = index_of(h.psn);
	const Message &m = msgs[owner[index]];
	const u32 i = index - m.first;
	const u32 off = i * plan.pmtu;
	const u32 len = std::min(m.plan.len - off, plan.pmtu);
	const bool last = i + 1 == m.npkts;
	const char *bad = nullptr;
	u32 imm;

	std::memcpy(&imm, &h.reth.imm, sizeof(imm));
	if (h.opcode != opcode_of(m, i))
		bad = "opcode";
	else if (payload_len != len)
		bad = "payload length";
	else if (h.pad != (4 - len % 4) % 4)
		bad = "pad";
	else if (h.tver || h.pkey != MRC_PKEY_DEFAULT)
		bad = "tver or pkey";
	else if (h.dqp != 0x100u + (u32)(1 - dir))
		bad = "dqp";
	else if (h.msn != m.msn)
		bad = "msn";
	else if (m.plan.imm && h.rqmsn != m.rqmsn)
		bad = "rqmsn";
	else if (h.ts != plan.use_ts)
		bad = "ts";
	else if (m.plan.len &&
		 (h.reth.va != m.va + off || h.reth.rkey != m.rkey ||
		  h.reth.dmalen != m.plan.len))
		bad = "RETH";
	else if (m.plan.imm && last && imm != m.imm)
		bad = "immediate";
	else if (h.se != (m.plan.imm && last && m.plan.se))
		bad = "solicited event";
	if (bad)
		v_.fail(strf("%s: wrong %s in packet %u (PSN %06x, message %u)",
			     where, bad, index, h.psn, owner[index]));
}

bool Direction::on_tx(const mrc_tx_desc &d, u64 now)
{
	const mrc_hdr &h = d.hdr;
	const u32 index = index_of(h.psn);
	const bool again = index < sent;
	const u8 tc = !plan.trim_nack[dir] ? MRC_TC_DATA
		      : again		   ? MRC_TC_TRIMMABLE_RETX
					   : MRC_TC_TRIMMABLE;

	if (index > sent || index >= packets_posted) {
		v_.fail(strf("packet %u sent, next new one is %u of %u", index,
			     sent, packets_posted));
		return false;
	}
	check_data(h, d.len, "sent");

	const Message &m = msgs[owner[index]];

	if (d.slot != m.slot || d.off != (index - m.first) * plan.pmtu)
		v_.fail(strf("packet %u: wrong slot or offset", index));
	if (m.status != kPending)
		v_.fail(strf("packet %u of a completed message sent", index));
	if (h.rtx != again)
		v_.fail(strf("packet %u: rtx=%d, sent before: %d", index, h.rtx,
			     again));
	if (d.tc != tc || !d.ect)
		v_.fail(strf("packet %u: wrong traffic class", index));
	if (h.ts && (h.tstamp != (u16)(now >> MRC_TS_SHIFT) ||
		     h.ftype != MRC_TS_FTYPE || h.tsr))
		v_.fail(strf("packet %u: wrong timestamp", index));
	// MRC 1.0 §5.1, §5.2: the range last heard of; and never one that the
	// receiver did not offer.
	if (index >= told_cum + told_window)
		v_.fail(strf("packet %u is outside the window of %u after %u",
			     index, told_window, told_cum));
	if (index >= edge)
		v_.fail(strf("packet %u overruns the receiver at %u", index,
			     edge));
	if (again) {
		rtx++;
		// Allowed for what is known received only to draw a lost
		// transport ACK: the newest packet, all others known too.
		if (shown(index) && (index + 1 != sent ||
				     !std::all_of(told.begin() + told_cum,
						  told.begin() + (int)sent,
						  [](bool b) { return b; })))
			v_.fail(strf("packet %u was retransmitted after it was "
				     "acknowledged",
				     index));
		return true;
	}
	sent++;
	// Nothing will follow it: without an answer to it, progress would hang
	// on a timer (MRC 1.0 §6.1). The transport ACK of its message is one if
	// nothing else is to be answered.
	if (sent == packets_posted && !h.a && told_exec != index)
		v_.fail(strf("packet %u is the last one and has no a", index));
	if (m.plan.imm && index == m.first && ++wimm_out > plan.max_wimm)
		v_.fail(strf("%u WRITE_IMMs in flight", wimm_out));
	return true;
}

void Direction::payload(const mrc_tx_desc &d, u8 *out) const
{
	// As the shell does: by slot and offset, not by PSN.
	u32 id = (u32)msgs.size();

	while (id-- && msgs[id].slot != d.slot)
		;
	for (u32 i = 0; i < d.len; i++)
		out[i] = pattern(id, d.off + i);
}

void Direction::on_feedback(const mrc_hdr &h)
{
	u32 cack = ~0u;

	switch (h.opcode) {
	case MRC_OP_SACK: {
		const mrc_seth &s = h.seth;

		cack = index_of(s.cack_psn) + 1;
		if (plan.dynamic_mpr &&
		    (cack & MRC_PSN_MASK) >= told_window_cum) {
			told_window_cum = cack & MRC_PSN_MASK;
			told_window = s.mpr * (u32)MRC_MPR_UNIT;
		}
		for (u32 i = 0; i < 64; i++) {
			u32 index =
				index_of(s.cack_psn + (u32)s.sack_offset + i);

			if (s.bitmap >> i & 1 && index < told.size())
				told[index] = true;
		}
		if (!s.pr) {
			u32 index =
				index_of(s.cack_psn + (u32)s.ack_psn_offset);

			if (index < told.size())
				told[index] = true;
		}
		break;
	}
	case MRC_OP_ACK:
		if (h.aeth.syndrome == MRC_SYN_ACK) {
			cack = index_of(h.psn) + 1;
			told_exec = std::max(told_exec, cack & MRC_PSN_MASK);
		} else {
			// Everything before the refused packet was executed.
			nak_seen = true;
			told_exec = std::max(told_exec, index_of(h.psn));
			return;
		}
		break;
	default:
		return;
	}
	cack &= MRC_PSN_MASK;
	if (cack > told_cum && cack <= sent) {
		std::fill(told.begin() + told_cum, told.begin() + (int)cack,
			  true);
		told_cum = cack;
	}
}

void Direction::on_reap(u32 slot, int status)
{
	if (reaped >= msgs.size()) {
		v_.fail("completion of a message that was never posted");
		return;
	}

	Message &m = msgs[reaped];

	if (m.slot != slot)
		v_.fail(strf("message %zu completed out of order: slot %u, "
			     "not %u",
			     reaped, slot, m.slot));
	m.status = status;
	if (m.plan.len)
		region_user_[m.region] = 0;
	if (m.plan.imm && sent > m.first)
		wimm_out--;
	reaped++;
	// A forger may acknowledge what never arrived.
	if (status == MRC_WC_SUCCESS && !plan.attack_ppm) {
		if (m.last() >= told_exec)
			v_.fail(strf("message %zu succeeded without a "
				     "transport ACK",
				     reaped - 1));
		if (m.last() >= cum)
			v_.fail(strf("message %zu succeeded before it was "
				     "received",
				     reaped - 1));
	}
}

void Direction::check_reaped()
{
	if (reaped < msgs.size() && msgs[reaped].last() < told_exec)
		v_.fail(strf("message %zu has its transport ACK but did not "
			     "complete",
			     reaped));
}

// The receiver changes what it offers, MRC 1.0 §5.2, §13.6.
void Direction::change(const Change &c)
{
	if (c.kind == Change::Mpr) {
		window = c.value * (u32)MRC_MPR_UNIT;
		edge = std::max(edge, cum + window);
	} else {
		penalty = c.value;
		restore = c.restore;
	}
}

void Direction::received(const mrc_hdr &h)
{
	const u32 index = index_of(h.psn);

	placing[index] = false;
	got[index] = true;
	top = std::max(top, index + 1);
	nominal += mrc_nominal_size(h.hdr_len, h.payload_len);
	while (cum < packets_posted && got[cum])
		cum++;
	edge = std::max(edge, cum + window);
}

Direction::Rx Direction::on_rx(const mrc_hdr &h, bool refused)
{
	const u32 index = index_of(h.psn);

	if (index >= packets_posted) {
		v_.fail(strf("packet %u arrived, only %u exist", index,
			     packets_posted));
		return Rx::Unknown;
	}
	if (got[index])
		return Rx::Duplicate;
	if (placing[index])
		return Rx::EarlyCopy;
	if (index >= edge)
		return Rx::OutOfWindow;
	if (refused)
		return Rx::Done;
	check_data(h, h.payload_len, "received");
	placing[index] = true;
	if (index > fail_)
		return Rx::Unknown; // after an error placement is optional
	return h.payload_len ? Rx::Place : Rx::Done;
}

u8 Direction::placement_syndrome(const mrc_hdr &h) const
{
	return h.reth.rkey == kGoodKey ? 0 : MRC_SYN_NAK_ACCESS;
}

void Direction::place(const mrc_hdr &h, const u8 *bytes)
{
	const u32 index = index_of(h.psn);
	const u64 at = h.reth.va - base_va_;

	if (at > memory.size() || memory.size() - at < h.payload_len) {
		v_.fail(strf("packet %u placed outside of memory", index));
		return;
	}
	std::memcpy(&memory[at], bytes, h.payload_len);
	if (placements[index]++)
		v_.fail(strf("packet %u was placed twice", index));

	const Message &m = msgs[owner[index]];
	const u32 off = (index - m.first) * plan.pmtu;

	for (u32 i = 0; i < h.payload_len; i++)
		shadow[m.where + off + i] = pattern(owner[index], off + i);
	if (std::memcmp(&memory[m.where + off], &shadow[m.where + off],
			h.payload_len) != 0)
		v_.fail(strf("packet %u placed wrong bytes", index));
}

// A receive completion: returns the syndrome of a missing receive WQE.
u8 Direction::on_imm(const mrc_recv_msg &imm)
{
	u32 count = 0, value;
	std::size_t id;

	for (id = 0; id < msgs.size(); id++)
		if (msgs[id].plan.imm && count++ == imms)
			break;
	if (id == msgs.size()) {
		v_.fail(strf("receive completion %u of %u", imms, count));
		return 0;
	}

	const Message &m = msgs[id];

	std::memcpy(&value, &imm.imm, sizeof(value));
	if (imm.psn != psn_of(m.last()) || imm.len != m.plan.len ||
	    imm.rqmsn != m.rqmsn || imm.se != m.plan.se || value != m.imm)
		v_.fail(strf("wrong receive completion %u", imms));
	if (m.last() >= cum)
		v_.fail(strf("receive completion %u before packet %u arrived",
			     imms, cum));
	if (m.last() > fail_)
		v_.fail(strf("receive completion %u after an error", imms));
	for (u32 i = 0; i <= m.last() && i <= fail_; i++) {
		bool empty = !msgs[owner[i]].plan.len;

		if (placements[i] != (empty || i == fail_ ? placements[i] : 1))
			v_.fail(strf("receive completion %u, packet %u was "
				     "placed %u times",
				     imms, i, placements[i]));
	}
	if (imms >= plan.receives[dir])
		return MRC_SYN_NAK_INV_REQ;
	imms++;
	return 0;
}

// A SACK as the responder made it, against what has arrived.
void Direction::check_sack(const mrc_hdr &h)
{
	const mrc_seth &s = h.seth;

	if (s.cack_psn != h.psn || index_of(s.cack_psn + 1) != cum)
		v_.fail(strf("SACK with cack_psn %06x while %u packets are "
			     "contiguous",
			     s.cack_psn, cum));
	for (u32 i = 0; i < 64; i++) {
		u32 psn = mrc_psn_add(s.cack_psn, s.sack_offset + (s32)i);
		u32 index = index_of(psn);
		bool bit = s.bitmap >> i & 1;
		bool is = mrc_psn_diff(psn, first_psn) < 0 ||
			  (index < got.size() && got[index]);

		if (bit != is)
			v_.fail(strf("SACK bit %u says %d for packet %u, "
				     "received: %d",
				     i, bit, index, is));
	}
	if (top < fail_ && s.rcvd_bytes != ((nominal + 255) >> 8 & 0xFFFFFF))
		v_.fail(strf("SACK with rcvd_bytes %x, received %llx",
			     s.rcvd_bytes, (unsigned long long)nominal));
	if (s.m == MRC_M_ALWAYS_SKIP || s.cc_type)
		v_.fail("SACK with a field that we never set");
	if (s.mpr != (plan.dynamic_mpr ? window / MRC_MPR_UNIT : 0))
		v_.fail(strf("SACK offers a range of %u, it is %u", s.mpr,
			     window));
	if (s.rcv_cwnd_pen != penalty || s.restore_cwnd != restore)
		v_.fail("SACK with a wrong penalty");
}

void Direction::check_ack(const mrc_hdr &h)
{
	const u32 index = index_of(h.psn);
	const u32 exec = std::min(cum, fail_);

	if (h.aeth.syndrome == MRC_SYN_ACK) {
		if (index_of(h.psn + 1) > exec)
			v_.fail(strf("transport ACK of packet %u, executed "
				     "are %u",
				     index, exec));
		last_ack = std::max(last_ack, index_of(h.psn + 1));
		if (nak_sent)
			v_.fail("transport ACK after a NAK");
		return;
	}
	nak_sent = true;
	if (index != fail_ || h.aeth.syndrome != fail_syn_ || cum <= fail_)
		v_.fail(strf("NAK %02x of packet %u, expected %02x of %u, "
			     "contiguous are %u",
			     h.aeth.syndrome, index, fail_syn_, fail_, cum));
}

void Direction::check_final()
{
	u32 imm_total = 0;

	for (u32 i = 0; i < packets_posted; i++) {
		u8 want = msgs[owner[i]].plan.len != 0;

		if (!got[i] || placements[i] != want)
			v_.fail(strf("packet %u was received %d times and "
				     "placed %u times",
				     i, (int)got[i], placements[i]));
	}
	for (std::size_t id = 0; id < msgs.size(); id++) {
		imm_total += msgs[id].plan.imm;
		if (msgs[id].status != MRC_WC_SUCCESS)
			v_.fail(strf("message %zu ended with status %d", id,
				     msgs[id].status));
	}
	if (imms != imm_total)
		v_.fail(strf("%u receive completions of %u", imms, imm_total));
	if (memory != shadow)
		v_.fail("memory differs from the model");
	// The newest user of each region must be intact.
	for (std::size_t r = 0; r < regions_; r++) {
		for (std::size_t id = msgs.size(); id--;) {
			const Message &m = msgs[id];

			if (m.region != r || !m.plan.len)
				continue;
			for (u32 off = 0; off < m.plan.len; off++) {
				if (memory[m.where + off] ==
				    pattern((u32)id, off))
					continue;
				v_.fail(strf("message %zu, byte %u is wrong",
					     id, off));
				return;
			}
			break;
		}
	}
}

} // namespace prop
