#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Everything that verbs have beyond WRITE: each operation with verified data,
# over four planes, with loss and reordering as well; receives that come late;
# what must be refused; keys that end; shared receive queues; datagrams.
# timeout: 600
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
	verify ${with[@]+"${with[@]}"} --ext-test "$name" "$@"
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

lossy() { # NAME OPTIONS...
	impair_all loss 2% delay 1ms reorder 25% 50%
	clean -t 200 "$@"
	unimpair_all
	check "$(($(ctr mrca tx_rtx_pkts) + $(ctr mrcb tx_rtx_pkts)))" '>' 0 \
		"packets sent again"
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
	subtest "$op, with loss and reordering" lossy "$op" --timeout 12
done
subtest "late and missing receives" ext rnr
subtest "what must be refused" ext refused
subtest "memory windows" ext windows
subtest "a shared receive queue" clean srq
subtest "a shared receive queue, with loss and reordering" lossy srq --timeout 12
subtest "datagrams" clean datagrams
subtest "datagrams, IPv6" clean -6 datagrams
tap_end
