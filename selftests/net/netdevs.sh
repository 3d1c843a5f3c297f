#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Planes over every kind of netdev: VLAN, bond, team, bridge, macvlan, ipvlan, tunnels
# and veth pairs of several MTUs. Plane 1 is of the kind under test and plane 2 is a veth
# pair. All data is verified, plane 1 carries its share, nothing is sent twice, the carrier
# of the netdev and of those below it is reported, and traffic goes on over plane 2
# meanwhile.
# timeout: 2400
# long
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netdevs.sh"

# --- kinds ------------------------------------------------------------------------
# Each makes pa1 or pb1 over the lower netdevs la1 and ka1, or lb1 and kb1, with MTU.

# A veth pair below plane 1. All netdevs above it may inherit its address.
lower() { # NAME MTU
	local name=$1 mtu=$2 last=1
	[ "$name" = l ] || last=9
	ip -n hosta link add name "${name}a1" mtu "$mtu" address "02:00:00:00:0a:0$last" \
		type veth peer name "${name}b1" mtu "$mtu" \
		address "02:00:00:00:0b:0$last" netns hostb
	ip -n hosta link set "${name}a1" up
	ip -n hostb link set "${name}b1" up
}

# The plane is below VLANs, of which the last one has the addresses.
k_vlan() { # a|b MTU [PROTOCOL ID]...
	local h=$1 mtu=$2 below=p${1}1 n=0
	k_veth "$h"
	shift 2
	while [ $# -gt 0 ]; do
		n=$((n + 1))
		on "$h" link add link "$below" name "v$n${h}1" mtu "$mtu" \
			type vlan protocol "$1" id "$2"
		on "$h" link set "v$n${h}1" up
		below=v$n${h}1
		shift 2
	done
	top=v$n
}

# Netdevs that use another one.
k_over() { # a|b MTU TYPE OPTIONS...
	on "$1" link add link "l${1}1" name "p${1}1" mtu "$2" type "${@:3}"
}

# The plane is above a VLAN.
k_over_vlan() { # a|b MTU
	on "$1" link add link "l${1}1" name "v1${1}1" mtu "$2" type vlan id 5
	on "$1" link set "v1${1}1" up
	on "$1" link add link "v1${1}1" name "p${1}1" mtu "$2" type macvlan mode bridge
}

enslave() { # a|b MASTER LOWER...
	local h=$1 master=$2 low
	shift 2
	for low; do
		# A bond takes only what is down.
		on "$h" link set "$low" down
		on "$h" link set "$low" master "$master"
		on "$h" link set "$low" up
	done
}

k_bond() { # a|b MTU MODE OPTIONS...
	on "$1" link add name "p${1}1" mtu "$2" type bond miimon 50 mode "${@:3}"
	enslave "$1" "p${1}1" "l${1}1" "k${1}1"
	[ "$3" != active-backup ] || on "$1" link set "p${1}1" type bond primary "l${1}1"
}

k_team() { # a|b MTU MODE
	on "$1" link add name "p${1}1" mtu "$2" type team
	ip netns exec "host$1" python3 "$NET_DIR/netdev_ops.py" team "p${1}1" "$3"
	enslave "$1" "p${1}1" "l${1}1" "k${1}1"
}

k_bridge() { # a|b MTU
	on "$1" link add name "p${1}1" mtu "$2" type bridge
	on "$1" link set "l${1}1" master "p${1}1"
}

k_tunnel() { # a|b MTU TYPE OPTIONS...
	local own=198.51.100.1 peer=198.51.100.2
	[ "$1" = a ] || { own=198.51.100.2 && peer=198.51.100.1; }
	on "$1" addr add $own/24 dev "l${1}1"
	case $3 in
	geneve) set -- "${@:1:3}" remote $peer "${@:4}" ;;
	*) set -- "${@:1:3}" local $own remote $peer "${@:4}" ;;
	esac
	on "$1" link add name "p${1}1" mtu "$2" type "${@:3}"
}

k_veth() { # a|b MTU
	# Linux 6.1 renames only what is down.
	on "$1" link set "l${1}1" down
	on "$1" link set "l${1}1" name "p${1}1"
	on "$1" link set "p${1}1" up
}

# --- plane 1 ----------------------------------------------------------------------

# Skips what the kernel does not know.
type_there() { # TYPE
	local said
	said=$(on a link add name n1 type "$1" 2>&1) || true
	on a link del n1 2>/dev/null || true
	[[ $said != *'Unknown device type'* ]] || skip "this kernel has no netdevs of type $1"
}

