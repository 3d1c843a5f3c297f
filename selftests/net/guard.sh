#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs of a host cannot send packets in the name of its device: not from a UDP socket,
# whatever its address is, not in fragments, not from a container behind a translation of
# addresses or with raw sockets, and not through a route that puts packets into outer headers.
# Nor can they send to the own host in the name of its peer. Raw sockets of root can, and
# others' packets that the host forwards pass. Without the guard all of them arrive.
# timeout: 900
. "$(dirname "$0")/lib.sh"

N=8
SETTING=/sys/module/mrc/parameters/guard

guard() { # Y|N
	echo "$1" >"$SETTING"
	[ "$(cat "$SETTING")" = "$1" ] || fail "parameter guard is $(cat "$SETTING")"
}

# guard.py in NETNS. A server there, if it runs, does the same sooner.
guard_py() { # NETNS HOW COUNT FROM OWN TO
	local ns=$1 reply=$WORK/reply.$1
	shift
	if [ -n "${MRC_PORT:-}" ]; then
		ip netns exec "$ns" python3 "$NET_DIR/guard.py" "$@"
		return
	fi
	rm -f "$reply"
	# Waits for the server to read.
	# shellcheck disable=SC2016 # expanded there
	timeout $((60 * ${LAB_TIME:-1})) bash -c 'echo "$1" >"$2"' - "$reply $*" "$WORK/ask.$ns" ||
		fail "$ns sends nothing: $(cat "$WORK/serve.$ns")"
	wait_for 60 test -e "$reply"
	sed '$d' "$reply"
	return "$(tail -n 1 "$reply")"
}

serve() { # NETNS
	mkfifo "$WORK/ask.$1"
	start "$WORK/serve.$1" ip netns exec "$1" python3 "$NET_DIR/guard.py" serve "$WORK/ask.$1"
}

# N packets of NETNS for A, and one of root that comes after them. So many of N arrive.
arrive() { # ARRIVING NETNS HOW FROM OWN TO
	local arriving=$1 ns=$2 own=$B4 c
	shift 2
	case $4 in
	*:*) own=$B6 ;;
	esac
	ctr_mark
	guard_py "$ns" "$1" "$N" "$2" "$3" "$4" >"$WORK/sent"
	comment <"$WORK/sent"
	[ "$ns" != cont ] || wait_for 60 translated "$N"
	check "$(tail -n 1 "$WORK/sent")" == "$N" "datagrams that the kernel took"
	guard_py hostb raw 1 "$own" - "$4" | comment
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
		guard_py hostb big "$N" "$1" "$1" "$2" | comment
		[ $want = Y ] || wait_for 60 ctr_at_least mrca rx_drop_icrc \
			$(($(ctr_marked mrca rx_drop_icrc) + N))
		guard_py hostb raw 1 "$1" - "$2" | comment
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
	# Linux itself does not forward packets of IPv4 with an address of its own, unless it is
	# told to. With IPv6 it does.
	in_b sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.c1.accept_local=1
}

