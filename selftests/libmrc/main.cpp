// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_api THEME DEVICE-A DEVICE-B: tests of libMRC's functions for programs
 * (mrc.h) on two devices that are connected, or for "foreign" on one of MRC and
 * one of another kind. Prints "ok NAME" or "not ok NAME" for each test.
 */
#include <cstdio>
#include <cstring>

#include "tests.hpp"

namespace
{
struct Theme {
	const char *name;
	void (*run)(Suite &, const Devices &);
};

constexpr Theme themes[] = {
	{"context", test_context}, {"foreign", test_foreign},
	{"null", test_null},	   {"teardown", test_teardown},
	{"hint", test_hint},	   {"cq", test_cq},
	{"events", test_events},   {"port-events", test_port_events},
	{"qp", test_qp},	   {"modify", test_modify},
	{"data", test_data},	   {"large", test_large},
	{"errors", test_errors},   {"threads", test_threads},
	{"cycle", test_cycle},	   {"abandon", test_abandon},
	{"gone", test_gone},
};
} // namespace

int main(int argc, char **argv)
{
	Suite s;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	for (const Theme &t : themes) {
		if (argc != 4 || std::strcmp(argv[1], t.name))
			continue;
		t.run(s, {argv[2], argv[3]});
		std::printf("# %s: end\n", t.name);
		return s.good() ? 0 : 1;
	}
	std::fprintf(stderr, "usage: mrc_api THEME DEVICE-A DEVICE-B\nthemes:");
	for (const Theme &t : themes)
		std::fprintf(stderr, " %s", t.name);
	std::fprintf(stderr, "\n");
	return 2;
}