# kind MTU LOWER-MTU LOWERS KIND OPTIONS...: makes plane 1 at both hosts. LOWERS
# are the names of the lower veth pairs.
kind() {
	local mtu=$1 low h
	top=p
	case $4 in
	k_over | k_tunnel) type_there "$5" ;;
	k_over_vlan) type_there macvlan ;;
	*) type_there "${4#k_}" ;;
	esac
	for low in $3; do
		lower "$low" "$2"
	done
	for h in a b; do
		"$4" $h "$mtu" "${@:5}"
		echo "$top" >"$WORK/top"
		on_top plane_commands $h 1 "$mtu" 46 nic | ip -n "host$h" -batch -
	done
	for h in a b; do
		link_add $h 1
	done
	[ "$4" != k_bond ] || wait_for 60 bonds_ready "$5"
	# plane_ready would resolve through the netdev below the VLAN.
	if [ "$top" = p ]; then
		plane_ready 1
	else
		TOPO_RESOLVE='' plane_ready 1
	fi
}

# Commands for the netdev of plane 1 become commands for the VLAN above it.
on_top() { # COMMAND...
	local top
	top=$(cat "$WORK/top")
	"$@" | sed "s/dev p\([ab]\)1/dev $top\11/"
}

# Bonds need a moment until they use their slaves.
bonds_ready() { # MODE
	case $1 in
	active-backup) slave_is a la1 && slave_is b lb1 ;;
	802.3ad) aggregated ;;
	esac
}

# LACP has agreed on all slaves: they collect and distribute.
aggregated() {
	local h low state
	for h in a b; do
		for low in l k; do
			state=$(ip netns exec host$h cat \
				"/sys/class/net/$low${h}1/bonding_slave/ad_actor_oper_port_state")
			[ $((state & 0x30)) = $((0x30)) ] || return 1
		done
	done
}

active_slave() { # a|b
	ip netns exec "host$1" cat "/sys/class/net/p${1}1/bonding/active_slave"
}

slave_is() { [ "$(active_slave "$1")" = "$2" ]; } # a|b NETDEV

# Removes plane 1, whatever is left of it. Port 1 is vacant then.
kind_gone() {
	local h d
	for d in p v2 v1 l k; do
		for h in a b; do
			on $h link del "$d${h}1" 2>/dev/null || true
		done
	done
	wait_for 30 port_is mrca 1 DOWN
	wait_for 30 port_is mrcb 1 DOWN
}

# --- what must hold ---------------------------------------------------------------

active_mtu() { # DEV PORT
	ibv_devinfo -d "$1" -i "$2" | sed -n 's/.*active_mtu:[^0-9]*\([0-9]*\) .*/\1/p'
}

packets() { # a|b NETDEV rx|tx
	ip netns exec "host$1" cat "/sys/class/net/$2/statistics/$3_packets"
}

data() { # PATH-MTU LOWERS
	local sent low before=0 after=0
	[ "$(port_shown mrca/1)" = "ACTIVE pa1" ] || fail "port 1: $(port_shown mrca/1)"
	[ "$(active_mtu mrca 1)" = "$1" ] || fail "active MTU $(active_mtu mrca 1)"
	for low in $2; do
		before=$((before + $(packets a "$low" tx)))
	done
	lossless_traffic
	for low in $2; do
		after=$((after + $(packets a "$low" tx)))
	done
	sent=$(ctr mrca/1 tx_data_pkts)
	check "$sent" '>=' 150 "packets through plane 1"
	# Up to 16 packets leave as one where the netdev below takes them so.
	check $(((after - before) * 16)) '>=' "$sent" "packets of the netdevs below, at most 16 as one"
	# SENDs and READs. Receives may come late, so packets are sent again.
	ctr_mark
	verify --ext-test send --iters 20 --timeout 22
	verify -6 --ext-test read --iters 20 --timeout 22
	ctr_take
	undamaged mrca
	undamaged mrcb
	expect mrca/1 tx_data_pkts '>' 20
	expect mrca/1 rx_data_pkts '>' 20
}

# Puts all lower netdevs of host B down or up. Host A loses the carrier of its own.
lowers_go() { # up|down LOWER...
	local how=$1 low
	shift
	for low; do
		on b link set "$low" "$how"
	done
}

# The kernel removes routes of netdevs that are down.
plane_back() {
	local h
	for h in a b; do
		on $h link set "p${h}1" up
		on_top route_commands $h 1 46 | ip -n "host$h" -batch -
	done
}

# Port 1 has had one up event more than down events: the last one was an up event.
last_event_up() {
	local downs
	hw_now mrca port_down_events 1
	downs=$hw
	hw_now mrca port_up_events 1
	[ "$hw" -gt "$downs" ]
}

