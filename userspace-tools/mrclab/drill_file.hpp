/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: reads files that describe drills, see mrclab-drill(5). */
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "drill.hpp"

namespace mrclab
{
/* Gives the contents of a file that a drill names. */
using ReadText = std::function<std::string(const std::string &file)>;

/*
 * Throws FileError for whatever is wrong with the drill or with its fabrics.
 * Names of fabric files are relative to the drill's.
 */
Drill parse_drill(std::string_view text, const std::string &file,
		  const ReadText &read);

Drill read_drill(const std::string &file);
} // namespace mrclab
