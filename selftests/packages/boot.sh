#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The Debian packages on a machine that boots, with the release's own kernel, initramfs and
# systemd: apt installs them into a fresh root, which becomes the disk of a guest. The guest
# makes a device as its administrator would, and has a stock ib_write_bw move data; it starts
# again without one network card, gets that one later, and finds all as it was; it gets a newer
# kernel and does so once more. Then the packages are purged, and nothing of them is left on
# the disk. guest.sh has what is done in the guest. Packages that are missing are built first
# (selftests/lab/packages.sh).
#
# The addresses of plane 1 are those of the release's ways to set up a network: ifupdown,
# NetworkManager, networkd. Those of plane 2 are in the device's file in /etc/mrc/links.d.
#
# usage: boot.sh [bookworm|trixie|forky]...   (default: all)
#   BOOT_KEEP=1   leaves the disk in build/packages/.boot-RELEASE
# Needs root and Debian's archive.
set -euo pipefail
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd)
. "$lab/common.sh"
# shellcheck source=../lab/lib_checks.sh
. "$LAB_DIR/lib_checks.sh"
. "$TOP/selftests/packages/lib_root.sh"

ours=(mrc-dkms libmrc1 ibverbs-provider-mrc mrc-tools)
# A server of a user of the packages. What the packages depend on is not here.
base="linux-image-amd64,linux-headers-amd64,initramfs-tools,systemd-sysv,udev,dbus,kmod"
base+=",iproute2,procps,perftest,curl,prometheus-node-exporter,openssl"
root_mb=2200 work_mb=5000
# The planes of the device and those of its peer, which QEMU connects one by one.
netdevs=(plane1 plane2 peer1 peer2)
# Who sets up the network.
network_of() { # RELEASE
	case $1 in
	bookworm) echo ifupdown ;;
	trixie) echo network-manager ;;
	*) echo networkd ;;
	esac
}
mac() { echo "02:00:00:00:00:0$1"; } # of netdevs[N]

# --- the disk ----------------------------------------------------------------------------
write_lines() { # FILE LINES...
	local file=$root$1
	shift
	mkdir -p "$(dirname "$file")"
	printf '%s\n' "$@" >"$file"
}

# The address and the route of plane 1.
configure_networkd() {
	write_lines /etc/systemd/network/20-plane1.network '[Match]' Name=plane1 '[Network]' \
		Address=198.51.100.1/32 IPv6AcceptRA=no '[Route]' Destination=198.51.100.2/32 \
		Scope=link PreferredSource=198.51.100.1 Metric=101
}
configure_ifupdown() {
	inside apt-get -y -qq --no-install-recommends install ifupdown >"$work/log" 2>&1 || return
	write_lines /etc/network/interfaces.d/plane1 'allow-hotplug plane1' \
		'iface plane1 inet static' '	address 198.51.100.1/32' \
		'	up ip route add 198.51.100.2/32 dev plane1 metric 101 src 198.51.100.1'
}
# It would ask for addresses on all other cards, too.
configure_network_manager() {
	inside apt-get -y -qq --no-install-recommends install network-manager >"$work/log" 2>&1 ||
		return
	write_lines /etc/NetworkManager/system-connections/plane1.nmconnection '[connection]' \
		id=plane1 type=ethernet interface-name=plane1 '[ethernet]' mtu=4500 '[ipv4]' \
		method=manual address1=198.51.100.1/32 route1=198.51.100.2/32,0.0.0.0,101 \
		route1_options=src=198.51.100.1 never-default=true '[ipv6]' method=link-local
	chmod 600 "$root/etc/NetworkManager/system-connections/plane1.nmconnection"
	write_lines /etc/NetworkManager/conf.d/planes.conf '[keyfile]' \
		'unmanaged-devices=interface-name:plane2;interface-name:peer*;interface-name:mrcvacant*'
}

