# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Rings of mrc_allreduce: a process for each rank. Sourced after lib.sh.

# The ranks of a ring, in order: NETNS DEVICE IPv4 IPv6.
two_ranks() {
	RANKS=("hosta mrca $A4 $A6" "hostb mrcb $B4 $B6")
	ROOT=$MGMT_A NET=cables
}
four_ranks() {
	local h
	RANKS=()
	for h in 1 2 3 4; do
		RANKS+=("h$h mrc$h $(host4 $h) $(host6 $h)")
	done
	ROOT=$(mgmt4 1) NET=fabric
}

# ring_start [-6] OPTIONS...: starts all ranks. Their output is in $WORK/rank.R.
ring_start() {
	local r ns dev v4 v6 gid family=4
	[ "$1" != -6 ] || {
		family=6
		shift
	}
	ring_pids=()
	rm -f "$WORK"/rank.*
	for r in "${!RANKS[@]}"; do
		read -r ns dev v4 v6 <<<"${RANKS[r]}"
		gid=$v4
		[ $family = 4 ] || gid=$v6
		start "$WORK/rank.$r" ip netns exec "$ns" timeout $((250 * ${LAB_TIME:-1})) mrc_allreduce \
			--rank "$r" --ranks ${#RANKS[@]} -d "$dev" --gid "$gid" \
			--root "$ROOT" "$@"
		ring_pids+=("$started")
	done
}

# Every rank must have ended with success, all after the same round, without errors.
ring_end() {
	local r rc dev c bad=''
	for r in "${!RANKS[@]}"; do
		rc=0
		finished "${ring_pids[r]}" 120 || rc=$?
		[ "$rc" = 0 ] && grep -q '^mrc_allreduce: OK' "$WORK/rank.$r" ||
			bad+=" $r($rc)"
	done
	if [ -n "$bad" ]; then
		tail -n 4 "$WORK"/rank.*
		fail "ranks that failed, with status:$bad"
	fi
	for r in "${!RANKS[@]}"; do
		check "$(ring_field "$r" rounds)" == "$(ring_field 0 rounds)" "rounds of rank $r"
		check "$(ring_field "$r" elements)" == "$(ring_field 0 elements)" \
			"elements that rank $r has compared"
	done
	ctr_quiet 20
	ctr_take
	for r in "${!RANKS[@]}"; do
		read -r _ dev _ <<<"${RANKS[r]}"
		for c in qp_errors retry_exceeded cq_overflow resp_invalid_request \
			resp_access_error resp_op_error resp_no_receive; do
			expect "$dev" "$c" == 0
		done
	done
}

ring_stop() {
	kill -INT "${ring_pids[0]}"
	ring_end
}

ring_field() { # RANK NAME
	sed -n "s/^mrc_allreduce: OK.* $2=\([0-9]*\).*/\1/p" "$WORK/rank.$1"
}

# Sum of a counter of all ranks' devices, or of their port N.
ring_sum() { # ctr|ctr_now NAME [PORT]
	local sum=0 r dev
	for r in "${RANKS[@]}"; do
		read -r _ dev _ <<<"$r"
		sum=$((sum + $("$1" "$dev${3:+/$3}" "$2")))
	done
	echo $sum
}
ring_ctr() { ring_sum ctr "$@"; }
ring_ctr_now() { ring_sum ctr_now "$@"; }
ring_ctr_at_least() { # NAME PORT VALUE
	[ "$(ring_ctr_now "$1" "$2")" -ge "$3" ]
}
