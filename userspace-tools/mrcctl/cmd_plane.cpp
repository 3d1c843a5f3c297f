// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* plane add, del, show. */
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "error.hpp"
#include "plane_host.hpp"

namespace mrcctl
{
namespace
{
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

plane::Wanted wanted_words(Words &w)
{
	constexpr uint64_t least = 348, most = 65535;
	plane::Wanted out{.netdev = netdev_word(w)};

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

std::string commands_text(const plane::Steps &steps, bool undo)
{
	std::string s;

	for (const plane::Step &step : steps)
		s += fmt::format("{}\n",
				 fmt::join(undo ? plane::undo_command(step)
						: plane::make_command(step),
					   " "));
	return s;
}

Json commands_json(const plane::Steps &steps, bool undo)
{
	Json out = Json::array();

	for (const plane::Step &step : steps)
		out.push_back(fmt::format(
			"{}", fmt::join(undo ? plane::undo_command(step)
					     : plane::make_command(step),
					" ")));
	return out;
}

void show_commands(const HostContext &c, const plane::Steps &steps, bool undo)
{
	if (c.opt.json)
		c.print_json(commands_json(steps, undo));
	else
		c.print(commands_text(steps, undo));
}
} // namespace

int plane_add(const HostContext &c, Words &w)
{
	const plane::Wanted wanted = wanted_words(w);
	const plane::Steps steps = plane::steps_to(
		wanted, plane::read_present(c.env.host, wanted.netdev));

	if (c.opt.dry_run) {
		show_commands(c, steps, false);
		return exit_ok;
	}
	plane::Registry registry(c.env.host);

	plane::make(c.env.host, registry, wanted.netdev, steps);
	return exit_ok;
}

int plane_del(const HostContext &c, Words &w)
{
	const std::string netdev = netdev_word(w);

	w.done();
	plane::Registry registry(c.env.host);

	if (!registry.planes.contains(netdev))
		throw DeviceError(fmt::format(
			"\"plane add\" has changed nothing of {}", netdev));
	const plane::Steps steps = plane::take(registry.planes, netdev);

	if (c.opt.dry_run) {
		show_commands(c, steps, true);
		return exit_ok;
	}
	const bool good = plane::undo(c.env.host, steps, c.env.err);

	registry.save();
	return good ? exit_ok : exit_device;
}

int plane_show(const HostContext &c, Words &w)
{
	const std::string wanted = w.empty() ? "" : netdev_word(w);
	Json all = Json::object();
	std::string text;

	w.done();
	const plane::Registry registry(c.env.host);

	for (const auto &[netdev, steps] : registry.planes) {
		if (!wanted.empty() && netdev != wanted)
			continue;
		all[netdev] = commands_json(steps, false);
		text += netdev + "\n";
		for (const plane::Step &step : steps)
			text += fmt::format(
				"    {}\n",
				fmt::join(plane::make_command(step), " "));
	}
	if (c.opt.json)
		c.print_json(all);
	else
		c.print(text);
	return exit_ok;
}
} // namespace mrcctl
