#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A man in the middle of each plane (mrc_middle). What a bad network does to packets, and
# what somebody does who cannot compute an ICRC or has other addresses, costs a connection
# nothing but time: every byte arrives, and no queue pair fails. That includes packets of
# former sessions, and of former connections of the same queue pairs. What somebody does who
# changes fields and computes the ICRC may end the connection. It harms nothing else: the
# programs come to their end, each queue pair that fails has a reason that is counted, the
# kernel goes on, and new connections work. Each field of MRC 1.0, of the extension and of
# the IP headers is changed at least once. At the end memory is back where it was.
#
# MIDDLE_PACKETS is how many packets have to pass in each case (20000), MIDDLE_SEED the
# first seed. `make middle` has millions of packets.
# timeout: 2000
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
	middles=() sessions=0
	for i in 1 2; do
		start "$WORK/middle.$i" ip netns exec middle mrc_middle "sa$i" "sb$i" "$1" "$2" \
			$(($3 * 10 + i))
		middles+=("$started")
		wait_for 30 grep -q ready "$WORK/middle.$i"
	done
}

# A session has ended. Sets $through to what has passed since middle_begin.
middle_session() {
	local pid i n
	sessions=$((sessions + 1)) through=0
	kill -USR1 "${middles[@]}"
	for i in 1 2; do
		wait_for 30 grep -q "^session $sessions " "$WORK/middle.$i"
		n=$(sed -n "s/^session $sessions packets=//p" "$WORK/middle.$i")
		through=$((through + n))
	done
}

# A figure of both: middle_sum earlier
middle_sum() { # NAME
	local i n sum=0
	for i in 1 2; do
		n=$(sed -n "s/^mrc_middle: OK .*$1=\([0-9]*\).*/\1/p" "$WORK/middle.$i")
		[ -n "$n" ] || fail "$(cat "$WORK/middle.$i")"
		sum=$((sum + n))
	done
	echo "$sum"
}

middle_end() {
	local pid i
	for pid in "${middles[@]}"; do
		kill -INT "$pid"
		finished "$pid" 30 || fail "$(cat "$WORK"/middle.*)"
	done
	through=$(middle_sum packets)
	for i in 1 2; do
		sed -n 's/^mrc_middle: OK/# &/p' "$WORK/middle.$i"
		sed -n 's/^field //p' "$WORK/middle.$i" >>"$WORK/fields"
	done
}

no_errors() {
	local d
	for d in mrca mrcb; do
		expect $d qp_errors == 0
		expect $d retry_exceeded == 0
	done
}

# network PERCENT OPTIONS...: sessions of verify, three at least, until enough packets have
# passed. Packets of former sessions come again in the next ones: there are no queue pairs
# with their numbers any more.
network() {
	local percent=$1 seed=$SEED through=0 sessions unknown=0
	shift
	middle_begin network "$percent" "$seed"
	while [ "$through" -lt "$PACKETS" ] || [ "$sessions" -lt 3 ]; do
		ctr_mark
		verify -t $((120 + PACKETS / 500)) "$@" --op mixed --size 1,4097,65536 \
			--iters $((PACKETS / 180)) --qps 4 --bidir --timeout 20 --seed "$seed"
		middle_session
		ctr_quiet 30
		ctr_take
		no_errors
		[ "$sessions" -eq 1 ] || unknown=$((unknown + $(ctr mrca rx_drop_unknown_qp) + \
			$(ctr mrcb rx_drop_unknown_qp)))
		seed=$((seed + 1))
	done
	middle_end
	check "$(middle_sum earlier)" '>' 0 "packets of former sessions sent again"
	check "$unknown" '>' 0 "packets for queue pairs of former sessions"
	echo "figure: $through packets passed in $sessions sessions, $(middle_sum earlier) of" \
		"former sessions came again"
}

# The same two queue pairs are connected again and again, with PSNs that follow each other.
again() { # PERCENT GIDS...
	local through n=$((PACKETS / 100 < 8000 ? PACKETS / 100 : 8000))
	ctr_mark
	middle_begin network "$1" "$SEED"
	mrc_life mrca "$(gid_index mrca 1 "$2")" mrcb "$(gid_index mrcb 1 "$3")" reset "$n" 1 \
		>"$WORK/life" 2>&1 || fail "$(tail -n 20 "$WORK/life")"
	middle_end
	ctr_quiet 30
	ctr_take
	no_errors
	check "$(middle_sum outdated)" '>' $((n / 10)) "packets of former connections sent again"
	echo "figure: $through packets of $n connections passed, $(middle_sum outdated) of former" \
		"connections came again"
}

