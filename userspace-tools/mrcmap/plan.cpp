// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plan.hpp"

#include <algorithm>
#include <limits>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "address.hpp"
#include "error.hpp"
#include "packet.hpp"

namespace mrcmap
{
namespace
{
using mrclab::Direction;
using mrclab::Node;
using mrclab::Topology;

/* Agents of a T0 that probe the same T1, if it has as many. */
constexpr uint32_t overlap = 2;

/*
 * A NIC-T0 link gets this part of its probes from a peer, as many to a peer,
 * and the rest by probes of T1s. Its own agent adds what is missing, and no
 * less than this part: these probes alone cross no other link.
 */
constexpr uint32_t least_share = 4;
constexpr uint64_t whole = 1'000'000;

Direction host_up(const Topology &t, uint32_t host, uint32_t plane)
{
	return t.direction(fmt::format("h{}:p{}", host, plane));
}

Direction t0_up(const Topology &t, uint32_t plane, uint32_t t0, uint32_t t1)
{
	return t.direction(fmt::format("p{}l{}:s{}", plane, t0, t1));
}

Direction reverse(Direction d)
{
	return {d.link, !d.up};
}

/* The uSIDs one after the other; at most six fit behind the block. */
std::string outer(const Topology &t, const std::vector<const Node *> &via)
{
	std::string s = fmt::format("{:x}:0", t.fabric().block);

	for (const Node *n : via)
		s += fmt::format(":{:x}", mrclab::usid(*n));
	return via.size() < 6 ? s + "::" : s;
}

bool over_t1(const ProbePath &p)
{
	return p.kind == PathKind::t1 || p.kind == PathKind::cross ||
	       (p.kind == PathKind::peer && p.hops.size() > 2);
}
} // namespace

Address address(const std::string &text)
{
	Address a{};

	inet_pton(AF_INET6, text.c_str(), a.data());
	return a;
}

const char *kind_name(PathKind kind)
{
	switch (kind) {
	case PathKind::t0:
		return "t0";
	case PathKind::t1:
		return "t1";
	case PathKind::cross:
		return "cross";
	default:
		return "peer";
	}
}

Plan::Plan(const Topology &t, const Config &config)
{
	const mrclab::Fabric &f = t.fabric();

	if (!f.srv6())
		throw mrclab::FileError(f.file, f.line_of("forwarding"),
					"probes need switches that forward by "
					"SRv6");
	mrclab::check_addresses(f);
	sent_by_.resize(f.all_hosts());
	peers_to_.resize(f.all_hosts());
	for (uint32_t h = 1; h <= f.all_hosts(); h++)
		for (uint32_t p = 1; p <= f.planes; p++)
			add_host(t, h, p);
	set_intervals(t, config);
	set_digest(t, config);
}

const std::vector<uint32_t> &Plan::sent_by(uint32_t host) const
{
	return sent_by_.at(host - 1);
}

const std::vector<uint32_t> &Plan::peers_to(uint32_t host) const
{
	return peers_to_.at(host - 1);
}

void Plan::add(ProbePath path)
{
	path.id = static_cast<uint32_t>(paths_.size());
	sent_by_[path.host - 1].push_back(path.id);
	if (path.one_way())
		peers_to_[path.receiver - 1].push_back(path.id);
	paths_.push_back(std::move(path));
}

void Plan::add_host(const Topology &t, uint32_t host, uint32_t plane)
{
	const mrclab::Fabric &f = t.fabric();
	const uint32_t t0 = t.t0_of(host), place = (host - 1) % f.hosts;
	const Direction up = host_up(t, host, plane);

	add({.kind = PathKind::t0,
	     .host = host,
	     .receiver = host,
	     .plane = plane,
	     .hops = {up, reverse(up)},
	     .outer = outer(t, {&t.t0(plane, t0), &t.host(host)})});
	for (uint32_t s = 1; s <= f.t1; s++) {
		/* The T1s go round the hosts, differently in each plane. */
		for (uint32_t k = 0; k < std::min(overlap, f.hosts); k++) {
			const Direction link = t0_up(t, plane, t0, s);

			if ((s * overlap + k + plane) % f.hosts != place)
				continue;
			add({.kind = PathKind::t1,
			     .host = host,
			     .receiver = host,
			     .plane = plane,
			     .hops = {up, link, reverse(link), reverse(up)},
			     .outer = outer(
				     t, {&t.t0(plane, t0), &t.t1(plane, s),
					 &t.t0(plane, t0), &t.host(host)})});
			add_cross(t, host, plane, s, k);
		}
	}
	add_peers(t, host, plane);
}

/*
 * The other T0 depends on the T1 and on which of the hosts that share it this
 * is. So each T0 is the other one for each T1, and every direction is on a path
 * without the opposite direction.
 */
void Plan::add_cross(const Topology &t, uint32_t host, uint32_t plane,
		     uint32_t spine, uint32_t turn)
{
	const mrclab::Fabric &f = t.fabric();

	if (f.t0 < 2)
		return;

	const uint32_t a = t.t0_of(host);
	const uint32_t b = (a + (spine + turn + plane) % (f.t0 - 1)) % f.t0 + 1;
	const uint32_t back = spine % f.t1 + 1;
	const Direction up = host_up(t, host, plane);

	add({.kind = PathKind::cross,
	     .host = host,
	     .receiver = host,
	     .plane = plane,
	     .hops = {up, t0_up(t, plane, a, spine),
		      reverse(t0_up(t, plane, b, spine)),
		      t0_up(t, plane, b, back),
		      reverse(t0_up(t, plane, a, back)), reverse(up)},
	     .outer = outer(t, {&t.t0(plane, a), &t.t1(plane, spine),
				&t.t0(plane, b), &t.t1(plane, back),
				&t.t0(plane, a), &t.host(host)})});
}

/*
 * To the next host of the same T0. Where a T0 has no other host, and where
 * there is one T1, so that no path crosses a link in one direction alone: to
 * the host at the same place of the next T0.
 */
void Plan::add_peers(const Topology &t, uint32_t host, uint32_t plane)
{
	const mrclab::Fabric &f = t.fabric();
	const uint32_t a = t.t0_of(host);
	const auto to = [&](uint32_t receiver, uint32_t spine) {
		add({.kind = PathKind::peer,
		     .host = host,
		     .receiver = receiver,
		     .plane = plane,
		     .hops = t.path(host, plane, spine, receiver),
		     .outer = mrclab::usid_path(t, host, spine, receiver)});
	};

	const uint32_t first = (a - 1) * f.hosts + 1; /* host of the T0 */

	if (f.hosts > 1)
		to(first + (host - first + 1) % f.hosts, 0);
	if (f.t1 > 0 && f.t0 > 1 && (f.hosts == 1 || f.t1 == 1))
		to((host - 1 + f.hosts) % f.all_hosts() + 1,
		   (a + plane) % f.t1 + 1);
}

void Plan::set_intervals(const Topology &t, const Config &config)
{
	std::vector<uint32_t> crossed(t.links().size());
	/* Of the one probe in a period that links should get. */
	std::vector<uint64_t> parts(t.links().size());

	for (const ProbePath &p : paths_) {
		std::vector<uint32_t> links;

		if (!over_t1(p))
			continue;
		for (const Direction &d : p.hops)
			links.push_back(d.link);
		std::sort(links.begin(), links.end());
		links.erase(std::unique(links.begin(), links.end()),
			    links.end());
		for (const uint32_t l : links)
			crossed[l]++;
	}
	for (ProbePath &p : paths_) {
		uint32_t least = std::numeric_limits<uint32_t>::max();

		if (p.kind == PathKind::t0)
			continue;
		/* By the link that has the fewest paths: all get enough. */
		for (const Direction &d : p.hops)
			if (t.nodes()[t.links()[d.link].low.node].kind !=
			    mrclab::Kind::host)
				least = std::min(least, crossed[d.link]);
		if (!over_t1(p))
			least = least_share;
		p.interval = config.period * least;
		parts[p.hops.front().link] += whole / least;
		if (p.one_way())
			parts[p.hops.back().link] += whole / least;
	}
	for (ProbePath &p : paths_) {
		const uint64_t have =
			std::min(parts[p.hops.front().link], whole);

		if (p.kind == PathKind::t0)
			p.interval =
				config.period * whole /
				std::max(whole - have, whole / least_share);
	}
}

void Plan::set_digest(const Topology &t, const Config &config)
{
	std::string s =
		fmt::format("mrcmap 1 {} {} {} {} {:x} {} {} {} {}\n",
			    t.fabric().planes, t.fabric().t0, t.fabric().t1,
			    t.fabric().hosts, t.fabric().block, config.window,
			    config.udp_port, config.size, config.dscp);

	for (const ProbePath &p : paths_)
		s += fmt::format("{} {} {} {} {} {}\n", kind_name(p.kind),
				 p.host, p.receiver, p.plane, p.outer,
				 p.interval);
	digest_ = siphash(
		Key{}, {reinterpret_cast<const uint8_t *>(s.data()), s.size()});
}
} // namespace mrcmap
