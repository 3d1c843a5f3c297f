/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: connection matrices of htsim (.cm), see mrcsim-scenario(5). */
#pragma once

#include <string>
#include <string_view>

#include "traffic.hpp"

namespace mrcsim
{
/*
 * Throws mrclab::FileError with the line of what is wrong: unknown words, hosts
 * and triggers that are not there, a header that disagrees with the lines,
 * flows without an end. @hosts: of the fabric.
 */
Traffic parse_matrix(std::string_view text, const std::string &file, u32 hosts);
Traffic read_matrix(const std::string &file, u32 hosts);
} // namespace mrcsim
