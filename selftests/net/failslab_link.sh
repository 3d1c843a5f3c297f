#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory shortage in operations of an administrator: the module is loaded and
# unloaded, the mode of namespaces changes, devices are added and removed and get
# another plane, tools read all objects, a program opens the device, a consumer in the
# kernel uses it. Each allocation fails once. Each time the operation must succeed or
# return an error. After an error everything must be as before.
#
# Bugs of the RDMA core: it refuses a program's context, and the program's memory is
# not freed (ib_uverbs leaks the reference of an RDMA object to the program). The
# program is named uctx-refused here. Nodes of the radix tree of ib_uverbs' methods
# are not freed when the tree cannot grow by as many levels as it must; no other code
# under test has such a tree.
# timeout: 1800
# kmemleak-ok: comm "uctx-refused"
# kmemleak-ok: radix_tree_insert
# Messages of the kernel about the failed allocations:
# kmsg-ok: kobject_add_internal failed for .* \(error: -12
# kmsg-ok: kobject: (can not set name properly!|kobject_create_and_add: kobject_add error: -12)
# kmsg-ok: infiniband mrc[ab]: Couldn't
# kmsg-ok: faux_device_create_with_groups: device_add for faux device 'mrc[0-9:.]*' failed with -(12|22)
# kmsg-ok: faux_driver mrc[0-9:.]*: (really_probe: driver_sysfs_add failed|probe with driver faux_driver failed with error -12)
# kmsg-ok: __ib_cache_gid_add: unable to add gid .* error=-12
# kmsg-ok: workqueue: Failed to (create a rescuer kthread|allocate a rescuer) for wq "(mrc|ib_)
# kmsg-ok: socket: no more sockets
# kmsg-ok: execmem: unable to allocate memory
# kmsg-ok: execmem_vmalloc: [0-9]+ callbacks suppressed
# kmsg-ok: mrc_kverbs: (Unknown symbol|.[A-Za-z0-9_]+. invalid for parameter)
# kmsg-ok: mrc: Unknown symbol [a-z0-9_]+ \(err -12\)
# kmsg-ok: Could not (initialize trace point events/|create tracefs ')mrc_
# kmsg-ok: (No memory to create event subsystem|Failed to create system directory) mrc$
# kmsg-ok: ^error code is -12$
# A cache that cannot be made causes a stack trace; the lines below match that of User
# Mode Linux. A warning or an oops has further lines, which no line below matches.
# kmsg-ok: __kmem_cache_create_args\(mrc_qp\) failed with error -(12|22)
# kmsg-ok: SLUB: Unable to add cache mrc_qp to sysfs
# kmsg-ok: ^(CPU: [0-9]+ .* Comm: (mrc_faults|modprobe)|Tainted:|Stack:|Call Trace:)
# kmsg-ok: ^ \[<[0-9a-f]+>\] (\? )?[a-zA-Z_][a-zA-Z0-9_.]*\+0x
# kmsg-ok: ^( [0-9a-f]{8,9}){4}$
# Messages of the driver:
# kmsg-ok: mrc: cannot open UDP port [0-9]+ \(-(12|23|105)\)
# kmsg-ok: mrc: mrca: cannot be registered anew with 2 ports \(-12\), going back to 1
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_faults.sh"

loaded() { [ -d /sys/module/mrc ]; }

# Loads the module again, from a file that no tool has read before.
module_loaded() {
	topo_down
	wait_for 10 rmmod mrc
	rm -f "$SWEEP"
	mrc_faults load "$SWEEP" "$(modinfo -F filename mrc)"
	loaded || fail "it is not loaded"
	swept "load mrc"
}

module_unloaded() {
	local n
	rm -f "$SWEEP"
	for n in $(seq 20); do
		mrc_faults unload "$SWEEP" mrc
		! loaded || fail "it is still loaded"
		modprobe mrc
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	mrc_faults report "$SWEEP" || fail "not swept"
}

# A device of one plane: a later failure removes the whole device again.
device_added() { # PLANE
	rm -f "$SWEEP"
	in_a mrc_faults link "$SWEEP" mrca "pa$1"
	# ENFILE: the error that the kernel returns when it has no memory for a
	# socket.
	ODD=("link add=ENFILE")
	swept "link add"
	wait_for 10 port_is mrca "$1" ACTIVE
}

# Another plane for a device that has one. The device is registered again. If that
# fails, the device must be as before.
plane_swept() { # PLANE
	rm -f "$SWEEP"
	in_a mrc_faults link "$SWEEP" mrca "pa$1" pa1
	swept "link add of a plane"
	plane_ready 1
	plane_ready "$1"
	verify --op mixed --size 1,4097,65536 --iters 50 --qps 4
}

# What a consumer in the kernel does with both devices. The failing test must report a
# lack of memory, and nothing of it may be left.
consumer_swept() { # WORD-OF-ITS-TESTS
	rm -f "$SWEEP"
	mrc_faults consumer "$SWEEP" "$(modinfo -F filename mrc_kverbs)" dev=mrca peer=mrcb \
		misuse=0 "only=$1"
	swept "mrc_kverbs only=$1"
}

