// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fabric_file.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "error.hpp"
#include "tc_commands.hpp"
#include "topology.hpp"
#include "units.hpp"
#include "yaml.hpp"

namespace mrclab
{
namespace
{
constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view digits = "0123456789";

/* Limits of a file. What a fabric in one machine can hold is less. */
constexpr uint64_t max_planes = 16; /* ports of a device */
constexpr uint64_t max_switches = 4096;
constexpr uint64_t max_hosts = 4096;
/* With settings of single links all links are looked at. */
constexpr uint64_t max_links = 1 << 17;

bool only(std::string_view word, const std::string &allowed)
{
	return word.find_first_not_of(allowed) == std::string_view::npos;
}

/* Of namespaces: a part of a file name, or nothing. */
std::string prefix_word(const std::string &w)
{
	if (w.empty())
		return w;
	return parse_name(w, 32, "prefix");
}

uint16_t block6(std::string_view w)
{
	unsigned int n = 0;
	const auto r = std::from_chars(w.data(), w.data() + w.size(), n, 16);

	/*
	 * fc00::/7. Elsewhere 16 bits are no prefix for private use: 2001 has
	 * that for documentation, and addresses of others.
	 */
	if (r.ec != std::errc() || r.ptr != w.data() + w.size() || n > 0xffff ||
	    (n & 0xfe00) != 0xfc00)
		throw UsageError(fmt::format(
			"\"{}\" is no block: 16 bits in hexadecimal, fc00 to "
			"fdff",
			w));
	return static_cast<uint16_t>(n);
}

uint16_t block_of_ipv4(std::string_view w)
{
	const std::size_t dot = w.find('.');
	uint64_t a = 0, b = 0;

	if (dot != std::string_view::npos) {
		a = parse_count(w.substr(0, dot), 0, 255);
		b = parse_count(w.substr(dot + 1), 0, 255);
	}
	if (a != 10 && !(a == 172 && b >= 16 && b < 32) &&
	    !(a == 192 && b == 168) && !(a == 198 && (b == 18 || b == 19)))
		throw UsageError(fmt::format(
			"\"{}\" is no private IPv4 network of 16 bits; one is "
			"written like \"10.1\"",
			w));
	return static_cast<uint16_t>(a << 8 | b);
}

Forwarding forwarding_word(const std::string &w)
{
	if (w == "srv6")
		return Forwarding::srv6;
	if (w == "ecmp")
		return Forwarding::ecmp;
	if (w == "srv6+ecmp")
		return Forwarding::both;
	throw UsageError(
		fmt::format("\"{}\" is none of srv6, ecmp, srv6+ecmp", w));
}

Devices devices_word(const std::string &w)
{
	if (w == "mrc")
		return Devices::mrc;
	if (w == "rxe")
		return Devices::rxe;
	if (w == "none")
		return Devices::none;
	throw UsageError(fmt::format("\"{}\" is none of mrc, rxe, none", w));
}

/* A word of a command of mrcctl. */
std::string mrcctl_word(const std::string &w)
{
	if (w.empty() || !only(w, std::string(lower) + std::string(digits) +
					  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-+_."))
		throw UsageError(fmt::format(
			"\"{}\" is no word of letters, digits and -+_.", w));
	return w;
}

/* BYTES, MIN..MAX or "all". */
void set_mark(LinkProps &p, std::string_view w)
{
	const std::size_t dots = w.find("..");

	if (w == "all" || w == "none") {
		p.mark_min = 0;
		p.mark_max = w == "all";
		return;
	}
	p.mark_min = parse_size(w.substr(0, dots));
	p.mark_max = dots == std::string_view::npos
			     ? p.mark_min
			     : parse_size(w.substr(dots + 2));
	if (*p.mark_max < *p.mark_min || *p.mark_max == 0)
		throw UsageError(fmt::format(
			"\"{}\": marking starts at the smaller of two sizes "
			"above 0",
			w));
}

/* "none" takes back the rate of another line; it is 0. */
uint64_t parse_rate_or_none(std::string_view w)
{
	return w == "none" ? 0 : parse_rate(w);
}

std::string show_rate_or_none(uint64_t rate)
{
	return rate ? show_rate(rate) : "none";
}

std::string show_mark(uint64_t min, uint64_t max)
{
	return max ? show_size(min) + ".." + show_size(max) : "none";
}

/* The properties of links by name. "mark" has two members and a parser. */
struct WholeProp {
	std::string_view key;
	std::optional<uint64_t> LinkProps::*member;
	uint64_t (*parse)(std::string_view);
	std::string (*show)(uint64_t);
};

struct ShareProp {
	std::string_view key;
	std::optional<double> LinkProps::*member;
};

constexpr WholeProp whole_props[] = {
	{"rate", &LinkProps::rate, parse_rate_or_none, show_rate_or_none},
	{"burst", &LinkProps::burst, parse_size, show_size},
	{"delay", &LinkProps::delay, parse_time, show_time},
	{"jitter", &LinkProps::jitter, parse_time, show_time},
	{"queue", &LinkProps::queue, parse_size, show_size},
	{"trim", &LinkProps::trim, parse_size, show_size},
	{"trim_len", &LinkProps::trim_len, parse_size, show_size},
};

constexpr ShareProp share_props[] = {
	{"loss", &LinkProps::loss},
	{"corrupt", &LinkProps::corrupt},
	{"duplicate", &LinkProps::duplicate},
	{"reorder", &LinkProps::reorder},
};

struct Reader {
	const YamlFile &yaml;
	Fabric &f;

	YamlFile::Key number(std::string_view key, uint32_t &to, uint64_t min,
			     uint64_t max) const
	{
		return {key, [this, key, &to, min, max](const YAML::Node &v) {
				f.lines[std::string(key)] = YamlFile::line(v);
				to = static_cast<uint32_t>(
					parse_count(yaml.word(v), min, max));
			}};
	}

	template <typename T, typename Parse>
	YamlFile::Key value(std::string_view key, T &to, Parse parse) const
	{
		return {key, [this, key, &to, parse](const YAML::Node &v) {
				f.lines[std::string(key)] = YamlFile::line(v);
				to = parse(yaml.word(v));
			}};
	}

	void props(const YAML::Node &node, const std::string &what,
		   LinkProps &to) const
	{
		yaml.each(node, what,
			  [&](const YAML::Node &key, const YAML::Node &v) {
				  set_link_prop(to, key.Scalar(), yaml.word(v));
			  });
	}

	void links(const YAML::Node &node) const
	{
		yaml.each(node, "links",
			  [&](const YAML::Node &key, const YAML::Node &v) {
				  const std::string &name = key.Scalar();
				  const int line = YamlFile::line(key);

				  if (name == "host" || name == "fabric") {
					  f.lines["links/" + name] = line;
					  return props(
						  v, name,
						  name == "host"
							  ? f.host_links
							  : f.fabric_links);
				  }
				  LinkRule rule{name, {}, line};

				  props(v, "link " + name, rule.props);
				  f.rules.push_back(rule);
			  });
	}

	void profiles(const YAML::Node &node) const
	{
		f.lines["profiles"] = YamlFile::line(node);
		const auto cc = [&](const YAML::Node &v) {
			yaml.each(
				v, "cc",
				[&](const YAML::Node &k, const YAML::Node &n) {
					const std::string key =
						mrcctl_word(k.Scalar());
					const std::string to =
						mrcctl_word(yaml.word(n));

					if (key == "algorithm")
						f.profiles.cc = to;
					else
						f.profiles.cc_params
							.emplace_back(key, to);
				});
			if (f.profiles.cc.empty())
				throw UsageError("there is no \"algorithm\"");
		};

		yaml.map(node, "profiles",
			 {{"evs",
			   [&](const YAML::Node &v) {
				   f.lines["profiles/evs"] = YamlFile::line(v);
				   f.profiles.evs = yaml.truth(v);
			   }},
			  {"cc", cc}});
	}
};

/*
 * What cannot be in one link. Of a fabric with rules each direction is looked
 * at: a rule can add what the settings before it lack, or the reverse.
 */
void check_links(const Fabric &f)
{
	const auto check = [&f](const LinkProps &p, const std::string &what,
				int line) {
		try {
			queues_of("", p, false);
			check_room(p, f.mtu);
		} catch (const UsageError &e) {
			throw FileError(f.file, line, what + ": " + e.what());
		}
	};
	const int host = f.line_of("links/host");
	const int fabric = f.line_of("links/fabric");

	if (f.rules.empty()) {
		check(f.host_links, "host", host);
		check(f.fabric_links, "fabric", fabric);
		return;
	}
	if (f.planes * (uint64_t{f.t0} * f.t1 + f.all_hosts()) > max_links)
		throw FileError(f.file, f.rules.front().line,
				fmt::format("single links can be set in "
					    "fabrics of up to {} links",
					    max_links));

	const Topology t(f);
	std::map<Direction, int> lines;

	for (const LinkRule &r : f.rules) {
		const std::vector<Direction> found = t.matching(r.pattern);

		if (found.empty())
			throw FileError(
				f.file, r.line,
				fmt::format("\"{}\" matches no link; one is "
					    "named like h1:p1, p1l1:h1 or "
					    "p1l1:s1",
					    r.pattern));
		for (const Direction d : found)
			lines[d] = r.line;
	}
	for (uint32_t l = 0; l < t.links().size(); l++) {
		const bool to_host =
			t.nodes()[t.links()[l].low.node].kind == Kind::host;

		for (const bool up : {true, false}) {
			const Direction d{l, up};
			const auto line = lines.find(d);

			check(t.props(d), t.name(d),
			      line != lines.end() ? line->second
			      : to_host		  ? host
						  : fabric);
		}
	}
}

/* What single keys cannot show. */
void check(const YamlFile &yaml, const Fabric &f)
{
	for (const char *key : {"name", "planes", "t0", "t1", "hosts"})
		if (!f.line_of(key))
			yaml.fail(yaml.root(),
				  fmt::format("\"{}\" is missing", key));
	if (f.t1 == 0 && f.t0 > 1)
		throw FileError(f.file, f.line_of("t1"),
				fmt::format("{} T0 switches are not connected "
					    "without a T1",
					    f.t0));
	if (f.profiles.evs && !f.srv6())
		throw FileError(f.file, f.line_of("profiles/evs"),
				"profiles with EVs name SRv6 paths; the "
				"forwarding is ecmp");
	if (f.devices != Devices::mrc &&
	    (f.profiles.evs || !f.profiles.cc.empty()))
		throw FileError(f.file, f.line_of("profiles"),
				fmt::format("profiles are loaded into devices "
					    "of the kind mrc; \"devices\" is "
					    "{}",
					    f.devices == Devices::rxe
						    ? "rxe"
						    : "none"));
	check_links(f);
}
} // namespace

void set_link_prop(LinkProps &p, std::string_view key, std::string_view value)
{
	if (key == "mark")
		return set_mark(p, value);
	for (const WholeProp &w : whole_props)
		if (w.key == key) {
			p.*w.member = w.parse(value);
			return;
		}
	for (const ShareProp &s : share_props)
		if (s.key == key) {
			p.*s.member = parse_percent(value);
			return;
		}

	std::string known = "mark";

	for (const WholeProp &w : whole_props)
		known += ", " + std::string(w.key);
	for (const ShareProp &s : share_props)
		known += ", " + std::string(s.key);
	throw UsageError(fmt::format("a link has no \"{}\"; its keys are {}",
				     key, known));
}

std::vector<std::pair<std::string, std::string>>
link_prop_words(const LinkProps &p)
{
	std::vector<std::pair<std::string, std::string>> words;

	for (const WholeProp &w : whole_props)
		if (p.*w.member)
			words.emplace_back(w.key, w.show(*(p.*w.member)));
	for (const ShareProp &s : share_props)
		if (p.*s.member)
			words.emplace_back(s.key, show_percent(*(p.*s.member)));
	if (p.mark_min && p.mark_max)
		words.emplace_back("mark", show_mark(*p.mark_min, *p.mark_max));
	return words;
}

Fabric parse_fabric(std::string_view text, const std::string &file)
{
	const YamlFile yaml(text, file);
	Fabric f;
	const Reader r{yaml, f};
	bool prefix = false;

	f.file = file;
	yaml.map(yaml.root(), "a fabric",
		 {r.value("name", f.name,
			  [](const std::string &w) {
				  return parse_name(w, 16, "name");
			  }),
		  r.value("prefix", f.prefix,
			  [&prefix](const std::string &w) {
				  prefix = true;
				  return prefix_word(w);
			  }),
		  r.number("planes", f.planes, 1, max_planes),
		  r.number("t0", f.t0, 1, max_switches),
		  r.number("t1", f.t1, 0, max_switches),
		  r.number("hosts", f.hosts, 1, max_hosts),
		  r.value("forwarding", f.forwarding, forwarding_word),
		  r.number("mtu", f.mtu, 1280, 9216),
		  r.value("block", f.block, block6),
		  r.value("block4", f.block4, block_of_ipv4),
		  r.value("devices", f.devices, devices_word),
		  r.value("device", f.device,
			  [](const std::string &w) {
				  return parse_name(w, 16, "device name");
			  }),
		  {"links", [&r](const YAML::Node &v) { r.links(v); }},
		  {"profiles", [&r](const YAML::Node &v) { r.profiles(v); }}});
	/* Without them switches would forward no packet of a queue pair. */
	if (!f.line_of("profiles/evs"))
		f.profiles.evs = f.needs_evs();
	check(yaml, f);
	if (!prefix)
		f.prefix = f.name + "-";
	return f;
}

Fabric read_fabric(const std::string &file)
{
	return parse_fabric(read_text(file), file);
}
} // namespace mrclab
