#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs of a host cannot send packets in the name of its device: not from a UDP socket,
# whatever its address is, not in fragments, not from a container behind a translation of
# addresses, and not through a route that puts packets into outer headers. Nor can they send
# to the own host in the name of its peer. Raw sockets of root can, and others' packets that
# the host forwards pass. Without the guard all of them arrive.
# timeout: 300
. "$(dirname "$0")/lib.sh"

N=8
SETTING=/sys/module/mrc/parameters/guard

guard() { # Y|N
	echo "$1" >"$SETTING"
	[ "$(cat "$SETTING")" = "$1" ] || fail "parameter guard is $(cat "$SETTING")"
}

# N packets of NETNS for A, and one of root that comes after them. So many of N arrive.
arrive() { # ARRIVING NETNS HOW FROM OWN TO
	local arriving=$1 ns=$2 own=$B4 c
	shift 2
	case $4 in
	*:*) own=$B6 ;;
	esac
	ctr_mark
	ip netns exec "$ns" python3 "$NET_DIR/guard.py" "$1" "$N" "$2" "$3" "$4" >"$WORK/sent"
	comment <"$WORK/sent"
	[ "$ns" != cont ] || wait_for 60 translated "$N"
	check "$(tail -n 1 "$WORK/sent")" == "$N" "datagrams that the kernel took"
	in_b python3 "$NET_DIR/guard.py" raw 1 "$own" - "$4" | comment
	wait_for 60 ctr_at_least mrca rx_drop_unknown_qp \
		$(($(ctr_marked mrca rx_drop_unknown_qp) + arriving + 1))
	ctr_quiet 20
	ctr_take
	expect mrca rx_drop_unknown_qp == $((arriving + 1))
	for c in rx_drop_icrc rx_drop_length rx_drop_short; do
		expect mrca $c == 0
	done
}

# With the guard none of the packets arrives, without it all do.
kept_back() { # NETNS HOW FROM OWN TO
	guard Y
	arrive 0 "$@"
	guard N
	arrive "$N" "$@"
}

# They arrive with the guard, too.
passes() { # NETNS HOW FROM OWN TO
	guard Y
	arrive "$N" "$@"
}

# Fragments of IPv4 have an ID that nobody knows before, so the ICRC is wrong. The receiver
# counts that.
fragments() { # FROM TO
	local want
	for want in Y N; do
		guard $want
		ctr_mark
		in_b python3 "$NET_DIR/guard.py" big "$N" "$1" "$1" "$2" | comment
		[ $want = Y ] || wait_for 60 ctr_at_least mrca rx_drop_icrc \
			$(($(ctr_marked mrca rx_drop_icrc) + N))
		in_b python3 "$NET_DIR/guard.py" raw 1 "$1" - "$2" | comment
		wait_for 60 ctr_at_least mrca rx_drop_unknown_qp \
			$(($(ctr_marked mrca rx_drop_unknown_qp) + 1))
		ctr_quiet 20
		ctr_take
		check "$(ctr mrca rx_drop_icrc)" == \
			"$([ $want = Y ] && echo 0 || echo "$N")" "datagrams from fragments, guard $want"
	done
}

# A container behind host B, which translates its addresses.
container_up() {
	ip netns add cont
	ip -n cont link add c0 type veth peer name c1 netns hostb
	ip -n cont -batch - <<-END
		link set lo up
		addr add 10.9.0.2/24 dev c0
		addr add fd00:9::2/64 dev c0 nodad
		link set c0 up
		route add default via 10.9.0.1
		route add default via fd00:9::1
	END
	ip -n hostb -batch - <<-END
		addr add 10.9.0.1/24 dev c1
		addr add fd00:9::1/64 dev c1 nodad
		link set c1 up
	END
	in_b sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
}

# Counts datagrams of the container that host B forwards, and translates their addresses.
translate() { # [ADDRESS4 ADDRESS6]
	in_b nft -f - <<-END
		table inet translate {
			counter seen { }
			chain out {
				type filter hook postrouting priority 100;
				ip saddr 10.9.0.2 udp dport 4791 counter name seen ${1:+ip saddr set $1}
				ip6 saddr fd00:9::2 udp dport 4791 counter name seen ${2:+ip6 saddr set $2}
			}
		}
	END
}

