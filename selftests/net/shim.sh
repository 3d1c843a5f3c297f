#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# libMRC in programs that are not linked with it: below a verbs shim in LD_PRELOAD,
# which turns the RC queue pairs of unmodified verbs programs into MRC ones, and
# loaded at run time. The shim counts every function that it replaces. libMRC itself
# must call none of them. The programs verify the data.
# timeout: 600
# long
# shellcheck disable=SC2034,SC2154 # variables shared with lib.sh
. "$(dirname "$0")/lib.sh"

SHIM=/usr/local/bin/libmrc_shim.so
RECURSIVE=/usr/local/bin/libmrc_recursive.so
# Nothing is lost, and a guest that its host pauses must not use up its retries.
PATIENT=(--timeout 18)
NAMES=(libmrc.so lib_mrc.so libnv_mrc.so libmrc.so.1)

# preload a|b [NAME=VALUE...]: the programs of that host run with the shim.
preload() {
	local -n with=with_$1
	with=(env "LD_PRELOAD=$SHIM" "MRC_SHIM_REPORT=$WORK/report.$1" "${@:2}")
	rm -f "$WORK/report.$1"
}

calls() { # a|b NAME
	awk -v n="$2" '$1 == n { print $2; seen = 1 } END { exit !seen }' "$WORK/report.$1" ||
		fail "no count of $2 at host $1"
}

calls_are() { # a|b NAME OP VALUE
	local n
	n=$(calls "$1" "$2")
	check "$n" "$3" "$4" "calls of $2 at host $1"
}

# libMRC was used, and it called no function that the shim replaces.
not_entered() { # a|b
	local inside
	[ -s "$WORK/report.$1" ] || fail "the shim at host $1 reports nothing"
	inside=$(awk '$3 != 0' "$WORK/report.$1")
	[ -z "$inside" ] || fail "libMRC at host $1 calls what the shim replaces: $inside"
	calls_are "$1" mrc '>' 10
	check "$(calls "$1" close_device)" == "$(calls "$1" open_device)" "devices closed"
	for what in cq qp; do
		check "$(calls "$1" destroy_$what)" == \
			"$(($(calls "$1" create_$what) + $(calls "$1" "create_${what}_ex")))" \
			"${what}s destroyed"
	done
}

no_errors() {
	local c
	ctr_quiet
	ctr_take
	for c in qp_errors retry_exceeded cq_overflow tx_nak resp_invalid_request \
		resp_access_error; do
		expect mrca "$c" == 0
		expect mrcb "$c" == 0
	done
	expect mrcb rx_data_pkts '>' 0
}

# shimmed HOSTS CQ QP OPTIONS...: runs mrc_verify with the shim on those hosts. CQ and
# QP are the functions by which it creates one pair of CQs and one queue pair.
shimmed() {
	local hosts=$1 cq=$2 qp=$3 h
	shift 3
	for h in $hosts; do
		preload "$h"
	done
	ctr_mark
	verify "$@" "${PATIENT[@]}"
	no_errors
	for h in $hosts; do
		not_entered "$h"
		calls_are "$h" "create_$cq" == 2
		calls_are "$h" "create_$qp" == 1
		calls_are "$h" modify_qp == 3
		calls_are "$h" query_qp '>=' 1
		calls_are "$h" poll_cq '>' 0
	done
}

posted() { # a|b SENDS: the client A posts all, the server B only receives
	calls_are a post_send == "$1"
	calls_are b post_send == 0
}

plain() {
	shimmed "a b" cq qp --op mixed --size 0,1,4097,65536 --iters 40
	posted 40
	calls_are b post_recv '>=' 10
}

in_lists() {
	shimmed "a b" cq qp --op mixed --post-list 16 --unsignalled 16 --depth 64 \
		--size 1,4097,20000 --iters 160
	posted 10
}

by_functions() {
	shimmed "a b" cq qp_ex --ex --op mixed --size 0,1,4097,65536 --iters 40
	posted 0
}

many_qps() { # ITERS
	preload a
	preload b
	ctr_mark
	verify --op mixed --qps 8 --bidir --size 1,4097,20000 --iters "$1" "${PATIENT[@]}"
	no_errors
	for h in a b; do
		not_entered "$h"
		calls_are "$h" create_cq == 2
		calls_are "$h" create_qp == 8
		calls_are "$h" modify_qp == 24
		calls_are "$h" post_send == $((8 * $1))
	done
}

# Stock perftest with COUNT queue pairs. A side that only receives may stay in RTR.
stock() { # COUNT BYTES TOOL OPTIONS...
	local count=$1 bytes=$2 h
	shift 2
	preload a
	preload b
	ctr_mark
	perftest "$@" -u 18
	no_errors
	for h in a b; do
		not_entered "$h"
		echo "figure: $*, host $h: $(calls "$h" create_qp) QPs by ibv_create_qp()," \
			"$(calls "$h" create_qp_ex) by ibv_create_qp_ex()"
		check $(($(calls "$h" create_qp) + $(calls "$h" create_qp_ex))) == "$count" \
			"queue pairs of host $h"
	done
	calls_are a modify_qp == $((3 * count))
	calls_are b modify_qp '>=' $((2 * count))
	calls_are b modify_qp '<=' $((3 * count))
	expect mrcb rx_data_bytes == "$bytes"
}

