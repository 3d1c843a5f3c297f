#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Several processes on one device, through libMRC: programs with different profiles at
# the same time, a controller that works beside many programs, controllers killed in
# the middle of a batch while others continue, and permissions.
# timeout: 900
# shellcheck disable=SC2154 # variables of lib_count.sh
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_paths.sh"

lib() { in_a timeout 200 libmrc_ctl mrca "$@"; }
controller() { lib controller "$@"; }

# Runs a command that prints test results, as part of a subtest.
results() {
	"$@" >"$WORK/out" 2>&1 || true
	cat "$WORK/out"
	grep -q '^ok ' "$WORK/out" || fail "no result: $*"
	! grep -q -E '^not ok |^libmrc_ctl: ' "$WORK/out" || fail "$*"
}

# Removes whatever a failed subtest has left.
clean_slate() {
	local n
	uncount_ports 2>/dev/null || true
	drop_nothing 2>/dev/null || true
	unimpair a 2
	for n in 11 12; do
		controller drop $n $n $n
	done
}

# --- programs -------------------------------------------------------------------

programs=()

# Starts another program with EV and CC profiles; "-" means none.
program() { # EV CC
	local n=${#programs[@]}
	start "$WORK/program.$n" ip netns exec "$HOST_A" \
		libmrc_ctl mrca traffic mrcb "$1" "$2"
	programs+=("$started")
}

# The number of WRITEs that program N has done and verified.
writes() { # N
	sed -n 's/^writes //p' "$WORK/program.$1" | tail -n 1
}

writes_at_least() { [ "$(writes "$1")" -ge "$2" ]; }

# Waits until every program has done COUNT more WRITEs than now.
all_get_on() { # COUNT
	local n
	for ((n = 0; n < ${#programs[@]}; n++)); do
		wait_for 60 writes_at_least $n $(($(writes $n) + $1))
	done
}

started_all() {
	local n
	for ((n = 0; n < ${#programs[@]}; n++)); do
		wait_for 60 writes_at_least $n 4 || {
			cat "$WORK/program.$n"
			fail "program $n does not write"
		}
	done
}

programs_end() {
	local n
	for ((n = 0; n < ${#programs[@]}; n++)); do
		kill -INT "${programs[n]}"
	done
	for ((n = 0; n < ${#programs[@]}; n++)); do
		finished "${programs[n]}" 60 || {
			cat "$WORK/program.$n"
			fail "program $n"
		}
		grep -q '^done ' "$WORK/program.$n" || fail "program $n did not end well"
	done
}

qpn() { sed -n 's/^qpn //p' "$WORK/program.$1"; }

# --- two profiles ---------------------------------------------------------------

PATH_PORTS="c001 c002 c003 c004 c101 c102 c103 c104"

# The first program has port 1 and congestion control, the second has port 2 and none.
# Each packet takes a path of its program's profile.
two_profiles() {
	local p sum=0
	clean_slate
	controller make 11 11 11 c001 4 1 200000
	controller make 12 12 12 c101 4 2 0
	count_ports
	ctr_mark
	program 11 11
	program 12 12
	started_all
	ctl_qp 0 11 11
	ctl_qp 1 12 12
	all_get_on 40
	programs_end
	ctr_quiet 20
	ctr_take
	for p in c001 c002 c003 c004; do
		check "$(seen 1 $p)" '>' 20 "packets of the first, path $p"
		check "$(seen 2 $p)" == 0 "packets of the first, path $p, plane 2"
		sum=$((sum + $(seen 1 $p)))
	done
	check "$(ctr mrca/1 tx_data_pkts)" == "$sum" "data packets of port 1"
	sum=0
	for p in c101 c102 c103 c104; do
		check "$(seen 2 $p)" '>' 20 "packets of the second, path $p"
		check "$(seen 1 $p)" == 0 "packets of the second, path $p, plane 1"
		sum=$((sum + $(seen 2 $p)))
	done
	check "$(ctr mrca/2 tx_data_pkts)" == "$sum" "data packets of port 2"
	check "$(seen 1 other)" == 0 "packets of plane 1 on other paths"
	check "$(seen 2 other)" == 0 "packets of plane 2 on other paths"
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	uncount_ports
	controller drop 11 11 11
	controller drop 12 12 12
}

# Checks the kernel's details of a program's queue pair.
ctl_qp() { # PROGRAM EV CC
	ctl a qp show "$(qpn "$1")" >"$WORK/qp"
	grep -q "^ *ev_profile $2 cc_profile $3 cc " "$WORK/qp" || fail "$(cat "$WORK/qp")"
}

# --- events ---------------------------------------------------------------------

event_came() { grep -q -x "$1 drops 0" "$WORK/controller"; }
bad_events() { grep -c ' bad ' "$WORK/controller" || true; }
bad_events_are() { [ "$(bad_events)" = "$1" ]; }

# A path that drops packets silently is reported, and so is its recovery: the events
# name the EVs that lead there as the controller did.
path_events() {
	local p
	clean_slate
	controller make 11 11 11 c001 4 0 0
	start "$WORK/controller" ip netns exec "$HOST_A" \
		libmrc_ctl mrca controller watch 11
	wait_for 60 grep -q listening "$WORK/controller"
	ctr_mark
	program 11 -
	started_all
	netem a 2 loss 100%
	for p in c002 c004; do
		wait_for 60 event_came "$p@2 bad"
	done
	unimpair a 2
	for p in c002 c004; do
		wait_for 60 event_came "$p@2 good"
	done
	all_get_on 4
	programs_end
	ctr_take
	# Counted events are queued, but the controller may not have printed them yet.
	wait_for 30 bad_events_are "$(ctr mrca ev_to_assumed_bad)" || true
	if grep -v -E '^(listening|c00[1-4]@[12] (bad|good) drops 0)$' "$WORK/controller"; then
		fail "events about something else"
	fi
	check "$(bad_events)" == "$(ctr mrca ev_to_assumed_bad)" \
		"events, and what the counter says"
	expect mrca qp_errors == 0
	controller drop 11 11 11
}

# --- controllers that are killed ------------------------------------------------------

batches_begun() { # COUNT
	[ "$(grep -c '^batch ' "$WORK/controller")" -ge "$1" ]
}

# Kills a controller that repeats a batch, in the middle of a batch. The controller
# prints when a batch begins, and it spends most of its time in batches.
kill_in_batch() { # BATCHES COMMAND...
	local count=$1
	shift
	start "$WORK/controller" ip netns exec "$HOST_A" libmrc_ctl mrca controller "$@"
	wait_for 60 batches_begun "$count"
	kill -9 "$started"
	wait_for 30 process_gone "$started"
	wait "$started" 2>/dev/null || true
}

# Kills the controller after all of a batch was sent, while it waits for replies.
kill_while_asking() {
	hw_now mrca tx_endpoint_req
	local from=$hw
	start "$WORK/controller" ip netns exec "$HOST_A" \
		libmrc_ctl mrca controller ask mrcb 64
	wait_for 60 hw_at_least mrca tx_endpoint_req '' $((from + 64))
	kill -9 "$started"
	wait_for 30 process_gone "$started"
	wait "$started" 2>/dev/null || true
}

# Each batch was done completely or not at all, and the programs notice nothing.
# Another controller finds the resulting state and continues.
killed_replacing() {
	local n set sets=''
	clean_slate
	controller make 11 11 11 c001 512 0 200000
	program 11 11
	started_all
	for n in 1 2 3 4 5; do
		kill_in_batch "$n" swap 11
		controller show 11 11 >"$WORK/show"
		cat "$WORK/show"
		set=$(sed -n 's/^ev ONLINE 512 //p' "$WORK/show")
		[[ $set == first || $set == second ]] || fail "EVs after kill $n"
		grep -q -x "denied 0" "$WORK/show"
		grep -q -x "cc ONLINE uet-1.0-nscc 200000" "$WORK/show"
		sets+=" $set"
		controller once 11
		controller show 11 11 >"$WORK/show"
		grep -q "^ev ONLINE 512 " "$WORK/show"
		! grep -q -x "ev ONLINE 512 $set" "$WORK/show" ||
			fail "a batch after kill $n changed nothing"
	done
	echo "sets after kills:$sets"
	all_get_on 8
	programs_end
	controller drop 11 11 11
}

# Replies to probes are dropped, so that each batch takes its 4 seconds. More batches
# are killed than may exist at a time; none of them stays in the kernel.
killed_probing() {
	local n
	clean_slate
	controller make 11 11 11 c001 4 0 200000
	program 11 11
	started_all
	drop_opcode 0xd9
	ctr_mark
	for n in 1 2 3 4 5 6; do
		kill_while_asking
	done
	# Take the counters before replies to the last batch can arrive.
	ctr_take
	drop_nothing
	expect mrca tx_endpoint_req '>=' $((6 * 64))
	expect mrca rx_endpoint_resp == 0
	# A killed batch does not count as timed out. Only whole batches time out.
	check $(($(ctr mrca endpoint_timeouts) % 64)) == 0 "part of a batch that timed out"
	results lib probes mrcb answered
	controller show 11 11 >"$WORK/show"
	grep -q -x "ev ONLINE 4 first" "$WORK/show"
	grep -q -x "cc ONLINE uet-1.0-nscc 200000" "$WORK/show"
	all_get_on 8
	programs_end
	controller drop 11 11 11
}

# --- one controller, many programs -----------------------------------------------------

many_programs() {
	local n
	clean_slate
	controller make 11 11 11 c001 16 0 200000
	ctr_mark
	for n in 1 2 3; do
		program 11 11
		program - -
	done
	started_all
	results controller all 11 11 mrcb 12
	all_get_on 4
	programs_end
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca endpoint_timeouts == 0
	controller drop 11 11 11
}

# --- who may do what --------------------------------------------------------------------

unprivileged() {
	clean_slate
	controller make 11 11 11 c001 4 0 200000
	results in_a "${as_nobody[@]}" libmrc_ctl mrca refused mrcb
	results in_a "${as_nobody[@]}" libmrc_ctl mrca allowed mrcb 11 11
	controller show 11 11 >"$WORK/show"
	grep -q -x "ev ONLINE 4 first" "$WORK/show"
	controller drop 11 11 11
}

# Root of its own namespace, with all capabilities there.
own_namespace() {
	results in_a unshare -U -r libmrc_ctl mrca refused mrcb
	results in_a "${as_nobody[@]}" unshare -U -r libmrc_ctl mrca refused mrcb
}

# Root without the one capability that is needed.
without_capability() {
	results in_a setpriv --bounding-set=-net_admin --inh-caps=-net_admin \
		libmrc_ctl mrca refused mrcb
}

topo 2
subtest "two programs, each with profiles of its own" two_profiles
subtest "events of a path that fails and heals" path_events
subtest "a controller killed while it replaces EVs" killed_replacing
subtest "a controller killed while it probes" killed_probing
subtest "one controller, many programs" many_programs
subtest "an unprivileged user: programs yes, controllers no" unprivileged
subtest "root of a user namespace is refused" own_namespace
subtest "root without CAP_NET_ADMIN is refused" without_capability
clean_slate
tap_end
