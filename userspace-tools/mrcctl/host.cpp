// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host.hpp"

#include "error.hpp"
#include "words.hpp"

namespace mrcctl
{
std::string printable(const std::string &text, std::size_t most)
{
	std::string out = text.substr(0, most);

	for (char &c : out)
		if (c < ' ' || c > '~')
			c = '?';
	return out;
}

std::string stripped(std::string_view s)
{
	constexpr const char *blanks = " \t\r";
	const std::size_t first = s.find_first_not_of(blanks);

	if (first == std::string_view::npos)
		return "";
	return std::string(
		s.substr(first, s.find_last_not_of(blanks) + 1 - first));
}

std::string line_of(Host &host, const std::string &path)
{
	const std::string text = host.read(path).text;

	return printable(stripped(text.substr(0, text.find('\n'))));
}

std::optional<uint64_t> number_of(Host &host, const std::string &path)
{
	try {
		return parse_number(line_of(host, path));
	} catch (const UsageError &) {
		return {};
	}
}
} // namespace mrcctl
