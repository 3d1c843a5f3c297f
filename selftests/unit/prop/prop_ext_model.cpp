// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What must come of the operations of one direction.
#include <algorithm>

#include "prop_ext.hpp"

namespace prop
{

namespace
{

constexpr u8 kGuard = 0xEE;
constexpr u32 kBadKey = 0x00BADBAD;
constexpr u32 kInvKey = 0x1A000000;

u8 static_byte(u64 off)
{
	return (u8)(off * 7 + (off >> 8) * 3 + 0x55);
}

u8 first_opcode(const ExtFlow::Op &m, u32 i)
{
	const bool only = m.npkts == 1;
	const bool last = i + 1 == m.npkts;

	switch (m.plan.op) {
	case MRC_WR_WRITE:
		return only   ? MRC_OP_WRITE_ONLY
		       : !i   ? MRC_OP_WRITE_FIRST
		       : last ? MRC_OP_WRITE_LAST
			      : MRC_OP_WRITE_MIDDLE;
	case MRC_WR_WRITE_IMM:
		return only   ? MRC_OP_WRITE_ONLY_IMM
		       : !i   ? MRC_OP_WRITE_FIRST
		       : last ? MRC_OP_WRITE_LAST_IMM
			      : MRC_OP_WRITE_MIDDLE;
	case MRC_WR_SEND:
		return only   ? MRC_OP_SEND_ONLY
		       : !i   ? MRC_OP_SEND_FIRST
		       : last ? MRC_OP_SEND_LAST
			      : MRC_OP_SEND_MIDDLE;
	case MRC_WR_SEND_IMM:
		return only   ? MRC_OP_SEND_ONLY_IMM
		       : !i   ? MRC_OP_SEND_FIRST
		       : last ? MRC_OP_SEND_LAST_IMM
			      : MRC_OP_SEND_MIDDLE;
	case MRC_WR_SEND_INV:
		return only   ? MRC_OP_SEND_ONLY_INV
		       : !i   ? MRC_OP_SEND_FIRST
		       : last ? MRC_OP_SEND_LAST_INV
			      : MRC_OP_SEND_MIDDLE;
	case MRC_WR_READ:
		return MRC_OP_READ_REQ;
	case MRC_WR_CMP_SWAP:
		return MRC_OP_CMP_SWAP;
	case MRC_WR_FETCH_ADD:
		return MRC_OP_FETCH_ADD;
	case MRC_WR_ATOMIC_WRITE:
		return MRC_OP_ATOMIC_WRITE;
	default:
		return MRC_OP_FLUSH;
	}
}

} // namespace

ExtFlow::ExtFlow(const ExtPlan &plan, int dir, Verdict &v)
	: plan_(plan), dir_(dir), v_(v), first_psn_(plan.net.psn[dir]),
	  base_va_(0x7F0000000000ull + plan.net.seed * 4096),
	  salt_((u32)plan.net.seed * 5 + (u32)dir), pmtu_(plan.net.pmtu)
{
	memory.assign(plan.memory[dir], kGuard);
	if (memory.size() < kCounterBytes + kStaticBytes)
		memory.resize(kCounterBytes + kStaticBytes);
	std::memcpy(memory.data(), plan.counters[dir], kCounterBytes);
	for (u32 i = 0; i < kStaticBytes; i++)
		memory[kCounterBytes + i] = static_byte(i);
}

mrc_wr ExtFlow::make_wr()
{
	mrc_wr wr{};
	Op m;

	m.plan = next();
	m.first = (u32)owner.size();
	m.npkts = m.plan.packets(pmtu_);
	for (const Op &before : ops) {
		m.msn = (u16)(m.msn + (before.plan.op != MRC_WR_LOCAL));
		m.rqmsn = (u16)(m.rqmsn + (m.plan.consumes()
						   ? before.plan.consumes()
						   : before.plan.request()));
	}
	m.imm = 0xABCD0000u + (u32)ops.size();
	m.rkey = m.plan.fault == ExtFault::BadKey ? kBadKey : kGoodKey;
	if (m.plan.op == MRC_WR_SEND_INV)
		m.rkey = kInvKey + (u32)ops.size();
	else if (m.plan.send())
		m.rkey = 0;
	if (m.plan.op == MRC_WR_READ || m.plan.atomic()) {
		m.result.assign(m.plan.len, kGuard);
		m.result_got.assign(m.plan.len, 0);
	}
	m.receive.assign(m.plan.recv_len + 4, kGuard);
	wr.op = m.plan.op;
	wr.se = m.plan.se && m.plan.consumes();
	wr.fence = m.plan.fence;
	wr.rkey = m.rkey;
	wr.va = m.plan.send() || m.plan.op == MRC_WR_LOCAL
			? 0
			: base_va_ + m.plan.off;
	wr.len = m.plan.len;
	wr.swap = m.plan.swap;
	wr.compare = m.plan.compare;
	if (wr.op != MRC_WR_CMP_SWAP && wr.op != MRC_WR_FETCH_ADD)
		wr.compare = 0;
	if (wr.op == MRC_WR_FETCH_ADD)
		wr.swap = 0;
	std::memcpy(&wr.imm, &m.imm, sizeof(wr.imm));
	ops.push_back(std::move(m));
	return wr;
}

void ExtFlow::on_posted(int slot)
{
	const u32 id = (u32)ops.size() - 1;
	const Op &m = ops.back();

	if (slot < 0 || (u32)slot != id % plan_.net.sq_depth)
		v_.fail(strf("post of operation %u gave slot %d", id, slot));
	owner.insert(owner.end(), m.npkts, id);
	placed.resize(owner.size(), 0);
	if (m.plan.request())
		requests.push_back(id);
	if (m.plan.consumes())
		consumers.push_back(id);
}

void ExtFlow::check_header(const mrc_tx_desc &d, const Op &m, u32 i)
{
	const mrc_hdr &h = d.hdr;
	const u32 off = i * pmtu_;
	const char *bad = nullptr;
	u32 imm;

	std::memcpy(&imm, &h.reth.imm, sizeof(imm));
	if (h.opcode != first_opcode(m, i))
		bad = "opcode";
	else if (h.ans)
		bad = "channel";
	else if (d.len != std::min(m.plan.payload() - off, pmtu_) ||
		 h.pad != (-d.len & 3))
		bad = "length or pad";
	else if (h.msn != m.msn)
		bad = "msn";
	else if ((m.plan.request() || m.plan.consumes()) && h.rqmsn != m.rqmsn)
		bad = "rqmsn";
	else if (m.plan.send()
			 ? h.reth.va != off ||
				   h.reth.rkey !=
					   (i + 1 == m.npkts ? m.rkey : 0)
			 : (m.plan.len || m.plan.request()) &&
				   (h.reth.va != base_va_ + m.plan.off + off ||
				    h.reth.rkey != m.rkey))
		bad = "RETH";
	else if (h.reth.dmalen != m.plan.len)
		bad = "dmalen";
	else if (mrc_op_info(h.opcode)->flags & MRC_OPF_IMM && imm != m.imm)
		bad = "immediate";
	else if (m.plan.atomic() && h.opeth.compare != m.plan.compare)
		bad = "operand to compare or add";
	else if ((m.plan.op == MRC_WR_CMP_SWAP || m.plan.op == MRC_WR_FLUSH ||
		  m.plan.op == MRC_WR_ATOMIC_WRITE) &&
		 h.opeth.swap != m.plan.swap)
		bad = "operand";
	else if (i + 1 == m.npkts && h.se != (m.plan.se && m.plan.consumes()))
		bad = "solicited event";
	if (bad)
		v_.fail(strf("wrong %s in packet %u of operation kind %u", bad,
			     m.first + i, m.plan.op));
}

void ExtFlow::on_tx(const mrc_tx_desc &d)
{
	const u32 index = index_of(d.hdr.psn);

	if (index > sent || index >= owner.size()) {
		v_.fail(strf("packet %u sent, next new one is %u", index,
			     sent));
		return;
	}

	const u32 id = owner[index];
	const Op &m = ops[id];
	u32 out = 0;

	check_header(d, m, index - m.first);
	if (d.slot != id % plan_.net.sq_depth)
		v_.fail(strf("packet %u: wrong slot", index));
	if (d.hdr.rtx != (index < sent))
		v_.fail(strf("packet %u: wrong rtx", index));
	if (m.status >= 0)
		v_.fail(strf("packet %u of a completed operation", index));
	if (index < sent)
		return;
	sent++;
	if (index != m.first)
		return;
	for (u32 before : requests)
		out += before < id && !ops[before].answered;
	if (m.plan.fence && out)
		v_.fail(strf("operation %u overtakes its fence", id));
	if (m.plan.request() && out >= plan_.max_rd[dir_])
		v_.fail(strf("%u requests unanswered", out + 1));
	for (u32 i = 0; i < id; i++)
		if (ops[i].plan.op == MRC_WR_LOCAL && !ops[i].done)
			v_.fail(strf("operation %u overtakes a local one", id));
}

void ExtFlow::payload(const mrc_tx_desc &d, u8 *out) const
{
	const u32 id = owner[index_of(d.hdr.psn)];

	for (u32 i = 0; i < d.len; i++)
		out[i] = pattern(id, d.off + i);
}

void ExtFlow::on_local(u32 slot)
{
	for (u32 id = (u32)reaped; id < ops.size(); id++) {
		Op &m = ops[id];

		if (m.plan.op == MRC_WR_LOCAL && !m.done) {
			if (slot != id % plan_.net.sq_depth)
				break;
			if (m.first > sent)
				v_.fail("local operation before its turn");
			for (u32 r : requests)
				if (m.plan.fence && r < id && !ops[r].answered)
					v_.fail("local operation overtakes "
						"its fence");
			m.done = true;
			return;
		}
	}
	v_.fail(strf("slot %u is no local operation that is due", slot));
}

// Bytes of an answer; false: the shell must refuse it.
bool ExtFlow::place_answer(const mrc_hdr &h, const u8 *p)
{
	for (u32 n = answered; n < requests.size(); n++) {
		Op &m = ops[requests[n]];

		if (m.rqmsn != h.msn || m.first >= sent)
			continue;
		if (h.reth.va > m.result.size() ||
		    m.result.size() - h.reth.va < h.payload_len ||
		    h.reth.dmalen != m.result.size()) {
			v_.fail(strf("answer to request %u does not fit it",
				     n));
			return false;
		}
		for (u32 i = 0; i < h.payload_len; i++) {
			m.result[h.reth.va + i] = p[i];
			if (m.result_got[h.reth.va + i]++)
				v_.fail(strf("byte of answer %u placed twice",
					     n));
		}
		return true;
	}
	v_.fail(strf("answer to request %u, which is not outstanding", h.msn));
	return false;
}

bool ExtFlow::on_answered(u32 slot)
{
	const u32 id = request_op(answered);

	if (id == ~0u || slot != id % plan_.net.sq_depth) {
		v_.fail(strf("answer %u finds slot %u", answered, slot));
		return true;
	}
	if (answered >= executed)
		v_.fail(strf("request %u answered before it was executed",
			     answered));
	ops[id].answered = true;
	answered++;
	check_result(ops[id], id);
	return true;
}

void ExtFlow::check_result(const Op &m, u32 id)
{
	if (std::count(m.result_got.begin(), m.result_got.end(), 1) !=
	    (std::ptrdiff_t)m.result.size())
		v_.fail(strf("operation %u answered without all its bytes",
			     id));
	else if (m.plan.atomic() &&
		 get_unaligned_be64(m.result.data()) != m.plan.original)
		v_.fail(strf(
			"atomic operation %u returned %llx, not %llx", id,
			(unsigned long long)get_unaligned_be64(m.result.data()),
			(unsigned long long)m.plan.original));
	else if (m.plan.op == MRC_WR_READ)
		check_read(m, id);
}

// A READ sees all that was posted before it, and where nothing keeps it out,
// maybe something of what was posted later.
void ExtFlow::check_read(const Op &m, u32 id)
{
	const u64 end = m.plan.off + m.plan.len;
	u64 value[kCounters];
	std::vector<bool> ok(kCounters);
	u32 until = id + 1;

	while (until < ops.size() && !ops[until].plan.fence)
		until++;
	if (m.plan.off < kCounterBytes) {
		std::copy(plan_.counters[dir_],
			  plan_.counters[dir_] + kCounters, value);
		for (u32 i = 0; i <= until && i < ops.size(); i++) {
			const ExtOp &o = ops[i].plan;

			if (i == id || (i > id && plan_.snapshot) || i == until)
				for (u32 c = 0; c < kCounters; c++)
					ok[c] = ok[c] ||
						!std::memcmp(&m.result[c * 8],
							     &value[c], 8);
			if (i == until || (i > id && plan_.snapshot))
				break;
			if (!o.atomic() && o.op != MRC_WR_ATOMIC_WRITE)
				continue;

			u64 &v = value[o.off / 8];

			v = o.original;
			if (o.op == MRC_WR_CMP_SWAP && v == o.compare)
				v = o.swap;
			else if (o.op == MRC_WR_FETCH_ADD)
				v += o.compare;
			else if (o.op == MRC_WR_ATOMIC_WRITE)
				put_unaligned_be64(o.swap, (u8 *)&v);
			if (i > id && !std::memcmp(&m.result[o.off], &v, 8))
				ok[o.off / 8] = true;
		}
		for (u32 c = 0; c < kCounters; c++)
			if (!ok[c])
				v_.fail(strf("READ %u saw an impossible value "
					     "of counter %u",
					     id, c));
		return;
	}
	if (end <= kCounterBytes + kStaticBytes) {
		for (u32 i = 0; i < m.plan.len; i++)
			if (m.result[i] !=
			    static_byte(m.plan.off + i - kCounterBytes))
				v_.fail(strf("READ %u: wrong byte %u", id, i));
		return;
	}
	for (u32 w = 0; w < ops.size(); w++) {
		const Op &o = ops[w];

		if ((o.plan.op != MRC_WR_WRITE &&
		     o.plan.op != MRC_WR_WRITE_IMM) ||
		    o.plan.off != m.plan.off || o.plan.len < m.plan.len)
			continue;
		for (u32 i = 0; i < m.plan.len; i++) {
			const bool is = m.result[i] == pattern(w, i);
			const bool old = m.result[i] == kGuard;

			if (w < id ? !is : w >= until ? !old : !is && !old) {
				v_.fail(strf("READ %u: byte %u of WRITE %u is "
					     "wrong",
					     id, i, w));
				return;
			}
		}
	}
}

void ExtFlow::on_reap(u32 slot, int status)
{
	if (reaped >= ops.size()) {
		v_.fail("completion of what was never posted");
		return;
	}

	const u32 id = (u32)reaped++;
	Op &m = ops[id];

	if (slot != id % plan_.net.sq_depth)
		v_.fail(strf("operation %u completed out of order", id));
	m.status = status;
	if (status != MRC_WC_SUCCESS)
		return;
	for (u32 i = m.first; i < m.first + m.npkts; i++)
		if (m.plan.payload() && placed[i] != 1)
			v_.fail(strf("operation %u succeeded, packet %u was "
				     "placed %u times",
				     id, i, placed[i]));
	if (m.plan.consumes() &&
	    (delivered >= consumers.size() ? consumers.back()
					   : consumers[delivered] - 1) < id)
		v_.fail(strf("operation %u succeeded before it was received",
			     id));
	if (m.plan.request() && !m.answered)
		v_.fail(strf("request %u succeeded without an answer", id));
	if (m.plan.op == MRC_WR_LOCAL && !m.done)
		v_.fail(strf("local operation %u was not executed", id));
}

// Receives are posted for messages that are not yet sent, too.
bool ExtFlow::receive_posted(u32 n) const
{
	for (const ExtOp &o : plan_.ops[dir_])
		if (o.consumes() && !n--)
			return o.recv_at <= now;
	return false;
}

// Are there @n receives beyond those delivered?
bool ExtFlow::has_receives(u32 n) const
{
	return !n || receive_posted(delivered + n - 1);
}

// How many receives are there beyond those delivered?
u32 ExtFlow::receives() const
{
	u32 n = 0;

	while (has_receives(n + 1))
		n++;
	return n;
}

// The payload of a WRITE or SEND; @nth: which receive beyond those delivered.
u8 ExtFlow::place(const mrc_hdr &h, u16 nth, const u8 *p)
{
	const u32 index = index_of(h.psn);
	u64 at;

	if (index >= owner.size()) {
		v_.fail(strf("packet %u placed, %zu exist", index,
			     owner.size()));
		return 0;
	}
	if (placed[index]++)
		v_.fail(strf("packet %u placed twice", index));

	Op &m = ops[owner[index]];

	if (!m.plan.send()) {
		if (h.reth.rkey != kGoodKey)
			return MRC_SYN_NAK_ACCESS;
		at = h.reth.va - base_va_;
		if (at > memory.size() || memory.size() - at < h.payload_len) {
			v_.fail("WRITE outside of the memory");
			return MRC_SYN_NAK_ACCESS;
		}
		std::copy(p, p + h.payload_len, &memory[at]);
		return 0;
	}
	if (delivered + nth >= consumers.size() ||
	    consumers[delivered + nth] != owner[index]) {
		v_.fail(strf("SEND packet %u goes to receive %u", index,
			     delivered + nth));
		return 0;
	}
	if (!receive_posted(delivered + nth))
		v_.fail(strf("SEND packet %u has no receive", index));
	if (h.reth.va + h.payload_len > m.plan.recv_len) {
		if (m.plan.fault != ExtFault::LongSend)
			v_.fail("SEND does not fit its receive");
		return MRC_SYN_NAK_INV_REQ;
	}
	std::copy(p, p + h.payload_len, &m.receive[h.reth.va]);
	return 0;
}

// All that was posted before @id has happened.
void ExtFlow::check_before(u32 id, const char *what)
{
	for (u32 i = 0; i < ops[id].first; i++)
		if (ops[owner[i]].plan.payload() && placed[i] != 1)
			v_.fail(strf("%s %u overtakes packet %u", what, id, i));
	for (u32 n = 0; n < requests.size() && requests[n] < id; n++)
		if (n >= executed)
			v_.fail(strf("%s %u overtakes a request", what, id));
	for (u32 n = 0; n < consumers.size() && consumers[n] < id; n++)
		if (n >= delivered)
			v_.fail(strf("%s %u overtakes a receive", what, id));
	if (!dir_ && plan_.fault >= 0 && id > (u32)plan_.fault)
		v_.fail(strf("%s %u after an error", what, id));
}

u8 ExtFlow::on_recv(const mrc_recv_msg &imm)
{
	const u8 kinds[] = {MRC_RECV_WRITE_IMM, MRC_RECV_SEND,
			    MRC_RECV_SEND_IMM, MRC_RECV_SEND_INV};
	u32 value;

	if (delivered >= consumers.size()) {
		v_.fail("receive completion without a message");
		return 0;
	}

	const u32 id = consumers[delivered];
	const Op &m = ops[id];

	std::memcpy(&value, &imm.imm, sizeof(value));
	check_before(id, "receive completion");
	if (!receive_posted(delivered))
		v_.fail(strf("receive completion %u without a receive",
			     delivered));
	if (imm.psn != psn_of(m.first + m.npkts - 1) || imm.len != m.plan.len ||
	    imm.rqmsn != m.rqmsn || imm.se != m.plan.se ||
	    imm.kind != kinds[m.plan.op - MRC_WR_WRITE_IMM])
		v_.fail(strf("wrong receive completion %u", delivered));
	if ((m.plan.op == MRC_WR_WRITE_IMM || m.plan.op == MRC_WR_SEND_IMM) &&
	    value != m.imm)
		v_.fail(strf("wrong immediate in receive %u", delivered));
	if (m.plan.op == MRC_WR_SEND_INV && imm.inv_key != m.rkey)
		v_.fail(strf("receive %u invalidates %x", delivered,
			     imm.inv_key));
	if (m.plan.send()) {
		for (u32 i = 0; i < m.receive.size(); i++) {
			u8 want = i < m.plan.len ? pattern(id, i) : kGuard;

			if (m.receive[i] != want) {
				v_.fail(strf("receive %u: wrong byte %u",
					     delivered, i));
				break;
			}
		}
	}
	delivered++;
	return 0;
}

void ExtFlow::execute(const Op &m)
{
	u8 *at = &memory[m.plan.off];
	u64 v;

	if (!m.plan.atomic() && m.plan.op != MRC_WR_ATOMIC_WRITE)
		return;
	std::memcpy(&v, at, 8);
	switch (m.plan.op) {
	case MRC_WR_CMP_SWAP:
		if (v == m.plan.compare)
			v = m.plan.swap;
		break;
	case MRC_WR_FETCH_ADD:
		v += m.plan.compare;
		break;
	default: // ATOMIC_WRITE
		put_unaligned_be64(m.plan.swap, (u8 *)&v);
		break;
	}
	std::memcpy(at, &v, 8);
}

u8 ExtFlow::on_request(const mrc_rd &rd, ExtAnswer &answer)
{
	const u32 op = request_op(executed);

	if (op == ~0u) {
		v_.fail("a request that was never posted is executed");
		return MRC_SYN_NAK_INV_REQ;
	}

	const Op &m = ops[op];

	check_before(op, "request");
	if (rd.op != first_opcode(m, 0) || rd.psn != psn_of(m.first) ||
	    rd.rkey != m.rkey || rd.len != m.plan.len ||
	    rd.va != base_va_ + m.plan.off || rd.num != m.rqmsn)
		v_.fail(strf("request %u is executed with wrong fields",
			     executed));
	if (m.plan.atomic() && rd.compare != m.plan.compare)
		v_.fail(strf("request %u: wrong operand", executed));
	if ((m.plan.op == MRC_WR_CMP_SWAP || m.plan.op == MRC_WR_ATOMIC_WRITE ||
	     m.plan.op == MRC_WR_FLUSH) &&
	    rd.swap != m.plan.swap)
		v_.fail(strf("request %u: wrong value", executed));
	if (rd.rkey != kGoodKey)
		return MRC_SYN_NAK_ACCESS;
	execute(m);
	executed++;
	answer.op = op;
	answer.num = m.rqmsn;
	answer.len = (u32)m.result.size();
	answer.atomic = m.plan.atomic();
	if (plan_.snapshot && answer.len) {
		answer.data.resize(answer.len);
		read(op, 0, answer.len, answer.data.data());
	}
	return 0;
}

// Bytes of the answer to @op as they are now.
void ExtFlow::read(u32 op, u32 off, u32 len, u8 *out) const
{
	const Op &m = ops[op];

	if (m.plan.atomic())
		put_unaligned_be64(m.plan.original, out);
	else
		std::copy_n(&memory[m.plan.off + off], len, out);
}

void ExtFlow::check_answer_tx(u32 op, const mrc_tx_desc &d)
{
	const Op &m = ops[op];
	const mrc_hdr &h = d.hdr;
	const u32 len = (u32)m.result.size();
	const u8 want = m.plan.atomic()	       ? MRC_OP_ATOMIC_RESP
			: len <= pmtu_	       ? MRC_OP_READ_RESP_ONLY
			: !d.off	       ? MRC_OP_READ_RESP_FIRST
			: d.off + pmtu_ >= len ? MRC_OP_READ_RESP_LAST
					       : MRC_OP_READ_RESP_MIDDLE;

	if (!h.ans || h.opcode != want || h.msn != m.rqmsn ||
	    h.reth.va != d.off || h.reth.dmalen != len || h.reth.rkey ||
	    d.len != std::min(len - d.off, pmtu_))
		v_.fail(strf("wrong packet of the answer to operation %u", op));
}

// A transport ACK or NAK as the responder sends it.
void ExtFlow::check_ack(const mrc_hdr &h, u32 unacked)
{
	const u32 op = request_op(unacked);
	const u32 index = index_of(h.psn + (h.aeth.syndrome == MRC_SYN_ACK));

	if (index > owner.size()) // the PSN before the first
		return;
	if (op != ~0u && unacked < executed && index > ops[op].first)
		v_.fail(strf("transport ACK up to packet %u, but request %u "
			     "at %u is not answered",
			     index, unacked, ops[op].first));
	for (u32 i = 0; i < index && i < owner.size(); i++)
		if (ops[owner[i]].plan.payload() && !placed[i])
			v_.fail(strf("transport ACK of packet %u, which is "
				     "missing",
				     i));
}

void ExtFlow::check_final()
{
	u64 expect[kCounters];

	for (std::size_t id = 0; id < ops.size(); id++)
		if (ops[id].status != MRC_WC_SUCCESS)
			v_.fail(strf("operation %zu ended with status %d", id,
				     ops[id].status));
	if (delivered != consumers.size() || executed != requests.size() ||
	    answered != requests.size())
		v_.fail("receives or requests are missing");
	// Other answers may still be on their way to being acknowledged.
	std::copy(plan_.counters[dir_], plan_.counters[dir_] + kCounters,
		  expect);
	for (const Op &m : ops) {
		u64 &v = expect[m.plan.off / 8 % kCounters];

		if (m.plan.op == MRC_WR_CMP_SWAP && v == m.plan.compare)
			v = m.plan.swap;
		else if (m.plan.op == MRC_WR_FETCH_ADD)
			v += m.plan.compare;
		else if (m.plan.op == MRC_WR_ATOMIC_WRITE)
			put_unaligned_be64(m.plan.swap, (u8 *)&v);
	}
	if (std::memcmp(expect, memory.data(), kCounterBytes) != 0)
		v_.fail("counters have wrong values in the end");
	for (u32 id = 0; id < ops.size(); id++) {
		const Op &m = ops[id];

		if (m.plan.op != MRC_WR_WRITE && m.plan.op != MRC_WR_WRITE_IMM)
			continue;
		for (u32 i = 0; i < m.plan.len; i++)
			if (memory[m.plan.off + i] != pattern(id, i)) {
				v_.fail(strf("WRITE %u: wrong byte %u", id, i));
				break;
			}
	}
}

} // namespace prop
