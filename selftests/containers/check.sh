#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Containers with devices, in a guest: crun starts the services of packaging/containers/
# compose.yaml from a root file system made as by the Dockerfile beside it, with the Debian
# packages of this project, which are built first if they are missing. guest.sh has the tests.
# Then the step of action.yml runs ib_write_bw in a guest, by packaging/ci/mrc-up.sh, and the
# seconds are counted; and in a clean root it builds and installs what its native form needs, and does so again with what it
# has kept. No module is loaded there.
#
# usage: check.sh [containers|ci|native]...   (default: all)
#   PACKAGES_PROFILES=pkg.mrc.notools   packages and root file system without the tools
set -euo pipefail
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd)
. "$lab/common.sh"
# shellcheck source=../lab/lib_checks.sh
. "$LAB_DIR/lib_checks.sh"
. "$TOP/selftests/packages/lib_root.sh"

[ $# -gt 0 ] || set -- containers ci native
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
	python_with yaml
	# What the first use builds is not counted.
	"$lab/module.sh" 6.12
	"$lab/provider.sh"
	since=$SECONDS
	{
		"$python" "$TOP/selftests/containers/action.py" -w "$out/ci-work" "$TOP/action.yml" \
			form=guest "output=$out/ci" "run=$user_command" 2>&1
		echo "status $?"
	} | while IFS= read -r line; do
		printf '%4d s %s\n' $((SECONDS - since)) "$line"
	done >"$log" || true
	grep -q ' status 7$' "$log" && rc=7
	sed 's/^/    /' "$log"
	if [ "$rc" = 7 ]; then good "the step ends as its command"; else bad "the step ends as its command"; fi
	if grep -q -E '^ *65536 ' "$out/ci/bw" 2>/dev/null; then
		good "what the command wrote comes back"
	else
		bad "what the command wrote comes back"
	fi
	# There is no device for later steps.
	if [ "$(grep -c -E ' s (form|device|address|gid-index|peer-[a-z-]+)=' "$log")" = 1 ] &&
		grep -q ' s form=guest$' "$log"; then
		good "outputs of the action"
	else
		bad "outputs of the action" "$log"
	fi
	seconds=$(awk '$3 == 65536 { print $1; exit }' "$log")
	if [ -n "$seconds" ]; then
		good "the first bandwidth, after $seconds s"
	else
		bad "the first bandwidth" "$log"
	fi
}

# --- its native form -----------------------------------------------------------------------
MRC_UP=/src/packaging/ci/mrc-up.sh
# A runner with a kernel, packages that were downloaded before, and nothing else: a fresh overlay
# above a root each time. The script is told that the root's kernel runs.
runner() { # TREE NAME COMMAND...: output in $LOGS/ci-native-NAME.log
	local tree=$1 name=$2 work=$out/native-work
	shift 2
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --propagation private bash -c '
		set -e
		tree=$1 work=$2 in_tree=$3
		shift 3
		. "$in_tree"
		rm -rf --one-file-system "$work"
		mkdir -p "$work/upper" "$work/overlay" "$work/root"
		mount -t overlay overlay -o "lowerdir=$tree,upperdir=$work/upper,workdir=$work/overlay" \
			"$work/root"
		printf "#!/bin/sh\n[ \"\$1\" != -r ] || exec echo %s\nexec /usr/bin/uname \"\$@\"\n" \
			"$NATIVE_KERNEL" >"$work/root/usr/local/bin/uname"
		chmod 755 "$work/root/usr/local/bin/uname"
		echo "APT::Keep-Downloaded-Packages \"true\";" >"$work/root/etc/apt/apt.conf.d/keep"
		in_tree "$work/root" "$NATIVE_OUT/native-src:/src" \
			"$NATIVE_OUT/native-archives:/var/cache/apt/archives" -- "$@"
		umount "$work/root" || umount --lazy "$work/root"' \
		runner "$tree" "$work" "$lab/common.sh" "$@" >"$LOGS/ci-native-$name.log" 2>&1 </dev/null
}

