#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The functions of libMRC for programs, through the kernel: contexts, queues, hints,
# events, every row of the queue pair state table by transition, attribute and errno,
# data of all sizes, and all kinds of failures.
# timeout: 900
# kmsg-ok: rdma_rxe|rxe
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_rxe.sh"

# Runs a theme of mrc_api on both devices and adopts its results. A program that ends
# before it prints its last line has failed.
theme() { # NAME [DEVICE-A DEVICE-B]
	timeout 400 mrc_api "$1" "${2:-mrca}" "${3:-mrcb}" >"$WORK/theme" 2>&1 || true
	theme_result "$1"
}

theme_result() { # NAME
	grep -q "^# $1: end\$" "$WORK/theme" ||
		echo "not ok $1 ended before its end" >>"$WORK/theme"
	adopt "$1: " <"$WORK/theme"
}

# The bytes and immediates that the program counted are those that the receiver's
# device counted, and none arrived twice.
data_totals() {
	ctr_quiet
	ctr_take
	local bytes imms
	bytes=$(sed -n 's/^# totals: bytes=\([0-9]*\) .*/\1/p' "$WORK/theme")
	imms=$(sed -n 's/^# totals: .*imms=\([0-9]*\)$/\1/p' "$WORK/theme")
	check "$bytes" '>' 1000000 "bytes that the program counted"
	expect mrcb rx_data_bytes == "$bytes"
	expect mrcb rx_write_imm == "$imms"
	for c in qp_errors tx_nak cq_overflow resp_no_receive retry_exceeded \
		rx_psn_out_of_window; do
		expect mrca $c == 0
		expect mrcb $c == 0
	done
}

port_events() {
	local pid
	start "$WORK/theme" timeout 120 mrc_api port-events mrca mrcb
	pid=$started
	wait_for 30 grep -q 'port 2 to go down' "$WORK/theme"
	ip -n "$HOST_A" link set pa2 down
	wait_for 30 grep -q 'port 2 to come up' "$WORK/theme"
	ip -n "$HOST_A" link set pa2 up
	finished "$pid" 60
	grep '^#' "$WORK/theme"
	grep -q '^ok a port goes down and comes up' "$WORK/theme"
	plane_routes 2
	plane_ready 2
}

foreign_device() {
	rxe_up
	mrc_api foreign mrca rxea >"$WORK/theme" 2>&1 || cat "$WORK/theme"
	rxe_down
	grep -q '^ok a device without MRC' "$WORK/theme"
}

# A copy of the provider that says that it knows another version of the driver's ABI.
# It says so in two adjacent words, the oldest version that it knows and the newest.
other_abi() {
	local library rc=0
	library=$(realpath /usr/lib/*/libibverbs/libmrc-rdmav*.so)
	python3 - "$library" "$WORK/other.so" <<-'END'
		import struct
		import sys

		with open(sys.argv[1], 'rb') as f:
		    library = f.read()
		mine, other = (struct.pack('<II', v, v) for v in (0x80000002, 0x80000003))
		if library.count(mine) != 1:
		    sys.exit(f'{library.count(mine)} pairs of versions in the provider')
		with open(sys.argv[2], 'wb') as f:
		    f.write(library.replace(mine, other))
	END
	# shellcheck disable=SC2016 # expanded there
	in_a unshare -m bash -c 'mount --bind "$1" "$2" && exec ibv_devinfo -d mrca' - \
		"$WORK/other.so" "$library" >"$WORK/out" 2>&1 || rc=$?
	[ "$rc" != 0 ] || fail "the device is used all the same: $(cat "$WORK/out")"
	grep -q 'does not support the kernel ABI of 2147483650 (supports 2147483651 to 2147483651)' \
		"$WORK/out" || fail "$(cat "$WORK/out")"
	in_a ibv_devinfo -d mrca | grep -q 'hca_id:.*mrca' || fail "with the provider as it is"
}

device_goes() {
	local pid
	start "$WORK/theme" timeout 120 mrc_api gone mrca mrcb
	pid=$started
	wait_for 30 grep -q 'waits for the device to go' "$WORK/theme"
	rdma link del mrca
	finished "$pid" 60 || true
	grep -q '^ok the device goes away' "$WORK/theme" || fail "$(cat "$WORK/theme")"
}

# A program that has ended leaves nothing behind.
abandoned() {
	mrc_api abandon mrca mrcb >"$WORK/theme" 2>&1 || true
	grep -q '^ok ' "$WORK/theme" || fail "$(cat "$WORK/theme")"
	wait_for 30 no_qps
}

no_leak() {
	local what
	mrc_api cycle mrca mrcb >"$WORK/theme"
	memory_before "$WORK/before"
	for what in cycle abandon cycle abandon; do
		mrc_api $what mrca mrcb >"$WORK/theme" || fail "$(cat "$WORK/theme")"
	done
	wait_for 30 no_qps
	expect_memory_back "$WORK/before" 100 1024
}

topo 2 4500 4
theme context
theme null
theme teardown
theme hint
theme qp
theme modify
theme cq
theme events
theme errors
theme threads
ctr_mark
theme data
subtest "the devices have counted what the program did" data_totals
theme large
subtest "events of a port, for the library and for verbs" port_events
subtest "a device without MRC is refused" foreign_device
subtest "a provider of another ABI version finds no device, and says why" other_abi
subtest "a program that leaves everything behind" abandoned
subtest "memory is back after 200 connections" no_leak
subtest "a device that goes away under a program" device_goes

topo 4 4500 4
ctr_mark
theme data
subtest "the devices have counted it, four planes" data_totals
tap_end
