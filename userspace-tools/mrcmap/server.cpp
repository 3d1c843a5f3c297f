// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include <fmt/format.h>

#include "clock.hpp"

namespace mrcmap
{
namespace
{
/* Beside one connection of each agent: new ones whose old one still ends. */
constexpr std::size_t spare = 16;
constexpr uint64_t hello_time = 5 * ns_of_s;
constexpr std::size_t hello_limit = 4096; /* bytes until hello is complete */
constexpr uint64_t silence_time = 60 * ns_of_s;
/* What a peer has not read yet. A list of all EVs has less. */
constexpr std::size_t most_unread = 4 << 20;
/* Of one peer in one turn, so that the others have theirs. */
constexpr std::size_t at_once = 256 << 10;
/* Without descriptors nothing can be accepted; later perhaps. */
constexpr uint64_t pause_after = 100 * ns_of_ms;
} // namespace

Server::Server(const std::vector<Endpoint> &listen, std::size_t agents)
	: listening_(listen_on(listen)), most_(agents + spare)
{
}

void Server::add_to(std::vector<pollfd> &fds) const
{
	for (const fd::Fd &l : listening_)
		fds.push_back(
			{now_ns() < accept_at_ ? -1 : l.get(), POLLIN, 0});
	for (const Peer &p : peers_)
		fds.push_back(
			{p.socket.get(),
			 static_cast<short>(p.out.empty() ? POLLIN
							  : POLLIN | POLLOUT),
			 0});
}

/* Those who have not said who they are make room for others. */
void Server::make_room()
{
	if (peers_.size() < most_)
		return;
	for (Peer &p : peers_) {
		if (p.known || !p.why.empty())
			continue;
		p.why = "others want to connect";
		return;
	}
}

void Server::accept(int fd, uint64_t now)
{
	/* More than that in one turn would keep others waiting. */
	for (std::size_t i = 0; i < spare && peers_.size() < 2 * most_; i++) {
		Endpoint from;

		from.length = sizeof(from.address);

		fd::Fd s(accept4(fd,
				 reinterpret_cast<sockaddr *>(&from.address),
				 &from.length, SOCK_CLOEXEC | SOCK_NONBLOCK));

		if (!s.open()) {
			if (errno != EAGAIN && errno != EINTR &&
			    errno != ECONNABORTED)
				accept_at_ = now + pause_after;
			return;
		}
		watch_peer(s.get());
		make_room();
		peers_.emplace_back();

		Peer &p = peers_.back();

		p.id = next_++;
		p.socket = std::move(s);
		p.name = text_of(from);
		p.since = p.heard = now;
		if (peers_.size() > most_ + spare)
			p.why = "there are too many connections";
	}
}

void Server::lines(Peer &p, uint64_t now, const Handler &handler)
{
	while (p.why.empty() && !p.closing) {
		const std::optional<std::string> line = p.in.next();

		if (!line)
			return;

		const CollectorState::Answer a = handler.line(p.id, *line, now);

		for (const std::string &l : a.lines)
			p.out += l;
		if (a.close) {
			p.closing = true;
			std::cerr << fmt::format("mrcmap: {}: {}\n", p.name,
						 a.why);
		} else {
			p.known = true;
		}
	}
}

void Server::read(Peer &p, uint64_t now, const Handler &handler)
{
	char room[64 << 10];

	for (std::size_t got = 0; got < at_once && p.why.empty();) {
		const ssize_t n = recv(p.socket.get(), room, sizeof(room), 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			p.why = n ? strerror(errno) : "has ended";
			return;
		}
		got += static_cast<std::size_t>(n);
		p.heard = now;
		/* What comes after an error is read, and thrown away. */
		if (p.closing)
			continue;
		if (!p.known)
			p.received += static_cast<std::size_t>(n);
		try {
			p.in.feed({room, static_cast<std::size_t>(n)});
			lines(p, now, handler);
		} catch (const ReportError &e) {
			p.why = e.what();
		}
		if (!p.known && p.received > hello_limit && p.why.empty())
			p.why = "no hello";
	}
}

void Server::flush(Peer &p) const
{
	while (!p.out.empty() && p.why.empty()) {
		const ssize_t n = ::send(p.socket.get(), p.out.data(),
					 p.out.size(), MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			p.why = strerror(errno);
		else
			p.out.erase(0, static_cast<std::size_t>(n));
	}
	if (p.closing && p.why.empty())
		p.why = "is closed";
}

void Server::judge(Peer &p, uint64_t now) const
{
	if (!p.why.empty())
		return;
	if (!p.known && now > p.since + hello_time)
		p.why = "no hello";
	else if (now > p.heard + silence_time)
		p.why = "sends nothing";
	else if (p.out.size() > most_unread)
		p.why = "does not read";
}

void Server::remove_closed(const Handler &handler)
{
	for (auto p = peers_.begin(); p != peers_.end();) {
		if (p->why.empty()) {
			++p;
			continue;
		}
		/* Strangers that come and go are no news. */
		if (p->known)
			std::cerr << fmt::format("mrcmap: {}: {}\n", p->name,
						 p->why);
		handler.gone(p->id);
		p = peers_.erase(p);
	}
}

void Server::turn(const std::vector<pollfd> &fds, uint64_t now,
		  const Handler &handler)
{
	std::size_t i = listening_.size();

	for (Peer &p : peers_) {
		const short events = fds[i++].revents;

		if (events & (POLLIN | POLLHUP | POLLERR))
			read(p, now, handler);
		flush(p);
		judge(p, now);
	}
	for (std::size_t l = 0; l < listening_.size(); l++)
		if (fds[l].revents & POLLIN)
			accept(listening_[l].get(), now);
	remove_closed(handler);
}

void Server::send(Connection to, const std::string &line)
{
	for (Peer &p : peers_) {
		if (p.id != to)
			continue;
		p.out += line;
		flush(p);
	}
}

void Server::close(Connection which, const Handler &handler)
{
	for (Peer &p : peers_)
		if (p.id == which)
			p.why = "another connection of this host took over";
	remove_closed(handler);
}
} // namespace mrcmap
