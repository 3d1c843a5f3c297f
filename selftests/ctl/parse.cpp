// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "parse.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>

namespace
{
uint64_t parse_base(const std::string &s, int base, uint64_t max)
{
	uint64_t v = 0;
	const char *end = s.data() + s.size();
	const auto r = std::from_chars(s.data(), end, v, base);

	if (s.empty() || r.ec != std::errc() || r.ptr != end || v > max)
		throw Failure("not a number up to " + std::to_string(max) +
			      ": " + s);
	return v;
}

struct Name {
	const char *name;
	uint32_t value;
};

uint32_t lookup(std::span<const Name> names, const std::string &s,
		const char *what)
{
	for (const Name &n : names)
		if (s == n.name)
			return n.value;
	throw Failure(std::string("not ") + what + ": " + s);
}

const char *name_of(std::span<const Name> names, uint32_t value)
{
	for (const Name &n : names)
		if (value == n.value)
			return n.name;
	return "?";
}

constexpr Name fmt_modes[] = {
	{"udp", mrc::UDP}, {"stev", mrc::STEV}, {"srv6", mrc::SRV6}};
constexpr Name ev_modes[] = {{"auto", mrc::AUTO},
			     {"explicit", mrc::EXPLICIT},
			     {"generated", mrc::GENERATED}};
constexpr Name states[] = {{"init", mrc::INIT},
			   {"offline", mrc::OFFLINE},
			   {"online", mrc::ONLINE}};
constexpr Name ev_states[] = {{"good", mrc::GOOD},
			      {"assumed_bad", mrc::BAD},
			      {"denied", mrc::DENIED},
			      {"unknown", mrc::UNKNOWN}};
} // namespace

std::vector<std::string> split(const std::string &s, char sep)
{
	std::vector<std::string> out;
	std::size_t at = 0;

	if (s.empty())
		return out;
	for (;;) {
		const std::size_t end = s.find(sep, at);

		out.push_back(s.substr(
			at, end == std::string::npos ? end : end - at));
		if (end == std::string::npos)
			return out;
		at = end + 1;
	}
}

uint64_t number(const std::string &s, uint64_t max)
{
	if (s.starts_with("0x"))
		return parse_base(s.substr(2), 16, max);
	return parse_base(s, 10, max);
}

Keys::Keys(const Words &words, std::size_t from)
{
	for (std::size_t i = from; i < words.size(); i++) {
		const std::size_t eq = words[i].find('=');

		if (eq == std::string::npos)
			throw Failure("not KEY=VALUE: " + words[i]);
		map_[words[i].substr(0, eq)] = words[i].substr(eq + 1);
	}
}

std::string Keys::str(const std::string &key,
		      const std::string &otherwise) const
{
	const auto it = map_.find(key);

	used_[key] = true;
	return it == map_.end() ? otherwise : it->second;
}

uint64_t Keys::num(const std::string &key, uint64_t otherwise,
		   uint64_t max) const
{
	return has(key) ? number(str(key, ""), max) : otherwise;
}

std::string Keys::need(const std::string &key) const
{
	if (!has(key))
		throw Failure("missing " + key + "=");
	return str(key, "");
}

void Keys::done() const
{
	for (const auto &[key, value] : map_)
		if (!used_.contains(key))
			throw Failure("unknown key: " + key);
}

mrc_abi_ev parse_ev(const std::string &s)
{
	const auto part = split(s, '@');
	mrc_abi_ev ev{};

	if (part.size() != 2 || part[0].size() % 2 ||
	    part[0].size() > 2 * sizeof(ev.val))
		throw Failure("not HEX@PORT: " + s);
	for (std::size_t i = 0; i < part[0].size() / 2; i++)
		ev.val[i] = static_cast<uint8_t>(
			parse_base(part[0].substr(2 * i, 2), 16, 255));
	ev.port = static_cast<uint8_t>(number(part[1], 255));
	return ev;
}

std::string show_ev(const mrc_abi_ev &ev)
{
	static const char digit[] = "0123456789abcdef";
	std::size_t n = sizeof(ev.val);
	std::string s;

	while (n > 1 && !ev.val[n - 1])
		n--;
	for (std::size_t i = 0; i < n; i++) {
		s += digit[ev.val[i] >> 4];
		s += digit[ev.val[i] & 15];
	}
	return s + '@' + std::to_string(ev.port);
}

mrc_abi_ev_field parse_field(const std::string &s)
{
	const auto part = split(s, '/');
	mrc_abi_ev_field f{};

	if (part.size() != 3 && part.size() != 5)
		throw Failure("not WIDTH/INIT/MASK[/MIN/MAX]: " + s);
	f.width = static_cast<uint32_t>(number(part[0], UINT32_MAX));
	f.init_val = static_cast<uint32_t>(parse_base(part[1], 16, UINT32_MAX));
	f.mask = static_cast<uint32_t>(parse_base(part[2], 16, UINT32_MAX));
	if (part.size() == 5) {
		f.min_val = static_cast<uint32_t>(
			parse_base(part[3], 16, UINT32_MAX));
		f.max_val = static_cast<uint32_t>(
			parse_base(part[4], 16, UINT32_MAX));
	}
	return f;
}

std::array<uint8_t, 16> parse_gid(const std::string &s)
{
	std::array<uint8_t, 16> gid{};

	if (inet_pton(AF_INET6, s.c_str(), gid.data()) == 1)
		return gid;
	gid.fill(0);
	gid[10] = gid[11] = 0xff;
	if (inet_pton(AF_INET, s.c_str(), &gid[12]) == 1)
		return gid;
	throw Failure("not an address: " + s);
}

uint32_t parse_fmt_mode(const std::string &s)
{
	return lookup(fmt_modes, s, "an EV format");
}

const char *show_fmt_mode(uint32_t mode)
{
	return name_of(fmt_modes, mode);
}

uint32_t parse_ev_mode(const std::string &s)
{
	return lookup(ev_modes, s, "a mode of EV profiles");
}

const char *show_ev_mode(uint32_t mode)
{
	return name_of(ev_modes, mode);
}

uint32_t parse_state(const std::string &s)
{
	return lookup(states, s, "a state");
}

const char *show_state(uint32_t state)
{
	return name_of(states, state);
}

const char *show_ev_state(uint32_t state)
{
	return name_of(ev_states, state);
}

uint64_t parse_profile(const std::string &s)
{
	return s == "none" ? MRC_ABI_PROFILE_NONE : number(s);
}

std::string show_profile(uint64_t id)
{
	return id == MRC_ABI_PROFILE_NONE ? "none" : std::to_string(id);
}
