// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "address.hpp"

#include <fmt/format.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
void check_count(const Fabric &f, const std::string &key, uint32_t have,
		 uint32_t most, const char *what)
{
	if (have > most)
		throw FileError(f.file, f.line_of(key),
				fmt::format("{} {}: there are addresses for {}",
					    have, what, most));
}

std::string net4(const Fabric &f)
{
	return fmt::format("{}.{}", f.block4 >> 8, f.block4 & 0xff);
}

/* The number of the kind in hardware and link-local addresses. */
int kind_number(Kind kind)
{
	switch (kind) {
	case Kind::t0:
		return 1;
	case Kind::t1:
		return 2;
	default:
		return 3;
	}
}

/* A link by its ends: a T0, and the T1 or the host that it leads to. */
struct Ends {
	const Node &t0;
	const Node &far;
	bool from_t0;
};

Ends ends_of(const Topology &t, Direction sent)
{
	const Node &from = t.nodes()[t.from(sent).node];
	const Node &to = t.nodes()[t.to(sent).node];

	if (from.kind == Kind::t0)
		return {from, to, true};
	return {to, from, false};
}
} // namespace

void check_addresses(const Fabric &f)
{
	check_count(f, "planes", f.planes, 255, "planes");
	check_count(f, "t0", f.t0, 255, "T0 switches");
	check_count(f, "t1", f.t1, 255, "T1 switches");
	check_count(f, "hosts", f.all_hosts(), 254, "hosts in all");
}

uint16_t usid(const Node &node)
{
	return static_cast<uint16_t>((kind_number(node.kind) << 8) +
				     node.number);
}

std::string usid_address(const Fabric &f, const Node &node)
{
	return fmt::format("{:x}:0:{:x}::", f.block, usid(node));
}

std::string usid_prefix(const Fabric &f, const Node &node)
{
	return usid_address(f, node) + "/48";
}

std::string usid_block(const Fabric &f)
{
	return fmt::format("{:x}:0::/32", f.block);
}

std::string host6(const Topology &t, uint32_t host)
{
	return fmt::format("{:x}:1:{:x}::{:x}", t.fabric().block, t.t0_of(host),
			   host);
}

std::string host4(const Topology &t, uint32_t host)
{
	return fmt::format("{}.{}.{}", net4(t.fabric()), t.t0_of(host), host);
}

std::string port6(const Topology &t, uint32_t host, uint32_t plane)
{
	return fmt::format("{:x}:2:{:x}:{:x}::{:x}", t.fabric().block, plane,
			   t.t0_of(host), host);
}

std::string mgmt4(uint32_t host)
{
	return fmt::format("192.0.2.{}", host);
}

std::string hosts6(const Fabric &f)
{
	return fmt::format("{:x}:1::/32", f.block);
}

std::string hosts4(const Fabric &f)
{
	return net4(f) + ".0.0/16";
}

std::string hosts6_of(const Fabric &f, uint32_t t0)
{
	return fmt::format("{:x}:1:{:x}::/48", f.block, t0);
}

std::string hosts4_of(const Fabric &f, uint32_t t0)
{
	return fmt::format("{}.{}.0/24", net4(f), t0);
}

std::string link_local(const Node &node)
{
	return fmt::format("fe80::{:x}:{:x}", kind_number(node.kind),
			   node.number);
}

std::string gateway4()
{
	return "169.254.0.1";
}

std::string LinkAddress::with_length() const
{
	return fmt::format("{}/{}", address, length);
}

LinkAddress link6(const Topology &t, Direction sent)
{
	const Ends e = ends_of(t, sent);
	const uint32_t link = e.t0.number << 8 | e.far.number;

	if (e.far.kind == Kind::t1)
		return {fmt::format("fd00:f:1:{:x}::{}", link,
				    e.from_t0 ? "" : "1"),
			127};
	return {fmt::format("fd00:f:2:{:x}::{}", link, e.from_t0 ? 1 : 2), 64};
}

LinkAddress link4(const Topology &t, Direction sent)
{
	const Ends e = ends_of(t, sent);
	/* Hosts are numbered over all T0s, so theirs tells the link. */
	const uint32_t link = e.far.kind == Kind::t1
				      ? e.t0.number << 8 | e.far.number
				      : e.far.number;
	const uint32_t second = e.far.kind == Kind::t1 ? 64 : 66;
	const uint32_t n = link << 1 | (e.from_t0 ? 0 : 1);

	return {fmt::format("100.{}.{}.{}", second + (n >> 16), n >> 8 & 0xff,
			    n & 0xff),
		31};
}

std::string mac(const Topology &t, Direction sent)
{
	const Node &node = t.nodes()[t.from(sent).node];
	const Node &peer = t.nodes()[t.to(sent).node];

	/* A T0 can have a host and a T1 of the same number. */
	return fmt::format("02:f0:{:02x}:{:02x}:{:02x}:{:02x}",
			   t.links()[sent.link].plane,
			   kind_number(node.kind) + 16 * kind_number(peer.kind),
			   node.number, peer.number);
}

std::string usid_path(const Topology &t, uint32_t a, uint32_t spine, uint32_t b)
{
	const Node &from = t.t0(1, t.t0_of(a)), &to = t.t0(1, t.t0_of(b));
	const uint16_t block = t.fabric().block;

	if (&from == &to)
		return fmt::format("{:x}:0:{:x}:{:x}::", block, usid(from),
				   usid(t.host(b)));
	return fmt::format("{:x}:0:{:x}:{:x}:{:x}:{:x}::", block, usid(from),
			   usid(t.t1(1, spine)), usid(to), usid(t.host(b)));
}
} // namespace mrclab
