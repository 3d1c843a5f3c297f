#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Re-creates the published figures of MRC in a guest: builds what is needed, runs drills of
# userspace-tools/mrclab/drills with mrclab, writes the report to build/figures.
#
# usage: drills.sh        (make figures)
#   F=NAMES   some of them, with commas: 9a,11 are fig9a and fig11; default all
#   K=KERNEL (7.2: older ones have no rxe in namespaces), M=MACHINE (uml: native speed;
#   see vm.sh)
# exit status: 0 all requirements are met; 3 one is not (make ends with 2, as with any
# failure); another: not measured
set -euo pipefail
export LAB_MACHINE=${M:-${LAB_MACHINE:-uml}}
. "$(dirname "$0")/common.sh"

k=${K:-7.2}
known_kernel "$k"
drills=$TOP/userspace-tools/mrclab/drills
names=()
if [ -n "${F:-}" ]; then
	for f in ${F//,/ }; do
		[ -f "$drills/$f.yaml" ] || f=fig$f
		[ -f "$drills/$f.yaml" ] || lab_die "no drill ${f#fig}; there are: $(
			cd "$drills" && printf '%s ' *.yaml | sed 's/\.yaml//g')"
		names+=("$f.yaml")
	done
else
	mapfile -t names < <(cd "$drills" && printf '%s\n' *.yaml | sort -V)
fi
need_root "measuring in a guest"
"$LAB_DIR/setup.sh" vm
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
job=$(mktemp)
trap 'rm -f "$job"' EXIT
{
	echo 'modprobe mrc'
	echo 'cd /mrc/guest/share/mrclab/drills'
	echo 'exec mrclab drill -o /out "$@"'
} >"$job"
mkdir -p "$BUILD/figures"
lab_note "${#names[@]} drills; each takes half a minute to two minutes"
rc=0
"$LAB_DIR/vm.sh" -k "$k" -t "${FIGURES_TIME:-5400}" -o "$BUILD/figures" "$job" \
	"${names[@]}" || rc=$?
case $rc in
0 | 3) lab_note "the report: ${BUILD#"$TOP"/}/figures/report.html" ;;
*) lab_note "error: not everything was measured (status $rc)" ;;
esac
[ "$rc" != 3 ] || lab_note "a requirement is NOT MET: see the report's table"
exit "$rc"
