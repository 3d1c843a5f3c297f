#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# No memory for what programs ask of the kernel: each allocation of each call fails
# once, and the call is repeated until none does. The call must say so or do without,
# nothing of it may be left behind, and the program, which notices nothing, must get
# what it always gets, every byte. Queue pairs of all kinds, regions, windows, queues,
# the connection manager, groups, profiles and events, programs of the MRC API.
# timeout: 1500
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_faults.sh"

# An open context whose program is refused is the core's own leak, and nobody's test
# here: see failslab_link.sh.
export MRC_FAULTS_SPARE='DEVICE method 3,GET_CONTEXT'

# Posting has no answer that says no memory: packets are lost instead, which this
# repairs. Where a program counts packets or paths, posting always works.
spare_posts() { MRC_FAULTS_SPARE+=,POST_SEND "$@"; }

queue_pair="QP created,QP to INIT,QP to RTR,QP to RTS"

cm_pair() { # READY SERVER... -- CLIENT...
	local ready=$1 server=() rc=0 pid
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	start "$WORK/server" in_b_below "${server[@]}"
	pid=$started
	wait_for 30 "$ready"
	in_a timeout $((60 * ${LAB_TIME:-1})) mrc_faults run "$SWEEP" QP "$@" >"$WORK/client" 2>&1 || rc=$?
	finished "$pid" 30 || rc=$?
	[ "$rc" = 0 ] || {
		last_words "$rc" "$rc" "$*"
		mrc_faults report "$SWEEP" || true
		fail "$*"
	}
}

in_b_below() { exec ip netns exec "$HOST_B" timeout $((90 * ${LAB_TIME:-1})) mrc_faults run "$SWEEP" QP "$@"; }

cm_listens() { in_b rdma resource show cm_id | grep -q LISTEN; }
joined() { in_b ip maddr show | grep -q ' 239.1.2.3 '; }

connection_manager() {
	local n before
	rm -f "$SWEEP"
	before=$(objects)
	for n in 1 2 3 4; do
		cm_pair cm_listens ucmatose -C 2 -c 2 -b "$B4" -- ucmatose -C 2 -c 2 -s "$B4"
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	swept "rdma_cm CREATE_ID" "rdma_cm RESOLVE_ADDR" "rdma_cm RESOLVE_ROUTE" \
		"rdma_cm CONNECT" "rdma_cm LISTEN" "rdma_cm ACCEPT" "rdma_cm DISCONNECT"
	wait_for 10 objects_are "$before"
}

groups() {
	local n before
	rm -f "$SWEEP"
	before=$(objects)
	for n in 1 2 3 4; do
		cm_pair joined mckey -m 239.1.2.3 -b "$B4" -C 5 -- mckey -m 239.1.2.3 -b "$A4" -s -C 5
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	swept "rdma_cm JOIN_MCAST" ATTACH_MCAST DETACH_MCAST CREATE_AH
	wait_for 10 objects_are "$before"
}

api() { # THEME
	rm -f "$SWEEP"
	MRC_FAULTS_SPARE+=,POST_SEND mrc_faults run "$SWEEP" QP timeout $((300 * ${LAB_TIME:-1})) \
		mrc_api "$1" mrca mrcb >"$WORK/api" 2>&1 || true
	! grep '^not ok' "$WORK/api" || fail "$1: $(tail -n 5 "$WORK/api")"
	grep -q '^ok ' "$WORK/api" || fail "$1: $(tail -n 5 "$WORK/api")"
	grep -q "^# $1: end\$" "$WORK/api" || fail "$1 ended before its end"
	swept "QP created"
}

faults_needed
topo 2
faults_on all

# Round after round, because a call that does without an allocation has no second try.
subtest "regions and windows" sweep QP 4 \
	"$queue_pair,ALLOC_PD,REG_MR,REREG_MR,ALLOC_MW,CQ method 0" mrc_memory mrca
subtest "regions that are paged" sweep QP 4 "REG_MR,MR method 2" mrc_memory mrca paging
subtest "objects and what is refused" sweep_verify QP 4 "QP created,RESIZE_CQ,QUERY_QP" \
	--error-test objects
subtest "data" sweep_verify QP 4 "$queue_pair,POST_SEND,mmap uverbs" \
	--op mixed --size 1,4097,65536 --iters 40 --inline --qps 4
subtest "completion queues change their size under traffic" sweep_verify QP 4 RESIZE_CQ \
	--resize-cq --size 1,4097 --iters 300 --op mixed
subtest "requests and answers" sweep_verify QP 4 "$queue_pair,POST_SEND" --ext-test mixed
subtest "shared receive queues" sweep_verify QP 4 "CREATE_SRQ,MODIFY_SRQ" --ext-test srq
subtest "datagrams" sweep_verify UD 4 "UD created,UD to RTS,CREATE_AH" --ext-test datagrams
subtest "connections by the connection manager" connection_manager
subtest "groups" groups
for what in rules qp modify events; do
	subtest "control interface: $what" spare_posts sweep QP 6 "MRC object 0 method 0" \
		mrc_ctl mrca selftest $what
done
subtest "controller's library: profiles in batches" spare_posts sweep QP 6 "" libmrc_ctl mrca batches
subtest "controller's library: congestion control" spare_posts sweep QP 6 "" libmrc_ctl mrca cc
for theme in qp modify hint; do
	subtest "MRC API: $theme" api $theme
done
faults_off
subtest "and all is well" verify --op mixed --size 1,4097,65536 --iters 50 --qps 4
tap_end
