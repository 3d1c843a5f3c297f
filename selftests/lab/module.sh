#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds the modules that guests load, mrc.ko, the lab's switch port sch_mrcsw.ko and the
# kernel consumer mrc_kverbs.ko, for one kernel inside that kernel's tree, so that headers
# and compiler match. Works on a copy of the sources: several kernels can be built in
# parallel, and nothing is written to the source directories.
#
# usage: module.sh KERNEL [--sparse|--without [PART...]]
#   result: build/lab/KERNEL/*.ko, with LAB_MACHINE=uml, uml-debug or kcsan
#   build/lab/KERNEL-MACHINE/*.ko; compiler warnings are errors
#   --sparse: checks with sparse (kernel 6.12 only); its reports are errors
#   --without: builds mrc.ko without each optional part in turn, and without all;
#   with PART only without that part, with PART "all" only without all
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=${1:-}
known_kernel "$k"
sparse='' without=''
case ${2:-} in
'') ;;
--sparse) sparse=1 ;;
--without) without=1 ;;
*) lab_die "usage: module.sh KERNEL [--sparse|--without [PART...]]" ;;
esac
[ -z "$sparse" ] || [ "$k" = 6.12 ] || lab_die "sparse is only set up for kernel 6.12"

# Source directories; each makes one module.
dirs=(drivers/infiniband/sw/mrc selftests/switch selftests/kverbs)
names=(mrc sch_mrcsw mrc_kverbs)
for d in "${dirs[@]}"; do
	[ -f "$TOP/$d/Makefile" ] || lab_die "$d/Makefile does not exist"
done
need_root "building the module in the lab"
"$LAB_DIR/image.sh" "$k"

tree=$(kernel_tree "$k")
build_kernel "$k"
ver=$(kernel_version "$k")
name=$k$(machine_suffix)${sparse:+-sparse}${without:+-without}
# sparse reads the sources where they were compiled, so that nothing is compiled twice.
dir=$LAB/${name%-sparse}
need_space 250 "$LAB" "building the modules for kernel $k"
mkdir -p "$dir" "$LOGS"
exec 7>"$dir/.lock"
flock 7
# kbuild does not rebuild an external module's objects when the kernel is configured
# differently, although the kernel's structures may then differ.
kernel=$ver
[ "$MACHINE" = qemu ] || kernel+=" $(cat "$(built_dir "$k")/.stamp")"
[ "$(cat "$dir/.kernel" 2>/dev/null)" = "$kernel" ] || rm -rf "$dir/src"
echo "$kernel" >"$dir/.kernel"
mirror_sources "$dir/src" drivers include selftests/switch selftests/kverbs

args=(KCFLAGS=-Werror W=1 -j2)
binds=("$dir/src:/src")
case $MACHINE in
qemu) args+=("KDIR=/lib/modules/$ver/build") ;;
*)
	args+=(KDIR=/linux-build)
	[ "$MACHINE" = kcsan ] || args+=(ARCH=um)
	# mrc_devfuzz says how much of the driver it has reached.
	[ "$MACHINE" != uml-debug ] || args+=(KCOV_INSTRUMENT=y)
	binds+=("$LAB/linux/$k/src:/linux" "$(built_dir "$k")/build:/linux-build")
	;;
esac
if [ -n "$sparse" ]; then
	# C=2: check every file, also those whose object is up to date.
	args+=(C=2 "CHECK=sparse")
fi

build() { # DIRECTORY NAME
	local log=$LOGS/module-$2-$name.log
	if ! in_tree "$tree" "${binds[@]}" -- \
		make -C "/src/$1" "${args[@]}" modules >"$log" 2>&1; then
		grep -E -A4 'error|warning|\*\*\*' "$log" | head -n 60 >&2 ||
			tail -n 30 "$log" >&2
		was_full 250 "$LAB" "building the modules for kernel $k" "$log" || true
		lab_note "error: $2.ko does not build for kernel $k ($ver); log: ${log#"$TOP"/}"
		return 1
	fi
	# modpost and sparse only warn, so check that no warnings are left.
	if grep -E '(warning|WARNING|error):?' "$log" |
		grep -v -E 'Skipping BTF|compiler differs|\.config' >&2; then
		lab_note "error: $2.ko for kernel $k has warnings; log: ${log#"$TOP"/}"
		return 1
	fi
	[ -n "$sparse$without" ] || cmp -s "$dir/src/$1/$2.ko" "$dir/$2.ko" ||
		cp "$dir/src/$1/$2.ko" "$dir/$2.ko"
	lab_note "$2.ko for $ver${sparse:+ (sparse)}: no warnings"
}

if [ -n "$without" ]; then
	read -ra parts < <(sed -n 's/^mrc-parts := //p' "$TOP/${dirs[0]}/Kbuild") || true
	[ "${#parts[@]}" -gt 0 ] || lab_die "nothing found that can be left out"
	parts+=("${parts[*]}")
	if [ "${3:-}" = all ]; then
		parts=("${parts[-1]}")
	elif [ $# -gt 2 ]; then
		parts=("${@:3}")
	fi
	all=("${args[@]}")
	for p in "${parts[@]}"; do
		args=("${all[@]}")
		for o in $p; do
			args+=("CONFIG_INFINIBAND_MRC_$o=n")
		done
		lab_note "without $p:"
		build "${dirs[0]}" "${names[0]}"
	done
	exit 0
fi

failed=''
for i in "${!dirs[@]}"; do
	build "${dirs[i]}" "${names[i]}" || {
		failed=1
		# After any error no older module may remain that could be tested.
		[ -n "$sparse" ] || rm -f "$dir/${names[i]}.ko"
	}
done
[ -z "$failed" ]
