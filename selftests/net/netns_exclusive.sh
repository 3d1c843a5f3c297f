#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Devices that belong to one network namespace ("rdma system set netns exclusive"):
# who sees and opens them; rdma_cm; devices that move while programs have them open,
# with their netdevs and without; namespaces that end with a device inside; comparison
# with rxe.
# timeout: 900
# long
# kmsg-ok: rxe(t|_create_qp)
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netns.sh"

exclusive_seen() {
	expect_devices '' ""
	expect_devices "$HOST_A" mrca
	expect_devices "$HOST_B" mrcb
	expect_devices "$THIRD" ""
	refuse "wasn't found|not found|no ib device|no such" in_third ibv_devinfo -d mrca
	traffic 1 2
}

# The character device may exist, but opening it is refused.
exclusive_not_opened() {
	local dev
	dev=/dev/infiniband/$(in_a ls /sys/class/infiniband_verbs | grep uverbs | head -n 1)
	[ -e "$dev" ] || fail "no $dev"
	# shellcheck disable=SC2016 # expanded there
	refuse 'not permitted' in_b bash -c 'exec 3<>"$1"' - "$dev"
	# shellcheck disable=SC2016 # expanded there
	in_a bash -c 'exec 3<>"$1"' - "$dev"
}

# The same device name in two namespaces, if the kernel allows that.
same_name() {
	local refused=''
	ip -n "$HOST_A" link add spare0 type veth peer name spare1 netns "$HOST_B"
	ip -n "$HOST_A" link set spare0 up
	ip -n "$HOST_B" link set spare1 up
	in_a rdma link add mrcx type mrc netdev spare0
	in_b rdma link add mrcx type mrc netdev spare1 2>"$WORK/refused" || refused=1
	expect_devices "$HOST_A" "mrca mrcx"
	if [ -z "$refused" ]; then
		expect_devices "$HOST_B" "mrcb mrcx"
		links_are "$HOST_A" mrcx "1 ACTIVE spare0" || fail "$(links "$HOST_A" mrcx)"
		links_are "$HOST_B" mrcx "1 ACTIVE spare1" || fail "$(links "$HOST_B" mrcx)"
		# Commands affect the device of the caller's namespace: it gets
		# another port and is removed.
		ip -n "$HOST_B" link add spare2 type veth peer name spare3
		ip -n "$HOST_B" link set spare2 up
		ip -n "$HOST_B" link set spare3 up
		in_b rdma link add mrcx type mrc netdev spare2
		links_are "$HOST_A" mrcx "1 ACTIVE spare0" || fail "$(links "$HOST_A" mrcx)"
		links_are "$HOST_B" mrcx "1 ACTIVE spare1,2 ACTIVE spare2" ||
			fail "$(links "$HOST_B" mrcx)"
		in_b rdma link del mrcx
		ip -n "$HOST_B" link del spare2
		expect_devices "$HOST_A" "mrca mrcx"
	fi
	in_a rdma link del mrcx
	ip -n "$HOST_A" link del spare0
	expect_devices "$HOST_A" mrca
	expect_devices "$HOST_B" mrcb
	[ -z "$refused" ] ||
		skip "this kernel has one name space for all: $(cat "$WORK/refused")"
}

# Only the device moves. Its netdevs stay and carry its traffic. Programs lose the
# device at once, whatever they were doing.
moves_alone() {
	local watch rc=0
	rm -f "$WORK/watch"
	start "$WORK/watch" ip netns exec "$HOST_A" ibv_asyncwatch -d mrca
	watch=$started
	wait_for 30 grep -q 'async event FD' "$WORK/watch"
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	timeout 30 ip netns exec "$HOST_A" rdma dev set mrca netns "$THIRD" ||
		fail "rdma dev set ended with $?"
	expect_devices "$HOST_A" ""
	expect_devices "$THIRD" mrca
	wait_for 30 grep -q DEVICE_FATAL "$WORK/watch"
	finished "$verify_client" 60 || rc=$?
	check "$rc" != 0 "status of a program whose device went"
	check "$rc" != 124 "status of a program whose device went"
	process_gone "$watch" || kill "$watch"
	stop_all
	no_rc "$THIRD" || fail "queue pairs are left: $(in_third rdma resource show qp)"
	# The connection manager's queue pairs moved with the device.
	check "$(in_third rdma resource show qp | grep -c 'type GSI')" == 2 "QP1s"
	wait_for 30 no_rc "$HOST_B"
}

