#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Writes and checks the driver as patches for the kernel tree. The contents of each patch:
# selftests/lab/series/table.toml.
#
# usage: series.sh write
#            writes the patches to build/series
#        series.sh check [-c COUNTSFILE] [-f N]
#            applies them one by one to the newest kernel's source, and checks each: it
#            compiles without warnings (W=1), and sparse, checkpatch --strict and
#            kernel-doc have no complaints. At the end scripts of selftests/net run in User
#            Mode Linux with the module of the last patch, and each optional part is left
#            out once.
#            -c writes "passed failed skipped" to COUNTSFILE
#            -f checks patch N and those after it; the others are only applied
# The kernel's source and objects are not copied: changes are in an overlay in
# build/lab/series. Log of a failed build: build/lab/logs/series-*.log.
set -euo pipefail
. "$(dirname "$0")/common.sh"

KERNEL=${KERNELS[-1]}
OUT=$BUILD/series
DIR=$LAB/series
DRIVER=drivers/infiniband/sw/mrc
SCRIPTS=(link data ud)
PARTS=(NEIGH INPUT NSCC VEGAS SRV6 TRIM GUARD CTL EXT ODP UD UC)

write() {
	"$LAB_DIR/setup.sh" lint	# unifdef
	"$LAB_DIR/fetch.sh" linux "$KERNEL"
	"$LAB_DIR/fetch.sh" linux-rest "$KERNEL"
	"$LAB_DIR/series/series.py" "$LAB/linux/$KERNEL/src" "$OUT" "$LAB/linux-rest/$KERNEL"
	echo "[series] ${OUT#"$TOP"/}: $(find "$OUT" -name '0*.patch' | wc -l) files"
}

# Two overlay trees that hold only the changes. Their mounts are in a mount namespace
# that ends with this script.
mount_trees() {
	local kernel t
	kernel=$(built_dir "$KERNEL")
	rm -rf "$DIR/changes"
	mkdir -p "$DIR/src" "$DIR/build" "$DIR"/changes/{src,build}{,.work}
	mount -t overlay overlay "$DIR/src" -o \
		"lowerdir=$(realpath "$LAB/linux-rest/$KERNEL"):$(realpath "$LAB/linux/$KERNEL/src"),upperdir=$DIR/changes/src,workdir=$DIR/changes/src.work"
	mount -t overlay overlay "$DIR/build" -o \
		"lowerdir=$(realpath "$kernel/build"),upperdir=$DIR/changes/build,workdir=$DIR/changes/build.work"
	# The newest kernel's tree has no sparse. Debian's sparse does not yet know
	# __typeof_unqual__, nor that the length of a literal is constant.
	# __typeof_unqual__ is replaced by the kernel's own substitute for compilers
	# that lack it.
	mkdir -p "$DIR/bin"
	cp "$(kernel_tree "$DEFAULT_KERNEL")/usr/bin/sparse" "$DIR/bin/sparse.real"
	{
		echo '#!/bin/sh'
		printf "exec /lab-bin/sparse.real '-D__builtin_strlen(s)=(sizeof(s) - 1)' "
		printf "'-D__typeof_unqual__(x)=__typeof__(_Generic((x), char: (char)0, "
		for t in char short int long 'long long'; do
			printf 'unsigned %s: (unsigned %s)0, signed %s: (signed %s)0, ' "$t" "$t" "$t" "$t"
		done
		echo "default: (x)))' \"\$@\""
	} >"$DIR/bin/sparse"
	chmod 755 "$DIR/bin/sparse"
}

in_kernel() {
	in_tree "$(kernel_tree "$KERNEL")" "$DIR/src:/linux" "$DIR/build:/linux-build" \
		"$DIR/bin:/lab-bin" -- "$@"
}

