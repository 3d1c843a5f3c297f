// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "packets.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <unistd.h>
#include <vector>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../userspace-tools/common/fd.hpp"
#include "codec.hpp"
#include "ip.hpp"
#include "life.hpp"
#include "netns.hpp"
#include "rng.hpp"

namespace devfuzz
{
namespace
{
using mrcconform::Bytes;

constexpr std::size_t ether = 14;
constexpr uint16_t roce_port = 4791;
constexpr std::size_t longest = 9000;

uint16_t get16(const uint8_t *at)
{
	return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

/*
 * Where the innermost IP header of a RoCE packet is, and its UDP header;
 * nothing for other packets. Outer IPv6 headers and segment routing headers go
 * before it.
 */
struct Place {
	std::size_t ip, udp;
};

std::optional<Place> find_roce(std::span<const uint8_t> frame)
{
	std::size_t at = ether;

	for (unsigned depth = 0; depth < 3; depth++) {
		if (frame.size() < at + 48)
			return {};
		const bool v6 = frame[at] >> 4 == 6;
		uint8_t next = v6 ? frame[at + 6] : frame[at + 9];
		std::size_t payload = at + (v6 ? 40u : (frame[at] & 15u) * 4u);

		if (v6 && next == IPPROTO_ROUTING &&
		    frame.size() > payload + 8) {
			next = frame[payload];
			payload += 8u + frame[payload + 1] * 8u;
		}
		if (next == IPPROTO_UDP && frame.size() > payload + 24 &&
		    get16(&frame[payload + 2]) == roce_port)
			return Place{at, payload};
		if (next != IPPROTO_IPIP && next != IPPROTO_IPV6)
			return {};
		at = payload;
	}
	return {};
}

/* A socket for all frames of the netdev, or one that only sends. */
fd::Fd open_plane(const std::string &netdev, bool hears)
{
	const auto protocol =
		static_cast<uint16_t>(hears ? htons(ETH_P_ALL) : 0);
	fd::Fd s(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, protocol));
	sockaddr_ll to{};

	to.sll_family = AF_PACKET;
	to.sll_protocol = protocol;
	to.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
	if (s.get() < 0 || !to.sll_ifindex ||
	    bind(s.get(), reinterpret_cast<sockaddr *>(&to), sizeof(to)))
		throw No_device("no " + netdev);
	return s;
}

class Plane
{
public:
	Plane(Board &board, std::string netdev, uint64_t seed)
		: board_(board), netdev_(std::move(netdev)), rng_(seed)
	{
	}

	/* Keeps frames that leave here, for some time. */
	void listen(int ms);
	/* Returns how many were sent. */
	unsigned send(unsigned n);

private:
	Bytes changed();
	void change_bytes(Bytes &frame, std::size_t from);
	void change_field(Bytes &frame, const Place &at);
	void change_length(Bytes &frame);
	void splice(Bytes &frame, const Place &at);

