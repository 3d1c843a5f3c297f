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

/*
 * The tester's place on the network. Packets are sent by a raw socket, so that
 * Linux finds the route and the neighbour. They are received by a packet
 * socket, which sees headers as they came. Throws RunError.
 */
class Wire
{
public:
	Wire(const Address &local, const Address &remote, uint16_t port,
	     Pcap &pcap);

	const Address &local() const { return local_; }
	const Address &remote() const { return remote_; }
	void send(const Bytes &ip_packet);
	/* The next packet from the target to the UDP port, until @end. */
	std::optional<Datagram> next(Clock::time_point end, Bytes &raw);

private:
	Address local_, remote_;
	uint16_t port_;
	Pcap &pcap_;
	fd::Fd in_, out_, sink_;
};

/* The address of this host from which packets to @remote go. */
Address source_for(const Address &remote);
} // namespace mrcconform
