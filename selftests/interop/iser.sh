#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iSER: a disk of a remote target over iSCSI on RDMA, whose content is compared;
# on mrc while planes are cut and restored.
# timeout: 900
# kmsg-ok: iSCSI|isert|iser|scsi|sd [0-9]|EXT4-fs|TARGET_CORE|Rounding down|MODE SENSE|Attached SCSI|rd_mcp|connection[0-9]
. "$(dirname "$0")/lib_interop.sh"
# shellcheck disable=SC2034 # for device_up
TOPOLOGY=init # ib_iser and ib_isert: rdma_create_id(&init_net, ...)
IQN=iqn.2026-01.test:disk
INI=iqn.2026-01.test:host

cases() { printf '%s\n' login filesystem logout; }

case_run() {
	case $1 in
	login)
		modprobe ib_isert || skip "no ib_isert in this kernel"
		modprobe ib_iser || skip "no ib_iser in this kernel"
		mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
		target
		mkdir -p /etc/iscsi /run/lock/iscsi
		echo "InitiatorName=$INI" >/etc/iscsi/initiatorname.iscsi
		start /tmp/iscsid.log "${AT_A[@]}" iscsid -f
		bg_pids=()
		wait_for 20 at_a iscsiadm -m session -P 0 2>/dev/null || true
		at_a iscsiadm -m node -T "$IQN" -p "$IP_B:3260" -I iser -o new
		at_a iscsiadm -m node -T "$IQN" -p "$IP_B:3260" -I iser --login
		wait_for 20 disk_there
		;;
	filesystem) filesystem ;;
	logout)
		at_a iscsiadm -m node -T "$IQN" -p "$IP_B:3260" --logout
		pkill iscsid || true
		at_b targetcli clearconfig confirm=True
		;;
	esac
}

target() {
	at_b targetcli <<-END
		/backstores/ramdisk create disk 64MB
		/iscsi create $IQN
		/iscsi/$IQN/tpg1/luns create /backstores/ramdisk/disk
		/iscsi/$IQN/tpg1/acls create $INI
		/iscsi/$IQN/tpg1/portals delete 0.0.0.0 3260
		/iscsi/$IQN/tpg1/portals create $IP_B 3260
		/iscsi/$IQN/tpg1/portals/$IP_B:3260 enable_iser true
		exit
	END
}

disk() {
	local d
	for d in /sys/block/sd*; do
		[ -e "$d" ] || continue
		grep -q LIO-ORG "$d/device/vendor" || continue
		echo "/dev/${d##*/}"
		return
	done
}

disk_there() { [ -b "$(disk)" ]; }

round() { # DEV
	mount "$1" "$WORK/mnt"
	cp "$WORK/data" "$WORK/mnt/copy"
	umount "$WORK/mnt"
	mount -o ro "$1" "$WORK/mnt"
	cmp "$WORK/data" "$WORK/mnt/copy"
	umount "$WORK/mnt"
}

filesystem() {
	local dev
	dev=$(disk)
	mkfs.ext4 -q "$dev"
	mkdir -p "$WORK/mnt"
	head -c 16000000 /dev/urandom >"$WORK/data"
	[ "$KIND" != mrc ] || flap_start
	round "$dev"
	until flapped; do
		round "$dev"
	done
	[ "$KIND" != mrc ] || flap_stop
}

interop iser
