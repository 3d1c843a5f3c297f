// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_memory: memory windows and regions on one device, whose queue pairs are
 * connected with each other. Prints "ok NAME" or "not ok NAME" for each test.
 */
#include <cstdio>
#include <exception>

#include "objects.hpp"

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr, "usage: mrc_memory DEVICE\n");
		return 2;
	}
	try {
		tap::Report report;
		Dev d(argv[1]);

		test_windows(d, report);
		test_windows_refused(d, report);
		test_rereg(d, report);
		return report.good() ? 0 : 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_memory: %s\n", e.what());
		return 1;
	}
}
