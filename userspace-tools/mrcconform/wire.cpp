// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/socket.h>

#include "error.hpp"

namespace mrcconform
{
namespace
{
constexpr int receive_buffer = 16 << 20;
constexpr uint32_t linktype_raw = 101;

fd::Fd make_socket(int family, int type, int protocol, const char *what)
{
	fd::Fd fd(socket(family, type | SOCK_CLOEXEC, protocol));

	if (!fd.open())
		fail_errno(what, errno);
	return fd;
}

void put32(std::ostream &out, uint32_t v)
{
	out.write(reinterpret_cast<const char *>(&v), sizeof(v));
}
} // namespace

void Pcap::open(const std::string &file)
{
	out_.open(file, std::ios::binary);
	if (!out_)
		fail_errno(file, errno);
	/* Version 2.4 of the format; the magic number tells the byte order. */
	put32(out_, 0xA1B2C3D4);
	put32(out_, 4u << 16 | 2);
	put32(out_, 0);
	put32(out_, 0);
	put32(out_, 65535);
	put32(out_, linktype_raw);
}

void Pcap::write(std::span<const uint8_t> packet)
{
	if (!out_.is_open())
		return;

	const auto us =
		std::chrono::duration_cast<std::chrono::microseconds>(
			std::chrono::system_clock::now().time_since_epoch())
			.count();

	put32(out_, static_cast<uint32_t>(us / 1'000'000));
	put32(out_, static_cast<uint32_t>(us % 1'000'000));
	put32(out_, static_cast<uint32_t>(packet.size()));
	put32(out_, static_cast<uint32_t>(packet.size()));
	out_.write(reinterpret_cast<const char *>(packet.data()),
		   static_cast<long>(packet.size()));
}

Wire::Wire(const Address &local, const Address &remote, uint16_t port,
	   const Planes &planes, Pcap &pcap)
	: local_(local), remote_(remote), port_(port), planes_(planes),
	  pcap_(pcap)
{
	const int family = local.v6() ? AF_INET6 : AF_INET;
	const int ether = htons(local.v6() ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	const int size = receive_buffer;
	sockaddr_storage sa{};
	const socklen_t len = local.to_sockaddr(sa, port);

	in_ = make_socket(AF_PACKET, SOCK_DGRAM, ether, "packet socket");
	if (setsockopt(in_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &size,
		       sizeof(size)))
		fail_errno("receive buffer of the packet socket", errno);
	if (planes.netdevs.empty())
		out_.push_back(make_socket(family, SOCK_RAW, IPPROTO_RAW,
					   "raw socket"));
	for (const std::string &name : planes.netdevs) {
		const int ifindex =
			static_cast<int>(if_nametoindex(name.c_str()));

		if (!ifindex)
			fail_errno("netdev " + name, errno);
		ifindexes_.push_back(ifindex);
		out_.push_back(make_socket(family, SOCK_RAW, IPPROTO_RAW,
					   "raw socket"));
		if (setsockopt(out_.back().get(), SOL_SOCKET, SO_BINDTODEVICE,
			       name.c_str(),
			       static_cast<socklen_t>(name.size())))
			fail_errno("netdev " + name, errno);
	}
	if (!planes.sids.empty())
		outer_source_ = planes.outer_source
					? *planes.outer_source
					: source_for(planes.sids.front());
	/* Nobody reads from this one. Without it Linux would answer the
	 * target's packets with ICMP errors.
	 */
	sink_ = make_socket(family, SOCK_DGRAM, 0, "UDP socket");
	if (bind(sink_.get(), reinterpret_cast<const sockaddr *>(&sa), len)) {
		if (errno == EADDRINUSE)
			throw RunError(fmt::format(
				"UDP port {} is in use: an RDMA device of this "
				"host would answer the target, too",
				port));
		fail_errno(fmt::format("{} port {}", local.text(), port),
			   errno);
	}
}

const Address &Wire::sid(uint32_t plane) const
{
	return planes_.sids.at(planes_.sids.size() == 1 ? 0 : plane - 1);
}

uint32_t Wire::plane_of(int ifindex) const
{
	const auto at = std::ranges::find(ifindexes_, ifindex);

	return at == ifindexes_.end()
		       ? 0
		       : static_cast<uint32_t>(at - ifindexes_.begin()) + 1;
}

void Wire::send(const Bytes &inner, const How &how)
{
	const bool srv6 = !planes_.sids.empty() && !how.bare;
	const Address &to = srv6 ? sid(how.plane) : remote_;
	Bytes packet = inner;
	sockaddr_storage sa{};
	const socklen_t len = to.to_sockaddr(sa, 0);

	if (srv6) {
		Outer o;

		o.tos = static_cast<uint8_t>(inner[0] << 4 | inner[1] >> 4);
		o.flow = (inner[1] & 0xFu) << 16 | inner[2] << 8 | inner[3];
		packet = enclose(outer_source_, to, how.outer.value_or(o),
				 inner);
	}
	pcap_.write(packet);
	if (sendto(out_.at(how.plane - 1).get(), packet.data(), packet.size(),
		   0, reinterpret_cast<const sockaddr *>(&sa), len) >= 0)
		return;
	if (errno == EMSGSIZE)
		throw RunError(fmt::format(
			"a packet of {} bytes does not fit the netdev's MTU; "
			"--mtu and --max-mtu choose smaller ones",
			packet.size()));
	fail_errno("sending to " + to.text(), errno);
}

std::optional<Datagram> Wire::next(Clock::time_point end, Bytes &raw)
{
	for (;;) {
		const auto left = std::chrono::ceil<std::chrono::milliseconds>(
					  end - Clock::now())
					  .count();
		pollfd p{.fd = in_.get(), .events = POLLIN, .revents = 0};

		if (poll(&p, 1, left > 0 ? static_cast<int>(left) : 0) <= 0) {
			if (Clock::now() >= end)
				return {};
			continue;
		}
		raw.resize(65536);

		sockaddr_ll from{};
		socklen_t length = sizeof(from);
		const ssize_t n =
			recvfrom(in_.get(), raw.data(), raw.size(), 0,
				 reinterpret_cast<sockaddr *>(&from), &length);

		if (n < 0)
			continue;
		raw.resize(static_cast<size_t>(n));

		const uint32_t plane = plane_of(from.sll_ifindex);
		std::span<const uint8_t> packet(raw);
		const auto outer = disclose(packet);
		auto d = decode(packet);

		if (!d || d->src != remote_ || d->packet[F::dport] != port_ ||
		    (!ifindexes_.empty() && !plane))
			continue;
		d->packet.plane = plane;
		d->packet.outer = outer;
		pcap_.write(raw);
		return d;
	}
}

Address source_for(const Address &remote)
{
	const fd::Fd fd = make_socket(remote.v6() ? AF_INET6 : AF_INET,
				      SOCK_DGRAM, 0, "UDP socket");
	sockaddr_storage sa{};
	socklen_t len = remote.to_sockaddr(sa, 9);

	if (connect(fd.get(), reinterpret_cast<const sockaddr *>(&sa), len))
		fail_errno("route to " + remote.text(), errno);
	len = sizeof(sa);
	if (getsockname(fd.get(), reinterpret_cast<sockaddr *>(&sa), &len))
		fail_errno("getsockname", errno);

	std::array<uint8_t, 16> raw{};

	if (!remote.v6()) {
		std::memcpy(raw.data(),
			    &reinterpret_cast<sockaddr_in &>(sa).sin_addr, 4);
		return Address::from_bytes(std::span(raw).first(4));
	}
	std::memcpy(raw.data(), &reinterpret_cast<sockaddr_in6 &>(sa).sin6_addr,
		    16);
	return Address::from_bytes(raw);
}
} // namespace mrcconform