# What an administrator of such a machine has written: names of the netdevs, address and route
# of plane 1, and settings for hosts with several planes.
configure() {
	local n units=boot-test conf=$root/etc/systemd/network
	mkdir -p "$conf" "$root/etc/sysctl.d"
	for n in 0 1 2 3; do
		printf '[Match]\nMACAddress=%s\n[Link]\nName=%s\nMTUBytes=4500\n' "$(mac $n)" \
			"${netdevs[n]}" >"$conf/10-${netdevs[n]}.link"
	done
	inside apt-get -qq update >"$work/log" 2>&1 || return
	case $network in
	ifupdown) configure_ifupdown || return ;;
	network-manager) configure_network_manager || return ;;
	networkd) configure_networkd && units+=" systemd-networkd" ;;
	esac
	printf '%s\n' net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.rp_filter=2 \
		>"$root/etc/sysctl.d/planes.conf"
	# With all drivers an emulated machine takes a minute to unpack it.
	echo MODULES=list >"$root/etc/initramfs-tools/conf.d/boot-test"
	printf '%s\n' virtio_pci virtio_blk ext4 >>"$root/etc/initramfs-tools/modules"
	echo guest >"$root/etc/hostname"
	mkdir -p "$root/root/boot"
	cp "$TOP/selftests/packages/guest.sh" \
		"$LAB_DIR/lib_checks.sh" "$TOP/packaging/pair.sh" "$root/root/boot/"
	printf '%s\n' '[Unit]' 'Description=Test of the packages' '[Service]' \
		'ExecStart=/root/boot/guest.sh' '[Install]' 'WantedBy=multi-user.target' \
		>"$root/etc/systemd/system/boot-test.service"
	# A first boot would enable all units, as the presets say.
	inside sh -c 'systemd-machine-id-setup && update-initramfs -u -k all &&
		systemctl enable '"$units" >"$work/log" 2>&1
}