no_rc() { [[ $(ip netns exec "$1" rdma resource show qp) != *'type RC'* ]]; }

moved_is_used() {
	home[mrca]=$THIRD
	wait_for 30 port_is mrca 1 ACTIVE
	wait_for 30 gid_index mrca 1 "$A4"
	ctr_mark
	# The programs talk over the management link, which the client's namespace
	# lacks.
	ip -n "$HOST_B" link add mgmtc type veth peer name mgmtd netns "$THIRD"
	ip -n "$HOST_B" addr add 192.0.2.17/30 dev mgmtc
	ip -n "$HOST_B" link set mgmtc up
	ip -n "$THIRD" addr add 192.0.2.18/30 dev mgmtd
	ip -n "$THIRD" link set mgmtd up
	traffic_from "$THIRD" "$HOST_B" 192.0.2.17
	ip -n "$HOST_B" link del mgmtc
	ctr_quiet && ctr_take
	expect_whole
	expect mrca/1 tx_data_pkts '>' 0
	expect mrca/2 tx_data_pkts '>' 0
	# Netdevs of another namespace are not shown and cannot be added.
	links_are "$THIRD" mrca "1 ACTIVE -,2 ACTIVE -" || fail "$(links "$THIRD" mrca)"
}

# With any driver, rdma_cm needs the device and its netdevs in one namespace. Only the
# netdevs are here.
moved_has_no_cm() {
	refuse 'no rdma devices|no such device' in_a timeout 20 rping -c -a "$B4" -I "$A4" -C 1
}

moves_back() {
	in_third rdma dev set mrca netns "$HOST_A"
	expect_devices "$THIRD" ""
	expect_devices "$HOST_A" mrca
	plane_ready 1
	plane_ready 2
	traffic 1 2
	cm_rping 4 1 1 2
}

# The device moves and its netdevs follow. The device is registered again and keeps
# its configuration.
moves_with_netdevs() {
	local i open
	extension off a
	in_a rdma dev set mrca netns "$THIRD"
	home[mrca]=$THIRD
	ip -n "$HOST_A" link set pa1 netns "$THIRD"
	# One netdev is still in the old namespace.
	refuse 'cross-device' in_third rdma link add mrca type mrc netdev pa1
	ip -n "$HOST_A" link set pa2 netns "$THIRD"
	links_are "$THIRD" mrca "1 DOWN -,2 DOWN -" || fail "$(links "$THIRD" mrca)"
	# Not while programs have the device open.
	rm -f "$WORK/watch"
	start "$WORK/watch" ip netns exec "$THIRD" ibv_asyncwatch -d mrca
	open=$started
	wait_for 30 grep -q 'async event FD' "$WORK/watch"
	refuse 'busy' in_third rdma link add mrca type mrc netdev pa1
	kill "$open"
	finished "$open" 10 || true
	for i in 1 2; do
		in_third rdma link add mrca type mrc netdev "pa$i"
		# The commands of plane_commands for host A, for the new host.
		plane_commands a $i 4500 46 | grep -v 'type veth' | ip -n "$THIRD" -batch -
		plane_ready $i
	done
	links_are "$THIRD" mrca "1 ACTIVE pa1,2 ACTIVE pa2" || fail "$(links "$THIRD" mrca)"
	in_third mrcctl -d mrca dev show | grep -q -E 'extension +off' ||
		fail "$(in_third mrcctl -d mrca dev show)"
	! in_a ss -Hlun 'sport = :4791' | grep -q . || fail "a socket is left"
	in_third ss -Hlun 'sport = :4791' | grep -q . || fail "no socket"
}

# A namespace ends. Its netdevs (veth pairs) and the device end with it.
ends_with_all() {
	ip netns del "$THIRD"
	wait_for 30 devices_are "$HOST_A" ""
	wait_for 30 devices_are '' ""
	expect_devices "$HOST_B" mrcb
	wait_for 30 port_is mrcb 1 DOWN
}

