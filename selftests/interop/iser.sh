#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iSER: a disk of a remote target over iSCSI on RDMA, whose content is compared;
# on mrc while planes are cut and restored.
# timeout: 900
# kmsg-ok: WRITE_SAME|iSCSI|isert|iser|scsi|sd [0-9]|EXT4-fs|TARGET_CORE|Rounding down|MODE SENSE|Attached SCSI|Unable to load target_core_|rd_mcp|connection[0-9]
. "$(dirname "$0")/lib_interop.sh"
. "$(dirname "$0")/lib_copy.sh"
# shellcheck disable=SC2034 # for device_up
TOPOLOGY=init # ib_iser and ib_isert: rdma_create_id(&init_net, ...)
IQN=iqn.2026-01.test:disk
INI=iqn.2026-01.test:host
CORE=/sys/kernel/config/target/core/rd_mcp_0
TPG=/sys/kernel/config/target/iscsi/$IQN/tpgt_1

cases() { printf '%s\n' login filesystem logout; }

case_run() {
	case $1 in
	login)
		mkdir -p /etc/target # the target's modules complain where it lacks
		modprobe ib_isert || skip "no ib_isert in this kernel"
		modprobe ib_iser || skip "no ib_iser in this kernel"
		modprobe sd_mod # for the disk, which udev would ask for
		mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
		target_up
		mkdir -p /etc/iscsi /run/lock/iscsi
		echo "InitiatorName=$INI" >/etc/iscsi/initiatorname.iscsi
		# It ends with a signal to all of its process group.
		start /tmp/iscsid.log setsid iscsid -f
		bg_pids=()
		wait_for 30 iscsid_listens
		iscsiadm -m node -T "$IQN" -p "$IP_B:3260" -I iser -o new
		iscsiadm -m node -T "$IQN" -p "$IP_B:3260" -I iser --login
		wait_for 30 disk_there
		iscsiadm -m session -P 1 | grep 'Iface Transport: iser'
		;;
	filesystem) disk_copies "$(disk)" 16000000 ;;
	logout)
		iscsiadm -m node -T "$IQN" -p "$IP_B:3260" --logout
		iscsiadm -m node -T "$IQN" -p "$IP_B:3260" -o delete
		! disk_there || fail "the disk is still there"
		target_down
		;;
	esac
}

iscsid_listens() { grep -q '@ISCSIADM_ABSTRACT_NAMESPACE' /proc/net/unix; }

# A disk in memory behind a portal of iSER. What targetcli would do, which asks
# D-Bus for backstores of other programs and ends ("g-io-error") where no bus is.
target_up() {
	modprobe iscsi_target_mod
	mkdir -p "$CORE/disk"
	echo rd_pages=16384 >"$CORE/disk/control"
	echo 1 >"$CORE/disk/enable"
	mkdir -p "$TPG/lun/lun_0" "$TPG/acls/$INI/lun_0"
	ln -s "$CORE/disk" "$TPG/lun/lun_0/disk"
	ln -s "$TPG/lun/lun_0" "$TPG/acls/$INI/lun_0/lun"
	echo 0 >"$TPG/attrib/authentication"
	mkdir "$TPG/np/$IP_B:3260"
	echo 1 >"$TPG/np/$IP_B:3260/iser"
	echo 1 >"$TPG/enable"
}

# Whatever of it is there.
target_down() {
	set +e
	pkill iscsid
	[ ! -e "$TPG" ] || echo 0 >"$TPG/enable"
	rm -f "$TPG/acls/$INI/lun_0/lun" "$TPG/lun/lun_0/disk"
	rmdir "$TPG/acls/$INI/lun_0" "$TPG/acls/$INI" "$TPG/np/$IP_B:3260" \
		"$TPG/lun/lun_0" "$TPG" "${TPG%/*}" "${TPG%/*/*}" "$CORE/disk" "$CORE"
	modprobe -r ib_iser ib_isert
	set -e
} 2>/dev/null

fabric_down() {
	target_down
	rxe_down
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

interop iser
