#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The control interface: the result of each request in each state, permissions,
# profiles of queue pairs in use, events, and defaults for programs that do not know
# MRC. Profiles belong to the device and outlive the program that made them.
#
# A bug of the RDMA core: it refuses a second context for one file, and then the
# program's memory is not freed (refused_by_core() in lib_run.sh). The random calls hit
# this bug too.
# timeout: 900
# kmemleak-ok: comm "uctx-refused"
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_paths.sh"

by=() # prefix of the commands
selftest() { # NAME [ARGS]
	adopt_run "ioctl: " in_a "${by[@]}" mrc_ctl mrca selftest "$@"
}

EVS=c001@1,c002@2,c003@1,c004@2

# Removes whatever a failed subtest has left.
clean_slate() {
	uncount_ports 2>/dev/null || true
	unimpair a 2
	ctl a default del "$B4" 2>/dev/null || true
	is_gone ev 3 || ctl a ev del 3
	is_gone fmt 1 || ctl a fmt del 1
	is_gone cc 2 || ctl a cc del 2
}

# Format 1 and EV profile 3, explicit, four UDP paths on two planes. The profile is
# the default for all traffic to B.
profile_up() { # [EVENTS]
	clean_slate
	ctl a fmt add 1 mode udp fields 16
	ctl a ev add 3 mode explicit fmt 1 evs $EVS events "${1:-none}"
	ctl a default set "$B4" ev 3
}

profile_down() {
	ctl a default del "$B4"
	wait_for 30 ctl a ev del 3
	ctl a fmt del 1
}

# The state of a profile. A list has those that are not INIT.
state_of() { # fmt|ev|cc ID
	local all
	all=$(ctl a "$1" show) || return
	sed -n "s/^$1 $2 state \([a-z]*\) .*/\1/p" <<<"$all" | grep . || echo init
}

state_is() { # fmt|ev|cc ID STATE
	local now
	now=$(state_of "$1" "$2")
	[ "$now" = "$3" ] || fail "$1 $2 is $now, expected $3"
}

is_gone() { [ "$(state_of "$1" "$2")" = init ]; } # fmt|ev|cc ID

evs_now() { ctl a ev show 3 | evs_shown; }

not_permitted='^mrcctl: fmt 1: Operation not permitted'

# --- who may ask ------------------------------------------------------------------

# A program without privileges may query the device, and nothing else.
refused_all() { # WHO PREFIX...
	adopt_run "$1: " in_a "${@:2}" mrc_ctl mrca selftest unprivileged
}

nothing_changed() {
	state_is fmt 1 init
	state_is ev 3 init
	state_is cc 1 init
	[ -z "$(ctl a default show)" ] || fail "defaults: $(ctl a default show)"
	ctl a port show | grep -q '^port 1 .* admin enabled ' || fail "$(ctl a port show)"
}

# CAP_NET_ADMIN is sufficient. It must be the capability of the namespace's owner.
net_admin_only() {
	"${as_nobody[@]}" --inh-caps=+net_admin --ambient-caps=+net_admin \
		mrcctl -d mrca fmt add 1 mode udp fields 16
	state_is fmt 1 online
	refuse "$not_permitted" setpriv --bounding-set=-net_admin --inh-caps=-net_admin \
		mrcctl -d mrca fmt set 1 state offline
	state_is fmt 1 online
	ctl a fmt del 1
}

foreign_user_namespace() {
	refuse "$not_permitted" unshare -U -r mrcctl -d mrca fmt show 1
	refuse "$not_permitted" unshare -U -r -n mrcctl -d mrca fmt show 1
	unshare -U -r mrcctl -d mrca dev show | grep -q ' ev max_profiles [1-9]'
}

