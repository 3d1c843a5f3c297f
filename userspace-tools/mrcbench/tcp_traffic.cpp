// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The same messages over TCP: a connection for each queue pair, one send(2) for
 * each post. Data in a socket buffer has not arrived, so streams are counted at
 * the receiver.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error.hpp"
#include "measure.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::fail_errno;
using mrcperf::RunError;
using Clock = std::chrono::steady_clock;

constexpr size_t batch = 64;
/* Calls on one connection before the next one is served. */
constexpr int turns = 16;
constexpr size_t receive_at_once = 256 * 1024;

double seconds_since(Clock::time_point t)
{
	return std::chrono::duration<double>(Clock::now() - t).count();
}

class Socket
{
public:
	explicit Socket(int fd, const char *what = "socket") : fd_(fd)
	{
		if (fd < 0)
			fail_errno(what, errno);
	}
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;
	Socket(Socket &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
	Socket &operator=(Socket &&) = delete;
	~Socket()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	int fd() const { return fd_; }

private:
	int fd_;
};

class Addresses
{
public:
	Addresses(const std::string &host, uint16_t port, bool passive)
	{
		addrinfo hints{};

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = passive ? AI_PASSIVE : 0;
		const int ret =
			getaddrinfo(host.empty() ? nullptr : host.c_str(),
				    std::to_string(port).c_str(), &hints,
				    &head_);

		if (ret)
			throw RunError(
				fmt::format("{}: {}", host, gai_strerror(ret)));
	}
	Addresses(const Addresses &) = delete;
	Addresses &operator=(const Addresses &) = delete;
	~Addresses() { freeaddrinfo(head_); }
	const addrinfo *operator->() const { return head_; }

private:
	addrinfo *head_ = nullptr;
};

void prepare(int fd)
{
	const int one = 1;
	const timeval limit{.tv_sec = 0, .tv_usec = 200000};

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		fail_errno("socket options", errno);
}

class TcpTraffic : public Traffic
{
public:
	TcpTraffic(const Shape &shape, std::vector<Socket> sockets)
		: shape_(shape), sockets_(std::move(sockets)),
		  buffer_(std::max<uint64_t>(shape.size * shape.list,
					     receive_at_once))
	{
	}

	Counts drive(const std::function<Snapshot()> &mark) override
	{
		if (shape_.test == Kind::lat || shape_.test == Kind::rtt)
			return one_by_one(mark);
		return stream(mark);
	}

	void serve(const std::atomic<bool> &stop, int stop_fd) override
	{
		if (shape_.test == Kind::idle)
			return;
		if (shape_.test == Kind::lat || shape_.test == Kind::rtt)
			while (exchange(false, &stop))
				;
		else
			receive(stop, stop_fd);
	}

private:
	/* --- one message there and one back --- */

	/* Returns false if it was told to stop. */
	bool take(const std::atomic<bool> *stop)
	{
		const auto start = Clock::now();
		const int flags =
			shape_.wait == Wait::event ? 0 : MSG_DONTWAIT;

		for (uint64_t have = 0, looks = 1; have < shape_.size; looks++) {
			const ssize_t n =
				recv(sockets_[0].fd(), buffer_.data() + have,
				     shape_.size - have, flags);

			if (n > 0) {
				have += static_cast<uint64_t>(n);
				continue;
			}
			if (stop && (*stop || !n))
				return false;
			if (!n)
				throw RunError("the peer closed a connection");
			if (errno != EAGAIN && errno != EINTR)
				fail_errno("receiving", errno);
			if (shape_.wait == Wait::yield)
				sched_yield();
			if ((shape_.wait == Wait::event || looks % 4096 == 0) &&
			    !stop && seconds_since(start) > stall_seconds)
				throw RunError(
					fmt::format("no answer for {:g} s",
						    stall_seconds));
		}
		return true;
	}

	void give()
	{
		for (uint64_t done = 0; done < shape_.size;) {
			const ssize_t n =
				send(sockets_[0].fd(), buffer_.data() + done,
				     shape_.size - done, MSG_NOSIGNAL);

			if (n < 0 && errno != EINTR)
				fail_errno("sending", errno);
			if (n > 0)
				done += static_cast<uint64_t>(n);
		}
	}

	bool exchange(bool first, const std::atomic<bool> *stop)
	{
		if (first)
			give();
		if (!take(stop))
			return false;
		if (!first)
			give();
		return true;
	}

	Counts one_by_one(const std::function<Snapshot()> &mark)
	{
		const double warm = shape_.seconds * warm_share;
		const auto start = Clock::now();
		Counts counts;

		while (seconds_since(start) < warm)
			exchange(true, nullptr);
		counts.from = mark();
		const auto from = Clock::now();
		auto before = from;

		do {
			exchange(true, nullptr);
			const auto now = Clock::now();

			counts.latencies.push_back(static_cast<uint64_t>(
				std::chrono::nanoseconds(now - before)
					.count()));
			before = now;
		} while (std::chrono::duration<double>(before - from).count() <
			 shape_.seconds);
		counts.to = mark();
		counts.messages = {counts.latencies.size()};
		return counts;
	}

	/* --- a stream --- */

	Socket watch(uint32_t events) const
	{
		Socket ep(epoll_create1(EPOLL_CLOEXEC), "epoll");

		for (size_t i = 0; i < sockets_.size(); i++) {
			epoll_event e{};

			e.events = events;
			e.data.u64 = i;
			if (epoll_ctl(ep.fd(), EPOLL_CTL_ADD, sockets_[i].fd(),
				      &e))
				fail_errno("epoll", errno);
		}
		return ep;
	}

