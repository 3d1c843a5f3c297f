/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: the collector's TCP connections. Peers can be anybody: there are so
 * many connections and no more, those that do not say hello soon are closed,
 * and so are those that send nothing, or do not read what they are sent.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "../common/fd.hpp"
#include "collector_state.hpp"
#include "endpoint.hpp"
#include "report.hpp"

namespace mrcmap
{
class Server
{
public:
	/* @agents: how many there can be. */
	Server(const std::vector<Endpoint> &listen, std::size_t agents);

	struct Handler {
		/* A line, and what becomes of the connection. */
		std::function<CollectorState::Answer(
			Connection, std::string_view line, uint64_t now)>
			line;
		std::function<void(Connection)> gone;
	};

	/* What to wait for; and then what has come of it. */
	void add_to(std::vector<pollfd> &fds) const;
	void turn(const std::vector<pollfd> &fds, uint64_t now,
		  const Handler &handler);

	/* To a connection that may have ended. */
	void send(Connection to, const std::string &line);
	void close(Connection which, const Handler &handler);

	std::size_t connections() const { return peers_.size(); }

private:
	struct Peer {
		Connection id = 0;
		fd::Fd socket;
		std::string name;
		LineReader in;
		std::string out;
		uint64_t since = 0;    /* when it came */
		uint64_t heard = 0;    /* of it, last */
		uint64_t received = 0; /* bytes before hello */
		bool known = false;    /* has said hello */
		bool closing = false;  /* when @out is sent */
		std::string why;       /* it is to be closed */
	};

	void accept(int fd, uint64_t now);
	void make_room();
	void read(Peer &p, uint64_t now, const Handler &handler);
	void lines(Peer &p, uint64_t now, const Handler &handler);
	void flush(Peer &p) const;
	void judge(Peer &p, uint64_t now) const;
	void remove_closed(const Handler &handler);

	std::vector<fd::Fd> listening_;
	std::list<Peer> peers_;
	std::size_t most_;
	Connection next_ = 1;
	uint64_t accept_at_ = 0;
};
} // namespace mrcmap
