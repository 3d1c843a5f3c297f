#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Unreliable connections. They are plain RoCE v2, so the other side may be another
# driver: here it is rxe, if the kernel supports it in network namespaces. Packet loss
# may lose messages, whole ones, and must have no other effect.
# timeout: 600
# long
# races
. "$(dirname "$0")/lib.sh"

tcp() { listening "$1" 18515; }

# both NETNS SERVER... -- NETNS CLIENT...: runs two programs that must succeed.
both() {
	local sns=$1 server=() cns pid rc=0
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	cns=$2
	shift 2
	start "$WORK/server" ip netns exec "$sns" timeout 90 "${server[@]}"
	pid=$started
	wait_for 30 tcp "$sns" || fail "${server[*]}: $(tail -n 5 "$WORK/server")"
	ip netns exec "$cns" timeout 90 "$@" >"$WORK/client" 2>&1 || rc=$?
	[ "$rc" = 0 ] || fail "$* ended with $rc: $(tail -n 5 "$WORK/client" "$WORK/server")"
	finished "$pid" 30 || fail "${server[*]} ended with $?: $(tail -n 5 "$WORK/server")"
}

# No error was counted, and no packet of MRC was sent.
clean() {
	local dev name
	for dev in mrca mrcb; do
		[ -e "/sys/class/infiniband/$dev" ] || continue
		for name in rx_uc_broken rx_drop_uc_sequence rx_uc_no_receive rx_uc_access \
			rx_drop_icrc rx_drop_short rx_drop_length rx_drop_opcode rx_drop_address \
			rx_drop_qp_state rx_drop_unknown_qp tx_errors qp_errors cq_overflow \
			tx_data_pkts tx_sack tx_ack; do
			expect $dev $name == 0
		done
	done
}

pingpong() { # PLANE 4|6 SIZE MTU OPTIONS...
	local i=$1 f=$2 size=$3 mtu=$4 n=200 pkts
	shift 4
	pkts=$((n * (size ? (size + mtu - 1) / mtu : 1)))
	ctr_mark
	both "$HOST_B" ibv_uc_pingpong -d mrcb -i "$i" -g "$(gid_index mrcb "$i" "$(own b "$f")")" \
		-n $n -s "$size" -m "$mtu" "$@" -- \
		"$HOST_A" ibv_uc_pingpong -d mrca -i "$i" -g "$(gid_index mrca "$i" "$(own a "$f")")" \
		-n $n -s "$size" -m "$mtu" "$@" "$MGMT_B"
	ctr_take
	clean
	for dev in mrca mrcb; do
		expect "$dev/$i" tx_uc_pkts == $pkts
		expect "$dev/$i" rx_uc_pkts == $pkts
		expect "$dev/$i" rx_uc_msgs == $n
		expect "$dev" tx_uc_pkts == $pkts
	done
}

loopback() { # 4|6
	local g
	g=$(gid_index mrca 1 "$(own a "$1")")
	ctr_mark
	both "$HOST_A" ibv_uc_pingpong -d mrca -i 1 -g "$g" -n 100 -- \
		"$HOST_A" ibv_uc_pingpong -d mrca -i 1 -g "$g" -n 100 127.0.0.1
	ctr_take
	clean
	expect mrca rx_uc_msgs == 200
}

perf() { # 4|6 TOOL OPTIONS...
	local f=$1 tool=$2
	shift 2
	ctr_mark
	both "$HOST_B" "$tool" -F -c UC -d mrcb -i 1 -x "$(gid_index mrcb 1 "$(own b "$f")")" "$@" -- \
		"$HOST_A" "$tool" -F -c UC -d mrca -i 1 -x "$(gid_index mrca 1 "$(own a "$f")")" "$@" \
		"$MGMT_B"
	ctr_take
	clean
	expect mrca tx_uc_pkts '>' 0
}

traffic() { # 4|6 COUNT ARGUMENTS...
	local f=$1
	shift
	in_a timeout 120 python3 "$NET_DIR/uc_traffic.py" "$(own a "$f")" "$(own b "$f")" \
		"$(mac hostb pb1)" "$@" >"$WORK/traffic" 2>&1 || fail "$(tail -n 5 "$WORK/traffic")"
	read -r _ _ packets _ arrived _ <"$WORK/traffic"
	cat "$WORK/traffic"
}

every_byte() { # 4|6 ARGUMENTS...
	local f=$1
	shift
	ctr_mark
	traffic "$f" 300 "$@"
	ctr_take
	clean
	check "$arrived" == 300 "messages"
	expect mrca/1 tx_uc_pkts == "$packets"
	expect mrcb/1 rx_uc_pkts == "$packets"
	expect mrcb rx_uc_msgs == 300
}

