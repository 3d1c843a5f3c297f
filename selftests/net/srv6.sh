#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SRv6 from end to end: profiles of SRv6 EVs without and with an SRH, through one uSID
# switch per plane (static routes only, seg6local End with next-csid). Tested are the
# data, the packets on the wire, CE marks on the outer header, MTU limits, lost
# routes, and hosts that cannot send SRv6.
# timeout: 1200
# shellcheck disable=SC2034,SC2154 # variables shared with lib.sh
. "$(dirname "$0")/lib.sh"

# uSIDs (block fcbb:0::/32): host A is 0031, host B is 0032. The switch of plane I has
# 00I0 and 00I1, which give two EVs.
SWITCHES=(switch1 switch2)
BLOCK=fcbb:0

# The routes to the inner addresses are only for the RDMA core, which looks up a
# neighbour when a QP is connected. The switches do not know these addresses.
srv6_up() { # MTU
	local i
	hosts_up
	for i in 1 2; do
		ip netns add "switch$i"
		ip -n "switch$i" link set lo up
		ip netns exec "switch$i" sysctl -q -w net.ipv6.conf.all.forwarding=1 \
			net.ipv6.conf.default.accept_dad=0
		side_up a 1 "$i" "$1"
		side_up b 2 "$i" "$1"
	done
	ip -n hosta -6 route add local "$BLOCK:31::/48" dev lo
	ip -n hostb -6 route add local "$BLOCK:32::/48" dev lo
	for i in 1 2; do
		link_add a "$i"
		link_add b "$i"
	done
	for i in 1 2; do
		plane_ready "$i"
	done
}

# Host H (whose uSID ends in N) on plane I, with the switch's end of the link.
side_up() { # a|b N I MTU
	local h=$1 n=$2 i=$3 mtu=$4 u
	ip -n "host$h" link add name "p$h$i" mtu "$mtu" \
		address "02:00:00:00:0$h:0$i" type veth peer name "s$i$h" \
		netns "switch$i" mtu "$mtu" address "02:00:00:00:1$h:0$i"
	ip -n "switch$i" -batch - <<-END
		link set s$i$h up
		addr add fe80::1/64 dev s$i$h nodad
		neigh add fe80::$h lladdr 02:00:00:00:0$h:0$i dev s$i$h nud permanent
		route add $BLOCK:3$n::/48 via fe80::$h dev s$i$h
	END
	if [ "$n" = 1 ]; then
		for u in 0 1; do
			ip -n "switch$i" -6 route add "$BLOCK:$i$u::/48" \
				encap seg6local action End flavors next-csid \
				lblen 32 nflen 16 dev "s$i$h"
		done
	fi
	ip -n "host$h" -batch - <<-END
		link set p$h$i up
		addr add $(own "$h" 4)/32 dev p$h$i
	END
	routes "$h" "$i"
}

routes() { # a|b I
	local h=$1 i=$2 peer=b
	[ "$h" = a ] || peer=a
	ip -n "host$h" -batch - <<-END
		addr replace $(own "$h" 6)/128 dev p$h$i nodad
		addr replace fe80::$h/64 dev p$h$i nodad
		neigh replace fe80::1 lladdr 02:00:00:00:1$h:0$i dev p$h$i nud permanent
		neigh replace 169.254.0.1 lladdr 02:00:00:00:1$h:0$i dev p$h$i nud permanent
		route replace $(own $peer 4)/32 via 169.254.0.1 dev p$h$i onlink src $(own "$h" 4) metric $((100 + i))
		route replace $(own $peer 6)/128 via fe80::1 dev p$h$i metric $((100 + i))
	END
	outer_routes "$h" "$i"
}

outer_routes() { # a|b I
	local u
	for u in 0 1; do
		ip -n "host$1" -6 route replace "$BLOCK:$2$u::/48" via fe80::1 dev "p$1$2"
	done
}

srv6_topo() { # MTU
	topo_down
	srv6_up "$1" 2>&1 | comment	# not in a condition, so that errexit works there
	PLANES=2
}

hosts_down=$(declare -f topo_down)
eval "hosts_${hosts_down#topo_}"
topo_down() {
	local ns
	hosts_down
	for ns in "${SWITCHES[@]}"; do
		[ ! -e "/run/netns/$ns" ] || ip netns del "$ns" || true
	done
	wait_for 30 no_leftover_netdevs >/dev/null || true
}

