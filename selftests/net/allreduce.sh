#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Ring all-reduce with the MRC API, as collective libraries do it, on two and on four
# ranks with four planes. Ranks poll memory for announcements. WRITEs end with an
# immediate or with a flag. Each rank computes every sum itself and compares. While
# the rounds run, a plane fails and recovers several times, and it drops packets
# silently. The ranks must notice only port events.
# long
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_ring.sh"

P=3				# the plane that fails, at rank 1
FLAPS=4

plane_cut() {
	case $NET in
	cables) ip -n hostb link set "pb$P" down ;;
	fabric) link_cut "h2:p$P" ;;
	esac
}

plane_heal() {
	case $NET in
	cables)
		ip -n hostb link set "pb$P" up
		plane_routes "$P"
		;;
	fabric) link_heal "h2:p$P" ;;
	esac
}

plane_swallow() {
	case $NET in
	cables)
		netem a "$P" loss 100%
		netem b "$P" loss 100%
		;;
	fabric)
		link_loss "h2:p$P" 100
		link_loss "p${P}l1:h2" 100
		;;
	esac
}

plane_pass() {
	case $NET in
	cables)
		unimpair a "$P"
		unimpair b "$P"
		;;
	fabric)
		link_clear "h2:p$P"
		link_clear "p${P}l1:h2"
		;;
	esac
}

# --- a ring -----------------------------------------------------------------------

rounds_now() {
	awk '$1 == "round" { n = $2 } END { print n + 0 }' "$WORK/rank.0"
}

rounds_at_least() { [ "$(rounds_now)" -ge "$1" ]; }

# Waits until N more rounds are done than now.
rounds_more() { # N
	wait_for 60 rounds_at_least $(($(rounds_now) + $1))
}

# Waits until each rank's device has sent N more data packets on the plane than now.
# All ranks send data to one neighbour and announcements to the other.
plane_used() { # N
	local r dev from
	for r in "${RANKS[@]}"; do
		read -r _ dev _ <<<"$r"
		from=$(ctr_now "$dev/$P" tx_data_pkts)
		wait_for 60 ctr_at_least "$dev/$P" tx_data_pkts $((from + $1))
	done
}

# --- what must hold -----------------------------------------------------------------

# Six rounds for each size and type, with an exact check of the number of all packets
# sent.
plain() { # OP OPTIONS...
	local op=$1 n=${#RANKS[@]} r p dev qps=1 steps rounds elements
	shift
	[[ " $* " != *' --qps 2 '* ]] || qps=2
	rounds=40
	steps=$((rounds * 2 * (n - 1)))
	elements=$((rounds / 5 * (1 + 6 + 1023 + 4096 + 20001)))
	ctr_mark
	ring_start "$@" --op "$op" --rounds $rounds --piece 512
	ring_end
	for r in "${!RANKS[@]}"; do
		read -r _ dev _ <<<"${RANKS[r]}"
		check "$(ring_field "$r" rounds)" == $rounds "rounds"
		check "$(ring_field "$r" elements)" == $elements "elements compared"
		case $op in
		imm)
			check "$(ring_field "$r" imm)" == $steps "immediates"
			check "$(ring_field "$r" flags)" == 0 "flags"
			;;
		flag)
			check "$(ring_field "$r" imm)" == 0 "immediates"
			check "$(ring_field "$r" flags)" == $steps "flags"
			;;
		mixed)
			check "$(ring_field "$r" imm)" == $((steps / 2)) "immediates"
			check "$(ring_field "$r" flags)" == $((steps / 2)) "flags"
			;;
		esac
		expect "$dev" rx_write_imm == $(($(ring_field "$r" imm) * qps))
		# The ranks announce one round more than they run.
		check "$(ring_field "$r" announced)" == $((steps + 2 * (n - 1))) "announcements"
		check "$(ring_field "$r" port_err)" == 0 "events that a port is lost"
		expect "$dev" port_down_events == 0
		for p in 1 2 3 4; do
			expect "$dev/$p" tx_data_pkts '>' 0
		done
	done
}

# The longest chain: 63 WRITEs without a signal before the last one.
longest_chain() { # OP
	local r
	ctr_mark
	ring_start --op "$1" --rounds 12 --counts 20001 --piece 64 --inline
	ring_end
	for r in "${!RANKS[@]}"; do
		check "$(ring_field "$r" chain)" == 63 "WRITEs of data without a signal"
	done
}

quiet_announcements() {
	local r
	ctr_mark
	ring_start --rounds 100 --counts 5,64
	ring_end
	for r in "${!RANKS[@]}"; do
		check "$(ring_field "$r" announced)" '>' 128 "announcements"
		check "$(ring_field "$r" quiet)" == 63 "announcements without a signal"
	done
}

# Sum of counters of port N of all ranks' devices.
ring_port() { # PORT NAME...
	local sum=0 c
	for c in "${@:2}"; do
		sum=$((sum + $(ring_ctr "$c" "$1")))
	done
	echo $sum
}

# Every data packet that any rank has sent on the plane has arrived. It was accepted,
# or it was a duplicate, or it was a retransmission sent after its message was
# complete, or it arrived before the queue pair was connected or after it was
# destroyed.
plane_lost_nothing() { # PORT
	check "$(ring_port "$1" rx_data_pkts rx_duplicate rx_drop_icrc \
		rx_drop_qp_state rx_drop_unknown_qp)" '>=' \
		"$(ring_port "$1" tx_data_pkts)" "data packets that arrived by plane $1"
}

