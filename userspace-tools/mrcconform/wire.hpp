/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: whole IP packets out, packets of the target in. */
#pragma once

#include <fstream>

#include "../common/fd.hpp"
#include "clock.hpp"
#include "ip.hpp"

namespace mrcconform
{

/* A capture file with IP packets (LINKTYPE_RAW). */
class Pcap
{
public:
	/* Throws RunError if the file cannot be written. */
	void open(const std::string &file);
	void write(std::span<const uint8_t> ip_packet);

private:
	std::ofstream out_;
};

/* Where packets leave and arrive, if routes alone do not say so. */
struct Planes {
	/* The tester's netdevs, in the order of the target's ports. */
	std::vector<std::string> netdevs;
	/*
	 * With SRv6: outer destinations that lead to the target, one for each
	 * netdev or one for all, and the outer source.
	 */
	std::vector<Address> sids;
	std::optional<Address> outer_source;
};

/* How one packet is sent. */
struct How {
	/* The netdev, from 1. */
	uint32_t plane = 1;
	/* By default with the traffic class and flow label of the packet. */
	std::optional<Outer> outer = {};
	/* Without an outer header, even with SRv6. */
	bool bare = false;
};

/*
 * The tester's place on the network. Packets are sent by a raw socket, so that
 * Linux finds the route and the neighbour. They are received by a packet
 * socket, which sees headers as they came. Throws RunError.
 */
class Wire
{
public:
	/* @planes must outlive it. */
	Wire(const Address &local, const Address &remote, uint16_t port,
	     const Planes &planes, Pcap &pcap);

	const Address &local() const { return local_; }
	const Address &remote() const { return remote_; }
	void send(const Bytes &ip_packet, const How &how = {});
	/* The next packet from the target to the UDP port, until @end. */
	std::optional<Datagram> next(Clock::time_point end, Bytes &raw);

private:
	const Address &sid(uint32_t plane) const;
	/* The netdev's place in the list, from 1; 0 if it is none of them. */
	uint32_t plane_of(int ifindex) const;

	Address local_, remote_;
	uint16_t port_;
	const Planes &planes_;
	Pcap &pcap_;
	fd::Fd in_, sink_;
	/* One for each netdev. */
	std::vector<fd::Fd> out_;
	std::vector<int> ifindexes_;
	Address outer_source_;
};

/* The address of this host from which packets to @remote go. */
Address source_for(const Address &remote);
} // namespace mrcconform
