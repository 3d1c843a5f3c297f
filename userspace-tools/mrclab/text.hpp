/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: text in lines and words. */
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mrclab
{
/* Without their ends; the last line may lack one. */
std::vector<std::string> lines_of(std::string_view text);
/* What blanks, tabs and ends of lines separate. */
std::vector<std::string> words_of(std::string_view line);
} // namespace mrclab
