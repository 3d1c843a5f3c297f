// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"
#include "names.hpp"

namespace mrcctl
{
namespace
{
/* With base 16 a prefix 0x is allowed. Error messages show it, too. */
uint64_t number_in(std::string_view s, int base, uint64_t max)
{
	const bool prefix = base == 16 && s.starts_with("0x");
	const char *const begin = s.data() + (prefix ? 2 : 0);
	const char *const end = s.data() + s.size();
	uint64_t v = 0;
	const auto r = std::from_chars(begin, end, v, base);

	if (begin == end || r.ec == std::errc::invalid_argument || r.ptr != end)
		throw UsageError(fmt::format("\"{}\" is no number", s));
	if (r.ec != std::errc() || v > max)
		throw UsageError(fmt::format("{} is more than {}", s, max));
	return v;
}

uint32_t hex32(std::string_view s)
{
	return static_cast<uint32_t>(number_in(s, 16, UINT32_MAX));
}

constexpr std::array<uint8_t, 12> v4_mapped = {0, 0, 0, 0, 0,	 0,
					       0, 0, 0, 0, 0xff, 0xff};
} // namespace

bool is_v4(const std::array<uint8_t, 16> &addr)
{
	return std::equal(v4_mapped.begin(), v4_mapped.end(), addr.begin());
}

std::vector<std::string> split(std::string_view s, char sep)
{
	std::vector<std::string> out;

	for (;;) {
		const std::size_t end = s.find(sep);

		out.emplace_back(s.substr(0, end));
		if (end == std::string_view::npos)
			return out;
		s.remove_prefix(end + 1);
	}
}

uint64_t parse_number(std::string_view s, uint64_t max)
{
	return number_in(s, s.starts_with("0x") ? 16 : 10, max);
}

uint64_t parse_id(std::string_view s)
{
	return parse_number(s, no_profile - 1);
}

double parse_real(std::string_view s)
{
	if (s.starts_with("0x"))
		return static_cast<double>(parse_number(s));
	const char *const end = s.data() + s.size();
	double v = 0;
	const auto r = std::from_chars(s.data(), end, v);

	if (s.empty() || r.ec != std::errc() || r.ptr != end ||
	    !std::isfinite(v) || v < 0)
		throw UsageError(fmt::format("\"{}\" is no number", s));
	return v;
}

bool parse_switch(std::string_view s)
{
	if (s == "on")
		return true;
	if (s == "off")
		return false;
	throw UsageError(fmt::format("\"{}\" is not on or off", s));
}

uint64_t parse_time(std::string_view s, uint64_t unit, uint64_t max)
{
	static constexpr struct {
		std::string_view name;
		uint64_t ns;
	} units[] = {
		{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	std::string_view num = s;

	for (const auto &u : units)
		if (s.ends_with(u.name)) {
			num.remove_suffix(u.name.size());
			unit = u.ns;
			break;
		}
	const double ns = parse_real(num) * static_cast<double>(unit);

	if (ns > static_cast<double>(max))
		throw UsageError(fmt::format("{} is too long", s));
	return static_cast<uint64_t>(std::llround(ns));
}

Ev parse_ev(std::string_view s)
{
	const auto part = split(s, '@');
	Ev ev;

	if (part.size() != 2 || part[0].empty() || part[0].size() % 2 ||
	    part[0].size() > 2 * ev.val.size())
		throw UsageError(fmt::format(
			"\"{}\" is no EV: HEX@PORT, up to 32 bytes", s));
	for (std::size_t i = 0; i < part[0].size() / 2; i++)
		ev.val[i] = static_cast<uint8_t>(
			number_in(part[0].substr(2 * i, 2), 16, 255));
	ev.port = static_cast<uint8_t>(parse_number(part[1], 255));
	return ev;
}

std::string show_ev(const Ev &ev)
{
	std::size_t n = ev.val.size();

	while (n > 1 && !ev.val[n - 1])
		n--;
	return fmt::format("{:02x}@{}",
			   fmt::join(ev.val.begin(),
				     ev.val.begin() + static_cast<int>(n), ""),
			   ev.port);
}

std::vector<Ev> parse_evs(std::string_view list, std::istream &in)
{
	std::vector<Ev> out;
	std::string line;

	if (list != "-") {
		for (const std::string &s : split(list, ','))
			out.push_back(parse_ev(s));
		return out;
	}
	while (std::getline(in, line))
		if (!line.empty() && line[0] != '#')
			out.push_back(parse_ev(line));
	if (out.empty())
		throw UsageError("no EVs on standard input");
	return out;
}

EvField parse_field(std::string_view s)
{
	const auto part = split(s, '/');
	EvField f;

	if (part.size() != 3 && part.size() != 5)
		throw UsageError(fmt::format(
			"\"{}\" is no field: WIDTH/INIT/MASK[/MIN/MAX]", s));
	f.width = static_cast<uint32_t>(number_in(part[0], 10, UINT32_MAX));
	f.init = hex32(part[1]);
	f.mask = hex32(part[2]);
	if (part.size() == 5) {
		f.min = hex32(part[3]);
		f.max = hex32(part[4]);
	}
	return f;
}

std::string show_field(const EvField &f)
{
	const std::string s =
		fmt::format("{}/{:x}/{:x}", f.width, f.init, f.mask);

	return f.min || f.max ? fmt::format("{}/{:x}/{:x}", s, f.min, f.max)
			      : s;
}

std::vector<uint8_t> parse_widths(std::string_view list)
{
	std::vector<uint8_t> out;

	for (const std::string &s : split(list, ','))
		out.push_back(static_cast<uint8_t>(parse_number(s, 255)));
	return out;
}

uint32_t parse_events(std::string_view list)
{
	uint32_t mask = 0;

	if (list == "none")
		return 0;
	for (const std::string &s : split(list, ','))
		mask |= parse_event(s);
	return mask;
}

uint32_t parse_ports(std::string_view list)
{
	uint32_t mask = 0;

	if (list == "none")
		return 0;
	if (list == "all")
		return UINT32_MAX;
	for (const std::string &s : split(list, ','))
		mask |= 1u << parse_number(s, 31);
	if (mask & 1)
		throw UsageError("ports count from 1");
	return mask;
}

std::array<uint8_t, 16> parse_address(std::string_view s)
{
	const std::string str(s);
	std::array<uint8_t, 16> a{};

	if (inet_pton(AF_INET6, str.c_str(), a.data()) == 1)
		return a;
	a = {};
	std::copy(v4_mapped.begin(), v4_mapped.end(), a.begin());
	if (inet_pton(AF_INET, str.c_str(), &a[12]) == 1)
		return a;
	throw UsageError(fmt::format("\"{}\" is no address", s));
}

Prefix parse_prefix(std::string_view s)
{
	const auto part = split(s, '/');
	const bool v4 = s.find(':') == std::string_view::npos;
	const uint32_t bits = v4 ? 32 : 128;
	Prefix p{.addr = parse_address(part[0]), .len = 128};

	if (part.size() > 2)
		throw UsageError(fmt::format("\"{}\" is no prefix", s));
	if (part.size() == 2)
		p.len = static_cast<uint32_t>(parse_number(part[1], bits) +
					      (128 - bits));
	return p;
}

std::string show_address(const std::array<uint8_t, 16> &addr)
{
	char s[INET6_ADDRSTRLEN] = "";

	if (is_v4(addr))
		inet_ntop(AF_INET, &addr[12], s, sizeof(s));
	else
		inet_ntop(AF_INET6, addr.data(), s, sizeof(s));
	return s;
}

std::string show_prefix(const Prefix &p)
{
	/* ::ffff:0:0/95 and shorter prefixes are IPv6 prefixes. */
	if (is_v4(p.addr) && p.len >= 96)
		return fmt::format("{}/{}", show_address(p.addr), p.len - 96);
	char s[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, p.addr.data(), s, sizeof(s));
	return fmt::format("{}/{}", s, p.len);
}

uint16_t parse_udp_port(std::string_view s)
{
	const uint64_t n = parse_number(s, 65535);

	if (!n)
		throw UsageError("0 is no UDP port");
	return static_cast<uint16_t>(n);
}

uint64_t parse_profile(std::string_view s)
{
	return s == "none" ? no_profile : parse_id(s);
}

std::string show_profile(uint64_t id)
{
	return id == no_profile ? "none" : std::to_string(id);
}

const std::string &Words::next(std::string_view what)
{
	if (empty())
		throw UsageError(fmt::format("{} is missing", what));
	return words_[at_++];
}

void Words::done() const
{
	if (!empty())
		throw UsageError(fmt::format("what is \"{}\"?", peek()));
}
} // namespace mrcctl
