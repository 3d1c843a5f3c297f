/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: how pictures of fabrics look, as text for dot of Graphviz: hosts
 * below, T0s above them, T1s at the top. Pure.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
struct Picture {
	/* Below the picture. What is in @more is cut if there is much. */
	std::string title;
	std::vector<std::string> more;
	std::function<std::string(const Node &)> colour;
	/* Attributes of a link, by its index. dir=back is an arrow up. */
	std::function<std::string(uint32_t)> link;
};

std::string dot_of(const Topology &t, const Picture &picture);
} // namespace mrclab