# Counts datagrams of the container that host B forwards, in an outer header or not, and
# translates their addresses.
translate() { # [ADDRESS4 ADDRESS6]
	in_b nft -f - <<-END
		table inet translate {
			counter seen { }
			chain forwarded {
				type filter hook forward priority 0;
				iif c1 udp dport 4791 counter name seen
				iif c1 ip6 nexthdr 43 counter name seen
			}
			chain out {
				type filter hook postrouting priority 100;
				${1:+ip saddr 10.9.0.2 udp dport 4791 ip saddr set $1}
				${2:+ip6 saddr fd00:9::2 udp dport 4791 ip6 saddr set $2}
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

# The same for what a table of nftables in NETNS counts: one packet of root is seen with the
# guard, and N of the program without it. OWN is the program's namespace.
kept_from() { # NETNS FAMILY TABLE OWN HOW FROM TO
	local root=$B4
	case $7 in
	*:*) root=$B6 ;;
	esac
	guard Y
	send "${@:4}"
	guard_py hostb raw 1 "$root" - "$7" | comment
	wait_for 60 seen "$1" "$2" "$3" 1
	nap 0.2
	check "$(nft_counter "$1" "$2" "$3" seen)" == 1 "packets that table $3 has seen"
	guard N
	send "${@:4}"
	wait_for 60 seen "$1" "$2" "$3" $((N + 1))
	ip netns exec "$1" nft delete table "$2" "$3"
}

# N packets. A socket with an address has that one.
send() { # OWN HOW FROM TO
	local bound=$3
	[ "$2" != raw ] || bound=-
	guard_py "$1" "$2" "$N" "$3" "$bound" "$4" >"$WORK/sent"
	comment <"$WORK/sent"
	check "$(tail -n 1 "$WORK/sent")" == "$N" "datagrams that the kernel took"
	[ "$1" != cont ] || wait_for 60 translated "$N"
}

# Routes of host B put what it sends or forwards to these addresses into outer headers.
routes_outside() {
	ip -n hostb -6 route add fcbb:0:31::/48 via "$A6" dev pb1
	ip -n hostb -6 route add fd00:7::1/128 encap seg6 mode encap segs fcbb:0:31:: dev pb1
	ip -n hostb route add 10.7.0.1/32 encap seg6 mode encap segs fcbb:0:31:: dev pb1
}

count_outside() {
	in_a nft -f - <<-END
		add table netdev outside
		delete table netdev outside
		table netdev outside {
			counter seen { }
			chain in {
				type filter hook ingress device pa1 priority 0;
				ip6 daddr fcbb:0:31::/48 counter name seen
			}
		}
	END
}

outside() { # OWN HOW FROM TO
	count_outside
	kept_from hosta netdev outside "$@"
}

# What a container sends with an address of its own passes, in outer headers too.
passes_outside() { # FROM TO
	count_outside
	guard Y
	send cont udp "$1" "$2"
	wait_for 60 seen hosta netdev outside "$N"
	in_a nft delete table netdev outside
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
	kept_from hostb inet looped hostb freebind "$A6" "$B6"
}

raw_of_nobody() { # FROM TO
	refuse 'Operation not permitted' guard_py hostb nobody 1 "$1" - "$2"
}

# Only root may have such sockets, which may have any address.
transparent() { # FROM TO
	refuse 'Operation not permitted' guard_py hostb wish 1 "$1" "$1" "$2"
	kept_back hostb transparent "$1" "$1" "$2"
}

# The kernel has no route for such a socket of IPv4 from an address that is not the host's.
freebind4() {
	guard_py hostb freebind "$N" 10.1.0.77 10.1.0.77 "$A4" >"$WORK/sent"
	cat "$WORK/sent"
	check "$(grep -c -E 'Network is unreachable|Invalid argument' "$WORK/sent")" == "$N" \
		"datagrams that the kernel refused"
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
serve hostb
serve cont
subtest "a UDP socket, IPv4" kept_back hostb udp "$B4" "$B4" "$A4"
subtest "a UDP socket, IPv6" kept_back hostb udp "$B6" "$B6" "$A6"
MRC_PORT=4971 subtest "a UDP socket, to the other port" kept_back hostb udp "$B4" "$B4" "$A4"
subtest "a UDP socket with an address that is not the host's, IPv6" \
	kept_back hostb freebind fd00:1::77 fd00:1::77 "$A6"
guard N
subtest "the same with IPv4, which the kernel refuses" freebind4
subtest "a transparent UDP socket, IPv4" transparent 10.1.0.77 "$A4"
subtest "a transparent UDP socket, IPv6" transparent fd00:1::77 "$A6"
subtest "fragments, IPv4" fragments "$B4" "$A4"
subtest "fragments, IPv6" kept_back hostb big "$B6" "$B6" "$A6"
subtest "a raw socket of root, IPv4" passes hostb raw "$B4" - "$A4"
subtest "a raw socket of root, IPv6" passes hostb raw "$B6" - "$A6"
subtest "a raw socket of nobody, IPv4" raw_of_nobody "$B4" "$A4"
subtest "a raw socket of nobody, IPv6" raw_of_nobody "$B6" "$A6"
subtest "the peer's address, to the own host" as_peer
translate
subtest "a container with addresses of its own, IPv4" passes cont udp 10.9.0.2 - "$A4"
subtest "a container with addresses of its own, IPv6" passes cont udp fd00:9::2 - "$A6"
subtest "a raw socket in a container, the device's address, IPv4" \
	kept_back cont raw "$B4" - "$A4"
subtest "a raw socket in a container, the device's address, IPv6" \
	kept_back cont raw "$B6" - "$A6"
subtest "a raw socket in a container, another address of the host, IPv4" \
	kept_back cont raw 10.9.0.1 - "$A4"
subtest "a raw socket in a container, another address of the host, IPv6" \
	kept_back cont raw fd00:9::1 - "$A6"
routes_outside
subtest "a container's own address in an outer header, IPv4" passes_outside 10.9.0.2 10.7.0.1
subtest "a container's own address in an outer header, IPv6" passes_outside fd00:9::2 fd00:7::1
subtest "a container with the host's address in an outer header, IPv4" \
	outside cont raw "$B4" 10.7.0.1
subtest "a container with the host's address in an outer header, IPv6" \
	outside cont raw "$B6" fd00:7::1
translate_not
translate "$B4" "$B6"
subtest "a container behind the host's address, IPv4" kept_back cont udp "$B4" - "$A4"
subtest "a container behind the host's address, IPv6" kept_back cont udp "$B6" - "$A6"
translate_not
subtest "a socket whose packets get an outer header, IPv4" outside hostb udp "$B4" 10.7.0.1
subtest "a socket whose packets get an outer header, IPv6" outside hostb udp "$B6" fd00:7::1
subtest "traffic of queue pairs" traffic
guard Y
stop_all
ip netns del cont
tap_end
