#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# All verbs beyond WRITE, which the extension offers: each operation with verified
# data, over four planes, also with loss and reordering; late receives; operations
# that must be refused; keys that become invalid; shared receive queues; datagrams.
# timeout: 600
# races
. "$(dirname "$0")/lib.sh"

impair_all() { # NETEM...
	local i
	for i in $(seq "$PLANES"); do
		netem a "$i" "$@"
		netem b "$i" "$@"
	done
}

ext() { # [-t SECONDS] [-6] NAME OPTIONS...
	local with=()
	while [[ $1 == -* ]]; do
		with+=("$1")
		[ "$1" != -t ] || { with+=("$2") && shift; }
		shift
	done
	local name=$1
	shift
	ctr_mark
	# Late answers of a guest that its host pauses must not use up retries.
	verify ${with[@]+"${with[@]}"} --ext-test "$name" --timeout 18 "$@"
	ctr_quiet 20
	ctr_take
	[ "$name" = all ] ||
		grep -q "^ext-test $name: ok" "$WORK/client" ||
		fail "no verdict: $(grep '^ext-test' "$WORK/client" || true)"
}

clean() { # NAME OPTIONS...: as ext, and no queue pair fails
	ext "$@"
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca cq_overflow == 0
	expect mrcb cq_overflow == 0
}

# Eight retry intervals of a quarter of a second, for the same reason.
lossy() { # NAME OPTIONS...
	impair_all loss 2% delay 1ms reorder 25% 50%
	clean -t 200 "$@" --timeout 16
	unimpair_all
	check "$(($(ctr mrca tx_rtx_pkts) + $(ctr mrcb tx_rtx_pkts)))" '>' 0 \
		"packets sent again"
}

# One side sends answers, the other one receives them, and rdma shows both.
answers_seen() {
	in_b rdma -j -dd resource show qp link mrcb >"$WORK/qp_b"
	in_a rdma -j -dd resource show qp link mrca >"$WORK/qp_a"
	grep -q '"drv_ans_tx_pkts":[1-9]' "$WORK/qp_b" &&
		grep -q '"drv_ans_resp_bytes":[1-9]' "$WORK/qp_a"
}

answers_shown() {
	local want
	verify_start --ext-test atomic --iters 100000000
	wait_for 30 answers_seen
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		rdma -j -dd resource show qp link mrcb >"$WORK/qp_nobody"
	stop_all
	for want in queued cwnd inflight srtt_ns unsacked unacked lost retries \
		timeouts ev_bad resp_unexec resp_ahead resp_ooo; do
		grep -q "\"drv_ans_$want\":" "$WORK/qp_b" ||
			fail "no ans_$want: $(cat "$WORK/qp_b")"
		grep -q "\"drv_ans_$want\":" "$WORK/qp_nobody" ||
			fail "no ans_$want for nobody: $(cat "$WORK/qp_nobody")"
	done
	# PSNs, and details that reveal them, are not shown to everybody.
	for want in next_psn cack tack tx_pkts rtx_pkts resp_cack resp_exec \
		resp_max_rcv resp_msn resp_bytes; do
		grep -q "\"drv_ans_$want\":" "$WORK/qp_b" ||
			fail "no ans_$want: $(cat "$WORK/qp_b")"
		! grep -q "\"drv_ans_$want\":" "$WORK/qp_nobody" ||
			fail "ans_$want for nobody: $(cat "$WORK/qp_nobody")"
	done
	# Connections that only carry WRITEs have no answer channel.
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	in_b rdma -j -dd resource show qp link mrcb >"$WORK/qp_b"
	stop_all
	grep -q '"drv_resp_cack"' "$WORK/qp_b" || fail "no queue pair"
	! grep -q '"drv_ans_' "$WORK/qp_b" || fail "answers to writes"
}

topo 4
for op in send read atomic fence mixed; do
	subtest "$op" clean "$op"
done
subtest "mixed, IPv6" clean -6 mixed
subtest "send in both directions, posted as lists" clean send --bidir --post-list 4
subtest "mixed, posted as lists" clean mixed --post-list 8
subtest "mixed, ibv_wr_* interface and extended CQs" clean mixed --ex --cq-ex --post-list 4
subtest "mixed, MTU 1024" clean mixed --mtu 1024 --iters 400
for op in send read atomic fence mixed; do
	subtest "$op, with loss and reordering" lossy "$op"
done
subtest "late and missing receives" ext rnr
subtest "what must be refused" ext refused
subtest "memory windows" ext windows
subtest "a shared receive queue" clean srq
subtest "a shared receive queue, with loss and reordering" lossy srq
subtest "datagrams" clean datagrams
subtest "a full multicast group" clean groups
subtest "datagrams, IPv6" clean -6 datagrams
subtest "rdma shows the channel of answers" answers_shown
tap_end
