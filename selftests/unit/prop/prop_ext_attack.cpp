// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Forged packets of the extension between honest ones, and what must hold
// whatever they say. Who is not on the path changes nothing at all: the whole
// model applies. Who is on it can do what the peer could, and no more.
#include <gtest/gtest.h>

#include <algorithm>

#include "prop_ext_control.hpp"
#include "prop_options.hpp"

namespace prop
{

namespace
{

// Packet numbers that are so far off that no window and no offset of a SACK
// reaches from one to the other. Nearer ones are a hit of one in a hundred.
constexpr s32 kFar = 80000;

} // namespace

ExtPlan ext_attack_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x5000001);
	ExtPlan p = ext_plan(seed ^ 0x0A0A0A0A);

	p.net.seed = seed;
	p.attack_ppm = (u32)rng.range(10000, 1000000);
	p.attacker = rng.chance(500000) ? ExtAttacker::OffPath
					: ExtAttacker::OnPath;
	if (p.attacker == ExtAttacker::OnPath)
		p.snapshot = true; // a READ of what was never planned
	return p;
}

// A number that an off-path attacker guesses, or one that it knows.
u32 ExtSim::forged_psn(int to, bool to_req, bool ans)
{
	const mrc_req &req = side_[to].half[ans].req;
	const mrc_resp &resp = side_[to].half[ans].resp;
	const u32 near = to_req ? req.cack : resp.cack;
	u32 psn;

	if (plan_.attacker == ExtAttacker::OnPath && !rng_.chance(50000))
		return mrc_psn_add(near, (s32)rng_.range(0, 300) - 100);
	do
		psn = (u32)rng_.below(MRC_PSN_MASK + 1);
	while (std::abs(mrc_psn_diff(psn, near)) < kFar);
	return psn;
}

// Plausible fields for a packet of this opcode.
void ExtSim::fill(int to, mrc_hdr &h)
{
	const u32 flags = mrc_op_info(h.opcode)->flags;
	const bool insider = plan_.attacker == ExtAttacker::OnPath;
	const ExtFlow &f = *flow_[1 - to];
	const Half &half = side_[to].half[h.ans];

	h.pkey = MRC_PKEY_DEFAULT;
	h.dqp = half.req.cfg.qpn;
	h.rtx = rng_.chance(300000);
	h.a = rng_.chance(500000);
	h.se = rng_.chance(200000);
	h.tstamp = (u16)rng_.next();
	h.msn = (u16)rng_.next();
	h.rqmsn = (u16)rng_.next();
	// What the peer would send next, with other contents.
	if (insider && aimed_) {
		h.psn = mrc_psn_add(half.resp.cack, 1);
		h.rtx = false;
		h.msn = half.resp.msn;
		h.rqmsn = (u16)(flags & MRC_OPF_REQUEST ? f.executed
							: half.resp.rqmsn);
	} else if (insider) {
		h.msn = flags & MRC_OPF_ANSWER
				? (u16)(flow_[to]->answered + rng_.below(3))
				: (u16)(half.resp.msn + rng_.below(4));
		h.rqmsn = (u16)(flags & MRC_OPF_REQUEST
					? f.executed + rng_.below(4)
					: half.resp.rqmsn + rng_.below(4));
	}
	if (flags & MRC_OPF_DATA)
		fill_data(to, h);
	else
		fill_control(to, h);
}

void ExtSim::fill_control(int to, mrc_hdr &h)
{
	const bool insider = plan_.attacker == ExtAttacker::OnPath;
	const mrc_req &req = side_[to].half[h.ans].req;

	switch (h.opcode) {
	case MRC_OP_SACK:
		h.seth.cack_psn = h.psn;
		h.seth.m = (u8)rng_.below(3);
		h.seth.pr = rng_.chance(300000);
		if (h.seth.pr)
			h.seth.probe_id = (u16)(req.probe_id +
						(insider ? 0 - rng_.below(3)
							 : rng_.range(100,
								      60000)));
		else
			h.seth.ack_psn_offset = (s16)rng_.next();
		h.seth.sack_offset = (s16)rng_.next();
		if (rng_.chance(800000))
			h.seth.sack_offset /= 256;
		h.seth.bitmap = rng_.next() & rng_.next();
		h.seth.mpr = (u8)rng_.next();
		h.seth.rcvd_bytes = (u32)rng_.below(1 << 24);
		h.seth.rcv_cwnd_pen = (u8)rng_.below(128);
		h.seth.restore_cwnd = rng_.chance(500000);
		h.seth.entropy = (u32)rng_.next();
		break;
	case MRC_OP_NACK:
		h.neth.nack_psn = h.psn;
		h.neth.reason = rng_.pick({(u8)MRC_NACK_TRIMMED,
					   (u8)MRC_NACK_NO_RESOURCE,
					   (u8)MRC_NACK_PSN_OOR_WINDOW,
					   (u8)rng_.next()});
		break;
	case MRC_OP_ACK:
		h.aeth.syndrome = rng_.chance(700000) ? (u8)MRC_SYN_ACK
						      : (u8)rng_.next();
		break;
	default: // PROBE
		h.peth.probe_id = (u16)rng_.next();
		h.ftype = MRC_TS_FTYPE;
		break;
	}
}

