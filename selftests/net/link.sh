#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The life of a device: planes added one by one, refused requests, addresses, MTU,
# link events, netdevs and namespaces that disappear, removal, fifty times over.
# timeout: 480
# long
# kmsg-ok: mrc[ :].*(in use|busy|EADDRINUSE|already|port 4791|user context|no such|not an Ethernet)
. "$(dirname "$0")/lib.sh"

links() { # NETNS DEV: the ports of DEV as lines "port state netdev"
	ip netns exec "$1" rdma link show | awk -v d="$2" '
		$1 == "link" {
			split($2, dp, "/")
			if (dp[1] != d) next
			state = ndev = "-"
			for (i = 3; i < NF; i++) {
				if ($i == "state") state = $(i + 1)
				if ($i == "netdev") ndev = $(i + 1)
			}
			print dp[2], state, ndev
		}'
}

expect_links() { # NETNS DEV "port state netdev"...
	local ns=$1 dev=$2 got want
	shift 2
	got=$(links "$ns" "$dev")
	want=$(printf '%s\n' "$@")
	[ "$got" = "$want" ] || fail "links of $dev are [$got], expected [$want]"
}

# expect_links ends the process on failure, so it cannot be the condition of a wait.
wait_for_links() {
	local ns=$1 dev=$2
	shift 2
	wait_for 30 links_are "$ns" "$dev" "$(printf '%s\n' "$@")" ||
		expect_links "$ns" "$dev" "$@"
}
links_are() { [ "$(links "$1" "$2")" = "$3" ]; }

active_mtu() { # DEV PORT
	ibv_devinfo -d "$1" -i "$2" | sed -n 's/.*active_mtu:[^0-9]*\([0-9]*\) .*/\1/p'
}

mtu_becomes() { # DEV PORT BYTES
	[ "$(active_mtu "$1" "$2")" = "$3" ]
}

traffic() {
	ctr_mark
	verify --op mixed --size 1,4097,65536 --iters 20
}

# Ports 1 to 4 are added by repeating the same command. Each gets all addresses.
grows() {
	local i want=()
	hosts_up
	for i in 1 2 3 4; do
		plane_add "$i" 4500
		link_add a "$i"
		link_add b "$i"
		want+=("$i ACTIVE pa$i")
		wait_for_links hosta mrca "${want[@]}"
	done
	for i in 1 2 3 4; do
		wait_for 30 gid_index mrca "$i" "$A4"
		wait_for 30 gid_index mrca "$i" "$A6"
	done
	PLANES=4
	for i in 1 2 3 4; do
		plane_ready "$i"
	done
	traffic
	for i in 1 2 3 4; do
		expect_port_used "$i"
	done
}

expect_port_used() {
	ctr_take
	expect "mrca/$1" tx_data_pkts '>' 0
}

addresses_follow() {
	in_a ip addr add 10.9.9.9/32 dev pa3
	wait_for 30 gid_index mrca 3 10.9.9.9
	! gid_index mrca 2 10.9.9.9 2>/dev/null || fail "address on the wrong port"
	in_a ip addr del 10.9.9.9/32 dev pa3
	wait_for 30 gid_gone mrca 3 10.9.9.9
}

gid_gone() { ! gid_index "$@" 2>/dev/null; }

refusals() {
	ip -n hosta link add name spare0 type veth peer name spare1
	ip -n hosta link set spare0 up
	refuse 'exist|busy|in use' link_add a 2
	refuse 'no such device|not found|invalid' in_a rdma link add mrca type mrc netdev nowhere
	refuse 'exist|busy|invalid|in use' in_a rdma link add mrcz type mrc netdev pa1
	# A device belongs to one namespace.
	refuse 'exist|invalid|busy|cross-device|operation' in_b rdma link add mrca type mrc netdev mgmtb
	ip -n hosta link del spare0
}

