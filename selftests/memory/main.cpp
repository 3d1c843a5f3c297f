// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_memory: memory windows and regions on one device, whose queue pairs are
 * connected with each other; with "paging" regions that are paged on demand,
 * all tests or those whose name has PART in it; with "datagrams" those that
 * wait for memory, in a program of the memory cgroup CGROUP, a directory.
 * Prints "ok NAME" or "not ok NAME" for each test. With "take-away" and
 * "occupy" it runs until it is killed: takes pages away again and again, or
 * occupies all workers that PROGRAMS programs can have.
 */
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "objects.hpp"

int main(int argc, char **argv)
{
	const bool paging =
		(argc == 3 || argc == 4) && std::string(argv[2]) == "paging";

	const bool datagrams = argc == 4 && std::string(argv[2]) == "datagrams";

	const std::string what = argc == 5 ? argv[3] : "";
	const std::string pages = argc == 5 ? argv[4] : "";
	const bool loop = argc == 5 && std::string(argv[2]) == "take-away" &&
			  (what == "region" || what == "plain") &&
			  (pages == "hole" || pages == "pages");

	const int programs = argc == 4 && std::string(argv[2]) == "occupy"
				     ? std::atoi(argv[3])
				     : 0;
	const int qps = argc == 4 && std::string(argv[2]) == "queue-pairs"
				? std::atoi(argv[3])
				: 0;

	if (argc != 2 && !paging && !datagrams && !loop && programs <= 0 &&
	    qps <= 0) {
		std::fprintf(stderr, "usage: mrc_memory DEVICE [paging [PART]|"
				     "datagrams CGROUP|"
				     "take-away region|plain hole|pages|"
				     "occupy PROGRAMS|queue-pairs N]\n");
		return 2;
	}
	try {
		tap::Report report;
		Dev d(argv[1]);

		if (paging) {
			const std::string part = argc == 4 ? argv[3] : "";

			test_paging(d, report, part);
			test_paging_errors(d, report, part);
			test_paging_lists(d, report, part);
			test_paging_tenants(d, report, part);
			test_paging_endless(d, report, part);
		} else if (programs > 0) {
			occupy_workers(argv[1], programs);
		} else if (qps > 0) {
			hold_queue_pairs(d, qps);
		} else if (loop) {
			take_away_for_ever(d, what == "region",
					   pages == "pages");
		} else if (datagrams) {
			test_charged_datagrams(d, report, argv[3]);
		} else {
			test_windows(d, report);
			test_windows_refused(d, report);
			test_rereg(d, report);
		}
		return report.good() ? 0 : 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_memory: %s\n", e.what());
		return 1;
	}
}
