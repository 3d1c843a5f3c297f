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
	ctl a default "$B4/32" 2>/dev/null || true
	ctl a - <<-END
		ev 3 init
		fmt 1 init
		cc 2 init
	END
}

# Format 1 and EV profile 3, explicit, four UDP paths on two planes. The profile is
# the default for all traffic to B.
profile_up() { # [EVENTS]
	clean_slate
	ctl a fmt 1 online mode=udp fields=16
	ctl a ev 3 online mode=explicit fmt=1 evs=$EVS events="${1:-}"
	ctl a default "$B4/32" ev=3
}

profile_down() {
	ctl a default "$B4/32"
	wait_for 30 ctl a ev 3 init
	ctl a fmt 1 init
}

state_is() { # fmt|ev|cc ID STATE
	local now
	now=$(ctl a "$1" "$2" show | sed -n 's/^state //p')
	[ "$now" = "$3" ] || fail "$1 $2 is $now, expected $3"
}

# --- who may ask ------------------------------------------------------------------

# A program without privileges may query the device, and nothing else.
unprivileged() {
	local cmd
	"${as_nobody[@]}" mrc_ctl mrca dev | grep -q '^ev_max_profiles [1-9]'
	for cmd in "fmt 1 online mode=udp fields=16" "fmt 1 show" "ev 3 show" \
		"cc 0 show" "port 1" "tc" "default" "default ::/0 ev=3" "events" \
		"qp 17" "ep probe sgid=$A4 dgid=$B4 ev=c001@1"; do
		# shellcheck disable=SC2086 # words
		refuse EPERM "${as_nobody[@]}" mrc_ctl mrca $cmd
	done
	state_is fmt 1 init
}

# CAP_NET_ADMIN is sufficient. It must be the capability of the namespace's owner.
net_admin_only() {
	"${as_nobody[@]}" --inh-caps=+net_admin --ambient-caps=+net_admin \
		mrc_ctl mrca fmt 1 online mode=udp fields=16
	state_is fmt 1 online
	refuse EPERM setpriv --bounding-set=-net_admin --inh-caps=-net_admin \
		mrc_ctl mrca fmt 1 offline
	ctl a fmt 1 init
}

foreign_user_namespace() {
	refuse EPERM unshare -U -r mrc_ctl mrca fmt 1 show
	refuse EPERM unshare -U -r -n mrc_ctl mrca fmt 1 show
	unshare -U -r mrc_ctl mrca dev | grep -q '^ev_max_profiles'
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
		mrc_ctl mrcx fmt 1 online mode=udp fields=16
	refuse EPERM "${as_nobody[@]}" mrc_ctl mrcx fmt 1 show
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
	ctl a ev 3 deny c002@2
	lines=$(ctl a ev 3 list | cut -d' ' -f2- | paste -sd, -)
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
				echo "ev 3 deny c001@1,c002@2,c003@1"
				echo "ev 3 allow c003@1,c002@2,c001@1"
			done | mrc_ctl mrca -'
		wait_for 30 descendants_busy "$started"
		# shellcheck disable=SC2207 # a list of numbers
		pids=($(descendants "$started") "$started")
		kill -9 "${pids[@]}" 2>/dev/null || true
		# Only the last process is a child of this shell; mrc_ctl may still be
		# in a call.
		for pid in "${pids[@]}"; do
			wait_for 30 process_gone "$pid"
		done
		wait "$started" 2>/dev/null || true
		lines=$(ctl a ev 3 list | awk '{ print $2 }' | paste -sd, -)
		[ "$lines" = "$EVS" ] || fail "after kill $n: $lines"
		state_is ev 3 online
		ctl a ev 3 allow $EVS
		check "$(ctl a ev 3 list | grep -c ' good$')" == 4 "EVs that are good"
	done
	profile_down
}

descendants_busy() {
	local pid
	for pid in $(descendants "$1"); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) != mrc_ctl ]] || return 0
	done
	return 1
}

attributes() { in_a mrcctl -d mrca dev show | grep -E '^ *(extension|attr) ' | paste -sd' '; }