# Only the device was in the namespace. It moves to the initial namespace and can be
# moved back.
ends_with_device() {
	third_up
	in_a rdma dev set mrca netns "$THIRD"
	expect_devices "$THIRD" mrca
	ip netns del "$THIRD"
	wait_for 30 devices_are '' mrca
	rdma dev set mrca netns "$HOST_A"
	expect_devices '' ""
	expect_devices "$HOST_A" mrca
	plane_ready 1
	plane_ready 2
	traffic 1 2
}

# The namespace of the netdevs ends; the device is in another one and is removed.
ends_with_netdevs() {
	third_up
	in_a rdma dev set mrca netns "$THIRD"
	ip netns del "$HOST_A"
	wait_for 30 devices_are "$THIRD" ""
	expect_devices '' ""
	expect_devices "$HOST_B" mrcb
	third_down
}

# What rxe, the other software RoCE driver, does in the same steps. Its device may
# start in another namespace; after that both must move alike.
rxe_beside() {
	local begins='' ns said
	modprobe crc32_generic 2>/dev/null || true
	modprobe rdma_rxe || skip "no rdma_rxe in this kernel"
	ip -n "$THIRD" link add rx0 type veth peer name rx1
	ip -n "$THIRD" link set rx0 up
	ip -n "$THIRD" link set rx1 up
	if ! said=$(in_third rdma link add rxet type rxe netdev rx0 2>&1); then
		rmmod rdma_rxe
		ip -n "$THIRD" link del rx0
		skip "rxe cannot be made in a namespace: $said"
	fi
	for ns in '' "$THIRD"; do
		! devices "$ns" | grep -q -w rxet || begins=${ns:-init}
	done
	echo "figure: a device of rxe with its netdev in a namespace begins in: $begins"
	[ -n "$begins" ] || fail "rxe has made no device"
	if [ "$begins" = init ]; then
		ns=''
	else
		ns=$THIRD
	fi
	if ! said=$(${ns:+ip netns exec "$ns"} rdma dev set rxet netns "$HOST_B" 2>&1); then
		echo "figure: a device of rxe does not move: $said"
		${ns:+ip netns exec "$ns"} rdma link del rxet
		ip -n "$THIRD" link del rx0
		wait_for 30 rmmod rdma_rxe
		return
	fi
	devices "$HOST_B" | grep -q -w rxet || fail "rxe's device did not move"
	# Its netdev leaves the namespace.
	ip -n "$THIRD" link set rx0 netns "$HOST_A"
	if wait_for 3 rxe_gone; then
		said="goes too"
	else
		said="stays: $(links "$HOST_B" rxet)"
		in_b rdma link del rxet
	fi
	echo "figure: a device of rxe whose netdev moves to another namespace $said"
	ip -n "$HOST_A" link del rx0
	wait_for 30 rmmod rdma_rxe
}

rxe_gone() { ! devices "$HOST_B" | grep -q -w rxet; }

if ! wait_for 30 exclusive_now >"$WORK/mode"; then
	said=$(rdma system set netns exclusive 2>&1 || true)
	# shellcheck disable=SC2317 # subtest calls it
	none() { skip "the mode cannot be set in this kernel: $said"; }
	subtest "exclusive" none
	tap_end
	exit
fi
trap leave_exclusive EXIT

home=([mrca]=$HOST_A [mrcb]=$HOST_B)
topo 4
third_up
all_cm exclusive 1 2 3 4
third_down
topo 2
third_up
subtest "exclusive: each namespace sees its own" exclusive_seen
subtest "exclusive: no other namespace opens it" exclusive_not_opened
subtest "exclusive: one name in two namespaces" same_name
subtest "a device moves, its netdevs stay, programs have it open" moves_alone
home[mrca]=$THIRD
subtest "it is used where it is" moved_is_used
subtest "rdma_cm does not use it" moved_has_no_cm
home[mrca]=$HOST_A
subtest "it moves back" moves_back
subtest "rxe beside it" rxe_beside
subtest "device and netdevs move" moves_with_netdevs
home[mrca]=$THIRD
subtest "a namespace ends with both" ends_with_all
home[mrca]=$HOST_A
topo 2
subtest "a namespace ends with the device alone" ends_with_device
subtest "a namespace ends with the netdevs alone" ends_with_netdevs
tap_end
