// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libmrc_ctl: the controller functions of libMRC against a real device. A
 * program of the API and of nothing else; the scripts libmrc_ctl.sh and
 * libmrc_procs.sh run it.
 *
 * usage: libmrc_ctl DEV COMMAND [ARGS]
 * Results are lines "ok NAME" and "not ok NAME", what was wrong before them.
 */
#include <cstdio>
#include <map>

#include "tests.hpp"

namespace
{
const std::map<std::string, bool (*)(const Device &, const Args &)> commands = {
	{"allowed", test_allowed},
	{"batches", test_batches},
	{"busy", test_busy},
	{"cc", test_cc},
	{"controller", run_controller},
	{"device", test_device},
	{"events", test_events},
	{"fields", test_fields},
	{"formats", test_formats},
	{"ports", test_ports},
	{"probes", test_probes},
	{"profiles", test_profiles},
	{"refused", test_refused},
	{"traffic", run_traffic},
	{"vectors", test_vectors},
};
} // namespace

int main(int argc, char **argv)
{
	const Args args(argv + 1, argv + argc);

	if (args.size() < 2 || !commands.contains(args[1])) {
		std::fprintf(stderr, "usage: libmrc_ctl DEV COMMAND [ARGS]\n");
		for (const auto &[name, command] : commands)
			std::fprintf(stderr, "\t%s\n", name.c_str());
		return 2;
	}
	try {
		const Device dev(args[0]);

		return commands.at(args[1])(dev, {args.begin() + 2, args.end()})
			       ? 0
			       : 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "libmrc_ctl: %s\n", e.what());
		return 1;
	}
}
