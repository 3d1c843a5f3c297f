/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: where an agent's lines go, a collector or a file. A collector that is
 * not there, or too slow, never stops the agent: its lines are of now, so what
 * cannot be sent is thrown away.
 */
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "../common/fd.hpp"
#include "endpoint.hpp"
#include "report.hpp"

namespace mrcmap
{
class Uplink
{
public:
	explicit Uplink(std::vector<Endpoint> collector);

	struct Turn {
		/* Since this turn: it wants hello first. */
		bool connected = false;
		std::vector<std::string> lines; /* from the collector */
	};
	/* Goes on with connecting, reading and writing. Never waits. */
	Turn turn(uint64_t now);
	/* Whole lines. */
	void write(std::string_view lines);
	/* Ends the connection, for what has come was nonsense. */
	void refuse(const std::string &why, uint64_t now);
	/* What to wait for; nothing: for the next turn. */
	std::optional<pollfd> waits_for() const;

private:
	void connect(uint64_t now);
	bool connected();
	void read(Turn &turn, uint64_t now);
	void flush(uint64_t now);
	void fail(const std::string &why, uint64_t now);

	enum class At { idle, connecting, up } at_ = At::idle;
	std::vector<Endpoint> endpoints_;
	std::size_t next_ = 0;
	uint64_t try_at_ = 0, began_ = 0;
	fd::Fd socket_;
	std::string out_;
	LineReader in_;
	std::string said_; /* the last failure */
};

/* A regular file, which is made or continued, a FIFO, or "-". */
class LineFile
{
public:
	/* Throws mrclab::SystemError, as write() does. */
	explicit LineFile(const std::string &file);
	void write(std::string_view lines);

private:
	std::string file_;
	fd::Fd own_;
	int fd_;
};
} // namespace mrcmap
