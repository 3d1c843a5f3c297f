#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory of programs: memory windows of both types, what they expose, to whom and for
# how long; regions that are registered again, also while peers write to them; the
# view of tools; and programs that end in the middle.
# timeout: 300
# races
. "$(dirname "$0")/lib.sh"

memory() {
	in_a timeout 200 mrc_memory mrca >"$WORK/memory.out" 2>&1 || true
	grep -q -E '^(not )?ok ' "$WORK/memory.out" ||
		echo "not ok mrc_memory ended without a result" >>"$WORK/memory.out"
	! grep -q '^mrc_memory: ' "$WORK/memory.out" ||
		echo "not ok mrc_memory came to its end" >>"$WORK/memory.out"
	adopt <"$WORK/memory.out"
}

# A program is killed while windows are bound. The core frees the region before or
# after the windows, in its own order.
killed() {
	local i
	for i in 1 2 3 4 5; do
		in_a timeout -s KILL "0.$((i * 2))" mrc_memory mrca >/dev/null 2>&1 || true
	done
	wait_for 30 no_objects
}

no_objects() {
	[ "$(in_a rdma resource show mr | grep -c mrca)" = 0 ] &&
		[ "$(in_a rdma resource show | sed -n 's/.*mrca:.* mr \([0-9]*\).*/\1/p')" = 0 ]
}

topo 2
memory
subtest "programs that are killed leave nothing" killed
tap_end
