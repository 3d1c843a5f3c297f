/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the program on the host under test. */
#pragma once

#include <string>

#include "link.hpp"

namespace mrcconform
{
struct TargetOptions {
	/* The library that makes queue pairs: libMRC, or verbs if it is empty.
	 */
	std::string libmrc;
	/* The RDMA device; empty: whichever has the address. */
	std::string device;
	HostPort listen{"127.0.0.1", default_port};
	/* End with the first tester's connection. */
	bool once = false;
};

/* Serves one tester after the other. */
void run_target(const TargetOptions &options);
} // namespace mrcconform
