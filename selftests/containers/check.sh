#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Containers with devices, in a guest: crun starts the services of packaging/containers/
# compose.yaml from a root file system made as by the Dockerfile beside it, with the Debian
# packages of this project, which are built first if they are missing. guest.sh has the tests.
# Then packaging/ci/mrc-up.sh runs ib_write_bw in its guest, and the seconds are counted.
#
# usage: check.sh [containers|ci]...   (default: both)
#   PACKAGES_PROFILES=pkg.mrc.notools   packages and root file system without the tools
set -euo pipefail
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd)
. "$lab/common.sh"
# shellcheck source=../lab/lib_checks.sh
. "$LAB_DIR/lib_checks.sh"
. "$TOP/selftests/packages/lib_root.sh"

[ $# -gt 0 ] || set -- containers ci
need_root "booting guests"
out=$BUILD/containers
mkdir -p "$out" "$LOGS"

# --- the root file system ---------------------------------------------------------------
dockerfile=$TOP/packaging/containers/Dockerfile
# The names of Debian's packages, and of ours.
their_packages() {
	sed -n '/apt-get install/,/rm -rf/p' "$dockerfile" | tr -s ' \t' '\n' |
		grep -E '^[a-z0-9][a-z0-9+.-]+$' | grep -v -E '^(apt-get|install|rm)$'
}
our_packages() { sed -n 's/^COPY \(.*\) [^ ]*$/\1/p' "$dockerfile"; }

make_rootfs() {
	local debs=$BUILD/packages/trixie tree stamp p files=()
	"$lab/packages.sh" trixie
	make_root container trixie 400 "" "$(their_packages | paste -sd,)"
	tree=$(package_root container)
	stamp=$(cat "$tree/.lab-stamp" "$debs/.stamp" "$dockerfile" | sha256sum | cut -c1-16)
	[ "$(cat "$out/stage/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
	for p in $(our_packages); do
		[[ $p:${PACKAGES_PROFILES:-} != mrc-tools*:*notools* ]] || continue
		[ -f "$(echo "$debs"/$p)" ] || lab_die "no package $p"
		files+=("/mnt/$(basename "$debs"/$p)")
	done
	need_space 500 "$out" "the root file system of a container"
	rm -rf --one-file-system "$out/stage"
	mkdir -p "$out/stage"
	cp -a "$tree" "$out/stage/rootfs"
	lab_note "installing ${files[*]##*/} into the root file system of a container"
	in_tree "$out/stage/rootfs" "$debs:/mnt" -- env DEBIAN_FRONTEND=noninteractive \
		sh -c 'apt-get -qq update && apt-get -qq -y --no-install-recommends install "$@" &&
			apt-get clean && rm -rf /var/lib/apt/lists/*' sh "${files[@]}" \
		>"$LOGS/container-rootfs.log" 2>&1 || {
		tail -n 20 "$LOGS/container-rootfs.log" >&2
		lab_die "the packages cannot be installed"
	}
	echo "$stamp" >"$out/stage/.stamp"
}

containers() {
	local rc=0
	make_rootfs
	"$lab/image.sh" containers
	"$lab/module.sh" 6.12
	rm -rf "$out/stage/packaging"
	cp -a "$TOP/packaging" "$out/stage/packaging"
	"$lab/vm.sh" -u containers -N -t 1800 -w "$out/stage" -o "$out" \
		"$TOP/selftests/containers/guest.sh" || rc=$?
	add_results "$out/output"
	if [ "$rc" = 0 ]; then good "the guest"; else bad "the guest: status $rc"; fi
}

# --- continuous integration --------------------------------------------------------------
user_command='
	test "$(cat file)" = contents || exit 3
	ip netns exec "$MRC_PEER_NETNS" ib_write_bw -d "$MRC_PEER_DEVICE" -x "$MRC_PEER_GID_INDEX" \
		-F >/dev/null &
	until ip netns exec "$MRC_PEER_NETNS" ss -Hltn | grep -q :18515; do sleep 0.1; done
	ib_write_bw -d "$MRC_DEVICE" -x "$MRC_GID_INDEX" -F "$MRC_PEER_ADDRESS" | tee "$MRC_OUT/bw"
	exit 7'

ci() {
	local log=$LOGS/ci.log since line seconds='' rc=0
	rm -rf "$out/ci" "$out/ci-work"
	mkdir -p "$out/ci-work"
	echo contents >"$out/ci-work/file"
	: >"$out/ci.env"
	# What the first use builds is not counted.
	"$lab/module.sh" 6.12
	"$lab/provider.sh"
	since=$SECONDS
	{
		"$TOP/packaging/ci/mrc-up.sh" -f guest -w "$out/ci-work" -o "$out/ci" -e "$out/ci.env" \
			"$user_command" 2>&1
		echo "status $?"
	} | while IFS= read -r line; do
		printf '%4d s %s\n' $((SECONDS - since)) "$line"
	done >"$log" || true
	grep -q ' status 7$' "$log" && rc=7
	sed 's/^/    /' "$log"
	if [ "$rc" = 7 ]; then good "mrc-up.sh ends as its command"; else bad "mrc-up.sh ends as its command"; fi
	if grep -q -E '^ *65536 ' "$out/ci/bw" 2>/dev/null; then
		good "what the command wrote comes back"
	else
		bad "what the command wrote comes back"
	fi
	if [ "$(cat "$out/ci.env")" = MRC_FORM=guest ]; then good "outputs"; else bad "outputs" "$out/ci.env"; fi
	seconds=$(awk '$3 == 65536 { print $1; exit }' "$log")
	if [ -n "$seconds" ]; then
		good "the first bandwidth, after $seconds s"
	else
		bad "the first bandwidth" "$log"
	fi
}

for part in "$@"; do
	case $part in
	containers | ci) "$part" ;;
	*) lab_die "unknown part '$part'" ;;
	esac
done
end_checks
