#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packets in a row to one entropy value leave as one segmentation packet. Over veth they
# arrive as one; a netdev that does not pass it on takes it apart. Where something looks at
# packets, each of them is seen by itself.
# timeout: 900
# long
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_ip.sh"

in_receives() { # a|b 4|6: of packets that came as one only the first
	[ "$2" = 4 ] && ip_grew "$1" Ip:InReceives || ip_grew "$1" Ip6InReceives
}

# as_one 4|6 yes|no: whether packets come to host B as one.
as_one() {
	local all first
	# shellcheck disable=SC2046
	traffic $(family "$1")
	all=$(ip_received b "$1") first=$(in_receives b "$1")
	check "$all" '>=' "$(sent_by mrca)" "packets at host B"
	if [ "$2" = yes ]; then
		check $((first * 4)) '<' $((all * 3)) "packets at host B that came first or alone"
	else
		check "$first" == "$all" "packets at host B that came first or alone"
	fi
}

# Each while something at host A or B looks at packets, and as before afterwards.
looked_at() { # 4|6 COMMAND-TO-ADD COMMAND-TO-REMOVE
	$2
	as_one "$1" no
	$3
	as_one "$1" yes
}

add_qdisc() { in_a tc qdisc replace dev pa1 root netem limit 10000; }
del_qdisc() { in_a tc qdisc del dev pa1 root; }

# It marks packets.
add_codel() { in_a tc qdisc replace dev pa1 root fq_codel; }

# Such a netdev would copy all packets into one.
add_linear() { in_a ethtool -K pa1 tx-scatter-gather-fraglist off >/dev/null; }
del_linear() { in_a ethtool -K pa1 tx-scatter-gather-fraglist on >/dev/null; }

add_tc_a() {
	in_a tc qdisc replace dev pa1 clsact
	in_a tc filter add dev pa1 egress matchall action ok
}
del_tc_a() { in_a tc qdisc del dev pa1 clsact; }

add_tc_b() {
	in_b tc qdisc replace dev pb1 clsact
	in_b tc filter add dev pb1 ingress matchall action ok
}
del_tc_b() { in_b tc qdisc del dev pb1 clsact; }

add_nft_b() {
	in_b nft -f - <<-END
		table netdev at {
			chain in {
				type filter hook ingress device "pb1" priority 0;
				udp dport 4791 accept
			}
		}
	END
}
del_nft_b() { in_b nft delete table netdev at; }

add_nft_a() { watch a postrouting; }
add_input_b() { watch b input; }

# A capture at a host's netdev.
tap_start() { # HOST NETDEV
	start "$WORK/tap" ip netns exec "host$1" python3 -c '
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((sys.argv[1], 3))
print("ready", flush=True)
while True:
    s.recv(65535)
' "$2"
	tap=$started
	wait_for 30 grep -q ready "$WORK/tap"
}
add_tap_a() { tap_start a pa1; }
add_tap_b() { tap_start b pb1; }
del_tap() {
	kill "$tap"
	finished "$tap" 30 || true
}

# The netdev does not send such packets: the kernel takes them apart in front of it.
apart() { # 4|6
	in_a ethtool -K pa1 tx-gso-list off >/dev/null
	as_one "$1" no
	in_a ethtool -K pa1 tx-gso-list on >/dev/null
	as_one "$1" yes
}

# The first packets, and some of each second, take the IP input path as one.
long() { # 4|6
	ctr_mark
	# shellcheck disable=SC2046
	verify $(family "$1") --size 65536 --duration 5 --depth 32 --op mixed --timeout 18
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	# A machine that pauses makes packets look lost that are late.
	check $(($(ctr mrca tx_rtx_pkts) * 100)) '<=' "$(ctr mrca tx_data_pkts)" "packets sent again"
	expect_all_arrived mrca mrcb
}

# With two planes each carries half of a long transfer.
both_planes() {
	ctr_mark
	verify --size 65536 --iters 400 --depth 32 --op write
	ctr_take
	expect_equal_share mrca tx_data_pkts 10
}

topo 1
for f in 4 6; do
	subtest "IPv$f: packets arrive as one" as_one $f yes
	batches off
	subtest "IPv$f: gso_max_segs 1: each by itself" as_one $f no
	batches on
	subtest "IPv$f: a long transfer" long $f
	subtest "IPv$f: a netdev that does not pass them on" apart $f
	subtest "IPv$f: a qdisc sees each packet" looked_at $f add_qdisc del_qdisc
	subtest "IPv$f: so does one that marks packets" looked_at $f add_codel del_qdisc
	subtest "IPv$f: a netdev without lists of fragments" looked_at $f add_linear del_linear
	subtest "IPv$f: a filter of tc at the sender sees each packet" looked_at $f add_tc_a del_tc_a
	subtest "IPv$f: a filter of tc at the receiver sees each packet" looked_at $f add_tc_b del_tc_b
	subtest "IPv$f: a filter of netfilter at the receiver's netdev sees each packet" \
		looked_at $f add_nft_b del_nft_b
	subtest "IPv$f: a rule for output sees each packet" looked_at $f add_nft_a unwatch
	subtest "IPv$f: a rule for input sees each packet" looked_at $f add_input_b unwatch
	subtest "IPv$f: a capture at the sender sees each packet" looked_at $f add_tap_a del_tap
	subtest "IPv$f: a capture at the receiver sees each packet" looked_at $f add_tap_b del_tap
done
topo 2
subtest "both planes carry as much" both_planes
tap_end
