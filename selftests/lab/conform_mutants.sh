#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Shows that mrcconform notices what it is for: each deviation of
# selftests/mrcconform/mutants is built into a module of its own, and all of them are
# tested, one after the other, in one guest. The case that a deviation names must fail.
#
# usage: conform_mutants.sh [PATTERN]     (make conform)
#   PATTERN  only mutants whose name matches, a shell pattern
# exit status: 0 all killed; 3 a mutant survived; another: not tested
set -euo pipefail
# The kernel as a program needs minutes, an emulated one half an hour.
export LAB_MACHINE=uml
. "$(dirname "$0")/common.sh"

pattern=${1:-*}
k=7.2
src=$TOP/selftests/mrcconform
driver=drivers/infiniband/sw/mrc
need_root "testing in a guest"
"$LAB_DIR/setup.sh" vm native
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"

dir=$LAB/$k$(machine_suffix)-mutants
mkdir -p "$dir/out" "$dir/edits" "$LOGS"
need_space 300 "$LAB" "building mutants of the module"
exec 9>"$dir/.lock"
flock 9
# A build that was interrupted may have left objects of a mutant.
[ ! -e "$dir/dirty" ] || rm -rf "$dir/src"
rm -rf "$dir/edits" "$dir/dirty"
mkdir "$dir/edits"
mirror_sources "$dir/src" drivers include
"$src/mutate.py" check "$TOP/$driver"

# --- build: NAME.ko is kept while neither the driver nor the mutant changes -------------
sum=$(cd "$TOP" && find "$driver" include -type f -print0 | sort -z | xargs -0 cat | sha256sum)
: >"$dir/list"
: >"$dir/todo"
want() { # NAME FILE
	local stamp
	stamp=$({ echo "$sum" && { [ ! -e "$dir/edits/$1" ] || cat "$dir/edits/$1"; }; } | sha256sum)
	[ "$(cat "$dir/out/$1.stamp" 2>/dev/null)" != "$stamp" ] || [ ! -e "$dir/out/$1.ko" ] ||
		return 0
	rm -f "$dir/out/$1.ko"
	echo "$stamp" >"$dir/out/$1.stamp"
	echo "$1 $2" >>"$dir/todo"
}

want driver -
while read -r name case file; do
	# shellcheck disable=SC2254 # a pattern
	case $name in
	$pattern) ;;
	*) continue ;;
	esac
	"$src/mutate.py" apply "$name" "$TOP/$driver" "$dir/edits/$name"
	echo "$name $case $file" >>"$dir/list"
	want "$name" "$file"
done < <("$src/mutate.py" list)
[ -s "$dir/list" ] || lab_die "no mutant matches '$pattern'"

lab_note "building $(wc -l <"$dir/todo") modules"
# A mutant may leave a function or a variable without use.
# shellcheck disable=SC2016 # expanded by the inner shell
in_tree "$(kernel_tree "$k")" "$dir:/src" "$LAB/linux/$k/src:/linux" \
	"$(built_dir "$k")/build:/linux-build" -- sh -c '
	set -e
	cd /src
	build() {
		make -C "src/$1" -j2 KDIR=/linux-build ARCH=um modules >build.log 2>&1 &&
			cp "src/$1/mrc.ko" out/.new &&
			strip --strip-debug out/.new &&
			mv out/.new "out/$2.ko"
	}
	while read -r name file; do
		if [ "$file" = - ]; then
			build "$1" "$name"
			continue
		fi
		cp -p "src/$1/$file" saved
		touch dirty
		cp "edits/$name" "src/$1/$file"
		build "$1" "$name" || { echo "$name does not build" >&2; exit 1; }
		cp -p saved "src/$1/$file"
		# No object of a mutant may get into the next module.
		find "src/$1" -name "*.o" -newer dirty -delete
		rm dirty
	done <todo' build "$driver" || {
	grep -E -A4 'error' "$dir/build.log" | head -n 30 >&2 || true
	lab_die "a mutant does not build; log: ${dir#"$TOP"/}/build.log"
}

# --- test -----------------------------------------------------------------------------
mkdir -p "$BUILD"
out=$BUILD/conform-mutants
rm -rf "$out" "$LAB/guest/mutants"
mkdir -p "$out" "$LAB/guest/mutants"
trap 'rm -rf "$LAB/guest/mutants"' EXIT
cp "$dir/list" "$dir/out/driver.ko" "$LAB/guest/mutants/"
while read -r name _; do
	cp "$dir/out/$name.ko" "$LAB/guest/mutants/"
done <"$dir/list"
lab_note "testing $(wc -l <"$dir/list") mutants"
rc=0
"$LAB_DIR/vm.sh" -k "$k" -t 3600 -o "$out" "$src/mutants_job.sh" || rc=$?

# --- result ---------------------------------------------------------------------------
killed=$(grep -c ' killed$' "$out/results" 2>/dev/null) || true
all=$(wc -l <"$dir/list")
if [ "$rc" != 0 ]; then
	[ ! -e "$out/driver" ] || lab_die "the driver itself fails a case that a mutant names"
	next=$(sed -n "$(($(wc -l <"$out/results" 2>/dev/null || echo 0) + 1))p" "$dir/list")
	lab_die "the guest's job failed with status $rc, at mutant: ${next%% *}"
fi
echo "$all mutants, ${killed:-0} killed, $((all - ${killed:-0})) not"
[ "$killed" = "$all" ] || {
	grep -v ' killed$' "$out/results"
	exit 3
}
