/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: topology files of htsim (.topo), see mrcsim-scenario(5). */
#pragma once

#include <string>
#include <string_view>

#include "shape.hpp"

namespace mrcsim
{
/*
 * One plane of two or three tiers. What the file does not say of queues stays
 * 0, see fill_queues(). Throws mrclab::FileError with the line of what is
 * wrong.
 */
Shape parse_topo(std::string_view text, const std::string &file);
Shape read_topo(const std::string &file);
} // namespace mrcsim
