#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the foreign suites (selftests/interop) in guests whose user land contains them.
#
# usage: interop.sh [-k KERNEL] [-l] [-c COUNTSFILE] [PATTERN]
#   -c   writes "passed failed skipped" to COUNTSFILE, one line for each run
#   -l   runs them again with planes that lose 1 % and reorder 10 % of the packets
# INTEROP_SHORT=1: about one case of each program.
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=$DEFAULT_KERNEL counts='' loss=''
while getopts k:lc: opt; do
	case $opt in
	k) k=$OPTARG ;;
	l) loss=1 ;;
	c) counts=$OPTARG ;;
	*) lab_die "see the head of $0 for its use" ;;
	esac
done
shift $((OPTIND - 1))
known_kernel "$k"

"$LAB_DIR/image.sh" interop
"$LAB_DIR/fetch.sh" rdma-core
mkdir -p "$LAB/guest"
# Guests of other kernels may be copying it.
(
	flock 7
	diff -qr "$LAB/rdma-core/src/tests" "$LAB/guest/rdma-core-tests" >/dev/null 2>&1 || {
		rm -rf "$LAB/guest/rdma-core-tests"
		cp -a "$LAB/rdma-core/src/tests" "$LAB/guest/rdma-core-tests"
	}
) 7>"$LAB/guest.lock"

rc=0
"$LAB_DIR/run-tests.sh" -i -k "$k" ${counts:+-c "$counts"} "${1:-}" || rc=$?
if [ -n "$loss" ]; then
	echo "with 1 % loss and 10 % reordering on the planes of mrc:"
	INTEROP_LOSS=1 "$LAB_DIR/run-tests.sh" -i -k "$k" \
		${counts:+-c "$counts.loss"} "${1:-}" || rc=$?
	[ -z "$counts" ] || {
		cat "$counts.loss" >>"$counts" && rm "$counts.loss"
	} || rc=1
fi
exit "$rc"
