// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_devfuzz: random programs over all calls of verbs, libMRC and its
 * controller's side, several at a time, which connect to each other, while some
 * of them change their calls and rings, run out of memory, or are killed, and
 * while changed packets arrive. The same seed makes the same programs.
 *
 * What counts is that the kernel stays well: its log is clean, nothing is left
 * behind, every call returns, and no memory is written to without a key. The
 * script that runs this looks at the first two.
 *
 * Exit status: 0 all programs ended, 1 one is at fault or hangs, 2 usage.
 */
#include <cstdio>

#include "../common/say.hpp"
#include "actions.hpp"
#include "supervisor.hpp"

using namespace devfuzz;

int main(int argc, char **argv)
{
	Options options;

	try {
		options = Options::parse(argc, argv);
		for (const Kind kind : options.kinds)
			(void)Choice(kind, options.only);
	} catch (const Failure &e) {
		std::fprintf(stderr, "mrc_devfuzz: %s\n", e.what());
		return 2;
	}
	try {
		Supervisor s(Board::make(), Places::make(options.coverage),
			     options);
		const bool good = s.run();

		s.print_summary();
		say("mrc_devfuzz: %s seed=%llu", good ? "OK" : "FAIL",
		    static_cast<unsigned long long>(options.seed));
		return good ? 0 : 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_devfuzz: %s\n", e.what());
		return 1;
	}
}
