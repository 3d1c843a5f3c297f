#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The Debian packages in a clean root of each release: they install, DKMS builds the modules
# for the release's kernel and for a newer one that is installed later, programs run,
# libibverbs loads the provider, a program compiles, tshark and Scapy know the protocol, and
# nothing stays after a purge. No machine is booted and no module is loaded. Packages that are
# missing are built first (selftests/lab/packages.sh).
#
# usage: check.sh [bookworm|trixie|forky]...   (default: all)
# Needs root and Debian's archive. What is changed is in an overlay above the root, which is
# made once.
set -euo pipefail
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd)
. "$lab/common.sh"
# shellcheck source=../lab/lib_checks.sh
. "$LAB_DIR/lib_checks.sh"
. "$TOP/selftests/packages/lib_root.sh"

all=(mrc-dkms libmrc1 libmrc-dev ibverbs-provider-mrc mrc-tools mrc-doc)
# What a user of the packages has before; the packages' own dependencies are not here, except
# Python, which leaves what it has compiled when it is removed. lintian checks that dependency.
base="linux-headers-amd64,dkms,rdma-core,ibverbs-utils,gcc,libc6-dev,pkg-config,man-db,python3"
root_mb=1500 work_mb=1500

# --- one release, in a mount namespace of its own -----------------------------------
# The kernels that have headers in the root, oldest first.
kernels() {
	# shellcheck disable=SC2012 # version names hold nothing odd
	ls "$root/usr/lib/modules" | sort -V
}

