#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Datagrams and their users: UD queue pairs, multicast, QP1 with the connection
# manager. They are plain RoCE v2, so the other side may be another driver: here it is
# rxe, if the kernel supports it in network namespaces.
# timeout: 600
# races
. "$(dirname "$0")/lib.sh"

# Conditions that tell when a server is ready, each for one host.
tcp() { listening "$1" 18515; }
cm() { ip netns exec "$1" rdma resource show cm_id | grep -q LISTEN; }
# The host's kernel counts each queue pair twice: the connection manager joins the
# group, and the device joins when the queue pair is attached.
member() { # NETNS GROUP QUEUE-PAIRS
	ip netns exec "$1" ip maddr show | grep -q -E " ${2//./\\.} users $((2 * $3))\$"
}

# serve NETNS CONDITION COMMAND...: starts COMMAND in the background and waits until
# it is ready.
serve() {
	local ns=$1 ready=$2
	shift 2
	start "$WORK/server" ip netns exec "$ns" timeout 90 "$@"
	wait_for 30 "$ready" "$ns" || fail "$*: $(tail -n 5 "$WORK/server")"
}

# both CONDITION SERVER... -- CLIENT...: runs two programs that must succeed.
both() {
	local server=() pid rc=0 ready=$1
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	serve "$HOST_B" "$ready" "${server[@]}"
	pid=$started
	in_a timeout 90 "$@" >"$WORK/client" 2>&1 || rc=$?
	[ "$rc" = 0 ] || fail "$* ended with $rc: $(tail -n 5 "$WORK/client" "$WORK/server")"
	finished "$pid" 30 || fail "${server[*]} ended with $?: $(tail -n 5 "$WORK/server")"
}

clean() {
	ctr_take
	local dev
	for dev in mrca mrcb; do
		for name in rx_drop_icrc rx_drop_qkey rx_drop_short rx_drop_length \
			rx_drop_pkey tx_errors qp_errors cq_overflow; do
			expect $dev $name == 0
		done
	done
}

pingpong() { # PLANE 4|6 SIZE OPTIONS...
	local i=$1 f=$2 size=$3
	shift 3
	ctr_mark
	both tcp ibv_ud_pingpong -d mrcb -i "$i" -g "$(gid_index mrcb "$i" "$(own b "$f")")" \
		-n 200 -s "$size" "$@" -- \
		ibv_ud_pingpong -d mrca -i "$i" -g "$(gid_index mrca "$i" "$(own a "$f")")" \
		-n 200 -s "$size" "$@" "$MGMT_B"
	clean
	expect "mrca/$i" tx_ud_pkts == 200
	expect "mrca/$i" rx_ud_pkts == 200
	expect "mrcb/$i" tx_ud_pkts == 200
	expect mrca tx_data_pkts == 0
}

send_lat() { # 4|6
	ctr_mark
	both tcp ib_send_lat -F -c UD -d mrcb -i 1 -x "$(gid_index mrcb 1 "$(own b "$1")")" -n 200 -s 512 -- \
		ib_send_lat -F -c UD -d mrca -i 1 -x "$(gid_index mrca 1 "$(own a "$1")")" -n 200 -s 512 \
		"$MGMT_B"
	clean
}

# To its own address: client and server use the same device.
loopback() { # 4|6
	local g
	g=$(gid_index mrca 1 "$(own a "$1")")
	ctr_mark
	serve "$HOST_A" tcp ibv_ud_pingpong -d mrca -i 1 -g "$g" -n 100
	in_a timeout 60 ibv_ud_pingpong -d mrca -i 1 -g "$g" -n 100 127.0.0.1
	finished "$started" 20
	clean
	expect mrca rx_ud_pkts == 200
}

udaddy_run() { # ADDRESS OPTIONS...
	local addr=$1
	shift
	ctr_mark
	both cm udaddy -b "$addr" "$@" -- udaddy -s "$addr" "$@"
	clean
	# Both ends also exchanged datagrams through QP1.
	expect mrca tx_ud_pkts '>' 0
}

# The other host connects.
udaddy_back() { # ADDRESS
	ctr_mark
	serve "$HOST_A" cm udaddy -b "$1"
	in_b timeout 60 udaddy -s "$1"
	finished "$started" 20
	clean
}

cm_connect() {
	ctr_mark
	both cm cmtime -b "$B4" -c 20 -- cmtime -s "$B4" -c 20
	clean
}

# Connections only: no message is sent.
cm_connect6() {
	ctr_mark
	both cm ucmatose -f ip6 -C 0 -c 10 -b "$B6" -- ucmatose -f ip6 -C 0 -c 10 -s "$B6"
	clean
}

