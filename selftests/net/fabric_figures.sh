#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Figures of the SRv6 fabric. All links are shaped; one QP runs between hosts on
# different leaves. Measured are the goodput, the longest time without delivery when a
# link of a spine is cut, and the goodput with random loss, compared with TCP and rxe.
# Absolute figures mean nothing under emulation. The script chooses a rate that fits
# the machine and checks ratios within the run, with a margin for a busy machine.
# timeout: 1500
# benchmark
# kmsg-ok: rdma_rxe|rxe
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_rxe.sh"

RATE=${RATE:-12000}		# kbit/s of a link
LOSSES=${LOSSES:-0 0.1 0.5 1 2 5}	# percent, in both directions
declare -A WANTED=([0]=100 [0.1]=98 [0.5]=97 [1]=95 [2]=92 [5]=85)

shape_fabric() {
	local link
	for link in $(fabric_links); do
		link_set "$link" rate "$RATE" limit 1m
	done
}

# Host 3 has received as many bytes as both planes carry in a second.
under_way() { # SINCE
	[ "$(ctr_now mrc3 rx_data_bytes)" -ge $(($1 + RATE * 125 * FAB_PLANES)) ]
}

settled() {
	wait_for 60 under_way "$(ctr_now mrc3 rx_data_bytes)"
}

# Starts ib_write_bw from host 1 to host 3. steady_bw_end stops it.
bulk() {
	perftest_between h1 mrc1 "$(host6 1)" h3 mrc3 "$(host6 3)" "$(mgmt4 3)" \
		ib_write_bw -s 65536 -t 64 -D 1000 -u 17
	settled
}

lossless() {
	local sum=$((RATE * FAB_PLANES))
	bulk
	measure 7 mrc3
	steady_bw_end
	echo "figure: two planes of $(mbit "$RATE") Mbit/s, one QP, 64 KiB: $(mbit "$measured") Mbit/s" \
		"= $(percent "$measured" $sum) % of their sum, $(ctr mrc1 tx_rtx_pkts) sent again"
	check $((measured * 100)) '>=' $((sum * 80)) "kbit/s against 80 % of the planes' sum"
	expect mrc1 retry_exceeded == 0
}

srtt_ns() {
	rdma -dd resource show qp link mrc1 | sed -n 's/.*drv_srtt_ns \([0-9]*\).*/\1/p' | head -n 1
}

# The longest time between two data packets in a capture, in microseconds, and the
# number of data packets.
longest_silence() { # PCAP...
	for f in "$@"; do
		tcpdump -n -tt -r "$f" 2>/dev/null
	done | awk '{ print $1 }' | sort -n | awk '
		NR > 1 && $1 - last > gap { gap = $1 - last }
		{ last = $1 }
		END { printf "%d %d\n", gap * 1000000, NR }'
}

# Captures what host 3 receives. Data packets are the long ones.
capture_start() {
	local p
	capture_pids=()
	for ((p = 1; p <= FAB_PLANES; p++)); do
		rm -f "$WORK/cap.$p"
		start "$WORK/cap.log.$p" ip netns exec h3 tcpdump -i "p$p" -Q in -s 64 -U -w "$WORK/cap.$p" greater 1000
		capture_pids+=("$started")
	done
	for ((p = 1; p <= FAB_PLANES; p++)); do
		wait_for 30 grep -q 'listening on' "$WORK/cap.log.$p"
	done
}

capture_stop() {
	kill "${capture_pids[@]}"
	wait "${capture_pids[@]}" || true
}

# Runs BREAK during traffic and measures the interruption of deliveries.
gap() { # WHAT COMMAND...
	local what=$1 rtt silence packets program
	shift
	# A message is one packet, so that the program sees each packet at once.
	flow 1 1 3 --duration 1000 --size 4096 --depth 128 --timeout 17
	settled
	rtt=$(srtt_ns)
	capture_start
	settled
	"$@"
	settled
	settled
	capture_stop
	flow_stop 1
	read -r silence packets <<<"$(longest_silence "$WORK"/cap.[0-9])"
	check "$packets" '>' 300 "packets captured"
	check "$rtt" '>' 0 "smoothed RTT in ns"
	program=$(sed -n 's/^mrc_verify: OK.* max_gap_ms=\([0-9.]*\).*/\1/p' "$WORK/server.1")
	echo "figure: $what: longest time without a data packet" \
		"$(awk -v s="$silence" -v r="$rtt" 'BEGIN { printf "%.1f ms = %.1f RTTs of %.1f ms", s / 1e3, s * 1e3 / r, r / 1e6 }');" \
		"without a message for the program, in order: $program ms"
	keep "silence_$1" "$silence"
	check "$silence" '<' 1000000 "us without a packet"
}

cut_spine_link() {
	gap "link from leaf 1 to spine 1 of plane 1 cut" link_cut p1l1:s1
	link_heal p1l1:s1
}

