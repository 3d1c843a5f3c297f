/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: the plan, for people and for programs. Pure. */
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan.hpp"

namespace mrcmap
{
/* Of one host: what it sends, and what others send to it. */
std::string plan_text(const mrclab::Topology &t, const Plan &plan,
		      std::optional<uint32_t> host);
std::string plan_json(const mrclab::Topology &t, const Plan &plan,
		      std::optional<uint32_t> host);
} // namespace mrcmap
