#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The script middle.sh of selftests/net with millions of packets, in a guest.
#
# usage: middle.sh         (make middle)
#   N=PACKETS of each of the ten cases (1000000), S=SEED, the first one (1), K=KERNEL (7.2),
#   M=MACHINE (uml)
set -euo pipefail
export LAB_MACHINE=${M:-${LAB_MACHINE:-uml}}
. "$(dirname "$0")/common.sh"
. "$LAB_DIR/lib_job.sh"

k=${K:-7.2} n=${N:-1000000}
known_kernel "$k"
[ "$n" -ge 1000 ] || lab_die "N=$n: less than 1000 packets show nothing"
job_build
lab_note "$n packets in each case, from seed ${S:-1}, on Linux $k, $MACHINE"
job_run net/middle.sh $((n / 30 + 900)) -m 2048 \
	-e "MIDDLE_PACKETS=$n" -e "MIDDLE_SEED=${S:-1}" --
