#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Names, paths and small helpers that all lab scripts share. To be sourced only.
# Sourcing it has no side effect except setting variables.
# shellcheck disable=SC2034 # the variables are for the scripts that source us

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$LAB_DIR/../.." && pwd)
BUILD=$TOP/build
LAB=$BUILD/lab
TREES=$LAB/trees
LOGS=$LAB/logs

# The kernels that the project builds and tests, oldest first. The names are families;
# the exact version is the one that Debian has.
KERNELS=(6.1 6.12 7.2)
DEFAULT_KERNEL=6.12

# The kind of guest: qemu, a stock kernel in an emulated machine; uml, the same kernel
# built as a program, at native speed; uml-debug, the same with all error detection;
# kcsan, an emulated machine whose kernel detects data races between its processors.
MACHINE=${LAB_MACHINE:-qemu}

lab_note() { printf '[lab] %s\n' "$*" >&2; }
lab_die() {
	printf '[lab] error: %s\n' "$*" >&2
	exit 1
}

need_root() {
	[ "$(id -u)" = 0 ] || lab_die "$1 must be run as root"
}

known_kernel() {
	local k
	for k in "${KERNELS[@]}"; do
		[ "$k" = "$1" ] && return 0
	done
	lab_die "unknown kernel '$1' (known: ${KERNELS[*]})"
}

# Directory of the tree that holds the image, headers and compiler of kernel $1. The
# 6.12 tree is also the user land of every guest. "interop" and "containers" are the user
# lands of the guests for foreign suites and for containers; they have no kernel.
kernel_tree() {
	case $1 in
	6.12) echo "$TREES/trixie" ;;
	interop | containers) echo "$TREES/$1" ;;
	*) echo "$TREES/linux-$1" ;;
	esac
}

# Suffix of everything that differs by machine: modules, logs, names in reports.
machine_suffix() {
	case $MACHINE in
	qemu) ;;
	uml | uml-debug | kcsan) echo "-$MACHINE" ;;
	*) lab_die "unknown machine '$MACHINE' (known: qemu uml uml-debug kcsan)" ;;
	esac
}

# The factor by which time limits are longer on the chosen machine. LAB_TIME overrides it.
time_factor() {
	case $MACHINE in
	uml-debug) echo "${LAB_TIME:-4}" ;;
	kcsan) echo "${LAB_TIME:-8}" ;;
	*) echo "${LAB_TIME:-1}" ;;
	esac
}

# The directory of the modules of kernel $1 for the chosen machine.
machine_dir() { echo "$LAB/$1$(machine_suffix)"; }

# The directory in which kernel.sh puts kernel $1 for the chosen machine.
built_dir() { echo "$LAB/kernels/$1-$MACHINE"; }

# Stock kernels need not be built. The size in megabytes of the others: source,
# objects, result.
KERNEL_MB=2500
build_kernel() { # KERNEL
	local what="building Linux $1 for $MACHINE"
	[ "$MACHINE" != qemu ] || return 0
	[ -f "$(built_dir "$1")/.stamp" ] || need_space "$KERNEL_MB" "$LAB" "$what"
	"$LAB_DIR/kernel.sh" "$MACHINE" "$1" || {
		was_full "$KERNEL_MB" "$LAB" "$what" "$LOGS/kernel-$1-$MACHINE.log" || true
		exit 1
	}
}

# Exact version (uname -r) of kernel family $1 on the chosen machine.
kernel_version() {
	case $MACHINE in
	qemu) cat "$(kernel_tree "$1")/.lab-kernel-version" ;;
	*) cat "$(built_dir "$1")/release" ;;
	esac
}

# How QEMU runs a processor here, as options in $accel.
choose_accel() {
	# Without fast string instructions the kernel copies with loops of moves. TCG executes
	# "rep movsb" byte by byte: 64 MiB through a tmpfs took 5 times as long.
	# shellcheck disable=SC2054 # the commas are QEMU's
	tcg_cpu=(-cpu max,-erms,-fsrm,-fsrs,-fzrm)
	accel=(-accel "tcg,thread=multi" "${tcg_cpu[@]}")
	if [ -r /dev/kvm ] && [ -w /dev/kvm ] && grep -q -w -E 'vmx|svm' /proc/cpuinfo; then
		accel=(-accel kvm -cpu host)
	fi
}

