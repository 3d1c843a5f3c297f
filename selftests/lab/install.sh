#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds, installs and removes the module and the provider on this machine, for
# the kernel it runs (KVER=VERSION for another one). What is missing is named.
#
# usage: install.sh build|install|uninstall
#   DESTDIR=DIR     installs below DIR instead of /
#   RDMA_CORE=DIR   an unpacked rdma-core source, 39 or later, to build the
#                   provider in (default: Debian 13's, fetched with apt)
set -euo pipefail
. "$(dirname "$0")/common.sh"

kver=${KVER:-$(uname -r)}
kdir=${KDIR:-/lib/modules/$kver/build}
dest=${DESTDIR:-}
host=$BUILD/host
drv=drivers/infiniband/sw/mrc
abi=rdmav34 # rdma-core's private interface, unchanged from 39 on

say() { printf '%s\n' "$*"; }
stop() {
	printf 'error: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '       %s\n' "$@" >&2
	exit 1
}

# How this machine installs packages; the names differ, the need does not.
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

build() {
	check_kernel
	check_tools
	if [ -z "${RDMA_CORE:-}" ] && [ ! -f "$LAB/rdma-core/.fetched" ] &&
		! host_codename >/dev/null; then
		stop "rdma-core's source can only be fetched on Debian" \
			"unpack it yourself and say: make RDMA_CORE=DIRECTORY"
	fi
	mkdir -p "$host"
	mirror_sources "$host/src" drivers include
	say "building mrc.ko for $kver"
	make -C "$host/src/$drv" "KDIR=$kdir" modules >"$host/module.log" 2>&1 || {
		grep -E -A4 'error|\*\*\*' "$host/module.log" | head -n 40 >&2
		stop "the module does not build; log: build/host/module.log"
	}
	cp "$host/src/$drv/mrc.ko" "$host/mrc.ko"
	say "building the rdma-core provider"
	"$LAB_DIR/provider.sh" --host
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

do_install() {
	local plugins moddir
	root_only install
	[ -f "$host/mrc.ko" ] && [ -d "$host/libibverbs" ] || build
	[ "$(modinfo -F vermagic "$host/mrc.ko" | cut -d' ' -f1)" = "$kver" ] || build
	plugins=$(plugin_dir)
	compgen -G "$dest$plugins/*-$abi.so" >/dev/null || compgen -G "$plugins/*-$abi.so" >/dev/null ||
		stop "the rdma-core of this machine has another private interface than $abi"
	moddir=$dest/lib/modules/$kver/updates
	mkdir -p "$moddir" "$dest$plugins" "$dest/etc/libibverbs.d"
	make -C "$kdir" "M=$host/src/$drv" INSTALL_MOD_DIR=updates \
		${dest:+"INSTALL_MOD_PATH=$dest"} modules_install >"$host/install.log" 2>&1 || {
		tail -n 20 "$host/install.log" >&2
		stop "the module cannot be installed; log: build/host/install.log"
	}
	if [ -z "$dest" ]; then
		depmod "$kver"
	fi
	if [ -d "$host/lib" ]; then
		cp -P "$host"/lib/* "$dest$(dirname "$plugins")/"
		[ -n "$dest" ] || ldconfig
	fi
	cp -P "$host"/libibverbs/* "$dest$plugins/"
	cp "$host"/libibverbs.d/mrc.driver "$dest/etc/libibverbs.d/"
	say "installed: $moddir, $dest$plugins/libmrc-$abi.so, $dest/etc/libibverbs.d/mrc.driver"
	if grep -q '\[\(integrity\|confidentiality\)\]' /sys/kernel/security/lockdown 2>/dev/null; then
		say "note: this kernel is locked down (Secure Boot) and refuses modules that are not" \
			"signed with a key it knows; sign mrc.ko or switch Secure Boot off"
	fi
	say "next: modprobe mrc && rdma link add mrc0 type mrc netdev NIC   (see README.md)"
}

do_uninstall() {
	local plugins f found=
	root_only uninstall
	if [ -z "$dest" ] && [ -d /sys/module/mrc ]; then
		modprobe -r mrc 2>/dev/null ||
			stop "mrc is in use" "remove the devices first: rdma link del NAME"
	fi
	plugins=$(plugin_dir)
	for f in "$dest/lib/modules/$kver/updates/"mrc.ko* \
		"$dest/lib/modules/$kver/updates/$drv/"mrc.ko* \
		"$dest$plugins/libmrc-$abi.so" "$dest$(dirname "$plugins")/"libmrc.so* \
		"$dest/etc/libibverbs.d/mrc.driver"; do
		if [ -e "$f" ] || [ -L "$f" ]; then
			rm -f "$f"
			say "removed: $f"
			found=1
		fi
	done
	[ -z "$found" ] || [ -n "$dest" ] || depmod "$kver"
	[ -n "$found" ] || say "nothing of mrc is installed"
}

case ${1:-} in
build) build ;;
install) do_install ;;
uninstall) do_uninstall ;;
*) stop "usage: install.sh build|install|uninstall" ;;
esac