# Configures the options that exist so far. "$1": PART=n leaves a part out, defaults=y
# uses Kconfig's defaults.
configure() {
	local p
	[ -f "$DIR/src/$DRIVER/Kconfig" ] || return 0
	sed -i '/CONFIG_INFINIBAND_MRC/d' "$DIR/build/.config"
	{
		echo CONFIG_INFINIBAND_MRC=m
		for p in "${PARTS[@]}"; do
			[ "$1" != defaults=y ] || continue
			grep -q "^config INFINIBAND_MRC_$p\$" "$DIR/src/$DRIVER/Kconfig" || continue
			if [ "$1" = "$p=n" ]; then
				echo "# CONFIG_INFINIBAND_MRC_$p is not set"
			else
				echo "CONFIG_INFINIBAND_MRC_$p=y"
			fi
		done
	} >"$DIR/build/series.config"
	cat "$DIR/build/series.config" >>"$DIR/build/.config"
	in_kernel make -s -C /linux ARCH=um O=/linux-build olddefconfig || return 1
	# UC depends on UD and on EXT.
	config_missed "$DIR/build/series.config" "$DIR/build/.config" "$DIR/src" |
		if [ "$1" = UD=n ] || [ "$1" = EXT=n ]; then
			grep -v MRC_UC
		else
			cat
		fi | grep . && return 1
	return 0
}

# Compiles what has changed since the last time, each file with sparse as well. The
# build would also run kernel-doc, which needs a Python that the kernel's tree lacks:
# see comments().
compile() { # TARGET...
	local log=$LOGS/series-build.log
	in_kernel make -C /linux ARCH=um O=/linux-build CONFIG_INFINIBAND_MRC=m \
		KCFLAGS=-Werror W=1 C=1 PYTHON3=true \
		CHECK=/lab-bin/sparse \
		-j"${LAB_JOBS:-2}" "$@" >"$log" 2>&1 || {
		grep -E -A4 'error|not found|\*\*\*' "$log" | head -n 40
		return 1
	}
	! grep -E '(warning|WARNING|error):|not available or not up to date' "$log"
}

# Runs checkpatch on a patch. Leaves out wrong complaints that are known for the
# driver, and complaints that only concern the sender of the patch.
style() { # PATCH
	local line path type t pattern rc=0
	while IFS= read -r line; do
		[ -n "$line" ] || continue
		if [[ $line =~ ^([^:]+):[0-9]+:\ (ERROR|WARNING|CHECK):([A-Z0-9_]+): ]]; then
			path=${BASH_REMATCH[1]} type=${BASH_REMATCH[3]}
			[[ $path != *.sh ]] || continue # make check-lint has checked those
			while read -r t pattern _; do
				# shellcheck disable=SC2053 # a pattern is wanted
				[ "$type" = "$t" ] && [[ $path == $pattern ]] && continue 2
			done < <(grep -v '^#' "$LAB_DIR/checkpatch-allowed")
		fi
		echo "$line"
		rc=1
	done < <(cd "$DIR/src" && perl scripts/checkpatch.pl --root=. --strict --show-types \
		--terse --showfile --no-summary --max-line-length=100 \
		--ignore MISSING_SIGN_OFF,FILE_PATH_CHANGES "$1")
	return $rc
}

# kernel-doc of the files that a patch changes.
comments() { # PATCH
	local files
	mapfile -t files < <(sed -n 's|^+++ b/\(.*\.[ch]\)$|\1|p' "$1")
	[ "${#files[@]}" -gt 0 ] || return 0
	(cd "$DIR/src" && /usr/bin/python3 -B scripts/kernel-doc -none -Werror "${files[@]}" 2>&1)
}

# The pages that a patch changes must be valid for docutils, apart from Sphinx's
# additions.
pages() { # PATCH
	local files
	mapfile -t files < <(sed -n 's|^+++ b/\(Documentation/.*/mrc/.*\.rst\)$|\1|p' "$1")
	[ "${#files[@]}" -gt 0 ] || return 0
	(cd "$DIR/src" && /usr/bin/python3 -B "$LAB_DIR/series/rst.py" "${files[@]}" 2>&1)
}

passed=0 failed=0
judge() { # WHAT COMMAND...
	local what=$1 said
	shift
	if said=$("$@" 2>&1); then
		passed=$((passed + 1))
		return 0
	fi
	failed=$((failed + 1))
	bad+=" $what"
	printf '%s\n' "$said" | head -n 30 | sed "s/^/    $what: /"
}

apply() {
	patch -d "$DIR/src" -p1 -s -F0 --no-backup-if-mismatch <"$1"
}