# config_missed WANTED CONFIG SOURCE: prints the lines of the fragment WANTED that do
# not hold in the finished CONFIG, except for options that the kernel in SOURCE does
# not have.
config_missed() {
	local name value have
	awk -F= '
		/^# CONFIG_[A-Z0-9_]* is not set$/ { split($0, w, " "); want[w[2]] = "n"; next }
		/^CONFIG_/ { v = $0; sub(/^[^=]*=/, "", v); want[$1] = v }
		END { for (n in want) print n "=" want[n] }' "$1" | sort |
		while IFS='=' read -r name value; do
			have=$(sed -n "s/^$name=//p" "$2")
			[ "${have:-n}" != "$value" ] || continue
			! grep -rq --include='Kconfig*' \
				"^[[:space:]]*\(menu\)\?config ${name#CONFIG_}\$" "$3" ||
				echo "$name is ${have:-n}, not $value"
		done
}

# Runs its arguments at low priority: a build must not slow down a guest that is
# measured on the same two cores.
low() { nice -n 10 "$@"; }

# Debian code name of this machine (bookworm, trixie, ...).
host_codename() (
	# shellcheck disable=SC1091
	. /etc/os-release
	[ "${ID:-}" = debian ] || exit 1
	echo "${VERSION_CODENAME:-}"
)

# "URI SUITE" of every package source in this machine's apt configuration. Works
# before the first `apt-get update`, and uses no network.
host_apt_sources() {
	apt-get --print-uris update 2>/dev/null |
		sed -n "s|^'\(.*\)/dists/\([^/']*\)/InRelease'.*|\1 \2|p"
}

# The Debian mirror that this machine uses. Other archives may use Debian's suite
# names. Debian's own archive also has the -updates suite, or its path contains
# "debian".
debian_mirror() {
	local codename found
	codename=$(host_codename) || codename=stable
	found=$(host_apt_sources | awk -v c="$codename" '
		$2 == c || $2 == "stable" { uri[++n] = $1 }
		$2 == c "-updates" || $2 == "stable-updates" { score[$1] += 2 }
		END {
			for (i = 1; i <= n; i++) {
				s = score[uri[i]] + (uri[i] ~ /\/debian$/)
				if (s > best) { best = s; pick = uri[i] }
			}
			print pick
		}')
	[ -n "$found" ] ||
		lab_die "no Debian mirror found in this machine's apt configuration"
	echo "$found"
}

# The security archive this machine uses; empty when it has none configured.
debian_security_mirror() {
	host_apt_sources | awk '$2 ~ /-security$/ && $1 ~ /debian/ { print $1; exit }'
}

# Waits until command "$@" succeeds, at most $1 tenths of a second.
wait_until() {
	local left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.1
	done
}

# --- space -------------------------------------------------------------------
# A full disk can cause any error: a damaged archive, an object that the linker cannot
# read, an incomplete log.

# Free megabytes in the file system of DIR, which need not exist yet.
free_mb() { # DIR
	local dir=$1
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	df -Pm "$dir" | awk 'NR == 2 { print $4 }'
}

# Ends with an error unless DIR has room for MB megabytes, which WHAT needs.
need_space() { # MB DIR WHAT
	local free
	free=$(free_mb "$2")
	[ "$free" -ge "$1" ] ||
		lab_die "no space: $3 needs $1 MB in $2, and $free MB are free there"
}

# Whether a command whose output is in LOG failed because DIR is full. If so, prints
# this and the space that WHAT needs. The log may be in DIR too, and end before the
# error.
was_full() { # MB DIR WHAT LOG
	local free
	free=$(free_mb "$2")
	[ "$free" -lt 8 ] ||
		grep -q -a -i -E 'no space left on device|disk quota exceeded|\bENOSPC\b|not enough free (disk )?space|disk( is)? full' "$4" ||
		return 1
	lab_note "no space left: $3 needs $1 MB in $2, and $free MB are free there now"
}

# --- mounts --------------------------------------------------------------------

# Mount points at DIR or below it, in the order they were mounted, in this mount
# namespace.
mounts_below() { # DIR
	local dir line point
	dir=$(realpath -m "$1")
	while read -r _ _ _ _ point _; do
		# The kernel escapes blanks and other characters in octal.
		printf -v point '%b' "${point//\\/\\0}"
		case $point in
		"$dir" | "$dir"/*) printf '%s\n' "$point" ;;
		esac
	done </proc/self/mountinfo
}

# Processes whose root, directory, program or open file is below DIR: "PID NAME".
holders_of() { # DIR
	local dir pid
	dir=$(realpath -m "$1")
	find /proc/[0-9]*/root /proc/[0-9]*/cwd /proc/[0-9]*/exe /proc/[0-9]*/fd/ -maxdepth 1 \
		\( -lname "$dir" -o -lname "$dir/*" \) 2>/dev/null |
		cut -d/ -f3 | sort -un |
		while read -r pid; do
			echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null)"
		done
}

