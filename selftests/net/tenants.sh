#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Two tenants share a NIC. Neither sees the other's device, harms its connections, or takes more
# than its share of the link or of the host's memory. tenants_busy.sh has what each can do to
# the other by work, and limits of programs.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_tenants.sh"

# --- what a tenant sees and calls ------------------------------------------------------

sees_its_own() {
	local ns said
	for ns in "${TENANTS[@]}"; do
		expect_devices "$ns" "mrc$ns"
		[ "$(in_ns "$ns" ls /sys/class/infiniband)" = "mrc$ns" ] ||
			fail "$ns: $(in_ns "$ns" ls /sys/class/infiniband)"
	done
	expect_devices '' ""
	red_begin
	[[ $(in_ns reda rdma resource show qp) == *'type RC'* ]] || fail "red has no queue pairs"
	said=$(in_ns bluea rdma resource show qp)
	[[ $said != *'type RC'* ]] || fail "blue sees queue pairs of red: $said"
	said=$(in_ns bluea rdma resource show mr)
	[ -z "$said" ] || fail "blue sees regions of red: $said"
	said=$(in_ns bluea rdma statistic show link)
	[[ $said == *mrcblue* && $said != *mrcred* ]] || fail "blue sees red's counters: $said"
	red_well
}

calls_are_refused() {
	local dev
	dev=$(grep -l -x mrcreda /sys/class/infiniband_verbs/uverbs*/ibdev)
	dev=/dev/infiniband/$(basename "$(dirname "$dev")")
	[ -e "$dev" ] || fail "no $dev"
	red_begin
	# shellcheck disable=SC2016 # expanded there
	refuse 'not permitted' in_ns bluea bash -c 'exec 3<>"$1"' - "$dev"
	refuse 'no such|not found|wrong' in_ns bluea rdma link del mrcreda
	refuse 'no such|not found|wrong' in_ns bluea rdma dev set mrcreda name stolen
	refuse 'no MRC device' in_ns bluea mrcctl -d mrcreda port set 1 disable
	refuse 'no such|not found|cannot find' in_ns bluea rdma link add mrcx type mrc netdev pa1
	red_well
}

# Exact counters: no packet of one is counted by the other.
both_at_once() {
	local t
	ctr_mark
	for t in red blue; do
		t_start $t --iters 64 --size 65536 --op write
	done
	for t in red blue; do
		t_end $t
	done
	ctr_quiet 20
	ctr_take
	for t in red blue; do
		expect "mrc${t}b" rx_data_bytes == $((64 * 65536))
		expect "mrc${t}b" rx_drop_unknown_qp == 0
		expect "mrc${t}b" rx_drop_address == 0
	done
}

# --- packets that a tenant makes --------------------------------------------------------

# "QPN PSN" of red's queue pair on A or B, as the administrator of the host sees it.
red_qp() { # a|b
	in_ns "red$1" rdma -j -dd resource show qp | sed 's/},{/\n/g' | sed -n \
		's/.*"lqpn":\([0-9]*\),.*"type":"RC".*"sq-psn":\([0-9]*\).*/\1 \2/p' | head -n 1
}

# COUNT packets of blue for red's queue pairs, with MAC as frames.
forge() { # NETNS FROM a|b COUNT [MAC]
	local qpn psn
	read -r qpn psn <<<"$(red_qp "$3")"
	in_ns "$1" python3 "$NET_DIR/tenants.py" "$2" "$(addr "red$3")" "$qpn" "$psn" "$4" \
		${5:+"$5" "$(mac "red$3" eth0)"}
}

# From blue's own addresses: they arrive, and nothing in them counts. Six of seven are for
# the queue pair.
forged_by_address() {
	local n side from=bluea
	red_begin
	for side in b a; do
		n=$(forge $from "$(addr $from)" $side 700)
		from=blueb
		wait_for 60 ctr_at_least "mrcred$side" rx_drop_address \
			$(($(ctr_marked "mrcred$side" rx_drop_address) + n * 5 / 7))
	done
	red_well
	for side in a b; do
		expect "mrcred$side" rx_drop_address '>' 0
	done
}

# In red's name, from blue's hardware address and from red's: the host lets no tenant send
# from addresses that it has not given out.
forged_by_name() {
	local n from
	from=$(nft_counter "$HOST_A" netdev bluea forged)
	red_begin
	n=$(forge bluea "$(addr reda)" b 700)
	n=$((n + $(forge bluea "$(addr reda)" b 700 "$(mac reda eth0)")))
	n=$((n + $(forge bluea "$(addr reda)" b 700 "$(mac bluea eth0)")))
	wait_for 30 all_forged_dropped $((from + n)) ||
		fail "$(nft_counter "$HOST_A" netdev bluea forged) of $n forged packets were dropped"
	red_well
	expect mrcredb rx_drop_address == 0
}
all_forged_dropped() { [ "$(nft_counter "$HOST_A" netdev bluea forged)" -ge "$1" ]; }

# --- share of the link --------------------------------------------------------------------

