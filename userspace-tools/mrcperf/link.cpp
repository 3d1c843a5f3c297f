// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mrcperf
{
namespace
{
struct AddressList {
	addrinfo *head = nullptr;

	AddressList(const std::string &host, uint16_t port, bool passive)
	{
		addrinfo hints{};

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = passive ? AI_PASSIVE : 0;
		const int ret = getaddrinfo(
			host.empty() ? nullptr : host.c_str(),
			std::to_string(port).c_str(), &hints, &head);
		if (ret)
			throw RunError(
				fmt::format("{}: {}", host, gai_strerror(ret)));
	}
	AddressList(const AddressList &) = delete;
	AddressList &operator=(const AddressList &) = delete;
	~AddressList() { freeaddrinfo(head); }
};

class Socket
{
public:
	explicit Socket(int family, int flags = 0)
		: fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0))
	{
	}
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;
	~Socket()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	int fd() const { return fd_; }
	int release() { return std::exchange(fd_, -1); }

private:
	int fd_;
};

int ms_until(Clock::time_point end)
{
	const auto left = std::chrono::ceil<std::chrono::milliseconds>(
		end - Clock::now());

	return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60000));
}

Clock::time_point after(Seconds s)
{
	return Clock::now() + std::chrono::duration_cast<Clock::duration>(s);
}

constexpr Seconds farewell{1};

/* Returns 0 or an errno value. */
int try_connect(const addrinfo &a, Clock::time_point end, Socket &s)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (s.fd() < 0)
		return errno;
	pollfd p{.fd = s.fd(), .events = POLLOUT, .revents = 0};
	timeval limit{.tv_sec = std::max(1, ms_until(end) / 1000),
		      .tv_usec = 0};

	/* The same limit holds for connect(2). */
	setsockopt(s.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(s.fd(), a.ai_addr, a.ai_addrlen)) {
		limit.tv_sec = 0;
		setsockopt(s.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit,
			   sizeof(limit));
		return 0;
	}
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&p, 1, 0) > 0 &&
	    !getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &err, &len) && err)
		return err;
	return ETIMEDOUT;
}
} // namespace

