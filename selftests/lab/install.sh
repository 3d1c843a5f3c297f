#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds, installs and removes the module, the provider with its manual pages, and the tools
# (mrcctl, mrclab, mrcmap, mrcsim, mrcperf, mrcbench, mrcconform) on this machine, for the running
# kernel (KVER=VERSION for another one). Missing packages are named. Without the tools'
# libraries everything else is built.
#
# usage: install.sh build|install|uninstall
#   DESTDIR=DIR     installs below DIR instead of /
#   RDMA_CORE=DIR   an unpacked rdma-core source, 39 or later, to build the
#                   provider in. Its private interface must be that of the installed
#                   libibverbs (default: Debian 13's, fetched with apt; if that has another
#                   interface, that of this machine's Debian)
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$LAB_DIR/lib_abi.sh"

kver=${KVER:-$(uname -r)}
kdir=${KDIR:-/lib/modules/$kver/build}
dest=${DESTDIR:-}
host=$BUILD/host
drv=drivers/infiniband/sw/mrc
modules=("$drv/mrc" selftests/switch/sch_mrcsw) # the second one for mrclab
tools=$host/tools
# The files that the tools install, below /usr.
tool_files=(sbin/mrcctl libexec/mrc/mrcctl-serve sbin/mrclab sbin/mrcmap bin/mrcsim
	bin/mrcperf bin/mrcbench
	bin/mrcconform share/man/man1/mrcconform.1
	share/man/man8/mrcctl.8
	share/man/man8/mrclab.8 share/man/man8/mrcmap.8 share/man/man5/mrclab-{fabric,drill}.5
	share/man/man1/mrcperf.1 share/man/man1/mrcbench.1
	share/man/man1/mrcsim.1 share/man/man5/mrcsim-scenario.5
	share/mrcsim/scenarios/{incast,permutation,plane}.yaml
	share/mrcbench/{goals,quick,sweep}.plan
	share/mrclab/{fabric,drill}.schema.json share/mrclab/fabrics/{pair,small,paper}.yaml
	share/bash-completion/completions/{mrcctl,mrclab,mrcmap,mrcsim,mrcconform,mrcperf,mrcbench}
	lib/systemd/system/mrcmap-{agent,collector}.service
	lib/systemd/system/mrcctl-metrics.{service,timer} lib/systemd/system/mrcctl-serve.service
	lib/systemd/system/mrc-links@.service lib/systemd/system-generators/mrc-links-generator
	share/mrc/grafana.json)