# If a user namespace owns a network namespace, its root configures the devices there.
owning_user_namespace() {
	local pid
	start "$WORK/userns" unshare -U -r -n sleep 100
	pid=$started
	wait_for 30 userns_ready "$pid"
	ip link add ctlx type veth peer name ctly
	ip link set ctlx netns "$pid"
	nsenter -t "$pid" -n ip link set ctlx up
	nsenter -t "$pid" -n rdma link add mrcx type mrc netdev ctlx
	nsenter -t "$pid" -U -n --preserve-credentials \
		mrcctl -d mrcx fmt add 1 mode udp fields 16
	refuse "$not_permitted" "${as_nobody[@]}" mrcctl -d mrcx fmt show 1
	rdma link del mrcx
	ip link del ctly
}

userns_ready() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
		grep -q . "/proc/$1/uid_map"
}

# --- profiles belong to the device ---------------------------------------------------

survives_program() {
	local lines
	profile_up
	ctl a ev deny 3 c002@2
	lines=$(evs_now | cut -d' ' -f2- | paste -sd, -)
	[ "$lines" = "c001@1 good,c002@2 denied,c003@1 good,c004@2 good" ] ||
		fail "another process sees: $lines"
	profile_down
	state_is ev 3 init
}

# A controller that is killed at any moment leaves complete profiles.
controller_killed() {
	local n lines pid pids
	profile_up
	for n in 1 2; do
		start "$WORK/storm" ip netns exec "$HOST_A" bash -c '
			while :; do
				echo "ev deny 3 c001@1,c002@2,c003@1"
				echo "ev allow 3 c003@1,c002@2,c001@1"
			done | mrcctl -d mrca -b -'
		wait_for 30 descendants_busy "$started"
		# shellcheck disable=SC2207 # a list of numbers
		pids=($(descendants "$started") "$started")
		kill -9 "${pids[@]}" 2>/dev/null || true
		# Only the last process is a child of this shell; mrcctl may still be
		# in a call.
		for pid in "${pids[@]}"; do
			wait_for 30 process_gone "$pid"
		done
		wait "$started" 2>/dev/null || true
		lines=$(evs_now | awk '{ print $2 }' | paste -sd, -)
		[ "$lines" = "$EVS" ] || fail "after kill $n: $lines"
		state_is ev 3 online
		ctl a ev allow 3 $EVS
		check "$(evs_now | grep -c ' good$')" == 4 "EVs that are good"
	done
	profile_down
}

descendants_busy() {
	local pid
	for pid in $(descendants "$1"); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) != mrcctl ]] || return 0
	done
	return 1
}

attributes() { ctl a dev show | grep -E '^ *(extension|attr) ' | paste -sd' '; }

# After a port is added, all of the configuration is still there.
survives_growth() {
	local attrs map
	profile_up
	ctl a tc set trimming on no_trim 1
	ctl a cc add 2 algorithm uet-1.0-nscc max_cwnd 100000
	ctl a dev set num_evs 48
	ctl a dev set mpr 16
	ctl a dev set cwnd 131072
	ctl a dev set cc uet-1.0-nscc
	ctl a dev set extension off
	attrs=$(attributes)
	[[ $attrs == *"extension off"*"num_evs 48 mpr 16 cwnd 131072 cc uet-1.0-nscc" ]] ||
		fail "attributes: $attrs"
	plane_add 3 4500 4
	link_add a 3
	wait_for 30 port_is mrca 3 ACTIVE
	state_is ev 3 online
	state_is cc 2 online
	check "$(evs_now | wc -l)" == 4 "EVs"
	[ "$(ctl a default show)" = "$B4/32 ev 3 cc none" ] || fail "defaults: $(ctl a default show)"
	map=$(ctl a tc show)
	[[ $map == "no_trim 1 "*" trimming on" ]] || fail "traffic classes: $map"
	[ "$(attributes)" = "$attrs" ] || fail "attributes: $(attributes)"
	ctl a ev replace 3 c004@2 c005@3
	evs_now | grep -q 'c005@3 good'
	profile_down
	ctl a cc del 2
	ctl a tc set trimming off no_trim 0
	ctl a dev set num_evs 64
	ctl a dev set mpr 8
	ctl a dev set cwnd 0
	ctl a dev set cc vegas
	ctl a dev set extension on
}

