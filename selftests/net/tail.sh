#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Lone messages that lose packets are repaired within some round trips, whatever the
# queue pair's timeout is. The timeout here is 17 s (22): a script that waited for it
# even now and then would not end in time. Late packets are not retransmitted. MRC 1.0
# §9.3, §9.5.
# timeout: 600
. "$(dirname "$0")/lib.sh"

MESSAGE=262144 # 64 packets

# Drops each Nth data packet that arrives for the first time, at both hosts. With N =
# 65 a different packet of each message of 64 packets is lost.
lose_each() { # N
	local h
	for h in a b; do
		ip netns exec "host$h" nft -f - <<-END
			table netdev tail {
				counter lost { }
				chain in {
					type filter hook ingress devices = { p${h}1, p${h}2, p${h}3, p${h}4 } priority 0;
					udp dport 4791 @th,64,8 0xc0-0xcf @th,128,8 & 0x20 == 0 numgen inc mod $1 == 0 counter name lost drop
				}
			}
		END
	done
}

lost_at() { nft_counter "host$1" netdev tail lost; } # HOST

lose_nothing() {
	in_a nft delete table netdev tail 2>/dev/null || true
	in_b nft delete table netdev tail 2>/dev/null || true
}

# No timer expired, and each host retransmitted what the other one lost. Every packet
# sent again arrives: it replaces a lost one, or the receiver has it already and counts a
# duplicate, or an ICRC that is wrong because the program has changed its buffer since. One
# may come when the queue pair is gone. One in ten may be needless. If the machine paused for
# some round trips, packets of some planes may have waited while others did not: then as
# many as were lost. A responder refuses a first READ until its answer channel exists: that
# request is retransmitted too, and is no loss.
repaired() {
	local h other lost most='' all=0 again=0 needless=0 gone=0
	for h in a b; do
		other=b
		[ $h = a ] || other=a
		lost=$(lost_at $other)
		expect mrc$h retry_timeouts == 0
		expect mrc$h qp_errors == 0
		check "$(ctr mrc$h tx_rtx_pkts)" '>=' "$lost" "packets of $h sent again against lost ones"
		all=$((all + lost))
		again=$((again + $(ctr mrc$h tx_rtx_pkts) - $(ctr mrc$h rx_nack_shortage)))
		needless=$((needless + $(ctr mrc$h rx_duplicate) + $(ctr mrc$h rx_drop_icrc)))
		gone=$((gone + $(ctr mrc$h rx_drop_unknown_qp) + $(ctr mrc$h rx_drop_qp_state)))
	done
	echo "figure: $all packets lost, $again sent again, longest pause $pause ms"
	check "$all" '>' 20 "packets lost"
	check "$again" '>=' $((all + needless)) "sent again, of $all lost, $needless needless"
	check "$again" '<=' $((all + needless + gone)) "sent again, of $all lost, $needless needless"
	[ "$pause" -ge 5 ] || most=$((all / 10 + 5))
	check "$needless" '<=' "${most:-$all}" "needless ones, of $all lost"
}

lone() { # TOOL SIZE ITERATIONS LOSE-EACH
	lose_each "$4"
	pauses_begin longest
	ctr_mark
	PERFTEST_LIMIT=200 perftest "$1" -s "$2" -n "$3" -u 22
	ctr_quiet 20
	ctr_take
	pauses_end
	repaired
	echo "figure: $1 -s $2, one packet of $4 lost: median and 99 %:" \
		"$(awk '$1 == "'"$2"'" { print $5, $8 }' "$WORK/client") us"
}

# Nothing is lost, but packets are late: the delays of the planes are as 1:2:3:4, or a
# quarter of the packets overtakes the others. Nothing is sent again. If the machine
# paused meanwhile for longer than all delays, packets of some planes may have waited for
# as long and others not: then some may be.
PAUSE=20	# ms
late() { # unequal|reordered
	local h i c
	for h in a b; do
		for i in 1 2 3 4; do
			case $1 in
			unequal) netem $h $i delay $((i * 4))ms ;;
			reordered) netem $h $i delay 8ms reorder 25% 50% ;;
			esac
		done
	done
	pauses_begin longest
	ctr_mark
	PERFTEST_LIMIT=200 perftest ib_write_lat -s $MESSAGE -n 40 -u 22
	ctr_quiet 20
	ctr_take
	pauses_end
	echo "figure: $(ctr mrca tx_rtx_pkts) and $(ctr mrcb tx_rtx_pkts) sent again," \
		"longest pause $pause ms"
	for h in a b; do
		if [ "$pause" -ge "$PAUSE" ]; then
			check $(($(ctr mrc$h tx_rtx_pkts) * 20)) '<=' "$(ctr mrc$h tx_data_pkts)" \
				"20 x sent again"
			continue
		fi
		for c in tx_rtx_pkts loss_inferred loss_probe loss_timeout rtx_last_psn; do
			expect mrc$h $c == 0
		done
	done
}

# A failed subtest must not make the others fail.
sub() {
	subtest "$@"
	lose_nothing
	unimpair_all
}

topo 4 4500 4
sub "a packet of each lone message, at every position" lone ib_write_lat $MESSAGE 130 65
sub "the same of READs" lone ib_read_lat $MESSAGE 130 65
sub "messages of one packet" lone ib_write_lat 64 400 9
sub "SENDs of five packets, each position" lone ib_send_lat 18000 150 6
sub "planes of very different length lose nothing" late unequal
sub "packets that others overtake are not lost" late reordered
tap_end
