# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Clean Debian roots, in which packages are built and tested. Sourced after common.sh; the
# tests source lib_checks.sh too.

# The releases that packages are built for, oldest first; the last one is Debian testing.
RELEASES=(bookworm trixie forky)

known_release() { # RELEASE
	local r
	for r in "${RELEASES[@]}"; do
		[ "$r" = "$1" ] && return 0
	done
	lab_die "unknown release '$1' (known: ${RELEASES[*]})"
}

# What versions of packages end with, as in Debian's own updates.
release_suffix() { # RELEASE
	case $1 in
	bookworm) echo deb12 ;;
	trixie) echo deb13 ;;
	forky) echo deb14 ;;
	esac
}

# Where a release gets newer kernels from; nothing if there are none.
newer_suite() { # RELEASE
	[ "$1" = forky ] || echo "$1-backports"
}

# The package sources of a release. With "backports" those as well, at the usual low
# priority: a package comes from there only if it is asked for.
root_sources() { # RELEASE [backports]
	local suites=("$1" "$1-updates") s mirror security option=''
	# Lists of testing are valid for a week. A mirror may be older; it is signed all the same.
	[ "$1" != forky ] || option='[check-valid-until=no] '
	mirror=$(debian_mirror)
	security=$(debian_security_mirror)
	[ "${2:-}" != backports ] || mapfile -t -O 2 suites < <(newer_suite "$1")
	for s in "${suites[@]}"; do
		printf "%s $option%s %s main\n" deb "$mirror" "$s" deb-src "$mirror" "$s"
	done
	[ -z "$security" ] || printf "%s $option%s %s main\n" deb "$security" "$1-security" \
		deb-src "$security" "$1-security"
}

package_root() { echo "$TREES/packages-$1"; } # NAME

# make_root NAME RELEASE MB BACKPORTS PACKAGES
# Makes the root NAME of RELEASE with PACKAGES, separated by commas. BACKPORTS is
# "backports" or empty. Returns at once if the root is there and was made with the same arguments.
make_root() {
	local name=$1 release=$2 mb=$3 backports=$4 packages=$5
	local tree new stamp log proxy opts=()
	tree=$(package_root "$name")
	new=$tree.new
	log=$LOGS/root-$name.log
	stamp=$(printf '%s\n' 1 "$@" | sha256sum | cut -c1-16)
	[ "$(cat "$tree/.lab-stamp" 2>/dev/null)" != "$stamp" ] || return 0
	need_root "making roots for packages"
	mkdir -p "$TREES" "$LOGS"
	exec 8>"$TREES/.packages-$name.lock"
	flock 8
	[ "$(cat "$tree/.lab-stamp" 2>/dev/null)" != "$stamp" ] || return 0
	unmount_below "$new" && unmount_below "$tree" ||
		lab_die "something is mounted in the root $name"
	rm -rf --one-file-system "$new"
	need_space "$mb" "$TREES" "the root $name"
	proxy=$(apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy ' || true)
	[ -z "$proxy" ] || opts+=(--aptopt="$proxy")
	lab_note "making the root $name (Debian $release); log: ${log#"$TOP"/}"
	# The resolver's configuration stays: tests install packages in this root.
	if ! root_sources "$release" "$backports" | low mmdebstrap --variant=minbase \
		--mode=root --format=directory --include="$packages" \
		--aptopt='Acquire::Retries "3"' --aptopt='APT::Install-Recommends "false"' \
		--aptopt='APT::Sandbox::User "root"' --aptopt='Acquire::Languages "none"' \
		"${opts[@]}" "$release" "$new" - >"$log" 2>&1; then
		tail -n 15 "$log" >&2
		was_full "$mb" "$TREES" "the root $name" "$log" || true
		unmount_below "$new" || true
		lab_die "mmdebstrap failed for the root $name"
	fi
	unmount_below "$new" ||
		lab_die "the root $name is not finished: see what is mounted in $new"
	echo "$stamp" >"$new/.lab-stamp"
	rm -rf --one-file-system "$tree"
	mv "$new" "$tree"
	flock -u 8
}

# The names in Build-Depends of debian/control, separated by commas.
build_depends() {
	awk '
		/^[^ \t#]/ { on = /^Build-Depends/ }
		/^#/ { next }
		on { sub(/^[^:]*-[A-Za-z-]*:/, ""); print }' "$TOP/debian/control" |
		tr ',' '\n' | sed 's/^[ \t]*//; s/[ (:<].*//; /^$/d' | paste -sd,
}

# --- for tests: the root $root with the packages of $packages in /mnt, and $work/log --------
inside() { # COMMAND...
	# shellcheck disable=SC2154 # set by the tests
	in_tree "$root" "$packages:/mnt" -- env DEBIAN_FRONTEND=noninteractive "$@"
}
succeeds() { # NAME COMMAND...
	local name=$1
	shift
	# shellcheck disable=SC2154
	if inside "$@" >"$work/log" 2>&1 </dev/null; then good "$name"; else bad "$name" "$work/log"; fi
}
prints() { # NAME PATTERN COMMAND...: succeeds, and a line of its output matches
	local name=$1 pattern=$2
	shift 2
	if inside "$@" >"$work/log" 2>&1 </dev/null && grep -q -E -- "$pattern" "$work/log"; then
		good "$name"
	else
		bad "$name" "$work/log"
	fi
}

# The command of Documentation/packages.md that installs all packages, or those of a host, run
# as it is in the folder of the packages. What it does not say is in apt's configuration.
installs_as_documented() { # all|host
	local command conf=$root/etc/apt/apt.conf.d/mrc-test
	command=$(sed -n 's/^    \(apt install \.\/.*\)/\1/p' "$TOP/Documentation/packages.md" |
		case $1 in
		all) grep -F -x 'apt install ./*.deb' ;;
		host) grep -F mrc-dkms ;;
		esac) || true
	if [ "$(grep -c . <<<"$command")" != 1 ]; then
		bad "Documentation/packages.md has one command for $1: $command"
		return
	fi
	printf '%s\n' 'APT::Get::Assume-Yes "true";' 'APT::Install-Recommends "false";' >"$conf"
	succeeds "$command" sh -c "cd /mnt/install && $command"
	rm -f "$conf"
}

# Runs "SCRIPT --inside RELEASE" in a mount namespace of its own. It leaves its counts.
run_release() { # SCRIPT COUNTS RELEASE
	local p f
	rm -f "$2"
	unshare --mount --propagation private "$1" --inside "$3" || true
	if [ -s "$2" ]; then
		read -r p f <"$2"
		passed=$((passed + p)) failed=$((failed + f))
	else
		bad "the test runs to its end"
	fi
}

# each_release WHY COMMAND [RELEASE]...: COMMAND RELEASE for each of them, or for all
# releases, when its packages are built. WHY is what needs root.
each_release() {
	local why=$1 run=$2 r
	shift 2
	need_root "$why"
	[ $# -gt 0 ] || set -- "${RELEASES[@]}"
	for r in "$@"; do
		known_release "$r"
	done
	"$LAB_DIR/setup.sh" vm
	mkdir -p "$LOGS"
	for r in "$@"; do
		# shellcheck disable=SC2034 # of lib_checks.sh
		about="[$r] "
		if "$LAB_DIR/packages.sh" "$r"; then
			"$run" "$r"
		else
			bad "the packages can be built"
		fi
	done
}
