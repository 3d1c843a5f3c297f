/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Exports for tests. */
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "export.hpp"
#include "random_fabric.hpp"
#include "text.hpp"

namespace mrclab
{
/* The fabric of the files in golden/export. */
Fabric small_fabric();

/* random_fabric() with random settings of links and with profiles. */
Fabric random_exported(Random &random);

/* The files of a format by their paths. */
std::map<std::string, std::string> exported(std::string_view format,
					    const Topology &t);

std::vector<std::string> split_at(const std::string &text, char separator);

/* All prefixes, with length, that begin with the fabric's block or block4. */
std::set<std::string> prefixes_in(const Fabric &f, const std::string &text);
} // namespace mrclab
