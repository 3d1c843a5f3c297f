// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: what happens to links, and what hosts see of it. */
#include <algorithm>

#include "simulator.hpp"

namespace mrcsim
{
namespace
{
u64 scaled(u64 bytes, u64 by, u64 of)
{
	return static_cast<u64>(static_cast<unsigned __int128>(bytes) * by /
				of);
}
} // namespace

void Simulator::fault(std::size_t n)
{
	const Fault &f = faults_[n];
	std::vector<u32> changed;

	for (const u32 id : f.links) {
		LinkSpec spec = world_.links.spec(id);
		const Kind kind = world_.shape.kind_of(id);

		switch (f.kind) {
		case Fault::Kind::down:
		case Fault::Kind::up:
			world_.links.set_down(id, f.kind == Fault::Kind::down,
					      global_now_);
			if (kind == Kind::host_up || kind == Kind::host_down)
				changed.push_back(world_.routes.host_of(id));
			break;
		case Fault::Kind::loss:
			spec.loss = f.loss;
			world_.links.set(id, spec, global_now_);
			break;
		case Fault::Kind::rate:
			/* Lengths of queues follow the BDP. */
			for (u64 *bytes : {&spec.queue, &spec.trim,
					   &spec.mark_min, &spec.mark_max})
				*bytes = scaled(*bytes, f.rate, spec.rate);
			spec.rate = f.rate;
			for (u64 *room : {&spec.queue, &spec.trim})
				if (*room)
					*room = std::max<u64>(
						*room,
						2 * world_.derived.packet);
			world_.links.set(id, spec, global_now_);
			break;
		case Fault::Kind::restore:
			world_.links.set_down(id, false, global_now_);
			if (kind == Kind::host_up || kind == Kind::host_down)
				changed.push_back(world_.routes.host_of(id));
			spec = world_.shape.of(kind);
			for (const LinkException &e : world_.shape.exceptions)
				if (e.link == id)
					spec = e.spec;
			world_.links.set(id, spec, global_now_);
			break;
		}
	}
	std::sort(changed.begin(), changed.end());
	changed.erase(std::unique(changed.begin(), changed.end()),
		      changed.end());
	for (const u32 host : changed)
		ports_changed(host);
}

/* A host sees at once that a cable has no carrier. Its peers are told. */
void Simulator::ports_changed(u32 host)
{
	u32 up = 0;

	for (u32 port = 1; port <= world_.shape.planes; port++) {
		const u32 id = world_.routes.host_up(host, port);

		if (!world_.links.is_down(id) &&
		    !world_.links.is_down(id + world_.shape.all_hosts()))
			up |= 1u << port;
	}
	if (up == world_.hosts[host].ports)
		return;
	world_.hosts[host].ports = up;
	if (Partition *p = part_of(host))
		p->ports_changed(host, up);
	global_.push({global_now_ + world_.shape.path_delay(),
		      key_of(Happens::news, host)});
}

/*
 * A port status update of @host reaches its peers. Its packets are not
 * simulated: they take the time of the longest path and are never lost.
 */
void Simulator::news(u32 host)
{
	const u32 up = world_.hosts[host].ports;

	for (u32 n = 0; n < world_.qps.size(); n++) {
		const Qp &q = world_.qps[n];

		for (const auto &[one, other] :
		     {std::pair(q.dst, q.src), std::pair(q.src, q.dst)})
			if (Partition *p = one == host ? part_of(other) : nullptr)
				p->peer_ports(n, other, up);
	}
}

void Simulator::happen()
{
	const Event e = global_.top();
	const u64 who = e.key & ((u64{1} << key_shift) - 1);

	global_.pop();
	global_now_ = e.at;
	global_events_++;
	for (const auto &p : parts_)
		p->set_now(e.at);
	if (e.key >> key_shift == static_cast<u64>(Happens::fault))
		fault(who);
	else
		news(static_cast<u32>(who));
}
} // namespace mrcsim
