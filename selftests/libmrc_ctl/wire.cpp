// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "wire.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>

namespace
{
constexpr uint16_t mrc_port = 4791;
constexpr uint8_t next_ipip = 4, next_udp = 17, next_ipv6 = 41,
		  next_routing = 43;

using Bytes = std::span<const uint8_t>;

uint32_t be(Bytes b, std::size_t at, std::size_t n)
{
	uint32_t v = 0;

	for (std::size_t i = 0; i < n; i++)
		v = v << 8 | b[at + i];
	return v;
}

/* Of a ring: headers fit, and many packets. */
constexpr unsigned frame_size = 2048, block_size = 1 << 17, blocks = 32;
constexpr std::size_t frames = block_size / frame_size * blocks;
constexpr std::size_t ring_size = std::size_t{block_size} * blocks;

template <typename T> void option(int fd, int name, const T &value)
{
	must(setsockopt(fd, SOL_PACKET, name, &value, sizeof(value)) ? errno
								     : 0,
	     "packet socket");
}

/* UDP and what is in it. */
bool parse_udp(Bytes b, Packet &p)
{
	if (b.size() < 8 + 12 || be(b, 2, 2) != mrc_port)
		return false;
	p.sport = static_cast<uint16_t>(be(b, 0, 2));
	p.opcode = b[8];
	p.dqp = be(b, 8 + 4, 4) & 0xffffff;
	return true;
}

bool parse_ipv4(Bytes b, Packet &p, bool outermost)
{
	if (b.size() < 20 || b[9] != next_udp)
		return false;
	if (outermost)
		p.tclass = b[1];
	return parse_udp(b.subspan(static_cast<std::size_t>(b[0] & 15) * 4), p);
}

bool parse_ipv6(Bytes b, Packet &p, bool outermost)
{
	if (b.size() < 40)
		return false;
	uint8_t next = b[6];
	Bytes rest = b.subspan(40);

	if (outermost) {
		p.tclass = static_cast<uint8_t>(be(b, 0, 2) >> 4);
		std::memcpy(p.outer, &b[24], 16);
	}
	if (next == next_udp) {
		p.ipv6 = true;
		p.label = be(b, 0, 4) & 0xfffff;
		return parse_udp(rest, p);
	}
	if (!outermost)
		return false;
	if (next == next_routing && rest.size() >= 24) {
		next = rest[0];
		std::memcpy(p.segment, &rest[8], 16);
		rest = rest.subspan(8U + rest[1] * 8U);
	}
	p.srv6 = true;
	if (next == next_ipv6)
		return parse_ipv6(rest, p, false);
	return next == next_ipip && parse_ipv4(rest, p, false);
}

bool parse(Bytes b, uint16_t type, Packet &p)
{
	if (type == ETH_P_IPV6)
		return parse_ipv6(b, p, true);
	return type == ETH_P_IP && parse_ipv4(b, p, true);
}
} // namespace

Ring::Ring(const std::string &netdev)
	: fd_(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
{
	tpacket_req req{};
	sockaddr_ll addr{};

	if (fd_ < 0)
		throw Failure("packet socket: " + errno_text(errno));
	req.tp_frame_size = frame_size;
	req.tp_block_size = block_size;
	req.tp_block_nr = blocks;
	req.tp_frame_nr = frames;
	addr.sll_family = AF_PACKET;
	addr.sll_protocol = htons(ETH_P_ALL);
	addr.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
	option(fd_, PACKET_VERSION, static_cast<int>(TPACKET_V2));
	option(fd_, PACKET_RX_RING, req);
	void *map = mmap(nullptr, ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd_, 0);

	if (map == MAP_FAILED)
		throw Failure("ring: " + errno_text(errno));
	map_ = static_cast<uint8_t *>(map);
	if (!addr.sll_ifindex ||
	    bind(fd_, reinterpret_cast<const sockaddr *>(&addr), sizeof(addr)))
		throw Failure(netdev + ": " + errno_text(errno));
}

Ring::~Ring()
{
	munmap(map_, ring_size);
	close(fd_);
}

bool Ring::get(Packet &p)
{
	for (;;) {
		uint8_t *frame = map_ + at_ * frame_size;
		auto *head = reinterpret_cast<tpacket2_hdr *>(frame);
		const std::atomic_ref<uint32_t> status(head->tp_status);

		if (!(status.load(std::memory_order_acquire) & TP_STATUS_USER))
			return false;
		const auto *from = reinterpret_cast<const sockaddr_ll *>(
			frame + TPACKET_ALIGN(sizeof(*head)));
		Packet parsed;
		const bool mine =
			from->sll_pkttype == PACKET_OUTGOING &&
			parse({frame + head->tp_net, head->tp_snaplen},
			      ntohs(from->sll_protocol), parsed);

		status.store(TP_STATUS_KERNEL, std::memory_order_release);
		at_ = (at_ + 1) % frames;
		if (!mine)
			continue;
		parsed.port = p.port;
		p = parsed;
		return true;
	}
}

Wire::Wire(const std::vector<std::string> &netdevs)
{
	for (const std::string &name : netdevs)
		rings_.push_back(std::make_unique<Ring>(name));
}

std::vector<Packet> Wire::take()
{
	std::vector<Packet> out;

	for (std::size_t i = 0; i < rings_.size(); i++) {
		for (;;) {
			Packet p;

			p.port = static_cast<uint8_t>(i + 1);
			if (!rings_[i]->get(p))
				break;
			out.push_back(p);
		}
	}
	return out;
}

std::string ev_of(const Packet &p, mrc_ctl_ev_fmt_mode mode)
{
	mrc_ctl_ev ev{};

	if (p.srv6 != (mode == MRC_CTL_EV_FMT_MODE_SRV6))
		return p.srv6 ? "an outer header" : "no outer header";
	ev.port = p.port;
	switch (mode) {
	case MRC_CTL_EV_FMT_MODE_SRV6:
		std::memcpy(ev.val, p.outer, 16);
		std::memcpy(ev.val + 16, p.segment, 16);
		break;
	case MRC_CTL_EV_FMT_MODE_STEV:
		if (!p.ipv6 || p.label > 0xffff)
			return "no structured EV, label " +
			       std::to_string(p.label);
		ev.val[0] = static_cast<uint8_t>(p.label >> 8);
		ev.val[1] = static_cast<uint8_t>(p.label);
		ev.val[2] = static_cast<uint8_t>(p.sport >> 8);
		ev.val[3] = static_cast<uint8_t>(p.sport);
		break;
	case MRC_CTL_EV_FMT_MODE_UDP:
		ev.val[0] = static_cast<uint8_t>(p.sport >> 8);
		ev.val[1] = static_cast<uint8_t>(p.sport);
		break;
	}
	return text(ev);
}
