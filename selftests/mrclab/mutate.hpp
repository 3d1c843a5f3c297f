/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Files with random bytes wrong. */
#pragma once

#include <string>
#include <vector>

#include "random_fabric.hpp"

namespace mrclab
{
/* Words that mean something to YAML, to the parsers or to neither. */
extern const std::vector<std::string> yaml_words;

/* Changes some bytes; some of the new ones are from @words. */
void mutate(std::string &text, Random &r,
	    const std::vector<std::string> &words);

/* The line of an error can be one of the text, or the one behind it. */
int last_line(const std::string &text);
} // namespace mrclab