/* The failure of a peer's machine is detected within half a minute. */
Link::Link(int fd) : fd_(fd)
{
	const int one = 1;
	const int idle = 10;
	const int interval = 5;
	const int count = 3;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

Link::Link(Link &&o) noexcept
	: fd_(std::exchange(o.fd_, -1)), patience_(o.patience_), eof_(o.eof_),
	  in_(std::move(o.in_))
{
}

Link::~Link()
{
	if (fd_ >= 0)
		close(fd_);
}

bool Link::wait(short events, Clock::time_point end) const
{
	for (;;) {
		pollfd p{.fd = fd_, .events = events, .revents = 0};
		const int n = poll(&p, 1, ms_until(end));

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			fail_errno("poll", errno);
		if (Clock::now() >= end)
			return false;
	}
}

void Link::send_bytes(const std::string &bytes)
{
	const auto end = after(patience_);

	for (size_t done = 0; done < bytes.size();) {
		const ssize_t n =
			::send(fd_, bytes.data() + done, bytes.size() - done,
			       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			done += static_cast<size_t>(n);
			continue;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (!wait(POLLOUT, end))
				throw RunError("the peer takes no frames");
			continue;
		}
		if (errno == EINTR)
			continue;
		/* A last frame of the peer explains more than the closed
		 * connection.
		 */
		const int err = errno;

		pending();
		fail_errno("connection to the peer", err);
	}
}

void Link::finish()
{
	const auto end = after(farewell);

	shutdown(fd_, SHUT_WR);
	while (!eof_ && Clock::now() < end && wait(POLLIN, end)) {
		in_.clear();
		read_some();
	}
}

bool Link::complete() const
{
	return in_.size() >= frame_header &&
	       in_.size() - frame_header >=
		       parse_header(
			       reinterpret_cast<const uint8_t *>(in_.data()))
			       .length;
}

/* Reads at most the size of one frame, so that memory is bounded. */
void Link::read_some()
{
	char buf[frame_header + max_payload];
	const ssize_t n =
		recv(fd_, buf, sizeof(buf) - in_.size(), MSG_DONTWAIT);

	if (n > 0)
		in_.append(buf, static_cast<size_t>(n));
	else if (!n)
		eof_ = true;
	else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		fail_errno("connection to the peer", errno);
}

bool Link::pending()
{
	if (!complete()) {
		read_some();
		if (!complete()) {
			if (eof_)
				throw RunError("the peer closed the "
					       "connection");
			return false;
		}
	}
	const auto h =
		parse_header(reinterpret_cast<const uint8_t *>(in_.data()));

	if (h.type == FrameType::failed)
		throw PeerFailed(
			"the peer failed: " +
			decode<Failed>(
				{h.type, in_.substr(frame_header, h.length)})
				.why);
	return true;
}

Frame Link::next()
{
	const auto end = after(patience_);

	while (!pending())
		if (!wait(POLLIN, end))
			throw RunError(fmt::format(
				"no answer from the peer within {:g} s",
				patience_.count()));
	const auto h =
		parse_header(reinterpret_cast<const uint8_t *>(in_.data()));
	Frame f{h.type, in_.substr(frame_header, h.length)};

	in_.erase(0, frame_header + h.length);
	return f;
}

Link connect_to(const std::string &host, uint16_t port, Seconds timeout)
{
	const AddressList list(host, port, false);
	const auto end = after(timeout);
	int err = EADDRNOTAVAIL;

	for (;;) {
		for (addrinfo *a = list.head; a; a = a->ai_next) {
			Socket s(a->ai_family);

			err = try_connect(*a, end, s);
			if (!err)
				return Link(s.release());
		}
		if (Clock::now() >= end)
			fail_errno(fmt::format("{} port {}", host, port), err);
		/* The server may not listen yet. */
		poll(nullptr, 0, std::min(50, ms_until(end)));
	}
}

Listener::Listener(const std::string &bind, uint16_t port)
{
	const AddressList list(bind, port, true);
	const int one = 1;
	int err = EADDRNOTAVAIL;

	/* A client may hang up before accept(); the call must not block then.
	 */
	for (addrinfo *a = list.head; a; a = a->ai_next) {
		Socket s(a->ai_family, SOCK_NONBLOCK);

		if (s.fd() < 0) {
			err = errno;
			continue;
		}
		setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (a->ai_family == AF_INET6)
			setsockopt(s.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &one,
				   sizeof(one));
		if (::bind(s.fd(), a->ai_addr, a->ai_addrlen) ||
		    listen(s.fd(), 8)) {
			err = errno;
			/* Otherwise clients of the other address family would
			 * reach another program.
			 */
			if (err == EADDRINUSE && bind.empty()) {
				close_all();
				break;
			}
			continue;
		}
		fds_.push_back(s.release());
	}
	if (fds_.empty())
		fail_errno(fmt::format("listening on port {}", port), err);
}

Listener::~Listener()
{
	close_all();
}

void Listener::close_all()
{
	for (int fd : fds_)
		close(fd);
	fds_.clear();
}

Link Listener::accept(std::string &who)
{
	std::vector<pollfd> fds;

	for (int fd : fds_)
		fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
	for (;;) {
		if (poll(fds.data(), fds.size(), -1) < 0) {
			if (errno != EINTR)
				fail_errno("poll", errno);
			continue;
		}
		for (const pollfd &p : fds) {
			sockaddr_storage a{};
			socklen_t len = sizeof(a);
			char name[NI_MAXHOST] = "?";

			if (!(p.revents & POLLIN))
				continue;
			const int fd =
				accept4(p.fd, reinterpret_cast<sockaddr *>(&a),
					&len, SOCK_CLOEXEC);

			/* The client may already be gone. */
			if (fd < 0)
				continue;
			getnameinfo(reinterpret_cast<sockaddr *>(&a), len, name,
				    sizeof(name), nullptr, 0, NI_NUMERICHOST);
			who = name;
			return Link(fd);
		}
	}
}
} // namespace mrcperf
