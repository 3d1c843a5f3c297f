#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcconform with a device that has two ports, and with SRv6 in both directions. Each case is
# one result here.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_conform.sh"

run_all() { # NAME OPTIONS...
	status=0
	conform -i pa1 -i pa2 --strict --json "$WORK/$1.json" "${@:2}" \
		>"$WORK/$1.out" 2>"$WORK/$1.err" || status=$?
	comment <"$WORK/$1.err"
	results "$WORK/$1.json" | sed "s/^\\(ok\\|not ok\\) /&$1: /" >"$WORK/results" ||
		tail -n 20 "$WORK/$1.out" | comment
	adopt <"$WORK/results"
}

all_passed() { # NAME CASES SKIPPED
	check "$status" == 0 "exit status"
	check "$2" '>' 0 "cases"
	grep -q "^$2 passed, 0 failed (MUST), 0 failed (SHOULD), $3 skipped, 0 errors\$" \
		"$WORK/$1.out" || fail "$(tail -n 1 "$WORK/$1.out")"
}

count_cases() { # PATTERN...
	mrcconform list "$@" | wc -l
}

# The tester uses the second plane in cases of several planes only.
both_planes() {
	local i
	for i in 1 2; do
		check "$(ctr_now mrcb/$i tx_data_pkts)" '>' 100 "data packets sent by plane $i"
		check "$(ctr_now mrcb/$i rx_data_pkts)" '>=' 4 "data packets that came by plane $i"
	done
}

encapsulated() {
	check "$(ctr_now mrcb rx_srv6)" '>' 1000 "packets in SRv6 that came"
	check "$(ctr_now mrcb tx_srv6)" '>' 1000 "packets in SRv6 that were sent"
}

usage() {
	local rc
	for args in "--srv6 fcbb:0:32::" "-a $B4 --srv6 fcbb:0:32::" "-a $B6 --srv6 10.0.0.1" \
		"-a $B6 --srv6-source $A6" "-a $B6 -i pa1 --srv6 fcbb:: --srv6 fcbb:1::"; do
		rc=0
		# shellcheck disable=SC2086 # words
		conform $args >/dev/null 2>"$WORK/err" || rc=$?
		check "$rc" == 2 "status of '$args'"
		[ -s "$WORK/err" ] || fail "'$args' gives no reason"
	done
	rc=0
	conform -a "$B6" -i none 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status of a netdev that is not there"
	grep -q '^mrcconform: netdev none: No such device$' "$WORK/err" || fail "$(cat "$WORK/err")"
	rc=0
	conform -a "$B6" --srv6 fcbb:9:: -c srv6 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status of an address without a route"
	grep -q '^mrcconform: route to fcbb:9::: ' "$WORK/err" || fail "$(cat "$WORK/err")"
}

topo 2
rdma link del mrca
extension off b
target_start

run_all planes -a "$B4" -a "$B6"
srv6=$(count_cases srv6)
subtest "all cases by two planes were run, and passed" \
	all_passed planes $((2 * ($(count_cases) - srv6))) $((2 * srv6))
subtest "both planes carried packets" both_planes
conform_srv6_up
conform_profile_on
run_all srv6 -a "$B6" --srv6 fcbb:0:32::
subtest "all cases in SRv6 were run, and passed" all_passed srv6 "$(count_cases)" 0
subtest "packets were encapsulated" encapsulated
subtest "wrong command lines" usage
conform_profile_off
subtest "no queue pair is left" wait_for 30 no_qps
tap_end
