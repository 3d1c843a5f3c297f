// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands that need no device: doctor, show-gids. */
#include <algorithm>

#include <fmt/format.h>

#include "commands.hpp"
#include "error.hpp"
#include "findings.hpp"
#include "gids.hpp"
#include "snapshot_read.hpp"

namespace mrcctl
{
namespace
{
/* The device that -d or the next word names; "" = all. */
std::string device_word(const HostContext &c, Words &w)
{
	std::string name = c.device;

	if (!w.empty()) {
		const std::string &word = w.next("DEVICE");

		if (!name.empty() && name != word)
			throw UsageError(fmt::format(
				"-d says {}, the command says {}", name, word));
		name = word;
	}
	w.done();
	if (name.find('/') != std::string::npos || name == "." || name == "..")
		throw UsageError(
			fmt::format("\"{}\" is no name of a device", name));
	return name;
}

/* As the kernel writes them, so that they can be compared. */
std::vector<std::string> peers_of(const Options &opt)
{
	std::vector<std::string> out;

	for (const std::string &peer : opt.peers)
		out.push_back(show_address(parse_address(peer)));
	return out;
}

/* Probes of many EVs take seconds; a person who waits sees how far they are. */
doctor::Probing probing(const HostContext &c)
{
	return {.now_ns = [&c] { return c.env.clock.mono_ns(); },
		.progress =
			[&c](const std::string &peer, std::size_t done,
			     std::size_t all) {
				if (!c.env.tty)
					return;
				if (done < all)
					c.env.err << fmt::format(
						"\rprobing {}: {} of {} EVs",
						peer, done, all);
				else
					c.env.err << "\r\x1b[K";
				c.env.err.flush();
			}};
}
} // namespace

int diagnose(const HostContext &c, Words &w)
{
	const std::string device = device_word(c, w);
	const std::vector<std::string> peers = peers_of(c.opt);
	const doctor::Findings list = doctor::findings(doctor::read_snapshot(
		c.env.host, c.env.system, device, peers, probing(c)));

	if (c.opt.json)
		c.print_json(doctor::json_of(list));
	else
		c.print(doctor::text_of(list));
	return doctor::has_errors(list) ? static_cast<int>(exit_doctor_errors)
					: static_cast<int>(exit_ok);
}

int show_gids(const HostContext &c, Words &w)
{
	const std::string wanted = device_word(c, w);
	std::vector<std::string> devices = sysfs_mrc_devices(c.env.host);
	std::vector<Gid> gids;

	if (!wanted.empty()) {
		if (std::find(devices.begin(), devices.end(), wanted) ==
		    devices.end())
			throw DeviceError(
				fmt::format("no MRC device {}", wanted));
		devices = {wanted};
	}
	for (const std::string &device : devices)
		for (const uint32_t port : sysfs_ports(c.env.host, device))
			for (Gid &g : gids_of(c.env.host, device, port))
				gids.push_back(std::move(g));
	if (c.opt.json)
		c.print_json(json_of(gids));
	else
		c.print(text_of(gids));
	return exit_ok;
}
} // namespace mrcctl
