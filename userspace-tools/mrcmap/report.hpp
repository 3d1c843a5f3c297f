/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: what agents and the collector say to each other, lines of JSON over
 * TCP. The first line of an agent is its hello. Lines come from strangers: each
 * number is checked, and lines are limited.
 *
 *	{"mrcmap":1,"type":"hello","fabric":"small","host":1,"plan":"9f..."}
 *	{"type":"windows","at":NS,"paths":[[...],...],"peers":[[...],...]}
 *	{"type":"ports","carrier":[true,false,null,...]}	by plane
 *	{"type":"event","destination":3,"plane":1,"t1":2,"state":"assumed_bad"}
 *	{"type":"evs","evs":[[destination,plane,t1,sent,lost,rtt],...]}
 *	{"type":"deny","evs":[[destination,plane,t1],...]}	to the agent
 *	{"type":"error","text":"..."}				to the agent
 */
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "window.hpp"

namespace mrcmap
{
constexpr uint32_t report_version = 1;
constexpr std::size_t line_limit = 1 << 20;
/* Windows in a line; more of them need several lines. */
constexpr std::size_t windows_limit = 4096;

struct ReportError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Hello {
	uint32_t version = report_version;
	std::string fabric;
	uint32_t host = 0;
	uint64_t plan = 0; /* Plan::digest() */

	bool operator==(const Hello &) const = default;
};

struct Windows {
	uint64_t at = 0; /* the agent's clock, ns */
	std::vector<PathWindow> paths{};
	std::vector<PeerWindow> peers{};

	bool operator==(const Windows &) const = default;
};

/* Carrier of the host's ports by plane; none: not known. */
struct Ports {
	std::vector<std::optional<bool>> carrier;

	bool operator==(const Ports &) const = default;
};

/* A path of a queue pair has a new state; @state is a word of mrcctl(8). */
struct EvEvent {
	uint32_t destination = 0; /* host */
	uint32_t plane = 0;
	uint32_t t1 = 0; /* 0: both hosts have the same T0 */
	std::string state;

	bool operator==(const EvEvent &) const = default;
};

/* What queue pairs saw of a path since the last report. */
struct EvCount {
	uint32_t destination = 0, plane = 0, t1 = 0;
	uint64_t sent = 0, lost = 0;
	uint64_t rtt = 0; /* ns; 0: not known */

	bool operator==(const EvCount &) const = default;
};

struct EvCounts {
	std::vector<EvCount> evs;

	bool operator==(const EvCounts &) const = default;
};

/* One path that a host shall not use. */
struct Denied {
	uint32_t destination = 0; /* host */
	uint32_t plane = 0;
	uint32_t t1 = 0; /* 0: both hosts have the same T0 */

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const Denied &) const = default;
};

/* The whole list of a host; it replaces the one before. Sorted. */
struct DenyList {
	std::vector<Denied> evs;

	bool operator==(const DenyList &) const = default;
};

struct ErrorText {
	std::string text;

	bool operator==(const ErrorText &) const = default;
};

using Message = std::variant<Hello, Windows, Ports, EvEvent, EvCounts, DenyList,
			     ErrorText>;

/* One line, with its newline. Windows must keep to windows_limit. */
std::string write(const Message &message);
/* Without its newline. Throws ReportError, which says what is wrong. */
Message parse_line(std::string_view line);

/* Makes lines from the bytes of a stream. */
class LineReader
{
public:
	/* Throws ReportError when a line is longer than line_limit. */
	void feed(std::string_view bytes);
	/* The next whole line without its newline. Throws as feed() does. */
	std::optional<std::string> next();

private:
	void check();

	std::string buffer_;
	std::size_t begin_ = 0;
	std::size_t scanned_ = 0; /* there is no newline in between */
};
} // namespace mrcmap
