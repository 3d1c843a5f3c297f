/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: fabric files, see mrclab-fabric(5). They are YAML, of which JSON is a
 * part.
 */
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric.hpp"

namespace mrclab
{
/*
 * Throws FileError with the line of what is wrong: unknown or repeated keys,
 * values out of range, patterns that match no link.
 */
Fabric read_fabric(const std::string &file);
/* The same for @text. @file is the name in messages. */
Fabric parse_fabric(std::string_view text, const std::string &file);

/* One "key: value" of a link, as in the files and on the command line. Throws
 * UsageError.
 */
void set_link_prop(LinkProps &props, std::string_view key,
		   std::string_view value);
/* The reverse: the keys that @props has, and their values. */
std::vector<std::pair<std::string, std::string>>
link_prop_words(const LinkProps &props);
} // namespace mrclab