for f in "$TOP"/userspace-tools/mrclab/drills/{,fabrics/}*.yaml \
	"$TOP"/userspace-tools/mrcconform/vectors/*.json; do
	tool_files+=("share/${f#"$TOP/userspace-tools/"}")
done
# rdma-core's udev rule that names devices, and this project's rule, which takes
# precedence.
udev_rule=udev/rules.d/60-rdma-persistent-naming.rules
udev_ours=/usr/local/lib/$udev_rule

say() { printf '%s\n' "$*"; }
stop() {
	printf 'error: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '       %s\n' "$@" >&2
	exit 1
}

# How to install packages on this machine. The package names differ between
# distributions.
package_hint() { # DEBIAN-PACKAGES
	if command -v apt-get >/dev/null; then
		echo "on Debian and Ubuntu: apt-get install $*"
	else
		echo "Debian calls the packages: $*"
	fi
}

check_kernel() {
	local ib where
	if [ -e /usr/src/ofa_kernel ]; then
		stop "MLNX_OFED/DOCA has replaced this machine's RDMA stack (/usr/src/ofa_kernel)" \
			"mrc.ko would be built against headers that are not those of the ib_core that runs;" \
			"remove MLNX_OFED, or use a machine with the kernel's own RDMA stack"
	fi
	ib=$(modinfo -k "$kver" -F filename ib_core 2>/dev/null || true)
	case $ib in
	*/updates/* | */extra/* | */weak-updates/*)
		stop "ib_core of kernel $kver is not the kernel's own: $ib" \
			"mrc.ko cannot be built for a replaced RDMA stack"
		;;
	'')
		stop "kernel $kver has no InfiniBand core (ib_core)" \
			"$(package_hint "linux-image-amd64") (a cloud or minimal kernel lacks it)"
		;;
	esac
	where=$(sed -n 's/^CONFIG_INFINIBAND_USER_ACCESS=//p' "$kdir/.config" 2>/dev/null || true)
	[ -n "$where" ] || [ ! -f "$kdir/.config" ] ||
		stop "kernel $kver is built without CONFIG_INFINIBAND_USER_ACCESS"
}

check_tools() {
	local missing=() t
	for t in make:make gcc:gcc modinfo:kmod; do
		command -v "${t%%:*}" >/dev/null || missing+=("${t#*:}")
	done
	for t in cmake:cmake ninja:ninja-build pkg-config:pkg-config python3:python3; do
		command -v "${t%%:*}" >/dev/null || missing+=("${t#*:}")
	done
	for t in libnl-3.0:libnl-3-dev libnl-route-3.0:libnl-route-3-dev libudev:libudev-dev; do
		pkg-config --exists "${t%%:*}" 2>/dev/null || missing+=("${t#*:}")
	done
	[ -e "$kdir/Makefile" ] || missing+=("linux-headers-$kver")
	[ "${#missing[@]}" -eq 0 ] ||
		stop "programs, libraries or kernel headers ($kdir) are missing" \
			"$(package_hint "${missing[*]}")"
}

# The compiler and header packages that the tools need and that this machine lacks.
tools_missing() {
	local t missing=()
	command -v g++ >/dev/null || missing+=(g++)
	for t in CLI/CLI.hpp:libcli11-dev nlohmann/json.hpp:nlohmann-json3-dev \
		fmt/format.h:libfmt-dev yaml-cpp/yaml.h:libyaml-cpp-dev \
		httplib.h:libcpp-httplib-dev infiniband/verbs.h:libibverbs-dev; do
		echo "#include <${t%%:*}>" |
			g++ -std=c++20 -x c++ -fsyntax-only - 2>/dev/null ||
			missing+=("${t#*:}")
	done
	echo "${missing[*]}"
}

# Builds the tools with the library that was built before, for $tools/stage.
build_tools() {
	local f name missing
	rm -rf "${tools:?}/stage"
	missing=$(tools_missing)
	if [ -n "$missing" ]; then
		say "not built: mrcctl, mrclab, mrcmap, mrcsim, mrcperf, mrcbench, mrcconform; they need libraries that are missing"
		say "           $(package_hint "$missing")"
		return
	fi
	for f in "$TOP"/userspace-tools/*/CMakeLists.txt; do
		name=$(basename "$(dirname "$f")")
		[ "$name" != engine ] || continue # a library of the tests
		say "building $name"
		{ cmake -G Ninja -S "$(dirname "$f")" -B "$tools/$name" \
			-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_SKIP_RPATH=ON \
			-DCMAKE_INSTALL_PREFIX=/usr "-DMRC_INCLUDE_DIR=$host/include" \
			"-DMRC_LIBRARY_DIR=$host/lib" &&
			low ninja -C "$tools/$name" -j2 &&
			DESTDIR=$tools/stage cmake --install "$tools/$name"; } \
			>"$host/$name.log" 2>&1 || {
			grep -E -A4 'error|FAILED' "$host/$name.log" | head -n 40 >&2
			stop "$name does not build; log: build/host/$name.log"
		}
	done
}

# The number of the private interface of the rdma-core that the provider is for.
wanted_abi() {
	local abi
	command -v readelf >/dev/null || stop "there is no readelf" "$(package_hint binutils)"
	abi=$(installed_abi "$dest")
	[ -n "$abi" ] || abi=$(installed_abi)
	[ -n "$abi" ] || stop "rdma-core is not installed (no libibverbs.so.1)" \
		"$(package_hint rdma-core ibverbs-providers ibverbs-utils)"
	echo "$abi"
}

