#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A man in the middle of each plane (mrc_middle). What a bad network does to packets, and
# what somebody does who cannot compute an ICRC or has other addresses, costs a connection
# nothing but time: every byte arrives, and no queue pair fails. What somebody does who
# changes fields and computes the ICRC may end the connection. It harms nothing else: the
# programs come to their end, the kernel goes on, and new connections work.
#
# MIDDLE_PACKETS is how many packets have to pass in each case (20000), MIDDLE_SEED the
# first seed. `make middle` has millions of packets.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_bridged.sh"

PACKETS=${MIDDLE_PACKETS:-20000}
SEED=${MIDDLE_SEED:-1}

# The bridges of lib_bridged.sh are replaced by mrc_middle. The offloads would hand it
# packets that no wire has.
plug_out() { # PLANE
	ip -n middle link set "sa$1" nomaster
	ip -n middle link set "sb$1" nomaster
	ip netns exec middle ip link set "br$1" down
	for d in "sa$1" "sb$1"; do
		ip netns exec middle sysctl -q -w "net.ipv6.conf.$d.disable_ipv6=1"
		ip netns exec middle ethtool -K "$d" gro off gso off tso off tx off >/dev/null
	done
	in_a ethtool -K "pa$1" gso off tso off tx off >/dev/null
	in_b ethtool -K "pb$1" gso off tso off tx off >/dev/null
}

middles=()
middle_begin() { # KIND PERCENT SEED
	local i
	middles=()
	for i in 1 2; do
		start "$WORK/middle.$i" ip netns exec middle mrc_middle "sa$i" "sb$i" "$1" "$2" \
			$(($3 * 10 + i))
		middles+=("$started")
		wait_for 30 grep -q ready "$WORK/middle.$i"
	done
}

# Adds what has passed to $through.
middle_end() {
	local pid i n
	for pid in "${middles[@]}"; do
		kill -INT "$pid"
		finished "$pid" 30 || fail "$(cat "$WORK"/middle.*)"
	done
	for i in 1 2; do
		n=$(sed -n 's/.*OK packets=\([0-9]*\).*/\1/p' "$WORK/middle.$i")
		[ -n "$n" ] || fail "$(cat "$WORK/middle.$i")"
		sed -n 's/^mrc_middle: OK/# &/p' "$WORK/middle.$i"
		through=$((through + n))
	done
}

report() { echo "figure: $through packets passed$1"; }

# network PERCENT OPTIONS...: sessions of verify until enough packets have passed.
network() {
	local percent=$1 seed=$SEED through=0
	shift
	while [ "$through" -lt "$PACKETS" ]; do
		ctr_mark
		middle_begin network "$percent" "$seed"
		verify -t $((120 + PACKETS / 500)) "$@" --op mixed --size 1,4097,65536 \
			--iters $((PACKETS / 60)) --qps 4 --bidir --timeout 20 --seed "$seed"
		middle_end
		ctr_quiet 30
		ctr_take
		for d in mrca mrcb; do
			expect $d qp_errors == 0
			expect $d retry_exceeded == 0
		done
		seed=$((seed + 1))
	done
	report ""
}

# The programs may fail. They have to end, and whatever they say, the next ones work.
fields() { # PERCENT OPTIONS...
	local percent=$1 seed=$SEED through=0 ended=0 n=0 rc
	shift
	while [ "$through" -lt "$PACKETS" ]; do
		middle_begin fields "$percent" "$seed"
		verify_start "$@" --op mixed --size 1,4097,65536 --iters 60 --qps 4 --bidir \
			--timeout 16 --retry 2 --watchdog 60 --seed "$seed"
		for pid in "$verify_client" "$verify_server"; do
			rc=0
			finished "$pid" 200 || rc=$?
			case $rc in
			124 | 137) fail "a program does not end: $(tail -n 3 "$WORK/client" "$WORK/server")" ;;
			esac
			[ "$rc" = 0 ] || ended=$((ended + 1))
		done
		n=$((n + 1))
		middle_end
		wait_for 60 no_qps || fail "$(rdma resource show qp)"
		seed=$((seed + 1))
	done
	report ", $ended of $((2 * n)) programs failed"
	middle_begin network 0 1
	verify "$@" --op mixed --size 1,4097,65536 --iters 60 --qps 2 --timeout 20
	middle_end
}

# Packets of all queue pairs are in outer IPv6 headers from now on: host A is uSID 0031,
# host B 0032, and there is no switch on the way.
srv6() {
	local h i n m peer
	for h in a b; do
		n=1 m=2 peer=b
		[ $h = a ] || n=2 m=1 peer=a
		ip -n host$h -6 route add local fcbb:0:3$n::/48 dev lo
		for i in 1 2; do
			ip -n host$h -batch - <<-END
				addr add fe80::$h/64 dev p$h$i nodad
				neigh replace fe80::$peer lladdr 02:00:00:00:0$peer:0$i dev p$h$i nud permanent
				route add fcbb:0:3$m::/48 via fe80::$peer dev p$h$i metric $((100 + i))
			END
		done
		ctl $h -b - <<-END
			fmt add 1 mode srv6 fields 32,32,32,32
			ev add 1 mode explicit fmt 1 evs fcbb0000003$m@1,fcbb0000003$m@2
			default set $(own $peer 4)/32 ev 1
			default set $(own $peer 6)/128 ev 1
		END
	done
}

network_srv6() {
	network "$@"
	expect mrca tx_srv6 '>' 0
	expect mrcb rx_srv6 '>' 0
}

bridged_topo 2
plug_out 1
plug_out 2
subtest "a network that does everything wrong" network 10
subtest "the same over IPv6" network 10 -6
subtest "fields that change, with a right ICRC" fields 1
subtest "the same over IPv6" fields 1 -6
srv6
subtest "a bad network, packets with SRv6" network_srv6 10
subtest "fields that change, packets with SRv6" fields 1
bridged_down
tap_end
