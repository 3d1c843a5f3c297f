#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A consumer in the kernel, the module mrc_kverbs: the local DMA key, fast
# registration, local and remote invalidation, and operations that must be refused.
# Tested over two planes, over a lossy network, and with both ends on one device.
# timeout: 300
# races
. "$(dirname "$0")/lib.sh"

# run DEVICE PEER [PARAMETERS]: every test of the module must pass.
run() {
	local result
	ctr_mark
	modprobe mrc_kverbs dev="$1" peer="$2" "${@:3}"
	result=$(cat /sys/module/mrc_kverbs/parameters/result)
	modprobe -r mrc_kverbs
	echo "$result"
	ctr_quiet
	! grep '^not ok' <<<"$result" || fail "tests of the module failed"
	grep -q '^1\.\.' <<<"$result" || fail "the module did not get to the end"
}

lossy() {
	local i
	for i in 1 2; do
		netem a "$i" loss 3%
		netem b "$i" loss 3%
	done
	# Leave out the tests of misuse: a side that refuses an operation fails and
	# does not retransmit, so its NAK may be lost.
	run mrca mrcb misuse=0
	unimpair_all
}

holds_qp() { in_a rdma resource show qp link mrca | grep -q 'mrc_kverbs'; }

# Removing a device waits for its consumer in the kernel. The consumer has one
# connection for 300 messages, each with a round trip, so that the wait is visible.
removed() {
	local i
	for i in 1 2; do
		netem a "$i" delay 20ms
	done
	start "$WORK/tests" modprobe mrc_kverbs dev=mrca peer=mrcb only=300
	wait_for 30 holds_qp
	in_a rdma link del mrca
	finished "$started" 60
	grep -q '^ok 1 - 300 times' /sys/module/mrc_kverbs/parameters/result ||
		fail "$(cat /sys/module/mrc_kverbs/parameters/result)"
	modprobe -r mrc_kverbs
}

# A lock that interrupts take must be taken with interrupts off. Of the debug kernels lockdep
# says so if it is not, of the others both may wait for each other.
interrupted() {
	local n=0
	start "$WORK/tests" modprobe mrc_kverbs dev=mrca peer=mrcb only=interrupts
	wait_for 30 holds_qp
	until process_gone "$started"; do
		in_a rdma -dd resource show cq dev mrca >"$WORK/cqs"
		n=$((n + 1))
	done
	finished "$started" 60
	check $n '>' 0 "times that the queues were shown"
	grep -q '^ok 1 - notifications' /sys/module/mrc_kverbs/parameters/result ||
		fail "$(cat /sys/module/mrc_kverbs/parameters/result)"
	modprobe -r mrc_kverbs
}

# Detects what a failed run leaves: devices that cannot be removed.
nothing_held() {
	topo_down
	wait_for 30 rmmod mrc
}

topo 2
subtest "over two planes" run mrca mrcb
subtest "the other way" run mrcb mrca
subtest "both ends on one device" run mrca mrca
subtest "under loss" lossy
subtest "notifications asked for in interrupts" interrupted
subtest "without the device" refuse 'no such device' modprobe mrc_kverbs dev=mrcx peer=mrcx
subtest "a device that is removed waits" removed
subtest "nothing is held afterwards" nothing_held
tap_end
