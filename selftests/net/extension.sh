#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The extension switched off (mrcctl dev set extension off). A program sees that the
# extension is off, and its operations are refused. No packet of the extension is
# sent. A peer with the extension learns that this host has none. Existing connections
# keep the extension.
# timeout: 200
# races
. "$(dirname "$0")/lib.sh"

# No packet was sent that MRC 1.0 does not have.
no_trace() {
	local d
	for d in mrca mrcb; do
		expect "$d" tx_requests == 0
		expect "$d" rx_requests == 0
		expect "$d" rx_send == 0
		expect "$d" resp_rnr == 0
		expect "$d" rx_drop_opcode == 0
		expect "$d" rx_nack_fatal == 0
		expect "$d" qp_errors == 0
	done
}

off_at_both() {
	ctr_mark
	# The timeout is long, so that exactly one packet is sent even if the machine
	# pauses.
	verify --ext-test strict --timeout 18
	ctr_quiet
	ctr_take
	grep -q '^ext-test strict: ok' "$WORK/client" || fail "no verdict"
	no_trace
	expect mrca tx_data_pkts == 1
	expect mrcb tx_data_pkts == 0
}

# Both sides have WRITEs: they work as if there were no extension.
writes() {
	ctr_mark
	verify --op mixed --size 0,1,4097,65536 --iters 50 --bidir
	ctr_quiet
	ctr_take
	no_trace
	check "$(ctr mrcb rx_write_imm)" '>' 0 "immediates"
}

# Each operation costs one packet, one NACK and one queue pair of the sender. The
# responder's queue pair made no error and goes on.
off_at_peer() {
	local n requests
	ctr_mark
	verify --ext-test strict-peer --timeout 18
	ctr_quiet
	ctr_take
	n=$(sed -n 's/^strict-peer: \([0-9]*\) operations.*/\1/p' "$WORK/client")
	requests=$(sed -n 's/^strict-peer: .* \([0-9]*\) of them requests/\1/p' "$WORK/client")
	check "${n:-0}" '>=' 7 "operations tried"
	expect mrcb rx_drop_opcode == "$n"
	expect mrcb tx_nack == "$n"
	expect mrca rx_nack == "$n"
	expect mrca rx_nack_fatal == "$n"
	expect mrca tx_requests == "$requests"
	expect mrca tx_rtx_pkts == 0
	expect mrca retry_timeouts == 0
	expect mrca qp_errors == "$n"
	expect mrcb qp_errors == 0
	# The WRITEs that were posted before each of the operations.
	expect mrcb rx_data_pkts == "$n"
	expect mrcb rx_data_bytes == $((n * 3000))
	expect mrcb rx_send == 0
	expect mrcb rx_requests == 0
	expect mrcb resp_rnr == 0
	expect mrcb tx_nak == 0
}

on_again() {
	ctr_mark
	verify --ext-test mixed --iters 40
	ctr_quiet
	ctr_take
	check "$(ctr mrcb rx_requests)" '>' 0 "requests"
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrcb rx_drop_opcode == 0
}

# The extension is switched off at both ends while messages of all kinds are in
# flight. Every few messages take a round trip, so that the traffic lasts long enough,
# even if reading a counter is slow here.
under_way() {
	local at p
	for p in 1 2; do
		netem a "$p" delay 10ms
	done
	ctr_mark
	at=$(ctr_now mrcb rx_requests)
	verify_start -t 100 --ext-test mixed --iters 2500 --timeout 18
	wait_for 30 ctr_at_least mrcb rx_requests $((at + 50))
	extension off
	at=$(ctr_now mrcb rx_requests)
	wait_for 30 ctr_at_least mrcb rx_requests $((at + 50))
	verify_finish
	extension on
	unimpair_all
	ctr_quiet
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca rx_drop_opcode == 0
	expect mrcb rx_drop_opcode == 0
}

topo 2
extension off
subtest "off: what a program is told, and refused" off_at_both
subtest "off at both ends: writes" writes
extension on b
subtest "off at one end: writes" writes
extension on a
extension off b
subtest "off at the other end: writes" writes
subtest "off at the peer: REM_INV_REQ_ERR" off_at_peer
extension on
subtest "on again" on_again
subtest "switched off under traffic: connections keep it" under_way
tap_end
