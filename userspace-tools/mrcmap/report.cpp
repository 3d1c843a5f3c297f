// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mrcmap
{
namespace
{
using Json = nlohmann::json;

constexpr std::size_t name_limit = 64; /* fabric, state of an EV */
constexpr std::size_t text_limit = 1024;
constexpr std::size_t planes_limit = 4096;
constexpr std::size_t evs_limit = 1 << 15;
constexpr uint64_t most32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t most64 = std::numeric_limits<uint64_t>::max();
constexpr uint64_t hour = 3'600'000'000'000;

[[noreturn]] void wrong(const std::string &why)
{
	throw ReportError(why);
}

const Json &member(const Json &j, const char *key)
{
	const auto i = j.find(key);

	if (i == j.end())
		wrong(fmt::format("no \"{}\"", key));
	return *i;
}

uint64_t number(const Json &j, const char *what, uint64_t most)
{
	if (!j.is_number_unsigned() || j.get<uint64_t>() > most)
		wrong(fmt::format("{} is no number from 0 to {}", what, most));
	return j.get<uint64_t>();
}

uint32_t number32(const Json &j, const char *what)
{
	return static_cast<uint32_t>(number(j, what, most32));
}

int64_t number_signed(const Json &j, const char *what)
{
	/* Numbers without a sign can be larger than this type. */
	if (!j.is_number_integer() ||
	    (j.is_number_unsigned() &&
	     j.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
		wrong(fmt::format("{} is no whole number", what));
	return j.get<int64_t>();
}

std::string text(const Json &j, const char *what, std::size_t most)
{
	if (!j.is_string() || j.get_ref<const std::string &>().size() > most)
		wrong(fmt::format("{} is no text of up to {} bytes", what,
				  most));
	return j.get<std::string>();
}

const Json &array(const Json &j, const char *what, std::size_t most)
{
	if (!j.is_array() || j.size() > most)
		wrong(fmt::format("{} is no array of up to {} entries", what,
				  most));
	return j;
}

const Json &entry(const Json &j, const char *what, std::size_t size)
{
	if (!j.is_array() || j.size() != size)
		wrong(fmt::format("an entry of {} has not {} numbers", what,
				  size));
	return j;
}

PathWindow path_window(const Json &j)
{
	const Json &e = entry(j, "paths", 10);
	PathWindow w;

	w.path = number32(e[0], "path");
	w.window = number32(e[1], "window");
	w.sent = number32(e[2], "sent");
	w.received = number32(e[3], "received");
	w.duplicates = number32(e[4], "duplicates");
	w.late = number32(e[5], "late");
	w.rtt_min = number(e[6], "rtt_min", hour);
	w.rtt_mean = number(e[7], "rtt_mean", hour);
	w.rtt_max = number(e[8], "rtt_max", hour);
	w.disturbed = number(e[9], "disturbed", 1) != 0;
	if (w.received > w.sent)
		wrong("more is received than sent");
	if (w.rtt_min > w.rtt_mean || w.rtt_mean > w.rtt_max)
		wrong("round trips are not in order");
	return w;
}

PeerWindow peer_window(const Json &j)
{
	const Json &e = entry(j, "peers", 6);
	PeerWindow w;

	w.path = number32(e[0], "path");
	w.window = number32(e[1], "window");
	w.received = number32(e[2], "received");
	w.duplicates = number32(e[3], "duplicates");
	w.delay_min = number_signed(e[4], "delay_min");
	w.disturbed = number(e[5], "disturbed", 1) != 0;
	return w;
}

Hello hello(const Json &j)
{
	Hello h;
	const std::string plan = text(member(j, "plan"), "plan", 16);
	const char *end = plan.data() + plan.size();

	h.version = number32(member(j, "mrcmap"), "mrcmap");
	if (h.version != report_version)
		wrong(fmt::format("version {} is not known; this is {}",
				  h.version, report_version));
	h.fabric = text(member(j, "fabric"), "fabric", name_limit);
	h.host = number32(member(j, "host"), "host");

	const auto [at, error] = std::from_chars(plan.data(), end, h.plan, 16);

	if (error != std::errc() || at != end)
		wrong("plan is no hexadecimal number");
	return h;
}

Windows windows(const Json &j)
{
	Windows w;

	w.at = number(member(j, "at"), "at", most64);
	for (const Json &e : array(member(j, "paths"), "paths", windows_limit))
		w.paths.push_back(path_window(e));
	for (const Json &e : array(member(j, "peers"), "peers", windows_limit))
		w.peers.push_back(peer_window(e));
	return w;
}

Ports ports(const Json &j)
{
	Ports p;

	for (const Json &e :
	     array(member(j, "carrier"), "carrier", planes_limit)) {
		if (!e.is_boolean() && !e.is_null())
			wrong("carrier is none of true, false, null");
		p.carrier.push_back(e.is_null() ? std::optional<bool>()
						: std::optional(e.get<bool>()));
	}
	return p;
}

EvEvent event(const Json &j)
{
	EvEvent e;

	e.destination = number32(member(j, "destination"), "destination");
	e.plane = number32(member(j, "plane"), "plane");
	e.t1 = number32(member(j, "t1"), "t1");
	e.state = text(member(j, "state"), "state", name_limit);
	return e;
}

EvCounts ev_counts(const Json &j)
{
	EvCounts c;

	for (const Json &i : array(member(j, "evs"), "evs", evs_limit)) {
		const Json &e = entry(i, "evs", 6);
		EvCount n;

		n.destination = number32(e[0], "destination");
		n.plane = number32(e[1], "plane");
		n.t1 = number32(e[2], "t1");
		n.sent = number(e[3], "sent", most64);
		n.lost = number(e[4], "lost", n.sent);
		n.rtt = number(e[5], "rtt", hour);
		c.evs.push_back(n);
	}
	return c;
}

DenyList deny(const Json &j)
{
	DenyList d;

	for (const Json &i : array(member(j, "evs"), "evs", evs_limit)) {
		const Json &e = entry(i, "evs", 3);

		d.evs.push_back({number32(e[0], "destination"),
				 number32(e[1], "plane"),
				 number32(e[2], "t1")});
	}
	std::sort(d.evs.begin(), d.evs.end());
	d.evs.erase(std::unique(d.evs.begin(), d.evs.end()), d.evs.end());
	return d;
}

/* Texts can have bytes that are no UTF-8: names of files, words of peers. */
std::string line_of(const Json &j)
{
	return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct Writer {
	std::string operator()(const Hello &h) const
	{
		return line_of({{"mrcmap", h.version},
				{"type", "hello"},
				{"fabric", h.fabric},
				{"host", h.host},
				{"plan", fmt::format("{:016x}", h.plan)}});
	}

	/* There are many of these, so no tree is made of them. */
	std::string operator()(const Windows &w) const
	{
		std::string s = fmt::format(
			R"({{"type":"windows","at":{},"paths":[)", w.at);
		const char *comma = "";

		for (const PathWindow &p : w.paths) {
			fmt::format_to(std::back_inserter(s),
				       "{}[{},{},{},{},{},{},{},{},{},{:d}]",
				       comma, p.path, p.window, p.sent,
				       p.received, p.duplicates, p.late,
				       p.rtt_min, p.rtt_mean, p.rtt_max,
				       p.disturbed);
			comma = ",";
		}
		s += "],\"peers\":[";
		comma = "";
		for (const PeerWindow &p : w.peers) {
			fmt::format_to(std::back_inserter(s),
				       "{}[{},{},{},{},{},{:d}]", comma, p.path,
				       p.window, p.received, p.duplicates,
				       p.delay_min, p.disturbed);
			comma = ",";
		}
		return s + "]}\n";
	}

	std::string operator()(const Ports &p) const
	{
		Json carrier = Json::array();

		for (const std::optional<bool> &c : p.carrier)
			carrier.push_back(c ? Json(*c) : Json());
		return line_of({{"type", "ports"}, {"carrier", carrier}});
	}

	std::string operator()(const EvEvent &e) const
	{
		return line_of({{"type", "event"},
				{"destination", e.destination},
				{"plane", e.plane},
				{"t1", e.t1},
				{"state", e.state}});
	}

	std::string operator()(const EvCounts &c) const
	{
		Json evs = Json::array();

		for (const EvCount &n : c.evs)
			evs.push_back(Json::array({n.destination, n.plane, n.t1,
						   n.sent, n.lost, n.rtt}));
		return line_of({{"type", "evs"}, {"evs", evs}});
	}

	std::string operator()(const DenyList &d) const
	{
		Json evs = Json::array();

		for (const Denied &n : d.evs)
			evs.push_back(
				Json::array({n.destination, n.plane, n.t1}));
		return line_of({{"type", "deny"}, {"evs", evs}});
	}

	std::string operator()(const ErrorText &e) const
	{
		return line_of({{"type", "error"}, {"text", e.text}});
	}
};
} // namespace

std::string write(const Message &message)
{
	return std::visit(Writer{}, message);
}

Message parse_line(std::string_view line)
{
	if (line.size() > line_limit)
		wrong("the line is too long");

	const Json j = Json::parse(line, nullptr, false);

	if (!j.is_object())
		wrong("the line is no JSON object");

	const std::string type = text(member(j, "type"), "type", name_limit);

	if (type == "hello")
		return hello(j);
	if (type == "windows")
		return windows(j);
	if (type == "ports")
		return ports(j);
	if (type == "event")
		return event(j);
	if (type == "evs")
		return ev_counts(j);
	if (type == "deny")
		return deny(j);
	if (type == "error")
		return ErrorText{text(member(j, "text"), "text", text_limit)};
	wrong(fmt::format("type \"{}\" is not known", type));
}

void LineReader::feed(std::string_view bytes)
{
	/* What was read goes first, but not for each short line. */
	if (begin_ > buffer_.size() / 2) {
		buffer_.erase(0, begin_);
		scanned_ -= begin_;
		begin_ = 0;
	}
	buffer_ += bytes;
	check();
}

/* The line that has begun must not be too long, whether it ends or not. */
void LineReader::check()
{
	const std::size_t end = buffer_.find('\n', scanned_);

	scanned_ = std::min(end, buffer_.size());
	if (scanned_ - begin_ > line_limit)
		throw ReportError(fmt::format("a line is longer than {} bytes",
					      line_limit));
}

std::optional<std::string> LineReader::next()
{
	if (scanned_ == buffer_.size())
		return std::nullopt;

	std::string line = buffer_.substr(begin_, scanned_ - begin_);

	begin_ = ++scanned_;
	check();
	return line;
}
} // namespace mrcmap