# After a port is added, all of the configuration is still there.
survives_growth() {
	local attrs map
	profile_up
	ctl a tc trimming=1 no_trim=1
	ctl a cc 2 online algorithm=uet-1.0-nscc max_cwnd=100000
	in_a mrcctl -d mrca dev set num_evs 48
	in_a mrcctl -d mrca dev set cwnd 131072
	in_a mrcctl -d mrca dev set cc uet-1.0-nscc
	in_a mrcctl -d mrca dev set extension off
	attrs=$(attributes)
	[[ $attrs == *"extension off"*"num_evs 48 cwnd 131072 cc uet-1.0-nscc" ]] ||
		fail "attributes: $attrs"
	plane_add 3 4500 4
	link_add a 3
	wait_for 30 port_is mrca 3 ACTIVE
	state_is ev 3 online
	state_is cc 2 online
	check "$(ctl a ev 3 list | wc -l)" == 4 "EVs"
	ctl a default | grep -q "ev 3 cc none"
	map=$(ctl a tc | paste -sd' ')
	[[ $map == "no_trim 1 "*"trimming 1" ]] || fail "traffic classes: $map"
	[ "$(attributes)" = "$attrs" ] || fail "attributes: $(attributes)"
	ctl a ev 3 replace c004@2 c005@3
	ctl a ev 3 list | grep -q 'c005@3 good'
	profile_down
	ctl a cc 2 init
	ctl a tc trimming=0 no_trim=0
	in_a mrcctl -d mrca dev set num_evs 64
	in_a mrcctl -d mrca dev set cwnd 0
	in_a mrcctl -d mrca dev set cc none
	in_a mrcctl -d mrca dev set extension on
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

	ctl a ev 3 deny c002@2
	# Packets handed to the netdev before are on a veth, so they have arrived.
	wait_for 30 stands_still 2 c002
	was=$(seen 2 c002)
	grows 2 c004 300
	check "$(seen 2 c002)" == "$was" "packets on the denied path"
	ctl a ev 3 list | grep -q 'c002@2 denied'

	ctl a ev 3 allow c002@2
	grows 2 c002 100

	ctl a ev 3 replace c003@1 d003@1
	wait_for 30 stands_still 1 c003
	was=$(seen 1 c003)
	grows 1 d003 300
	check "$(seen 1 c003)" == "$was" "packets on the replaced path"

	refuse EBUSY ctl a ev 3 offline
	state_is ev 3 online
	refuse EBUSY ctl a fmt 1 offline
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
	local p
	profile_up good,bad
	start "$WORK/events" ip netns exec "$HOST_A" mrc_ctl mrca events timeout=60000
	wait_for 30 grep -q listening "$WORK/events"
	ctr_mark
	verify_start --duration 1000 --size 65536 --op mixed
	wait_for 30 ctr_at_least mrca tx_data_pkts $(($(ctr_now mrca tx_data_pkts) + 500))
	netem a 2 loss 100%
	for p in c002 c004; do
		wait_for 30 grep -q "profile 3 ev $p@2 state assumed_bad drops 0" "$WORK/events"
	done
	ctl a ev 3 list | grep -q 'c002@2 assumed_bad'
	unimpair a 2
	for p in c002 c004; do
		wait_for 30 grep -q "profile 3 ev $p@2 state good drops 0" "$WORK/events"
	done
	verify_stop_well
	# Counted events are queued, but mrc_ctl may not have printed them yet.
	wait_for 30 bad_events_are "$(ctr mrca ev_to_assumed_bad)" || true
	if grep -E '^profile' "$WORK/events" | grep -v -E '^profile 3 ev c00[1-4]@[12] '; then
		fail "events about something else"
	fi
	check "$(bad_events)" == "$(ctr mrca ev_to_assumed_bad)" \
		"events, and what the counter says"
	kill -9 "$started" 2>/dev/null || true
	profile_down
}

bad_events() { grep -c 'state assumed_bad' "$WORK/events" || true; }
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
	ctl a qp "$qpn" >"$WORK/qp"
	grep -q '^ev_profile 3$' "$WORK/qp"
	grep -q '^cc none$' "$WORK/qp"
	check "$(grep -c '^ev 0x0000c00[1-4] port [12] good' "$WORK/qp")" == 4 "EVs"
	in_a rdma -j -dd resource show qp link mrca >"$WORK/qps"
	grep -q '"drv_ev_profile":3' "$WORK/qps"
	refuse ENOENT ctl b qp "$qpn"
	# The queue pair of management datagrams is no connection.
	refuse ENOENT ctl a qp 1
	steady_bw_end
	profile_down
}

# --- nothing stays behind ------------------------------------------------------------

cycle() {
	local n
	for n in $(seq 8); do
		echo "fmt $n online mode=udp fields=16"
		echo "ev $n online mode=generated fmt=$n count=512 fields=16/c000/3fff"
		echo "cc $n online algorithm=uet-1.0-nscc"
	done
	for n in $(seq 8); do
		echo "ev $n init"
		echo "fmt $n init"
		echo "cc $n init"
	done
}

no_leak() {
	local n
	cycle | in_a mrc_ctl mrca - >/dev/null
	memory_before "$WORK/before"
	for n in $(seq 40); do
		cycle
	done | in_a mrc_ctl mrca - >/dev/null
	expect_memory_back "$WORK/before" 160 1024
	ctl a dev | grep -q '^ev_free_count 65536$'
}

topo 2 4500 4
selftest rules
selftest qp
selftest modify
selftest events
refused_by_core
by=("${uctx_refused[@]}")
for seed in 1 2 3; do
	selftest fuzz $seed 20000
done
subtest "an unprivileged program may ask for the device only" unprivileged
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