# --- profiles under traffic ----------------------------------------------------------

# Stock perftest over a fabric that was configured for it. Each of its packets takes
# one of the four paths, on the plane that the profile names.
unmodified_program() {
	local p
	profile_up
	count_ports
	ctr_mark
	perftest ib_write_bw -s 65536 -n 500
	ctr_quiet
	ctr_take
	for p in c001 c003; do
		check "$(seen 1 $p)" '>' 100 "packets on path $p"
		check "$(seen 2 $p)" == 0 "packets of plane 1's $p on plane 2"
	done
	for p in c002 c004; do
		check "$(seen 2 $p)" '>' 100 "packets on path $p"
		check "$(seen 1 $p)" == 0 "packets of plane 2's $p on plane 1"
	done
	check "$(seen 1 other)" == 0 "packets of plane 1 on other paths"
	check "$(seen 2 other)" == 0 "packets of plane 2 on other paths"
	check "$(seen_all)" == "$(ctr mrca tx_data_pkts)" "data packets seen and sent"
	expect mrca qp_errors == 0
	uncount_ports
	profile_down
}

# After a deny returns, no packet takes the denied path. After a replacement returns,
# no packet takes an old path.
changes_under_traffic() {
	local was
	profile_up
	count_ports
	ctr_mark
	verify_start --duration 1000 --size 65536 --op mixed
	grows 2 c002 100

	ctl a ev deny 3 c002@2
	# Packets handed to the netdev before are on a veth, so they have arrived.
	wait_for 30 stands_still 2 c002
	was=$(seen 2 c002)
	grows 2 c004 300
	check "$(seen 2 c002)" == "$was" "packets on the denied path"
	evs_now | grep -q 'c002@2 denied'

	ctl a ev allow 3 c002@2
	grows 2 c002 100

	ctl a ev replace 3 c003@1 d003@1
	wait_for 30 stands_still 1 c003
	was=$(seen 1 c003)
	grows 1 d003 300
	check "$(seen 1 c003)" == "$was" "packets on the replaced path"

	refuse '^mrcctl: ev 3: Device or resource busy' ctl a ev set 3 state offline
	state_is ev 3 online
	refuse '^mrcctl: fmt 1: Device or resource busy' ctl a fmt set 1 state offline
	grows 1 d003 100
	verify_stop_well
	check "$(seen 1 other)" == 0 "packets of plane 1 on other paths"
	check "$(seen 2 other)" == 0 "packets of plane 2 on other paths"
	uncount_ports
	profile_down
}

# A path that drops packets silently is reported, and so is its recovery. The event
# names the path as the controller did.
path_events() {
	local p monitor
	profile_up good,assumed_bad
	start "$WORK/events" ip netns exec "$HOST_A" mrcctl -d mrca -j monitor ev
	monitor=$started
	wait_for 30 hears_events "$monitor"
	ctr_mark
	verify_start --duration 1000 --size 65536 --op mixed
	wait_for 30 ctr_at_least mrca tx_data_pkts $(($(ctr_now mrca tx_data_pkts) + 500))
	netem a 2 loss 100%
	for p in c002 c004; do
		wait_for 30 event_came "$p@2" assumed_bad
	done
	evs_now | grep -q 'c002@2 assumed_bad'
	unimpair a 2
	for p in c002 c004; do
		wait_for 30 event_came "$p@2" good
	done
	verify_stop_well
	# Counted events are queued, but mrcctl may not have printed them yet.
	wait_for 30 bad_events_are "$(ctr mrca ev_to_assumed_bad)" || true
	if grep -v -E '"event":"ev","ev_profile":3,"ev":"c00[1-4]@[12]",' "$WORK/events"; then
		fail "events about something else"
	fi
	check "$(bad_events)" == "$(ctr mrca ev_to_assumed_bad)" \
		"events, and what the counter says"
	kill -9 "$monitor" 2>/dev/null || true
	profile_down
}

