#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds mrc.ko for one kernel inside that kernel's tree, so that headers and
# compiler match. Works on a copy of the sources: several kernels can be built
# side by side and nothing is ever written beside the sources.
#
# usage: module.sh KERNEL [--sparse]
#   result: build/lab/KERNEL/mrc.ko; compiler warnings are errors
#   --sparse: check with sparse (kernel 6.12 only); its reports are errors
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=${1:-}
known_kernel "$k"
sparse=
case ${2:-} in
'') ;;
--sparse) sparse=1 ;;
*) lab_die "usage: module.sh KERNEL [--sparse]" ;;
esac
[ -z "$sparse" ] || [ "$k" = 6.12 ] || lab_die "sparse is only set up for kernel 6.12"

drv=drivers/infiniband/sw/mrc
[ -f "$TOP/$drv/Makefile" ] || lab_die "$drv/Makefile does not exist"
need_root "building the module in the lab"
"$LAB_DIR/image.sh" "$k"

tree=$(kernel_tree "$k")
ver=$(kernel_version "$k")
dir=$LAB/$k${sparse:+-sparse}
log=$LOGS/module-$k${sparse:+-sparse}.log
mkdir -p "$dir" "$LOGS"
exec 7>"$dir/.lock"
flock 7
mirror_sources "$dir/src" drivers include

# Whatever goes wrong must not leave an older module to be tested.
fail() {
	[ -n "$sparse" ] || rm -f "$dir/mrc.ko"
	lab_die "$@"
}

args=("KDIR=/lib/modules/$ver/build" KCFLAGS=-Werror W=1 -j2)
if [ -n "$sparse" ]; then
	# C=2: check every file, also those whose object is up to date.
	args+=(C=2 "CHECK=sparse")
fi
if ! in_tree "$tree" "$dir/src:/src" -- \
	make -C "/src/$drv" "${args[@]}" modules >"$log" 2>&1; then
	grep -E -A4 'error|warning|\*\*\*' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
	fail "mrc.ko does not build for kernel $k ($ver); log: ${log#"$TOP"/}"
fi
# modpost and sparse only warn: no build may leave any.
if grep -E '(warning|WARNING|error):?' "$log" |
	grep -v -E 'Skipping BTF|compiler differs|\.config' >&2; then
	fail "the build for kernel $k has warnings; log: ${log#"$TOP"/}"
fi
[ -n "$sparse" ] || {
	cmp -s "$dir/src/$drv/mrc.ko" "$dir/mrc.ko" ||
		cp "$dir/src/$drv/mrc.ko" "$dir/mrc.ko"
}
lab_note "mrc.ko for $ver${sparse:+ (sparse)}: no warnings"
