/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl links units: what makes systemd notice netdevs that come later. */
#pragma once

#include <map>
#include <string>

#include "links.hpp"

namespace mrcctl
{
/*
 * Files for a folder of units, by path below it: when a netdev of the file
 * appears, mrc-links@INSTANCE.service is reloaded if it is active.
 */
std::map<std::string, std::string> link_units(const LinkFile &f,
					      const std::string &instance);

/* The name of a file without directory and .conf; "" if it cannot be one. */
std::string unit_instance(const std::string &path);
} // namespace mrcctl