# The receiver sees lost packets as gaps: some packets do not begin a message.
lossy() { # ''|disorder NETEM...
	local name lost how=$1
	shift
	ctr_mark
	in_a tc qdisc replace dev pa1 root netem "$@"
	traffic 4 400 ${how:+"$how"}
	in_a tc qdisc del dev pa1 root
	ctr_quiet
	ctr_take
	check "$arrived" '>' 0 "messages that arrived"
	check "$arrived" '<' 400 "messages that arrived"
	expect mrca tx_uc_pkts == "$packets"
	expect mrcb rx_uc_msgs == "$arrived"
	expect mrcb rx_drop_uc_sequence '>' 0
	expect mrcb rx_uc_broken '>' 0
	for name in rx_uc_no_receive rx_uc_access rx_drop_length rx_drop_icrc qp_errors; do
		expect mrcb $name == 0
	done
	expect mrca tx_errors == 0
	expect mrca qp_errors == 0
	lost=$((packets - $(ctr mrcb rx_uc_pkts) - $(ctr mrcb rx_drop_uc_sequence)))
	echo "packets that never came: $lost"
}

damaged() {
	ctr_mark
	in_a tc qdisc replace dev pa1 root netem corrupt 2%
	traffic 4 400
	in_a tc qdisc del dev pa1 root
	ctr_quiet
	ctr_take
	check "$arrived" '>' 0 "messages that arrived"
	check "$arrived" '<' 400 "messages that arrived"
	expect mrcb rx_uc_msgs == "$arrived"
	expect mrcb rx_drop_icrc '>' 0
	expect mrcb qp_errors == 0
}

# A connection stays on the plane of its port. When that port is down it takes another
# one. It returns a second after the port is up, when the driver searches for the
# route again (MRC_ROUTE_RETRY). Nothing is in flight meanwhile.
plane_down() { # 4|6
	local down up n=100
	route_commands a 1 46 >"$WORK/routes"
	down="ip link set pa1 down; until grep -q DOWN /sys/class/infiniband/mrca/ports/1/state; do sleep 0.1; done"
	up="ip link set pa1 up; until grep -q ACTIVE /sys/class/infiniband/mrca/ports/1/state; do sleep 0.1; done"
	up+="; ip -batch $WORK/routes; sleep 1.5"
	ctr_mark
	traffic "$1" $n "$down" "$up"
	ctr_take
	plane_routes 1
	clean
	check "$arrived" == $((3 * n)) "messages"
	expect mrca tx_uc_pkts == "$packets"
	expect mrcb rx_uc_msgs == $((3 * n))
	check "$(ctr mrca/2 tx_uc_pkts)" '>' $((n - 1)) "packets over the second plane"
	check "$(ctr mrca/1 tx_uc_pkts)" '>' $((2 * n - 1)) "packets over the first plane"
	expect mrca/3 tx_uc_pkts == 0
	expect mrca/4 tx_uc_pkts == 0
}

# MRC 1.0 has no such connections.
switched_off() {
	extension off a
	refuse 'create QP' in_a timeout 20 ibv_uc_pingpong -d mrca -g "$(gid_index mrca 1 "$A4")" -n 1
	extension on a
	pingpong 1 4 100 1024
}

shown() {
	local out nobody
	start "$WORK/server" ip netns exec "$HOST_A" timeout 60 ibv_uc_pingpong -d mrca \
		-g "$(gid_index mrca 1 "$A4")"
	wait_for 30 tcp "$HOST_A"
	out=$(rdma -dd resource show qp link mrca type UC)
	nobody=$("${as_nobody[@]}" \
		rdma -dd resource show qp link mrca type UC)
	kill "$started"
	finished "$started" 10 || true
	grep -q 'next_psn' <<<"$out" || fail "$out"
	grep -q 'plane' <<<"$out" || fail "$out"
	# PSNs are only shown to an administrator of the device.
	grep -q 'plane' <<<"$nobody" || fail "$nobody"
	! grep -q 'drv_.*_psn' <<<"$nobody" || fail "$nobody"
	grep -q 'sq-psn 0 ' <<<"$nobody" || fail "$nobody"
	grep -q 'rq-psn 0 ' <<<"$nobody" || fail "$nobody"
}

no_device() { [ ! -e "/sys/class/infiniband/$1" ]; }