# Two fresh runners, of which the second one has what the first one has kept. LACKS: what only
# the first one needs.
two_runners() { # TREE KIND LACKS
	local tree=$1 kind=$2 lacks=$3 try since rc log
	# What there has to be in the end, for another kernel than the one that runs.
	local there='test -e /etc/libibverbs.d/mrc.driver && ls /usr/lib/*/libibverbs/libmrc-rdmav*.so &&
		modinfo -k "$(uname -r)" -F vermagic mrc && sha256sum "$(modinfo -k "$(uname -r)" -n mrc)"'
	about="native, $kind: "
	for try in first second; do
		since=$SECONDS rc=0
		runner "$tree" "$kind-$try" sh -c "$MRC_UP -i && $there" || rc=$?
		log=$LOGS/ci-native-$kind-$try.log
		echo "figure: mrc-up.sh -i, $kind, $try runner: $((SECONDS - since)) s"
		grep '^\[mrc\]' "$log" | sed 's/^/    /'
		if [ "$rc" = 0 ] && grep -q "^$NATIVE_KERNEL " "$log"; then
			good "the $try runner has driver and module"
		else
			bad "the $try runner has driver and module" "$log"
		fi
		grep -E '^[0-9a-f]{64} ' "$log" | cut -d' ' -f1 >"$out/native-$try.sum" || true
	done
	if cmp -s "$out/native-first.sum" "$out/native-second.sum" && [ -s "$out/native-second.sum" ]; then
		good "the second runner has the module of the first one"
	else
		bad "the second runner has the module of the first one"
	fi
	if grep -q "installing .* $lacks" "$LOGS/ci-native-$kind-first.log" &&
		! grep -q -E 'installing .*(gcc|dkms|headers)' "$log"; then
		good "it needs neither compiler nor headers"
	else
		bad "it needs neither compiler nor headers" "$log"
	fi
	about=''
}

native() {
	local tree p debs=$out/native-src/build/packages/bookworm
	make_root ci-native bookworm 900 "" linux-image-amd64
	tree=$(package_root ci-native)
	export NATIVE_OUT=$out NATIVE_KERNEL
	NATIVE_KERNEL=$(find "$tree/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
	rm -rf "$out/native-src"
	mkdir -p "$out/native-src" "$out/native-archives/partial"
	(cd "$TOP" && git ls-files -co --exclude-standard |
		while read -r f; do [ ! -e "$f" ] || echo "$f"; done | tar -c -T -) |
		tar -C "$out/native-src" -x --no-same-owner
	two_runners "$tree" source gcc
	# What was kept is not that of other sources. apt-get fails, so nothing is built.
	echo '/* changed */' >>"$out/native-src/drivers/infiniband/sw/mrc/core/mrc_wire.h"
	mkdir "$out/native-src/fail"
	printf '#!/bin/sh\nexit 9\n' >"$out/native-src/fail/apt-get"
	chmod 755 "$out/native-src/fail/apt-get"
	if ! runner "$tree" changed env PATH=/src/fail:/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin \
		"$MRC_UP" -i && grep -q 'installing .* gcc ' "$LOGS/ci-native-changed.log"; then
		good "native: changed sources are built again"
	else
		bad "native: changed sources are built again" "$LOGS/ci-native-changed.log"
	fi
	"$lab/packages.sh" bookworm
	mkdir -p "$debs"
	cp "$BUILD/packages/bookworm/.stamp" "$debs/"
	for p in mrc-dkms libmrc1 ibverbs-provider-mrc; do
		cp "$BUILD/packages/bookworm/${p}"_*.deb "$debs/"
	done
	two_runners "$tree" packages dkms
	rm -rf --one-file-system "$out/native-src" "$out/native-work"
}

for part in "$@"; do
	case $part in
	containers | ci | native) "$part" ;;
	*) lab_die "unknown part '$part'" ;;
	esac
done
end_checks
