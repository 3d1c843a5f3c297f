// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* links up, down, check: devices as files in /etc/mrc/links.d say. */
#include <algorithm>
#include <cerrno>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "error.hpp"
#include "links.hpp"
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
		if (host.list("/sys/class/net/" + f.netdevs[i]).empty())
			throw DeviceError(
				at_line(f.path, f.netdev_lines[i],
					fmt::format("there is no netdev {}",
						    f.netdevs[i])));
}

/* The netdevs that are ports of a device, and its existence. */
struct PresentLinks {
	std::map<std::string, std::vector<std::string>> netdevs;

	bool has(const std::string &device, const std::string &netdev) const
	{
		const auto it = netdevs.find(device);

		return it != netdevs.end() &&
		       std::find(it->second.begin(), it->second.end(),
				 netdev) != it->second.end();
	}
};

PresentLinks present_links(Host &host)
{
	const Host::Ran ran = host.run({"rdma", "-j", "link", "show"});
	PresentLinks out;

	if (!ran.started)
		throw DeviceError("there is no program rdma (iproute2)");
	const Json j =
		Json::parse(ran.out.empty() ? "[]" : ran.out, nullptr, false);

	if (ran.status != 0 || !j.is_array())
		return out;
	for (const Json &l : j) {
		if (!l.is_object() || !l.contains("ifname") ||
		    !l["ifname"].is_string())
			continue;
		auto &list = out.netdevs[l["ifname"].get<std::string>()];

		if (l.contains("netdev") && l["netdev"].is_string())
			list.push_back(l["netdev"].get<std::string>());
	}
	return out;
}

void run_rdma(Host &host, const std::vector<std::string> &command)
{
	const Host::Ran ran = host.run(command);

	if (!ran.started)
		throw DeviceError("there is no program rdma (iproute2)");
	if (ran.status != 0)
		throw DeviceError(fmt::format(
			"{}: {} (the kernel log says why)",
			fmt::join(command, " "),
			printable(ran.err.substr(0, ran.err.find('\n')))));
}

void bring_up(const HostContext &c, const LinkFile &f,
	      const std::optional<Definitions> &profiles)
{
	const PresentLinks now = present_links(c.env.host);

	for (const std::string &netdev : f.netdevs)
		if (!now.has(f.name, netdev))
			run_rdma(c.env.host, {"rdma", "link", "add", f.name,
					      "type", "mrc", "netdev", netdev});
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
} // namespace

/* All files are read and checked before anything changes. */
int links_up(const HostContext &c, Words &w)
{
	const std::vector<LinkFile> files = link_files(c, w);
	std::vector<std::optional<Definitions>> profiles;

	for (const LinkFile &f : files) {
		check_netdevs(c.env.host, f);
		profiles.push_back(profiles_of(c.env.host, f));
	}
	for (std::size_t i = 0; i < files.size(); i++)
		bring_up(c, files[i], profiles[i]);
	return exit_ok;
}

int links_down(const HostContext &c, Words &w)
{
	const std::vector<LinkFile> files = link_files(c, w);
	const PresentLinks now = present_links(c.env.host);

	for (const LinkFile &f : files)
		if (now.netdevs.contains(f.name))
			run_rdma(c.env.host, {"rdma", "link", "del", f.name});
	return exit_ok;
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
} // namespace mrcctl
