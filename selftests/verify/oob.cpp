// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: coordination of the two programs over TCP.
 */
#include "oob.h"

#include <cerrno>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common.h"

namespace
{
struct Header {
	uint32_t type;
	uint32_t len;
};

constexpr uint32_t max_frame = 16u << 20;

struct AddrList {
	addrinfo *head = nullptr;

	AddrList(const std::string &host, uint16_t port, bool passive)
	{
		addrinfo hints{};

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = passive ? AI_PASSIVE : 0;
		int ret = getaddrinfo(host.empty() ? nullptr : host.c_str(),
				      std::to_string(port).c_str(), &hints,
				      &head);
		if (ret)
			fail("address %s: %s", host.c_str(), gai_strerror(ret));
	}

	~AddrList() { freeaddrinfo(head); }
};

int to_ms(double s)
{
	return s <= 0 ? 0 : static_cast<int>(s * 1000) + 1;
}
} // namespace

Oob::Oob(int fd) : fd_(fd)
{
	const int one = 1, idle_s = 10, interval_s = 5, probes = 6;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/*
	 * The kernel sends no FIN when it has no memory for it as the socket is
	 * closed, and then keeps the socket, and its network namespace, until
	 * it hears from the peer: for good, where nobody asks.
	 */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s,
		   sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

Oob::~Oob()
{
	if (fd_ >= 0)
		close(fd_);
}

/*
 * The sockets of all addresses of the list, so that IPv4 and IPv6 both work;
 * only a family that is not there is left out. A bind that there is no memory
 * for, which the kernel makes a port in use of, is asked for again: clients of
 * that family would be refused.
 */
static std::vector<pollfd> listen_all(const LocalOptions &l)
{
	AddrList list(l.bind, l.port, true);
	double end = now_s() + l.accept_timeout * slowness();
	std::vector<pollfd> fds;
	int one = 1;

	for (addrinfo *a = list.head; a; a = a->ai_next) {
		int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 && errno == EAFNOSUPPORT)
			continue;
		if (fd < 0)
			fail("socket: %s", std::strerror(errno));
		fds.push_back({fd, POLLIN, 0});
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (a->ai_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
				   sizeof(one));
		while (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1)) {
			if (errno == EADDRNOTAVAIL) {
				close(fd);
				fds.pop_back();
				break;
			}
			if (errno != EADDRINUSE || now_s() >= end)
				fail("cannot listen on port %u: %s", l.port,
				     std::strerror(errno));
			::poll(nullptr, 0, 50);
		}
	}
	if (fds.empty())
		fail("cannot listen on port %u: no address", l.port);
	return fds;
}

Oob Oob::listen_accept(const LocalOptions &l)
{
	std::vector<pollfd> fds = listen_all(l);
	int conn = -1;
	int n = ::poll(fds.data(), fds.size(),
		       to_ms(l.accept_timeout * slowness()));

	for (pollfd &p : fds) {
		if (n > 0 && conn < 0 && (p.revents & POLLIN))
			conn = accept4(p.fd, nullptr, nullptr, SOCK_CLOEXEC);
		close(p.fd);
	}
	if (conn < 0)
		fail("no client connected within %g s", l.accept_timeout);
	return Oob(conn);
}

Oob Oob::connect(const LocalOptions &l)
{
	AddrList list(l.server, l.port, false);
	double end = now_s() + l.connect_timeout * slowness();
	std::string why = "no address";

	do {
		for (addrinfo *a = list.head; a; a = a->ai_next) {
			int fd = socket(a->ai_family,
					SOCK_STREAM | SOCK_CLOEXEC, 0);

			if (fd < 0)
				continue;
			if (!::connect(fd, a->ai_addr, a->ai_addrlen))
				return Oob(fd);
			why = std::strerror(errno);
			close(fd);
		}
		/* The server may not listen yet: ask again, a while. */
		::poll(nullptr, 0, 50);
	} while (now_s() < end);
	fail("cannot connect to %s port %u: %s", l.server.c_str(), l.port,
	     why.c_str());
}

void Oob::bad_size()
{
	fail("peer sent a message of the wrong size");
}

void Oob::Frame::check_size(size_t want) const
{
	if (data.size() != want)
		bad_size();
}

void Oob::send(Msg type, const void *data, size_t len)
{
	Header h{static_cast<uint32_t>(type), static_cast<uint32_t>(len)};
	std::string out(reinterpret_cast<const char *>(&h), sizeof(h));

	if (len)
		out.append(static_cast<const char *>(data), len);
	for (size_t done = 0; done < out.size();) {
		ssize_t n = ::send(fd_, out.data() + done, out.size() - done,
				   MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("connection to the peer: %s",
			     std::strerror(errno));
		done += static_cast<size_t>(n);
	}
}

/* Reads what is there; false: nothing within the time. */
bool Oob::fill(int timeout_ms)
{
	pollfd p{fd_, POLLIN, 0};
	char buf[65536];

	if (timeout_ms && ::poll(&p, 1, timeout_ms) <= 0)
		return false;
	ssize_t n = recv(fd_, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0)
		fail("connection to the peer: %s", std::strerror(errno));
	if (!n)
		fail("the peer closed the connection");
	in_.append(buf, static_cast<size_t>(n));
	return true;
}

std::optional<Oob::Frame> Oob::poll()
{
	Header h;

	for (;;) {
		if (in_.size() >= sizeof(h)) {
			std::memcpy(&h, in_.data(), sizeof(h));
			if (h.len > max_frame)
				bad_size();
			if (in_.size() >= sizeof(h) + h.len)
				break;
		}
		if (!fill(0))
			return std::nullopt;
	}
	Frame f{static_cast<Msg>(h.type), in_.substr(sizeof(h), h.len)};

	in_.erase(0, sizeof(h) + h.len);
	if (f.type == Msg::failed)
		fail("peer: %s", f.data.c_str());
	return f;
}

Oob::Frame Oob::next(double timeout_s)
{
	timeout_s *= slowness();
	double end = now_s() + timeout_s;

	for (;;) {
		if (auto f = poll())
			return *f;
		double left = end - now_s();

		if (left <= 0)
			fail("no answer from the peer within %g s", timeout_s);
		fill(to_ms(left));
	}
}

std::string Oob::expect(Msg type, double timeout_s)
{
	Frame f = next(timeout_s);

	if (f.type != type)
		fail("peer sent message %u instead of %u",
		     static_cast<unsigned>(f.type),
		     static_cast<unsigned>(type));
	return f.data;
}

void Oob::barrier(uint32_t tag, double timeout_s)
{
	uint32_t other;

	send_pod(Msg::barrier, tag);
	std::string s = expect(Msg::barrier, timeout_s);

	if (s.size() != sizeof(other))
		bad_size();
	std::memcpy(&other, s.data(), sizeof(other));
	if (other != tag)
		fail("peer is at step %u, this side at %u", other, tag);
}
