/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: the command line. */
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"

namespace mrcctl
{
/* @args without the program's name; returns the exit status. */
int run(const std::vector<std::string> &args, Env &env);
} // namespace mrcctl