modules_of() { # KERNEL WHEN: DKMS has installed both modules for KERNEL
	local m file pattern=${1//[.+]/\\&}
	prints "dkms: installed for $1 $2" "^mrc[/,].*$pattern.*: installed" \
		dkms status -m mrc -k "$1"
	for m in mrc sch_mrcsw; do
		file=$(find "$root/usr/lib/modules/$1" -name "$m.ko*" \
			-printf "/usr/lib/modules/$1/%P\n" -quit)
		if [ -n "$file" ]; then
			prints "$m is for $1" "^$pattern " modinfo -F vermagic "$file"
		else
			bad "$m is for $1: there is no $m.ko"
		fi
	done
	find "$root/var/lib/dkms/mrc" -path "*$1*" -name make.log \
		-exec cp {} "$LOGS/dkms-$release-$1.log" \; 2>/dev/null || true
}

# libibverbs looks for drivers only if there is a device. SYSFS_PATH is a sysfs with one
# device of mrc, and the device file is in a /dev of its own.
fake_device='
	set -e
	sys=/tmp/sys
	mkdir -p $sys/class/infiniband_verbs/uverbs0 $sys/class/infiniband/mrc0
	echo 6 >$sys/class/infiniband_verbs/abi_version
	echo mrc0 >$sys/class/infiniband_verbs/uverbs0/ibdev
	echo 231:192 >$sys/class/infiniband_verbs/uverbs0/dev
	echo 2147483650 >$sys/class/infiniband_verbs/uverbs0/abi_version
	echo "1: CA" >$sys/class/infiniband/mrc0/node_type
	echo 0200:00ff:fe00:0001 >$sys/class/infiniband/mrc0/node_guid
	mount -t tmpfs tmpfs /dev
	mkdir /dev/infiniband
	touch /dev/infiniband/uverbs0 /dev/null
	export SYSFS_PATH=$sys
	ibv_devices 2>&1'

provider() {
	local why="couldn't load driver"
	prints "libmrc.so.1 is found" 'libmrc\.so\.1 ' ldconfig -p
	if [ -d /sys/class/infiniband ]; then
		# libibverbs asks the kernel first.
		skipped "ibv_devices: this kernel has devices of its own"
		return
	fi
	# With another driver instead the device is not listed, and the warning is seen.
	inside sh -c "mount -t tmpfs tmpfs /etc/libibverbs.d &&
		echo driver none >/etc/libibverbs.d/none.driver; $fake_device" >"$work/log" 2>&1 || true
	if grep -q "$why" "$work/log" && ! grep -q -w mrc0 "$work/log"; then
		good "ibv_devices warns of a driver that is missing"
	else
		bad "ibv_devices warns of a driver that is missing" "$work/log"
	fi
	if inside sh -c "$fake_device" >"$work/log" 2>&1 && grep -q -w mrc0 "$work/log" &&
		! grep -q -i -E "$why|warning" "$work/log"; then
		good "ibv_devices loads the provider"
	else
		bad "ibv_devices loads the provider" "$work/log"
	fi
}

programs() {
	local name
	cp "$TOP/selftests/packages/link.c" "$root/root/link.c"
	succeeds "a program compiles" sh -c \
		'cc -Wall -Wextra -Werror -o /root/link /root/link.c $(pkg-config --cflags --libs libmrc libibverbs)'
	prints "the program runs" '^0 devices, mrc [1-9a-f]' /root/link
	for name in _mrc nv_mrc; do
		succeeds "a program links lib$name" sh -c \
			"cc -o /root/link /root/link.c -l$name -libverbs && /root/link"
	done
	rm -f "$root/root/link" "$root/root/link.c"
	pages 'mrc 7' 'mrc_create_qp 3' 'mrc_get_qpn 3'
}

pages() { # "NAME SECTION"...
	local p
	for p in "$@"; do
		# shellcheck disable=SC2086 # a name and a section
		set -- $p
		succeeds "manual page $1($2)" man --where "$2" "$1"
	done
}

tools() {
	local t
	for t in mrcctl mrclab mrcmap mrcsim mrcperf mrcbench mrcconform; do
		prints "$t --help" "$t" "$t" --help
	done
	for t in mrcperf mrcbench; do
		prints "$t --version" '[0-9]' "$t" --version
	done
	# It is a program of its own, which mrcctl finds.
	prints "mrcctl serve" '^http://127\.0\.0\.1:[0-9]+/$' mrcctl serve -t 1s listen 127.0.0.1:0
	prints "mrclab reads a fabric" . mrclab check /usr/share/mrclab/fabrics/small.yaml
	pages 'mrcctl 8' 'mrclab-fabric 5' 'mrcperf 1' 'mrcconform 1'
	if [ -z "$(find "$root/etc/systemd/system" -name '*mrc*' 2>/dev/null)" ] &&
		[ -n "$(find "$root/usr/lib/systemd/system" -name 'mrcmap-*.service')" ]; then
		good "units are there and not enabled"
	else
		bad "units are there and not enabled"
	fi
}

# Programs of others find what mrc-tools has for them: Scapy makes a packet, which tshark, that
# reads no Lua as root, explains.
dissectors() {
	local programs=(tshark python3-scapy) capture=/var/lib/mrc-test.pcap
	succeeds "tshark and Scapy install" apt-get -y --no-install-recommends install "${programs[@]}"
	prints "Scapy has loaded the layers" '^WRITE_ONLY 16$' env HOME=/tmp python3 -c '
import sys
from scapy.all import Ether, IPv6, UDP, load_contrib, wrpcap
load_contrib("mrc")
p = (Ether() / IPv6(src="fd00:1::1", dst="fd00:1::2", tc=0x12, fl=0x1234, hlim=64) /
     UDP(sport=0xC001) / MRC_BTH(opcode="WRITE_ONLY", dqp=0x202, psn=16, a=1) /
     MRC_METH(msn=7) / MRC_TSETH(timestamp=0x100) / MRC_RETH(va=0x1000, rkey=1) / b"hello")
p = Ether(bytes(p))
print(p[MRC_BTH].sprintf("%opcode%"), p[MRC_BTH].psn)
wrpcap(sys.argv[1], p)' "$capture"
	prints "tshark has loaded the dissector" '^MRC;0x0*202;16;7$' runuser -u nobody -- env HOME=/tmp \
		tshark -r "$capture" -T fields -E 'separator=;' -e _ws.col.Protocol -e mrc.bth.dqp \
		-e mrc.bth.psn -e mrc.meth.msn
	rm -f "$root$capture"
	if [ -n "$(find "$root/usr/lib/python3" -path '*contrib/__pycache__/mrc.*.pyc')" ]; then
		good "Python has compiled the layers"
	else
		bad "Python has compiled the layers: removing that is not tested"
	fi
	succeeds "tshark and Scapy are purged" apt-get -y purge "${programs[@]}"
}

# Files that the root did not have, that no installed package has, and that are none of the
# notes of apt, dpkg, DKMS and depmod.
left_over() {
	local f
	cat "$root"/var/lib/dpkg/info/*.list | sed -E 's,^/(bin|sbin|lib|lib64)(/|$),/usr/\1\2,' |
		sort -u >"$work/owned"
	(cd "$upper" && find . -mindepth 1 \( -type f -o -type l -o -type d \) -printf '/%P\n') |
		sort | comm -23 - "$work/owned" | while read -r f; do
			[ -e "$base_root$f" ] || [ -L "$base_root$f" ] || echo "$f"
		done
}

purge() {
	# Notes of apt and dpkg, and what is for the time of a run.
	local notes='^/(var/(cache|log|lib/(apt|dpkg))|tmp|mnt|run)(/|$)'
	# Made by DKMS and depmod for all modules, and kept by them.
	local others='^/var/lib/dkms(/(mok\.(key|pub)|dkms_dbversion))?$'
	others+='|^/usr/lib/modules/[^/]*(/modules\.[a-z.]*|/updates)?$'
	# By the image of the newer kernel, on which its headers depend, initramfs-tools and cpio.
	others+='|^/(vmlinuz|initrd\.img)(\.old)?$|^/boot/initrd\.img-|^/etc/initramfs-tools/modules$'
	others+='|^/(usr/share/man/man1|etc/alternatives)/mt\.1\.gz$|^/(usr/bin|etc/alternatives)/mt$'
	# By netbase, on which Scapy of Debian 12 depends.
	others+='|^/etc/(hosts|networks)$'
	# The link of a collector that was killed with its machine.
	local exporter=$root/var/lib/prometheus/node-exporter
	mkdir -p "$exporter"
	ln -s /run/mrcmap/mrcmap.prom "$exporter/mrcmap.prom"
	succeeds "purge" apt-get -y purge "${ours[@]}"
	# Left, with the link, if the purge has not removed it.
	rmdir -p --ignore-fail-on-non-empty "$exporter" || true
	inside apt-get -y autoremove --purge >"$work/log" 2>&1 || true
	left_over | grep -v -E "$notes" >"$work/left" || true
	sed -n -E "\\,$others, s,^,    left by others: ,p" "$work/left"
	grep -v -E "$others" "$work/left" >"$work/ours" || true
	left_over | grep '^/var/lib/dpkg/.*mrc' >>"$work/ours" || true
	if [ -s "$work/ours" ]; then
		bad "nothing is left" "$work/ours"
	else
		good "nothing is left"
	fi
}

one_release() {
	local old p rule
	ours=()
	packages=$BUILD/packages/$release
	base_root=$(package_root "test-$release")
	work=$BUILD/packages/.test-$release
	upper=$work/upper root=$work/root
	rm -rf --one-file-system "$work"
	mkdir -p "$upper" "$work/overlay" "$root"
	mount -t overlay overlay -o "lowerdir=$base_root,upperdir=$upper,workdir=$work/overlay" "$root"
	# PACKAGES_PROFILES may have left the tools out.
	for p in "${all[@]}"; do
		[ "$p" != mrc-tools ] || compgen -G "$packages/${p}_*.deb" >/dev/null || continue
		ours+=("$p")
	done
	old=$(kernels | tail -n 1)
	inside apt-get -qq update >"$work/log" 2>&1 || {
		bad "the package lists are fetched" "$work/log"
		return
	}
	installs_as_documented all
	cp "$work/log" "$LOGS/packages-install-$release.log"
	modules_of "$old" "with the package"
	programs
	if [[ " ${ours[*]} " == *" mrc-tools "* ]]; then
		tools
		dissectors
	else
		skipped "the tools: there is no package of them"
	fi
	provider
	rule=$root/etc/udev/rules.d/60-rdma-persistent-naming.rules
	if [ "$release" = bookworm ]; then
		if grep -q '^ACTION.*KERNEL!="mrc\*".*rdma_rename' "$rule"; then
			good "udev does not rename devices of mrc"
		else
			bad "udev does not rename devices of mrc"
		fi
	elif [ -e "$rule" ]; then
		bad "no udev rule where rdma-core needs none"
	else
		good "no udev rule where rdma-core needs none"
	fi

	newer_kernel
	purge
}

# An update of the kernel: DKMS is called by the package of the new headers.
newer_kernel() {
	local new
	if [ -z "$(newer_suite "$release")" ]; then
		skipped "a newer kernel: there are no backports for $release"
		return
	fi
	succeeds "headers of a newer kernel install" apt-get -y --no-install-recommends \
		install -t "$(newer_suite "$release")" linux-headers-amd64
	new=$(kernels | tail -n 1)
	if [ "$new" != "$old" ]; then
		good "a newer kernel: $new after $old"
		modules_of "$new" "when its headers came"
		succeeds "dkms autoinstall for $new" dkms autoinstall -k "$new"
	else
		bad "a newer kernel: there is only $old"
	fi
}

# --- all releases ---------------------------------------------------------------------
if [ "${1:-}" = --inside ]; then
	release=$2 about="[$2] "
	one_release
	umount "$root" 2>/dev/null || umount --lazy "$root"
	echo "$passed $failed" >"$work.counts"
	rm -rf --one-file-system "$work"
	exit 0
fi
in_root() { # RELEASE
	make_root "test-$1" "$1" "$root_mb" backports "$base"
	need_space "$work_mb" "$BUILD" "testing packages"
	run_release "$0" "$BUILD/packages/.test-$1.counts" "$1"
}

each_release "installing packages into a root" in_root "$@"
end_checks
