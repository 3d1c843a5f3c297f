#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What a program can take from others by paging: on the receiving host it tells the kernel
# all the time that memory is not needed. Goodput of another program, with that memory in a
# paged region of the same device or of another one, against the same memory in no region.
# The processor is shared evenly, so goodput is judged where the clock counts instructions
# (selftests/lab/insns_net.sh); by a clock of time it depends on what else the machine does.
# timeout: 900
# benchmark
. "$(dirname "$0")/lib.sh"

ROUNDS=5

# taken_away DEV region|plain hole|pages: goodput of the other program meanwhile, kbit/s, in
# $measured.
taken_away() {
	start "$WORK/loop" ip netns exec "$HOST_B" mrc_memory "$1" take-away "$2" "$3"
	wait_for 60 grep -q begun "$WORK/loop" || fail "$(cat "$WORK/loop")"
	measure 2
	kill -0 "$started" || fail "$(cat "$WORK/loop")"
	kill_tree "$started"
}

beside() { # DEV hole|pages
	local n alone with without plain=() region=()
	steady_bw
	measure 2
	alone=$measured
	for ((n = 0; n < ROUNDS; n++)); do
		taken_away "$1" plain "$2"
		plain+=("$measured")
		taken_away "$1" region "$2"
		region+=("$measured")
	done
	steady_bw_end
	without=$(median "${plain[@]}")
	with=$(median "${region[@]}")
	echo "figure: alone $(mbit "$alone"); beside memory that is taken away $(mbit "$without"), of a" \
		"paged region $(mbit "$with") Mbit/s = $(percent "$with" "$without") %"
	[ "${LAB_CLOCK:-}" != instructions ] ||
		check $((100 * with)) '>=' $((95 * without)) \
			"100 times the goodput, at least 95 times that without a region"
}

can_page() {
	ibv_devinfo -v -d mrcb | grep -q '^[[:space:]]*ODP_SUPPORT$'
}

topo 2
can_page || tap_skip_all "this kernel does not page regions for RDMA"
ip -n "$HOST_B" link add mrcx0 type dummy
ip -n "$HOST_B" addr add 10.7.0.1/32 dev mrcx0
ip -n "$HOST_B" link set mrcx0 up
in_b rdma link add mrcx type mrc netdev mrcx0
wait_for 30 gid_index mrcx 1 10.7.0.1
subtest "a region without pages" beside mrcb hole
subtest "a region without pages, of another device" beside mrcx hole
subtest "a region whose pages come and go" beside mrcb pages
subtest "a region whose pages come and go, of another device" beside mrcx pages
rdma link del mrcx
ip -n "$HOST_B" link del mrcx0
tap_end
