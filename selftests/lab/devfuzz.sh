#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs random programs and packets against the device for a long time, in a guest whose
# kernel looks for mistakes (selftests/devfuzz). Ends at the first mistake, and says with
# which seed it may come again.
#
# usage: devfuzz.sh        (make devfuzz)
#   S=SEED of the first round (1), R=ROUNDS (20), K=KERNEL (7.2), M=MACHINE (uml-debug),
#   D=rxe for rxe in place of mrc, on kernels from 7.0 on
set -euo pipefail
export LAB_MACHINE=${M:-${LAB_MACHINE:-uml-debug}}
. "$(dirname "$0")/common.sh"
. "$LAB_DIR/lib_job.sh"

k=${K:-7.2}
known_kernel "$k"
case ${D:-mrc} in
mrc | rxe) ;;
*) lab_die "D=$D is neither mrc nor rxe" ;;
esac
job_build
lab_note "${R:-20} rounds from seed ${S:-1} on Linux $k, $MACHINE; a round takes one or two minutes"
mkdir -p "$BUILD/devfuzz"
job_run devfuzz/rounds.sh $((${R:-20} * 300)) -m 3072 -o "$BUILD/devfuzz" \
	-- "${S:-1}" "${R:-20}" "${D:-mrc}"