# Chooses the source of rdma-core: the one given, Debian 13's, or this release's.
choose_rdma_core() {
	local want have release
	want=$(wanted_abi)
	if [ -z "${RDMA_CORE:-}" ]; then
		"$LAB_DIR/fetch.sh" rdma-core
		have=$(source_abi "$LAB/rdma-core/src")
		[ "$have" != "$want" ] || return 0
		release=$(host_codename) || release=''
		[ -n "$release" ] || wrong_rdma_core "$LAB/rdma-core/src" "$have" "$want"
		say "the private interface of libibverbs is $want, that of Debian 13's is $have:" \
			"taking the source of $release"
		"$LAB_DIR/fetch.sh" rdma-core "$release"
		export RDMA_CORE=$LAB/rdma-core-$release/src
	fi
	have=$(source_abi "$RDMA_CORE" 2>/dev/null || true)
	[ "$have" = "$want" ] || wrong_rdma_core "$RDMA_CORE" "${have:-unknown}" "$want"
}

wrong_rdma_core() { # DIRECTORY HAVE WANT
	stop "the private interface of the installed libibverbs is $3, that of $1 is $2" \
		"unpack the source of the installed rdma-core and say: make RDMA_CORE=DIRECTORY"
}

build() {
	local m
	check_kernel
	check_tools
	if [ -z "${RDMA_CORE:-}" ] && [ ! -f "$LAB/rdma-core/.fetched" ] &&
		! host_codename >/dev/null; then
		stop "rdma-core's source can only be fetched on Debian" \
			"unpack it yourself and say: make RDMA_CORE=DIRECTORY"
	fi
	mkdir -p "$host"
	mirror_sources "$host/src" drivers include selftests/switch
	for m in "${modules[@]}"; do
		say "building $(basename "$m").ko for $kver"
		make -C "$host/src/$(dirname "$m")" "KDIR=$kdir" modules >"$host/module.log" 2>&1 || {
			grep -E -A4 'error|\*\*\*' "$host/module.log" | head -n 40 >&2
			stop "the module does not build; log: build/host/module.log"
		}
	done
	cp "$host/src/$drv/mrc.ko" "$host/mrc.ko"
	say "building the rdma-core provider"
	choose_rdma_core
	"$LAB_DIR/provider.sh" --host
	build_tools
	say "built: build/host/mrc.ko, build/host/libibverbs/; now: make install"
}

plugin_dir() {
	local f
	for f in "$dest"/usr/lib/*/libibverbs "$dest"/usr/lib64/libibverbs "$dest"/usr/lib/libibverbs \
		/usr/lib/*/libibverbs /usr/lib64/libibverbs /usr/lib/libibverbs; do
		if compgen -G "$f/*-rdmav*.so" >/dev/null; then
			echo "${f#"$dest"}"
			return
		fi
	done
	stop "rdma-core is not installed (no provider directory found)" \
		"$(package_hint rdma-core ibverbs-providers ibverbs-utils)"
}

root_only() {
	[ -n "$dest" ] || [ "$(id -u)" = 0 ] || stop "make $1 must be run as root"
}

# Whether there is a lib_mrc.so or libnv_mrc.so that is no link to this project's
# library.
foreign() { # PATH
	case $(basename "$1") in
	lib_mrc.so | libnv_mrc.so) ;;
	*) return 1 ;;
	esac
	[ -e "$1" ] || [ -L "$1" ] || return 1
	[ "$(readlink "$1")" != libmrc.so.1 ]
}

# Installs manual pages of the library, and the tools that were built.
install_rest() {
	local f
	for f in "$host"/man/*; do
		mkdir -p "$dest/usr/share/man/$(basename "$f")"
		cp -P "$f"/* "$dest/usr/share/man/$(basename "$f")/"
	done
	for f in "${tool_files[@]}"; do
		[ -f "$tools/stage/usr/$f" ] || continue
		mkdir -p "$(dirname "$dest/usr/$f")"
		cp "$tools/stage/usr/$f" "$dest/usr/$f"
		case $f in
		*bin/*) say "installed: $dest/usr/$f" ;;
		esac
	done
}

# Where Wireshark looks for Lua scripts, and Scapy for layers; nothing if it is missing.
dissector_dir() {
	local f
	for f in "$dest"/usr/lib/*/wireshark "$dest"/usr/lib64/wireshark "$dest"/usr/lib/wireshark \
		/usr/lib/*/wireshark /usr/lib64/wireshark /usr/lib/wireshark; do
		[ ! -d "$f/plugins" ] || { echo "${f#"$dest"}/plugins/mrc" && return; }
	done
}

scapy_dir() {
	local f
	for f in "$dest"/usr/lib/python3*/{dist,site}-packages/scapy/contrib \
		/usr/lib/python3*/{dist,site}-packages/scapy/contrib; do
		[ ! -d "$f" ] || { echo "${f#"$dest"}" && return; }
	done
}

