// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// READs of the extension over planes of known delay: each side repairs what it
// sent itself, the request on one channel, the answer on the other.
#include <algorithm>

#include "prop_ext.hpp"
#include "prop_tail.hpp"

namespace prop
{

namespace
{

ExtPlan reads(const TailPlan &t)
{
	ExtPlan p;

	p.net = t.net;
	p.net.msgs[0].clear();
	p.net.calm_at = t.net.msgs[0].back().post_at;
	p.max_rd[0] = p.max_rd[1] = 4;
	p.max_dest[0] = p.max_dest[1] = 4;
	p.memory[0] = kCounterBytes + kStaticBytes;
	for (const PlanMsg &m : t.net.msgs[0]) {
		ExtOp o;

		o.op = MRC_WR_READ;
		o.off = kCounterBytes;
		o.len = m.len;
		o.post_at = m.post_at;
		p.ops[0].push_back(o);
	}
	return p;
}

class ReadRun
{
public:
	ReadRun(const TailPlan &p, bool trace)
		: plan_(p), sim(reads(p), trace), net_(plan_)
	{
		sim.on_send = [this](int from, const Packet &packet,
				     u64 &delay) {
			delay = net_.delay(from, packet, sim.now());
			if (!drop(from, packet))
				return true;
			sim.note("%c lost %s", 'A' + from,
				 describe(packet).c_str());
			return false;
		};
	}

	void run()
	{
		sim.run([this] {
			while (took.size() < sim.flow(0).reaped)
				took.push_back(
					sim.now() -
					plan_.net.msgs[0][took.size()].post_at);
		});
		sim.check_final();
		what = sim.what();
	}

	// What may be sent again is what was lost, and the newest packet of a
	// channel for its transport ACK.
	void check_needless()
	{
		u64 rtx = 0, last = 0, dup = 0;

		for (int ans = 0; ans < 2; ans++) {
			rtx += sim.count(ans, MRC_CTR_TX_RTX);
			last += sim.count(ans, MRC_CTR_RTX_LAST_PSN);
			dup += sim.count(ans, MRC_CTR_RX_DUP);
		}
		if (what.empty() &&
		    (rtx > lost + last || dup > last || last > lost_acks))
			what = strf("%llu packets sent again and %llu for "
				    "their transport ACKs, %llu arrived "
				    "twice; lost were %llu packets and %llu "
				    "transport ACKs",
				    (unsigned long long)(rtx - last),
				    (unsigned long long)last,
				    (unsigned long long)dup,
				    (unsigned long long)lost,
				    (unsigned long long)lost_acks);
	}

private:
	const TailPlan plan_;

public:
	ExtSim sim;
	std::vector<u64> took;
	std::string what;
	u64 lost = 0, lost_acks = 0;

private:
	bool drop(int from, const Packet &p)
	{
		const std::size_t msg = sim.flow(0).reaped;
		mrc_hdr h{};

		if (msg != current_) {
			current_ = msg;
			index_ = 0;
			done_ = false;
		}
		if (msg >= plan_.losses.size())
			return false;
		mrc_hdr_parse(p.bytes.data(), (u32)p.bytes.size(),
			      (u32)p.bytes.size(), &h);

		const TailLoss &l = plan_.losses[msg];
		const bool ack = p.opcode() == MRC_OP_ACK;

		switch (l.what) {
		case TailLoss::Packets:
			if (!from || !p.data() || !h.ans || done_ ||
			    index_++ != l.first)
				return false;
			lost++;
			break;
		case TailLoss::Request:
			if (from || !p.data() || h.ans || done_)
				return false;
			lost++;
			break;
		case TailLoss::RequestAck:
			if (!from || !ack || h.ans || done_)
				return false;
			lost_acks++;
			break;
		case TailLoss::Ack: // of the answer
			if (from || !ack || !h.ans || done_)
				return false;
			lost_acks++;
			break;
		default:
			return false;
		}
		done_ = true;
		return true;
	}

	TailNet net_;
	std::size_t current_ = ~(std::size_t)0;
	u32 index_ = 0;
	bool done_ = false;
};

} // namespace

std::string run_tail_read(u64 seed, bool trace)
{
	const TailPlan p = tail_read_plan(seed);
	ReadRun calm(tail_without_losses(p), false), r(p, trace);
	std::string why;
	std::size_t late;

	calm.run();
	calm.check_needless();
	if (!calm.what.empty()) {
		if (trace)
			ReadRun(tail_without_losses(p), true).run();
		return "without loss: " + calm.what + " (" + p.describe() + ")";
	}
	r.run();
	if (r.what.empty()) {
		late = tail_late(p, r.took, tail_base(p, calm.took), why);
		if (late < r.took.size())
			r.what = strf("READ %zu of %u packets: %s", late,
				      p.packets(late), why.c_str());
	}
	r.check_needless();
	if (!r.what.empty())
		r.what += " (" + p.describe() + ")";
	return r.what;
}

} // namespace prop