# EVs to host H: an address. With an SRH, the outer destination ends at the switch.
evs() { # a|b plain|srh
	local n=1 i u list=''
	[ "$1" = a ] || n=2
	for i in 1 2; do
		for u in 0 1; do
			list+=${list:+,}fcbb000000$i$u
			if [ "$2" = srh ]; then
				list+=00000000000000000000fcbb0000003$n
				list+="00000000000000000000"
			else
				list+=003$n
			fi
			list+=@$i
		done
	done
	echo "$list"
}

# Every QP of both hosts uses SRv6 from now on.
profile() { # plain|srh
	local h peer fields=32,32,32,32
	[ "$1" = plain ] || fields+=,32,32,32,32
	# A failed subtest may have left a profile. Usually there is none.
	no_profile >/dev/null 2>&1 || true
	for h in a b; do
		peer=b
		[ "$h" = a ] || peer=a
		ctl $h -b - <<-END
			fmt add 1 mode srv6 fields $fields
			ev add 1 mode explicit fmt 1 evs $(evs $peer "$1")
			default set $(own $peer 4)/32 ev 1
			default set $(own $peer 6)/128 ev 1
		END
	done
}

no_profile() {
	local h peer
	for h in a b; do
		peer=b
		[ "$h" = a ] || peer=a
		ctl $h -b - <<-END
			default del $(own $peer 4)/32
			default del $(own $peer 6)/128
			ev del 1
			fmt del 1
		END
	done
}

with_profile() { # plain|srh COMMAND...
	profile "$1"
	"${@:2}"
	no_profile
}

# Each host received every packet that the other one sent, all of them encapsulated.
expect_all_encapsulated() {
	local h peer
	for h in a b; do
		peer=b
		[ "$h" = a ] || peer=a
		expect "mrc$h" tx_srv6 '>' 0
		# The last ACK of a QP is repeated, perhaps after its peer has ended.
		check $(($(ctr "mrc$peer" rx_srv6) +
			$(ctr "mrc$peer" rx_drop_unknown_qp))) '==' \
			"$(ctr "mrc$h" tx_srv6)" "what $peer got of $h"
		expect "mrc$h" rx_drop_srv6 == 0
		expect "mrc$h" tx_errors == 0
		expect "mrc$h" qp_errors == 0
	done
	# Data and all feedback: no packet was sent without an outer header.
	check "$(ctr mrca tx_srv6)" '>=' "$(ctr mrca tx_data_pkts)" "tx_srv6 of A"
	check "$(ctr mrcb tx_srv6)" '>=' \
		$(($(ctr mrcb tx_sack) + $(ctr mrcb tx_ack))) "tx_srv6 of B"
}

data() { # mrc_verify OPTIONS...
	ctr_mark
	verify "$@" --timeout 18	# 1 s: no retransmission because of a slow machine
	ctr_quiet 20
	ctr_take
	expect_all_encapsulated
	expect_equal_share mrca tx_data_pkts 25
	# Nothing is lost. The last packet is sent again if the machine pauses before the SACK.
	expect mrca tx_rtx_pkts == "$(ctr mrca rtx_last_psn)"
}

# The wire: srv6_wire.py compares every byte of the outer headers with headers that it
# makes itself. It needs 40 packets of each direction on one of two planes. ACKs of
# immediates are never combined with others, and half of the messages have an
# immediate.
wire() { # plain|srh [-6]
	local watch
	start "$WORK/wire" ip netns exec hosta python3 "$NET_DIR/srv6_wire.py" pa1 \
		"$1" 40
	watch=$started
	wait_for 90 grep -q listening "$WORK/wire"
	verify "${@:2}" --iters 240 --size 1,100,4097,9000 --op mixed --timeout 18
	finished "$watch" 20 || {
		cat "$WORK/wire"
		fail "packets on the wire are not what they should be"
	}
}

codepoints() {
	local watch map word h
	profile plain
	ctl a tc set no_trim 10 control 40
	ctl b tc set no_trim 10 control 40
	start "$WORK/wire" ip netns exec hosta python3 "$NET_DIR/srv6_wire.py" pa1 \
		plain 40 40 160
	watch=$started
	wait_for 90 grep -q listening "$WORK/wire"
	verify --iters 240 --size 100 --op mixed --timeout 18
	finished "$watch" 20 || {
		cat "$WORK/wire"
		fail "codepoints on the wire are not those of the map"
	}
	refuse '^mrcctl: tc: Invalid argument' ctl a tc set trimmed 46 trimmed_lasthop 46
	refuse '64 is more than 63' ctl a tc set trimmed 64
	map=" $(ctl a tc show) "
	for word in "no_trim 10" "control 40" "trimmed 12"; do
		[[ $map == *" $word "* ]] || fail "a refused map changed something: $map"
	done
	for h in a b; do
		ctl $h tc set no_trim 0 control 46
	done
	no_profile
}

