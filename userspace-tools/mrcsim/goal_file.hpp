/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: schedules of applications in the text form of GOAL (LogGOPSim,
 * ATLAHS), see mrcsim-scenario(5). */
#pragma once

#include <string>
#include <string_view>

#include "traffic.hpp"

namespace mrcsim
{
/*
 * Rank r is host r. The messages from one rank to another share a connection.
 * Throws mrclab::FileError with the line of what is wrong: unknown words,
 * labels and ranks, a message that nobody sends or receives, operations that
 * wait for each other. @hosts: of the fabric.
 */
Traffic parse_goal(std::string_view text, const std::string &file, u32 hosts);
Traffic read_goal(const std::string &file, u32 hosts);
} // namespace mrcsim
