#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The script life.sh of selftests/net with thousands of cycles, in a guest.
#
# usage: life.sh           (make life)
#   N=CYCLES of each kind (10000), MINUTES=of traffic (60), CASES=NAMES (all),
#   K=KERNEL (7.2), M=MACHINE (uml)
set -euo pipefail
export LAB_MACHINE=${M:-${LAB_MACHINE:-uml}}
. "$(dirname "$0")/common.sh"
. "$LAB_DIR/lib_job.sh"

k=${K:-7.2} n=${N:-10000} minutes=${MINUTES:-60}
known_kernel "$k"
[ "$n" -ge 40 ] || lab_die "N=$n: less than 40 cycles show nothing"
job_build
lab_note "$n cycles of each kind and $minutes minutes of traffic on Linux $k, $MACHINE"
mkdir -p "$BUILD/life"
job_run net/life.sh $((n * 5 + minutes * 60 + 1800)) -m 2048 \
	-e "LIFE_CYCLES=$n" -e "LIFE_MINUTES=$minutes" -e "LIFE_CASES=${CASES:-}" -o "$BUILD/life" --