# A program of the MRC API below the shim: the shim sees only that the program opens
# and closes the device.
mrc_program() {
	local h
	preload a
	preload b
	ctr_mark
	start "$WORK/rank0" ip netns exec hosta "${with_a[@]}" mrc_allreduce --rank 0 \
		--ranks 2 -d mrca --gid "$A4" --root $MGMT_A --rounds 8 --op mixed
	h=$started
	start "$WORK/rank1" ip netns exec hostb "${with_b[@]}" mrc_allreduce --rank 1 \
		--ranks 2 -d mrcb --gid "$B4" --root $MGMT_A --rounds 8 --op mixed
	finished "$started" 90 || fail "rank 1: $(cat "$WORK/rank1")"
	finished "$h" 90 || fail "rank 0: $(cat "$WORK/rank0")"
	no_errors
	for h in a b; do
		awk '$3 != 0 || $2 != ($1 ~ /^(open|close)_device$/ ? 1 : $1 == "mrc" ? 3 : 0)' \
			"$WORK/report.$h" >"$WORK/bad"
		[ ! -s "$WORK/bad" ] || fail "calls at host $h: $(cat "$WORK/bad")"
	done
}

# With a library that does call functions that the shim replaces, the counter is not
# 0.
counter_counts() {
	local inside
	preload a "MRC_SHIM_LIBMRC=$RECURSIVE"
	start "$WORK/server" ip netns exec hostb timeout 60 mrc_verify -d mrcb --gid "$B4"
	start "$WORK/client" ip netns exec hosta timeout 60 "${with_a[@]}" mrc_verify \
		-d mrca --gid "$A4" --size 1 --iters 1 $MGMT_B
	! finished "$started" 60 || fail "works with a library that calls the shim"
	inside=$(awk '$1 == "create_cq" { print $3 }' "$WORK/report.a")
	check "${inside:-0}" == 1 "create_cq from inside of the library"
}

loaded() { # before|after NAME...
	local out
	out=$(in_a mrc_load mrca "$@" 2>&1) || fail "mrc_load mrca $*: $out"
	[ "$out" = "mrc_load: OK" ] || fail "mrc_load mrca $*: $out"
}

# The check fails if there is a second copy of the library.
copy_noticed() {
	cp -L /usr/lib/x86_64-linux-gnu/libmrc.so.1 "$WORK/libmrc-copy.so"
	refuse '2 copies of the library after dlopen' in_a mrc_load mrca after "$WORK/libmrc-copy.so"
}

no_leak() {
	local n before=$WORK/memory
	many_qps 2
	memory_before "$before"
	for n in 1 2 3; do
		many_qps 2
	done
	expect_memory_back "$before" 24 1024
}

topo 4
for when in before after; do
	for name in "${NAMES[@]}"; do
		subtest "$name loaded $when the device is open" loaded $when "$name"
	done
	subtest "all names loaded $when the device is open" loaded $when "${NAMES[@]}"
done
subtest "a second copy of the library would be noticed" copy_noticed
subtest "a verbs program below the shim" plain
subtest "the shim on the sending host only" \
	shimmed a cq qp --op mixed --size 0,1,4097,65536 --iters 40
subtest "the shim on the receiving host only" \
	shimmed b cq qp --op mixed --size 0,1,4097,65536 --iters 40
subtest "below the shim: IPv6, odd addresses, gather lists, inline" \
	shimmed "a b" cq qp -6 --op mixed --unaligned --sges 3 --inline --size 3,64,4097 --iters 40
subtest "below the shim: lists of requests, few signals" in_lists
subtest "below the shim: ibv_wr_* interface" by_functions
subtest "below the shim: extended CQ" \
	shimmed "a b" cq_ex qp --cq-ex --op mixed --size 1,4097 --iters 40
subtest "below the shim: extended CQ and ibv_wr_*" \
	shimmed "a b" cq_ex qp_ex --cq-ex --ex --op mixed --size 1,4097 --iters 40
subtest "below the shim: 8 queue pairs, both directions" many_qps 10
subtest "ib_write_bw below the shim" \
	stock 1 $((65536 * 300)) ib_write_bw -n 300
subtest "ib_write_bw below the shim, ibv_post_send" \
	stock 1 $((65536 * 300)) ib_write_bw --use_old_post_send -n 300
subtest "ib_write_bw below the shim, 4 queue pairs" \
	stock 4 $((65536 * 4 * 100)) ib_write_bw -q 4 -n 100
subtest "ib_write_bw below the shim, WRITE_IMM" \
	stock 1 $((65536 * 300)) ib_write_bw --write_with_imm -n 300
subtest "a program of the MRC API below the shim" mrc_program
subtest "the counter counts: a library that does call the shim" counter_counts
subtest "nothing is left in the kernel" no_leak
tap_end
