#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Measures mrc beside rxe and TCP in a guest: builds what is needed, runs a plan
# of selftests/bench, leaves the results in build/bench/PLAN.
#
# usage: bench.sh [PLAN [OPTION OF mrcbench...]]     default: goals
#   K=KERNEL (7.2: rxe of older ones cannot live in namespaces), and M=MACHINE
#   (uml: native speed; see vm.sh) in the environment
# Documentation/performance.md says how to read them.
set -euo pipefail
export LAB_MACHINE=${M:-${LAB_MACHINE:-uml}}
. "$(dirname "$0")/common.sh"

k=${K:-7.2}
plan=${1:-goals}
[ $# -eq 0 ] || shift
[ -f "$TOP/selftests/bench/$plan.plan" ] ||
	lab_die "no plan $plan; there are: $(cd "$TOP/selftests/bench" && echo *.plan)"
known_kernel "$k"
need_root "measuring in a guest"
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # the guest expands it
printf '#!/bin/bash\nexec /mrc/selftests/bench/bench.sh "$@"\n' >"$work/bench.sh"
mkdir -p "$BUILD/bench"
"$LAB_DIR/vm.sh" -k "$k" -t "${BENCH_TIME:-3600}" -o "$BUILD/bench" "$work/bench.sh" \
	"$plan" "$@"
lab_note "results: ${BUILD#"$TOP"/}/bench/$plan"
