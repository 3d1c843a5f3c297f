#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Gives a machine of continuous integration an RDMA device mrc0. For GitHub there is action.yml,
# which calls this script; other systems call it themselves. Documentation/ci.md says how.
#
# usage: mrc-up.sh [OPTION]... [COMMAND]      makes the device, then runs COMMAND, if any
#        mrc-up.sh -d                         removes what it has made of a pair
#        mrc-up.sh -i                         only installs what the native form needs, as for
#                                             the image of a runner
#   COMMAND  one argument, for bash, which runs it as root in the current directory
#   -n NAME      of the device (mrc0)
#   -p PLANES    the device has so many planes (4), veth pairs to the network namespace
#                mrc-peer, which has the device mrcpeer
#   -N NETDEVS   instead of a pair: a device of these netdevs, separated by blanks
#   -m MTU       of the planes of a pair (4500)
#   -f FORM      native or guest. Default: native if this kernel has an ib_core, else guest
#   -w DIR       guest: the directory of which COMMAND gets a copy (the current one)
#   -o DIR       guest: gets what COMMAND writes below $MRC_OUT
#   -t SECONDS   guest: how long COMMAND may take (600)
#   -e FILE      appends the names of devices, addresses and so on as lines NAME=VALUE
# COMMAND has the same names in its environment: MRC_DEVICE, MRC_PEER_DEVICE, ...
#
# native: on Debian and Ubuntu. Missing packages are installed by name. The module is built by
#   DKMS if "make packages" has made packages for this release, else by "make install". What
#   was built is kept in build/ci/native-*; with it nothing is built, and no compiler needed.
# guest: on Debian 12 or 13. The machine of the lab is booted (QEMU), the pair is made in it,
#   and COMMAND runs there. Afterwards there is no device.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$here/../pair.sh"

PEER_NS=mrc-peer PEER_DEVICE=mrcpeer
name=mrc0 planes=4 netdevs='' mtu=4500 form='' work=$PWD out='' seconds=600 env_file='' down=''
only_install=''
while getopts n:p:N:m:f:w:o:t:e:di opt; do
	case $opt in
	n) name=$OPTARG ;;
	p) planes=$OPTARG ;;
	N) netdevs=$OPTARG ;;
	m) mtu=$OPTARG ;;
	f) form=$OPTARG ;;
	w) work=$OPTARG ;;
	o) out=$OPTARG ;;
	t) seconds=$OPTARG ;;
	e) env_file=$OPTARG ;;
	d) down=1 ;;
	i) only_install=1 form=native ;;
	*) pair_die "see the head of $0 for its use" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -le 1 ] || pair_die "COMMAND must be one argument"
command=${1:-}
[[ $name =~ ^mrc[a-z0-9_]{0,10}$ ]] && [ "$name" != "$PEER_DEVICE" ] ||
	pair_die "-n $name: the provider finds devices whose names begin with 'mrc'"
[[ $planes =~ ^([1-9]|1[0-6])$ ]] || pair_die "-p $planes: not 1 to 16"
# The smallest path MTU and its headers; the largest packet of IP.
[[ $mtu =~ ^[1-9][0-9]{2,4}$ ]] && [ "$mtu" -ge 348 ] && [ "$mtu" -le 65535 ] ||
	pair_die "-m $mtu: not 348 to 65535"
[[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || pair_die "-t $seconds: not a number of seconds"
case $form in
'' | native | guest) ;;
*) pair_die "-f $form: native or guest" ;;
esac
for d in $netdevs; do
	[ -e "/sys/class/net/$d" ] || pair_die "-N: there is no netdev $d"
done
[ -d "$work" ] || pair_die "-w $work: no directory"
[ "$(id -u)" = 0 ] || pair_die "must be run as root"
[ -z "$out" ] || mkdir -p "$out" 2>/dev/null || pair_die "-o $out: cannot be made a directory"
[ -z "$env_file" ] || { : >>"$env_file"; } 2>/dev/null || pair_die "-e $env_file: cannot be written"

