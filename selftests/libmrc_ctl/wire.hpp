/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a device sends: packets as they leave its netdevs. */
#pragma once

#include <memory>

#include "api.hpp"

struct Packet {
	uint8_t port = 0; /* which of the netdevs, from 1 on */
	bool srv6 = false;
	bool ipv6 = false; /* inside, where there is an outside */
	uint8_t outer[16] = {};
	uint8_t segment[16] = {};
	uint8_t tclass = 0; /* of the outermost header */
	uint32_t label = 0;
	uint16_t sport = 0;
	uint8_t opcode = 0;
	uint32_t dqp = 0;
};

constexpr uint8_t opcode_endpoint_request = 0xd8;

/*
 * Packets as they were when they passed: what an ordinary packet socket gives
 * out later shares its memory with the packet, and a segment's end rewrites the
 * destination in place.
 */
class Ring
{
public:
	explicit Ring(const std::string &netdev);
	~Ring();
	Ring(const Ring &) = delete;
	Ring &operator=(const Ring &) = delete;

	/* The next packet that was sent, parsed; false if there is none. */
	bool get(Packet &p);

private:
	int fd_;
	uint8_t *map_ = nullptr;
	std::size_t at_ = 0;
};

class Wire
{
public:
	explicit Wire(const std::vector<std::string> &netdevs);

	/* MRC packets that left since the last call. */
	std::vector<Packet> take();

private:
	std::vector<std::unique_ptr<Ring>> rings_;
};

/*
 * The EV of a packet in expanded form, "VALUE@PORT"; says what is wrong where a
 * packet is not of @mode.
 */
std::string ev_of(const Packet &p, mrc_ctl_ev_fmt_mode mode);
