#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# 1 000 cycles of create, connect, transfer and destroy leave no memory behind.
#
# Tolerance: no slab cache may have grown by 200 objects or more (a leak of one object
# in five cycles). Slab, per-CPU and vmalloc memory together may not have grown by
# more than 2 MB (2 kB for each cycle; a QP needs more than that). Caches are shrunk
# before each measurement, because SLUB counts the free objects of per-CPU slabs as
# used. The first cycles fill the caches. They run before the first measurement.
# timeout: 400
# long
# races
. "$(dirname "$0")/lib.sh"

cycles() { # N OPTIONS...
	local n=$1
	shift
	verify -t 300 --churn "$n" --size 1,5000 --iters 4 --op mixed "$@"
}

# Whether objects are left, except the kernel's own: a PD, a CQ and QP1 for each port.
objects_left() {
	local n=$PLANES
	rdma resource show | grep -E 'mrc[ab]:' |
		grep -v -E "pd $n cq $n qp $n (cm_id 0 )?mr 0" || true
}
no_objects_left() { [ -z "$(objects_left)" ]; }

churn() { # CYCLES OPTIONS...
	local n=$1
	shift
	cycles 60 "$@"
	memory_before "$WORK/before"
	cycles "$n" "$@"
	no_objects_left || fail "$(objects_left)"
	expect_memory_back "$WORK/before" $((n / 5)) 2048
}

# Programs that are killed at a random moment of the cycles.
killed() {
	local n
	for n in 1 2 3; do
		verify_start --duration 100 --qps 4 --bidir --size 65536
		wait_for 30 verify_running
		# Kill both at once: the second one would end by itself.
		# shellcheck disable=SC2046 # two numbers
		kill -9 $(pgrep -P "$verify_client,$verify_server" -x mrc_verify)
		finished "$verify_client" 30 || true
		finished "$verify_server" 30 || true
		wait_for 30 no_objects_left || fail "$(objects_left)"
	done
	verify --iters 20
}

topo 2
subtest "1000 cycles of one QP" churn 1000
subtest "100 cycles of 8 QPs, events, both directions" churn 100 --qps 8 --events --bidir
subtest "programs killed under traffic leave nothing" killed
tap_end
