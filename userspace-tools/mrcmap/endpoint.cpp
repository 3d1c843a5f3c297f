// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "endpoint.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "error.hpp"
#include "units.hpp"

namespace mrcmap
{
namespace
{
using mrclab::SystemError;
using mrclab::UsageError;

constexpr int backlog = 64;
/* After this time without an answer a peer is gone. */
constexpr unsigned int patience_ms = 10'000;

void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}
} // namespace

std::vector<Endpoint> find_endpoints(const std::string &word)
{
	const std::size_t colon = word.rfind(':');
	std::vector<Endpoint> out;
	addrinfo hints{}, *list = nullptr;

	if (colon == std::string::npos)
		throw UsageError(
			fmt::format("\"{}\" is not like ADDRESS:PORT", word));

	std::string host = word.substr(0, colon);
	const std::string port = word.substr(colon + 1);

	mrclab::parse_count(port, 1, 65535);
	if (host.starts_with("[") && host.ends_with("]"))
		host = host.substr(1, host.size() - 2);
	else if (host.find(':') != std::string::npos)
		throw UsageError(fmt::format(
			"\"{}\": an IPv6 address is written [ADDRESS]", word));
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_PASSIVE;

	const int rc = getaddrinfo(host.empty() ? nullptr : host.c_str(),
				   port.c_str(), &hints, &list);

	if (rc)
		throw SystemError(
			fmt::format("{}: {}", word, gai_strerror(rc)));
	for (const addrinfo *a = list; a; a = a->ai_next) {
		Endpoint e;

		memcpy(&e.address, a->ai_addr, a->ai_addrlen);
		e.length = a->ai_addrlen;
		out.push_back(e);
	}
	freeaddrinfo(list);
	return out;
}

std::string text_of(const Endpoint &e)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(reinterpret_cast<const sockaddr *>(&e.address),
			e.length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return "?";
	return e.address.ss_family == AF_INET6
		       ? fmt::format("[{}]:{}", host, port)
		       : fmt::format("{}:{}", host, port);
}

fd::Fd stream_socket(int family)
{
	return fd::Fd(
		socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void watch_peer(int fd)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, patience_ms / 2000);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, patience_ms / 4000);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, patience_ms);
}

std::vector<fd::Fd> listen_on(const std::vector<Endpoint> &endpoints)
{
	std::vector<fd::Fd> out;
	std::string why;
	int err = 0;

	for (const Endpoint &e : endpoints) {
		fd::Fd s = stream_socket(e.address.ss_family);

		if (s.open()) {
			set(s.get(), SOL_SOCKET, SO_REUSEADDR, 1);
			/* IPv4 has a socket of its own. */
			if (e.address.ss_family == AF_INET6)
				set(s.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
			if (bind(s.get(),
				 reinterpret_cast<const sockaddr *>(&e.address),
				 e.length) == 0 &&
			    listen(s.get(), backlog) == 0) {
				out.push_back(std::move(s));
				continue;
			}
		}
		err = errno;
		why = text_of(e);
	}
	if (out.empty())
		throw SystemError("cannot listen on " + why, err);
	return out;
}
} // namespace mrcmap
