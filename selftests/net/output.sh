#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packets of the driver count as output of the host everywhere: IP's statistics,
# netfilter, the neighbour tables and qdiscs see every packet, whether or not the
# driver uses its shortcut to the neighbour.
# timeout: 900
# long
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_ip.sh"

counted4() {
	batches off
	traffic
	check "$(ip_grew a Ip:OutRequests)" '>=' "$(sent_by mrca)" "packets of mrca"
	check "$(ip_grew b Ip:OutRequests)" '>=' "$(sent_by mrcb)" "packets of mrcb"
	ip_conserved Ip:OutRequests Ip:InReceives
	ip_conserved IpExt:OutOctets IpExt:InOctets
	if grep -q '^Ip:OutTransmits ' "$WORK/a.take"; then
		ip_conserved Ip:OutTransmits Ip:InReceives
	fi
}

# Kernels without OutTransmits count sent packets only at IPv6's sockets, whether or
# not the shortcut is used. All kernels count received packets.
counted6() {
	batches off
	traffic -6
	if ! grep -q '^Ip6OutTransmits ' "$WORK/a.take"; then
		check "$(ip_grew a Ip6OutOctets)" '<' "$(ctr mrca tx_data_bytes)" "bytes of mrca"
		check "$(ip_grew b Ip6InReceives)" '>=' "$(sent_by mrca)" "packets of mrca"
		return
	fi
	check "$(ip_grew a Ip6OutOctets)" '>' "$(ctr mrca tx_data_bytes)" "bytes of mrca"
	ip_conserved Ip6OutOctets Ip6InOctets
	check "$(ip_grew a Ip6OutTransmits)" '>=' "$(sent_by mrca)" "packets of mrca"
	ip_conserved Ip6OutTransmits Ip6InReceives
}

# Both output hooks see each packet of both hosts, and so does the peer's input hook.
hooked() { # OPTIONS...
	unwatch
	batches on
	ctr_quiet 20
	watch a output postrouting input
	watch b output postrouting input
	traffic "$@"
	local h peer
	for h in a b; do
		[ $h = a ] && peer=b || peer=a
		check "$(seen $h output)" == "$(sent_by mrc$h)" "output hook of host $h"
		check "$(seen $h postrouting)" == "$(seen $h output)" "postrouting hook of host $h"
		check "$(seen $peer input)" == "$(seen $h output)" "input hook of host $peer"
	done
	unwatch
}

hooked_is_counted() { # 4|6
	unwatch
	watch a output
	watch b output
	counted"$1"
	unwatch
}

# An IPsec policy that blocks output takes effect as soon as it exists.
blocked() { # ADDRESS OPTIONS...
	local to=$1 before
	shift
	load_start "$@"
	in_a ip xfrm policy add dir out dst "$to" dev pa1 action block
	before=$(ctr_now mrcb/1 rx_data_pkts)
	arrives 2 300
	check "$(($(ctr_now mrcb/1 rx_data_pkts) - before))" '<' 100 "packets past the policy"
	in_a ip xfrm policy del dir out dst "$to" dev pa1
	arrives 1 50
	verify_stop_well
}

# The peer gets another hardware address: packets follow the neighbour table from then
# on. Meanwhile the other plane carries the traffic.
moved() { # ADDRESS OPTIONS...
	local to=$1 mac
	shift
	load_start "$@"
	for mac in 02:00:00:00:0c:01 02:00:00:00:0b:01; do
		ip -n "$HOST_B" link set pb1 address "$mac"
		ip -n "$HOST_A" neigh replace "$to" lladdr "$mac" dev pa1 nud permanent
		arrives 1 200
	done
	verify_stop_well
}

# Neighbours that the kernel forgets are resolved again.
forgotten() { # OPTIONS...
	load_start "$@"
	for _ in 1 2; do
		ip -n "$HOST_A" neigh flush dev pa1
		ip -n "$HOST_B" neigh flush dev pb1
		arrives 1 50
	done
	verify_stop_well
}

# A tap and a qdisc are below the shortcut, so both see every packet.
shaped() {
	local before after
	in_a tc qdisc replace dev pa1 root handle 1: pfifo limit 5000
	before=$(qdisc_packets)
	traffic
	after=$(qdisc_packets)
	in_a tc qdisc del dev pa1 root
	check $((after - before)) '>=' "$(sent_by mrca)" "packets through the qdisc"
}

qdisc_packets() {
	in_a tc -s qdisc show dev pa1 | sed -n 's/.*Sent [0-9]* bytes \([0-9]*\) pkt.*/\1/p' |
		head -n 1
}

topo 1
subtest "IPv4: every packet and byte is in the host's statistics" counted4
subtest "IPv6: every packet and byte is in the host's statistics" counted6
subtest "IPv4: with a rule, the same" hooked_is_counted 4
subtest "IPv6: with a rule, the same" hooked_is_counted 6
subtest "IPv4: netfilter sees each packet" hooked
subtest "IPv6: netfilter sees each packet" hooked -6
subtest "each packet goes through the qdisc" shaped
topo 2
subtest "IPv4: a rule in the middle of a transfer" dropped a output 'oifname "pa2"'
subtest "IPv6: a rule in the middle of a transfer" dropped a output 'oifname "pa2"' -6
subtest "IPv4: a policy in the middle of a transfer" blocked "$B4"
subtest "IPv6: a policy in the middle of a transfer" blocked "$B6" -6
subtest "IPv4: another hardware address of the peer" moved "$B4"
subtest "IPv6: another hardware address of the peer" moved "$B6" -6
TOPO_RESOLVE=1
topo 2 4400
subtest "IPv4: forgotten neighbours" forgotten
subtest "IPv6: forgotten neighbours" forgotten -6
tap_end
