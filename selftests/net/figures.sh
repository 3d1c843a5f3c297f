#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The main figures, all from one run: goodput over shaped planes, with a plane cut and
# restored, with loss, compared with rxe; memory. Absolute figures mean nothing under
# emulation. The script chooses rates that fit the machine and checks ratios within
# the run, with a margin for a busy machine.
# timeout: 900
# benchmark
# kmsg-ok: rdma_rxe|rxe
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_rxe.sh"

# at_least A PERCENT B WHAT
at_least() {
	check $((${1} * 100)) '>=' $(($3 * $2)) "$4: $1 of $3 kbit/s, in hundredths"
}

capacity() {
	steady_bw
	measure 3
	steady_bw_end
	keep capacity "$measured"
	keep rate "$(pick_rate "$measured" 4)"
	echo "figure: four planes unshaped: $(mbit "$measured") Mbit/s;" \
		"planes are shaped to $(mbit "$(result rate)") Mbit/s each"
}

shape_all() {
	local i
	for i in 1 2 3 4; do
		shape a "$i" "$(result rate)"
	done
}

four_planes() {
	local rate sum
	rate=$(result rate)
	sum=$((rate * 4))
	shape_all
	steady_bw
	sleep 1
	measure 7
	keep four "$measured"
	echo "figure: four shaped planes, one QP, 64 KiB: $(mbit "$measured") Mbit/s" \
		"= $(percent "$measured" $sum) % of their sum, $(ctr mrca tx_rtx_pkts) sent again"
	at_least "$measured" 50 $sum "four planes"

	# One plane is cut. The second after the cut is left out, because recovery
	# runs then.
	ip -n hosta link set pa3 down
	sleep 1
	measure 5
	keep three "$measured"
	echo "figure: one plane cut: $(mbit "$measured") Mbit/s" \
		"= $(percent "$measured" $((rate * 3))) % of the remaining sum"
	at_least "$measured" 50 $((rate * 3)) "three planes"
	expect mrca/3 tx_data_pkts == 0

	ip -n hosta link set pa3 up
	plane_routes 3
	shape a 3 "$rate"
	wait_for 30 port_is mrca 3 ACTIVE
	sleep 2
	measure 5
	echo "figure: plane restored: $(mbit "$measured") Mbit/s" \
		"= $(percent "$measured" $sum) % of the sum"
	at_least "$measured" 50 $sum "four planes again"
	steady_bw_end
}

many_qps() {
	local n rate sum
	rate=$(result rate)
	sum=$((rate * 4))
	shape_all
	for n in 2 3 8; do
		STEADY_TIMEOUT=21 steady_bw -q "$n"
		sleep 2
		measure 5
		steady_bw_end
		echo "figure: four shaped planes, $n QPs: $(mbit "$measured") Mbit/s" \
			"= $(percent "$measured" $sum) % of their sum," \
			"$(ctr mrca tx_rtx_pkts) of $(ctr mrca tx_data_pkts) sent again"
		at_least "$measured" 50 $sum "$n QPs"
	done
}

lossy() {
	local i rate four
	rate=$(result rate)
	four=$(result four)
	for i in 1 2 3 4; do
		shape a "$i" "$rate"
		ip netns exec hostb tc qdisc replace dev "pb$i" root netem loss 1%
		in_a tc qdisc del dev "pa$i" root
		in_a tc qdisc add dev "pa$i" root handle 1: tbf rate "${rate}kbit" \
			burst $((rate * 8 + 10000)) limit 4m
		in_a tc qdisc add dev "pa$i" parent 1:1 netem loss 1% limit 4000
	done
	steady_bw
	sleep 1
	measure 7
	steady_bw_end
	echo "figure: four shaped planes, 1 % loss both ways: $(mbit "$measured") Mbit/s" \
		"= $(percent "$measured" "$four") % of lossless;" \
		"$(ctr mrca tx_rtx_pkts) of $(ctr mrca tx_data_pkts) packets sent again"
	at_least "$measured" 50 "$four" "1 % loss"
}

one_plane() {
	steady_bw
	measure 5
	steady_bw_end
	keep mrc0 "$measured"
	netem a 1 loss 1%
	steady_bw
	measure 5
	steady_bw_end
	unimpair a 1
	keep mrc1 "$measured"
	echo "figure: mrc, one plane unshaped: lossless $(mbit "$(result mrc0)")," \
		"1 % loss $(mbit "$measured") Mbit/s = $(percent "$measured" "$(result mrc0)") %"
	# Here the processor is the limit, and recovery costs processor time.
	at_least "$measured" 10 "$(result mrc0)" "1 % loss on one plane"
}

rxe_beside() {
	local lossless lossy
	rxe_up
	lossless=$(rxe_bw 4)
	# rxe is only the reference for comparison; it is not tested here.
	[ "$lossless" != 0 ] || skip "rxe itself fails: $(head -n 1 "$WORK/rxe.error")"
	tc qdisc replace dev ra root netem loss 1%
	lossy=$(rxe_bw 5)
	echo "figure: rxe, one plane unshaped: lossless $(mbit "$lossless")," \
		"1 % loss $(mbit "$lossy") Mbit/s = $(percent "$lossy" "$lossless") %"
	echo "figure: mrc/rxe: lossless $(percent "$(result mrc0)" "$lossless") %," \
		"1 % loss $(percent "$(result mrc1)" "$lossy") %"
	check "$(result mrc1)" '>' "$lossy" "mrc against rxe at 1 % loss, kbit/s"
}

