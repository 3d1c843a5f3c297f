#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# leaks.awk TOLERATED KMEMLEAK: prints the reports of kmemleak, except for objects
# whose report has a line that matches one of the patterns in the file TOLERATED.

function object_ends(   i, line, n) {
	n = split(held, line, "\n")
	for (i = 1; i <= n; i++)
		for (p in tolerated)
			if (line[i] ~ p) {
				held = ""
				return
			}
	printf "%s", held
	held = ""
}
FILENAME == ARGV[1] {
	if ($0 != "") tolerated[$0]
	next
}
/^unreferenced object / { object_ends() }
{ held = held $0 "\n" }
END { object_ends() }