# follows: the netdev has no carrier when those below have none or are set down. carrier:
# some kernels notice only the former. alone: it does not notice. Then the queue pairs do.
carrier() { # follows|carrier|alone LOWER...
	local how=$1 downs=1 was
	shift
	hw_now mrca port_down_events 1
	was=$hw
	load_start
	lowers_go down "$@"
	if [ "$how" != alone ]; then
		# The kernel tells about a carrier with a delay of up to a second.
		wait_for 30 hw_at_least mrca port_down_events 1 $((was + 1))
		[ "$how" = carrier ] || wait_for 30 port_is mrcb 1 DOWN
		[ "$(port_shown mrca/1)" = "DOWN pa1" ] || fail "port 1: $(port_shown mrca/1)"
		downs=2
	fi
	receives_on 2 100
	lowers_go up "$@"
	plane_back
	wait_for 30 port_is mrca 1 ACTIVE
	wait_for 30 port_is mrcb 1 ACTIVE
	receives_on 1 100
	[ "$how" = alone ] || wait_for 30 last_event_up
	# The netdev itself.
	on a link set pa1 down
	wait_for 30 port_is mrca 1 DOWN
	receives_on 2 100
	plane_back
	wait_for 30 port_is mrca 1 ACTIVE
	load_stop
	expect mrca/1 port_down_events == $downs
	expect mrca/1 port_up_events == $downs
	expect mrca/2 port_down_events == 0
}

# Packets of one queue pair leave through both slaves, and both receive. Slaves are chosen by
# UDP ports, and feedback alone may use one for long, so there is data both ways.
both_used() {
	local low h n
	load_start --bidir
	for h in a b; do
		for low in l k; do
			n=$(packets $h $low${h}1 tx)
			wait_for 60 sent_at_least $h $low${h}1 $((n + 50)) ||
				fail "$low${h}1 sent $(packets $h $low${h}1 tx) packets, before $n"
		done
	done
	load_stop
}

sent_at_least() { [ "$(packets "$1" "$2" tx)" -ge "$3" ]; } # a|b NETDEV N

# The link of the active slave fails in the middle of traffic, and comes back: no error,
# and the ports never go down.
failover() {
	load_start
	on b link set lb1 down
	wait_for 30 slave_is a ka1
	wait_for 30 slave_is b kb1
	receives_on 1 200
	on b link set lb1 up
	wait_for 30 slave_is a la1
	wait_for 30 slave_is b lb1
	receives_on 1 200
	load_stop
	expect mrca port_down_events == 0
	expect mrcb port_down_events == 0
}

# All that is shown of one kind. LOWERS has the pairs of veths below it.
# of NAME follows|carrier|alone MTU LOWER-MTU LOWERS KIND OPTIONS...
of() {
	local name=$1 how=$2 mtu=$3 low lower_mtu=$4 lowers=$5 as=() bs=() path=4096 bad
	shift 5
	[ "$mtu" -ge 4188 ] || path=1024
	for low in $lowers; do
		as+=("${low}a1") bs+=("${low}b1")
	done
	[[ $1 != k_veth && $1 != k_vlan ]] || { as=(pa1) && bs=(pb1); }
	bad=$tap_bad
	subtest "$name: becomes a plane" kind "$mtu" "$lower_mtu" "$lowers" "$@"
	if [ "$tap_bad" != "$bad" ] || [ -s "$WORK/skip" ]; then
		kind_gone
		return
	fi
	if [ -n "$with_both" ]; then
		subtest "$name: both slaves carry traffic" both_used
	fi
	subtest "$name: data" data $path "${as[*]}"
	subtest "$name: carrier" carrier "$how" "${bs[@]}"
	[ -z "$and_then" ] || subtest "$name: $and_then" "$and_then"
	kind_gone
}
with_both='' and_then=''

topo 2
on a link del pa1
wait_for 30 port_is mrcb 1 DOWN
of "veth, MTU 1500" follows 1500 1500 l k_veth
of "veth, MTU 9000" follows 9000 9000 l k_veth
of "VLAN above the plane" follows 4500 4500 l k_vlan 802.1q 5
of "QinQ above the plane" follows 4500 4508 l k_vlan 802.1ad 5 802.1q 6
of "macvlan above a VLAN" follows 4500 4500 l k_over_vlan
of "macvlan, bridge" follows 4500 4500 l k_over macvlan mode bridge
of "macvlan, private" follows 4500 4500 l k_over macvlan mode private
of "macvtap" follows 4500 4500 l k_over macvtap mode bridge
of "ipvlan L2" carrier 4500 4500 l k_over ipvlan mode l2
of "bridge" follows 4500 4500 l k_bridge
and_then=failover
of "bond active-backup" follows 4500 4500 "l k" k_bond active-backup
and_then='' with_both=1
of "bond balance-xor" follows 4500 4500 "l k" k_bond balance-xor xmit_hash_policy layer3+4
of "bond 802.3ad" follows 4500 4500 "l k" \
	k_bond 802.3ad lacp_rate fast xmit_hash_policy layer3+4
of "team" follows 4500 4500 "l k" k_team roundrobin
with_both=''
of "VXLAN" alone 4500 4600 l k_tunnel vxlan id 7 dstport 4789
of "GENEVE" alone 4500 4600 l k_tunnel geneve id 7
of "GRE tap" alone 4500 4600 l k_tunnel gretap
tap_end
