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

std::string line_of(Host &host, const std::string &path)
{
	constexpr const char *blanks = " \t\r";
	const std::string text = host.read(path).text;
	std::string line = text.substr(0, text.find('\n'));
	const std::size_t first = line.find_first_not_of(blanks);

	if (first == std::string::npos)
		return "";
	line = line.substr(first, line.find_last_not_of(blanks) + 1 - first);
	return printable(line);
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
