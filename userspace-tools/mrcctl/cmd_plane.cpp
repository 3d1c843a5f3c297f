// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* plane add, del, show. */
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "error.hpp"
#include "plane_host.hpp"
#include "plane_words.hpp"

namespace mrcctl
{
namespace
{
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
	const plane::Wanted wanted = plane::wanted_words(w);
	const auto steps = [&] {
		return plane::steps_to(
			wanted, plane::read_present(c.env.host, wanted.netdev));
	};

	if (c.opt.dry_run) {
		show_commands(c, steps(), false);
		return exit_ok;
	}
	/* Under the lock: another run may make the same plane. */
	plane::Registry registry(c.env.host);

	plane::make(c.env.host, registry, wanted.netdev, steps());
	return exit_ok;
}

int plane_del(const HostContext &c, Words &w)
{
	const std::string netdev = plane::netdev_word(w);

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
	const std::string wanted = w.empty() ? "" : plane::netdev_word(w);
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