void ExtSim::fill_data(int to, mrc_hdr &h)
{
	const u32 flags = mrc_op_info(h.opcode)->flags;
	const bool insider = plan_.attacker == ExtAttacker::OnPath;
	const ExtFlow &f = *flow_[1 - to];

	h.reth.rkey = insider && rng_.chance(800000) ? kGoodKey
						     : (u32)rng_.next();
	h.reth.va = insider && rng_.chance(900000)
			    ? f.base_va() + rng_.below(f.memory.size() + 16)
			    : rng_.next();
	h.reth.dmalen = (u32)rng_.below(3 * plan_.net.pmtu);
	if (insider && aimed_) {
		h.reth.rkey = kGoodKey;
		h.reth.va = f.base_va() + rng_.below(f.memory.size() / 2);
		h.reth.dmalen = (u32)rng_.below(f.memory.size() / 2);
	}
	if (flags & MRC_OPF_OPERAND) {
		h.reth.dmalen = rng_.chance(900000) ? 8 : h.reth.dmalen;
		h.reth.va &= rng_.chance(900000) ? ~7ull : ~0ull;
	} else if (flags & (MRC_OPF_SEND | MRC_OPF_ANSWER) &&
		   rng_.chance(900000)) {
		h.reth.va = aimed_ || rng_.chance(500000)
				    ? 0
				    : rng_.below(6) * plan_.net.pmtu;
		if (!(flags & MRC_OPF_INV))
			h.reth.rkey = 0;
	}
	if (flags & MRC_OPF_IMM)
		h.reth.imm = (u32)rng_.next();
	if (flags & MRC_OPF_OPERAND) {
		h.opeth.swap = rng_.next();
		h.opeth.compare = rng_.next();
	}
}

// A packet made of nothing.
Packet ExtSim::invent(int to)
{
	static constexpr u8 ops[] = {
		MRC_OP_SEND_FIRST,
		MRC_OP_SEND_MIDDLE,
		MRC_OP_SEND_LAST,
		MRC_OP_SEND_ONLY,
		MRC_OP_SEND_ONLY_IMM,
		MRC_OP_SEND_LAST_INV,
		MRC_OP_SEND_ONLY_INV,
		MRC_OP_READ_REQ,
		MRC_OP_READ_REQ,
		MRC_OP_CMP_SWAP,
		MRC_OP_FETCH_ADD,
		MRC_OP_ATOMIC_WRITE,
		MRC_OP_FLUSH,
		MRC_OP_READ_RESP_FIRST,
		MRC_OP_READ_RESP_MIDDLE,
		MRC_OP_READ_RESP_LAST,
		MRC_OP_READ_RESP_ONLY,
		MRC_OP_ATOMIC_RESP,
		MRC_OP_WRITE_ONLY,
		MRC_OP_WRITE_LAST_IMM,
		MRC_OP_SACK,
		MRC_OP_SACK,
		MRC_OP_NACK,
		MRC_OP_NACK,
		MRC_OP_ACK,
		MRC_OP_PROBE,
	};
	Packet p;
	mrc_hdr h{};
	u32 flags, len = 0;

	h.opcode = ops[rng_.below(std::size(ops))];
	flags = mrc_op_info(h.opcode)->flags;
	h.ans = flags & MRC_OPF_DATA ? (flags & MRC_OPF_ANSWER) != 0
				      : rng_.chance(400000);
	h.psn = forged_psn(to, flags & MRC_OPF_TO_REQ, h.ans);
	aimed_ = flags & MRC_OPF_DATA && !h.ans && rng_.chance(500000);
	fill(to, h);
	if (flags & MRC_OPF_DATA && !(flags & MRC_OPF_REQUEST)) {
		// As a packet of such a message has them, mostly.
		len = flags & MRC_OPF_LAST
			      ? (u32)rng_.below(plan_.net.pmtu + 1)
			      : plan_.net.pmtu;
		if (h.opcode == MRC_OP_ATOMIC_RESP)
			len = 8;
		if (flags & MRC_OPF_FIRST && flags & MRC_OPF_LAST)
			h.reth.dmalen = len;
		if (!aimed_ && rng_.chance(50000))
			len = (u32)rng_.below(plan_.net.pmtu + 8);
	}
	h.pad = -len & 3;
	p.forged = true;
	p.bytes.assign(mrc_hdr_len(&h) + len + h.pad + MRC_ICRC_LEN,
		       (u8)rng_.next());
	mrc_hdr_build(&h, p.bytes.data(), (u32)p.bytes.size());
	return p;
}