flapping() { # OPTIONS...
	local n bad good dev dev1 r p lost
	read -r _ dev1 _ <<<"${RANKS[1]}"
	ctr_mark
	good=$(ring_ctr_now ev_to_good $P)
	ring_start "$@" --rounds 0
	rounds_more 3
	plane_used 20
	for ((n = 1; n <= FLAPS; n++)); do
		plane_cut
		wait_for 30 port_is "$dev1" $P DOWN
		rounds_more 2
		plane_heal
		wait_for 30 port_is "$dev1" $P ACTIVE
		rounds_more 2
	done
	plane_used 20
	for n in 1 2; do
		bad=$(ring_ctr_now ev_to_assumed_bad $P)
		plane_swallow
		wait_for 30 ring_ctr_at_least ev_to_assumed_bad $P $((bad + 1))
		rounds_more 2
		plane_pass
		rounds_more 2
	done
	plane_used 20
	# Wait for both EVs: traffic may use other paths, and a bad path is probed a
	# retry interval later.
	wait_for 30 ring_ctr_at_least ev_to_good $P $((good + 2))
	ring_stop
	lost=$(ring_ctr tx_rtx_pkts)
	bad=$(ring_ctr ev_to_assumed_bad $P)
	check "$bad" '>=' 2 "paths of the plane that were marked bad"
	check "$lost" '>' 0 "packets sent again"
	check "$(ring_ctr ev_to_good $P)" '>=' 2 "paths that were good again"
	expect "$dev1/$P" port_down_events == $FLAPS
	expect "$dev1/$P" port_up_events == $FLAPS
	check "$(ring_field 1 port_err)" == $FLAPS "events that the port is lost"
	check "$(ring_field 1 port_active)" == $FLAPS "events that the port is back"
	# The other planes lose no data. A path there may be suspected when its
	# feedback comes back through the plane that drops packets, or when the
	# machine pauses for longer than a retry interval. So a data packet must have
	# been taken for lost without being lost.
	for p in 1 2 4; do
		plane_lost_nothing $p
		for r in "${!RANKS[@]}"; do
			read -r _ dev _ <<<"${RANKS[r]}"
			expect "$dev/$p" port_down_events == 0
			expect "$dev/$p" ev_to_assumed_bad '<=' $(($(ctr "$dev/$p" loss_inferred) +
				$(ctr "$dev/$p" loss_probe) + $(ctr "$dev/$p" loss_timeout)))
		done
	done
	echo "figure: ${#RANKS[@]} ranks, $*: $(ring_field 0 rounds) rounds," \
		"$lost of $(ring_ctr tx_data_pkts) packets sent again, $bad times a path was bad"
}

# A rank dies. The others must end with an error and must not wait forever.
rank_dies() {
	local r rc pid ns
	read -r ns _ <<<"${RANKS[1]}"
	ring_start --rounds 0 --stall 15 --timeout 14
	rounds_more 3
	pid=$(ip netns pids "$ns" | while read -r pid; do
		grep -qx mrc_allreduce "/proc/$pid/comm" && echo "$pid"
	done || true)
	kill -9 "$pid"
	for r in "${!RANKS[@]}"; do
		rc=0
		finished "${ring_pids[r]}" 90 || rc=$?
		[ "$r" = 1 ] || {
			check "$rc" == 1 "status of rank $r"
			grep -q "^mrc_allreduce: FAIL rank $r: " "$WORK/rank.$r" ||
				fail "rank $r does not say why it gave up"
		}
	done
}

no_leak() {
	local n before=$WORK/memory
	one_ring		# fills caches
	memory_before "$before"
	for n in 1 2 3 4 5 6; do
		one_ring
	done
	expect_memory_back "$before" 60 1024
}
one_ring() {
	ctr_mark
	ring_start --rounds 4 --counts 5,4096 --op mixed --qps 8
	ring_end
}

topo 4
two_ranks
subtest "2 ranks, end told by immediates" plain imm
subtest "2 ranks, end told by flags, IPv6" plain flag -6
subtest "2 ranks, both, inline, 2 queue pairs each" plain mixed --inline --qps 2
subtest "2 ranks, 63 WRITEs of data unsignaled, immediates" longest_chain imm
subtest "2 ranks, 63 WRITEs of data unsignaled, flags" longest_chain flag
subtest "2 ranks, 63 announcements unsignaled" quiet_announcements
subtest "2 ranks, a plane flaps, immediates" flapping --op imm
subtest "2 ranks, a plane flaps, flags" flapping --op flag
subtest "2 ranks, 8 queue pairs each: nothing is left in the kernel" no_leak
topo_down

fabric ecmp 4 1 0 4
fabric_rdma
four_ranks
subtest "4 ranks, end told by immediates, 2 queue pairs each" plain imm --qps 2
subtest "4 ranks, end told by flags, IPv6" plain flag -6
subtest "4 ranks, a plane flaps, immediates" flapping --op imm --inline
subtest "4 ranks, a plane flaps, both, IPv6" flapping -6 --op mixed --qps 2
subtest "4 ranks, one dies: the others say so" rank_dies
tap_end
