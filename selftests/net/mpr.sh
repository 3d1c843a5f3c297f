#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Dynamic MPR (MRC 1.0 §5.2) under load: the responder shrinks and widens its range
# while data flows. The requester follows: the bytes in flight fit the range, the
# changes cause no loss, and no packet is sent that the responder refuses.
# long
# timeout: 900
. "$(dirname "$0")/lib.sh"

# So slow that the machine is not busy and only the range limits a requester.
RATE=2500	# kbit/s of each plane
MTU=1024	# small, so that the congestion window is no limit

# --- helpers ------------------------------------------------------------------------

# Process id of mrc_verify below `timeout`.
verify_pid() { # client|server
	local -n of=verify_$1
	local pid
	for pid in $(descendants "$of"); do
		if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = mrc_verify ]; then
			echo "$pid"
			return 0
		fi
	done
	return 1
}

next_range() { # client|server
	kill -USR1 "$(verify_pid "$1")"
}

shaped() {
	local h p
	unimpair_all
	for h in a b; do
		for p in 1 2; do
			shape $h $p $RATE
		done
	done
}

# A figure of the sender's queue pair, from the sending host's device.
qp_now() { # a|b NAME
	local qpn
	rdma resource show qp link "mrc$1" >"$WORK/qps"
	qpn=$(sed -n "s/.* lqpn \([0-9]*\) .*type RC.*/\1/p" "$WORK/qps" | sed -n 1p)
	mrcctl -d "mrc$1" qp show "$qpn" >"$WORK/qp.$1"
	sed -n "s/^    .*\<$2 \([0-9]*\)\>.*/\1/p" "$WORK/qp.$1"
}

window_is() { # a|b RANGE
	[ "$(qp_now "$1" window)" = $(($2 * 128)) ]
}

# The limit that the engine sets for the bytes in flight: a third of the range.
inflight_max() { # RANGE
	echo $((($1 * 128 / 3 + 1) * (MTU + 200)))
}

inflight_fits() { # a|b RANGE
	local bytes
	bytes=$(qp_now "$1" inflight)
	[ "$bytes" -le "$(inflight_max "$2")" ]
}

# Whether more bytes are in flight than RANGE would allow.
inflight_above() { # a|b RANGE
	local bytes
	bytes=$(qp_now "$1" inflight)
	[ "$bytes" -gt "$(inflight_max "$2")" ]
}

# Waits until DEV has received so many more data packets.
moves() { # DEV PACKETS
	hw_now "$1" rx_data_pkts
	wait_for 60 hw_at_least "$1" rx_data_pkts '' $((hw + $2))
}

# All packets arrived, and all were inside the range that the responder accepts.
nothing_lost() { # FROM TO
	expect_all_arrived "$1" "$2"
	never_outside "$1" "$2"
	expect "$1" loss_timeout == 0
	expect "$1" retry_timeouts == 0
}

never_outside() { # FROM TO
	expect "$2" rx_psn_out_of_window == 0
	expect "$2" tx_nack == 0
	expect "$1" rx_nack_window == 0
	expect "$1" qp_errors == 0
	expect "$2" qp_errors == 0
}

# --- tests --------------------------------------------------------------------------

