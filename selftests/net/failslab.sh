#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory shortage in calls of programs: each allocation of each call fails once, and
# the call is repeated until no allocation fails. The call must return an error or
# work without that memory. It must leave nothing behind. The program does not notice
# the failures and must get its usual result, every byte. Covers queue pairs of all
# kinds, regions, windows, queues, the connection manager, groups, profiles and
# events, and programs of the MRC API.
# timeout: 1500
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_faults.sh"

# If a program's open context is refused, the RDMA core leaks it. That leak is not
# tested here: see failslab_link.sh.
export MRC_FAULTS_SPARE='DEVICE method 3,GET_CONTEXT'

# Posting cannot return "no memory". Instead packets are lost, and retransmission
# repairs that. Where a program counts packets or paths, posting must always work.
spare_posts() { MRC_FAULTS_SPARE+=,POST_SEND "$@"; }

# The core drops an event when it has no memory for it. This command waits for an
# event.
spare_errors() { MRC_FAULTS_SPARE+=',QP to ERR' "$@"; }

queue_pair="QP created,QP to INIT,QP to RTR,QP to RTS"

# together LABEL READY SERVER... -- CLIENT...: runs a program in host B and one in
# host A, both with failing allocations. Both must succeed, or print EXCUSED, which
# means another round. SPARED are calls of host B that always work, with a comma
# before each.
EXCUSED='' SPARED=''
excused() { [ -n "$EXCUSED" ] && grep -q -E "$EXCUSED" "$@"; }
together() {
	local label=$1 ready=$2 server=() rc=0 pid
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	start "$WORK/server" ip netns exec "$HOST_B" timeout $((90 * ${LAB_TIME:-1})) \
		env "MRC_FAULTS_SPARE=$MRC_FAULTS_SPARE$SPARED" mrc_faults run "$SWEEP" "$label" "${server[@]}"
	pid=$started
	wait_for 30 ready_or_gone "$ready" "$pid"
	in_a timeout $((60 * ${LAB_TIME:-1})) mrc_faults run "$SWEEP" "$label" "$@" >"$WORK/client" 2>&1 || rc=$?
	# The other program may wait for something that will not come.
	[ "$rc" = 0 ] || ! excused "$WORK/client" || kill "$pid" || true
	finished "$pid" 30 || rc=$?
	[ "$rc" != 0 ] || return 0
	if excused "$WORK/client" "$WORK/server"; then
		excuses=$((excuses + 1))
		return 0
	fi
	last_words "$rc" "$rc" "$*"
	mrc_faults report "$SWEEP" || true
	fail "$*"
}

# Repeats the rounds until all calls are swept. The last round must succeed without an
# excuse.
sweep_together() { # KINDS LABEL...: as for together()
	local n before kinds excuses=0 last
	IFS=, read -r -a kinds <<<"$1"
	shift
	rm -f "$SWEEP"
	before=$(objects)
	for ((n = 1; n <= 24; n++)); do
		last=$excuses
		together "$@"
		[ "$last" = "$excuses" ] || continue
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	swept "${kinds[@]}"
	[ "$last" = "$excuses" ] || fail "the last round failed"
	echo "figure: rounds $n excused $excuses"
	wait_for 10 objects_are "$before"
}

ready_or_gone() { "$1" || process_gone "$2"; }
cm_listens() { in_b rdma resource show cm_id | grep -q LISTEN; }
joined() { in_b ip maddr show | grep -q ' 239.1.2.3 '; }
pingpong_listens() { listening "$HOST_B" 18515; }

# If a connection cannot be accepted, the connection manager itself refuses it. The
# same command is used when the active side cannot confirm the connection. When a
# connection is taken down, the connection manager tells the peer, or without memory
# it does not.
connection_manager() {
	EXCUSED='failure accepting: Cannot allocate memory|CONNECT_ERROR, error: -1$'
	MRC_FAULTS_SPARE+=',rdma_cm DISCONNECT' MRC_FAULTS_ONCE='rdma_cm ACCEPT' sweep_together \
		"rdma_cm CREATE_ID,rdma_cm RESOLVE_ADDR,rdma_cm RESOLVE_ROUTE,rdma_cm CONNECT,rdma_cm LISTEN,rdma_cm ACCEPT,$queue_pair" \
		QP cm_listens ucmatose -C 2 -c 2 -b "$B4" -- ucmatose -C 2 -c 2 -s "$B4"
}

