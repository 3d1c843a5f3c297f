#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds the project's own guest programs with the guests' compiler and libraries: the
# tools, except mrcsim, in one build, and every directory directly under selftests/ or
# selftests/net/ that has a CMakeLists.txt, except the native tests (unit, fuzz,
# enginebench, native, mrcctl, mrclab, mrcmap, mrcsim, mrcperf, mrcbench, mrcconform). The
# programs are put into build/lab/guest/bin, which is in the PATH of guests.
# Programs that use libMRC are linked with the provider's build of it.
#
# usage: tools.sh
set -euo pipefail
. "$(dirname "$0")/common.sh"

need_root "building the guest programs"
"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
work=$LAB/tools
need_space 700 "$LAB" "building the guests' programs"
mkdir -p "$work/build" "$work/out/bin" "$LAB/guest/bin" "$LOGS"
exec 7>"$work/.lock"
flock 7

# No guest needs mrcsim.
projects=(userspace-tools)
programs=()
for f in "$TOP"/userspace-tools/*/CMakeLists.txt; do
	f=$(basename "$(dirname "$f")")
	case $f in
	engine | mrcsim) ;;
	*) programs+=("$f") ;;
	esac
done
for f in "$TOP"/selftests/*/CMakeLists.txt "$TOP"/selftests/net/*/CMakeLists.txt; do
	[ -f "$f" ] || continue
	case ${f#"$TOP"/selftests/} in
	unit/* | fuzz/* | enginebench/* | native/*) continue ;;
	mrcctl/* | mrclab/* | mrcmap/* | mrcsim/* | mrcperf/* | mrcbench/* | mrcconform/*) continue ;;
	esac
	f=$(dirname "$f")
	projects+=("${f#"$TOP"/}")
done
mirror_sources "$work/src" include drivers selftests userspace-tools

# A fresh copy of the library. Header files keep their times if they are unchanged, so
# that nothing is compiled again for them.
[ -e "$LAB/guest/lib/libmrc.so" ] || "$LAB_DIR/provider.sh"
mkdir -p "$work/mrc/include"
rm -rf "$work/mrc/lib"
cp -a "$LAB/guest/lib" "$work/mrc/lib"
for f in "$LAB"/guest/include/*.h; do
	cmp -s "$f" "$work/mrc/include/$(basename "$f")" || cp "$f" "$work/mrc/include/"
done

for p in "${projects[@]}"; do
	name=${p//\//_}
	log=$LOGS/tools-$name.log
	# Unity builds take half of the time. "make install" and clang-tidy compile each
	# file by itself.
	unity=OFF
	[ "$p" != userspace-tools ] || unity=ON
	if ! in_tree "$(kernel_tree "$DEFAULT_KERNEL")" "$work:/src" -- sh -c '
		set -e
		[ -f "$2/build.ninja" ] && grep -q "^CMAKE_UNITY_BUILD:.*=$3\$" "$2/CMakeCache.txt" &&
			grep -q "^MRC_TOOLS:.*=$4\$" "$2/CMakeCache.txt" ||
		cmake -G Ninja -S "$1" -B "$2" \
			-DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" \
			-DCMAKE_BUILD_TYPE=RelWithDebInfo \
			"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" \
			-DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
			-DMRC_INCLUDE_DIR=/src/mrc/include -DMRC_LIBRARY_DIR=/src/mrc/lib \
			-DCMAKE_SKIP_RPATH=ON -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=/src/out/bin \
			-DCMAKE_UNITY_BUILD="$3" "-DMRC_TOOLS=$4"
		ninja -C "$2" -j2' build "/src/src/$p" "/src/build/$name" "$unity" \
		"$(IFS=';' && echo "${programs[*]}")" \
		>"$log" 2>&1; then
		grep -E -A6 'error|warning|FAILED' "$log" | head -n 60 >&2 ||
			tail -n 30 "$log" >&2
		was_full 700 "$LAB" "building the guests' programs" "$log" || true
		lab_die "$p does not build; log: ${log#"$TOP"/}"
	fi
	lab_note "$p: built for the guests, no warnings"
done
for f in "$work"/out/bin/*; do
	[ -f "$f" ] || continue
	cmp -s "$f" "$LAB/guest/bin/$(basename "$f")" || {
		cp "$f" "$LAB/guest/bin/.new"
		mv "$LAB/guest/bin/.new" "$LAB/guest/bin/$(basename "$f")"
	}
done

# The examples, where installed programs have them.
mkdir -p "$LAB/guest/share/mrclab"
for d in fabrics drills; do
	rm -rf "$LAB/guest/share/mrclab/.new"
	cp -a "$TOP/userspace-tools/mrclab/$d" "$LAB/guest/share/mrclab/.new"
	rm -rf "$LAB/guest/share/mrclab/$d"
	mv "$LAB/guest/share/mrclab/.new" "$LAB/guest/share/mrclab/$d"
done
