// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "findings.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "words.hpp"

namespace mrcctl::doctor
{
namespace
{
/* What is below a line of text begins here. */
constexpr std::size_t fix_column = 9;

std::string place_of(const Finding &f)
{
	std::string s = f.device;

	if (f.port)
		s += fmt::format("/{}", f.port);
	return s.empty() ? "" : s + ": ";
}

std::size_t count(const Findings &list, Level l)
{
	return static_cast<std::size_t>(
		std::count_if(list.begin(), list.end(),
			      [&](const Finding &f) { return f.level == l; }));
}

std::string plural(std::size_t n, const char *what)
{
	return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}
} // namespace

std::string level_name(Level l)
{
	static constexpr std::array<const char *, 4> names{"ok", "note",
							   "warning", "error"};

	return names.at(static_cast<std::size_t>(l));
}

Findings findings(const Snapshot &s)
{
	Findings out;

	check_machine(s, out);
	for (const SeenDevice &d : s.devices) {
		check_device(s, d, out);
		check_gids(d, out);
		check_network(s, d, out);
	}
	check_peers(s, out);
	return out;
}

/* The worst first: they must be on the first screen. */
std::string text_of(const Findings &list)
{
	Findings sorted = list;
	std::string s;

	std::stable_sort(sorted.begin(), sorted.end(),
			 [](const Finding &a, const Finding &b) {
				 return a.level > b.level;
			 });
	for (const Finding &f : sorted) {
		s += fmt::format("{:<{}}{}{}\n", level_name(f.level),
				 fix_column, place_of(f), f.text);
		if (!f.fix.empty())
			s += fmt::format("{:<{}}# {}\n", "", fix_column, f.fix);
	}
	return s + fmt::format("{}, {}, {}\n",
			       plural(count(list, Level::error), "error"),
			       plural(count(list, Level::warning), "warning"),
			       plural(count(list, Level::note), "note"));
}

Json json_of(const Findings &list)
{
	Json all = Json::array();

	for (const Finding &f : list)
		all.push_back(
			{{"level", level_name(f.level)},
			 {"check", f.check},
			 {"device",
			  f.device.empty() ? Json(nullptr) : Json(f.device)},
			 {"port", f.port ? Json(f.port) : Json(nullptr)},
			 {"peer",
			  f.peer.empty() ? Json(nullptr) : Json(f.peer)},
			 {"text", f.text},
			 {"fix", f.fix.empty() ? Json(nullptr) : Json(f.fix)}});
	return {{"findings", all},
		{"errors", count(list, Level::error)},
		{"warnings", count(list, Level::warning)},
		{"notes", count(list, Level::note)}};
}

bool has_errors(const Findings &list)
{
	return count(list, Level::error) != 0;
}

std::string shell_word(const std::string &s)
{
	const bool plain =
		!s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
			return (c >= 'a' && c <= 'z') ||
			       (c >= 'A' && c <= 'Z') ||
			       (c >= '0' && c <= '9') || c == '.' || c == '_' ||
			       c == '-' || c == ':' || c == '@' || c == '/';
		});
	std::string out = "'";

	if (plain)
		return s;
	for (const char c : s)
		out += c == '\'' ? std::string("'\\''") : std::string(1, c);
	return out + "'";
}

std::string sysctl_name(std::string netdev)
{
	std::replace(netdev.begin(), netdev.end(), '.', '/');
	return shell_word(netdev);
}

uint64_t active_mtu(uint64_t netdev_mtu)
{
	/* Headers of a data packet over IPv6, MRC_OVERHEAD of the module. */
	constexpr uint64_t headers = 92;
	uint64_t payload = 4096;

	while (payload >= 256 && payload + headers > netdev_mtu)
		payload /= 2;
	return payload >= 256 ? payload : 0;
}

std::string common_address(const SeenDevice &d, bool ipv4)
{
	const SeenPort *first = nullptr;
	const auto has = [](const SeenPort &p, const Gid &g) {
		return std::any_of(
			p.gids.begin(), p.gids.end(),
			[&](const Gid &o) { return o.addr == g.addr; });
	};

	for (const SeenPort &p : d.ports)
		if (!p.netdev.empty() && !first)
			first = &p;
	if (!first)
		return "";
	for (const Gid &g : first->gids) {
		if (is_ipv4(g.addr) != ipv4 || is_link_local(g.addr))
			continue;
		if (std::all_of(d.ports.begin(), d.ports.end(),
				[&](const SeenPort &p) {
					return p.netdev.empty() || has(p, g);
				}))
			return show_address(g.addr);
	}
	return "";
}
} // namespace mrcctl::doctor
