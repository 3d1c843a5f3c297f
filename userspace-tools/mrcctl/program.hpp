/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What main() of mrcctl and of mrcctl-serve have in common. */
#pragma once

#include <string>

#include "web_server.hpp"

namespace mrcctl
{
/* On this machine. @web and @serve_program are as in Env. Returns the exit
 * status. */
int run_program(int argc, char **argv, WebServer *web,
		const std::string &serve_program);
} // namespace mrcctl