since=$SECONDS
note() { pair_note "$((SECONDS - since)) s: $*"; }

# --- packages ------------------------------------------------------------------------
installed() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^.i'; }

# Installs packages that are missing. Files of packages (./NAME.deb) are always installed.
install_packages() { # NAME|FILE...
	local p missing=()
	for p in "$@"; do
		[[ $p == */* ]] || ! installed "$p" || continue
		missing+=("$p")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	command -v apt-get >/dev/null || pair_die "install these yourself: ${missing[*]}"
	note "installing ${missing[*]##*/}"
	export DEBIAN_FRONTEND=noninteractive
	[ -n "${updated:-}" ] || apt-get -qq update
	updated=1
	# A runner is thrown away: dpkg need not wait for the disk after each file.
	apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
		-o DPkg::Options::=--force-unsafe-io install "${missing[@]}" >/dev/null
}

# --- native --------------------------------------------------------------------------
kernel=$(uname -r)
has_core() {
	[ -d /sys/module/ib_core ] || modprobe -n -q ib_uverbs 2>/dev/null
}

# Ubuntu has the modules that not everybody needs in a package of their own.
find_core() {
	local extra=linux-modules-extra-$kernel
	has_core && return
	apt-cache show "$extra" >/dev/null 2>&1 || return 1
	install_packages "$extra"
	has_core
}

release() { (. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}"); }

# install.sh fetches the source of rdma-core on Debian only. Elsewhere it is the release's own:
# the same lists of packages, with sources. Prints the directory.
rdma_core_source() {
	local dir=$top/build/ci/rdma-core apt=$top/build/ci/apt f opt
	if [ ! -e "$dir/CMakeLists.txt" ]; then
		install_packages dpkg-dev
		rm -rf "$apt" "$dir"
		mkdir -p "$apt/sources.list.d" "$apt/lists/partial" "$dir"
		for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
			[ ! -f "$f" ] || sed -E 's/^Types: *deb$/Types: deb deb-src/; /^deb /{p; s/^deb /deb-src /}' \
				"$f" >"$apt/${f#/etc/apt/}"
		done
		opt=(-o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::State::Lists=$apt/lists"
			-o "Dir::Etc::SourceParts=$apt/sources.list.d" -o APT::Sandbox::User=root)
		apt-get -qq "${opt[@]}" update >&2
		(cd "$apt" && apt-get -qq "${opt[@]}" source --download-only --tar-only rdma-core >&2)
		tar -x -C "$dir" --strip-components=1 -f "$(echo "$apt"/rdma-core_*.orig.tar.*[!c])"
	fi
	echo "$dir"
}

# The directory for what is built here: files for /, of these sources, for this kernel and
# release. KIND is packages, if only the modules are built, or source.
kept_dir() { # KIND
	local key
	key=$({
		echo "1 $1 $kernel $(uname -m) $(release)"
		cd "$top"
		find drivers include providers selftests/switch packaging \
			selftests/lab/{install,provider,fetch,common,lib_abi}.sh -type f ! -name '*.o' ! -name '*.ko' \
			! -name '*.cmd' ! -name '*.mod' ! -name '*.mod.c' ! -name modules.order \
			! -name Module.symvers -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -c1-16)
	echo "$top/build/ci/native-$key"
}

# What was kept of other sources or kernels is removed: the cache must not grow.
keep() { # DIR: DIR.new becomes DIR
	local old
	for old in "$top"/build/ci/native-*; do
		[ "$old" = "$1.new" ] || rm -rf "$old"
	done
	mv "$1.new" "$1"
}

# A cache may have been written by another user. depmod makes its files itself.
install_kept() { # DIR
	tar -C "$1" -c --owner=0 --group=0 --exclude='./lib/modules/*/modules.*' . |
		tar -C / -x --keep-directory-symlink --no-overwrite-dir
	depmod "$kernel"
	ldconfig
}

# The modules, by DKMS.
keep_modules() { # DIR
	local to=$1.new/lib/modules/$kernel/updates
	rm -rf "$1.new"
	mkdir -p "$to"
	find "/lib/modules/$kernel/" \( -name 'mrc.ko*' -o -name 'sch_mrcsw.ko*' \) -exec cp -p {} "$to/" \;
	[ -n "$(find "$to" -name 'mrc.ko*')" ] || pair_die "DKMS has built no module for $kernel:" \
		"see /var/lib/dkms/mrc"
	keep "$1"
}

# All that "make install" installs, on all processors.
build_native() { # DIR DISTRIBUTION
	local source='' step
	[ "$2" = debian ] || source=$(rdma_core_source)
	rm -rf "$1.new"
	mkdir -p "$1.new"
	# What there is may be older than the sources: "build" compares.
	for step in build install; do
		MAKEFLAGS=-j$(nproc) RDMA_CORE=$source DESTDIR=$1.new \
			"$top/selftests/lab/install.sh" "$step" >&2
	done
	keep "$1"
}

install_native() {
	local debs distribution codename kept
	local packages=(rdma-core ibverbs-utils ibverbs-providers perftest iproute2 util-linux procps
		kmod)
	read -r distribution codename < <(release)
	debs=$top/build/packages/$codename
	if [ -e /etc/libibverbs.d/mrc.driver ] && modprobe -n -q mrc 2>/dev/null; then
		install_packages "${packages[@]}"
		note "module and provider are there already"
	elif compgen -G "$debs/mrc-dkms_*.deb" >/dev/null; then
		kept=$(kept_dir "packages $(cat "$debs/.stamp" 2>/dev/null)")
		packages+=("$debs"/libmrc1_*.deb "$debs"/ibverbs-provider-mrc_*.deb)
		if [ -d "$kept" ]; then
			install_packages "${packages[@]}"
			install_kept "$kept"
			note "the provider comes from packages, the module is that of an earlier run"
		else
			install_packages "${packages[@]}" "linux-headers-$kernel" dkms "$debs"/mrc-dkms_*.deb
			keep_modules "$kept"
			note "the provider comes from packages, the module is built by DKMS"
		fi
	else
		kept=$(kept_dir source)
		if [ -d "$kept" ]; then
			install_packages "${packages[@]}"
			note "module and provider are those of an earlier run"
		else
			install_packages "${packages[@]}" "linux-headers-$kernel" gcc libc6-dev make cmake \
				ninja-build pkg-config python3 libnl-3-dev libnl-route-3-dev libudev-dev xz-utils
			note "building module and provider"
			build_native "$kept" "$distribution"
		fi
		install_kept "$kept"
		note "module and provider are installed"
	fi
}

# --- the device, here or in the guest ------------------------------------------------
# The job in the guest has these functions too. They use no other variables.
pair_names=()
make_pair() { # NAME PLANES MTU
	ip netns add "$PEER_NS"
	ip -n "$PEER_NS" link set lo up
	pair_planes "$$" "$PEER_NS" "$2" "$3"
	pair_device "$$" "$1" "$2"
	pair_device "$PEER_NS" "$PEER_DEVICE" "$2"
	pair_ready "$$" "$1" "$2"
	pair_ready "$PEER_NS" "$PEER_DEVICE" "$2"
	gid=$(pair_gid /sys "$1" "$PAIR_ADDRESS_A")
	peer_gid=$(pair_gid /sys "$PEER_DEVICE" "$PAIR_ADDRESS_B")
	pair_names=("MRC_DEVICE=$1" "MRC_ADDRESS=$PAIR_ADDRESS_A" "MRC_GID_INDEX=$gid"
		"MRC_PEER_NETNS=$PEER_NS" "MRC_PEER_DEVICE=$PEER_DEVICE"
		"MRC_PEER_ADDRESS=$PAIR_ADDRESS_B" "MRC_PEER_GID_INDEX=$peer_gid")
}

make_device() {
	local d
	for d in $netdevs; do
		rdma link add "$name" type mrc netdev "$d"
	done
	pair_names=("MRC_DEVICE=$name")
}

remove_pair() {
	local i dev
	for dev in "$name" "$PEER_DEVICE"; do
		! rdma dev show "$dev" >/dev/null 2>&1 || rdma link del "$dev"
	done
	for ((i = 1; i <= 16; i++)); do
		ip link del "$PAIR_PREFIX$i" 2>/dev/null || break
	done
	[ ! -e "/run/netns/$PEER_NS" ] || ip netns del "$PEER_NS"
}

publish() { # NAME=VALUE...
	[ -z "$env_file" ] || printf '%s\n' "$@" >>"$env_file"
}

native() {
	install_native
	[ -z "$only_install" ] || return 0
	if [ -n "$netdevs" ]; then make_device; else make_pair "$name" "$planes" "$mtu"; fi
	note "$name: $(rdma link show | grep -c "^link $name/.*state ACTIVE" || true) planes are ACTIVE"
	publish MRC_FORM=native "${pair_names[@]}"
	[ -z "$command" ] || env MRC_FORM=native MRC_OUT="${out:-$PWD}" "${pair_names[@]}" \
		bash -c "ulimit -l unlimited; $command"
}

# --- guest ---------------------------------------------------------------------------
# What COMMAND finds in its directory: a copy without git's files, and without what the lab
# has built.
stage_work() { # DIR
	local build
	build=$(realpath -m --relative-to="$work" "$top/build")
	mkdir -p "$1"
	tar -C "$work" --exclude-vcs --exclude="./$build" -c . | tar -x -C "$1"
}

guest_job() {
	local v
	echo '#!/bin/bash'
	echo 'set -euo pipefail'
	cat "$here/../pair.sh"
	declare -f make_pair
	for v in PEER_NS PEER_DEVICE name planes mtu command; do
		declare -p "$v"
	done
	cat <<'END'
modprobe mrc
make_pair "$name" "$planes" "$mtu"
mkdir -p /run/files/up /run/files/work /work
# Files that COMMAND writes are in memory.
mount -t overlay -o lowerdir=/mrc/work,upperdir=/run/files/up,workdir=/run/files/work \
	overlay /work
cd /work
pair_note "$(uname -r): $name and $PEER_DEVICE have $planes planes, $(cut -d. -f1 /proc/uptime) s after the boot"
env MRC_FORM=guest MRC_OUT=/out "${pair_names[@]}" bash -c "$command"
END
}

guest() {
	local lab=$top/selftests/lab dir rc=0
	[ -n "$command" ] || pair_die "kernel $kernel has no ib_core, so a device can only be in a guest:" \
		"give the COMMAND that shall run there"
	[ -z "$netdevs" ] || pair_die "-N: not in a guest"
	"$lab/setup.sh" vm
	"$lab/module.sh" 6.12
	"$lab/provider.sh"
	note "the guest is built"
	mkdir -p "$top/build/ci"
	dir=$(mktemp -d "$top/build/ci/guest.XXXXXX")
	# shellcheck disable=SC2064 # the directory of now
	trap "rm -rf '$dir'" EXIT
	stage_work "$dir/work"
	guest_job >"$dir/job"
	publish MRC_FORM=guest
	note "booting"
	"$lab/vm.sh" -t "$seconds" -w "$dir/work" ${out:+-o "$out"} "$dir/job" || rc=$?
	note "the command ended with $rc"
	return "$rc"
}

if [ -n "$down" ]; then
	remove_pair
	exit
fi
if [ -z "$form" ]; then
	if find_core; then form=native; else form=guest; fi
fi
"$form"
