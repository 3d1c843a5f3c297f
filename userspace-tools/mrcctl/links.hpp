/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl links: files that say which devices a host has after boot. */
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plane.hpp"

namespace mrcctl
{
struct LinkFile {
	std::string path; /* of the file itself */
	std::string name; /* of the device */
	std::vector<std::string> netdevs;
	std::string profiles; /* a file for "load", or "" */
	std::optional<bool> extension;
	std::vector<plane::Wanted> planes; /* of some of the netdevs */
	/* Lines of the file, for messages about what they say. */
	unsigned int name_line = 0, profiles_line = 0;
	std::vector<unsigned int> netdev_lines, plane_lines;
};

/*
 * Lines "KEY = VALUE"; empty lines and those that begin with # do not count.
 * Throws UsageError with file and line.
 */
LinkFile parse_link_file(const std::string &path, std::string_view text);

/* "FILE:LINE: WHAT" */
std::string at_line(const std::string &path, unsigned int line,
		    const std::string &what);
} // namespace mrcctl