event_came() { # EV STATE
	grep -q "\"ev_profile\":3,\"ev\":\"$1\",\"state\":\"$2\",\"dropped\":0}" "$WORK/events"
}

bad_events() { grep -c '"state":"assumed_bad"' "$WORK/events" || true; }
bad_events_are() { [ "$(bad_events)" = "$1" ]; }

# The queue pairs of all programs, shown to callers with permission.
shows_queue_pairs() {
	local qpn
	profile_up
	steady_bw -q 1
	# One line for each port. No pipe here: a reader that ends early would make
	# the command fail.
	rdma -j resource show qp link mrca >"$WORK/qps"
	qpn=$(sed 's/},{/\n/g' "$WORK/qps" |
		sed -n 's/.*"lqpn":\([0-9]*\),.*"type":"RC".*/\1/p' | sort -u | sed -n 1p)
	ctl a qp show "$qpn" >"$WORK/qp"
	grep -q '^ *ev_profile 3 cc_profile [^ ]* cc vegas ' "$WORK/qp"
	check "$(qp_evs_shown <"$WORK/qp" | grep -c '^[12] 0x0000c00[1-4] good$')" == 4 "EVs"
	in_a rdma -j -dd resource show qp link mrca >"$WORK/qps"
	grep -q '"drv_ev_profile":3' "$WORK/qps"
	refuse "^mrcctl: qp $qpn: No such file or directory" ctl b qp show "$qpn"
	refuse '^mrcctl: qp 1: No such file or directory' ctl a qp show 1
	# The device itself does not know them either. The queue pair of management
	# datagrams is no connection.
	in_b mrc_ctl mrcb selftest absent "$qpn"
	in_a mrc_ctl mrca selftest absent 1
	steady_bw_end
	profile_down
}

# --- nothing stays behind ------------------------------------------------------------

cycle() {
	local n
	for n in $(seq 8); do
		echo "fmt add $n mode udp fields 16"
		echo "ev add $n mode generated fmt $n count 512 fields 16/c000/3fff"
		echo "cc add $n algorithm uet-1.0-nscc"
	done
	for n in $(seq 8); do
		echo "ev del $n"
		echo "fmt del $n"
		echo "cc del $n"
	done
}

no_leak() {
	local n
	cycle | ctl a -b -
	memory_before "$WORK/before"
	for n in $(seq 40); do
		cycle
	done | ctl a -b -
	expect_memory_back "$WORK/before" 160 1024
	ctl a dev show | grep -q ' free_count 65536$'
}

topo 2 4500 4
selftest rules
selftest qp
selftest modify
selftest events
refused_all "a user" "${as_nobody[@]}"
refused_all "root without CAP_NET_ADMIN" setpriv --bounding-set=-net_admin --inh-caps=-net_admin
refused_all "root of another user namespace" unshare -U -r
refused_all "root of another user and network namespace" unshare -U -r -n
subtest "what was refused has changed nothing" nothing_changed
refused_by_core
by=("${uctx_refused[@]}")
for seed in 1 2 3; do
	selftest fuzz $seed 20000
done
subtest "CAP_NET_ADMIN is what it takes" net_admin_only
subtest "root of another user namespace is refused" foreign_user_namespace
subtest "root of the owning user namespace is not" owning_user_namespace
subtest "profiles survive the program that made them" survives_program
subtest "a controller killed in the middle" controller_killed
subtest "a default profile routes an unmodified program" unmodified_program
subtest "deny, allow, replace under traffic; BUSY" changes_under_traffic
subtest "events of a path that fails and heals" path_events
subtest "queue pairs and their EVs, for the controller" shows_queue_pairs
subtest "memory is back after 320 profiles" no_leak
subtest "profiles survive another port" survives_growth
tap_end
