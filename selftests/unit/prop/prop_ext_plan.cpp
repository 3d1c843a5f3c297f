// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Schedules of the extension: a random mix of all operations.
#include <algorithm>

#include "prop_ext.hpp"

namespace prop
{

u32 ExtOp::packets(u32 pmtu) const
{
	if (op == MRC_WR_LOCAL)
		return 0;
	return std::max(1u, (payload() + pmtu - 1) / pmtu);
}

namespace
{

// Counters as the operations, in their order, leave them.
class Replay
{
public:
	explicit Replay(const u64 *initial)
	{
		std::copy(initial, initial + kCounters, v_);
	}

	u64 now(u32 i) const { return v_[i]; }

	void apply(ExtOp &o)
	{
		u64 &v = v_[o.off / 8];

		o.original = v;
		switch (o.op) {
		case MRC_WR_CMP_SWAP:
			if (v == o.compare)
				v = o.swap;
			break;
		case MRC_WR_FETCH_ADD:
			v += o.compare;
			break;
		default: // ATOMIC_WRITE: bytes, not a number
			put_unaligned_be64(o.swap, (u8 *)&v);
			break;
		}
	}

private:
	u64 v_[kCounters];
};

u8 random_kind(Rng &rng, u32 requests_ppm)
{
	if (rng.chance(requests_ppm))
		return rng.pick({(u8)MRC_WR_READ, (u8)MRC_WR_READ,
				 (u8)MRC_WR_READ, (u8)MRC_WR_CMP_SWAP,
				 (u8)MRC_WR_FETCH_ADD, (u8)MRC_WR_FETCH_ADD,
				 (u8)MRC_WR_ATOMIC_WRITE, (u8)MRC_WR_FLUSH});
	return rng.pick({(u8)MRC_WR_WRITE, (u8)MRC_WR_WRITE_IMM,
			 (u8)MRC_WR_SEND, (u8)MRC_WR_SEND, (u8)MRC_WR_SEND_IMM,
			 (u8)MRC_WR_SEND_INV, (u8)MRC_WR_LOCAL});
}

u32 random_length(Rng &rng, const Plan &p, u32 &budget)
{
	u32 len = rng.pick({0u, 1u, 7u, 8u, p.pmtu - 1, p.pmtu, p.pmtu + 1});

	if (rng.chance(500000))
		len = (u32)rng.below(6 * p.pmtu);
	if (rng.chance(60000))
		len = (u32)rng.range(10, 40) * p.pmtu;
	len = std::min(len, budget * p.pmtu);
	budget -= std::min(budget, len / p.pmtu + 1);
	return len;
}

void random_ops(Rng &rng, ExtPlan &p, int dir, u32 budget, u64 span)
{
	const bool trickle = rng.chance(400000);
	const bool late = rng.chance(500000);
	const u32 requests = (u32)rng.range(100000, 900000);
	const u32 fences = rng.chance(500000) ? (u32)rng.below(400001) : 0;
	u64 at = p.net.start, recv = p.net.start;
	u64 end = kCounterBytes + kStaticBytes;
	Replay replay(p.counters[dir]);
	std::vector<std::pair<u64, u32>> written;

	while (budget) {
		ExtOp o;

		o.op = random_kind(rng, requests);
		o.fence = rng.chance(fences);
		o.se = rng.chance(500000);
		if (trickle)
			at += rng.below(span / 8 + 1);
		o.post_at = at;
		o.len = random_length(rng, p.net, budget);
		switch (o.op) {
		case MRC_WR_CMP_SWAP:
		case MRC_WR_FETCH_ADD:
		case MRC_WR_ATOMIC_WRITE:
			o.len = 8;
			o.off = 8 * rng.below(kCounters);
			o.swap = rng.next();
			o.compare =
				o.op == MRC_WR_CMP_SWAP && rng.chance(600000)
					? replay.now((u32)o.off / 8)
					: rng.next();
			replay.apply(o);
			break;
		case MRC_WR_READ:
			if (!written.empty() && rng.chance(500000)) {
				// What a WRITE nearby writes.
				auto [off, len] =
					written[written.size() - 1 -
						rng.below(std::min<u64>(
							written.size(), 4))];

				o.off = off;
				o.len = std::min(o.len, len);
			} else if (rng.chance(400000)) {
				o.len = kCounterBytes;
			} else {
				o.off = kCounterBytes + rng.below(100);
				o.len = std::min(o.len, kStaticBytes - 100);
			}
			break;
		case MRC_WR_FLUSH:
			o.swap = rng.range(1, 3) | rng.below(2) << 4;
			o.off = 0;
			break;
		case MRC_WR_WRITE:
		case MRC_WR_WRITE_IMM:
			o.off = end;
			end += o.len;
			written.push_back({o.off, o.len});
			break;
		case MRC_WR_LOCAL:
			o.len = 0;
			break;
		default:
			break;
		}
		if (o.consumes()) {
			o.recv_len = o.send() ? o.len + (u32)rng.below(3) : 0;
			if (late)
				recv += rng.below(span / 20 + 1);
			o.recv_at = recv;
		}
		p.ops[dir].push_back(o);
	}
	p.memory[dir] = end;
}

ExtPlan base(Rng &rng, Plan net)
{
	ExtPlan p;

	p.net = std::move(net);
	for (auto &m : p.net.msgs)
		m.clear();
	p.net.changes.clear();
	std::erase_if(p.net.outages, [](const Outage &o) {
		return o.kind != Fault::PortDown &&
		       o.kind != Fault::PortBlackhole;
	});
	// Without a timer nobody asks for an answer.
	if (!p.net.rto)
		p.net.rto = 1000000;
	p.net.lose_acks = true;
	p.net.lose_naks = false;
	for (int dir = 0; dir < 2; dir++) {
		for (u64 &v : p.counters[dir])
			v = rng.chance(300000) ? ~0ull : rng.next();
		p.max_rd[dir] = (u8)rng.range(1, rng.chance(500000) ? 3 : 16);
		p.max_dest[dir] = (u16)(p.max_rd[dir] + rng.below(3));
	}
	p.rnr_timer = (u8)rng.range(1, 12);
	p.snapshot = rng.chance(500000);
	p.late_local_ppm = rng.chance(500000) ? 400000 : 0;
	return p;
}

} // namespace

ExtPlan ext_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x3000001);
	ExtPlan p = base(rng, random_plan(seed ^ 0x0E0E0E0E));
	const u64 span = rng.range(50000, 3000000);
	const u32 size = rng.pick({10u, 40u, 40u, 150u});

	p.net.seed = seed;
	random_ops(rng, p, 0, (u32)rng.range(1, size), span);
	if (rng.chance(700000))
		random_ops(rng, p, 1, (u32)rng.range(1, size), span);
	p.net.calm_at = p.net.start + rng.below(3 * span) + span;
	if (rng.chance(300000)) {
		// A budget that is enough by all means: the last receive comes
		// within five times what is waited for it.
		u64 last = 0;

		for (const auto &ops : p.ops)
			for (const ExtOp &o : ops)
				if (o.consumes())
					last = std::max(last, o.recv_at);
		p.rnr_retry = 6;
		while (p.rnr_timer < 31 &&
		       p.net.start + 5 * mrc_rnr_time(p.rnr_timer) < last)
			p.rnr_timer++;
	}
	p.tells = rng.chance(700000);
	return p;
}