check() {
	local counts='' from=1 patch n=0 of since bad subject part opt
	while getopts c:f: opt; do
		case $opt in
		c) counts=$OPTARG ;;
		f) from=$OPTARG ;;
		*) lab_die "see the head of $0 for its use" ;;
		esac
	done
	MACHINE=uml
	need_root "building the series"
	need_space 600 "$LAB" "building the series"
	"$LAB_DIR/image.sh" "$DEFAULT_KERNEL" "$KERNEL"
	build_kernel "$KERNEL"
	write
	mkdir -p "$DIR" "$LOGS"
	exec 7>"$DIR/.lock"
	flock 7
	mount_trees
	of=$(find "$OUT" -name '0*.patch' ! -name '0000-*' | wc -l)
	for patch in "$OUT"/0*.patch; do
		[[ $patch != */0000-* ]] || continue
		n=$((n + 1)) since=$SECONDS bad=''
		subject=$(sed -n 's/^Subject: \[PATCH[^]]*\] //p' "$patch")
		apply "$patch" || {
			echo "FAIL series $n/$of $subject: does not apply"
			failed=$((failed + 1))
			break
		}
		[ "$n" -ge "$from" ] || continue
		judge configuration configure ''
		judge compiler compile "$DRIVER/"
		judge checkpatch style "$patch"
		judge kernel-doc comments "$patch"
		judge pages pages "$patch"
		echo "$([ -z "$bad" ] && echo PASS || echo FAIL) series $n/$of $subject${bad:+:$bad} ($((SECONDS - since)) s)"
	done
	if [ "$failed" = 0 ]; then
		load
		for part in "${PARTS[@]/%/=n}" defaults=y; do
			since=$SECONDS bad=''
			judge configuration configure "$part"
			judge compiler compile "$DRIVER/"
			echo "$([ -z "$bad" ] && echo PASS || echo FAIL) series with $part${bad:+:$bad} ($((SECONDS - since)) s)"
		done
	fi
	umount "$DIR/src" "$DIR/build"
	[ -z "$counts" ] || echo "$passed $failed 0" >"$counts"
	echo "series: $passed passed, $failed failed"
	[ "$failed" = 0 ]
}

# Builds all modules of the kernel, of which only this one has to be compiled:
# building it alone would not find its dependencies. The flags are those of kernel.sh.
link_module() {
	local log=$LOGS/series-modules.log
	in_kernel make -C /linux-build ARCH=um -j"${LAB_JOBS:-2}" modules >"$log" 2>&1 || {
		grep -E -A4 'error|ERROR|not found|\*\*\*' "$log" | head -n 40
		return 1
	}
}

# The module with all parts, and scripts of selftests/net with it.
load() {
	local bad='' s p f k since=$SECONDS
	judge configuration configure ''
	judge module link_module
	[ -z "$bad" ] || {
		echo "FAIL series module:$bad"
		return 0
	}
	cp "$DIR/build/$DRIVER/mrc.ko" "$DIR/mrc.ko"
	echo "PASS series module ($((SECONDS - since)) s)"
	export LAB_MACHINE=uml LAB_MRC_KO=$DIR/mrc.ko
	if ! { "$LAB_DIR/module.sh" "$KERNEL" && "$LAB_DIR/provider.sh" && "$LAB_DIR/tools.sh"; }; then
		failed=$((failed + 1))
		echo "FAIL series: what guests need besides the module does not build"
		return 0
	fi
	for s in "${SCRIPTS[@]}"; do
		rm -f "$DIR/counts"
		"$LAB_DIR/run-tests.sh" -k "$KERNEL" -c "$DIR/counts" "=$s" || true
		read -r p f k <"$DIR/counts" || p=0 f=1 k=0
		passed=$((passed + p)) failed=$((failed + f))
		[ "$k" = 0 ] || {
			failed=$((failed + 1))
			echo "FAIL series: $s left something out"
		}
	done
}

case ${1:-} in
write) write ;;
check)
	# Run again in a separate mount namespace.
	if [ -z "${SERIES_MOUNTS:-}" ]; then
		SERIES_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
	fi
	shift
	check "$@"
	;;
*) lab_die "usage: series.sh write|check" ;;
esac
