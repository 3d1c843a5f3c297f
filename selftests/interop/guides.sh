#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The guides (Documentation/guides) that need programs of other projects: each block that
# is marked with "interop" runs as it is printed, on mrc only. The other suites compare the
# same programs with rxe, over loss and while planes are cut.
# timeout: 1200
# kmsg-ok: nvme|nvmet|EXT4-fs|loop[0-9]|Removing ctrl|NFSD|nfsd|svcrdma|xprtrdma|rpcrdma|RPC|NFS:
# shellcheck disable=SC2034,SC2154 # variables shared with lib_interop.sh
. "$(dirname "$0")/lib_interop.sh"
. "$INTEROP_DIR/../net/lib_guides.sh"

KINDS=(mrc)
GUIDE_KIND=interop
GUIDE_CWD=$GUIDES/examples
GUIDE_SED_A=(-e 's/\<mrc0\>/mrca/g') GUIDE_SED_B=(-e 's/\<mrc0\>/mrcb/g')

# "GUIDE NAME" of each block that runs with this topology. Only their order matters: blocks
# of a guide follow each other.
blocks_hosts() {
	cat <<-'END'
		mpi mpi
		mpi mpi-counters
		ucx ucx-info
		ucx ucx-bandwidth
		ucx ucx-latency
		storage-benchmarks fio-rdma
		nfs nfs-export
		nfs nfs-server
		nfs nfs-ports
		nfs nfs-mount
		nfs nfs-copy
		storage-benchmarks fio-nfs
		nfs nfs-umount
		nfs nfs-stop
	END
}

# The drivers of NVMe find devices of the initial namespace only.
blocks_init() {
	cat <<-'END'
		nvme nvme-target
		nvme nvme-connect
		nvme nvme-list
		nvme nvme-files
		nvme nvme-qps
		storage-benchmarks fio-nvme
		nvme nvme-disconnect
		nvme nvme-remove
	END
}

cases() { "blocks_$TOPOLOGY" | awk '{ print $2 }'; }

case_run() {
	local file
	file=$("blocks_$TOPOLOGY" | awk -v n="$1" '$2 == n { print $1 }')
	case $1 in
	nvme-target) modprobe nvmet-rdma || skip "no nvmet-rdma in this kernel" ;;
	nvme-connect) modprobe nvme-rdma || skip "no nvme-rdma in this kernel" ;;
	nfs-export) nfs_before ;;
	nfs-mount) modprobe nfs || skip "no nfs in this kernel" ;;
	esac
	guide "$file" "$1"
	case $1 in
	nfs-stop) nfs_after ;;
	nvme-remove) modprobe -r nvme-rdma nvmet-rdma ;;
	esac
}

# What services of the distribution do, and servers that stay.
nfs_before() {
	modprobe nfsd || skip "no nfsd in this kernel"
	modprobe rpcrdma || skip "no rpcrdma in this kernel"
	mkdir -p /var/lib/nfs/v4recovery
	start /tmp/rpcbind.log "${GUIDE_B[@]}" rpcbind -f -w
	bg_pids=()
}

nfs_after() {
	pkill rpc.mountd || true
	pkill rpcbind || true
	umount /tmp/export
	umount /proc/fs/nfsd || true
}

# With the mounts of this script, which ip netns exec would hide: a mount of nfsd is that
# of a network namespace.
GUIDE_A=(nsenter "--net=/run/netns/$HOST_A") GUIDE_B=(nsenter "--net=/run/netns/$HOST_B")
for TOPOLOGY in hosts init; do
	[ "$TOPOLOGY" = hosts ] || GUIDE_A=(env) GUIDE_B=(env)
	device_up mrc
	run_cases mrc
	device_down
done
while read -r name; do
	judge_case guides "$name"
done < <(all_names)
tap_end