// Let @to receive a packet that its peer never sent, or not now.
void ExtSim::forge(int to)
{
	const bool insider = plan_.attacker == ExtAttacker::OnPath;
	const u64 what = rng_.below(100);
	Packet p;

	if (insider && what < 60) {
		const auto &seen = seen_[to];

		p = rng_.chance(500000) ? seen.back()
					: seen[rng_.below(seen.size())];
		p.forged = true;
		if (what < 45) // a few bits of it
			for (u64 n = rng_.range(1, 6); n; n--)
				p.bytes[rng_.below(p.bytes.size())] ^=
					(u8)(1 << rng_.below(8));
		if (rng_.chance(50000))
			p.bytes.resize(rng_.range(1, p.bytes.size()));
	} else {
		p = invent(to);
	}
	p.port = (u8)rng_.range(1, plan_.net.n_ports);
	p.entropy = (u32)rng_.next();
	p.ce = rng_.chance(200000);
	if (p.data() && rng_.chance(100000)) {
		p.bytes.resize(std::min<std::size_t>(
			p.bytes.size(), rng_.pick({12u, 16u, 20u, 24u})));
		p.trim = rng_.chance(500000) ? MRC_TRIM_TRIMMED
					     : MRC_TRIM_LASTHOP;
	}
	schedule(now() + rng_.below(insider ? 200000 : 50000), Type::Arrive, to,
		 0, std::move(p));
}

// An attacker on the path can stall a queue pair or fail it, no more.
void ExtSim::run_attacked()
{
	while (!failed() && !finished() && events_ < 3000 &&
	       elapsed() < 20000000000 && step())
		;
	for (int side = 0; side < 2 && !failed(); side++)
		if (side_[side].dead && !flow_[side]->all_reaped() &&
		    flow_[side]->all_posted())
			fail(strf("%c is in error, but not all is flushed",
				  'A' + side));
}

// ---- what no packet may do ---------------------------------------------------

ExtAttacked::ExtAttacked(const ExtPlan &plan, int dir, Verdict &v)
	: ExtFlow(plan, dir, v)
{
	for (const ExtOp &o : plan.ops[dir])
		if (o.consumes())
			recv_len_.push_back(o.recv_len);
}

// The check that every access goes through.
u8 *ExtAttacked::reach(u64 va, u32 len, u32 rkey)
{
	const u64 at = va - base_va();

	if (rkey != kGoodKey || at > memory.size() || memory.size() - at < len)
		return nullptr;
	return memory.data() + at;
}

u8 ExtAttacked::place(const mrc_hdr &h, u16 nth, const u8 *p)
{
	const u32 n = delivered + nth;

	if (!taken_.insert(h.psn).second)
		v_.fail(strf("PSN %06x placed twice", h.psn));
	if (!(mrc_op_info(h.opcode)->flags & MRC_OPF_SEND)) {
		u8 *at = reach(h.reth.va, h.payload_len, h.reth.rkey);

		if (!at)
			return MRC_SYN_NAK_ACCESS;
		std::copy_n(p, h.payload_len, at);
		return 0;
	}
	if (!receive_posted(n)) {
		v_.fail(strf("a SEND goes to receive %u, which is not there",
			     n));
		return MRC_SYN_NAK_INV_REQ;
	}
	if (h.reth.va > recv_len_[n] ||
	    recv_len_[n] - h.reth.va < h.payload_len)
		return MRC_SYN_NAK_INV_REQ;
	return 0;
}

