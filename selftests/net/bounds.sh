#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How long the kernel works for single calls and packets that ask for as much as they can
# (Documentation/bounds.md). Judged where the clock counts instructions
# (selftests/lab/insns_net.sh); times by another clock are shown.
# timeout: 600
# benchmark
. "$(dirname "$0")/lib.sh"

# Thousands of instructions at most, a third more than measured.
declare -A MOST=([create-qp]=1600 [doorbell]=13000 [destroy-qp]=940 [flush]=10500
	[multicast]=530 [mtu]=40)

times() {
	local name ns unit=us
	[ "${LAB_CLOCK:-}" != instructions ] || unit="thousand instructions"
	ip -n "$HOST_A" link add bx0 type dummy
	ip -n "$HOST_A" link set bx0 up
	in_a rdma link add mrcx type mrc netdev bx0
	in_a mrc_bounds mrca "$(gid_index mrca 1 "$A4")" mrcb "$(gid_index mrcb 1 "$B4")" bx0 \
		>"$WORK/bounds" 2>&1 || fail "$(cat "$WORK/bounds")"
	rdma link del mrcx
	ip -n "$HOST_A" link del bx0
	check "$(grep -c '^bound ' "$WORK/bounds")" == "${#MOST[@]}" "calls"
	while read -r _ name ns; do
		echo "figure: $name: $((ns / 1000)) $unit"
	done <"$WORK/bounds"
	[ "${LAB_CLOCK:-}" = instructions ] || return 0
	while read -r _ name ns; do
		check $((ns / 1000)) '<=' "${MOST[$name]}" "thousand instructions of $name"
	done <"$WORK/bounds"
}

topo 2
subtest "calls and packets" times
tap_end
