// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* links up, join, down, check: devices as files in /etc/mrc/links.d say. */
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "error.hpp"
#include "link_ports.hpp"
#include "link_units.hpp"
#include "links.hpp"
#include "plane_host.hpp"
#include "profile.hpp"

namespace mrcctl
{
namespace
{
constexpr const char *links_dir = "/etc/mrc/links.d";

LinkFile read_link_file(Host &host, const std::string &path)
{
	const Host::File f = host.read(path);

	if (f.err)
		throw DeviceError(path, f.err);
	if (f.text.size() >= Host::max_file)
		throw UsageError(path + ": the file is too large");
	return parse_link_file(path, f.text);
}

/* The file that is named, or all of the directory. */
std::vector<LinkFile> link_files(const HostContext &c, Words &w)
{
	std::map<std::string, std::string> names, netdevs;
	std::vector<LinkFile> out;

	if (!w.empty()) {
		const std::string path = w.next("FILE");

		w.done();
		out.push_back(read_link_file(c.env.host, path));
	} else {
		for (const std::string &name : c.env.host.list(links_dir))
			if (name.ends_with(".conf"))
				out.push_back(read_link_file(
					c.env.host,
					fmt::format("{}/{}", links_dir, name)));
	}
	for (const LinkFile &f : out) {
		if (!names.emplace(f.name, f.path).second)
			throw UsageError(
				at_line(f.path, f.name_line,
					fmt::format("{} is made by {} already",
						    f.name, names[f.name])));
		for (std::size_t i = 0; i < f.netdevs.size(); i++)
			if (!netdevs.emplace(f.netdevs[i], f.path).second)
				throw UsageError(at_line(
					f.path, f.netdev_lines[i],
					fmt::format("{} is in {} already",
						    f.netdevs[i],
						    netdevs[f.netdevs[i]])));
	}
	return out;
}

/* Throws UsageError with the line that names the file. */
std::optional<Definitions> profiles_of(Host &host, const LinkFile &f)
{
	if (f.profiles.empty())
		return {};
	const Host::File file = host.read(f.profiles);

	if (file.err)
		throw UsageError(
			at_line(f.path, f.profiles_line,
				DeviceError(f.profiles, file.err).what()));
	if (file.text.size() >= Host::max_file)
		throw UsageError(at_line(f.path, f.profiles_line,
					 f.profiles + ": too large"));
	try {
		return definitions(file.text);
	} catch (const UsageError &e) {
		throw UsageError(at_line(f.path, f.profiles_line,
					 f.profiles + ": " + e.what()));
	}
}

/* A netdev may come later, so its absence is no error of the file. */
void check_netdevs(Host &host, const LinkFile &f)
{
	for (std::size_t i = 0; i < f.netdevs.size(); i++)
		if (!netdev_exists(host, f.netdevs[i]))
			throw DeviceError(
				at_line(f.path, f.netdev_lines[i],
					fmt::format("there is no netdev {}",
						    f.netdevs[i])));
}

void write_unit(Host &host, const std::string &path, const std::string &text)
{
	int err = host.make_directory(path.substr(0, path.rfind('/')));

	if (!err)
		err = host.replace(path, text);
	if (err)
		throw DeviceError(path, err);
}

/* Those that are missing are said. Returns whether one is there. */
bool some_netdev(const HostContext &c, const LinkFile &f)
{
	std::string absent;
	std::size_t n = 0;

	for (std::size_t i = 0; i < f.netdevs.size(); i++) {
		if (netdev_exists(c.env.host, f.netdevs[i]))
			continue;
		n++;
		absent += fmt::format(
			"mrcctl: {}\n",
			at_line(f.path, f.netdev_lines[i],
				fmt::format("there is no netdev {}: port {} "
					    "is vacant",
					    f.netdevs[i], i + 1)));
	}
	if (n < f.netdevs.size()) {
		c.env.err << absent;
		return true;
	}
	c.env.err << fmt::format("mrcctl: {}: none of its netdevs is there, "
				 "{} gets no port\n",
				 f.path, f.name);
	return false;
}

/* Two runs at a time would fill each other's vacant ports. */
std::shared_ptr<void> lock_links(Host &host)
{
	return host.lock(fmt::format("/run/mrc/links-{}.lock",
				     host.network_namespace()));
}

void make_planes(Host &host, const LinkFile &f)
{
	if (f.planes.empty())
		return;
	plane::Registry registry(host);

	for (const plane::Wanted &w : f.planes)
		if (const plane::Present now =
			    plane::read_present(host, w.netdev);
		    now.there)
			plane::make(host, registry, w.netdev,
				    plane::steps_to(w, now));
}

/* Returns whether all is as it was. */
bool take_planes_back(const HostContext &c, const LinkFile &f)
{
	bool good = true;

	if (f.planes.empty())
		return good;
	plane::Registry registry(c.env.host);

	for (const plane::Wanted &w : f.planes) {
		plane::Steps steps = plane::take(registry.planes, w.netdev);

		/* What was the netdev's own has gone with it. */
		if (!netdev_exists(c.env.host, w.netdev))
			std::erase_if(steps, [](const plane::Step &s) {
				return !plane::is_shared(s);
			});
		good &= plane::undo(c.env.host, steps, c.env.err);
	}
	registry.save();
	return good;
}

void set_device(const HostContext &c, const LinkFile &f,
		const std::optional<Definitions> &profiles)
{
	if (!f.extension && !profiles)
		return;
	const std::unique_ptr<Backend> dev = c.env.system.open(f.name);

	if (f.extension) {
		DeviceChange change;

		change.extension = f.extension;
		dev->change(change);
	}
	if (profiles)
		apply(*dev, *profiles);
}

/* Of a device that is there, programs use the profiles. */
void bring_up(const HostContext &c, const LinkFile &f,
	      const std::optional<Definitions> &profiles, bool join)
{
	remove_placeholders(c.env.host, f.name);
	const bool there = !link_ports(c.env.host, f.name).empty();

	make_planes(c.env.host, f);
	try {
		add_link_ports(c.env.host, f);
		if (!join || !there)
			set_device(c, f, profiles);
	} catch (...) {
		/* "join" would take half a device for a whole one. */
		if (!there)
			c.env.host.run({"rdma", "link", "del", f.name});
		throw;
	}
}

/* All files are read and checked before anything changes. */
int up_or_join(const HostContext &c, Words &w, bool join)
{
	const std::vector<LinkFile> files = link_files(c, w);
	std::vector<std::optional<Definitions>> profiles;
	int status = exit_ok;

	for (const LinkFile &f : files)
		profiles.push_back(profiles_of(c.env.host, f));
	if (files.empty())
		return status;
	const std::shared_ptr<void> lock = lock_links(c.env.host);

	for (std::size_t i = 0; i < files.size(); i++) {
		const LinkFile &f = files[i];

		if (!some_netdev(c, f)) {
			status = exit_no_netdev;
			continue;
		}
		bring_up(c, f, profiles[i], join);
	}
	return status;
}
} // namespace

int links_up(const HostContext &c, Words &w)
{
	return up_or_join(c, w, false);
}

int links_join(const HostContext &c, Words &w)
{
	return up_or_join(c, w, true);
}

int links_down(const HostContext &c, Words &w)
{
	const std::vector<LinkFile> files = link_files(c, w);
	bool good = true;

	if (files.empty())
		return exit_ok;
	const std::shared_ptr<void> lock = lock_links(c.env.host);

	for (const LinkFile &f : files) {
		remove_placeholders(c.env.host, f.name);
		if (!link_ports(c.env.host, f.name).empty())
			run_program(c.env.host,
				    {"rdma", "link", "del", f.name});
		good &= take_planes_back(c, f);
	}
	return good ? exit_ok : exit_device;
}

int links_check(const HostContext &c, Words &w)
{
	for (const LinkFile &f : link_files(c, w)) {
		check_netdevs(c.env.host, f);
		profiles_of(c.env.host, f);
		c.print(fmt::format("{}: {} of {}\n", f.path, f.name,
				    fmt::join(f.netdevs, " ")));
	}
	return exit_ok;
}

/* One file with an error must not keep systemd from the others. */
int links_units(const HostContext &c, Words &w)
{
	const std::string dir = w.next("DIRECTORY");
	int status = exit_ok;

	w.done();
	for (const std::string &name : c.env.host.list(links_dir)) {
		const std::string instance = unit_instance(name);

		if (instance.empty())
			continue;
		try {
			const LinkFile f = read_link_file(
				c.env.host,
				fmt::format("{}/{}", links_dir, name));

			for (const auto &[unit, text] : link_units(f, instance))
				write_unit(c.env.host, dir + "/" + unit, text);
		} catch (const std::runtime_error &e) {
			c.env.err << "mrcctl: " << e.what() << '\n';
			status = exit_usage;
		}
	}
	return status;
}
} // namespace mrcctl
