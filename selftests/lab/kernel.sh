#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds a kernel for the lab from Debian's source of one of the lab's kernels, inside
# that kernel's tree, so that the compiler matches. Builds again only if the source,
# the compiler, the configuration or this script changed.
#
# usage: kernel.sh MACHINE KERNEL
#   MACHINE: uml        User Mode Linux, the kernel as a program
#            uml-debug  the same with KASAN, lockdep, kmemleak, debug objects,
#                       UBSAN, fault injection
#            kcsan      for an emulated machine of two processors, with KCSAN
#   result, below build/lab/kernels/KERNEL-MACHINE:
#     linux      the program or the boot image; modules/  the INSTALL_MOD_PATH directory
#     build/     its build directory, for modules outside of the source
#     release    the output of uname -r in it
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 2 ] || lab_die "usage: kernel.sh MACHINE KERNEL"
MACHINE=$1 k=$2
known_kernel "$k"
hz=1000 arch=um target=linux image=linux base=x86_64_defconfig
case $MACHINE in
uml) parts=(guest uml) ;;
uml-debug) parts=(guest uml debug) hz=250 ;;
kcsan)
	parts=(guest kcsan) hz=250 arch=x86_64 target=bzImage
	image=arch/x86/boot/bzImage base=allnoconfig
	;;
*) lab_die "no kernel is built for the machine '$MACHINE' (known: uml uml-debug kcsan)" ;;
esac
need_root "building a kernel in the lab"
"$LAB_DIR/image.sh" "$k"
"$LAB_DIR/fetch.sh" linux "$k"

tree=$(kernel_tree "$k")
src=$LAB/linux/$k/src
dir=$(built_dir "$k")
log=$LOGS/kernel-$k-$MACHINE.log
mkdir -p "$dir/build" "$LOGS"
exec 7>"$dir/.lock"
flock 7

# A fragment whose name also contains the kernel holds the differences for that
# kernel.
fragments=()
for part in "${parts[@]}"; do
	for f in "$LAB_DIR/config/$part.config" "$LAB_DIR/config/$part-$k.config"; do
		[ ! -f "$f" ] || fragments+=("$f")
	done
done

stamp=$({
	cat "$LAB_DIR/kernel.sh" "$LAB_DIR/uml_source.sh" "${fragments[@]}" "$tree/.lab-stamp"
	stat -c %Y "$LAB/linux/$k/.fetched"
} | sha256sum | cut -c1-16)
[ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ] || exit 0
rm -f "$dir/.stamp"

# Two kernels are built from one source.
if [ "$arch" = um ]; then
	exec 8>"$LAB/linux/$k/.lock"
	flock 8
	"$LAB_DIR/uml_source.sh" "$src"
	flock -u 8
fi

# The fragments, in order: a later line overrides an earlier one.
cat "${fragments[@]}" >"$dir/build/lab.config"
if [ "$arch" = um ]; then
	echo "CONFIG_HZ=$hz" >>"$dir/build/lab.config"
else
	echo "CONFIG_HZ_$hz=y" >>"$dir/build/lab.config"
fi

in_source() {
	in_tree "$tree" "$src:/linux" "$dir/build:/linux-build" "$dir:/linux-out" -- "$@"
}

lab_note "building Linux $k for $MACHINE; log: ${log#"$TOP"/}"
since=$SECONDS
if ! in_source sh -ec '
	cd /linux
	make ARCH="$1" O=/linux-build "$2"
	scripts/kconfig/merge_config.sh -m -O /linux-build /linux-build/.config /linux-build/lab.config
	make ARCH="$1" O=/linux-build olddefconfig
	' configure "$arch" "$base" >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	lab_die "Linux $k for $MACHINE: the configuration fails; log: ${log#"$TOP"/}"
fi

# A line that does not hold would make a test fail for no visible reason. A line for
# an option that this kernel does not have (any more, or yet) is no error.
missed=$(config_missed "$dir/build/lab.config" "$dir/build/.config" "$src")
[ -z "$missed" ] || {
	printf '%s\n' "$missed" >&2
	lab_die "Linux $k for $MACHINE: the configuration did not take these"
}

if ! in_source sh -ec '
	make -C /linux-build ARCH="$1" -j"$3" "$2" modules
	rm -rf /linux-out/modules
	make -C /linux-build ARCH="$1" INSTALL_MOD_PATH=/linux-out/modules modules_install
	' build "$arch" "$target" "${LAB_JOBS:-$(nproc)}" >>"$log" 2>&1; then
	grep -E -A4 'error|\*\*\*' "$log" | tail -n 40 >&2 || tail -n 30 "$log" >&2
	lab_die "Linux $k for $MACHINE does not build; log: ${log#"$TOP"/}"
fi
cp "$dir/build/$image" "$dir/linux.new"
mv "$dir/linux.new" "$dir/linux"
cp "$dir/build/include/config/kernel.release" "$dir/release"
rm -f "$dir"/modules/lib/modules/*/build "$dir"/modules/lib/modules/*/source
echo "$stamp" >"$dir/.stamp"
lab_note "Linux $(cat "$dir/release") for $MACHINE: $((SECONDS - since)) s"
