/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: addresses of a fabric. BLOCK stands for the 16 bits of the file's
 * key "block"; numbers are hexadecimal.
 *
 *	BLOCK:0::/32		uSIDs, the same in every plane: T0 0x0100 + L,
 *				T1 0x0200 + S, host 0x0300 + H
 *	BLOCK:1:L::H		host H behind T0 L, on each of its netdevs
 *	BLOCK:2:P:L::H		its netdev of plane P, the source of outer
 *				headers of SRv6
 *	A.B.L.H			host H in IPv4
 *	192.0.2.H		host H in the management network
 *
 * Links have link-local addresses. Systems that cannot use these as next hops
 * have the following, which are the same in every plane, too:
 *
 *	fd00:f:1:LLSS::/127	T0 L (::0) and T1 S (::1)
 *	fd00:f:2:LLHH::/64	T0 L (::1) and host H (::2)
 *	100.64.0.0/15		T0 and T1, a /31 for each link
 *	100.66.0.0/23		T0 and host, a /31 for each host
 */
#pragma once

#include <string>

#include "topology.hpp"

namespace mrclab
{
/* Throws FileError if the fabric has more nodes than the plan has addresses. */
void check_addresses(const Fabric &fabric);

uint16_t usid(const Node &node);
std::string usid_address(const Fabric &f, const Node &node); /* without /48 */
std::string usid_prefix(const Fabric &f, const Node &node);  /* with /48 */
std::string usid_block(const Fabric &f);		     /* with /32 */
std::string host6(const Topology &t, uint32_t host);
std::string host4(const Topology &t, uint32_t host);
std::string port6(const Topology &t, uint32_t host, uint32_t plane);
std::string mgmt4(uint32_t host);
std::string hosts6(const Fabric &f); /* all hosts: BLOCK:1::/32 */
std::string hosts4(const Fabric &f);
std::string hosts6_of(const Fabric &f, uint32_t t0); /* of one T0: /48 */
std::string hosts4_of(const Fabric &f, uint32_t t0);
std::string link_local(const Node &node);
/* What a T0 is for its hosts in IPv4, on every link. */
std::string gateway4();

/* An address of the sending end that is no link-local one. */
struct LinkAddress {
	std::string address;
	int length = 0; /* of the link's prefix */

	std::string with_length() const;
};
LinkAddress link6(const Topology &t, Direction sent);
LinkAddress link4(const Topology &t, Direction sent);

/* The hardware address of a netdev: 02:f0:PLANE:KINDS:NUMBER:PEER. */
std::string mac(const Topology &t, Direction sent);

/*
 * Outer destination from host @a to host @b over T1 @spine: the uSIDs of the
 * switches and of the host. @spine has no meaning for hosts of the same T0.
 */
std::string usid_path(const Topology &t, uint32_t a, uint32_t spine,
		      uint32_t b);
} // namespace mrclab
