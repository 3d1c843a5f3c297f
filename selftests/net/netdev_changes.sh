#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Netdevs that cannot be planes are refused, and the kernel log says why. What may happen
# to the netdev of a plane in the middle of traffic: it becomes part of a bridge or a
# bond and leaves it, gets an XDP program, has its offloads switched one by one.
# timeout: 1200
# long
# kmsg-ok: mrc[ :].*(not an Ethernet|is a VLAN|is a VRF|belongs to)
# The RDMA core adds the bond's default GID before it has removed that of the netdev:
# kmsg-ok: unable to add gid fe80
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netdevs.sh"

# --- refused ----------------------------------------------------------------------

# refused WHY NETDEV TYPE OPTIONS...: host A makes the netdev, and it cannot be a plane.
refused() {
	local why=$1 netdev=$2 said ports
	shift 2
	[ $# = 0 ] || on a link add name "$netdev" "$@" ||
		skip "this kernel has no such netdevs"
	on a link set "$netdev" up
	ports=$(in_a rdma link show)
	said=$(log_says "mrca: $netdev $why")
	refuse 'invalid argument' in_a rdma link add mrca type mrc netdev "$netdev"
	check "$(log_says "mrca: $netdev $why")" == $((said + 1)) "messages of the kernel"
	[ "$(in_a rdma link show)" = "$ports" ] || fail "the ports have changed"
}

log_says() { dmesg | grep -c "mrc: $1" || true; } # REGEX

no_ethernet() { # NETDEV [type ...]
	refused 'is not an Ethernet device' "$@"
	[ "$1" = lo ] || on a link del "$1"
}

no_tun() {
	modprobe tun 2>/dev/null || true
	on a tuntap add name n1 mode tun || skip "this kernel has no tun"
	no_ethernet n1
}

no_vlan() {
	refused 'is a VLAN; use pa1, whose GIDs have the addresses of VLANs' n1 \
		link pa1 type vlan id 9
	on a link del n1
}

no_vrf() {
	refused 'is a VRF and sends nothing itself; use its netdevs' n1 type vrf table 9
	on a link del n1
}

# A netdev that belongs to another one, which gets its packets.
no_slave() { # TYPE OPTIONS...
	on a link add name m1 type "$@" || skip "this kernel has no netdevs of type $1"
	[ "$1" != team ] || in_a python3 "$NET_DIR/netdev_ops.py" team m1 roundrobin
	on a link add name s1 type veth peer name s2
	on a link set s1 master m1
	refused 'belongs to m1, which receives its packets; use m1' s1
	on a link set s1 nomaster
	in_a rdma link add mrcs type mrc netdev s1
	rdma link del mrcs
	on a link del s1
	on a link del m1
}

# --- the netdev is taken away and comes back --------------------------------------

plane_back() {
	on a link set pa1 up
	plane_routes 1
	wait_for 30 port_is mrca 1 ACTIVE
	wait_for 30 gid_index mrca 1 "$A4"
	receives_on 1 100
}

# Plane 1 of host A becomes part of a master in the middle of traffic. The netdev is up
# and has a carrier, but its packets go elsewhere.
taken() { # TYPE OPTIONS...
	on a link add name m1 type "$@" || skip "this kernel has no netdevs of type $1"
	on a link set m1 up
	load_start
	# A bond takes only what is down.
	[ "$1" = bridge ] || on a link set pa1 down
	on a link set pa1 master m1
	[ "$(in_a cat /sys/class/net/pa1/carrier)" = 1 ] || fail "pa1 has no carrier"
	[ "$(port_shown mrca/1)" = "DOWN pa1" ] || fail "port 1: $(port_shown mrca/1)"
	receives_on 2 100
	[ "$(port_shown mrca/1)" = "DOWN pa1" ] || fail "port 1: $(port_shown mrca/1)"
	on a link set pa1 nomaster
	plane_back
	load_stop
	expect mrca/1 port_down_events '>' 0
	check "$(ctr mrca/1 port_down_events)" == "$(ctr mrca/1 port_up_events)" "downs and ups"
	expect mrca/2 port_down_events == 0
	on a link del m1
}

# --- XDP ----------------------------------------------------------------------------

xdp() { # native|generic on|off
	local h rc=0
	for h in a b; do
		ip netns exec host$h python3 "$NET_DIR/netdev_ops.py" xdp p${h}1 "$@" || rc=$?
	done
	[ $rc != 77 ] || skip "this kernel has no bpf(2)"
	return $rc
}

has_xdp() { on "$1" link show "p${1}1" | grep -q 'prog/xdp id'; } # a|b

# The program comes and goes in the middle of traffic, and lossless traffic takes it.
passed() { # native|generic
	load_start
	xdp "$1" on
	has_xdp a
	has_xdp b
	receives_on 1 100
	load_stop
	almost_undamaged
	lossless_traffic
	load_start
	xdp "$1" off
	! has_xdp b
	load_stop
	almost_undamaged
}

# --- a VRF --------------------------------------------------------------------------

# Plane 1 of host A has its routes in a table of its own: it joins a VRF in the middle of
# traffic, and leaves it. Joining takes the netdev down for a moment. The device's UDP socket
# belongs to no VRF and gets packets of one only with this setting.
in_vrf() {
	local deaf
	on a link add name v1 type vrf table 9 || skip "this kernel has no VRFs"
	on a link set v1 up
	load_start --bidir
	on a link set pa1 master v1
	route_commands a 1 46 | sed 's/^route .*/& table 9/' | ip -n "$HOST_A" -batch -
	wait_for 30 port_is mrca 1 ACTIVE
	hw_now mrca rx_data_pkts 1
	deaf=$hw
	receives_on 2 500
	hw_now mrca rx_data_pkts 1
	check "$hw" == "$deaf" "packets from a VRF without the setting"
	in_a sysctl -q -w net.ipv4.udp_l3mdev_accept=1
	wait_for 60 hw_at_least mrca rx_data_pkts 1 $((deaf + 100))
	load_stop
	lossless_traffic
	load_start
	on a link set pa1 nomaster
	plane_back
	load_stop
	in_a sysctl -q -w net.ipv4.udp_l3mdev_accept=0
	on a link del v1
}

# --- offloads -----------------------------------------------------------------------

# Each offload is switched over in the middle of traffic, and back.
toggled() {
	load_start
	offloads_toggled 1 50
	load_stop
	almost_undamaged
	expect mrca/1 port_down_events == 0
}

# A packet that was held up and sent again meanwhile may leave when its buffer holds the
# next message.
almost_undamaged() {
	check $(($(ctr mrcb rx_drop_icrc) * 100)) '<=' "$(ctr mrcb rx_data_pkts)" \
		"100 x packets with a wrong ICRC"
}

# All that can be switched, one way: with a long list of merged packets, if they could be
# merged, or with packets without fragments.
all_switched() { # on|off
	local switched=0
	offloads_all 1 "$1"
	check $switched '>=' 2 "offloads that were switched $1"
	lossless_traffic
}

# --- others -------------------------------------------------------------------------

# A dummy leads nowhere, but programs of the host reach each other.
dummy() {
	local gid
	on a link add name d1 mtu 4500 type dummy || skip "this kernel has no dummies"
	on a link set d1 up
	on a addr add 10.7.0.1/32 dev d1
	in_a rdma link add mrcd type mrc netdev d1
	wait_for 30 gid_index mrcd 1 10.7.0.1
	gid=$(gid_index mrcd 1 10.7.0.1)
	start "$WORK/server" ip netns exec hosta mrc_verify -d mrcd --gid-index "$gid"
	verify_server=$started
	start "$WORK/client" ip netns exec hosta mrc_verify -d mrcd --gid-index "$gid" \
		--size 1,4097,65536 --iters 30 127.0.0.1
	verify_client=$started verify_limit=60 verify_args=dummy
	verify_finish
	rdma link del mrcd
	on a link del d1
}

listens() { rdma resource show cm_id link "$1" | grep -q LISTEN; } # DEV

# The connection manager finds the GID of a VLAN above the plane.
vlan_connects() {
	local h
	for h in a b; do
		on $h link add link p${h}1 name v${h}1 type vlan id 5
		on $h link set v${h}1 up
	done
	on a addr add 10.5.0.1/24 dev va1
	on b addr add 10.5.0.2/24 dev vb1
	wait_for 30 gid_index mrca 1 10.5.0.1
	wait_for 30 gid_index mrcb 1 10.5.0.2
	start "$WORK/server" ip netns exec hostb rping -s -a 10.5.0.2 -C 5 -v
	wait_for 30 listens mrcb
	start "$WORK/client" ip netns exec hosta rping -c -a 10.5.0.2 -C 5 -v
	finished "$started" 60 || fail "rping: $(cat "$WORK/client")"
	[ "$(grep -c '^ping data: rdma-ping-' "$WORK/client")" = 5 ] || fail "$(cat "$WORK/client")"
	for h in a b; do
		on $h link del v${h}1
	done
}

# Masters and VLANs leave no memory behind.
cycles() {
	local n
	on a link add name m1 type bridge
	for n in $(seq 35); do
		# The first cycles fill caches.
		[ "$n" != 6 ] || memory_before "$WORK/before"
		on a -batch - <<-END
			link set pa1 master m1
			link add link pa1 name va1 type vlan id 5
			link set va1 up
			addr add 10.5.0.1/24 dev va1
			link del va1
			link set pa1 nomaster
		END
		# The kernel limits the rate of messages.
		[ $((n % 9)) != 0 ] ||
			refuse 'invalid' in_a rdma link add mrca type mrc netdev lo
	done
	on a link del m1
	expect_memory_back "$WORK/before" 25 512
}

# What a failed subtest has left must not make the next one fail.
sub() { # NAME COMMAND...
	local d
	subtest "$@"
	for d in mrcs mrcd; do
		rdma link del $d 2>/dev/null || true
	done
	on a link set pa1 nomaster 2>/dev/null || true
	for d in n1 m1 s1 d1 va1 v1; do
		on a link del $d 2>/dev/null || true
	done
	on b link del vb1 2>/dev/null || true
	in_a sysctl -q -w net.ipv4.udp_l3mdev_accept=0 2>/dev/null || true
	on a link set pa1 up
	plane_routes 1
}

topo 2
sub "loopback is refused" no_ethernet lo
sub "WireGuard is refused" no_ethernet n1 type wireguard
sub "GRE is refused" no_ethernet n1 type gre local 198.51.100.1 remote 198.51.100.2
sub "IPIP is refused" no_ethernet n1 type ipip local 198.51.100.1 remote 198.51.100.2
sub "SIT is refused" no_ethernet n1 type sit local 198.51.100.1 remote 198.51.100.2
sub "tun is refused" no_tun
sub "a VLAN is refused" no_vlan
sub "a VRF is refused" no_vrf
sub "a plane joins a VRF and leaves it" in_vrf
sub "a bridge port is refused" no_slave bridge
sub "a slave of a bond is refused" no_slave bond mode active-backup
sub "a port of a team is refused" no_slave team
sub "a dummy" dummy
sub "rdma_cm over a VLAN" vlan_connects
sub "a bridge takes the netdev" taken bridge
sub "a bond takes the netdev" taken bond mode active-backup
sub "XDP, generic" passed generic
sub "XDP, native" passed native
sub "offloads are switched one by one" toggled
sub "all offloads" all_switched on
sub "no offloads" all_switched off
sub "35 cycles leave no memory behind" cycles
tap_end