# While a program has the device open, the number of ports cannot change.
busy_while_open() {
	ip -n hosta link add name spare0 type veth peer name spare1
	ip -n hosta link set spare0 up
	ip -n hosta link set spare1 up
	start "$WORK/watch" ip netns exec "$HOST_A" ibv_asyncwatch -d mrca
	wait_for 30 grep -q 'async event FD' "$WORK/watch"
	refuse 'busy' in_a rdma link add mrca type mrc netdev spare0
	dmesg | tail -n 5 | grep -q mrc || fail "no kernel message says why"
	expect_links hosta mrca "1 ACTIVE pa1" "2 ACTIVE pa2" "3 ACTIVE pa3" "4 ACTIVE pa4"
	stop_all
	wait_for 30 in_a rdma link add mrca type mrc netdev spare0
	wait_for_links hosta mrca "1 ACTIVE pa1" "2 ACTIVE pa2" "3 ACTIVE pa3" \
		"4 ACTIVE pa4" "5 ACTIVE spare0"
	ip -n hosta link del spare0
	wait_for 30 port_is mrca 5 DOWN
	wait_for 30 plane_ready 1
	traffic
}

events() {
	local i
	start "$WORK/watch" ip netns exec "$HOST_A" ibv_asyncwatch -d mrca
	wait_for 30 grep -q 'async event FD' "$WORK/watch"
	ip -n hostb link set pb2 down
	wait_for 30 grep -q -i -E 'port_err.*(port|element)?.*2|port error.*2' "$WORK/watch"
	ip -n hostb link set pb2 up
	plane_routes 2
	wait_for 30 grep -q -i -E 'port_active.*2|port active.*2' "$WORK/watch"
	for i in 1 3 4; do
		! grep -i -E "port_(err|active).*port $i" "$WORK/watch" ||
			fail "an event of a port that did not change"
	done
}

mtu_follows() {
	wait_for 30 mtu_becomes mrca 1 4096
	ip -n hosta link set pa1 mtu 1500
	wait_for 30 mtu_becomes mrca 1 1024
	ip -n hosta link set pa1 mtu 9000
	wait_for 30 mtu_becomes mrca 1 4096
	ip -n hosta link set pa1 mtu 1400
	wait_for 30 mtu_becomes mrca 1 1024
	# The smallest MTU that fits, and a byte less.
	ip -n hosta link set pa1 mtu $((2048 + 92))
	wait_for 30 mtu_becomes mrca 1 2048
	ip -n hosta link set pa1 mtu $((2048 + 91))
	wait_for 30 mtu_becomes mrca 1 1024
	ip -n hosta link set pa1 mtu 4500
	wait_for 30 mtu_becomes mrca 1 4096
}

# The port stays, vacant, and takes the next netdev that is added.
netdev_removed() {
	ip -n hosta link del pa2
	wait_for 30 port_is mrca 2 DOWN
	port_is mrca 1 ACTIVE
	traffic
	plane_add 2 4500
	link_add a 2
	wait_for 30 port_is mrca 2 ACTIVE
	expect_links hosta mrca "1 ACTIVE pa1" "2 ACTIVE pa2" "3 ACTIVE pa3" \
		"4 ACTIVE pa4" "5 DOWN -"
	wait_for 30 port_is mrcb 2 DOWN
	link_add b 2
	plane_ready 2
	traffic
	ctr_take
	expect mrca/2 tx_data_pkts '>' 0
	expect mrcb/2 rx_data_pkts '>' 0
}

netdev_removed_under_load() {
	local n
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	ip -n hosta link del pa3
	wait_for 30 port_is mrca 3 DOWN
	n=$(ctr_now mrca tx_data_pkts)
	wait_for 30 ctr_at_least mrca tx_data_pkts $((n + 200))
	verify_stop
}

