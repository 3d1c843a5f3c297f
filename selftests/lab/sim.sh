#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Simulations with mrcsim, which is built for this machine.
#
# usage: sim.sh demo      (make sim) two minutes: a permutation and a fabric with faults,
#                         as pages in build/sim
#        sim.sh figures   (make sim-figures) the published figures, in build/sim-figures
#   F=NUMBERS   some of them, with commas: 4,16; default all
#   S=reduced   minutes instead of hours, as in `make check`
#   J=THREADS   of each run; default: all processors
# exit status of figures: 0 all requirements are met; 3 one is not (make ends with 2, as with
# any failure); 1 something did not run, or a reduced figure is beyond its limits
set -euo pipefail
. "$(dirname "$0")/common.sh"

scenarios=$TOP/userspace-tools/mrcsim/scenarios
build=$BUILD/mrcsim-program

build_mrcsim() {
	"$LAB_DIR/setup.sh" native
	mkdir -p "$build"
	cmake -S "$TOP/userspace-tools/mrcsim" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCMAKE_UNITY_BUILD=ON >"$build/build.log" 2>&1 &&
		low ninja -C "$build" mrcsim >>"$build/build.log" 2>&1 || {
		tail -n 40 "$build/build.log" >&2
		lab_die "mrcsim does not build; log: ${build#"$TOP"/}/build.log"
	}
}

demo() {
	local out=$BUILD/sim name
	mkdir -p "$out"
	for name in permutation plane incast; do
		lab_note "$name"
		"$build/mrcsim" run "$scenarios/$name.yaml" -r "$out/$name.html"
	done
	lab_note "the pages: ${out#"$TOP"/}/{permutation,plane,incast}.html"
}

figures() {
	local options=() names=()
	case ${S:-full} in
	full) options=(--full --threads "${J:-$(nproc)}") ;;
	reduced) options=(--threads "${J:-1}") ;;
	*) lab_die "S is full or reduced, not '$S'" ;;
	esac
	IFS=, read -r -a names <<<"${F:-}"
	exec "$TOP/userspace-tools/mrcsim/figures/figures.py" --mrcsim "$build/mrcsim" \
		--out "$BUILD/sim-figures" "${options[@]}" "${names[@]}"
}

case ${1:-} in
demo | figures)
	build_mrcsim
	"$1"
	;;
*) lab_die "usage: sim.sh demo|figures" ;;
esac