swallowing() {
	gap "the same link swallows everything" link_set p1l1:s1 loss 100
	link_set p1l1:s1 off rate "$RATE" limit 1m
}

lossy_fabric() { # PERCENT
	local p link
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for link in "p${p}l1:h1" "p${p}l2:h3"; do
			link_set "$link" off rate "$RATE" limit 1m
			[ "$1" = 0 ] || link_set "$link" loss "$1"
		done
	done
}

mrc_by_loss() {
	local loss share
	for loss in $LOSSES; do
		lossy_fabric "$loss"
		bulk
		measure 9 mrc3
		steady_bw_end
		keep "mrc_$loss" "$measured"
		share=$(percent "$measured" "$(result mrc_0)")
		keep "mrc_share_$loss" "$share"
		echo "figure: mrc, loss $loss %: $(mbit "$measured") Mbit/s = $share % of lossless" \
			"(aim ${WANTED[$loss]:-none}); $(ctr mrc1 tx_rtx_pkts) of $(ctr mrc1 tx_data_pkts) sent again," \
			"$(ctr mrc1 ev_to_assumed_bad) times an EV assumed bad"
		check $((measured * 100)) '>=' $(($(result mrc_0) * 60)) "kbit/s against 60 % of lossless"
	done
	lossy_fabric 0
}

offloads_off() { # HOST
	on "h$1" ethtool -K p1 tso off gso off gro off >/dev/null
}

tcp_by_loss() {
	local loss rate
	offloads_off 1
	offloads_off 3
	for loss in $LOSSES; do
		lossy_fabric "$loss"
		start "$WORK/server" ip netns exec h3 iperf3 -6 -s -1 -B "$(host6 3)"
		tcp_server=$started
		wait_for 30 listens h3 5201
		on h1 iperf3 -6 -c "$(host6 3)" -B "$(host6 1)" -t 9 -O 2 -f k >"$WORK/client" || {
			cat "$WORK/client"
			fail iperf3
		}
		finished "$tcp_server" 20 || true
		rate=$(awk '/receiver/ { for (i = 1; i < NF; i++) if ($(i + 1) == "Kbits/sec") print int($i) }' "$WORK/client")
		check "$rate" '>' 0 "kbit/s of TCP"
		keep "tcp_$loss" "$rate"
		echo "figure: TCP, one plane, offloads off, loss $loss %: $(mbit "$rate") Mbit/s" \
			"= $(percent "$rate" "$(result tcp_0)") % of lossless"
	done
	lossy_fabric 0
}

listens() { on "$1" ss -Hltn "sport = :$2" | grep -q LISTEN; }

rxe_lossy() { # PERCENT
	local d
	for d in ra rb; do
		tc qdisc del dev $d root 2>/dev/null || true
		if [ "$1" = 0 ]; then
			tc qdisc add dev $d root tbf rate "${RATE}kbit" burst $((RATE * 8 + 10000)) limit 4m
		else
			tc qdisc add dev $d root handle 1: netem loss "$1%" limit 4000
			tc qdisc add dev $d parent 1:1 tbf rate "${RATE}kbit" burst $((RATE * 8 + 10000)) limit 4m
		fi
	done
}

rxe_by_loss() {
	local loss rate
	rxe_up
	for loss in $LOSSES; do
		rxe_lossy "$loss"
		rate=$(rxe_bw 7)
		keep "rxe_$loss" "$rate"
		echo "figure: rxe, one cable, loss $loss %: $(mbit "$rate") Mbit/s" \
			"= $(percent "$rate" "$(result rxe_0)") % of lossless$(sed 's/^/; /' "$WORK/rxe.error" 2>/dev/null | head -n 1)"
	done
	check "$(result rxe_0)" '>' 0 "kbit/s of rxe, lossless"
}

table() {
	local loss
	echo "figure: goodput by loss, in percent of lossless: loss mrc TCP rxe"
	for loss in $LOSSES; do
		echo "figure: $loss % $(percent "$(result "mrc_$loss")" "$(result mrc_0)")" \
			"$(percent "$(result "tcp_$loss")" "$(result tcp_0)")" \
			"$(percent "$(result "rxe_$loss")" "$(result rxe_0)")"
	done
	check "$(($(result mrc_1) * 100 / $(result mrc_0)))" '>' \
		"$(($(result rxe_1) * 100 / $(result rxe_0)))" "percent at 1 % loss, against rxe"
}

fabric srv6+ecmp
fabric_rdma 1 3
fabric_profiles 1 3
shape_fabric
subtest "goodput of one QP over two planes and two spines" lossless
subtest "a spine's link is cut" cut_spine_link
subtest "a spine's link swallows packets" swallowing
subtest "goodput by loss" mrc_by_loss
subtest "TCP beside it" tcp_by_loss
subtest "rxe beside it" rxe_by_loss
rxe_down
subtest "the table" table
tap_end