rxe_peer() {
	modprobe rdma_rxe || skip "no rdma_rxe in this kernel"
	rdma link del mrcb
	wait_for 30 no_device mrcb
	in_b rdma link add rxeb type rxe netdev pb1 || skip "rxe cannot be made here"
	wait_for 30 port_is rxeb 1 ACTIVE
	wait_for 30 gid_index rxeb 1 "$B4"
	wait_for 30 gid_index rxeb 1 "$B6"
	in_b ss -lun | grep -q ':4791 ' || {
		rdma link del rxeb
		skip "this rxe knows the initial namespace only"
	}
}

rxe_there() { [ -e /sys/class/infiniband/rxeb ] || skip "no rxe"; }

rxe_pingpong() { # 4|6 a|b, the client
	local a b
	rxe_there
	a=(ibv_uc_pingpong -d mrca -i 1 -g "$(gid_index mrca 1 "$(own a "$1")")" -n 100 -s 3333 -m 1024)
	b=(ibv_uc_pingpong -d rxeb -i 1 -g "$(gid_index rxeb 1 "$(own b "$1")")" -n 100 -s 3333 -m 1024)
	ctr_mark
	if [ "$2" = a ]; then
		both "$HOST_B" "${b[@]}" -- "$HOST_A" "${a[@]}" "$MGMT_B"
	else
		both "$HOST_A" "${a[@]}" -- "$HOST_B" "${b[@]}" "$MGMT_A"
	fi
	ctr_take
	clean
	expect mrca rx_uc_pkts == 400
	expect mrca rx_uc_msgs == 100
	expect mrca tx_uc_pkts == 400
}

rxe_perf() { # a|b TOOL OPTIONS...
	local client=$1 tool=$2 a b
	rxe_there
	shift 2
	a=("$tool" -F -c UC -d mrca -x "$(gid_index mrca 1 "$A4")" -m 1024 "$@")
	b=("$tool" -F -c UC -d rxeb -x "$(gid_index rxeb 1 "$B4")" -m 1024 "$@")
	ctr_mark
	if [ "$client" = a ]; then
		both "$HOST_B" "${b[@]}" -- "$HOST_A" "${a[@]}" "$MGMT_B"
	else
		both "$HOST_A" "${a[@]}" -- "$HOST_B" "${b[@]}" "$MGMT_A"
	fi
	ctr_take
	clean
}

for tool in ibv_uc_pingpong ib_send_lat ib_write_bw python3; do
	command -v $tool >/dev/null || tap_skip_all "no $tool"
done

topo 4
by_hand "hand-made packets" "" 62 uc_hostile.py
subtest "ibv_uc_pingpong, IPv4" pingpong 1 4 4096 1024
subtest "ibv_uc_pingpong, IPv6, third plane, odd length" pingpong 3 6 3001 512
subtest "ibv_uc_pingpong, events, one byte" pingpong 2 4 1 1024 -e
subtest "ibv_uc_pingpong, empty" pingpong 4 6 0 256
subtest "to the own address, IPv4" loopback 4
subtest "to the own address, IPv6" loopback 6
subtest "ib_send_lat, IPv4" perf 4 ib_send_lat -n 200 -s 5000
subtest "ib_write_lat, IPv6" perf 6 ib_write_lat -n 200 -s 5000
subtest "ib_write_bw, IPv4" perf 4 ib_write_bw -n 200 -s 65536
subtest "every byte, IPv4" every_byte 4
subtest "every byte, IPv6, shared receive queue" every_byte 6 srq
subtest "loss" lossy '' loss 3%
subtest "loss and reordering" lossy disorder delay 2ms reorder 95% loss 2%
subtest "damage" damaged
subtest "another plane while its own is down, IPv4" plane_down 4
subtest "another plane while its own is down, IPv6" plane_down 6
subtest "what rdma shows" shown
subtest "none with the extension off" switched_off
subtest "rxe takes the place of host B" rxe_peer
subtest "ibv_uc_pingpong to rxe, IPv4" rxe_pingpong 4 a
subtest "ibv_uc_pingpong from rxe, IPv4" rxe_pingpong 4 b
subtest "ibv_uc_pingpong to rxe, IPv6" rxe_pingpong 6 a
subtest "ib_send_lat to rxe" rxe_perf a ib_send_lat -n 200 -s 5000
subtest "ib_send_lat from rxe" rxe_perf b ib_send_lat -n 200 -s 5000
subtest "ib_write_bw to rxe" rxe_perf a ib_write_bw -n 200 -s 16384
subtest "ib_write_bw from rxe" rxe_perf b ib_write_bw -n 200 -s 16384
rdma link del rxeb 2>/dev/null || true
tap_end