# Each queue pair that failed has a reason that the protocol names. Nothing on the wire can
# make a completion queue overflow.
REASONS="resp_invalid_request resp_access_error resp_op_error resp_no_receive resp_imm_limit
	rx_nak rx_nack_fatal retry_exceeded rnr_exceeded"
reasons() {
	local d r sum
	for d in mrca mrcb; do
		sum=0
		for r in $REASONS; do
			sum=$((sum + $(ctr $d "$r")))
		done
		expect $d cq_overflow == 0
		expect $d qp_errors '<=' "$sum"
		errors=$((errors + $(ctr $d qp_errors)))
	done
}

# The programs may fail. They have to end, and whatever they say, the next ones work.
fields() { # PERCENT OPTIONS...
	local percent=$1 seed=$SEED through=0 sessions ended=0 errors=0 rc from=$A4 to=$B4
	local traffic=() who pid
	shift
	[ "${1:-}" != -6 ] || from=$A6 to=$B6
	middle_begin fields "$percent" "$seed"
	while [ "$through" -lt "$PACKETS" ] || [ "$sessions" -lt 4 ]; do
		traffic=(--op mixed --size "1,4097,65536" --iters 60 --qps 4)
		case $((sessions % 3)) in
		1) traffic=(--ext-test mixed --iters 60) ;;
		2) traffic=(--ext-test rnr) ;;
		esac
		ctr_mark
		verify_start "$@" "${traffic[@]}" --bidir --timeout 16 --retry 2 --watchdog 60 \
			--seed "$seed"
		# Endpoint operations. Their answers may be lost, too.
		ctl a probe ev src "$from" dst "$to" evs "c001@1,c002@2,c003@1,c004@2" \
			timeout 100 >/dev/null 2>&1 || true
		for who in client server; do
			pid=verify_$who rc=0
			finished "${!pid}" 200 || rc=$?
			case $rc in
			0) continue ;;
			1) ended=$((ended + 1)) ;;
			124 | 137) fail "the $who does not end: $(tail -n 3 "$WORK/$who")" ;;
			*) fail "the $who ends with status $rc: $(tail -n 3 "$WORK/$who")" ;;
			esac
			grep -q "^mrc_verify: FAIL: " "$WORK/$who" ||
				fail "the $who does not say why it fails: $(tail -n 3 "$WORK/$who")"
		done
		middle_session
		wait_for 60 no_qps || fail "$(rdma resource show qp)"
		ctr_quiet 30
		ctr_take
		reasons
		seed=$((seed + 1))
	done
	middle_end
	echo "figure: $through packets passed, $ended of $((2 * sessions)) programs failed, $errors" \
		"queue pairs did, each with its reason"
	middle_begin network 0 1
	verify "$@" --op mixed --size 1,4097,65536 --iters 60 --qps 2 --timeout 20
	middle_end
}

# Over all of the script: fields that are in packets of one family or of SRv6 only.
each_field() {
	[ -s "$WORK/fields" ] || fail "no field was changed"
	awk '{ n[$1] += $2; all += $2 }
		END {
			for (f in n) {
				fields++
				if (!n[f])
					never = never " " f
				if (least == "" || n[f] < n[least])
					least = f
			}
			if (never != "") {
				print "never changed:" never
				exit 1
			}
			printf "figure: %d fields changed %d times, %s least often, %d times\n",
				fields, all, least, n[least]
		}' "$WORK/fields"
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

# The devices are made anew first: each port keeps what the IP input path said about packets,
# by their addresses and DSCPs, up to a bound.
planes() {
	bridged_topo 2
	plug_out 1
	plug_out 2
}

memory_is_back() {
	planes
	expect_memory_back "$WORK/before" 20 2048
}

planes
subtest "a network that does everything wrong" network 10
subtest "fields that change, with a right ICRC" fields 1
planes
memory_before "$WORK/before"
subtest "a network that does everything wrong, over IPv6" network 10 -6
subtest "fields that change, over IPv6" fields 1 -6
subtest "queue pairs that are connected again and again" again 10 "$A4" "$B4"
subtest "the same over IPv6" again 10 "$A6" "$B6"
srv6
subtest "a bad network, packets with SRv6" network_srv6 10
subtest "the same, IPv6 inside" network_srv6 10 -6
subtest "fields that change, packets with SRv6" fields 1
subtest "the same, IPv6 inside" fields 1 -6
subtest "each field was changed" each_field
subtest "memory is back where it was" memory_is_back
bridged_down
tap_end
