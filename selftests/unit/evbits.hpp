// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EVs as strings of '0' and '1': a reading of the expansion rules that shares
// nothing with the engine's, and shorthands for formats and fields.
#pragma once

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine.hpp"

#include "mrc_evfmt.h"

namespace mrc_test
{

using Ev = std::array<u8, MRC_EV_BYTES>;
using Fields = std::vector<mrc_ev_field>;

inline std::string bits_of(u64 v, u32 n)
{
	std::string s;

	while (n--)
		s += v >> n & 1 ? '1' : '0';
	return s;
}

inline std::string bits_of(const Ev &ev)
{
	std::string s;

	for (u8 b : ev)
		s += bits_of(b, 8);
	return s;
}

inline Ev ev_of_bits(const std::string &s)
{
	Ev ev{};

	for (std::size_t i = 0; i < s.size(); i++)
		if (s[i] == '1')
			ev.at(i / 8) |= static_cast<u8>(1 << (7 - i % 8));
	return ev;
}

// From hex, the rest is zero.
inline Ev ev_of(const std::string &hex)
{
	Ev ev{};

	for (std::size_t i = 0; i < hex.size() / 2; i++)
		ev.at(i) = static_cast<u8>(
			std::stoul(hex.substr(2 * i, 2), nullptr, 16));
	return ev;
}

inline mrc_ev_fmt fmt_of(u8 mode, const std::vector<u8> &widths)
{
	mrc_ev_fmt f{};

	f.mode = mode;
	f.n = static_cast<u8>(widths.size());
	for (std::size_t i = 0; i < widths.size() && i < MRC_EV_MAX_FIELDS; i++)
		f.width[i] = widths[i];
	return f;
}

inline mrc_ev_field field(u32 width, u32 init, u32 mask, u32 min = 0,
			  u32 max = 0)
{
	return {.width = width,
		.init_val = init,
		.min_val = min,
		.max_val = max,
		.mask = mask};
}

// How many bits of the EV the fields take.
inline std::size_t taken(const Fields &fields)
{
	std::size_t n = 0;

	for (const mrc_ev_field &f : fields)
		n += static_cast<std::size_t>(__builtin_popcount(f.mask));
	return n;
}

// Nothing if bits beyond those taken are set.
inline std::optional<Ev> ref_expand(const std::vector<u8> &widths,
				    const Fields &fields, const Ev &packed)
{
	std::string src = bits_of(packed), dst;

	for (std::size_t i = 0; i < fields.size(); i++) {
		const u32 w = fields[i].width;
		std::string value = bits_of(fields[i].init_val, w);
		const std::string mask = bits_of(fields[i].mask, w);

		for (u32 k = 0; k < w; k++) {
			if (mask[k] != '1')
				continue;
			value[k] = src.front();
			src.erase(0, 1);
		}
		dst += std::string(widths[i] - w, '0') + value;
	}
	if (src.find('1') != std::string::npos)
		return std::nullopt;
	return ev_of_bits(dst);
}

// The packed EV of an expanded one.
inline Ev ref_compress(const std::vector<u8> &widths, const Fields &fields,
		       const Ev &expanded)
{
	const std::string src = bits_of(expanded);
	std::size_t at = 0;
	std::string dst;

	for (std::size_t i = 0; i < fields.size(); i++) {
		const std::string mask = bits_of(fields[i].mask, widths[i]);

		for (u32 k = 0; k < widths[i]; k++)
			if (mask[k] == '1')
				dst += src[at + k];
		at += widths[i];
	}
	return ev_of_bits(dst);
}

// Values of the fields in a packed EV, fixed fields left out.
inline std::vector<u64> ref_values(const Fields &fields, const Ev &packed)
{
	std::string src = bits_of(packed);
	std::vector<u64> out;

	for (const mrc_ev_field &f : fields) {
		const auto n =
			static_cast<std::size_t>(__builtin_popcount(f.mask));

		if (!n)
			continue;
		out.push_back(std::stoull(src.substr(0, n), nullptr, 2));
		src.erase(0, n);
	}
	return out;
}

} // namespace mrc_test