renamed() {
	ip -n hosta link set pa4 down
	ip -n hosta link set pa4 name renamed
	ip -n hosta link set renamed up
	wait_for 30 port_is mrca 4 ACTIVE
	links hosta mrca | grep -q '^4 ACTIVE renamed$' || fail "$(links hosta mrca)"
}

removed() {
	in_a rdma link del mrca
	wait_for 30 device_gone mrca
	! in_a ss -Hlun 'sport = :4791' | grep -q . || fail "a socket is left"
	in_b ss -Hlun 'sport = :4791' | grep -q . || fail "the other host lost its socket"
	refuse 'invalid|no such|not found|wrong' in_a rdma link del mrca
}

removed_while_open() {
	topo_up 2
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	timeout 20 ip netns exec hosta rdma link del mrca || fail "rdma link del does not end"
	wait_for 30 device_gone mrca
	# The program gets an error or hangs. In both cases it can be ended.
	stop_all
	topo_down
}

namespace_removed() {
	topo_up 2
	ip netns del hosta
	wait_for 30 device_gone mrca
	device_gone mrcb && fail "the other host lost its device"
	# Its planes were veth pairs, so they disappeared too.
	wait_for 30 port_is mrcb 1 DOWN
	topo_down
}

namespace_removed_under_load() {
	topo_up 2
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	# The name is removed at once, the namespace with its last process.
	ip netns del hosta
	stop_all
	wait_for 30 device_gone mrca
	topo_down
}

# Another driver has the UDP port: adding a link fails with a clear error, and
# succeeds once the port is free.
port_conflict() {
	modprobe crc32_generic 2>/dev/null || true
	modprobe rdma_rxe || skip "no rdma_rxe in this kernel"
	ip link add name c0 type veth peer name c1
	ip addr add 198.51.100.1/24 dev c0
	ip link set c0 up
	ip link set c1 up
	rdma link add rxe9 type rxe netdev c1
	refuse 'in use' rdma link add mrc9 type mrc netdev c0
	dmesg | tail -n 20 | grep -q '4791' || fail "no kernel message names the port"
	rdma link del rxe9
	wait_for 30 rmmod rdma_rxe
	rdma link add mrc9 type mrc netdev c0
	wait_for 30 port_is mrc9 1 ACTIVE
	rdma link del mrc9
	ip link del c0
}

cycles() {
	local n
	hosts_up
	plane_add 1 4500
	plane_add 2 4500
	for n in $(seq 55); do
		# The first cycles fill caches.
		[ "$n" != 6 ] || memory_before "$WORK/before"
		in_a rdma link add mrca type mrc netdev pa1
		in_a rdma link add mrca type mrc netdev pa2
		in_a rdma link del mrca
	done
	# Fewer than 40 objects in fifty cycles are no leak in the cycle.
	expect_memory_back "$WORK/before" 40 512
	topo_down
}

subtest_clean() {
	subtest "$@"
	rdma link del mrc9 2>/dev/null || true
	rdma link del rxe9 2>/dev/null || true
	ip link del c0 2>/dev/null || true
	rmmod rdma_rxe 2>/dev/null || true
}

subtest "one to four planes by repeating rdma link add" grows
PLANES=4
subtest "addresses come and go as GIDs" addresses_follow
subtest "refusals" refusals
subtest "EBUSY while a program has the device open" busy_while_open
subtest "port events reach programs" events
subtest "active MTU follows the netdev" mtu_follows
subtest "a netdev goes away, another takes its place" netdev_removed
subtest "a netdev goes away under load" netdev_removed_under_load
subtest "a netdev is renamed" renamed
subtest "rdma link del" removed
topo_down
subtest "rdma link del under load" removed_while_open
topo_down
subtest "a namespace goes away" namespace_removed
topo_down
subtest "a namespace goes away under load" namespace_removed_under_load
topo_down
subtest_clean "UDP port taken by rxe: EADDRINUSE" port_conflict
subtest "50 cycles of add and del leave no memory behind" cycles
tap_end
