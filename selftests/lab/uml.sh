#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds User Mode Linux, the kernel as a program, from Debian's source of one
# of the lab's kernels, inside that kernel's tree, so that the compiler matches.
# Done once: again when the source, the compiler, the configuration or this
# script changed.
#
# usage: uml.sh KERNEL [--debug]
#   result, below build/lab/uml/KERNEL or KERNEL-debug:
#     linux      the program; modules/  what INSTALL_MOD_PATH got
#     build/     its build directory, for modules outside of the source
#     release    what uname -r says in it
#   --debug: with KASAN, lockdep, kmemleak, debug objects, UBSAN, fault injection
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=${1:-}
known_kernel "$k"
debug=
case ${2:-} in
'') ;;
--debug) debug=1 ;;
*) lab_die "usage: uml.sh KERNEL [--debug]" ;;
esac
need_root "building User Mode Linux in the lab"
"$LAB_DIR/image.sh" "$k"
"$LAB_DIR/fetch.sh" linux "$k"

tree=$(kernel_tree "$k")
src=$LAB/linux/$k/src
dir=$LAB/uml/$k${debug:+-debug}
log=$LOGS/uml-$k${debug:+-debug}.log
mkdir -p "$dir/build" "$LOGS"
exec 7>"$dir/.lock"
flock 7

# A file that is named after the kernel too says what is different there.
fragments=()
for part in uml ${debug:+debug}; do
	for f in "$LAB_DIR/uml/$part.config" "$LAB_DIR/uml/$part-$k.config"; do
		[ ! -f "$f" ] || fragments+=("$f")
	done
done
hz=1000
[ -z "$debug" ] || hz=250

stamp=$({
	cat "$LAB_DIR/uml.sh" "${fragments[@]}" "$tree/.lab-stamp"
	stat -c %Y "$LAB/linux/$k/.fetched"
} | sha256sum | cut -c1-16)
[ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ] || exit 0
rm -f "$dir/.stamp"

# The architecture has a fixed clock rate of 100, with which a program that
# polls keeps the processor for 10 ms; two kernels are built from one source.
if ! grep -q '^	int "HZ"$' "$src/arch/um/Kconfig"; then
	awk '$1 == "config" { hz = $2 == "HZ" }
		hz && $1 == "int" { print "\tint \"HZ\""; next } { print }' \
		"$src/arch/um/Kconfig" >"$dir/Kconfig.new"
	grep -q '^	int "HZ"$' "$dir/Kconfig.new" || lab_die "Linux $k: no HZ in arch/um/Kconfig"
	mv "$dir/Kconfig.new" "$src/arch/um/Kconfig"
fi

# Fragments under the last word: what a later line says holds.
cat "${fragments[@]}" >"$dir/build/lab.config"
echo "CONFIG_HZ=$hz" >>"$dir/build/lab.config"

in_uml() {
	in_tree "$tree" "$src:/linux" "$dir/build:/linux-build" "$dir:/linux-out" -- "$@"
}

lab_note "building User Mode Linux $k${debug:+ (debug)}; log: ${log#"$TOP"/}"
since=$SECONDS
if ! in_uml sh -ec '
	cd /linux
	um="make ARCH=um O=/linux-build"
	$um x86_64_defconfig
	scripts/kconfig/merge_config.sh -m -O /linux-build /linux-build/.config /linux-build/lab.config
	$um olddefconfig
	' >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	lab_die "User Mode Linux $k: the configuration fails; log: ${log#"$TOP"/}"
fi

# A line that did not hold is a test that would fail for no visible reason; one
# that this kernel has no option for (any more, or yet) needs none.
missed=$(config_missed "$dir/build/lab.config" "$dir/build/.config" "$src")
[ -z "$missed" ] || {
	printf '%s\n' "$missed" >&2
	lab_die "User Mode Linux $k: the configuration did not take these"
}

if ! in_uml sh -ec '
	make -C /linux-build ARCH=um -j"$1" linux modules
	rm -rf /linux-out/modules
	make -C /linux-build ARCH=um INSTALL_MOD_PATH=/linux-out/modules modules_install
	' build "${LAB_JOBS:-$(nproc)}" >>"$log" 2>&1; then
	grep -E -A4 'error|\*\*\*' "$log" | tail -n 40 >&2 || tail -n 30 "$log" >&2
	lab_die "User Mode Linux $k does not build; log: ${log#"$TOP"/}"
fi
cp "$dir/build/linux" "$dir/linux.new"
mv "$dir/linux.new" "$dir/linux"
cp "$dir/build/include/config/kernel.release" "$dir/release"
rm -f "$dir"/modules/lib/modules/*/build "$dir"/modules/lib/modules/*/source
echo "$stamp" >"$dir/.stamp"
lab_note "User Mode Linux $(cat "$dir/release"): $((SECONDS - since)) s"