cm_refused() { # ADDRESS: nobody listens
	refuse 'REJECTED|UNREACHABLE' in_a timeout 60 udaddy -s "$1"
}

in_group() { member "$1" 239.1.2.3 1; }

multicast() { # 239.1.2.3
	ctr_mark
	both in_group mckey -m "$1" -b "$B4" -C 10 -- mckey -m "$1" -b "$A4" -s -C 10
	ctr_take
	expect mrcb rx_ud_pkts == 10
	expect mrca tx_ud_pkts == 10
	# The sender receives its own packets, at a QP without receives.
	expect mrca rx_ud_no_receive == 10
}

all_joined() {
	member "$HOST_B" 239.9.9.9 2 && member "$HOST_B" 239.9.9.8 1
}

# Two receivers on one host, while members of another group receive nothing.
multicast_many() {
	local pid1 pid2 pid3
	start "$WORK/one" ip netns exec "$HOST_B" timeout 60 mckey -m 239.9.9.9 -b "$B4" -C 10
	pid1=$started
	start "$WORK/two" ip netns exec "$HOST_B" timeout 60 mckey -m 239.9.9.9 -b "$B4" -C 10
	pid2=$started
	start "$WORK/other" ip netns exec "$HOST_B" timeout 60 mckey -m 239.9.9.8 -b "$B4" -C 10
	pid3=$started
	wait_for 30 all_joined
	in_a timeout 60 mckey -m 239.9.9.9 -b "$A4" -s -C 10
	finished "$pid1" 20 || fail "$(cat "$WORK/one")"
	finished "$pid2" 20 || fail "$(cat "$WORK/two")"
	process_gone "$pid3" && fail "another group got something: $(cat "$WORK/other")"
	kill "$pid3"
	finished "$pid3" 10 || true
	! in_b ip maddr show | grep -q 239.9.9 || fail "still a member: $(in_b ip maddr show)"
}

on_planes_2_and_3() {
	local i
	for i in 2 3; do
		in_b ip maddr show dev "pb$i" | grep -q ' 239.5.5.5 users 2$' || return 1
	done
}

# A queue pair joins a group on its own port. What arrives through another port is not
# for it, although its device receives the group there for somebody else. An address
# that only one netdev has tells which port the connection manager takes.
multicast_ports() {
	local second third
	in_a ip addr add 10.2.0.1/24 dev pa2
	in_b ip addr add 10.2.0.2/24 dev pb2
	in_b ip addr add 10.3.0.2/24 dev pb3
	wait_for 30 gid_index mrca 2 10.2.0.1
	wait_for 30 gid_index mrcb 2 10.2.0.2
	wait_for 30 gid_index mrcb 3 10.3.0.2
	start "$WORK/second" ip netns exec "$HOST_B" timeout 60 mckey -m 239.5.5.5 -b 10.2.0.2 -C 10
	second=$started
	start "$WORK/third" ip netns exec "$HOST_B" timeout 60 mckey -m 239.5.5.5 -b 10.3.0.2 -C 10
	third=$started
	wait_for 30 on_planes_2_and_3 || fail "$(in_b ip maddr show)"
	ctr_mark
	in_a timeout 60 mckey -m 239.5.5.5 -b 10.2.0.1 -s -C 10
	finished "$second" 20 || fail "$(cat "$WORK/second")"
	process_gone "$third" && fail "the other port got something: $(cat "$WORK/third")"
	ctr_take
	expect mrcb/2 rx_ud_pkts == 10
	expect mrcb rx_ud_pkts == 10
	kill "$third"
	finished "$third" 10 || true
	in_a ip addr del 10.2.0.1/24 dev pa2
	in_b ip addr del 10.2.0.2/24 dev pb2
	in_b ip addr del 10.3.0.2/24 dev pb3
}

nothing_left() {
	local left
	left=$(rdma resource show qp | grep -v 'type GSI' | grep 'link mrc' || true)
	[ -z "$left" ] || fail "$left"
	left=$(rdma resource show qp | grep -c 'link mrc.*type GSI')
	check "$left" == $((2 * PLANES)) "QP1s"
}

in_sevens() { member "$1" 239.7.7.7 1; }

