#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The fabrics of lib_fabric.sh themselves, without mrc. Packets between any two hosts
# take exactly the named path. Links fail and recover by name. The counters of links
# are exact.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

# Prints a line for fabric_udp.py and appends the expected packets of each link to
# $WORK/expected.
path_flow() { # A PLANE S B COUNT
	echo "h$1 p$2 $(port6 "$1" "$2") 4000 $(usid_path "$1" "$3" "$4") h$4 $5"
	path_links "$1" "$2" "$3" "$4" | sed "s/$/ $5/" >>"$WORK/expected"
}

send_flows() { python3 "$NET_DIR/fabric_udp.py" <"$WORK/flows"; }

# The links in $WORK/expected carried the sums given there, and no other link carried
# any packet.
expect_links() {
	links_grown 4 | awk '
		FNR == NR { want[$1] += $2; next }
		{
			if ($2 != want[$1] + 0) {
				print $1 " sent " $2 ", expected " want[$1] + 0
				bad = 1
			}
			delete want[$1]
		}
		END {
			for (l in want) { print "no such link: " l; bad = 1 }
			exit bad
		}' "$WORK/expected" - || fail "links carried something else"
}

# Every path carries a different number of packets, so that no two paths can be
# confused.
every_path() {
	local a b p s n=0
	: >"$WORK/expected"
	for ((a = 1; a <= FAB_HOSTS; a++)); do
		for ((b = 1; b <= FAB_HOSTS; b++)); do
			[ $a != $b ] || continue
			for ((p = 1; p <= FAB_PLANES; p++)); do
				for ((s = 1; s <= FAB_SPINES; s++)); do
					n=$((n + 1))
					path_flow $a $p $s $b $n
					[ "$(leaf_of $a)" != "$(leaf_of $b)" ] || break
				done
			done
		done
	done >"$WORK/flows"
	links_mark
	send_flows
	links_take
	expect_links
	echo "figure: $n paths of $FAB_HOSTS hosts"
}

bytes_exact() {
	echo "h1 p1 $(port6 1 1) 4000 $(usid_path 1 1 3) h3 10" >"$WORK/flows"
	links_mark
	send_flows
	links_take
	# Ethernet, IPv6, UDP and 64 bytes
	check "$(link_tx_bytes p1s1:l2)" == $((10 * (14 + 40 + 8 + 64))) "bytes"
	check "$(link_rx p1s1:l1)" == 10 "packets received"
}

# The path through $1 from host 1 to host 3 works or fails; the other paths work.
only_path_lost() { # PLANE SPINE
	local p s
	: >"$WORK/expected"
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			if [ "$p.$s" = "${1:-}.${2:-}" ]; then
				path_flow 1 "$p" "$s" 3 5 | sed 's/$/ expect-none/'
			else
				path_flow 1 "$p" "$s" 3 7
			fi
		done
	done >"$WORK/flows"
	send_flows
}

cut_and_heal() {
	local link
	for link in p1l1:s1 p1s1:l2; do
		link_cut $link
		only_path_lost 1 1
		link_heal $link
		only_path_lost
	done
	spine_down 2 1
	only_path_lost 2 1
	spine_up 2 1
	only_path_lost
}

host_port() {
	link_cut h1:p2
	wait_for 30 no_carrier p2l1:h1
	link_heal h1:p2
	only_path_lost
	# Cut at the switch: the host's netdev stays up, without carrier.
	link_cut p1l1:h1
	wait_for 30 no_carrier h1:p1
	link_heal p1l1:h1
	only_path_lost
}

no_carrier() { ip -n "${1%%:*}" link show dev "${1#*:}" | grep -q NO-CARRIER; }

impaired() {
	link_loss p1l1:s2 100
	only_path_lost 1 2
	link_clear p1l1:s2
	only_path_lost
	# A combination, in both directions: no queue drops a packet.
	link_set p1l1:s1 rate 20000 delay 2 mark 20000 trim 60000
	link_set p1s1:l1 rate 20000 delay 2.5
	only_path_lost
	check "$(switch_stat p1l1:s1 data_pkts)" == 7 "packets of the switch port"
	link_set p1l1:s1 delay '' mark '' trim '' rate ''
	only_path_lost
	link_clear p1l1:s1
	link_clear p1s1:l1
	[ -z "$(on p1l1 cat /proc/net/mrcsw)" ]
}

# Flows with many source ports from host 1 to a host of the last leaf spread over the
# spines, and no packet is lost. The key of the hash is random at each boot. With so
# many flows, chance gives no spine less than a third of its share.
ecmp_spreads() { # 4|6
	local flows=192 n sent=0 to from s share leaf=$FAB_LEAVES host=$FAB_HOSTS
	to=$(host"$1" "$host") from=$(host"$1" 1)
	for ((n = 0; n < flows; n++)); do
		echo "h1 p1 $from $((20000 + n * 7)) $to h$host 3"
	done >"$WORK/flows"
	links_mark
	send_flows
	links_take
	for ((s = 1; s <= FAB_SPINES; s++)); do
		share=$(link_tx "p1l1:s$s")
		check "$share" '>=' $((flows * 3 / FAB_SPINES / 3)) "packets through spine $s"
		check $((share % 3)) == 0 "no flow is split; packets of spine $s modulo 3"
		check "$(link_tx "p1s$s:l$leaf")" == "$share" "spine $s passes on"
		sent=$((sent + share))
	done
	check $sent == $((flows * 3)) "packets over all spines"
	check "$(link_tx "p1l$leaf:h$host")" == $((flows * 3)) "packets to the host"
}

fabric srv6
subtest "srv6: every path between every two hosts, counted on every link" every_path
subtest "srv6: bytes of links are exact" bytes_exact
subtest "srv6: links and a spine cut and healed" cut_and_heal
subtest "srv6: a host's port cut at either end and healed" host_port
subtest "srv6: loss, delay, rate, marking and trimming by name" impaired
fabric ecmp 1 2 2 1
subtest "ecmp: IPv6 flows spread over the spines" ecmp_spreads 6
subtest "ecmp: IPv4 flows spread over the spines" ecmp_spreads 4
fabric srv6+ecmp 1 3 3 1
subtest "srv6 and ecmp together: every path of a larger fabric" every_path
subtest "srv6 and ecmp together: IPv6 flows spread" ecmp_spreads 6
tap_end
