#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# No memory in the packet path: of all allocations that may not wait, in programs and
# in interrupts, a part fails while data is sent. Packets are lost by it wherever they
# are, what a QP makes at its first use is made later, and all of it is repaired: every
# byte, completion and answer is checked as ever, nothing fails.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_faults.sh"

unlucky() { # PERCENT OPTIONS...
	local percent=$1
	shift
	ctr_mark
	echo -1 >"$FAILSLAB/times"
	echo "$percent" >"$FAILSLAB/probability"
	# A peer with little memory takes long to answer, programs take long to start.
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

# Not from the start: of ten handshakes of TCP, which the programs find each other by,
# four would fail, and each further try waits twice as long.
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

faults_needed
topo 2
faults_on atomic
subtest "writes" unlucky 1 --op write --size 1,4097,65536 --iters 300 --qps 4
subtest "immediates" unlucky 1 --op mixed --size 1,4097,65536 --iters 200 --bidir
subtest "one of 10" unluckier
for what in send read atomic fence mixed; do
	subtest "$what" unlucky 1 --ext-test $what
done
subtest "shared receive queues" unlucky 1 --ext-test srq
faults_off
subtest "and all is well" verify --op mixed --size 1,4097,65536 --iters 50 --qps 4
tap_end
