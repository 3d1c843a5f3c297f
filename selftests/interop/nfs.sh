#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# NFS over RDMA: a copy that is compared; on mrc while planes are cut and
# restored.
# timeout: 900
# kmsg-ok: NFSD|nfsd|svcrdma|xprtrdma|rpcrdma|RPC|NFS:
. "$(dirname "$0")/lib_interop.sh"
. "$(dirname "$0")/lib_copy.sh"

cases() { printf '%s\n' mount copy umount; }

nfs_copy() {
	cp "$WORK/data" "$WORK/nfs/copy"
	sync
	echo 3 >/proc/sys/vm/drop_caches
	cmp "$WORK/data" "$WORK/nfs/copy"
}

# With the mounts of this script, which ip netns exec would hide: a mount of nfsd
# is that of a network namespace.
case_run() {
	if [ "$KIND" = mrc ]; then
		AT_A=(nsenter "--net=/run/netns/$HOST_A")
		AT_B=(nsenter "--net=/run/netns/$HOST_B")
	fi
	case $1 in
	mount)
		modprobe nfsd || skip "no nfsd in this kernel"
		modprobe rpcrdma || skip "no rpcrdma in this kernel"
		mountpoint -q /proc/fs/nfsd || at_b mount -t nfsd nfsd /proc/fs/nfsd
		mkdir -p /tmp/export "$WORK/nfs" /var/lib/nfs/v4recovery
		mount -t tmpfs tmpfs /tmp/export
		start /tmp/rpcbind.log "${AT_B[@]}" rpcbind -f -w
		bg_pids=()
		at_b exportfs -o rw,no_root_squash,insecure,fsid=0 '*:/tmp/export'
		# A server that starts lets files be opened after its time of grace only.
		at_b rpc.nfsd -G 10 -L 10 -N 3 --rdma=20049 4
		at_b sh -c 'exec rpc.mountd --no-nfs-version 3' || true
		at_a mount -t nfs4 -o "rdma,port=20049,clientaddr=$IP_A,sec=sys" "$IP_B:/" "$WORK/nfs"
		grep -q 'proto=rdma' /proc/mounts
		;;
	copy)
		copies 16000000 nfs_copy
		;;
	umount)
		umount "$WORK/nfs"
		at_b rpc.nfsd 0
		at_b exportfs -ua
		pkill rpc.mountd || true
		pkill rpcbind || true
		umount /tmp/export
		umount /proc/fs/nfsd || true
		;;
	esac
}

interop nfs