# Half of the link for each, whoever has more queue pairs. The link is slower than this
# machine.
link_share() {
	local red blue since rate t
	trap 'stop_all; in_a tc qdisc del dev pa1 root' EXIT
	bandwidth red
	measure 5 mrcredb
	rate=$(pick_rate "$measured" 1)
	in_a tc qdisc add dev pa1 root handle 1: tbf rate "${rate}kbit" burst 30k limit 4m
	in_a tc qdisc add dev pa1 parent 1: handle 2: ets bands 2 quanta 9000 9000
	for t in 1 2; do
		in_a tc qdisc add dev pa1 parent 2:$t handle 1$t: pfifo limit 1000
	done
	in_a tc filter add dev pa1 parent 2: protocol ip prio 1 u32 match ip src $RED.0/24 flowid 2:1
	in_a tc filter add dev pa1 parent 2: prio 2 matchall flowid 2:2
	bandwidth blue -q 16
	red=$(ctr_now mrcredb rx_data_bytes) blue=$(ctr_now mrcblueb rx_data_bytes)
	now_ms
	since=$now
	wait_for 120 ctr_at_least mrcredb rx_data_bytes $((red + rate * 1000 / 8 * 3))
	red=$(($(ctr_now mrcredb rx_data_bytes) - red))
	blue=$(($(ctr_now mrcblueb rx_data_bytes) - blue))
	now_ms
	echo "figure: a link of $(mbit "$rate") Mbit/s: one queue pair of red has" \
		"$(mbit $((red * 8 / (now - since)))), 16 of blue have $(mbit $((blue * 8 / (now - since))))"
	check $((100 * red)) '>=' $((45 * (red + blue))) "100 times red's bytes, at least 45 times those of both"
	check "$blue" '>' 0 "bytes of blue"
}

# --- share of the host ----------------------------------------------------------------------

# The host limits the objects of a device. Red has its own device and its own limits.
# limits.sh shows that the tenant cannot change them.
limited_objects() {
	local qps
	qps=$(in_ns bluea mrcctl -d mrcbluea limit show | awk '$1 == "qp" { print $2 }')
	in_ns bluea mrcctl -d mrcbluea limit set qp $((qps + 2))
	red_begin
	in_ns bluea timeout 60 python3 "$NET_DIR/limits.py" qps mrcbluea 2 >"$WORK/qps" 2>&1 ||
		fail "$(cat "$WORK/qps")"
	red_well
	t_start red --qps 4 --iters 64
	t_end red
	in_ns bluea mrcctl -d mrcbluea limit set qp 65536
	t_start blue --qps 4 --iters 64
	t_end blue
}

# Rings count against the tenant's memory. A program that wants more than the tenant has is
# refused. Others go on, and the memory comes back.
limited_memory() {
	local rc=0
	cgroup_up memory || skip "$(cat "$WORK/why")"
	echo $((192 << 20)) >"$CG/mrc/memory.max"
	red_begin
	grouped ip netns exec bluea timeout 100 python3 "$NET_DIR/limits.py" rings mrcbluea \
		>"$WORK/rings" 2>&1 || rc=$?
	comment <"$WORK/rings"
	[ "$rc" = 0 ] && grep -q '^ok rings are refused' "$WORK/rings" ||
		fail "ended with $rc: $(tail -n 5 "$WORK/rings")"
	check "$(cat "$CG/mrc/memory.peak")" '<=' $((192 << 20)) "memory of blue"
	wait_for 60 gave_back
	red_well
	cgroup_down memory
}
gave_back() {
	echo 1 >"$CG/mrc/memory.reclaim" 2>/dev/null || true
	[ "$(cat "$CG/mrc/memory.current")" -le $((8 << 20)) ]
}

# Pages of blue that never come occupy all workers of blue's device: 512, 16 for a program.
# Red's pages come.
pages_never_come() {
	reds_pages
	grep -q '^ok ' "$WORK/paging" || skip "this kernel has no paging on demand"
	start "$WORK/occupy" ip netns exec bluea mrc_memory mrcbluea occupy 32
	wait_for 120 grep -q '^occupied\|^# \|^mrc_memory' "$WORK/occupy"
	! grep -q userfaultfd "$WORK/occupy" || skip "$(cat "$WORK/occupy")"
	grep -q occupied "$WORK/occupy" || fail "$(cat "$WORK/occupy")"
	reds_pages
	! process_gone "$started" || fail "$(cat "$WORK/occupy")"
	kill_tree "$started"
	red_begin
	red_well
}
reds_pages() {
	local rc=0
	in_ns reda timeout -s KILL $((60 * ${LAB_TIME:-1})) mrc_memory mrcreda paging "never touched" \
		>"$WORK/paging" 2>&1 || rc=$?
	comment <"$WORK/paging"
	[ "$rc" = 0 ] || fail "ended with $rc"
}

# --- the end of a tenant -----------------------------------------------------------------------

ends() {
	local i
	red_begin
	for i in 1 2 3; do
		t_start blue --duration 1000 --op mixed --size 65536
		wait_for 60 t_running blue
		case $i in
		1) kill -9 "${t_client[blue]}" ;;
		2) in_ns bluea rdma link del mrcbluea ;;
		3) ;; # the device ends with the namespace
		esac
		tenant_down bluea
		tenant_down blueb
		tenant_up bluea
		tenant_up blueb
	done
	red_well
	both_at_once
}

tenants_up
subtest "each tenant sees its own device" sees_its_own
subtest "calls for another's device are refused" calls_are_refused
subtest "traffic of both at once, each counted by its own device" both_at_once
subtest "packets for another's queue pairs, from own addresses" forged_by_address
subtest "packets for another's queue pairs, in the name of its peer" forged_by_name
subtest "a share of the link" link_share
subtest "a share of the device's objects" limited_objects
subtest "a share of the memory" limited_memory
subtest "pages that never come, beside another's" pages_never_come
subtest "a tenant ends beside another" ends
tap_end
