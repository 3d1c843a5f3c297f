/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: the words behind "plane add", on the command line and in files. */
#pragma once

#include "plane.hpp"
#include "words.hpp"

namespace mrcctl::plane
{
/* All functions throw UsageError. */
std::string netdev_word(Words &w);
/* NETDEV [mtu N] [addr ADDRESS]... [route PREFIX [via R] [metric N]]... */
Wanted wanted_words(Words &w);
} // namespace mrcctl::plane
