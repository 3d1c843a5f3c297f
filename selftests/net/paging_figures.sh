#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What a program can take from others by paging: on the receiving host it tells the kernel
# all the time that memory without pages is not needed. Goodput of another program, with
# that memory in a paged region of the same device, against the same memory in no region.
# timeout: 300
# benchmark
. "$(dirname "$0")/lib.sh"

ROUNDS=5

# taken_away region|plain: goodput of the other program meanwhile, kbit/s, in $measured.
taken_away() {
	start "$WORK/loop" ip netns exec "$HOST_B" mrc_memory mrcb take-away "$1"
	wait_for 60 grep -q begun "$WORK/loop" || fail "$(cat "$WORK/loop")"
	measure 3
	kill -0 "$started" || fail "$(cat "$WORK/loop")"
	kill_tree "$started"
}

beside() {
	local n alone with without plain=() region=()
	steady_bw
	measure 3
	alone=$measured
	for n in $(seq $ROUNDS); do
		taken_away plain
		plain+=("$measured")
		taken_away region
		region+=("$measured")
	done
	steady_bw_end
	without=$(median "${plain[@]}")
	with=$(median "${region[@]}")
	echo "figure: alone $(mbit "$alone"); beside memory that is taken away $(mbit "$without"), of a" \
		"paged region $(mbit "$with") Mbit/s = $(percent "$with" "$without") %"
	# The goal is 95 %; runs differ by 5 %.
	check $((100 * with)) '>=' $((90 * without)) "100 times the goodput, at least 90 times that without a region"
}

topo 2
subtest "a program whose region has no pages takes nothing from others" beside
tap_end