# Each range is in effect for a while.
every_step() { # OPTIONS of verify: -6, -r
	local ranges=(4 1 2 1 4 2) from=a to=b i r before
	[[ " $* " != *" -r "* ]] || from=b to=a
	shaped
	ctr_mark
	verify_start -t 200 "$@" --mtu $MTU --duration 1000 --size 65536 --depth 64 \
		--timeout 20 --mpr "$(IFS=, && echo "${ranges[*]}")"
	moves mrc$to 500
	for ((i = 0; i < ${#ranges[@]}; i++)); do
		r=${ranges[i]} before=${ranges[i > 0 ? i - 1 : 0]}
		if [ $i -gt 0 ]; then
			next_range server
			wait_for 30 window_is $from "$r"
		fi
		if [ "$r" -gt "$before" ]; then
			wait_for 30 inflight_above $from "$before"
		fi
		# After a shrink, wait until packets sent before have arrived.
		wait_for 30 inflight_fits $from "$r"
		moves mrc$to 200
		inflight_fits $from "$r" || {
			cat "$WORK/qp.$from"
			fail "more than range $r allows in flight"
		}
		window_is $from "$r" || fail "range $r did not stay"
		echo "figure: range $r: $(($(qp_now $from inflight) / MTU)) packets in flight"
	done
	verify_stop
	ctr_quiet 20
	ctr_take
	nothing_lost mrc$from mrc$to
	# Of two SACKs with the same cack_psn the last to arrive counts, and planes
	# may deliver them in either order.
	expect mrc$from mpr_changes '>=' $((${#ranges[@]} - 1))
	expect mrc$to mpr_changes == 0
}

# Ranges that change all the time, in both directions. A PSN that was once offered is
# accepted, whatever offer followed.
restless() { # OPTIONS of verify
	local i
	shaped
	ctr_mark
	verify_start -t 200 "$@" --mtu $MTU --duration 1000 --size 4097,65536 --depth 32 \
		--op mixed --bidir --timeout 20 --mpr 8,1,32,2,1,16,3
	moves mrcb 300
	moves mrca 300
	for ((i = 0; i < 40; i++)); do
		next_range server
		next_range client
		moves mrcb 20
		moves mrca 20
	done
	verify_stop
	ctr_quiet 20
	ctr_take
	nothing_lost mrca mrcb
	nothing_lost mrcb mrca
	expect mrca mpr_changes '>=' 20
	expect mrcb mpr_changes '>=' 20
	echo "figure: of 40 ranges each, $(ctr mrca mpr_changes) and $(ctr mrcb mpr_changes)" \
		"changes adopted, $(ctr mrca tx_data_pkts) packets"
}

# The same over a network that loses and reorders packets. Lost packets are
# retransmitted, and still no packet is sent beyond the offered range.
restless_and_lossy() {
	local i p
	for p in 1 2; do
		netem a $p delay 20ms 4ms loss 1% rate ${RATE}kbit limit 100000
		netem b $p delay 20ms 4ms loss 1% rate ${RATE}kbit limit 100000
	done
	ctr_mark
	verify_start -t 200 --mtu $MTU --duration 1000 --size 4097,65536 --depth 32 \
		--op mixed --timeout 18 --mpr 8,1,32,2,1,16,3
	moves mrcb 300
	for ((i = 0; i < 40; i++)); do
		next_range server
		moves mrcb 40
	done
	shaped
	verify_stop
	ctr_quiet 20
	ctr_take
	never_outside mrca mrcb
	expect mrca tx_rtx_pkts '>' 10
	expect mrca mpr_changes '>=' 20
	echo "figure: of 40 ranges, $(ctr mrca mpr_changes) changes adopted," \
		"$(ctr mrca tx_rtx_pkts) of $(ctr mrca tx_data_pkts) packets sent again"
}

# A queue pair whose program names no range has its device's, and keeps it.
of_the_device() {
	local h
	for h in a b; do
		mrcctl -d mrc$h dev set mpr 2
	done
	shaped
	ctr_mark
	verify_start -t 200 --mtu $MTU --duration 1000 --size 65536 --depth 64 --timeout 20
	moves mrcb 200
	window_is a 2 || fail "not the range of the device"
	wait_for 30 inflight_above a 1
	for h in a b; do
		mrcctl -d mrc$h dev set mpr 8
	done
	moves mrcb 300
	inflight_fits a 2 || {
		cat "$WORK/qp.a"
		fail "more in flight than the first range allows"
	}
	window_is a 2 || fail "the range did not stay"
	verify_stop
	ctr_quiet 20
	ctr_take
	nothing_lost mrca mrcb
}

# Waits until the queue pairs of a failed subtest are gone.
sub() {
	subtest "$@"
	wait_for 30 no_qps >/dev/null || true
	mrcctl -d mrca dev set mpr 8
	mrcctl -d mrcb dev set mpr 8
}

topo 2
sub "the sender follows every step" every_step
sub "the sender follows every step, IPv6, other direction" every_step -6 -r
sub "the range of the device" of_the_device
sub "ranges that change all the time, both directions" restless
sub "ranges that change all the time, with loss and reordering" restless_and_lossy
tap_end