# The switch marks packets instead of dropping them. It reads and changes only the
# outer header.
marked() {
	ip netns exec switch1 tc qdisc replace dev s1b root netem loss 20% ecn
	ctr_mark
	verify "$@" --iters 200 --size 20000 --op mixed --timeout 18
	ctr_quiet 20
	ctr_take
	ip netns exec switch1 tc qdisc del dev s1b root
	# It drops only packets that cannot be marked: control packets, no data.
	expect mrcb rx_srv6 '>=' "$(ctr mrca tx_data_pkts)"
	expect mrcb rx_drop_srv6 == 0
	expect mrca qp_errors == 0
	expect mrcb/1 rx_ce_marked '>' 5
	expect mrcb/2 rx_ce_marked == 0
	expect mrca loss_inferred == 0
}

lossy() {
	ip netns exec switch1 tc qdisc replace dev s1b root netem loss 3%
	ip netns exec switch2 tc qdisc replace dev s2a root netem loss 3%
	ctr_mark
	verify "$@" --iters 150 --size 1,4097,65536 --op mixed --timeout 18
	ctr_quiet 20
	ctr_take
	ip netns exec switch1 tc qdisc del dev s1b root
	ip netns exec switch2 tc qdisc del dev s2a root
	expect mrca tx_rtx_pkts '>' 0
	expect mrca qp_errors == 0
	expect mrcb rx_drop_srv6 == 0
}

# A netdev MTU that just holds a full packet, and an MTU one byte smaller.
mtu() { # plain|srh BYTES-IPv4 BYTES-IPv6
	local family need h i options
	for family in 4 6; do
		need=$2 options=()
		[ "$family" = 4 ] || { need=$3 options=(-6); }
		for h in a b; do
			for i in 1 2; do
				ip -n "host$h" link set "p$h$i" mtu "$need"
			done
		done
		data ${options[@]+"${options[@]}"} --mtu 4096 --iters 40 --size 8192,65536 --op mixed
		ip -n hosta link set pa1 mtu $((need - 1))
		verify_refused ${options[@]+"${options[@]}"}
		ip -n hosta link set pa1 mtu 4500
	done
}

verify_refused() { # [-6]: the QP must not reach RTR on host A
	local gid=$A4 peer=$B4
	[ "${1:-}" != -6 ] || { gid=$A6 peer=$B6; }
	in_a python3 "$NET_DIR/srv6_rtr.py" mrca "$gid" "$peer" 4096 EINVAL
	in_a python3 "$NET_DIR/srv6_rtr.py" mrca "$gid" "$peer" 2048 0
}

# Routes of plane 2 are removed under load and come back.
lost_route() {
	local from u
	ctr_mark
	verify_start --duration 1000 --size 65536 --op mixed --depth 16 --timeout 18
	wait_for 30 ctr_at_least mrcb/2 rx_data_pkts \
		$(($(ctr_now mrcb/2 rx_data_pkts) + 100))
	for u in 0 1; do
		ip -n hosta -6 route del "$BLOCK:2$u::/48"
	done
	for n in 1 2; do
		from=$(ctr_now mrcb/1 rx_data_pkts)
		wait_for 30 ctr_at_least mrcb/1 rx_data_pkts $((from + 200))
	done
	outer_routes a 2
	from=$(ctr_now mrcb/2 rx_data_pkts)
	wait_for 30 ctr_at_least mrcb/2 rx_data_pkts $((from + 100))
	verify_stop
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
}

# One of the two EVs of a plane has no route: the other one carries the plane.
lost_ev() {
	local from
	ip -n hosta -6 route del "$BLOCK:21::/48"
	ctr_mark
	verify --iters 200 --size 65536 --op mixed --timeout 18
	ctr_quiet 20
	ctr_take
	outer_routes a 2
	expect mrca/2 tx_data_pkts '>' 20
	expect mrca qp_errors == 0
}

plane_down() {
	local from
	verify_start --duration 1000 --size 65536 --op mixed --depth 16 --timeout 18
	wait_for 30 ctr_at_least mrcb/2 rx_data_pkts \
		$(($(ctr_now mrcb/2 rx_data_pkts) + 100))
	ip -n hosta link set pa2 down
	wait_for 30 port_is mrca 2 DOWN
	from=$(ctr_now mrcb/1 rx_data_pkts)
	wait_for 30 ctr_at_least mrcb/1 rx_data_pkts $((from + 200))
	ip -n hosta link set pa2 up
	routes a 2
	from=$(ctr_now mrcb/2 rx_data_pkts)
	wait_for 30 ctr_at_least mrcb/2 rx_data_pkts $((from + 100))
	verify_stop
}