memory_kb() { # KEY of /proc/meminfo
	awk -v k="$1:" '$1 == k { print $2 }' /proc/meminfo
}

# Bytes in the caches that hold memory charged to programs, and in the driver's
# caches. For a QP this is the driver's memory without the rings.
charged() { awk '/^(kmalloc-cg-|mrc_)/ { sum += $2 * $4 } END { print sum + 0 }' /proc/slabinfo; }

# idle_memory DEPTH: the memory of an idle QP with queues of that depth, in bytes, in
# idle_own (the driver's state), idle_slab (all of the slab) and idle_rings.
idle_memory() {
	local n=400 depth=$1 go="$WORK/go.$1" said="$WORK/idle.$1" own slab vmalloc
	mkfifo "$go"
	start "$said" ip netns exec "$HOST_A" python3 "$NET_DIR/idle_qps.py" mrca \
		"$A4" "$B4" $n "$depth" "$go"
	wait_for 60 grep -q READY "$said"
	memory_settle
	own=$(charged) slab=$(memory_kb Slab) vmalloc=$(memory_kb VmallocUsed)
	echo go >"$go"
	wait_for 100 grep -q CONNECTED "$said"
	memory_settle
	idle_own=$((($(charged) - own) / n))
	idle_slab=$((($(memory_kb Slab) - slab) * 1024 / n))
	idle_rings=$((($(memory_kb VmallocUsed) - vmalloc) * 1024 / n))
	kill "$started"
	finished "$started" 20 || true
	echo "figure: idle QP in RTS, queues of $depth and $depth (mean of $n): $idle_own" \
		"bytes of state, rings $idle_rings; with what the core and memory" \
		"management keep for it, $idle_slab bytes of slab"
}

# The program chooses the depth of the rings. All other memory for a QP must fit into
# 4 KiB, except the trees and mappings that the kernel has for any object and any
# ring. The driver's own state may take 3 KiB, including 96 bytes for each of the two
# rings. The core's object and handle and the kernel's records of the rings take 900
# bytes. The whole slab also contains the core's table by QPN (two nodes of 600 bytes
# for each number), mappings of the rings in the kernel and in the program (500
# bytes), and unrelated allocations.
idle_qps() {
	local depth
	grep -q '^kmalloc-cg-' /proc/slabinfo ||
		skip "this kernel does not tell charged memory from other memory"
	grep -q '^mrc_qp ' /proc/slabinfo ||
		skip "this kernel has merged the cache of queue pairs with another one"
	for depth in 1 128; do
		idle_memory "$depth"
		check "$idle_own" '>' 2048 "bytes of state per idle QP, depth $depth"
		check "$idle_own" '<=' 3072 "bytes of state per idle QP, depth $depth"
		check "$idle_slab" '<=' 6656 "bytes of slab per idle QP, depth $depth"
		# One page each and all entries: 80 and 32 bytes.
		check "$idle_rings" '<=' $((2 * 4096 + depth * 112 + 512)) \
			"bytes of rings per idle QP, depth $depth"
	done
}

# A plane delays packets by a minute, so that it holds full windows of packets. When
# the plane drops them all, the memory that the slab frees is the memory of these
# packets.
in_flight() {
	local full packets qps=16
	ctr_mark			# while nothing is in flight
	STEADY_TIMEOUT=22 steady_bw -q "$qps"	# 17 s: no timeout during the test
	netem a 1 delay 60s limit 4000
	wait_for 30 ctr_still mrca tx_data_pkts 0.3	# windows are full
	ctr_take
	packets=$(($(ctr mrca tx_data_pkts) - $(ctr mrca tx_rtx_pkts) -
		$(ctr mrcb rx_data_pkts)))
	memory_settle
	full=$(memory_kb Slab)
	unimpair a 1
	netem a 1 loss 100%
	memory_settle
	full=$((full - $(memory_kb Slab)))
	steady_bw_end
	unimpair a 1
	check "$packets" '>' $((10 * qps)) "packets in flight"
	check "$packets" '<=' $((64 * qps)) "packets in flight against windows of 256 KiB"
	check "$full" '>' 0 "kB of slab for them"
	echo "figure: $packets packets of 4096 bytes in flight: $((full * 1024 / packets))" \
		"bytes of slab for each; payload is not copied"
}

topo 4
subtest "capacity of this machine" capacity
subtest "four shaped planes, one cut, restored" four_planes
topo 4
subtest "four shaped planes, several QPs" many_qps
topo 4
subtest "four shaped planes with 1 % loss" lossy
topo 1
subtest "one plane, lossless and with 1 % loss" one_plane
subtest "memory per packet in flight" in_flight
subtest "rxe beside it" rxe_beside
rxe_down
subtest "memory per idle QP" idle_qps
tap_end