# QP1 and groups come back with a port that was down.
port_returns() {
	serve "$HOST_B" in_sevens mckey -m 239.7.7.7 -b "$B4" -C 10
	in_b ip link set pb1 down
	in_b ip link set pb1 up
	plane_routes 1
	# The port of the other host was down as well.
	plane_ready 1
	kill "$started"
	finished "$started" 10 || true
	udaddy_run "$B4"
	in_a rdma link del mrca
	wait_for 30 no_device mrca
	for i in $(seq "$PLANES"); do
		link_add a "$i"
	done
	wait_for 30 port_is mrca 1 ACTIVE
	wait_for 30 gid_index mrca 1 "$A4"
	udaddy_run "$B4"
	nothing_left
}
no_device() { [ ! -e "/sys/class/infiniband/$1" ]; }

rxe_peer() {
	modprobe rdma_rxe || skip "no rdma_rxe in this kernel"
	rdma link del mrcb
	wait_for 30 no_device mrcb
	# rdma_cm uses the netdev that the kernel finds first for the address.
	for i in $(seq 2 "$PLANES"); do
		in_b ip addr del "$B4/32" dev "pb$i"
	done
	in_b rdma link add rxeb type rxe netdev pb1 || skip "rxe cannot be made here"
	wait_for 30 port_is rxeb 1 ACTIVE
	wait_for 30 gid_index rxeb 1 "$B4"
	wait_for 30 gid_index rxeb 1 "$B6"
	in_b ss -lun | grep -q ':4791 ' || {
		rdma link del rxeb
		skip "this rxe knows the initial namespace only"
	}
}

rxe_pingpong() { # 4|6
	[ -e /sys/class/infiniband/rxeb ] || skip "no rxe"
	ctr_mark
	both tcp ibv_ud_pingpong -d rxeb -g "$(gid_index rxeb 1 "$(own b "$1")")" -n 100 -s 777 -- \
		ibv_ud_pingpong -d mrca -i 1 -g "$(gid_index mrca 1 "$(own a "$1")")" -n 100 -s 777 \
		"$MGMT_B"
	ctr_take
	expect mrca rx_ud_pkts == 100
	expect mrca rx_drop_icrc == 0
}

rxe_cm() { # ADDRESS-OF-B ADDRESS-OF-A
	[ -e /sys/class/infiniband/rxeb ] || skip "no rxe"
	both cm udaddy -b "$1" -- udaddy -s "$1"
	serve "$HOST_A" cm udaddy -b "$2"
	in_b timeout 60 udaddy -s "$2"
	finished "$started" 20
}

for tool in ibv_ud_pingpong ib_send_lat udaddy ucmatose mckey cmtime; do
	command -v $tool >/dev/null || tap_skip_all "no $tool"
done
modprobe rdma_ucm || tap_skip_all "no rdma_ucm in this kernel"

topo 4
by_hand "hand-made datagrams" "" 44 ud_hostile.py
subtest "ibv_ud_pingpong, IPv4" pingpong 1 4 1024
subtest "ibv_ud_pingpong, IPv6, third plane, odd length" pingpong 3 6 1021
subtest "ibv_ud_pingpong, full MTU, events" pingpong 2 4 4096 -e
subtest "ibv_ud_pingpong, empty" pingpong 4 6 0
subtest "ib_send_lat over UD, IPv4" send_lat 4
subtest "ib_send_lat over UD, IPv6" send_lat 6
subtest "to the own address, IPv4" loopback 4
subtest "to the own address, IPv6" loopback 6
subtest "rdma_cm, datagrams, IPv4" udaddy_run "$B4" -C 50
subtest "rdma_cm, datagrams, IPv6" udaddy_run "$B6" -C 50
subtest "rdma_cm the other way, IPv4" udaddy_back "$A4"
subtest "rdma_cm the other way, IPv6" udaddy_back "$A6"
subtest "rdma_cm connects RC, IPv4" cm_connect
subtest "rdma_cm connects RC, IPv6" cm_connect6
subtest "rdma_cm: nobody listens" cm_refused "$B4"
subtest "multicast" multicast 239.1.2.3
subtest "multicast: two members, another group" multicast_many
subtest "multicast: members on two ports" multicast_ports
subtest "nothing is left" nothing_left
subtest "ports and devices come and go" port_returns
subtest "rxe takes the place of host B" rxe_peer
subtest "ibv_ud_pingpong with rxe, IPv4" rxe_pingpong 4
subtest "ibv_ud_pingpong with rxe, IPv6" rxe_pingpong 6
subtest "rdma_cm with rxe, both ways, IPv4" rxe_cm "$B4" "$A4"
subtest "rdma_cm with rxe, both ways, IPv6" rxe_cm "$B6" "$A6"
rdma link del rxeb 2>/dev/null || true
tap_end