# The newest kernel of a root, and the files that QEMU loads.
newest_kernel() {
	kernel=$(find "$root/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
	cp "$root/boot/vmlinuz-$kernel" "$work/vmlinuz"
	cp "$root/boot/initrd.img-$kernel" "$work/initrd"
}

# Between two boots: the disk as a root, with the packages in /mnt.
on_disk() { # COMMAND...
	local rc=0
	mount -o loop "$work/disk" "$work/mounted" || lab_die "cannot mount the guest's disk"
	root=$work/mounted
	"$@" || rc=$?
	unmount_below "$work/mounted"
	return "$rc"
}

# An emulated machine that shares its processors may take minutes for what takes seconds.
patience="systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900"
patience+=" watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300"

# --- the guest -----------------------------------------------------------------------------
gone() {
	if [ -n "$absent" ] && grep -q -x $'plug in plane2\r*' "$out"; then
		echo "device_add $(nic "$absent"),bus=late" >"$work/monitor.in"
		absent=''
	fi
	! kill -0 "$machine" 2>/dev/null
}

nic() { echo "virtio-net-pci,id=nic$1,netdev=n$1,mac=$(mac "$1"),romfile="; } # N

boot() { # STAGE [N]: without network card N, which comes when the guest asks for it
	local n nics=() from=$SECONDS out=$work/output-$1 console=$work/console-$1
	local accel machine text absent=${2:-}
	choose_accel
	for n in 0 1 2 3; do
		nics+=(-netdev "hubport,id=n$n,hubid=$((n % 2))")
		[ "$n" = "$absent" ] || nics+=(-device "$(nic $n)")
	done
	# A card can only be plugged into a slot. QEMU reads commands from a pipe.
	nics+=(-device "pcie-root-port,id=late,chassis=1")
	rm -f "$work"/monitor.*
	mkfifo "$work/monitor.in" "$work/monitor.out"
	exec 6<>"$work/monitor.in" 5<>"$work/monitor.out"
	nics+=(-chardev "pipe,id=monitor,path=${work//,/,,}/monitor"
		-mon "chardev=monitor,mode=readline")
	: >"$out"
	: >"$console"
	qemu-system-x86_64 "${accel[@]}" -M q35 -smp 2 -m 2048 -nodefaults -no-user-config \
		-no-reboot -display none -kernel "$work/vmlinuz" -initrd "$work/initrd" \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 oops=panic mitigations=off tsc=reliable \
$patience boot_test=$1 boot_network=$network" \
		-serial "file:$console" -serial "file:$out" \
		-drive "file=${work//,/,,}/disk,if=none,id=disk,format=raw,cache=unsafe" \
		-device virtio-blk-pci,drive=disk "${nics[@]}" </dev/null >"$work/machine" 2>&1 &
	machine=$!
	if ! wait_until 18000 gone; then
		kill -9 "$machine"
		bad "stage $1 ends" "$console"
	fi
	wait "$machine" || true
	exec 6>&- 5>&-
	text=$(tr -d '\r' <"$out")
	echo "$text" | sed -E "s/^((not )?ok|skip) - /&$about/"
	printf '%s\n' "$text" >"$out"
	add_results "$out"
	if grep -q -x "end of stage $1" "$out"; then
		good "stage $1 on $kernel, $((SECONDS - from)) s"
	else
		bad "stage $1 on $kernel" "$console"
	fi
	cp "$console" "$LOGS/boot-$release-$1.log"
	if grep -a -E -f "$LAB_DIR/guest/kernel-trouble" "$console" >"$work/trouble"; then
		bad "the kernel complains of nothing in stage $1" "$work/trouble"
	else
		good "the kernel complains of nothing in stage $1"
	fi
}

# --- one release, in a mount namespace of its own --------------------------------------------
install_packages() {
	local from=$SECONDS
	succeeds "the package lists are fetched" apt-get -qq update
	installs_as_documented host
	cp "$work/log" "$LOGS/boot-install-$release.log"
	echo "figure: apt install: $((SECONDS - from)) s"
}

newer_kernel() {
	local old=$kernel from=$SECONDS
	succeeds "the package lists are fetched again" apt-get -qq update
	succeeds "a newer kernel and its headers install" apt-get -y --no-install-recommends \
		install -t "$(newer_suite "$release")" linux-image-amd64 linux-headers-amd64
	newest_kernel
	if [ "$kernel" != "$old" ]; then
		good "$kernel after $old, $((SECONDS - from)) s"
	else
		bad "a newer kernel: there is only $old"
	fi
}

# What an administrator and services have written stays, as with other packages: the file
# of the device, and of others nothing.
purge() {
	local keep='^/etc/mrc(/links\.d(/mrc0\.conf)?)?$'
	succeeds "purge" apt-get -y purge "${ours[@]}"
	cat "$root"/var/lib/dpkg/info/*.list | sed -E 's,^/(bin|sbin|lib|lib64)(/|$),/usr/\1\2,' |
		sort -u >"$work/owned"
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./root/boot -o -path ./var/log \
		-o -path ./var/cache -o -path ./mnt -o -path ./var/lib/apt \) -prune \
		-o \( -name 'mrc*' -o -name '*[^a-z]mrc*' -o -name 'libmrc*' -o -name 'sch_mrcsw*' \) \
		-printf '/%P\n') | sort | comm -23 - "$work/owned" | grep -v -E "$keep" >"$work/left" || true
	if [ -s "$work/left" ]; then
		bad "nothing is left on the disk" "$work/left"
	else
		good "nothing is left on the disk"
	fi
	# The patterns must be such that they find what is there.
	if [ -e "$root/etc/mrc/links.d/mrc0.conf" ]; then
		good "the administrator's file stays"
	else
		bad "the administrator's file stays"
	fi
}

one_release() {
	local base_root megabytes
	packages=$BUILD/packages/$release
	network=$(network_of "$release")
	base_root=$(package_root "boot-$release")
	rm -rf --one-file-system "$work"
	mkdir -p "$work/upper" "$work/overlay" "$work/root" "$work/mounted"
	root=$work/root
	mount -t overlay overlay -o "lowerdir=$base_root,upperdir=$work/upper,workdir=$work/overlay" "$root"
	configure || {
		bad "the root is made ready" "$work/log"
		return
	}
	install_packages
	newest_kernel
	megabytes=$(($(du -sm --apparent-size "$root" | cut -f1) * 5 / 4 + 2000))
	mke2fs -q -t ext4 -m 0 -d "$root" "$work/disk" "${megabytes}M" >"$work/log" 2>&1 || {
		bad "the disk is made" "$work/log"
		return
	}
	boot installed
	boot again 1
	if [ -n "$(newer_suite "$release")" ]; then
		on_disk newer_kernel
	else
		skipped "a newer kernel: there are no backports for $release"
	fi
	boot updated
	on_disk purge
}

# --- all releases ------------------------------------------------------------------------------
if [ "${1:-}" = --inside ]; then
	release=$2 about="[$2] " work=$BUILD/packages/.boot-$2
	one_release
	umount "$work/root" 2>/dev/null || umount --lazy "$work/root"
	echo "$passed $failed" >"$work.counts"
	[ -n "${BOOT_KEEP:-}" ] || rm -rf --one-file-system "$work"
	exit 0
fi
in_guest() { # RELEASE
	local p
	for p in "${ours[@]}"; do
		compgen -G "$BUILD/packages/$1/${p}_*.deb" >/dev/null ||
			lab_die "there is no package $p of $1; were they built with PACKAGES_PROFILES?"
	done
	make_root "boot-$1" "$1" "$root_mb" backports "$base"
	need_space "$work_mb" "$BUILD" "a guest's disk"
	run_release "$0" "$BUILD/packages/.boot-$1.counts" "$1"
}

each_release "booting a guest" in_guest "$@"
end_checks
