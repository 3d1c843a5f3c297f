// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link.hpp"

#include <cerrno>

#include <memory>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "clock.hpp"
#include "proto.hpp"

namespace mrcconform
{
namespace
{

struct FreeList {
	void operator()(addrinfo *a) const { freeaddrinfo(a); }
};
using AddressList = std::unique_ptr<addrinfo, FreeList>;

AddressList resolve(const HostPort &where, bool passive)
{
	addrinfo hints{}, *list = nullptr;

	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = passive ? AI_PASSIVE : 0;
	const int ret =
		getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(),
			    where.port.c_str(), &hints, &list);
	if (ret)
		throw RunError(fmt::format("{} port {}: {}", where.host,
					   where.port, gai_strerror(ret)));
	return AddressList(list);
}

int left_ms(Clock::time_point end)
{
	const auto ms =
		std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now())
			.count();

	return ms < 0 ? 0 : static_cast<int>(ms);
}
} // namespace

HostPort HostPort::parse(const std::string &text)
{
	HostPort h{text, default_port};

	if (text.starts_with('[')) {
		const size_t end = text.find(']');

		if (end == std::string::npos)
			throw UsageError("'" + text + "' lacks a ']'");
		h.host = text.substr(1, end - 1);
		if (end + 1 == text.size())
			return h;
		if (text[end + 1] != ':')
			throw UsageError("'" + text +
					 "' is not [ADDRESS]:PORT");
		h.port = text.substr(end + 2);
	} else if (const size_t colon = text.find(':');
		   colon != std::string::npos &&
		   text.find(':', colon + 1) == std::string::npos) {
		h.host = text.substr(0, colon);
		h.port = text.substr(colon + 1);
	}
	if (h.port.empty() || h.port.size() > 5 ||
	    h.port.find_first_not_of("0123456789") != std::string::npos ||
	    std::stoul(h.port) < 1 || std::stoul(h.port) > 65535)
		throw UsageError("'" + text + "' has no port from 1 to 65535");
	return h;
}

Link::Link(fd::Fd fd) : fd_(std::move(fd))
{
	/* A peer that was switched off is noticed after a minute. */
	const int one = 1, idle = 30, interval = 10, probes = 3;
	const timeval patience{.tv_sec = 60, .tv_usec = 0};

	setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval,
		   sizeof(interval));
	setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes,
		   sizeof(probes));
	setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
		   sizeof(patience));
}

void Link::send(const std::string &line)
{
	const std::string out = line + '\n';

	for (size_t done = 0; done < out.size();) {
		const ssize_t n = ::send(fd_.get(), out.data() + done,
					 out.size() - done, MSG_NOSIGNAL);

		if (n > 0)
			done += static_cast<size_t>(n);
		else if (errno != EINTR)
			fail_errno("connection to the other side", errno);
	}
}

std::optional<std::string> Link::receive(int seconds)
{
	const auto end = Clock::now() + std::chrono::seconds(seconds);

	for (;;) {
		const size_t at = in_.find('\n');

		if (at != std::string::npos) {
			std::string line = in_.substr(0, at);

			in_.erase(0, at + 1);
			return line;
		}
		if (in_.size() > max_line)
			throw FormatError("a line that is too long");

		pollfd p{.fd = fd_.get(), .events = POLLIN, .revents = 0};
		const int ready = poll(&p, 1, seconds < 0 ? -1 : left_ms(end));

		if (!ready) {
			/* A late answer must not be taken for the next one. */
			shutdown(fd_.get(), SHUT_RDWR);
			throw RunError(fmt::format(
				"no answer from the other side within {} s",
				seconds));
		}
		if (ready < 0)
			continue;

		char buf[65536];
		const ssize_t n = recv(fd_.get(), buf, sizeof(buf), 0);

		if (n > 0)
			in_.append(buf, static_cast<size_t>(n));
		else if (!n)
			return {};
		else if (errno != EINTR)
			fail_errno("connection to the other side", errno);
	}
}

Link connect_to(const HostPort &to, int seconds)
{
	const AddressList list = resolve(to, false);
	const auto end = Clock::now() + std::chrono::seconds(seconds);
	int err = EADDRNOTAVAIL;

	for (;;) {
		for (const addrinfo *a = list.get(); a; a = a->ai_next) {
			fd::Fd fd(socket(a->ai_family,
					 SOCK_STREAM | SOCK_CLOEXEC, 0));

			if (fd.open() &&
			    !connect(fd.get(), a->ai_addr, a->ai_addrlen))
				return Link(std::move(fd));
			err = errno;
		}
		if (Clock::now() >= end)
			fail_errno(fmt::format("target {} port {}", to.host,
					       to.port),
				   err);
		/* The target may not listen yet. */
		poll(nullptr, 0, 50);
	}
}

fd::Fd listen_at(const HostPort &at)
{
	const AddressList list = resolve(at, true);
	const int one = 1, zero = 0;
	int err = EADDRNOTAVAIL;

	/* Without a host, a socket for IPv6 takes IPv4 as well. */
	for (const bool ipv6 : {true, false}) {
		for (const addrinfo *a = list.get(); a; a = a->ai_next) {
			if ((a->ai_family == AF_INET6) != ipv6)
				continue;

			fd::Fd fd(socket(a->ai_family,
					 SOCK_STREAM | SOCK_CLOEXEC, 0));

			if (fd.open() &&
			    !setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR,
					&one, sizeof(one)) &&
			    (!ipv6 || !setsockopt(fd.get(), IPPROTO_IPV6,
						  IPV6_V6ONLY, &zero,
						  sizeof(zero))) &&
			    !bind(fd.get(), a->ai_addr, a->ai_addrlen) &&
			    !listen(fd.get(), 4))
				return fd;
			err = errno;
		}
	}
	fail_errno(fmt::format("listening on {} port {}", at.host, at.port),
		   err);
}
} // namespace mrcconform
