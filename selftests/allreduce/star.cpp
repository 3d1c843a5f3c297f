// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_allreduce: what the ranks tell each other over TCP.
 */
#include "star.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{
constexpr uint32_t longest = 1u << 20;

void send_all(int fd, const void *data, size_t len)
{
	const char *p = static_cast<const char *>(data);

	while (len) {
		ssize_t n = ::send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("a rank is gone: %s", std::strerror(errno));
		p += n;
		len -= static_cast<size_t>(n);
	}
}

void receive_all(int fd, void *data, size_t len, unsigned seconds)
{
	auto end = Clock::now() + std::chrono::seconds(seconds);
	char *p = static_cast<char *>(data);

	while (len) {
		auto left =
			std::chrono::duration_cast<std::chrono::milliseconds>(
				end - Clock::now());
		pollfd pfd{fd, POLLIN, 0};

		if (left.count() <= 0)
			fail("no word from a rank within %u s", seconds);
		if (::poll(&pfd, 1, static_cast<int>(left.count())) <= 0)
			continue;
		ssize_t n = ::recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("a rank is gone: %s",
			     n ? std::strerror(errno) : "connection closed");
		p += n;
		len -= static_cast<size_t>(n);
	}
}

void send_text(int fd, const std::string &s)
{
	uint32_t len = static_cast<uint32_t>(s.size());

	send_all(fd, &len, sizeof(len));
	send_all(fd, s.data(), s.size());
}

std::string receive_text(int fd, unsigned seconds)
{
	uint32_t len;

	receive_all(fd, &len, sizeof(len), seconds);
	if (len > longest)
		fail("a rank says %u bytes", len);
	std::string s(len, '\0');

	receive_all(fd, s.data(), len, seconds);
	return s;
}

void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

sockaddr_in address(const Options &o)
{
	sockaddr_in a{};

	a.sin_family = AF_INET;
	a.sin_port = htons(o.port);
	if (inet_pton(AF_INET, o.root.c_str(), &a.sin_addr) != 1)
		fail("'%s' is no IPv4 address", o.root.c_str());
	return a;
}
} // namespace

Star::Star(const Options &o) : o_(o)
{
	if (o.rank == 0)
		accept_all();
	else
		connect_root();
}

Star::~Star()
{
	for (int fd : fds_)
		if (fd >= 0)
			close(fd);
}

void Star::accept_all()
{
	sockaddr_in a = address(o_);
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fds_.assign(o_.ranks, -1);
	fds_[0] = fd; /* closed with the others */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, reinterpret_cast<sockaddr *>(&a), sizeof(a)) ||
	    listen(fd, static_cast<int>(o_.ranks)))
		fail("cannot listen: %s", std::strerror(errno));
	for (unsigned n = 1; n < o_.ranks; n++) {
		pollfd p{fd, POLLIN, 0};
		uint32_t rank;

		if (::poll(&p, 1, static_cast<int>(o_.stall) * 1000) <= 0)
			fail("only %u of %u ranks came", n, o_.ranks);
		int conn = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);

		if (conn < 0)
			fail("accept: %s", std::strerror(errno));
		no_delay(conn);
		receive_all(conn, &rank, sizeof(rank), o_.stall);
		if (rank == 0 || rank >= o_.ranks || fds_[rank] >= 0) {
			close(conn);
			fail("somebody says to be rank %u", rank);
		}
		fds_[rank] = conn;
	}
}

void Star::connect_root()
{
	auto end = Clock::now() + std::chrono::seconds(o_.stall);
	sockaddr_in a = address(o_);
	uint32_t rank = o_.rank;

	/* Rank 0 may not listen yet: ask again, a while. */
	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			fail("socket: %s", std::strerror(errno));
		if (!::connect(fd, reinterpret_cast<sockaddr *>(&a),
			       sizeof(a))) {
			fds_.push_back(fd);
			break;
		}
		int err = errno;

		close(fd);
		if (Clock::now() > end)
			fail("cannot connect to rank 0: %s",
			     std::strerror(err));
		::poll(nullptr, 0, 50);
	}
	no_delay(fds_[0]);
	send_all(fds_[0], &rank, sizeof(rank));
}

std::vector<std::string> Star::gather(const std::string &mine)
{
	std::vector<std::string> all(o_.ranks);

	if (o_.rank != 0) {
		send_text(fds_[0], mine);
		for (std::string &s : all)
			s = receive_text(fds_[0], o_.stall);
		return all;
	}
	all[0] = mine;
	for (unsigned r = 1; r < o_.ranks; r++)
		all[r] = receive_text(fds_[r], o_.stall);
	for (unsigned r = 1; r < o_.ranks; r++)
		for (const std::string &s : all)
			send_text(fds_[r], s);
	return all;
}

void Star::barrier(const std::string &where)
{
	for (const std::string &s : gather(where))
		if (s != where)
			fail("a rank is at '%s', this one at '%s'", s.c_str(),
			     where.c_str());
}