translated() { # N: that many since the last time
	seen hostb inet translate "$1" && in_b nft reset counters table inet translate >/dev/null
}

translate_not() { in_b nft delete table inet translate; }

seen() { # NETNS FAMILY TABLE LEAST
	[ "$(nft_counter "$1" "$2" "$3" seen)" -ge "$4" ]
}

# The same for what a table of nftables counts: one packet of root is seen with the guard,
# and N of the program without it. The source is that of the socket.
kept_from() { # NETNS FAMILY TABLE HOW FROM TO
	guard Y
	in_b python3 "$NET_DIR/guard.py" "$4" "$N" "$5" "$5" "$6" | comment
	in_b python3 "$NET_DIR/guard.py" raw 1 "$B6" - "$6" | comment
	wait_for 60 seen "$1" "$2" "$3" 1
	nap 0.2
	check "$(nft_counter "$1" "$2" "$3" seen)" == 1 "packets that table $3 has seen"
	guard N
	in_b python3 "$NET_DIR/guard.py" "$4" "$N" "$5" "$5" "$6" | comment
	wait_for 60 seen "$1" "$2" "$3" $((N + 1))
	ip netns exec "$1" nft delete table "$2" "$3"
}

# A route of host B puts what it sends to that address into outer headers.
outside() {
	ip -n hostb -6 route add fcbb:0:31::/48 via "$A6" dev pb1
	ip -n hostb -6 route add fd00:7::1/128 encap seg6 mode encap segs fcbb:0:31:: dev pb1
	in_a nft -f - <<-END
		table netdev outside {
			counter seen { }
			chain in {
				type filter hook ingress device pa1 priority 0;
				ip6 daddr fcbb:0:31::/48 counter name seen
			}
		}
	END
	kept_from hosta netdev outside udp "$B6" fd00:7::1
}

# A program sends to its own host with the address of the peer, over the loopback.
as_peer() {
	in_b nft -f - <<-END
		table inet looped {
			counter seen { }
			chain in {
				type filter hook input priority 0;
				iif lo udp dport 4791 counter name seen
			}
		}
	END
	kept_from hostb inet looped freebind "$A6" "$B6"
}

raw_of_nobody() {
	refuse 'Operation not permitted' in_b python3 "$NET_DIR/guard.py" nobody 1 "$B4" - "$A4"
}

# The driver's own packets are not the guard's.
traffic() {
	guard Y
	ctr_mark
	verify --iters 50 --size 65536
	verify -6 --iters 50 --size 65536
	ctr_quiet 20
	ctr_take
	expect mrca retry_exceeded == 0
}

[ -e "$SETTING" ] || tap_skip_all "this module has no guard"
topo 1
container_up
subtest "a UDP socket, IPv4" kept_back hostb udp "$B4" "$B4" "$A4"
subtest "a UDP socket, IPv6" kept_back hostb udp "$B6" "$B6" "$A6"
MRC_PORT=4971 subtest "a UDP socket, to the other port" kept_back hostb udp "$B4" "$B4" "$A4"
subtest "a UDP socket with an address that is not the host's" \
	kept_back hostb freebind fd00:1::77 fd00:1::77 "$A6"
subtest "fragments, IPv4" fragments "$B4" "$A4"
subtest "fragments, IPv6" kept_back hostb big "$B6" "$B6" "$A6"
subtest "a raw socket of root, IPv4" passes hostb raw "$B4" - "$A4"
subtest "a raw socket of root, IPv6" passes hostb raw "$B6" - "$A6"
subtest "a raw socket of nobody" raw_of_nobody
subtest "the peer's address, to the own host" as_peer
translate
subtest "a container with addresses of its own, IPv4" passes cont udp 10.9.0.2 - "$A4"
subtest "a container with addresses of its own, IPv6" passes cont udp fd00:9::2 - "$A6"
translate_not
translate "$B4" "$B6"
subtest "a container behind the host's address, IPv4" kept_back cont udp "$B4" - "$A4"
subtest "a container behind the host's address, IPv6" kept_back cont udp "$B6" - "$A6"
translate_not
subtest "a socket whose packets get an outer header" outside
subtest "traffic of queue pairs" traffic
guard Y
ip netns del cont
tap_end
