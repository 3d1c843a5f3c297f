// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plane_host.hpp"

#include <algorithm>
#include <cerrno>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"

namespace mrcctl::plane
{
namespace
{
Json ask_ip(Host &host, const std::vector<std::string> &words)
{
	std::vector<std::string> command = {"ip", "-j"};

	command.insert(command.end(), words.begin(), words.end());
	const Host::Ran ran = host.run(command);

	if (!ran.started)
		throw DeviceError("there is no program ip (iproute2)");
	Json j = Json::parse(ran.out.empty() ? "[]" : ran.out, nullptr, false);

	/* A netdev or a table that is not there is an error of ip. */
	if (ran.status != 0 || !j.is_array())
		return Json::array();
	return j;
}

std::string text_at(const Json &j, const char *key)
{
	if (!j.is_object())
		return "";
	const auto it = j.find(key);

	return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

uint64_t number_at(const Json &j, const char *key)
{
	if (!j.is_object())
		return 0;
	const auto it = j.find(key);

	return it != j.end() && it->is_number_unsigned() ? it->get<uint64_t>()
							 : 0;
}

void read_link(Host &host, const std::string &netdev, Present &out)
{
	for (const Json &l : ask_ip(host, {"addr", "show", "dev", netdev})) {
		if (text_at(l, "ifname") != netdev)
			continue;
		out.there = true;
		out.index = number_at(l, "ifindex");
		out.mtu = number_at(l, "mtu");
		for (const Json &flag :
		     l.contains("flags") ? l["flags"] : Json::array())
			out.up |= flag == "UP";
		for (const Json &a :
		     l.contains("addr_info") ? l["addr_info"] : Json::array())
			out.addresses.insert(
				fmt::format("{}/{}", text_at(a, "local"),
					    number_at(a, "prefixlen")));
	}
}

/* As in Wanted: always with a length. */
std::string full_prefix(std::string dst, bool v6)
{
	if (dst == "default")
		dst = v6 ? "::/0" : "0.0.0.0/0";
	if (dst.find('/') == std::string::npos)
		dst += v6 ? "/128" : "/32";
	return dst;
}

void read_routes(Host &host, const std::string &netdev, bool v6, Present &out)
{
	for (const Json &r :
	     ask_ip(host, {v6 ? "-6" : "-4", "route", "show", "dev", netdev}))
		if (const std::string dst = text_at(r, "dst"); !dst.empty())
			out.routes.insert(full_prefix(dst, v6));
}

std::string sysctl_path(std::string name)
{
	/* Slashes in names are dots in paths, and dots slashes. */
	for (char &c : name)
		c = c == '.' ? '/' : c == '/' ? '.' : c;
	return "/proc/sys/" + name;
}

void run_or_throw(Host &host, const std::vector<std::string> &command)
{
	const Host::Ran ran = host.run(command);

	if (!ran.started)
		throw DeviceError(
			fmt::format("there is no program {}", command[0]));
	if (ran.status != 0)
		throw DeviceError(fmt::format(
			"{}: {}", fmt::join(command, " "),
			printable(ran.err.substr(0, ran.err.find('\n')))));
}

/*
 * Of routes, the prefix: steps_to() wants one only if the netdev has none to
 * it. So those that were recorded before are gone, also with other routers, or
 * with another metric, as the usual one has the number of the netdev.
 */
bool same_change(const Step &a, const Step &b)
{
	return a.kind == b.kind && a.name == b.name;
}

/*
 * What is recorded of @s: a value that an earlier call has set goes back to
 * what was there before that call. @kept: the records of earlier calls.
 */
Step recorded(const Step &s, const Steps &kept)
{
	Step out = s;

	for (const Step &old : kept)
		if (same_change(old, s) && !s.from.empty() && old.to == s.from)
			out.from = old.from;
	return out;
}
} // namespace

Present read_present(Host &host, const std::string &netdev)
{
	Present out;

	read_link(host, netdev, out);
	if (!out.there)
		return out;
	read_routes(host, netdev, false, out);
	read_routes(host, netdev, true, out);
	for (const std::string &name : sysctl_names(netdev))
		if (const auto v = number_of(host, sysctl_path(name)))
			out.sysctls[name] = *v;
	return out;
}

Registry::Registry(Host &host)
	: host_(host), path_(fmt::format("/run/mrc/planes-{}.json",
					 host.network_namespace())),
	  lock_(host.lock(path_ + ".lock"))
{
	const Host::File f = host.read(path_);

	if (f.err && f.err != ENOENT)
		throw DeviceError(path_, f.err);
	planes = planes_in(f.text, path_);
}

void Registry::save()
{
	const int err = host_.replace(path_, state_text(planes));

	if (err)
		throw DeviceError(path_, err);
}

void make(Host &host, Registry &registry, const std::string &netdev,
	  const Steps &steps)
{
	/* Before the first change: a file that cannot be written ends it. */
	registry.save();
	if (steps.empty())
		return;
	const Steps before = registry.planes[netdev];
	Steps kept = before, done, records;

	try {
		for (const Step &s : steps) {
			run_or_throw(host, make_command(s));
			done.push_back(s);
			/* A value that is as it was needs no record. */
			if (const Step r = recorded(s, kept);
			    r.from.empty() || r.from != r.to)
				records.push_back(r);
			/*
			 * One that was made before is not there any more: the
			 * netdev has gone and come, somebody took it back, or
			 * it is another value now. Of this call all are: routes
			 * with one prefix differ in their routers.
			 */
			std::erase_if(kept, [&](const Step &old) {
				return same_change(old, s);
			});
			Steps &now = registry.planes[netdev];

			now = kept;
			now.insert(now.end(), records.begin(), records.end());
			if (now.empty())
				registry.planes.erase(netdev);
			registry.save();
		}
	} catch (const DeviceError &) {
		std::reverse(done.begin(), done.end());
		for (const Step &s : done)
			host.run(undo_command(s));
		if (before.empty())
			registry.planes.erase(netdev);
		else
			registry.planes[netdev] = before;
		registry.save();
		throw;
	}
}

bool undo(Host &host, const Steps &steps, std::ostream &err)
{
	bool good = true;

	for (const Step &s : steps) {
		const std::string command =
			fmt::format("{}", fmt::join(undo_command(s), " "));

		/* It went with the netdev, or somebody else changed it. */
		if (!in_effect(s, read_present(host, s.netdev))) {
			err << "mrcctl: left alone, it has changed since: "
			    << printable(command) << '\n';
			continue;
		}
		try {
			run_or_throw(host, undo_command(s));
		} catch (const DeviceError &e) {
			err << "mrcctl: " << e.what() << '\n';
			good = false;
		}
	}
	return good;
}
} // namespace mrcctl::plane
