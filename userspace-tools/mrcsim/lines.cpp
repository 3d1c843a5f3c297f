// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lines.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcsim
{
using mrclab::FileError;

std::string read_lines(const std::string &file)
{
	constexpr std::size_t most = std::size_t{1} << 30;
	constexpr std::size_t piece = 1 << 20;
	std::string text;

	errno = 0;
	std::ifstream in(file, std::ios::binary);

	if (!in)
		throw FileError(file, 0, std::strerror(errno ? errno : EIO));
	while (in && text.size() <= most) {
		const std::size_t had = text.size();

		text.resize(had + piece);
		in.read(text.data() + had, piece);
		text.resize(had + static_cast<std::size_t>(in.gcount()));
	}
	if (in.bad() || (text.empty() && errno == EISDIR))
		throw FileError(file, 0, std::strerror(errno ? errno : EIO));
	if (text.size() > most)
		throw FileError(file, 0,
				fmt::format("is longer than {} bytes", most));
	return text;
}

bool Lines::next(std::vector<std::string_view> &words)
{
	constexpr std::string_view blanks = " \t\r\v\f";

	words.clear();
	while (words.empty()) {
		if (rest_.empty())
			return false;

		const std::size_t end =
			std::min(rest_.find('\n'), rest_.size());
		std::string_view text = rest_.substr(0, end);

		rest_.remove_prefix(std::min(end + 1, rest_.size()));
		line_++;
		text = text.substr(0, text.find('#'));
		for (;;) {
			const std::size_t from = text.find_first_not_of(blanks);

			if (from == std::string_view::npos)
				break;
			text.remove_prefix(from);

			const std::size_t to = std::min(
				text.find_first_of(blanks), text.size());

			words.push_back(text.substr(0, to));
			text.remove_prefix(to);
		}
	}
	return true;
}

void Lines::fail(const std::string &why) const
{
	throw FileError(file_, line_, why);
}

u64 Lines::number(std::string_view word, const char *what, u64 min,
		  u64 max) const
{
	u64 n = 0;
	const auto r =
		std::from_chars(word.data(), word.data() + word.size(), n);

	if (r.ec != std::errc() || r.ptr != word.data() + word.size())
		fail(fmt::format("\"{}\" is no number; {} is expected", word,
				 what));
	if (n < min || n > max)
		fail(fmt::format("{} is {}; {} to {} are possible", what, n,
				 min, max));
	return n;
}

std::string lower(std::string_view word)
{
	std::string s(word);

	for (char &c : s)
		if (c >= 'A' && c <= 'Z')
			c = static_cast<char>(c - 'A' + 'a');
	return s;
}
} // namespace mrcsim
