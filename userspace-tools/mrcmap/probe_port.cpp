// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe_port.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "clock.hpp"
#include "error.hpp"

namespace mrcmap
{
namespace
{
using mrclab::SystemError;

/* Packets for one system call: more than a turn has by default. */
constexpr std::size_t batch = 64;
/* Of the socket, for what comes while the agent sleeps; a limit of the system
 * can make it less.
 */
constexpr int receive_room = 4 << 20;

template <typename T>
bool set_option(int fd, int level, int option, const T &value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

/* Lets UDP to @port pass; offsets are from the inner header on. */
void set_filter(int fd, uint16_t port)
{
	sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 42),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x40000),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const sock_fprog program{static_cast<unsigned short>(std::size(code)),
				 code};

	if (!set_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, program))
		throw SystemError("filter of a raw socket", errno);
}

/* What CLOCK_REALTIME has more than CLOCK_MONOTONIC. */
uint64_t clock_offset()
{
	uint64_t best = UINT64_MAX, offset = 0;

	/* The one during which this thread was interrupted least. */
	for (int i = 0; i < 3; i++) {
		const uint64_t before = now_ns();
		const uint64_t wall = read_clock(CLOCK_REALTIME);
		const uint64_t took = now_ns() - before;

		if (took < best) {
			best = took;
			offset = wall - before - took / 2;
		}
	}
	return offset;
}

/* What the kernel says beside a packet. */
struct Notes {
	uint64_t stamp = 0; /* CLOCK_REALTIME, ns */
	uint32_t drops = 0;
};

Notes notes_of(msghdr &m)
{
	Notes n;

	for (cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SO_TIMESTAMPNS) {
			timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			n.stamp = static_cast<uint64_t>(ts.tv_sec) * ns_of_s +
				  static_cast<uint64_t>(ts.tv_nsec);
		} else if (c->cmsg_type == SO_RXQ_OVFL) {
			memcpy(&n.drops, CMSG_DATA(c), sizeof(n.drops));
		}
	}
	return n;
}
} // namespace

/* What system calls read and write; most of it never changes. */
struct ProbePort::Batch {
	mmsghdr messages[batch]{};
	iovec parts[batch]{};
	sockaddr_in6 to[batch]{};
	alignas(cmsghdr) char control[batch][CMSG_SPACE(sizeof(timespec)) +
					     CMSG_SPACE(sizeof(uint32_t))];
	std::vector<uint8_t> room;

	Batch()
	{
		for (std::size_t i = 0; i < batch; i++) {
			msghdr &m = messages[i].msg_hdr;

			to[i].sin6_family = AF_INET6;
			m.msg_iov = &parts[i];
			m.msg_iovlen = 1;
		}
	}
	void set_sending()
	{
		for (std::size_t i = 0; i < batch; i++) {
			messages[i].msg_hdr.msg_name = &to[i];
			messages[i].msg_hdr.msg_namelen = sizeof(to[i]);
		}
	}
	void set_receiving(std::size_t length)
	{
		room.resize(batch * length);
		for (std::size_t i = 0; i < batch; i++) {
			parts[i] = {room.data() + i * length, length};
			messages[i].msg_hdr.msg_control = control[i];
			messages[i].msg_hdr.msg_controllen = sizeof(control[i]);
		}
	}
};

ProbePort::ProbePort(uint32_t plane, std::string netdev, const Config &config)
	: plane_(plane), netdev_(std::move(netdev)), config_(config),
	  in_(std::make_unique<Batch>()), out_(std::make_unique<Batch>())
{
	/* One byte more shows that a packet was too long. */
	in_->set_receiving(config_.size + 1);
	out_->set_sending();
	open();
}

ProbePort::~ProbePort() = default;
ProbePort::ProbePort(ProbePort &&) noexcept = default;
ProbePort &ProbePort::operator=(ProbePort &&) noexcept = default;