// A place for the fault and what it needs.
ExtPlan ext_error_plan(u64 seed)
{
	Rng rng(seed * 2 + 0x4000001);
	ExtPlan p = base(rng, random_plan(seed ^ 0x0F0F0F0F));
	const ExtFault fault =
		rng.pick({ExtFault::BadKey, ExtFault::BadKey, ExtFault::BadKey,
			  ExtFault::LongSend, ExtFault::NoReceive,
			  ExtFault::NotAllowed, ExtFault::NoExt});
	const u64 span = rng.range(50000, 1000000);
	bool placed = false;

	p.net.seed = seed;
	p.net.outages.clear();
	p.net.linear_cnt = 7;
	p.net.exp_cnt = MRC_RETRY_EXP_INFINITE;
	random_ops(rng, p, 0, (u32)rng.range(5, 60), span);
	if (rng.chance(300000))
		random_ops(rng, p, 1, (u32)rng.range(1, 20), span);
	if (fault == ExtFault::NoExt) {
		// There a missing receive is an error, too.
		p.ops[1].clear();
		for (ExtOp &o : p.ops[0])
			o.recv_at = p.net.start;
	}
	for (u64 tries = 0; tries < 50 && !placed; tries++) {
		const u64 at = rng.below(p.ops[0].size());
		ExtOp &o = p.ops[0][at];

		switch (fault) {
		case ExtFault::BadKey:
			placed = o.request() || ((o.op == MRC_WR_WRITE ||
						  o.op == MRC_WR_WRITE_IMM) &&
						 o.len);
			break;
		case ExtFault::LongSend:
			placed = o.send() && o.len;
			if (placed)
				o.recv_len = o.len - 1;
			break;
		case ExtFault::NoReceive:
			placed = o.consumes();
			if (!placed)
				break;
			p.rnr_retry = (u8)rng.below(7);
			p.rnr_timer = (u8)rng.range(10, 14);
			for (std::size_t i = 0; i < p.ops[0].size(); i++)
				p.ops[0][i].recv_at =
					i < at ? p.net.start : MRC_NEVER;
			// The other side has as few tries, and is to live.
			for (ExtOp &b : p.ops[1])
				b.recv_at = p.net.start;
			break;
		case ExtFault::NotAllowed:
			placed = o.atomic();
			break;
		default:
			placed = o.request() || o.send();
			break;
		}
		if (!placed)
			continue;
		p.fault = (int)at;
		o.fault = fault;
		// The first that is refused is the one that counts.
		for (std::size_t i = 0; i < at; i++) {
			const ExtOp &b = p.ops[0][i];

			if ((fault == ExtFault::NotAllowed && b.atomic()) ||
			    (fault == ExtFault::NoExt &&
			     (b.request() || b.send()))) {
				o.fault = ExtFault::None;
				p.ops[0][i].fault = fault;
				p.fault = (int)i;
				break;
			}
		}
	}
	return p;
}

} // namespace prop
