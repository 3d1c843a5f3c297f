// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The network of the tail kinds: planes of known delay, and what they lose.
#include <algorithm>

#include "prop_tail.hpp"

namespace prop
{

TailRun::TailRun(const TailPlan &p, bool trace)
	: plan(p), sim(p.net, trace), net_(plan), dice_(p.net.seed * 2 + 0xD1CE)
{
	u32 index = 0;

	for (std::size_t i = 0; i < p.net.msgs[0].size(); i++) {
		first_.push_back(index);
		index += p.packets(i);
	}
	first_.push_back(index);
	copies_.assign(index, 0);
	lost_by_.assign(index, 0);
	sim.on_send = [this](int from, Packet &packet, u64 &delay) {
		return send(from, packet, delay);
	};
	sim.on_desc = [this](int side, const mrc_tx_desc &d) { look(side, d); };
}

void TailRun::fail(std::size_t msg, const std::string &what)
{
	if (failed())
		return;
	what_ = msg < plan.losses.size()
			? strf("message %zu of %u packets: %s", msg,
			       plan.packets(msg), what.c_str())
			: what;
	sim.note("FAIL %s", what_.c_str());
	what_ += " (" + plan.describe() + ")";
}

std::size_t TailRun::owner(u32 index) const
{
	return (std::size_t)(
		       std::upper_bound(first_.begin(), first_.end(), index) -
		       first_.begin()) -
	       1;
}

// The loss that the oldest message has which is not complete yet.
const TailLoss *TailRun::under_way(std::size_t *msg) const
{
	*msg = sim.dir[0]->reaped;
	if (*msg >= sim.dir[0]->msgs.size() ||
	    plan.losses[*msg].what == TailLoss::Nothing)
		return nullptr;
	return &plan.losses[*msg];
}

// Before a packet of either side leaves.
void TailRun::look(int side, const mrc_tx_desc &d)
{
	u32 index;

	if (side)
		return;
	if (!d.data) {
		path_probe_ = mrc_paths_state(&sim.ep[0].paths, (u16)d.ev) ==
			      MRC_EV_ASSUMED_BAD;
		probes.push_back({sim.now(), path_probe_});
		return;
	}
	index = sim.dir[0]->index_of(d.hdr.psn);
	if (index >= lost_by_.size())
		return;
	// MRC 1.0 §9.1: on a path chosen afresh; a plane that has just lost a
	// packet is not the one to send its copy through.
	if (lost_by_[index] == d.port && plan.net.n_ports > 1 &&
	    plan.silences.empty())
		fail(owner(index), strf("packet %u was lost on port %u and "
					"sent again through it",
					index - first_[owner(index)], d.port));
	lost_by_[index] = 0;
}

TailNet::TailNet(const TailPlan &plan)
	: serialize_(plan.serialize), rng_(plan.net.seed * 2 + 0xA000001)
{
	for (int side = 0; side < 2; side++) {
		for (u32 port = 0; port <= MRC_MAX_PORTS; port++) {
			mrc_model::Way &w = way_[side][port];

			w.delay = plan.delay[side][port];
			if (side && !plan.uneven_back)
				continue;
			w.jitter = plan.jitter ? plan.jitter + 1 : 0;
			w.detour = plan.detour;
			w.detour_ppm =
				plan.detour ? 1000000 - plan.direct_ppm : 0;
		}
	}
}

u64 TailNet::delay(int from, const Packet &p, u64 now)
{
	return line_[from][p.port].take(now, serialize_) - now +
	       way_[from][p.port].time(rng_);
}

bool TailRun::send(int from, Packet &p, u64 &delay)
{
	const bool here = !from && p.data() && !sabotaged_ &&
			  sim.dir[0]->reaped > plan.losses.size() / 2;

	delay = net_.delay(from, p, sim.now());
	if (here && plan.sabotage == TailSabotage::Duplicate) {
		sabotaged_ = true;
		sim.deliver_forged(1, p);
	} else if (here && plan.sabotage == TailSabotage::Lose) {
		sabotaged_ = true;
		return false;
	}
	if (!drop(from, p))
		return true;
	sim.note("%c lost %s", 'A' + from, prop::describe(p).c_str());
	return false;
}

bool TailRun::drop(int from, const Packet &p)
{
	bool gone = false;

	for (const TailSilence &s : plan.silences)
		gone |= sim.now() >= s.from && sim.now() < s.to &&
			s.sides >> from & 1 && (!s.port || s.port == p.port);
	gone |= plan.loss_ppm && dice_.chance(plan.loss_ppm);
	if (!gone)
		gone = from ? drop_feedback(p) : drop_data(p);
	lost_acks += gone && p.opcode() == MRC_OP_ACK;
	lost_feedback += gone && from;
	if (gone && p.data()) {
		lost++;
		lost_by_[sim.dir[0]->index_of(p.psn())] = p.port;
	}
	return gone;
}

bool TailRun::drop_data(const Packet &p)
{
	const TailLoss *l;
	std::size_t msg;
	u32 index, i;

	if (p.opcode() == MRC_OP_PROBE) {
		l = under_way(&msg);
		if (!l || path_probe_)
			return false;
		if (msg != current_) {
			current_ = msg;
			probes_lost_ = 0;
		}
		return plan.sabotage == TailSabotage::Deaf ||
		       probes_lost_++ < l->probes;
	}
	index = sim.dir[0]->index_of(p.psn());
	msg = owner(index);
	l = &plan.losses[msg];
	i = index - first_[msg];
	if (copies_[index] < 255)
		copies_[index]++;
	return l->what == TailLoss::Packets && i >= l->first && i <= l->last &&
	       copies_[index] <= l->copies;
}

bool TailRun::drop_feedback(const Packet &p)
{
	std::size_t msg;
	const TailLoss *l = under_way(&msg);
	const u32 last = l ? first_[msg + 1] - 1 : 0;
	const Direction &d = *sim.dir[0];

	if (!l || l->what == TailLoss::Packets)
		return false;
	if (msg != current_ || !sacks_) {
		sacks_ = 1;
		ack_lost_ = false;
		complete_at_ = 0;
		current_ = msg;
	}
	const bool ack = p.opcode() == MRC_OP_ACK;
	mrc_hdr h{};

	mrc_hdr_parse(p.bytes.data(), (u32)p.bytes.size(), (u32)p.bytes.size(),
		      &h);
	switch (l->what) {
	case TailLoss::Ack:
		if (!ack || ack_lost_ || d.index_of(h.psn) != last)
			return false;
		ack_lost_ = true;
		return true;
	case TailLoss::Sack:
		return p.opcode() == MRC_OP_SACK && !h.seth.pr &&
		       sacks_++ == l->nth + 1;
	default:
		if (p.opcode() == MRC_OP_SACK && h.seth.pr)
			return false;
		if (d.cum > last && !complete_at_)
			complete_at_ = sim.now();
		return !complete_at_ || sim.now() <= complete_at_;
	}
}

void TailRun::collect()
{
	while (took.size() < sim.dir[0]->reaped) {
		const u64 from = plan.net.msgs[0][took.size()].post_at;

		took.push_back(sim.now() - from);
		done.push_back(sim.now());
	}
}

void TailRun::run()
{
	sim.run_until(MRC_NEVER, [this] {
		collect();
		return failed() || sim.delivered() || sim.ep[0].dead;
	});
	if (sim.failed())
		fail(~(std::size_t)0, sim.what());
	else if (!failed() && !sim.ep[0].dead && !sim.delivered())
		fail(~(std::size_t)0, "nothing is scheduled, but not all is "
				      "delivered");
	if (failed() || sim.ep[0].dead)
		return;
	sim.settle();
	sim.check_final();
	if (sim.failed())
		fail(~(std::size_t)0, sim.what());
}

} // namespace prop
