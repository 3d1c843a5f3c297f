/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: words of the command line. All functions throw UsageError. */
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace mrcctl
{
std::vector<std::string> split(std::string_view s, char sep);
uint64_t parse_number(std::string_view s, uint64_t max = UINT64_MAX);
uint64_t parse_id(std::string_view s); /* of a profile */
double parse_real(std::string_view s);
bool parse_switch(std::string_view s); /* on, off */
/* 5ms, 1.5s, 20us, 100ns; a number without a unit counts in units of @unit ns.
 */
uint64_t parse_time(std::string_view s, uint64_t unit, uint64_t max);

/* HEX@PORT: the first bits come first; the number of bytes is that given. */
Ev parse_ev(std::string_view s);
std::string show_ev(const Ev &ev);
/* A comma-separated list; "-" reads lines from @in. */
std::vector<Ev> parse_evs(std::string_view list, std::istream &in);
/* WIDTH/INIT/MASK[/MIN/MAX]: width decimal, the others hexadecimal. */
EvField parse_field(std::string_view s);
std::string show_field(const EvField &f);
std::vector<uint8_t> parse_widths(std::string_view list);
uint32_t parse_events(std::string_view list); /* or "none" */
uint32_t parse_ports(std::string_view list);  /* a mask */

std::array<uint8_t, 16> parse_address(std::string_view s);
Prefix parse_prefix(std::string_view s); /* an IPv4 length is 0 to 32 */
bool is_v4(const std::array<uint8_t, 16> &addr); /* ::ffff:a.b.c.d */
std::string show_address(const std::array<uint8_t, 16> &addr);
std::string show_prefix(const Prefix &p);

uint64_t parse_profile(std::string_view s); /* a number, "none" */
uint16_t parse_udp_port(std::string_view s); /* 1..65535 */
std::string show_profile(uint64_t id);

/* The words after a command: first positional ones, then pairs by name. */
class Words
{
public:
	explicit Words(std::vector<std::string> words)
		: words_(std::move(words))
	{
	}

	bool empty() const { return at_ >= words_.size(); }
	const std::string &peek() const { return words_[at_]; }
	/* @what: name of the word in the message if it is missing. */
	const std::string &next(std::string_view what);
	void done() const; /* throws if words are left */

private:
	std::vector<std::string> words_;
	std::size_t at_ = 0;
};
} // namespace mrcctl