# netlink_swept KIND UNDO COMMAND...: repeats a command until its request is swept.
# UNDO reverts the command's effect. If the reply could not be sent, the command took
# effect although it reports a failure.
netlink_swept() {
	local kind=$1 undo=$2 n worked=0
	shift 2
	rm -f "$SWEEP"
	for ((n = 1; n < 400; n++)); do
		if MRC_FAULTS_NETLINK=1 below - "$@" >"$WORK/command" 2>&1; then
			worked=1
			! mrc_faults report "$SWEEP" | grep -q "^$kind: swept" || break
		fi
		$undo || fail "after $n of $*: $undo"
	done
	mrc_faults report "$SWEEP" | sed 's/^/figure: /'
	mrc_faults report "$SWEEP" | grep -q "^$kind: swept" || fail "$kind is not swept"
	[ "$worked" = 1 ] || fail "$*: $(cat "$WORK/command")"
}

mode_is() { rdma system show netns | grep -q "^netns $1"; }
shared_again() { mode_is shared || rdma system set netns shared; }
exclusive_again() { mode_is exclusive || rdma system set netns exclusive; }

# Needs a device that all other namespaces would see, and no other namespaces: the
# namespaces of earlier scripts end a moment after their names are removed.
mode_changed() {
	wait_for 30 exclusive_again
	shared_again
	ip link add name pa1 type veth peer name pb1
	ip link set pa1 up
	rdma link add mrca type mrc netdev pa1
	below_in=()
	netlink_swept "rdma SYS_SET" shared_again rdma system set netns exclusive
	exclusive_again
	netlink_swept "rdma SYS_SET" exclusive_again rdma system set netns shared
	shared_again
	below_in=(in_a)
	rdma link del mrca
	ip link del pa1
}

device_back() {
	[ -e /sys/class/infiniband/mrca ] || in_a rdma link add mrca type mrc netdev pa1
}

device_removed() {
	netlink_swept "rdma DELLINK" device_back rdma link del mrca
	[ ! -e /sys/class/infiniband/mrca ] || fail "it is still there"
	device_back
}

# These commands change nothing, so each one runs until it is swept.
looked_at() {
	local what
	for what in "link show" "resource show" "resource show qp" "resource show cq" \
		"resource show mr" "resource show pd" "resource show cm_id" "resource show ctx" \
		"resource show srq" "statistic show link mrca" "dev show mrca"; do
		rm -f "$SWEEP"
		# shellcheck disable=SC2086 # words
		wait_for 60 all_swept rdma -d $what
	done
}

all_swept() {
	MRC_FAULTS_NETLINK=1 below - "$@" >/dev/null && mrc_faults report "$SWEEP" >/dev/null
}

files_read() {
	local f
	rm -f "$SWEEP"
	for f in node_type node_guid node_desc hca_type fw_ver ports/1/state ports/1/rate \
		ports/1/gids/0 ports/1/pkeys/0 ports/1/gid_attrs/types/0 \
		ports/1/gid_attrs/ndevs/0 ports/1/hw_counters/tx_data_pkts; do
		[ ! -e "/sys/class/infiniband/mrca/$f" ] ||
			mrc_faults read "$SWEEP" "/sys/class/infiniband/mrca/$f"
	done
	swept "read state" "read tx_data_pkts"
}

# Started by a shell with its own name, because the memory that the core leaks bears
# the name of the program that started it.
context_opened() {
	local n
	refused_by_core
	rm -f "$SWEEP"
	for n in $(seq 8); do
		# shellcheck disable=SC2016 # for the other shell
		in_a env "SWEEP=$SWEEP" "LIB=$(dirname "$(command -v mrc_faults)")/libmrc_faults.so" \
			"${uctx_refused[0]}" -c \
			'MRC_FAULTS=$SWEEP LD_PRELOAD=$LIB ibv_devinfo -d mrca >/dev/null; exit $?'
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	swept "open uverbs" "DEVICE method 3" "ASYNC_EVENT method 0" "close uverbs"
}

well() {
	topo_down
	topo_up 2
	verify --op mixed --size 1,4097,65536 --iters 50 --qps 4
}

faults_needed
faults_on all
subtest "the module is loaded" module_loaded
subtest "the module is unloaded" module_unloaded
faults_on all
subtest "the mode of namespaces" mode_changed
hosts_up
plane_add 1 4500
subtest "a device is added" device_added 1
topo 1
faults_on all
subtest "a device is removed" device_removed
subtest "tools look" looked_at
subtest "files are read" files_read
subtest "a program opens the device" context_opened
for word in SEND READ FETCH_ADD large 300 shared draining gone reset; do
	subtest "a consumer in the kernel: $word" consumer_swept "$word"
done
topo 1
plane_add 2 4500
link_add b 2
faults_on all
subtest "a device gets another plane" plane_swept 2
faults_off
subtest "and all is well" well
tap_end
