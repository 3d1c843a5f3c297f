/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_ctl: words of the command line. Everything throws Failure. */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "abi.hpp"

using Words = std::vector<std::string>;

std::vector<std::string> split(const std::string &s, char sep);
uint64_t number(const std::string &s, uint64_t max = UINT64_MAX);

/* KEY=VALUE words; a key that nobody asks for is an error. */
class Keys
{
public:
	Keys(const Words &words, std::size_t from);

	bool has(const std::string &key) const { return map_.contains(key); }
	std::string str(const std::string &key,
			const std::string &otherwise) const;
	uint64_t num(const std::string &key, uint64_t otherwise,
		     uint64_t max = UINT64_MAX) const;
	std::string need(const std::string &key) const;
	void done() const; /* all were asked for */

private:
	std::map<std::string, std::string> map_;
	mutable std::map<std::string, bool> used_;
};

/* HEX@PORT, the most significant bits first, as many bytes as given. */
mrc_abi_ev parse_ev(const std::string &s);
std::string show_ev(const mrc_abi_ev &ev);

/* WIDTH/INIT/MASK[/MIN/MAX], width decimal, the others hex. */
mrc_abi_ev_field parse_field(const std::string &s);

/* An IPv4 or IPv6 address as a GID. */
std::array<uint8_t, 16> parse_gid(const std::string &s);

uint32_t parse_fmt_mode(const std::string &s);
const char *show_fmt_mode(uint32_t mode);
uint32_t parse_ev_mode(const std::string &s);
const char *show_ev_mode(uint32_t mode);
uint32_t parse_state(const std::string &s);
const char *show_state(uint32_t state);
const char *show_ev_state(uint32_t state);
uint64_t parse_profile(const std::string &s); /* number or "none" */
std::string show_profile(uint64_t id);
