/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Texts of files and commands: their words and lines. */
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace mrclab
{
using Words = std::vector<std::string>;

inline Words split(const std::string &line)
{
	std::istringstream in(line);
	Words words;
	std::string w;

	while (in >> w)
		words.push_back(w);
	return words;
}

/* @text with something else for one of its lines, which count from 1. */
inline std::string with_line(const std::string &text, int line,
			     const std::string &with)
{
	std::string out;
	std::size_t at = 0;

	for (int i = 1; at < text.size(); i++) {
		const std::size_t end = text.find('\n', at) + 1;

		out += i == line ? with : text.substr(at, end - at);
		at = end;
	}
	return out;
}
} // namespace mrclab
