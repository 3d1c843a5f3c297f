#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The figures that are worth knowing, all from one run: goodput over shaped
# planes, with a plane cut and restored, with loss; rxe beside it; memory.
# Under emulation absolute figures mean nothing, so rates are chosen to fit the
# machine, and what is asserted are ratios within the run, with room for a
# machine that is busy with other things.
# timeout: 900
# benchmark
# kmsg-ok: rdma_rxe|rxe
. "$(dirname "$0")/lib.sh"

RESULTS=$WORK/results
: >"$RESULTS"
keep() { echo "$1 $2" >>"$RESULTS"; }
result() { awk -v n="$1" '$1 == n { v = $2 } END { print v }' "$RESULTS"; }

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

	# One plane cut; the second after the cut belongs to the recovery.
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
	wait_for 10 port_is mrca 3 ACTIVE
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

# rxe of kernels before 7.x lives in the initial namespace only, and a VRF hides
# the netdev from it. So both of its ends are there, and policy routing sends
# what is meant for the own other address out through the cable.
rxe_up() {
	local d
	modprobe crc32_generic 2>/dev/null || true
	modprobe rdma_rxe || skip "no rdma_rxe in this kernel"
	ip link add name ra mtu 4500 type veth peer name rb mtu 4500
	for d in all ra rb; do
		sysctl -q -w "net.ipv4.conf.$d.rp_filter=0" \
			"net.ipv4.conf.$d.accept_local=1" "net.ipv4.conf.$d.arp_ignore=1"
	done
	ip addr add 198.51.100.1/32 dev ra
	ip addr add 198.51.100.2/32 dev rb
	ip link set ra up
	ip link set rb up
	ip route add 198.51.100.2 dev ra src 198.51.100.1 table 1001
	ip route add 198.51.100.1 dev rb src 198.51.100.2 table 1002
	ip rule add pref 10 iif ra lookup local
	ip rule add pref 11 iif rb lookup local
	ip rule add pref 20 to 198.51.100.2 lookup 1001
	ip rule add pref 21 to 198.51.100.1 lookup 1002
	ip rule add pref 30 lookup local
	ip rule del pref 0
	rdma link add rxea type rxe netdev ra
	rdma link add rxeb type rxe netdev rb
	wait_for 10 port_is rxea 1 ACTIVE
	wait_for 10 port_is rxeb 1 ACTIVE
	wait_for 10 gid_index rxea 1 198.51.100.1
	wait_for 10 gid_index rxeb 1 198.51.100.2
}

rxe_down() {
	local pref
	rdma link del rxea 2>/dev/null || true
	rdma link del rxeb 2>/dev/null || true
	if ip rule show pref 30 | grep -q local; then
		ip rule add pref 0 lookup local
		for pref in 10 11 20 21 30; do
			ip rule del pref "$pref"
		done
	fi
	ip link del ra 2>/dev/null || true
	wait_for 5 rmmod rdma_rxe >/dev/null 2>&1 || true
}

rxe_bw() { # prints kbit/s of payload
	start "$WORK/server" ib_write_bw -F -d rxeb -x "$(gid_index rxeb 1 198.51.100.2)" \
		-s 65536 -D "$1" -u 17
	rxe_server=$started
	wait_for 15 rxe_listens || fail "$(cat "$WORK/server")"
	start "$WORK/client" ib_write_bw -F -d rxea -x "$(gid_index rxea 1 198.51.100.1)" \
		-s 65536 -D "$1" -u 17 --report_gbits 127.0.0.1
	finished "$started" 40 || fail "$(tail -n 15 "$WORK/client")"
	finished "$rxe_server" 20 || true
	perftest_field 65536 4 | awk '{ printf "%d\n", $1 * 1000000 }'
}

rxe_listens() { ss -Hltn 'sport = :18515' | grep -q LISTEN; }

rxe_beside() {
	local lossless lossy
	rxe_up
	lossless=$(rxe_bw 4)
	check "$lossless" '>' 0 "rxe lossless"
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

idle_qps() {
	local n=400 slab vmalloc percpu
	mkfifo "$WORK/go"
	start "$WORK/idle" ip netns exec "$HOST_A" python3 "$NET_DIR/idle_qps.py" mrca "$A4" $n "$WORK/go"
	wait_for 60 grep -q READY "$WORK/idle"
	memory_settle
	slab=$(memory_kb Slab) vmalloc=$(memory_kb VmallocUsed) percpu=$(memory_kb Percpu)
	echo go >"$WORK/go"
	wait_for 100 grep -q CONNECTED "$WORK/idle"
	memory_settle
	slab=$(($(memory_kb Slab) - slab))
	vmalloc=$(($(memory_kb VmallocUsed) - vmalloc))
	percpu=$(($(memory_kb Percpu) - percpu))
	echo "figure: idle QP in RTS, queues of 128 and 128 (mean of $n):" \
		"slab $((slab * 1024 / n)) bytes, vmalloc (rings, tables)" \
		"$((vmalloc * 1024 / n)), per-CPU $((percpu * 1024 / n))"
	check $(((slab + vmalloc + percpu) / n)) '<=' 128 "kB per idle QP"
}

# Windows of packets parked in a plane that delays them by a minute; what the
# slab loses when the plane drops them all is theirs.
in_flight() {
	local full packets qps=16
	ctr_mark			# while nothing is on its way
	STEADY_TIMEOUT=22 steady_bw -q "$qps"	# 17 s: no timeout meanwhile
	netem a 1 delay 60s limit 4000
	wait_for 10 ctr_still mrca tx_data_pkts 0.3	# windows are full
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
