#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Operations that must fail do fail, with the status that programs expect, within the
# configured time, and without touching memory. The device works afterwards.
# timeout: 240
. "$(dirname "$0")/lib.sh"

# error_test NAME [COUNTER...]: each refusal of the responder increments these counters
# and ends one QP at each end. A test may have several cases.
error_test() {
	local name=$1 c n
	shift
	ctr_mark
	verify --error-test "$name"
	grep -q "^error-test $name: ok" "$WORK/client" ||
		fail "no verdict: $(grep '^error-test' "$WORK/client" || true)"
	ctr_quiet
	ctr_take
	[ $# -gt 0 ] || return 0
	n=$(ctr mrca rx_nak)
	check "$n" '>' 0 "NAKs received"
	for c in "$@" tx_nak qp_errors; do
		expect mrcb "$c" == "$n"
	done
	expect mrca qp_errors == "$n"
}

local_error_test() { # NAME: the peer must not see an error
	error_test "$1"
	expect mrcb tx_nak == 0
	expect mrcb resp_access_error == 0
	expect mrcb resp_invalid_request == 0
}

# How often functions of the driver have been called since, by kprobes.
TRACE=/sys/kernel/tracing
calls_of() { awk -v name="$1" '$1 == name { print $2 }' "$TRACE/kprobe_profile"; }

probes_off() {
	local f
	for f in mrc_sq_flush mrc_rq_flush; do
		[ -d "$TRACE/events/lab/$f" ] || continue
		echo 0 >"$TRACE/events/lab/$f/enable"
		echo "-:lab/$f" >>"$TRACE/kprobe_events"
	done
}

# A call of the functions that flush takes at most 1024 work requests. Of send queues 5000
# are flushed four times, of receive queues twice, and five queue pairs are destroyed
# meanwhile: 20 and 15 calls at least, where one for each would be 9 and 7.
flushed_in_parts() {
	local f
	local -A least=([mrc_sq_flush]=20 [mrc_rq_flush]=15)
	mountpoint -q "$TRACE" || mount -t tracefs tracefs "$TRACE" 2>/dev/null || true
	[ -e "$TRACE/kprobe_events" ] || skip "this kernel has no kprobes"
	trap 'probes_off; stop_all' EXIT
	for f in mrc_sq_flush mrc_rq_flush; do
		echo "p:lab/$f $f" >>"$TRACE/kprobe_events"
		echo 1 >"$TRACE/events/lab/$f/enable"
	done
	local_error_test flush-many
	for f in mrc_sq_flush mrc_rq_flush; do
		echo "figure: $f: $(calls_of "$f") calls"
		check "$(calls_of "$f")" '>=' "${least[$f]}" "calls of $f"
	done
}

# The budget is retry + 1 intervals of 4.096 us * 2^timeout.
peer_gone() { # MODE TIMEOUT RETRY MIN_MS MAX_MS
	ctr_mark
	verify --peer-gone --timeout "$1" --retry "$2" \
		--expect-min-ms "$3" --expect-max-ms "$4"
	ctr_take
	expect mrca retry_exceeded == 1
	check "$(ctr mrca retry_timeouts)" '>=' "$2" "timer expiries"
	echo "figure: peer gone, timeout $1 retry $2:" \
		"$(sed -n 's/.*\(peer_gone_ms=[0-9.]*\).*/\1/p' "$WORK/client") (allowed $3..$4)"
}

# One work request of each kind after the other. The time limits are those of
# peer_gone 12 3, for each queue pair.
others_gone() {
	ctr_mark
	verify --ext-test gone --timeout 12 --retry 3 --expect-min-ms 50 --expect-max-ms 2000
	ctr_take
	expect mrca retry_exceeded == 3
	echo "figure: $(grep -c '^gone:' "$WORK/client") kinds:" \
		"$(sed -n 's/^gone: //p' "$WORK/client" | paste -sd';')"
}

network_gone() {
	local i
	ctr_mark
	verify_start --blackhole --timeout 14 --retry 3
	wait_for 30 grep -q BLACKHOLE-READY "$WORK/client"
	for i in $(seq "$PLANES"); do
		netem a "$i" loss 100%
		netem b "$i" loss 100%
	done
	verify_finish
	ctr_take
	expect mrca retry_exceeded == 1
	unimpair_all
}

# Packets longer than a probe no longer arrive, on any path. Probes are answered, so
# each loss is known long before a timer expires.
data_gone() {
	local i
	ctr_mark
	verify_start --blackhole --timeout 14 --retry 3
	wait_for 30 grep -q BLACKHOLE-READY "$WORK/client"
	{
		echo "table netdev hole {"
		for i in $(seq "$PLANES"); do
			echo "chain in$i {"
			echo "type filter hook ingress device \"pb$i\" priority 0;"
			echo "ip length > 300 udp dport 4791 drop"
			echo "}"
		done
		echo "}"
	} | in_b nft -f -
	verify_finish
	ctr_take
	in_b nft delete table netdev hole
	expect mrca retry_exceeded == 1
	check "$(ctr mrca rx_probe_reply)" '>' 1 "probes that were answered"
	check "$(ctr mrca loss_probe)" '>' 1 "copies that probes told the loss of"
	echo "figure: $(sed -n 's/.*\(blackhole_ms=[0-9.]*\).*/\1/p' "$WORK/client")," \
		"$(ctr mrca loss_probe) packets, $(ctr mrca retry_timeouts) expiries"
}

# A program uses the index of an empty GID entry, at the end that fails locally; the
# other end receives a GID of zeros. The log of libibverbs names the entry.
empty_gid() { # PROGRAM SAYS
	local srv rc=0
	rm -f "$WORK/verbs.log"
	start "$WORK/server" ip netns exec "$HOST_B" env VERBS_LOG_LEVEL=1 \
		VERBS_LOG_FILE="$WORK/verbs.log" timeout 60 "$1" -d mrcb -g 100
	srv=$started
	wait_for 30 listening "$HOST_B" 18515
	refuse . in_a timeout 60 "$1" -d mrca -g "$(gid_index mrca 1 "$A4")" "$MGMT_B"
	finished "$srv" 30 || rc=$?
	check "$rc" == 1 "exit status"
	grep -q "$2" "$WORK/server" || fail "$(cat "$WORK/server")"
	grep -q '^mrcb: .*entry 100 of the GID table of port 1 is empty' "$WORK/verbs.log" ||
		fail "the log says: $(cat "$WORK/verbs.log")"
	check "$(wc -l <"$WORK/verbs.log")" == 1 "lines of the log"
}

works() {
	ctr_mark
	verify --op mixed --size 0,1,4097,65536 --iters 50
}

topo 2
subtest "unknown rkey: REM_ACCESS_ERR, memory untouched" \
	error_test bad-rkey resp_access_error
subtest "out of bounds: REM_ACCESS_ERR, memory untouched" \
	error_test oob resp_access_error
subtest "MR without REMOTE_WRITE: REM_ACCESS_ERR, memory untouched" \
	error_test no-permission resp_access_error
subtest "QP without REMOTE_WRITE: REM_INV_REQ_ERR, memory untouched" \
	error_test qp-access resp_invalid_request
extension off
subtest "no receive for an immediate, MRC 1.0: REM_INV_REQ_ERR" \
	error_test no-recv resp_no_receive
subtest "opcodes that MRC 1.0 lacks are refused at post" local_error_test bad-opcode
extension on
subtest "bad lkey: LOC_PROT_ERR" local_error_test bad-lkey
subtest "send queue overflow is refused at post" local_error_test sq-overflow
subtest "QP transitions with wrong masks are refused" local_error_test modify-masks
subtest "work requests flush in ERROR, in order" local_error_test flush
subtest "thousands of work requests flush, in order" local_error_test flush-many
subtest "they flush in parts" flushed_in_parts
subtest "send queue drained (SQD) and resumed" local_error_test sq-drain
subtest "peer gone: RETRY_EXC_ERR in time (timeout 12, retry 3)" peer_gone 12 3 50 2000
subtest "peer gone: RETRY_EXC_ERR in time (timeout 16, retry 2)" peer_gone 16 2 537 4000
subtest "peer gone: RETRY_EXC_ERR in time (SEND, READ, atomic)" others_gone
subtest "network gone: RETRY_EXC_ERR" network_gone
subtest "data gone, probes pass: RETRY_EXC_ERR" data_gone
subtest "an empty GID entry: no queue pair to RTR" empty_gid ibv_rc_pingpong "modify QP to RTR"
subtest "an empty GID entry: no address handle" empty_gid ibv_ud_pingpong "create AH"
subtest "rings scribbled on by the program" verify -t 60 --hostile
subtest "the devices still work" works
tap_end
