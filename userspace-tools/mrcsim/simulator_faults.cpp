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
		LinkSpec spec = links_.spec(id);
		const Kind kind = shape_.kind_of(id);

		switch (f.kind) {
		case Fault::Kind::down:
		case Fault::Kind::up:
			links_.set_down(id, f.kind == Fault::Kind::down, now_);
			if (kind == Kind::host_up || kind == Kind::host_down)
				changed.push_back((id % plane_links_) %
						  shape_.all_hosts());
			break;
		case Fault::Kind::loss:
			spec.loss = f.loss;
			links_.set(id, spec, now_);
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
						*room, 2 * derived_.packet);
			links_.set(id, spec, now_);
			break;
		case Fault::Kind::restore:
			links_.set_down(id, false, now_);
			if (kind == Kind::host_up || kind == Kind::host_down)
				changed.push_back((id % plane_links_) %
						  shape_.all_hosts());
			spec = shape_.of(kind);
			for (const LinkException &e : shape_.exceptions)
				if (e.link == id)
					spec = e.spec;
			links_.set(id, spec, now_);
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
	const u64 t = engine_time(now_);
	u32 up = 0;

	for (u32 port = 1; port <= shape_.planes; port++) {
		const u32 id = host_up(host, port);

		if (!links_.is_down(id) &&
		    !links_.is_down(id + shape_.all_hosts()))
			up |= 1u << port;
	}
	if (up == hosts_[host].ports)
		return;
	hosts_[host].ports = up;
	for (u32 n = 0; n < qps_.size(); n++) {
		Qp &q = qps_[n];

		if (q.src == host && q.tx) {
			mrc_req_set_ports(&q.tx->req, up, t);
			make_ready(n);
		}
		if (q.dst == host && q.rx)
			mrc_paths_set_ports(&q.rx->paths, up);
	}
	pull(host);
	events_.push(now_ + shape_.path_delay(), key_of(Happens::news, host));
}

/*
 * A port status update of @host reaches its peers. Its packets are not
 * simulated: they take the time of the longest path and are never lost.
 */
void Simulator::news(u32 host)
{
	const u64 t = engine_time(now_);
	const u32 up = hosts_[host].ports;

	for (u32 n = 0; n < qps_.size(); n++) {
		Qp &q = qps_[n];

		if (q.dst == host && q.tx) {
			mrc_req_peer_status(&q.tx->req, up, t);
			make_ready(n);
			pull(q.src);
		}
		if (q.src == host && q.rx)
			mrc_paths_peer_status(&q.rx->paths, up, t);
	}
}
} // namespace mrcsim
