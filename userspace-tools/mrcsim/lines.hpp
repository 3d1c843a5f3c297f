/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: text files of lines of words. */
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mrc_base.h"

namespace mrcsim
{
/* The whole of @file. Throws mrclab::FileError: it cannot be read, or is too
 * long. */
std::string read_lines(const std::string &file);

class Lines
{
public:
	/* Both live longer than this. @file is the name in messages. */
	Lines(std::string_view text, const std::string &file)
		: rest_(text), file_(file)
	{
	}

	/*
	 * The words of the next line that has any; what follows a # is no word.
	 * False at the end.
	 */
	bool next(std::vector<std::string_view> &words);

	int line() const { return line_; } /* of these words */
	/* Throws mrclab::FileError with this line. */
	[[noreturn]] void fail(const std::string &why) const;
	/* @word as a number of @what. */
	u64 number(std::string_view word, const char *what, u64 min,
		   u64 max) const;

private:
	std::string_view rest_;
	const std::string &file_;
	int line_ = 0;
};

/* In lower case, of ASCII. */
std::string lower(std::string_view word);
} // namespace mrcsim
