/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lines of commands as words. */
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
} // namespace mrclab