# Unmounts everything that is mounted below DIR. A mount that stays busy for
# UNMOUNT_WAIT tenths of a second (default: ten seconds) is detached at once and
# disappears when its users end. A later copy or removal of DIR must not meet another
# file system there. Return: 1 if something is still mounted.
unmount_below() { # DIR
	local dir=$1 point points
	mapfile -t points < <(mounts_below "$dir" | tac)
	for point in ${points[@]+"${points[@]}"}; do
		! wait_until "${UNMOUNT_WAIT:-100}" umount "$point" 2>/dev/null || continue
		lab_note "$point stays busy, used by: $(holders_of "$dir" | paste -sd,)"
		umount --lazy "$point" || true
	done
	mapfile -t points < <(mounts_below "$dir")
	[ "${#points[@]}" = 0 ] || {
		lab_note "still mounted: ${points[*]}"
		return 1
	}
}

# in_tree TREE [HOSTDIR:GUESTDIR]... -- COMMAND...
# Runs COMMAND inside the Debian tree with /proc and /dev mounted (objtool of 7.x reads
# /proc) and the named host directories bound. All mounts are in a separate mount namespace
# and disappear with it.
in_tree() {
	local tree=$1 binds=()
	shift
	while [ "$1" != -- ]; do
		binds+=("$1")
		mkdir -p "$tree/${1#*:}"
		shift
	done
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	low unshare --mount --propagation private bash -c '
		set -e
		tree=$1; n=$2; shift 2
		mount -t proc proc "$tree/proc"
		mount --bind /dev "$tree/dev"
		mount -t tmpfs tmpfs "$tree/tmp"
		while [ "$n" -gt 0 ]; do
			mount --bind "${1%%:*}" "$tree/${1#*:}"
			shift; n=$((n - 1))
		done
		exec chroot "$tree" /usr/bin/env -i \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root LC_ALL=C "$@"' in_tree \
		"$tree" "${#binds[@]}" "${binds[@]}" "$@"
}

# The library's manual pages, one line each: "PAGE", or "PAGE NAME" if it has another
# name too.
library_pages() {
	sed -n '/^rdma_\(alias_\)\?man_pages(/,/^)/{ s/^  //p; }' \
		"$TOP/providers/mrc/man/CMakeLists.txt"
}

# mirror_sources DEST PATH...
# Keeps DEST a copy of the named paths of the repository. Changed files are copied (with
# their times, so that make sees the changes), files that were removed from the repository
# are removed, build products in DEST are left alone.
mirror_sources() {
	local dest=$1 f list
	shift
	mkdir -p "$dest"
	list=$(cd "$TOP" && find "$@" -type f ! -name '*.o' ! -name '*.ko' \
		! -name '.*.cmd' ! -name '*.mod' ! -name '*.mod.c' \
		! -name modules.order ! -name Module.symvers 2>/dev/null |
		sort) || true
	if [ -f "$dest/.mirrored" ]; then
		comm -23 "$dest/.mirrored" <(printf '%s\n' "$list") |
			while read -r f; do rm -f "$dest/$f"; done
	fi
	while read -r f; do
		[ -n "$f" ] || continue
		cmp -s "$TOP/$f" "$dest/$f" || {
			mkdir -p "$dest/$(dirname "$f")"
			cp -p "$TOP/$f" "$dest/$f.lab-new"
			mv "$dest/$f.lab-new" "$dest/$f"
			# If the file is older now, it must still look changed to
			# make.
			touch "$dest/$f"
		}
	done <<<"$list"
	printf '%s\n' "$list" >"$dest/.mirrored"
}
