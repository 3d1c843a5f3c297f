#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Counts the kernel's instructions per message, in a guest whose time is made of
# instructions: other work on the machine does not change the result. The limits are in
# selftests/insns/limits; functions are in build/insns/functions.txt.
#
# usage: insns.sh [MODULE]     (make insns)
#   MODULE  another mrc.ko for the same kernel and library, to compare with
# exit status: 0; 3 a limit is exceeded; another: not measured
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=$DEFAULT_KERNEL out=$BUILD/insns
[ "$MACHINE" = qemu ] || lab_die "instructions are counted in QEMU only"
need_root "counting in a guest"
"$LAB_DIR/setup.sh" vm native
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
[ $# -eq 0 ] || LAB_MRC_KO=$(realpath "$1")
[ -z "${LAB_MRC_KO:-}" ] || export LAB_MRC_KO

version=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9.]*\).*/\1/p')
dpkg --compare-versions "$version" ge 9.2 ||
	lab_die "the plugin needs QEMU 9.2 or newer; this is $version"
mkdir -p "$BUILD"
exec 9>"$BUILD/.insns-lock"
flock 9
rm -rf "$out"
mkdir -p "$out"
src=$TOP/selftests/insns
# QEMU has the functions that the plugin calls.
c++ -std=c++20 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden \
	-o "$out/plugin.so" "$src/plugin.cpp"
cc -nostdlib -static -o "$out/mrc_mark" "$src/mark.S"
cp "$out/mrc_mark" "$LAB/guest/bin/.new"
mv "$LAB/guest/bin/.new" "$LAB/guest/bin/mrc_mark"
lab_note "counting instructions; takes some minutes"
"$LAB_DIR/vm.sh" -k "$k" -t 1800 -q -o "$out" -p nokaslr -I "${out//,/,,}/plugin.so,out=${out//,/,,}/counts" \
	"$src/job.sh" || {
	rc=$?
	cat "$out/output" >&2 || true
	lab_die "the guest's job failed with status $rc"
}
"$src/report.py" "$out" "$src/limits"