	Board &board_;
	const std::string netdev_;
	Rng rng_;
	std::vector<Bytes> known_;
};

/*
 * While a packet socket listens, the driver hands every packet to it and avoids
 * its shorter ways. So there is one for short periods only.
 */
void Plane::listen(int ms)
{
	const fd::Fd s = open_plane(netdev_, true);
	pollfd p{s.get(), POLLIN, 0};
	std::array<uint8_t, 65536> buf;

	while (poll(&p, 1, ms) > 0) {
		sockaddr_ll from{};
		socklen_t len = sizeof(from);
		const ssize_t n =
			recvfrom(s.get(), buf.data(), buf.size(), MSG_DONTWAIT,
				 reinterpret_cast<sockaddr *>(&from), &len);

		if (n < 0)
			break;
		if (from.sll_pkttype != PACKET_OUTGOING ||
		    !find_roce({buf.data(), static_cast<std::size_t>(n)}))
			continue;
		board_.packets_seen++;
		Bytes frame(buf.begin(), buf.begin() + n);

		if (known_.size() < 500)
			known_.push_back(std::move(frame));
		else
			rng_.pick(known_) = std::move(frame);
		if (rng_.chance(1))
			break;
	}
}

void Plane::change_bytes(Bytes &frame, std::size_t from)
{
	for (uint64_t n = 1 + rng_.below(3); n; n--) {
		const std::size_t at = from + rng_.below(std::min<std::size_t>(
						      frame.size() - from, 64));

		if (rng_.chance(50))
			frame[at] = static_cast<uint8_t>(frame[at] ^
							 1u << rng_.below(8));
		else
			frame[at] = static_cast<uint8_t>(rng_.nasty());
	}
}

/* One or more fields of MRC 1.0, by their names in the tables of mrcconform. */
void Plane::change_field(Bytes &frame, const Place &at)
{
	const auto datagram =
		mrcconform::decode(std::span(frame).subspan(at.ip));
	const auto fields = mrcconform::field_table();

	if (!datagram || !datagram->fault.empty()) {
		change_bytes(frame, at.udp + 8);
		return;
	}
	mrcconform::Packet p = datagram->packet;

	for (uint64_t n = 1 + rng_.below(2); n; n--) {
		const auto &f = fields[rng_.below(fields.size())];

		p[f.id] = rng_.chance(50) ? p[f.id] + rng_.below(9) - 4
					  : rng_.nasty();
		if (f.width < 64)
			p[f.id] &= (1ull << f.width) - 1;
	}
	const Bytes packet =
		mrcconform::encode(datagram->src, datagram->dst, p);

	frame.resize(at.ip);
	frame.insert(frame.end(), packet.begin(), packet.end());
}

void Plane::change_length(Bytes &frame)
{
	if (rng_.chance(50)) {
		frame.resize(ether + 1 + rng_.below(frame.size() - ether));
		return;
	}
	const std::size_t size =
		std::min(frame.size() + 1 + rng_.below(2000), longest);

	while (frame.size() < size)
		frame.push_back(static_cast<uint8_t>(rng_.any()));
}

/* The headers of one packet and the rest of another. */
void Plane::splice(Bytes &frame, const Place &at)
{
	const Bytes &other = rng_.pick(known_);
	const auto there = find_roce(other);
	const std::size_t cut = 8 + rng_.below(40);

	if (!there || at.udp + cut >= frame.size() ||
	    there->udp + cut >= other.size())
		return;
	frame.resize(at.udp + cut);
	frame.insert(frame.end(),
		     other.begin() +
			     static_cast<std::ptrdiff_t>(there->udp + cut),
		     other.end());
}

Bytes Plane::changed()
{
	Bytes frame = rng_.pick(known_);
	const auto at = find_roce(frame);

	if (!at)
		return frame;
	switch (rng_.below(8)) {
	case 0: /* once more, from any time */
		return frame;
	case 1:
		change_bytes(frame, ether);
		break;
	case 2:
		change_bytes(frame, at->udp);
		break;
	case 3:
		change_length(frame);
		break;
	case 4:
		splice(frame, *at);
		break;
	case 5:
		change_bytes(frame, at->udp + 8);
		break;
	default:
		change_field(frame, *at);
	}
	/* Most are taken for real ones. */
	const auto now = find_roce(frame);

	if (now && rng_.chance(85)) {
		const auto from =
			frame.begin() + static_cast<std::ptrdiff_t>(now->ip);
		Bytes packet(from, frame.end());

		mrcconform::fix_lengths(packet);
		mrcconform::seal(packet);
		std::copy(packet.begin(), packet.end(), from);
	}
	return frame;
}

unsigned Plane::send(unsigned n)
{
	const fd::Fd s = open_plane(netdev_, false);
	unsigned sent = 0;

	for (; n && !known_.empty(); n--) {
		const Bytes frame = changed();

		/* A queue that is full, or a plane that is down: one packet
		 * fewer. */
		sent += ::send(s.get(), frame.data(), frame.size(),
			       MSG_DONTWAIT) > 0;
	}
	board_.packets_sent += sent;
	return sent;
}
} // namespace

void disturb_plane(Board &board, const Options &options,
		   const std::string &netns, const std::string &netdev,
		   uint64_t seed)
{
	try {
		enter_netns(netns);
		Plane plane(board, netdev, seed);

		for (unsigned sent = 0; sent < options.packets;) {
			try {
				plane.listen(20);
				sent += plane.send(100);
			} catch (const No_device &) {
				/* The netdev is gone; it comes back. */
				usleep(20000);
			}
			usleep(1000);
		}
		_exit(end_well);
	} catch (const No_device &) {
		_exit(end_no_device);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_devfuzz: %s: %s\n", netdev.c_str(),
			     e.what());
		_exit(end_itself);
	}
}
} // namespace devfuzz
