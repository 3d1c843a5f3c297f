/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the TCP connection of tester and target, as lines of text. */
#pragma once

#include <optional>

#include "../common/fd.hpp"
#include "error.hpp"

namespace mrcconform
{
/* "HOST:PORT", "[IPv6]:PORT", ":PORT" or "HOST". Throws UsageError. */
struct HostPort {
	std::string host, port;

	static HostPort parse(const std::string &text);
};

constexpr const char *default_port = "18720";

class Link
{
public:
	explicit Link(fd::Fd fd);

	void send(const std::string &line);
	/*
	 * The next line, without its end; nothing if the peer closed. Throws
	 * RunError after @seconds, and FormatError for a line that is too long.
	 */
	std::optional<std::string> receive(int seconds);

private:
	fd::Fd fd_;
	std::string in_;
};

/* Tries until the target listens, at most @seconds. */
Link connect_to(const HostPort &to, int seconds);
/* A listening socket on all addresses of @at. */
fd::Fd listen_at(const HostPort &at);
} // namespace mrcconform
