#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packets for the driver count as input of the host everywhere, although most of them do
# not take the IP input path: statistics, netfilter, raw sockets, IPsec policies and
# routes, also those that change in the middle of a transfer.
# timeout: 900
# long
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_ip.sh"

TRACE=/sys/kernel/tracing

# The look-ups of routes for packets that arrive, since lookups_start, in all namespaces.
lookups_start() { # 4|6
	local name=fib
	[ "$1" = 4 ] || name=fib6
	FIB=$TRACE/events/$name/${name}_table_lookup/enable
	if [ ! -e "$FIB" ]; then
		skip "the kernel has no trace event ${name}_table_lookup"
	fi
	echo 1 >"$TRACE/tracing_on"
	echo 0 >"$FIB"
	echo >"$TRACE/trace"
	echo 1 >"$FIB"
}
lookups() {
	echo 0 >"$FIB"
	cat "$TRACE"/per_cpu/cpu*/stats | awk '
		/^(entries|overrun|dropped events):/ { n += $NF }
		END { print n }'
}

# Each datagram is in the statistics of IP and UDP once, however it arrived.
counted() { # 4|6 BATCHES
	batches "$2"
	local h peer udp=Udp:InDatagrams delivers=Ip:InDelivers receives=Ip:InReceives
	[ "$1" = 4 ] || udp=Udp6InDatagrams delivers=Ip6InDelivers receives=Ip6InReceives
	# shellcheck disable=SC2046
	traffic $(family "$1")
	for h in a b; do
		[ $h = a ] && peer=b || peer=a
		check "$(ip_grew $h $udp)" == "$(sent_by mrc$peer)" "datagrams of UDP at host $h"
		check "$(ip_received $h "$1")" '>=' "$(ip_grew $h $udp)" "packets at host $h"
		if [ "$2" = off ]; then
			check "$(ip_grew $h $delivers)" '>=' "$(ip_grew $h $udp)" "delivered at host $h"
			check "$(ip_received $h "$1")" == "$(ip_grew $h $receives)" "packets by their ECN"
		fi
	done
	# Bytes: what output.sh compares with the sender's.
	[ "$1" = 6 ] || ip_conserved IpExt:OutOctets IpExt:InOctets
}

# Most packets need no look-up of a route, unless something has to see them.
spared() { # 4|6 yes|no
	lookups_start "$1"
	# shellcheck disable=SC2046
	traffic $(family "$1")
	if [ "$2" = yes ]; then
		check $(($(lookups) * 4)) '<' "$(sent_by mrca)" "look-ups"
	else
		check "$(lookups)" '>=' "$(sent_by mrca)" "look-ups"
	fi
}

spared_not_with() { # 4|6 HOOK
	watch a "$2"
	watch b "$2"
	spared "$1" no
	check "$(seen b "$2")" == "$(sent_by mrca)" "$2 hook"
	unwatch
}

# The packets of plane 1 do not arrive any more.
silent() {
	local before
	before=$(ctr_now mrcb/1 rx_data_pkts)
	arrives 2 300
	check "$(($(ctr_now mrcb/1 rx_data_pkts) - before))" '<' 100 "packets in spite of it"
}

# An IPsec policy that blocks input takes effect as soon as it exists.
blocked() { # ADDRESS OPTIONS...
	local from=$1 before again
	shift
	# Nothing arrives for a while, which the queue pair has to outlast.
	load_start "$@" --timeout 20
	again=$(ctr_now mrca tx_rtx_pkts)
	in_b ip xfrm policy add dir in src "$from" action block
	before=$(ctr_now mrcb rx_data_pkts)
	wait_for 60 ctr_at_least mrca tx_rtx_pkts $((again + 40))
	check "$(($(ctr_now mrcb rx_data_pkts) - before))" '<' 10 "packets past the policy"
	in_b ip xfrm policy del dir in src "$from"
	arrives 1 50
	arrives 2 50
	verify_stop_well
}

# A rule before the table of local addresses: what arrives through plane 1 is not for this
# host. The IP input path may know only more than the addresses of a packet.
routed_away() { # 4|6 SELECTOR...
	local f=$1
	shift
	in_b ip "-$f" rule add pref 10 lookup local
	in_b ip "-$f" rule del pref 0
	# shellcheck disable=SC2046
	load_start $(family "$f")
	in_b ip "-$f" rule add pref 5 iif pb1 "$@" blackhole
	silent
	in_b ip "-$f" rule del pref 5
	arrives 1 50
	verify_stop_well
}

rules_back() { # 4|6
	in_b ip "-$1" rule del pref 5 2>/dev/null || true
	in_b ip "-$1" rule add pref 0 lookup local 2>/dev/null || true
	in_b ip "-$1" rule del pref 10 2>/dev/null || true
}

# Sockets that get copies of what IP gets.
copied() { # 4|6 raw|packet
	# shellcheck disable=SC2046
	load_start $(family "$1")
	in_b timeout "$((60 * ${LAB_TIME:-1}))" python3 - "$@" <<-'END'
		import socket, sys
		family, kind = sys.argv[1:]
		offset = 20 if family == "4" else 40
		if kind == "raw":
		    s = socket.socket({"4": socket.AF_INET, "6": socket.AF_INET6}[family],
		                      socket.SOCK_RAW, socket.IPPROTO_UDP)
		    offset = offset if family == "4" else 0
		else:
		    proto = {"4": 0x0800, "6": 0x86dd}[family]
		    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(proto))
		    s.bind(("pb1", proto))
		n = 0
		while n < 200:
		    data = s.recv(65535)
		    n += data[offset + 2:offset + 4] == (4791).to_bytes(2, "big")
	END
	arrives 1 50
	verify_stop_well
}

topo 1
for f in 4 6; do
	subtest "IPv$f: each packet is in the statistics of IP and UDP" counted $f off
	subtest "IPv$f: the same where several come as one" counted $f on
done
for f in 4 6; do
	subtest "IPv$f: few packets need a look-up of a route" spared $f yes
	subtest "IPv$f: with a rule at prerouting each one does" spared_not_with $f prerouting
	subtest "IPv$f: with a rule at input each one does" spared_not_with $f input
	subtest "IPv$f: without them, few again" spared $f yes
done
topo 2
subtest "IPv4: a rule at input in the middle of a transfer" dropped b input 'iifname "pb2"'
subtest "IPv6: a rule at input in the middle of a transfer" dropped b input 'iifname "pb2"' -6
subtest "IPv4: a rule at prerouting in the middle of a transfer" dropped b prerouting 'iifname "pb2"'
subtest "IPv6: a rule at prerouting in the middle of a transfer" dropped b prerouting 'iifname "pb2"' -6
subtest "IPv4: a policy in the middle of a transfer" blocked "$A4"
subtest "IPv6: a policy in the middle of a transfer" blocked "$A6" -6
for f in 4 6; do
	subtest "IPv$f: a raw socket sees the packets" copied $f raw
	subtest "IPv$f: a packet socket for IP sees the packets" copied $f packet
	subtest "IPv$f: a rule for routes in the middle of a transfer" routed_away $f
	rules_back $f
	subtest "IPv$f: a rule for routes that looks at ports" routed_away $f ipproto udp dport 4791
	rules_back $f
done
tap_end
