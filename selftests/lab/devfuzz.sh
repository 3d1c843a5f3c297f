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

k=${K:-7.2}
known_kernel "$k"
case ${D:-mrc} in
mrc | rxe) ;;
*) lab_die "D=$D is neither mrc nor rxe" ;;
esac
need_root "running programs in a guest"
"$LAB_DIR/setup.sh" vm
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
slack=$(time_factor)
job=$(mktemp)
trap 'rm -f "$job"' EXIT
echo 'exec bash /mrc/selftests/devfuzz/rounds.sh "$@"' >"$job"
lab_note "${R:-20} rounds from seed ${S:-1} on Linux $k, $MACHINE; a round takes one or two minutes"
mkdir -p "$BUILD/devfuzz"
"$LAB_DIR/vm.sh" -k "$k" -t $((${R:-20} * 300 * slack)) -m 3072 -e "LAB_TIME=$slack" \
	-o "$BUILD/devfuzz" "$job" "${S:-1}" "${R:-20}" "${D:-mrc}"
