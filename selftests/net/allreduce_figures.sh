#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How fast a ring all-reduce of 8 MiB over four ranks is when all four planes lose
# packets, data and feedback alike, compared with the same run without loss. Each step
# waits for the step before, so a loss at the end of a message delays all ranks. Each
# repetition measures all kinds of loss in turn. The script checks the median of the
# repetitions' ratios. The links are slower than the guest's processor, so that other
# work of the machine does not count as a cost of losses. Where it does nevertheless, the
# runs without loss differ from each other, and a goal that is missed is not judged.
# timeout: 3000
# benchmark
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_ring.sh"

REPEAT=${REPEAT:-5}
ROUNDS=${ROUNDS:-8}		# of a ring; the first two are not counted
RATE=${RATE:-12000}		# kbit/s of each plane
CWND=${CWND:-65536}		# bytes: 11 ms at four times this rate; the default is for fast links
TIMEOUT=${TIMEOUT:-20}		# MRC_QP_TIMEOUT: 1.07 s
QUIET=${QUIET:-10}		# percent by which runs without loss may differ
COUNT=2097151			# the program adds the vote: 8 MiB in total
LOSSES=${LOSSES:-0 0.1 1}	# percent of the packets that each host sends on each plane
declare -A WANTED=([0.1]=97 [1]=80)	# percent of the speed without loss

# Without loss the same qdiscs are used, so that their own cost does not count as a cost
# of losses.
lose() { # PERCENT
	local h p
	for h in 1 2 3 4; do
		for p in 1 2 3 4; do
			link_set "h$h:p$p" off rate "$RATE" loss "$1"
		done
	done
}

# Sets $took to the median of the counted rounds, in microseconds. A round loses about
# a hundred packets at 1 % and ten at 0.1 %, so losses affect every round alike.
# Pauses of the machine affect only some rounds.
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

# Each ratio compares runs of one repetition. Each repetition begins with another kind
# of loss.
speeds() {
	local n loss order share line clean=()
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
		clean+=("${us[0]}")
		order=("${order[@]:1}" "${order[0]}")
	done
	mapfile -t clean < <(printf '%s\n' "${clean[@]}" | sort -n)
	keep fastest "${clean[0]}"
	keep slowest "${clean[-1]}"
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
	local fast slow
	fast=$(result fastest) slow=$(result slowest)
	if [ "$(result "share_$1")" -lt $((WANTED[$1] * 10)) ] &&
		[ $((slow * 100)) -gt $((fast * (100 + QUIET))) ]; then
		skip "the machine is not quiet: rounds without loss took $fast to $slow us," \
			"$(percent "$(result "share_$1")" 1000) % of the speed is left with $1 % loss"
	fi
	check "$(result "share_$1")" '>=' $((WANTED[$1] * 10)) "thousandths of the speed without loss"
}

fabric ecmp 4 1 0 4
fabric_rdma
for h in 1 2 3 4; do
	mrcctl -d mrc$h dev set cwnd "$CWND"
done
four_ranks
subtest "8 MiB over four ranks, by loss" speeds
for loss in $LOSSES; do
	[ -z "${WANTED[$loss]:-}" ] || subtest "$loss % loss: at least ${WANTED[$loss]} % of lossless" goal "$loss"
done
tap_end
