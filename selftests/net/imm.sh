#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# WRITE with immediate: every immediate arrives once and in posting order, whatever
# the network does to the packets. Also solicited events, and a message that finds no
# receive: an error as in MRC 1.0, or with the extension another attempt later.
# timeout: 200
. "$(dirname "$0")/lib.sh"

in_order() { # OPTIONS...
	local n
	ctr_mark
	verify --op write_imm "$@"
	ctr_quiet
	ctr_take
	n=$(verified server imm)
	check "$n" '>' 0 "immediates verified"
	expect mrcb rx_write_imm == "$n"
	expect mrcb resp_no_receive == 0
	expect mrcb resp_imm_limit == 0
}

# Nothing is lost. The long timeout prevents retransmissions when the host pauses the
# guest.
lossless() { in_order --timeout 18 "$@"; }

reordered() {
	local i
	for i in 1 2 3 4; do
		netem a "$i" delay "$((i * 3))ms" reorder 25% 50%
	done
	lossless --size 0,1,5000,70000 --iters 300
	unimpair_all
	expect mrcb rx_out_of_order '>' 0
}

lossy() {
	local i
	for i in 1 2 3 4; do
		netem a "$i" loss 3%
		netem b "$i" loss 3%
	done
	in_order --size 0,1,5000,70000 --iters 300
	unimpair_all
	expect mrca tx_rtx_pkts '>' 0
}

missing_receive() {
	extension off
	ctr_mark
	verify --error-test no-recv --timeout 18
	ctr_quiet
	ctr_take
	expect mrcb resp_no_receive '>' 0
	expect mrcb tx_nak == "$(ctr mrcb resp_no_receive)"
	expect mrca rx_nak == "$(ctr mrcb resp_no_receive)"
	extension on
}

# The error does not affect the responder's queue pair.
rnr() {
	ctr_mark
	verify --error-test no-recv --timeout 18
	ctr_quiet
	ctr_take
	expect mrcb resp_rnr '>' 3
	expect mrca rx_nack_rnr == "$(ctr mrcb resp_rnr)"
	expect mrca rnr_exceeded == 1
	expect mrca qp_errors == 1
	expect mrcb qp_errors == 0
	expect mrcb resp_no_receive == 0
	expect mrcb tx_nak == 0
}

late_receive() {
	ctr_mark
	verify --error-test late-recv --timeout 18
	ctr_quiet
	ctr_take
	expect mrcb resp_rnr '>' 0
	expect mrcb rx_write_imm == 1
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
}

topo 4
subtest "in order, messages of many sizes" lossless --size 0,1,4096,4097,65536 --iters 200
subtest "in order, zero length only" lossless --size 0 --iters 500 --depth 64
subtest "in order, deep queue of small messages" lossless --size 8 --iters 2000 --depth 200
subtest "in order with completion events" lossless --events --size 1,4096 --iters 200
subtest "solicited events" lossless --events --solicited --size 1,4096 --iters 200
subtest "in order on four planes of different delay, reordered" reordered
subtest "each once and in order under loss in both directions" lossy
subtest "no receive posted, MRC 1.0: REM_INV_REQ_ERR" missing_receive
subtest "no receive posted: RNR_RETRY_EXC_ERR" rnr
subtest "a receive posted late is used" late_receive
tap_end