install_dissectors() {
	local to
	to=$(dissector_dir)
	if [ -n "$to" ]; then
		mkdir -p "$dest$to"
		cp "$TOP"/userspace-tools/wireshark/*.lua "$dest$to/"
		say "installed: $dest$to (Wireshark)"
	fi
	to=$(scapy_dir)
	if [ -n "$to" ]; then
		mkdir -p "$dest$to"
		cp "$TOP/userspace-tools/scapy/mrc.py" "$dest$to/"
		say "installed: $dest$to/mrc.py (Scapy)"
	fi
}

# Older kernels (6.1) do not report who has named a device, and older rdma-core (44)
# does not ask. Then udev renames devices whose parent is a PCI device after its
# address. Devices of this driver must keep the names from `rdma link add`. A file
# with this name in another directory replaces that of the package.
install_udev_rule() {
	local f
	for f in "$dest/usr/lib/$udev_rule" "$dest/lib/$udev_rule" "/usr/lib/$udev_rule" \
		"/lib/$udev_rule"; do
		[ -f "$f" ] || continue
		mkdir -p "$(dirname "$dest$udev_ours")"
		{
			echo "# Made of $(basename "$f") of rdma-core by soft MRC, whose devices keep their names."
			sed 's/SUBSYSTEM=="infiniband"/&, KERNEL!="mrc*"/' "$f"
		} >"$dest$udev_ours"
		say "installed: $dest$udev_ours"
		[ -n "$dest" ] || udevadm control --reload 2>/dev/null || true
		[ ! -e "$dest/etc/$udev_rule" ] ||
			say "note: /etc/$udev_rule goes before it; it should say KERNEL!=\"mrc*\" too"
		return
	done
}

do_install() {
	local plugins moddir libs f abi want
	root_only install
	[ -f "$host/mrc.ko" ] && [ -d "$host/dev" ] && [ -d "$host/man" ] || build
	[ "$(modinfo -F vermagic "$host/mrc.ko" | cut -d' ' -f1)" = "$kver" ] || build
	# Packages that the tools need may have been installed since the build.
	[ -d "$tools/stage" ] || build_tools
	plugins=$(plugin_dir)
	# rdma-core may be another one than at the time of the build.
	abi=$(built_abi "$host/libibverbs")
	want=$(wanted_abi)
	if [ "$abi" != "$want" ]; then
		say "the provider was built for another rdma-core (private interface ${abi:-unknown}, not $want)"
		build
		abi=$(built_abi "$host/libibverbs")
	fi
	moddir=$dest/lib/modules/$kver/updates
	mkdir -p "$moddir" "$dest$plugins" "$dest/etc/libibverbs.d"
	for f in "${modules[@]}"; do
		make -C "$kdir" "M=$host/src/$(dirname "$f")" INSTALL_MOD_DIR=updates \
			${dest:+"INSTALL_MOD_PATH=$dest"} modules_install >"$host/install.log" 2>&1 || {
			tail -n 20 "$host/install.log" >&2
			stop "the module cannot be installed; log: build/host/install.log"
		}
	done
	if [ -z "$dest" ]; then
		depmod "$kver"
	fi
	libs=$dest$(dirname "$plugins")
	for f in "$host"/lib/*; do
		# The library of a device vendor may have these names as well.
		if foreign "$libs/$(basename "$f")"; then
			say "left alone: $libs/$(basename "$f") is not this project's"
		else
			cp -P "$f" "$libs/"
		fi
	done
	[ -n "$dest" ] || ldconfig
	# One for another rdma-core would stay behind.
	rm -f "$dest$plugins"/libmrc-rdmav*.so
	cp -P "$host"/libibverbs/* "$dest$plugins/"
	cp "$host"/libibverbs.d/mrc.driver "$dest/etc/libibverbs.d/"
	mkdir -p "$dest/usr/include" "$libs/pkgconfig" "$libs/cmake"
	cp "$host"/include/* "$dest/usr/include/"
	cp "$host"/dev/pkgconfig/libmrc.pc "$libs/pkgconfig/"
	cp -R "$host"/dev/cmake/mrc "$libs/cmake/"
	say "installed: $moddir, $dest$plugins/libmrc-rdmav$abi.so, $dest/etc/libibverbs.d/mrc.driver," \
		"$libs/libmrc.so, $dest/usr/include/mrc.h, $dest/usr/share/man/man7/mrc.7"
	install_rest
	install_dissectors
	install_udev_rule
	if grep -q '\[\(integrity\|confidentiality\)\]' /sys/kernel/security/lockdown 2>/dev/null; then
		say "note: this kernel is locked down (Secure Boot) and refuses modules that are not" \
			"signed with a key it knows; sign mrc.ko or switch Secure Boot off"
	fi
	say "next: modprobe mrc && rdma link add mrc0 type mrc netdev NIC   (see README.md)"
}

# The installed manual pages and tools, also pages that were compressed later.
rest_files() {
	local page alias f
	while read -r page alias; do
		f=$dest/usr/share/man/man${page##*.}/${alias:-$page}
		printf '%s\n' "$f" "$f.gz"
	done < <(library_pages)
	for f in "${tool_files[@]}"; do
		printf '%s\n' "$dest/usr/$f" "$dest/usr/$f.gz"
	done
}

do_uninstall() {
	local plugins libs f found="" rest=() lua scapy
	root_only uninstall
	if [ -z "$dest" ] && command -v mrclab >/dev/null; then
		[ -z "$(mrclab status 2>/dev/null)" ] || stop "fabrics are up" "mrclab down --all"
		modprobe -r sch_mrcsw 2>/dev/null || true
	fi
	if [ -z "$dest" ] && [ -d /sys/module/mrc ]; then
		modprobe -r mrc 2>/dev/null ||
			stop "mrc is in use" "remove the devices first: rdma link del NAME"
	fi
	plugins=$(plugin_dir)
	libs=$dest$(dirname "$plugins")
	mapfile -t rest < <(rest_files)
	lua=$(dissector_dir)
	[ -z "$lua" ] || rest+=("$dest$lua")
	scapy=$(scapy_dir)
	[ -z "$scapy" ] || rest+=("$dest$scapy/mrc.py")
	for f in "$dest/lib/modules/$kver/updates/"{mrc,sch_mrcsw}.ko* \
		"$dest/lib/modules/$kver/updates/$drv/"mrc.ko* \
		"$dest$plugins/"libmrc-rdmav*.so "$libs/"libmrc.so* "$libs"/lib_mrc.so \
		"$libs"/libnv_mrc.so "$libs/pkgconfig/libmrc.pc" "$libs/cmake/mrc" \
		"$dest"/usr/include/mrc{,_ctl}{,_api_ver}.h \
		"$dest/etc/libibverbs.d/mrc.driver" "$dest$udev_ours" "${rest[@]}"; do
		if { [ -e "$f" ] || [ -L "$f" ]; } && ! foreign "$f"; then
			rm -rf "$f"
			say "removed: $f"
			found=1
		fi
	done
	rmdir "$dest/usr/libexec/mrc" "$dest/usr/share/"{mrc,mrcbench,mrcconform/vectors,mrcconform,mrclab/{drills/fabrics,drills,fabrics},mrclab} 2>/dev/null || true
	if [ -n "$found" ] && [ -z "$dest" ]; then
		depmod "$kver"
		ldconfig
		udevadm control --reload 2>/dev/null || true
	fi
	[ -n "$found" ] || say "nothing of mrc is installed"
}

case ${1:-} in
build) build ;;
install) do_install ;;
uninstall) do_uninstall ;;
*) stop "usage: install.sh build|install|uninstall" ;;
esac
