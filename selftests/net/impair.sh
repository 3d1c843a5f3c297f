#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Loss, reordering and duplication made by netem: every byte is verified, and the
# counters show what happened. Reordering alone must not cause a single retransmission
# as long as it stays below the loss threshold (1.5 windows of packets; a window is 64
# packets of 4096 bytes here).
# timeout: 900
# races
. "$(dirname "$0")/lib.sh"

SIZES=1,4097,65536,1048577

# At most 80 packets of 4096 bytes between the oldest unfinished message and the
# newest one. So no packet can be overtaken by as many packets as the loss threshold
# (96), whatever the network or a busy machine does to the order.
# shellcheck disable=SC2054 # the commas belong to the option
BELOW_THRESHOLD=(--size 1,4097,65536 --depth 5 --iters 240 --timeout 18)

traffic() { # mrc_verify OPTIONS...
	ctr_mark
	verify "$@" --op mixed
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrcb rx_data_pkts '>' 0
}

packets_new() { # packets sent for the first time
	echo $(($(ctr mrca tx_data_pkts) - $(ctr mrca tx_rtx_pkts)))
}

loss() { # [-6] PERCENT HOSTS
	local family=()
	[ "$1" != -6 ] || { family=(-6) && shift; }
	impair_all "$2" loss "$1%"
	traffic ${family[@]+"${family[@]}"} --size "$SIZES" --iters 80
	expect mrca tx_rtx_pkts '>' 0
	# Each packet is accepted once, however often it was retransmitted.
	expect mrcb rx_data_pkts == "$(packets_new)"
	# Packets declared lost were retransmitted, and few others.
	check "$(ctr mrca tx_rtx_pkts)" '<=' \
		$(($(ctr mrca loss_inferred) + $(ctr mrca loss_probe) +
			$(ctr mrca loss_timeout) + $(ctr mrca loss_nack) +
			$(ctr mrca rtx_last_psn))) "retransmissions against causes"
	echo "figure: loss $1 % on $2: $(ctr mrca tx_data_pkts) sent," \
		"$(ctr mrca tx_rtx_pkts) again, $(ctr mrcb rx_duplicate) duplicates"
}

reorder_only() { # [-6] OPTIONS...
	local c
	impair_all a delay 8ms reorder 25% 50%
	traffic "$@" "${BELOW_THRESHOLD[@]}"
	expect mrcb rx_out_of_order '>' 0
	for c in tx_rtx_pkts rtx_spurious loss_inferred loss_probe loss_timeout \
		loss_nack retry_timeouts; do
		expect mrca "$c" == 0
	done
	expect mrcb rx_duplicate == 0
	expect mrcb rx_data_pkts == "$(ctr mrca tx_data_pkts)"
	echo "figure: reordering: $(ctr mrcb rx_out_of_order) of" \
		"$(ctr mrcb rx_data_pkts) packets out of order, 0 sent again"
}

unequal_planes() {
	local i
	for i in $(seq "$PLANES"); do
		netem a "$i" delay "$((i * 5))ms"
	done
	traffic "${BELOW_THRESHOLD[@]}"
	expect mrcb rx_out_of_order '>' 0
	expect mrca tx_rtx_pkts == 0
	expect mrcb rx_duplicate == 0
}

PAUSE=10	# ms, of the machine

# Runs traffic and expects no packet sent again: nothing was lost. Where the machine
# paused, feedback was late: a tail probe may have been sent, or the newest packet again.
traffic_once() { # OPTIONS...
	pauses_begin longest
	traffic "$@"
	pauses_end
	if [ "$pause" -lt "$PAUSE" ]; then
		expect mrca tx_rtx_pkts == 0
	else
		echo "figure: longest pause $pause ms, $(ctr mrca tx_rtx_pkts) packets again"
		expect mrca tx_rtx_pkts == $(($(ctr mrca loss_probe) + $(ctr mrca rtx_last_psn)))
	fi
}

duplicates() { # [-6]
	local dup
	impair_all a duplicate 5%
	traffic_once "$@" "${BELOW_THRESHOLD[@]}"
	expect mrcb rx_duplicate '>' 0
	expect mrcb rx_data_pkts == $(($(ctr mrca tx_data_pkts) - $(ctr mrca tx_rtx_pkts)))
	dup=$(ctr mrcb rx_duplicate)
	check "$dup" '>=' $(($(ctr mrca tx_data_pkts) * 2 / 100)) "duplicates of 5 %"
	check "$dup" '<=' $(($(ctr mrca tx_data_pkts) * 9 / 100)) "duplicates of 5 %"
}

duplicated_feedback() {
	impair_all b duplicate 5%
	traffic_once "${BELOW_THRESHOLD[@]}"
	expect mrcb rx_duplicate == "$(ctr mrca tx_rtx_pkts)"
	check "$(ctr mrca rx_sack)" '>' "$(ctr mrcb tx_sack)" "SACKs received"
}

corruption() {
	impair_all a corrupt 2%
	traffic --size "$SIZES" --iters 60
	# A packet with a flipped bit in the IP or UDP header is dropped before the
	# ICRC check.
	expect mrcb rx_drop_icrc '>' 0
	expect mrca tx_rtx_pkts '>' 0
}

everything() {
	impair_all ab delay 3ms 2ms loss 1% duplicate 2% reorder 10% 25%
	traffic --size "$SIZES" --iters 60 --bidir
	expect mrca tx_rtx_pkts '>' 0
}

# Queues that several queue pairs fill delay every packet by many times the base RTT,
# and by a different time on each plane. No packet is lost.
shared_queues() {
	local i
	for i in $(seq "$PLANES"); do
		shape a "$i" 16000
	done
	STEADY_TIMEOUT=21 steady_bw -q 3
	measure 6
	steady_bw_end
	echo "figure: 3 QPs share queues: $(ctr mrca tx_data_pkts) sent," \
		"$(ctr mrca tx_rtx_pkts) again"
	expect mrca tx_data_pkts '>' 1000
	check $(($(ctr mrca tx_rtx_pkts) * 100)) '<=' "$(ctr mrca tx_data_pkts)" \
		"100 x sent again"
	expect mrca retry_timeouts == 0
}

case_() { # NAME COMMAND...
	subtest "$@"
	unimpair_all
}

topo 1
case_ "1 plane: 1 % loss of data" loss 1 a
case_ "1 plane: reordering 25 %: nothing sent again" reorder_only
topo 4
case_ "4 planes: 1 % loss of data" loss 1 a
case_ "4 planes: 1 % loss of data, IPv6" loss -6 1 a
case_ "4 planes: 1 % loss in both directions" loss 1 ab
case_ "4 planes: 10 % loss in both directions" loss 10 ab
case_ "4 planes: reordering 25 %: nothing sent again" reorder_only
case_ "4 planes: reordering 25 %, IPv6: nothing sent again" reorder_only -6
case_ "4 planes of 5, 10, 15 and 20 ms: nothing sent again" unequal_planes
case_ "4 planes: queues shared by 3 queue pairs: nothing lost" shared_queues
case_ "4 planes: 5 % duplicated data" duplicates
case_ "4 planes: 5 % duplicated data, IPv6" duplicates -6
case_ "4 planes: 5 % duplicated feedback" duplicated_feedback
case_ "4 planes: corrupted packets are refused by the ICRC" corruption
case_ "4 planes: loss, delay, duplication, both directions" everything
tap_end