	int look(const Socket &ep, std::span<epoll_event> events) const
	{
		const int n = epoll_wait(
			ep.fd(), events.data(), static_cast<int>(events.size()),
			shape_.wait == Wait::event ? 200 : 0);

		if (n < 0 && errno != EINTR)
			fail_errno("epoll", errno);
		if (!n && shape_.wait == Wait::yield)
			sched_yield();
		return std::max(n, 0);
	}

	/* Sends on connection @i and counts the bytes; messages stay complete.
	 */
	void send_some(size_t i, std::vector<uint64_t> &sent)
	{
		const uint64_t length = shape_.size * shape_.list;

		for (int turn = 0; turn < turns; turn++) {
			const uint64_t at = sent[i] % length;
			const ssize_t n =
				send(sockets_[i].fd(), buffer_.data() + at,
				     length - at, MSG_NOSIGNAL | MSG_DONTWAIT);

			if (n < 0) {
				if (errno != EAGAIN && errno != EINTR)
					fail_errno("sending", errno);
				return;
			}
			sent[i] += static_cast<uint64_t>(n);
		}
	}

	Counts stream(const std::function<Snapshot()> &mark)
	{
		const Socket ep = watch(EPOLLOUT);
		std::array<epoll_event, batch> events;
		std::vector<uint64_t> sent(sockets_.size()), before;
		const auto start = Clock::now();
		double next = shape_.seconds * warm_share;
		auto moved = start;
		Counts counts;

		for (;;) {
			const int n = look(ep, events);

			for (int i = 0; i < n; i++)
				send_some(events[static_cast<size_t>(i)]
						  .data.u64,
					  sent);
			const auto now = Clock::now();

			if (n)
				moved = now;
			else if (std::chrono::duration<double>(now - moved)
					 .count() > stall_seconds)
				throw RunError(fmt::format(
					"nothing goes for {:g} s",
					stall_seconds));
			if (std::chrono::duration<double>(now - start).count() <
			    next)
				continue;
			if (before.empty()) {
				counts.from = mark();
				before = sent;
				next = seconds_since(start) + shape_.seconds;
				continue;
			}
			counts.to = mark();
			for (size_t i = 0; i < sent.size(); i++)
				counts.messages.push_back(
					(sent[i] - before[i]) / shape_.size);
			return counts;
		}
	}

	void receive(const std::atomic<bool> &stop, int stop_fd)
	{
		const Socket ep = watch(EPOLLIN);
		std::array<epoll_event, batch> events;
		epoll_event e{};

		e.events = EPOLLIN;
		e.data.u64 = UINT64_MAX;
		if (epoll_ctl(ep.fd(), EPOLL_CTL_ADD, stop_fd, &e))
			fail_errno("epoll", errno);
		while (!stop) {
			const int n = look(ep, events);

			for (int i = 0; i < n; i++) {
				const uint64_t at =
					events[static_cast<size_t>(i)].data.u64;

				if (at == UINT64_MAX || !receive_some(at))
					return;
			}
		}
	}

	/* Returns false if the peer is done. */
	bool receive_some(uint64_t i)
	{
		for (int turn = 0; turn < turns; turn++) {
			const ssize_t n =
				recv(sockets_[i].fd(), buffer_.data(),
				     receive_at_once, MSG_DONTWAIT);

			if (n < 0 && errno != EAGAIN && errno != EINTR &&
			    errno != ECONNRESET)
				fail_errno("receiving", errno);
			if (n < 0)
				return errno != ECONNRESET;
			if (!n)
				return false;
			taken += static_cast<uint64_t>(n);
		}
		return true;
	}

	const Shape shape_;
	std::vector<Socket> sockets_;
	std::vector<char> buffer_;
};
} // namespace

std::unique_ptr<Traffic> tcp_client(const Talk &talk, const Place &place,
				    const Shape &shape, const std::string &host)
{
	const Message offer = talk.receive(setup_seconds);
	const auto port =
		static_cast<uint16_t>(number_in(offer, "port", 65535));
	const std::string address = text_in(offer, "address");
	const Addresses to(address.empty() ? host : address, port, false);
	std::vector<Socket> sockets;

	for (uint32_t i = 0; i < shape.qps; i++) {
		sockets.emplace_back(
			socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
		prepare(sockets.back().fd());
		if (connect(sockets.back().fd(), to->ai_addr, to->ai_addrlen))
			fail_errno(fmt::format("{} at {}", place.column,
					       address),
				   errno);
	}
	return std::make_unique<TcpTraffic>(shape, std::move(sockets));
}

std::unique_ptr<Traffic> tcp_server(const Talk &talk, const Place &place,
				    const Shape &shape)
{
	const Addresses at(place.address, 0, true);
	const Socket listener(
		socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	sockaddr_storage name{};
	socklen_t length = sizeof(name);
	std::vector<Socket> sockets;

	if (bind(listener.fd(), at->ai_addr, at->ai_addrlen) ||
	    listen(listener.fd(), 512) ||
	    getsockname(listener.fd(), reinterpret_cast<sockaddr *>(&name),
			&length))
		fail_errno(fmt::format("listening at {}", place.address),
			   errno);
	const uint16_t port =
		name.ss_family == AF_INET6
			? reinterpret_cast<sockaddr_in6 *>(&name)->sin6_port
			: reinterpret_cast<sockaddr_in *>(&name)->sin_port;

	talk.send({{"port", ntohs(port)}, {"address", place.address}});
	for (uint32_t i = 0; i < shape.qps; i++) {
		pollfd p{.fd = listener.fd(), .events = POLLIN, .revents = 0};

		if (poll(&p, 1, static_cast<int>(setup_seconds * 1000)) <= 0)
			throw RunError("the client does not connect");
		sockets.emplace_back(
			accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
		prepare(sockets.back().fd());
	}
	return std::make_unique<TcpTraffic>(shape, std::move(sockets));
}
} // namespace mrcbench
