#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# nvmet-rdma and nvme-rdma: a file system on a remote namespace, whose content
# is compared; on mrc while planes are cut and restored.
# timeout: 900
# kmsg-ok: nvme|nvmet|EXT4-fs|loop[0-9]|Removing ctrl
. "$(dirname "$0")/lib_interop.sh"
. "$(dirname "$0")/lib_copy.sh"
# shellcheck disable=SC2034 # for device_up
TOPOLOGY=init # nvme-rdma and nvmet-rdma: rdma_create_id(&init_net, ...)
CFG=/sys/kernel/config/nvmet
NQN=nqn.2026-01.test:disk

cases() { printf '%s\n' connect filesystem disconnect; }

target_up() {
	modprobe nvmet-rdma || skip "no nvmet-rdma in this kernel"
	modprobe nvme-rdma || skip "no nvme-rdma in this kernel"
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	modprobe loop
	truncate -s 64M /tmp/interop.img
	LOOP=$(losetup -f --show /tmp/interop.img)
	mkdir -p "$CFG/subsystems/$NQN/namespaces/1" "$CFG/ports/1"
	echo 1 >"$CFG/subsystems/$NQN/attr_allow_any_host"
	echo -n "$LOOP" >"$CFG/subsystems/$NQN/namespaces/1/device_path"
	echo 1 >"$CFG/subsystems/$NQN/namespaces/1/enable"
	echo rdma >"$CFG/ports/1/addr_trtype"
	echo ipv4 >"$CFG/ports/1/addr_adrfam"
	echo "$IP_B" >"$CFG/ports/1/addr_traddr"
	echo 4420 >"$CFG/ports/1/addr_trsvcid"
	ln -s "$CFG/subsystems/$NQN" "$CFG/ports/1/subsystems/"
}

target_down() {
	nvme disconnect -n "$NQN" >/dev/null 2>&1 || true
	rm -f "$CFG/ports/1/subsystems/$NQN"
	rmdir "$CFG/ports/1" "$CFG/subsystems/$NQN/namespaces/1" "$CFG/subsystems/$NQN" \
		2>/dev/null || true
	[ -z "${LOOP:-}" ] || losetup -d "$LOOP" || true
	rm -f /tmp/interop.img
	modprobe -r nvme-rdma nvmet-rdma 2>/dev/null || true
}

disk() { # of our subsystem
	local c n
	for c in /sys/class/nvme/nvme*; do
		[ "$(cat "$c/subsysnqn" 2>/dev/null)" = "$NQN" ] || continue
		for n in "$c"/nvme*n*; do
			[ -e "$n" ] || continue
			sed 's/c[0-9]*n/n/' <<<"${n##*/}"
			return
		done
	done
}

disk_there() { [ -b "/dev/$(disk)" ]; }

case_run() {
	case $1 in
	connect)
		target_up
		nvme connect -t rdma -a "$IP_B" -w "$IP_A" -s 4420 -n "$NQN" -i 2
		wait_for 30 disk_there
		;;
	filesystem) disk_copies "/dev/$(disk)" 24000000 ;;
	disconnect)
		nvme disconnect -n "$NQN"
		target_down
		;;
	esac
}

interop nvme
