// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plane_words.hpp"

#include <fmt/format.h>

#include "error.hpp"

namespace mrcctl::plane
{
namespace
{
/* With a length, as ip(8) shows it; the address itself has all bits. */
std::string full_address(const std::string &word)
{
	const std::size_t slash = word.find('/');
	const std::array<uint8_t, 16> addr =
		parse_address(word.substr(0, slash));
	const std::string text = show_address(addr);
	const uint64_t most = text.find(':') == std::string::npos ? 32 : 128;
	const uint64_t len =
		slash == std::string::npos
			? most
			: parse_number(word.substr(slash + 1), most);

	return fmt::format("{}/{}", text, len);
}

std::string full_route(const std::string &word)
{
	return show_prefix(parse_prefix(word));
}
} // namespace

std::string netdev_word(Words &w)
{
	std::string name = w.next("NETDEV");

	if (name.empty() || name.size() > 15 || name == "." || name == ".." ||
	    name == "all" || name == "default" ||
	    name.find_first_of("/ ") != std::string::npos || name[0] == '-')
		throw UsageError(
			fmt::format("\"{}\" is no name of a netdev", name));
	return name;
}

Wanted wanted_words(Words &w)
{
	constexpr uint64_t least = 348, most = 65535;
	Wanted out{.netdev = netdev_word(w)};

	while (!w.empty()) {
		const std::string key = w.next("key");

		if (key == "mtu") {
			out.mtu = parse_number(w.next("N"), most);
			if (*out.mtu < least)
				throw UsageError(fmt::format(
					"the MTU of a plane is at least {}",
					least));
		} else if (key == "addr") {
			out.addresses.push_back(
				full_address(w.next("ADDRESS")));
		} else if (key == "route") {
			out.routes.push_back(
				{.prefix = full_route(w.next("PREFIX"))});
		} else if (key == "via" && !out.routes.empty()) {
			out.routes.back().via =
				show_address(parse_address(w.next("ROUTER")));
		} else if (key == "metric" && !out.routes.empty()) {
			out.routes.back().metric =
				parse_number(w.next("N"), UINT32_MAX);
		} else if (key == "via" || key == "metric") {
			throw UsageError(
				fmt::format("{} belongs behind a route", key));
		} else {
			throw UsageError(fmt::format("what is \"{}\"?", key));
		}
	}
	return out;
}
} // namespace mrcctl::plane
