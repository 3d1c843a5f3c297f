#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Compares the speed of mrc with rxe and TCP in a guest: builds what is needed, runs a plan
# of selftests/bench, writes the results to build/bench/PLAN.
#
# usage: bench.sh [PLAN [OPTION OF mrcbench...]]     default: goals
#   K=KERNEL (7.2: older ones have no rxe in namespaces), M=MACHINE (uml: native
#   speed; see vm.sh), and CRC=KIND in the environment. With CRC=tables, the default, the
#   kernel computes CRC-32 by tables, as in the figures up to entry 15 of the log and in
#   the goals. With CRC=cpu it uses the processor's instructions, as kernels of
#   distributions do. Both are for M=uml.
#   CLOCK=instructions: M=qemu with a clock that counts instructions. Other work on the
#   machine changes nothing, so each point is measured once.
# With the plan "goals" the engine alone is measured first, without a guest, if the clock
# is the time.
# exit status: 0 measured, and all goals are met if the plan has any; 3 measured, but
# a goal is not met (make ends with 2, as with any failure); another: not measured
# Documentation/performance.md explains how to read the results.
set -euo pipefail
clock=${CLOCK:-time}
case $clock in
time) default=uml ;;
instructions) default=qemu ;;
*) echo "bench.sh: CLOCK is time or instructions" >&2 && exit 2 ;;
esac
export LAB_MACHINE=${M:-${LAB_MACHINE:-$default}}
. "$(dirname "$0")/common.sh"

# Measures the cost of the engine on this machine. The status is that of engine.sh.
engine_goals() {
	local dir=$BUILD/enginebench log=$LOGS/bench-engine.log
	mkdir -p "$LOGS"
	{ "$LAB_DIR/setup.sh" native &&
		cmake -S "$TOP/selftests/enginebench" -B "$dir" -G Ninja &&
		ninja -C "$dir" -j2; } >"$log" 2>&1 </dev/null || {
		tail -n 20 "$log" >&2
		return 1
	}
	"$TOP/selftests/bench/engine.sh" "$dir/bench_engine" "$BUILD/bench/goals"
}

k=${K:-7.2}
plan=${1:-goals}
[ $# -eq 0 ] || shift
[ -f "$TOP/selftests/bench/$plan.plan" ] ||
	lab_die "no plan $plan; there are: $(cd "$TOP/selftests/bench" && echo *.plan)"
known_kernel "$k"
params=()
case ${CRC:-tables} in
tables) [ "$MACHINE" != uml ] || params=(-p crc32_tables) ;;
cpu) [ "$MACHINE" = uml ] || lab_die "CRC=cpu is for M=uml" ;;
*) lab_die "CRC is tables or cpu" ;;
esac
once=()
if [ "$clock" = instructions ]; then
	[ "$MACHINE" = qemu ] || lab_die "CLOCK=instructions is for M=qemu"
	params+=(-C)
	once=(--set repeat=1)
fi
need_root "measuring in a guest"
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # the guest expands it
printf '#!/bin/bash\nexec /mrc/selftests/bench/bench.sh "$@"\n' >"$work/bench.sh"
mkdir -p "$BUILD/bench"
rc=0
if [ "$plan" = goals ] && [ $# -eq 0 ] && [ "$clock" = time ]; then
	engine_goals || rc=$?
	case $rc in 0 | 3) ;; *) lab_die "the engine was not measured" ;; esac
fi
status=0
"$LAB_DIR/vm.sh" -k "$k" -t "${BENCH_TIME:-3600}" -o "$BUILD/bench" \
	${params[@]+"${params[@]}"} "$work/bench.sh" \
	"$plan" ${once[@]+"${once[@]}"} "$@" || status=$?
lab_note "results: ${BUILD#"$TOP"/}/bench/$plan"
case $status in
0) ;;
3) rc=3 ;;
*)
	lab_note "error: the measurement failed (status $status)"
	exit "$status"
	;;
esac
[ "$rc" = 0 ] || lab_note "a goal is NOT MET: see the tables above"
exit "$rc"
