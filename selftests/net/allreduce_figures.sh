#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How fast a ring all-reduce of 8 MiB over four ranks is when packets are lost on all
# four planes, data and feedback alike, beside the same without loss. Each step waits for
# the one before, so what is lost at the end of a message holds up all ranks. Kinds of loss take turns
# within each repetition; what is asserted is the median of the repetitions' ratios.
# timeout: 900
# benchmark
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_ring.sh"

REPEAT=${REPEAT:-5}
ROUNDS=${ROUNDS:-14}		# of a ring; the first two do not count
TIMEOUT=${TIMEOUT:-20}		# MRC_QP_TIMEOUT: 1.07 s
COUNT=2097151			# and the vote: 8 MiB
LOSSES=${LOSSES:-0 0.1 1}	# percent of what each host sends by each plane
declare -A WANTED=([0.1]=97 [1]=80)	# percent of the speed without loss

# The same qdisc without loss: what it takes itself is not for losses.
lose() { # PERCENT
	local h p
	for h in 1 2 3 4; do
		for p in 1 2 3 4; do
			link_set "h$h:p$p" off loss "$1"
		done
	done
}

# The median of the rounds that count, in microseconds: $took. Of a hundred packets that a
# round loses at 1 %, and of ten at 0.1 %, each round has its share; where the machine is
# held up it has not.
one_speed() { # LOSS
	lose "$1"
	ctr_mark
	ring_start --rounds "$ROUNDS" --counts $COUNT --timeout "$TIMEOUT" --timed
	ring_end
	mapfile -t times < <(awk '$1 == "took" && ++n > 2 { print $2 }' "$WORK/rank.0")
	check "${#times[@]}" == $((ROUNDS - 2)) "rounds of which the time is known"
	took=$(median "${times[@]}")
	check "$(ring_ctr retry_timeouts)" == 0 "timers that ran out"
}

# Ratios are of one repetition; each begins with another kind of loss.
speeds() {
	local n loss order share line
	read -r -a order <<<"$LOSSES"
	declare -A us=() shares=()
	for ((n = 1; n <= REPEAT; n++)); do
		line=''
		for loss in "${order[@]}"; do
			one_speed "$loss"
			us[$loss]=$took
			line+=" $loss %: $took us a round,"
			line+=" $(ring_ctr tx_rtx_pkts) of $(ring_ctr tx_data_pkts) sent again;"
		done
		echo "figure: repetition $n:$line"
		for loss in $LOSSES; do
			[ "$loss" = 0 ] || shares[$loss]+=" $((us[0] * 1000 / us[$loss]))"
		done
		order=("${order[@]:1}" "${order[0]}")
	done
	for loss in $LOSSES; do
		[ "$loss" != 0 ] || continue
		# shellcheck disable=SC2086 # numbers
		share=$(median ${shares[$loss]})
		echo "figure: loss $loss %: $(percent "$share" 1000) % of the speed without loss" \
			"(goal ${WANTED[$loss]:-none}; of the repetitions, in thousandths:${shares[$loss]})"
		keep "share_$loss" "$share"
	done
}

goal() { # LOSS
	check "$(result "share_$1")" '>=' $((WANTED[$1] * 10)) "thousandths of the speed without loss"
}

fabric ecmp 4 1 0 4
fabric_rdma
four_ranks
subtest "8 MiB over four ranks, by loss" speeds
for loss in $LOSSES; do
	[ -z "${WANTED[$loss]:-}" ] || subtest "$loss % loss: at least ${WANTED[$loss]} % of lossless" goal "$loss"
done
tap_end