u8 ExtAttacked::on_recv(const mrc_recv_msg &imm)
{
	if (!receive_posted(delivered))
		v_.fail(strf("receive completion %u without a receive",
			     delivered));
	if (imm.rqmsn != (u16)delivered)
		v_.fail(strf("receive completion %u is for message %u",
			     delivered, imm.rqmsn));
	strange_receives +=
		delivered >= consumers.size() ||
		imm.psn != psn_of(ops[consumers[delivered]].first +
				  ops[consumers[delivered]].npkts - 1);
	delivered++;
	return 0;
}

u8 ExtAttacked::on_request(const mrc_rd &rd, ExtAnswer &answer)
{
	const u32 meant = request_op(executed);
	const bool eight = rd.op == MRC_OP_CMP_SWAP ||
			   rd.op == MRC_OP_FETCH_ADD ||
			   rd.op == MRC_OP_ATOMIC_WRITE;
	u8 *at;
	u64 v;

	if (rd.num != (u16)executed)
		v_.fail(strf("request %u is executed as number %u", rd.num,
			     executed));
	if (eight && (rd.len != 8 || rd.va & 7))
		v_.fail(strf("request %u: eight bytes at %llx, length %u",
			     rd.num, (unsigned long long)rd.va, rd.len));
	at = reach(rd.va, rd.len, rd.rkey);
	if (!at && !(rd.op == MRC_OP_READ_REQ && !rd.len))
		return MRC_SYN_NAK_ACCESS;
	answer.num = rd.num;
	answer.atomic = rd.op == MRC_OP_CMP_SWAP || rd.op == MRC_OP_FETCH_ADD;
	answer.len = rd.op == MRC_OP_READ_REQ ? rd.len
		     : answer.atomic	      ? 8
					      : 0;
	if (rd.op == MRC_OP_READ_REQ && rd.len) {
		answer.data.assign(at, at + rd.len);
	} else if (eight) {
		std::memcpy(&v, at, 8);
		if (answer.atomic) {
			answer.data.resize(8);
			put_unaligned_be64(v, answer.data.data());
		}
		if (rd.op == MRC_OP_FETCH_ADD)
			v += rd.compare;
		else if (rd.op == MRC_OP_ATOMIC_WRITE)
			put_unaligned_be64(rd.swap, (u8 *)&v);
		else if (v == rd.compare)
			v = rd.swap;
		std::memcpy(at, &v, 8);
	}
	strange_requests += meant == ~0u || rd.psn != psn_of(ops[meant].first) ||
			    rd.len != ops[meant].plan.len ||
			    rd.va != base_va() + ops[meant].plan.off;
	executed++;
	return 0;
}

// As the driver does it: no byte goes where no request wants one.
bool ExtAttacked::place_answer(const mrc_hdr &h, const u8 *p)
{
	for (u32 n = answered; n < requests.size(); n++) {
		Op &m = ops[requests[n]];
		const u64 size = m.result.size();

		if (m.rqmsn != h.msn)
			continue;
		if (m.first >= sent) {
			v_.fail(strf("an answer finds request %u, which was "
				     "not sent",
				     n));
			return false;
		}
		if (h.reth.va > size || size - h.reth.va < h.payload_len ||
		    (m.plan.atomic() ? h.opcode != MRC_OP_ATOMIC_RESP
				     : h.opcode == MRC_OP_ATOMIC_RESP))
			return false;
		for (u32 i = 0; i < h.payload_len; i++) {
			m.result[h.reth.va + i] = p[i];
			m.result_got[h.reth.va + i] = 1;
		}
		return true;
	}
	return false;
}

bool ExtAttacked::on_answered(u32 slot)
{
	const u32 id = request_op(answered);

	if (id == ~0u || slot != id % plan_.net.sq_depth) {
		v_.fail(strf("answer %u finds slot %u", answered, slot));
		return false;
	}

	Op &m = ops[id];

	if (m.first >= sent)
		v_.fail(strf("request %u answered before it was sent",
			     answered));
	if (std::count(m.result_got.begin(), m.result_got.end(), 1) !=
	    (std::ptrdiff_t)m.result.size())
		return false;
	m.answered = true;
	answered++;
	return true;
}

void ExtAttacked::on_reap(u32 slot, int status)
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
	if (status != MRC_WC_SUCCESS) {
		if (status != MRC_WC_FLUSH) {
			if (blamed_)
				v_.fail("more than one operation failed");
			blamed_ = true;
		}
		ended_ = true;
		return;
	}
	if (ended_)
		v_.fail(strf("operation %u succeeded after an error", id));
	if (m.first + m.npkts > sent)
		v_.fail(strf("operation %u succeeded before it was sent", id));
	if (m.plan.request() && !m.answered)
		v_.fail(strf("request %u succeeded without an answer", id));
	if (m.plan.op == MRC_WR_LOCAL && !m.done)
		v_.fail(strf("local operation %u was not executed", id));
}