# The result of joining comes as an event. But IP reports success also when it could
# not join, and then nothing arrives. A program that only sends does not need to join.
groups() {
	SPARED=',rdma_cm JOIN_MCAST'
	EXCUSED='MULTICAST_ERROR, error: -12'
	sweep_together "rdma_cm JOIN_MCAST,rdma_cm LEAVE_MCAST,ATTACH_MCAST,DETACH_MCAST,CREATE_AH" \
		UD joined mckey -m 239.1.2.3 -b "$B4" -C 5 -- mckey -m 239.1.2.3 -b "$A4" -s -C 5
}

unreliable() {
	sweep_together "UC created,UC to INIT,UC to RTR,UC to RTS,UC destroyed" \
		UC pingpong_listens \
		ibv_uc_pingpong -d mrcb -g "$(gid_index mrcb 1 "$B4")" -n 20 -e -- \
		ibv_uc_pingpong -d mrca -g "$(gid_index mrca 1 "$A4")" -n 20 -e "$MGMT_B"
}

# Requests that no other program here makes: ports, traffic classes, defaults, probes
# of a path.
controller() {
	cat <<-END >"$WORK/commands"
		dev show
		port set 2 disable
		port set 2 enable
		tc set trimming off
		tc show
		default show
		probe ev src $A4 dst $B4 evs c001@1 timeout 4s
	END
	# If memory for a route is lacking, the driver sees "no route".
	ODD=("MRC object 0 method 5=EIO")
	sweep QP 24 "MRC object 0 method 0,MRC object 0 method 2,MRC object 0 method 4,MRC object 0 method 5,MRC object 1 method 0" \
		mrcctl -d mrca -b "$WORK/commands"
}

# The program prints its own failures. It ends with 1 if tests were skipped.
api_round() { # THEME
	MRC_FAULTS_SPARE+=,POST_SEND mrc_faults run "$SWEEP" QP timeout $((300 * ${LAB_TIME:-1})) \
		mrc_api "$1" mrca mrcb >"$WORK/api" 2>&1 || true
	! grep '^not ok' "$WORK/api" || fail "$1: $(tail -n 5 "$WORK/api")"
	grep -q '^ok ' "$WORK/api" || fail "$1: $(tail -n 5 "$WORK/api")"
	grep -q "^# $1: end\$" "$WORK/api" || fail "$1 ended before its end"
}

api() { # THEME
	local n before
	rm -f "$SWEEP"
	before=$(objects)
	for ((n = 1; n <= 24; n++)); do
		api_round "$1"
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	swept "QP created"
	wait_for 10 objects_are "$before"
}

faults_needed
topo 2
faults_on all

# Several rounds, because a call that works without an allocation is not tried a
# second time.
subtest "regions and windows" sweep QP 24 \
	"$queue_pair,ALLOC_PD,REG_MR,REREG_MR,ALLOC_MW,CQ method 0" mrc_memory mrca
subtest "regions that are paged" sweep QP 24 "REG_MR,REREG_MR" mrc_memory mrca paging "registered anew"
subtest "pages asked for" sweep QP 24 "REG_MR,MR method 2" mrc_memory mrca paging advice
subtest "objects and what is refused" sweep_verify QP 24 "QP created,RESIZE_CQ,QUERY_QP" \
	--error-test objects
subtest "data" sweep_verify QP 24 "$queue_pair,POST_SEND,mmap uverbs" \
	--op mixed --size 1,4097,65536 --iters 40 --inline --qps 4
subtest "completion queues change their size under traffic" sweep_verify QP 24 RESIZE_CQ \
	--resize-cq --size 1,4097 --iters 300 --op mixed
subtest "requests and answers" sweep_verify QP 24 "$queue_pair,POST_SEND" --ext-test mixed
subtest "shared receive queues" spare_errors sweep_verify QP 24 "SRQ method 0,MODIFY_SRQ" --ext-test srq
subtest "datagrams" sweep_verify UD 24 "UD created,UD to RTS,CREATE_AH" --ext-test datagrams
subtest "completion channels" sweep_verify QP 24 "CREATE_COMP_CHANNEL,CQ method 0" \
	--events --size 1,4097 --iters 40
subtest "connections by the connection manager" connection_manager
subtest "groups" spare_posts groups
subtest "unreliable connections" spare_posts unreliable
for what in rules qp modify events; do
	subtest "control interface: $what" spare_posts sweep QP 24 "MRC object 0 method 0" \
		mrc_ctl mrca selftest $what
done
subtest "control interface: commands" controller
subtest "controller's library: profiles in batches" spare_posts sweep QP 24 "" libmrc_ctl mrca batches
subtest "controller's library: congestion control" spare_posts sweep QP 24 "" libmrc_ctl mrca cc
for theme in qp modify hint; do
	subtest "MRC API: $theme" api $theme
done
faults_off
subtest "and all is well" verify --op mixed --size 1,4097,65536 --iters 50 --qps 4
tap_end