void ProbePort::open()
{
	const int on = 1, dscp = static_cast<int>(config_.dscp << 2);
	fd::Fd s(socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			IPPROTO_IPV6));

	if (!s.open() && errno == EPERM)
		throw SystemError("probes need raw sockets: run the agent as "
				  "root, or with the capability CAP_NET_RAW");
	if (!s.open())
		throw SystemError("raw socket", errno);
	/* First of all, so that nothing else comes in. */
	set_filter(s.get(), static_cast<uint16_t>(config_.udp_port));
	index_ = if_nametoindex(netdev_.c_str());
	if (!index_ ||
	    setsockopt(s.get(), SOL_SOCKET, SO_BINDTODEVICE, netdev_.c_str(),
		       static_cast<socklen_t>(netdev_.size() + 1)) != 0)
		throw SystemError(
			fmt::format("netdev {} of plane {}", netdev_, plane_),
			errno);
	if (!set_option(s.get(), IPPROTO_IPV6, IPV6_TCLASS, dscp) ||
	    !set_option(s.get(), SOL_SOCKET, SO_TIMESTAMPNS, on) ||
	    !set_option(s.get(), SOL_SOCKET, SO_RXQ_OVFL, on))
		throw SystemError("options of a raw socket", errno);
	if (!set_option(s.get(), SOL_SOCKET, SO_RCVBUFFORCE, receive_room))
		set_option(s.get(), SOL_SOCKET, SO_RCVBUF, receive_room);
	socket_ = std::move(s);
	drops_ = 0;
}

std::optional<bool> ProbePort::carrier() const
{
	ifreq req{};

	netdev_.copy(req.ifr_name, sizeof(req.ifr_name) - 1);
	if (ioctl(socket_.get(), SIOCGIFFLAGS, &req) != 0)
		return std::nullopt;
	return (req.ifr_flags & IFF_RUNNING) != 0;
}

/* As if_nametoindex(3), which would open a socket each time. */
std::optional<unsigned int> ProbePort::index_now() const
{
	ifreq req{};

	netdev_.copy(req.ifr_name, sizeof(req.ifr_name) - 1);
	if (ioctl(socket_.get(), SIOCGIFINDEX, &req) != 0)
		return std::nullopt;
	return static_cast<unsigned int>(req.ifr_ifindex);
}

void ProbePort::check_netdev()
{
	const std::optional<unsigned int> now = index_now();

	if (now && *now != index_)
		open();
}

void ProbePort::send(std::span<const Packet> packets,
		     const std::function<void(const Packet &)> &refused)
{
	Batch &b = *out_;

	while (!packets.empty()) {
		const std::size_t n = std::min(batch, packets.size());
		std::size_t sent = 0;

		for (std::size_t i = 0; i < n; i++) {
			const Packet &p = packets[i];

			memcpy(&b.to[i].sin6_addr, p.to.data(), p.to.size());
			b.parts[i] = {const_cast<uint8_t *>(p.bytes.data()),
				      p.bytes.size()};
		}
		while (sent < n) {
			const int done = sendmmsg(
				socket_.get(), b.messages + sent,
				static_cast<unsigned int>(n - sent), 0);

			if (done > 0)
				sent += static_cast<std::size_t>(done);
			else if (errno != EINTR)
				/* The first one; others have other routes. */
				refused(packets[sent++]);
		}
		packets = packets.subspan(n);
	}
}

bool ProbePort::receive(uint64_t earliest, const Got &got)
{
	Batch &b = *in_;
	bool whole = true;
	int n = 0;

	do {
		n = recvmmsg(socket_.get(), b.messages, batch, MSG_DONTWAIT,
			     nullptr);
		if (n <= 0)
			break;

		const uint64_t offset = clock_offset(), now = now_ns();

		for (int i = 0; i < n; i++) {
			msghdr &m = b.messages[i].msg_hdr;
			const Notes note = notes_of(m);
			/* A step of the clock in between is no delay. */
			const uint64_t at = std::clamp(
				note.stamp > offset ? note.stamp - offset : now,
				std::min(earliest, now), now);

			/* The kernel reads this again. */
			m.msg_controllen = sizeof(b.control[i]);
			if (note.drops != drops_)
				whole = false;
			drops_ = note.drops;
			got({static_cast<uint8_t *>(b.parts[i].iov_base),
			     b.messages[i].msg_len},
			    plane_, at);
		}
	} while (n == static_cast<int>(batch));
	return whole;
}
} // namespace mrcmap
