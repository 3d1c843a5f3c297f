// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plane.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcctl::plane
{
namespace
{
constexpr uint64_t least_mtu = 4300, usual_mtu = 4500;

/* Names of kinds in the file of states. */
constexpr std::array<const char *, 5> kind_names{"mtu", "up", "address",
						 "route", "sysctl"};

bool is_six(const std::string &address)
{
	return address.find(':') != std::string::npos;
}

std::string conf_name(std::string netdev, const char *name)
{
	/* Dots in names of netdevs are slashes in names of sysctls. */
	std::replace(netdev.begin(), netdev.end(), '.', '/');
	return fmt::format("net.ipv4.conf.{}.{}", netdev, name);
}

std::optional<uint64_t> value_of(const Present &now, const std::string &name)
{
	const auto it = now.sysctls.find(name);

	if (it == now.sysctls.end())
		return {};
	return it->second;
}

/* The larger value of "all" and of the netdev holds. */
uint64_t effective(const Present &now, const std::string &netdev,
		   const char *name)
{
	return std::max(value_of(now, conf_name("all", name)).value_or(0),
			value_of(now, conf_name(netdev, name)).value_or(0));
}

void set_sysctl(const Wanted &w, const Present &now, const std::string &name,
		uint64_t to, Steps &out)
{
	const std::optional<uint64_t> from = value_of(now, name);

	if (from && *from != to)
		out.push_back({.kind = Kind::sysctl,
			       .netdev = w.netdev,
			       .name = name,
			       .from = std::to_string(*from),
			       .to = std::to_string(to)});
}

void sysctl_steps(const Wanted &w, const Present &now, Steps &out)
{
	if (effective(now, w.netdev, "rp_filter") == 1)
		set_sysctl(w, now, conf_name("all", "rp_filter"), 2, out);
	if (effective(now, w.netdev, "arp_ignore") == 0)
		set_sysctl(w, now, conf_name("all", "arp_ignore"), 1, out);
	set_sysctl(w, now, conf_name("all", "arp_filter"), 0, out);
	set_sysctl(w, now, conf_name(w.netdev, "arp_filter"), 0, out);
}

/* The address of the family, without its length, as the source of routes. */
std::string source_for(const Wanted &w, const std::string &prefix)
{
	for (const std::string &a : w.addresses)
		if (is_six(a) == is_six(prefix))
			return a.substr(0, a.find('/'));
	return "";
}

/* Planes have different metrics, so that the kernel keeps all routes. */
std::string metric_of(const WantedRoute &r, const Present &now)
{
	return std::to_string(r.metric.value_or(100 + now.index));
}

std::vector<std::string> ip_words(const std::string &address)
{
	return is_six(address) ? std::vector<std::string>{"ip", "-6"}
			       : std::vector<std::string>{"ip", "-4"};
}

std::vector<std::string> with(std::vector<std::string> words,
			      const std::vector<std::string> &more)
{
	words.insert(words.end(), more.begin(), more.end());
	return words;
}

std::vector<std::string> link_words(const Step &s, const std::string &value)
{
	if (s.kind == Kind::up)
		return {"ip", "link", "set", "dev", s.netdev, value};
	return {"ip", "link", "set", "dev", s.netdev, "mtu", value};
}

std::vector<std::string> sysctl_words(const Step &s, const std::string &value)
{
	return {"sysctl", "-q", "-w", s.name + "=" + value};
}

std::vector<std::string> route_words(const Step &s, const char *verb)
{
	std::vector<std::string> words =
		with(ip_words(s.name), {"route", verb, s.name});

	if (!s.via.empty())
		words = with(words, {"via", s.via});
	words = with(words, {"dev", s.netdev, "metric", s.metric});
	if (!s.source.empty() && verb == std::string("add"))
		words = with(words, {"src", s.source});
	return words;
}

/* A member that is a string; "" if it is missing. */
std::string member_text(const Json &j, const char *key)
{
	const auto it = j.find(key);

	return it == j.end() ? "" : it->get<std::string>();
}

Step step_in(const Json &j)
{
	const std::string kind = j.at("kind");
	const auto it = std::find(kind_names.begin(), kind_names.end(), kind);
	Step s;

	if (it == kind_names.end())
		throw Json::other_error::create(501, "no kind " + kind, &j);
	s.kind = static_cast<Kind>(it - kind_names.begin());
	s.netdev = j.at("netdev");
	s.name = member_text(j, "name");
	s.from = member_text(j, "from");
	s.to = member_text(j, "to");
	s.via = member_text(j, "via");
	s.source = member_text(j, "source");
	s.metric = member_text(j, "metric");
	return s;
}
} // namespace

std::vector<std::string> sysctl_names(const std::string &netdev)
{
	std::vector<std::string> out;

	for (const char *name : {"rp_filter", "arp_ignore", "arp_filter"})
		for (const std::string &of : {std::string("all"), netdev})
			out.push_back(conf_name(of, name));
	return out;
}

Steps steps_to(const Wanted &w, const Present &now)
{
	const uint64_t mtu =
		w.mtu.value_or(now.mtu < least_mtu ? usual_mtu : now.mtu);
	Steps out;

	if (!now.there)
		throw DeviceError(fmt::format("no netdev {}", w.netdev));
	if (mtu != now.mtu)
		out.push_back({.kind = Kind::mtu,
			       .netdev = w.netdev,
			       .name = "",
			       .from = std::to_string(now.mtu),
			       .to = std::to_string(mtu)});
	if (!now.up)
		out.push_back({.kind = Kind::up,
			       .netdev = w.netdev,
			       .name = "",
			       .from = "down",
			       .to = "up"});
	for (const std::string &a : w.addresses)
		if (!now.addresses.contains(a))
			out.push_back({.kind = Kind::address,
				       .netdev = w.netdev,
				       .name = a});
	sysctl_steps(w, now, out);
	for (const WantedRoute &r : w.routes)
		if (!now.routes.contains(r.prefix))
			out.push_back({.kind = Kind::route,
				       .netdev = w.netdev,
				       .name = r.prefix,
				       .via = r.via,
				       .source = source_for(w, r.prefix),
				       .metric = metric_of(r, now)});
	return out;
}

std::vector<std::string> make_command(const Step &s)
{
	switch (s.kind) {
	case Kind::mtu:
	case Kind::up:
		return link_words(s, s.to);
	case Kind::address: {
		std::vector<std::string> words =
			with(ip_words(s.name),
			     {"addr", "add", s.name, "dev", s.netdev});

		/* It is on several netdevs: no duplicate is looked for. */
		return is_six(s.name) ? with(words, {"nodad"}) : words;
	}
	case Kind::route:
		return route_words(s, "add");
	case Kind::sysctl:
		break;
	}
	return sysctl_words(s, s.to);
}

std::vector<std::string> undo_command(const Step &s)
{
	switch (s.kind) {
	case Kind::mtu:
	case Kind::up:
		return link_words(s, s.from);
	case Kind::address:
		return with(ip_words(s.name),
			    {"addr", "del", s.name, "dev", s.netdev});
	case Kind::route:
		return route_words(s, "del");
	case Kind::sysctl:
		break;
	}
	return sysctl_words(s, s.from);
}

bool in_effect(const Step &s, const Present &now)
{
	switch (s.kind) {
	case Kind::mtu:
		return now.there && std::to_string(now.mtu) == s.to;
	case Kind::up:
		return now.there && now.up;
	case Kind::address:
		return now.addresses.contains(s.name);
	case Kind::route:
		return now.routes.contains(s.name);
	case Kind::sysctl:
		break;
	}
	const std::optional<uint64_t> value = value_of(now, s.name);

	return value && std::to_string(*value) == s.to;
}

bool is_shared(const Step &s)
{
	return s.kind == Kind::sysctl &&
	       s.name.starts_with("net.ipv4.conf.all.");
}

Steps take(Planes &planes, const std::string &netdev)
{
	const auto it = planes.find(netdev);
	Steps out;

	if (it == planes.end())
		return out;
	const Steps steps = std::move(it->second);

	planes.erase(it);
	for (const Step &s : steps)
		if (is_shared(s) && !planes.empty()) {
			/* First there, so that it is undone last. */
			Steps &heir = planes.begin()->second;

			heir.insert(heir.begin(), s);
			heir.front().netdev = planes.begin()->first;
		} else {
			out.push_back(s);
		}
	std::reverse(out.begin(), out.end());
	return out;
}

std::string state_text(const Planes &planes)
{
	Json all = Json::object();

	for (const auto &[netdev, steps] : planes) {
		Json list = Json::array();

		for (const Step &s : steps) {
			Json j = {{"kind",
				   kind_names.at(
					   static_cast<std::size_t>(s.kind))},
				  {"netdev", s.netdev}};

			for (const auto &[key, value] :
			     {std::pair{"name", s.name},
			      {"from", s.from},
			      {"to", s.to},
			      {"via", s.via},
			      {"source", s.source},
			      {"metric", s.metric}})
				if (!value.empty())
					j[key] = value;
			list.push_back(j);
		}
		all[netdev] = list;
	}
	return Json{{"version", 1}, {"planes", all}}.dump(1) + "\n";
}

Planes planes_in(const std::string &text, const std::string &file)
{
	Planes out;

	if (text.empty())
		return out;
	try {
		const Json j = Json::parse(text);

		if (j.at("version") != 1)
			throw DeviceError(fmt::format(
				"{}: of another version of mrcctl", file));
		for (const auto &[netdev, steps] : j.at("planes").items()) {
			Steps &list = out[netdev];

			for (const Json &s : steps)
				list.push_back(step_in(s));
		}
	} catch (const Json::exception &e) {
		throw DeviceError(fmt::format("{}: {}", file, e.what()));
	}
	return out;
}
} // namespace mrcctl::plane
