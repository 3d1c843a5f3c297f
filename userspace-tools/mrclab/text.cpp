// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "text.hpp"

#include <algorithm>

namespace mrclab
{
std::vector<std::string> lines_of(std::string_view text)
{
	std::vector<std::string> lines;

	for (std::size_t at = 0; at < text.size();) {
		const std::size_t end =
			std::min(text.find('\n', at), text.size());

		lines.emplace_back(text.substr(at, end - at));
		at = end + 1;
	}
	return lines;
}

std::vector<std::string> words_of(std::string_view line)
{
	constexpr std::string_view blanks = " \t\r\n\v\f";
	std::vector<std::string> words;
	std::size_t at = 0;

	while ((at = line.find_first_not_of(blanks, at)) !=
	       std::string_view::npos) {
		const std::size_t end =
			std::min(line.find_first_of(blanks, at), line.size());

		words.emplace_back(line.substr(at, end - at));
		at = end;
	}
	return words;
}
} // namespace mrclab
