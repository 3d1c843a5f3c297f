#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory shortage in the packet path: while data is sent, a part of the allocations
# that may not wait fails, in programs and in interrupts. Packets are lost at any
# place, and objects that a QP makes at its first use are made later. All losses are
# repaired: every byte, completion and answer is checked as usual, and no operation
# fails.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_faults.sh"

unlucky() { # PERCENT OPTIONS...
	local percent=$1
	shift
	ctr_mark
	echo -1 >"$FAILSLAB/times"
	echo "$percent" >"$FAILSLAB/probability"
	# A peer that lacks memory is slow to answer, and programs are slow to start.
	verify -t 200 --connect-timeout 60 --timeout 16 "$@"
	echo 0 >"$FAILSLAB/probability"
	repaired
}

repaired() {
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca cq_overflow == 0
	check "$(($(ctr mrca tx_rtx_pkts) + $(ctr mrcb tx_rtx_pkts)))" '>' 0 "packets sent again"
}

# Failures start after the programs are connected: of ten TCP handshakes, four would
# fail, and each further attempt waits twice as long.
unluckier() {
	ctr_mark
	echo -1 >"$FAILSLAB/times"
	verify_start --duration 1000 --timeout 16 --op mixed --size 1,4097
	wait_for 60 verify_running
	echo 10 >"$FAILSLAB/probability"
	wait_for 100 ctr_at_least mrca tx_rtx_pkts $(($(ctr_now mrca tx_rtx_pkts) + 100))
	echo 0 >"$FAILSLAB/probability"
	verify_stop
	repaired
}

# ib_uverbs loses an event if it finds no memory for it. A round in which the event
# "last WQE reached" is lost is repeated.
shared_receives() {
	local n rc
	for n in 1 2 3; do
		set +e
		(
			bg_pids=()
			trap stop_all EXIT
			set -e
			unlucky 1 --ext-test srq
		) >"$WORK/round" 2>&1
		rc=$?
		set -e
		cat "$WORK/round"
		[ "$rc" != 0 ] || return 0
		echo 0 >"$FAILSLAB/probability"
		grep -q 'the event last WQE reached did not come' "$WORK/round" ||
			fail "round $n"
	done
	fail "the event was lost in each round"
}

faults_needed
topo 2
faults_on atomic
subtest "writes" unlucky 1 --op write --size 1,4097,65536 --iters 300 --qps 4
subtest "immediates" unlucky 1 --op mixed --size 1,4097,65536 --iters 200 --bidir
subtest "one of 10" unluckier
for what in send read atomic fence mixed; do
	subtest "$what" unlucky 1 --ext-test $what
done
subtest "shared receive queues" shared_receives
faults_off
subtest "and all is well" verify --op mixed --size 1,4097,65536 --iters 50 --qps 4
tap_end