std::string run_ext_attack(u64 seed, bool trace)
{
	ExtPlan plan = ext_attack_plan(seed);
	ExtSim sim(plan, trace);

	if (plan.attacker == ExtAttacker::OnPath) {
		sim.run_attacked();
	} else {
		sim.run();
		sim.check_final();
	}
	return sim.what();
}

} // namespace prop

namespace
{

constexpr u64 kShards = 10;

class ExtAttack : public testing::TestWithParam<u64>
{
};

TEST_P(ExtAttack, ForgedPacketsDoNoMoreThanTheyMay)
{
	u64 failures = 0;

	for (u64 i = GetParam(); i < prop::options.schedules; i += kShards) {
		u64 seed = prop::options.first + i;
		std::string bad =
			prop::run_schedule("extattack", seed, false);

		if (bad.empty())
			continue;
		ADD_FAILURE() << "schedule " << seed << ": " << bad;
		if (++failures == 5)
			break;
	}
}

INSTANTIATE_TEST_SUITE_P(Random, ExtAttack, testing::Range<u64>(0, kShards));

// The attacker does get through where that is possible, or nothing would have
// been tested: a message is, in one schedule of a hundred.
TEST(ExtAttackReach, PacketsAreTakenWhereTheyCanBe)
{
	u64 requests = 0, receives = 0, failed = 0, whole = 0;
	u64 refused[2] = {}, odd[2] = {};

	for (u64 seed = 1; seed <= 2000; seed++) {
		const prop::ExtPlan p = prop::ext_attack_plan(seed);
		const bool on = p.attacker == prop::ExtAttacker::OnPath;
		prop::ExtSim sim(p, false);

		if (on)
			sim.run_attacked();
		else
			sim.run();
		ASSERT_FALSE(sim.failed()) << seed << ": " << sim.what();
		odd[on] += sim.count(0, MRC_CTR_RX_OOR) +
			   sim.count(1, MRC_CTR_RX_OOR);
		refused[on] += sim.count(0, MRC_CTR_DROP_STALE) +
			       sim.count(1, MRC_CTR_DROP_STALE);
		failed += sim.dead(0) || sim.dead(1);
		whole += on && !sim.dead(0) && !sim.dead(1);
		for (int side = 0; side < 2; side++) {
			const prop::ExtFlow &f = sim.flow(side);

			requests += f.strange_requests;
			receives += f.strange_receives;
		}
	}
	EXPECT_GT(requests, 5u) << "forged requests executed";
	EXPECT_GT(receives, 5u) << "forged messages received";
	EXPECT_GT(failed, 20u) << "queue pairs in error";
	EXPECT_GT(whole, 5u) << "queue pairs that survive";
	for (int on = 0; on < 2; on++) {
		EXPECT_GT(odd[on], 10u) << "packets beyond the window";
		EXPECT_GT(refused[on], 20u) << "stale feedback";
	}
}

// The checks of an attacked schedule notice mistakes too.
class ExtAttackNegative : public testing::TestWithParam<prop::ExtControl>
{
};

TEST_P(ExtAttackNegative, IsNoticed)
{
	const auto plan = [](u64 seed) -> std::optional<prop::ExtPlan> {
		prop::ExtPlan p = prop::ext_attack_plan(seed);

		if (p.attacker != prop::ExtAttacker::OnPath)
			return std::nullopt;
		return p;
	};

	prop::expect_noticed(GetParam(), 2000, plan,
			     [](prop::ExtSim &sim) { sim.run_attacked(); });
}

using prop::ExtControl;
using prop::ExtSabotage;

INSTANTIATE_TEST_SUITE_P(
	Controls, ExtAttackNegative,
	testing::Values(
		ExtControl{ExtSabotage::NoReceiveCheck, "NoReceiveCheck",
			   "receive"},
		ExtControl{ExtSabotage::SkipLocal, "SkipLocal", "local"},
		ExtControl{ExtSabotage::LoseCompletion, "LoseCompletion", ""},
		ExtControl{ExtSabotage::SwapReceives, "SwapReceives",
			   "receive completion"}),
	prop::control_name);

} // namespace
