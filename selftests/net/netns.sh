#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Network namespaces that share all devices: every namespace sees and uses them,
# planes leave a device and come back, rdma_cm works over several planes. Devices that
# belong to one namespace are tested by netns_exclusive.sh.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netns.sh"

bytes_sent() { # NETNS NETDEV
	ip -n "$1" -s -j link show dev "$2" | sed 's/.*"tx":{"bytes":\([0-9]*\).*/\1/'
}

shared_seen() {
	expect_devices '' "mrca mrcb"
	expect_devices "$HOST_A" "mrca mrcb"
	expect_devices "$HOST_B" "mrca mrcb"
	expect_devices "$THIRD" "mrca mrcb"
	# A port shows its netdev only in the netdev's namespace.
	links_are "$HOST_A" mrca "1 ACTIVE pa1,2 ACTIVE pa2,3 ACTIVE pa3,4 ACTIVE pa4" ||
		fail "in $HOST_A: $(links "$HOST_A" mrca)"
	links_are "$THIRD" mrca "1 ACTIVE -,2 ACTIVE -,3 ACTIVE -,4 ACTIVE -" ||
		fail "in $THIRD: $(links "$THIRD" mrca)"
}

# The program may run anywhere; packets are in the namespace of the netdevs.
shared_used() {
	local before
	before=$(bytes_sent "$HOST_A" pa1)
	ctr_mark
	traffic_from "$THIRD" "$THIRD" 192.0.2.3
	ctr_quiet && ctr_take
	expect_whole
	# Of packets that leave as one the netdev counts the headers once.
	check $(($(bytes_sent "$HOST_A" pa1) - before)) '>' $((64 * 65536 * 9 / 10 / PLANES)) \
		"bytes of pa1"
}

stays_in_shared_mode() {
	refuse 'not supported|shared' rdma dev set mrca netns "$THIRD"
	expect_devices '' "mrca mrcb"
	traffic 1 2 3 4
}

# Only netdevs of the caller's namespace can be added, and only by its administrator.
link_add_elsewhere() {
	refuse 'no such device|invalid|not found' in_third rdma link add mrcz type mrc netdev pa1
	refuse 'not permitted' unshare -U -r -n bash -ec \
		'ip link add v0 type veth peer name v1; rdma link add mrcz type mrc netdev v0'
	expect_devices '' "mrca mrcb"
}

# A plane leaves during traffic: its port becomes vacant, the other ports go on. The
# plane comes back and takes the vacant port.
plane_moves_away() {
	local n
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	ip -n "$HOST_A" link set pa2 netns "$THIRD"
	wait_for 30 port_is mrca 2 DOWN
	n=$(ctr_now mrca tx_data_pkts)
	wait_for 30 ctr_at_least mrca tx_data_pkts $((n + 200))
	links_are "$HOST_A" mrca "1 ACTIVE pa1,2 DOWN -,3 ACTIVE pa3,4 ACTIVE pa4" ||
		fail "$(links "$HOST_A" mrca)"
	# There the netdev may become a port of another device, but not of this one.
	refuse 'cross-device' in_third rdma link add mrca type mrc netdev pa2
	verify_stop
	ip -n "$THIRD" link set pa2 netns "$HOST_A"
	plane_commands a 2 4500 46 | grep -v 'type veth' | ip -n "$HOST_A" -batch -
	link_add a 2
	plane_routes 2
	plane_ready 2
	traffic 1 2 3 4
}

# A device is removed while namespaces end. The core deletes the device's copies for these
# without a lock, at any moment of the removal.
removed_as_they_end() {
	local i n
	ip -n "$HOST_A" link add pz type dummy
	ip -n "$HOST_A" link set pz up
	for ((n = 0; n < 40; n++)); do
		in_a rdma link add mrcz type mrc netdev pz
		for i in 1 2 3 4 5 6; do
			ip netns add "end$i"
		done
		for i in 1 2 3 4 5 6; do
			ip netns del "end$i"
		done
		nap "0.0$((n % 10))"
		in_a rdma link del mrcz
	done
	ip -n "$HOST_A" link del pz
	expect_devices '' "mrca mrcb"
}

not_with_namespaces() {
	refuse 'busy' rdma system set netns exclusive
	rdma system show | grep -q 'netns shared' || fail "$(rdma system show)"
}

topo 4
third_up
subtest "shared: every namespace sees every device" shared_seen
subtest "shared: used from a namespace without netdevs" shared_used
subtest "shared: devices do not move" stays_in_shared_mode
subtest "link add where the netdev is, and by the host's administrator" link_add_elsewhere
subtest "a plane moves away under traffic, and comes back" plane_moves_away
subtest "a device is removed while namespaces end" removed_as_they_end
all_cm shared 1 2 3 4
subtest "the mode does not change below namespaces" not_with_namespaces
all_gone
tap_end
