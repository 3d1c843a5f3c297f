#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds the rdma-core provider inside the source tree of Debian 13's rdma-core, like
# a provider that is part of rdma-core.
#
# usage: provider.sh          in the guests' tree; result in build/lab/guest
#        provider.sh --host   with this machine's compiler; result in build/host
# Result: DIR/lib/ (the library under all its names), DIR/libibverbs/*.so (the plug-in, a
# link to the library), DIR/libibverbs.d/*.driver, and for compiling programs DIR/include/,
# DIR/dev/ (pkg-config and CMake files) and DIR/man/ (manual pages under all their names).
# Warnings are errors.
set -euo pipefail
. "$(dirname "$0")/common.sh"

host=
case ${1:-} in
'') ;;
--host) host=1 ;;
*) lab_die "usage: provider.sh [--host]" ;;
esac
[ -f "$TOP/providers/mrc/CMakeLists.txt" ] ||
	lab_die "providers/mrc/CMakeLists.txt does not exist"
[ -n "$host" ] || need_root "building the provider in the lab"

pristine=$LAB/rdma-core/src
if [ -n "$host" ] && [ -n "${RDMA_CORE:-}" ]; then
	[ -f "$RDMA_CORE/kernel-headers/CMakeLists.txt" ] ||
		lab_die "RDMA_CORE=$RDMA_CORE is not rdma-core's source"
	pristine=$(realpath "$RDMA_CORE")
else
	"$LAB_DIR/fetch.sh" rdma-core
fi
if [ -n "$host" ]; then
	dir=$BUILD/host
	log=$BUILD/host/provider.log
else
	"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
	dir=$LAB/guest
	log=$LOGS/provider.log
fi
work=$BUILD/rdma-core${host:+-host}
need_space 200 "$BUILD" "building the provider"
mkdir -p "$dir" "$LOGS" "$work"
exec 7>"$work/.lock"
flock 7

# --- graft: a copy of rdma-core with one more provider ------------------------
src=$work/src
if [ "$(cat "$work/.copied" 2>/dev/null)" != "$pristine" ] ||
	[ "$LAB/rdma-core/.fetched" -nt "$work/.copied" ]; then
	rm -rf "$src" "$work/build"
	cp -a "$pristine" "$src"
	echo "$pristine" >"$work/.copied"
fi
# mirror_sources does not touch files of others nor unchanged files, so an incremental
# build stays incremental.
mirror_sources "$src" providers/mrc
for h in "$TOP"/include/uapi/rdma/mrc*.h; do
	[ -f "$h" ] || lab_die "include/uapi/rdma/mrc-abi.h does not exist"
	cmp -s "$h" "$src/kernel-headers/rdma/$(basename "$h")" ||
		cp "$h" "$src/kernel-headers/rdma/"
done
"$TOP/packaging/graft_lists.sh" "$pristine" "$work/top.new" "$work/headers.new" ||
	lab_die "the provider cannot be added to rdma-core"
cmp -s "$work/top.new" "$src/CMakeLists.txt" || cp "$work/top.new" "$src/CMakeLists.txt"
cmp -s "$work/headers.new" "$src/kernel-headers/CMakeLists.txt" ||
	cp "$work/headers.new" "$src/kernel-headers/CMakeLists.txt"

# After any error no older provider may remain that could be tested.
fail() {
	rm -rf "${dir:?}/libibverbs" "$dir/libibverbs.d" "${dir:?}/lib" \
		"${dir:?}/include" "${dir:?}/dev" "${dir:?}/man"
	lab_die "$@"
}

# --- build -------------------------------------------------------------------
mkdir -p "$work/build"
run() {
	if [ -n "$host" ]; then
		low "$@"
	else
		in_tree "$(kernel_tree "$DEFAULT_KERNEL")" "$work:/src" -- "$@"
	fi
}
at=/src
[ -z "$host" ] || at=$work
options="-DENABLE_WERROR=1 -DENABLE_STATIC=0 -DNO_MAN_PAGES=1 -DNO_PYVERBS=1
	-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr"
# shellcheck disable=SC2086 # a list of options
if ! {
	{ [ -f "$work/build/build.ninja" ] ||
		run cmake -G Ninja -S "$at/src" -B "$at/build" $options; } &&
		run ninja -C "$at/build" -j2 providers/mrc/all
} >"$log" 2>&1; then
	grep -E -A6 'error|warning|FAILED' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
	was_full 200 "$BUILD" "building the provider" "$log" || true
	fail "the provider does not build; log: ${log#"$TOP"/}"
fi
if grep -E 'warning:' "$log" >&2; then
	fail "the provider's build has warnings; log: ${log#"$TOP"/}"
fi

# The files that installing only this provider would put below /usr and /etc.
stage=$work/stage
rm -rf "$stage"
run env "DESTDIR=$at/stage" cmake -P "$at/build/providers/mrc/cmake_install.cmake" \
	>>"$log" 2>&1 || fail "the provider cannot be installed; log: ${log#"$TOP"/}"
library=$(find "$stage" -name 'libmrc.so.*' -type f)
plugin=$(find "$stage" -name 'libmrc-rdmav*.so')
[ -f "$library" ] || fail "the build made no libmrc.so"
[ -L "$plugin" ] || fail "the build made no libmrc-rdmav*.so"
# A program that links the library and the loader of plug-ins must get the same
# copy.
[ "$(realpath "$plugin")" = "$(realpath "$library")" ] ||
	fail "$(basename "$plugin") is not a link to $(basename "$library")"

rm -rf "${dir:?}/libibverbs" "$dir/libibverbs.d" "${dir:?}/lib" "${dir:?}/include" \
	"${dir:?}/dev" "${dir:?}/man"
mkdir -p "$dir/libibverbs" "$dir/libibverbs.d" "$dir/lib" "$dir/dev"
echo "driver mrc" >"$dir/libibverbs.d/mrc.driver"
cp -P "$(dirname "$library")"/lib*mrc.so* "$dir/lib/"
# A link as in the final place of these files, where libibverbs/ is below the
# directory that is lib/ here.
ln -s "../$(basename "$library")" "$dir/libibverbs/$(basename "$plugin")"
cp -R "$stage/usr/include" "$dir/include"
cp -R "$(dirname "$library")/pkgconfig" "$(dirname "$library")/cmake" "$dir/dev/"
# rdma-core makes its own manual pages with pandoc, and is built without them here.
while read -r page alias; do
	section=$dir/man/man${page##*.}
	mkdir -p "$section"
	if [ -n "$alias" ]; then
		ln -s "$page" "$section/$alias"
	else
		cp "$TOP/providers/mrc/man/$page" "$section/"
	fi
done < <(library_pages)
lab_note "provider: $(basename "$plugin"), $(basename "$library"), no warnings"