# A host that lacks something for SRv6 reports it when the profile goes ONLINE, and
# the profile does not change.
plain_host() {
	local u
	ctl a fmt add 1 mode srv6 fields 32,32,32,32
	ctl a ev add 1 mode explicit fmt 1 evs "$(evs b plain)"
	ctl a ev set 1 state offline

	for u in 0 1; do
		ip -n hosta -6 route del "$BLOCK:2$u::/48"
	done
	refused_online 'no route to fcbb:0:20:32:: through port 2' \
		'Network is unreachable (there is no route to the address of an EV'
	outer_routes a 2
	ctl a ev set 1 state online
	ctl a ev set 1 state offline

	ip -n hosta -6 addr del "$A6/128" dev pa1
	ip -n hosta -6 addr del "$A6/128" dev pa2
	refused_online 'no IPv6 address' 'the port of an EV has no IPv6 address'
	for n in 1 2; do
		ip -n hosta -6 addr add "$A6/128" dev "pa$n" nodad
	done
	ctl a ev set 1 state online
	ctl a ev set 1 state offline

	ip -n hosta -6 route replace "$BLOCK:11::/48" via fe80::1 dev pa1 mtu 300
	refused_online 'towards fcbb:0:11:32:: .port 1. is too small' \
		'has no room for SRv6'
	outer_routes a 1

	in_a sysctl -q -w net.ipv6.conf.pa1.disable_ipv6=1
	refused_online 'IPv6, which is disabled' 'SRv6 needs IPv6'
	in_a sysctl -q -w net.ipv6.conf.pa1.disable_ipv6=0
	routes a 1

	for n in 1 2; do
		ctl a port set $n disable
	done
	refused_online 'no port of the SRv6 EVs is up' 'none of the ports'
	for n in 1 2; do
		ctl a port set $n enable
		wait_for 30 port_is mrca $n ACTIVE
	done
	ctl a ev set 1 state online

	# A profile in use stays unchanged if the host cannot support its replacement.
	refuse '^mrcctl: ev 1: Invalid argument' \
		ctl a ev replace 1 "fcbb000000100032@1" "fcbb000000100032@3"
	[ "$(ctl a ev show 1 | evs_shown | wc -l)" = 4 ] || fail "EVs were lost"
	ctl a ev del 1
	ctl a fmt del 1
}

# mrcctl has words of its own for each errno.
refused_online() { # MESSAGE-IN-THE-LOG WORDS-OF-MRCCTL
	dmesg -C
	if ctl a ev set 1 state online >"$WORK/said" 2>&1; then
		fail "mrcctl brought it online"
	fi
	dmesg | grep -q "mrc: .*$1" || fail "no word in the kernel log: $(dmesg)"
	grep -q -F "mrcctl: ev 1: " "$WORK/said" || fail "mrcctl: $(cat "$WORK/said")"
	grep -q -F "$2" "$WORK/said" || fail "mrcctl: $(cat "$WORK/said")"
	ctl a ev show 1 | grep -q '^ev 1 state offline ' || fail "the profile is not offline"
}

# Profiles and their routes are made and removed again and again.
memory() {
	local n
	cycle
	memory_before "$WORK/before"
	for n in 1 2 3 4 5 6; do
		cycle
	done
	expect_memory_back "$WORK/before" 60 1500
}

cycle() {
	profile srh
	verify --qps 4 --iters 10 --size 20000 --op mixed
	no_profile
}

srv6_topo 4500
for kind in plain srh; do
	profile $kind
	subtest "$kind: IPv4 inside" data --iters 100 --size 1,4097,65536 --op mixed
	subtest "$kind: IPv6 inside" data -6 --iters 100 --size 1,4097,65536 --op mixed
	subtest "$kind: both directions, several QPs" \
		data -6 --bidir --qps 3 --iters 60 --size 0,1,255,4096,20000 --op mixed
	subtest "$kind: IPv4 on the wire" wire $kind
	subtest "$kind: IPv6 on the wire" wire $kind -6
	subtest "$kind: marks on the outer header count" marked -6
	subtest "$kind: loss" lossy
	no_profile
done
subtest "MTU" with_profile plain mtu plain 4208 4228
subtest "MTU, with an SRH" with_profile srh mtu srh 4232 4252
subtest "codepoints" codepoints
subtest "routes of a plane go and come under load" with_profile plain lost_route
subtest "an EV without a route" with_profile plain lost_ev
subtest "a plane goes down and comes up" with_profile plain plane_down
subtest "hosts that cannot send SRv6" plain_host
subtest "no memory is left behind" memory
tap_end
