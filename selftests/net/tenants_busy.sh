#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What a tenant can do to another by work: packets without end, queue pairs made and destroyed,
# an MTU that changes, pages taken away. Red gets the share of the processor that the host gives
# it, and what it moves with that does not depend on what blue does with its own share. Then
# limits of a tenant's programs (rdma cgroup, locked memory), and a tenant in a user namespace
# of its own.
# timeout: 900
# kmsg-ok: mrc_port_set_mtu: [0-9]+ callbacks suppressed
# kmemleak-ok: comm "uctx-refused"
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_tenants.sh"

SOMEBODY=65534
refused_by_core

# --- share of the processor ------------------------------------------------------------

# Two cgroups with the same weight. Those in blue's are frozen in turn.
share_up() {
	cgroup_up cpu || skip "$(cat "$WORK/why")"
	mkdir "$CG/red" "$CG/blue" "$CG/blue/good" "$CG/blue/bad"
	check "$(cat "$CG/red/cpu.weight")" == "$(cat "$CG/blue/cpu.weight")" "weight of red and blue"
}
share_down() {
	local g
	stop_all
	mountpoint -q "$CG" || return 0
	for g in red blue/good blue/bad blue; do
		[ ! -d "$CG/$g" ] || wait_for 30 rmdir "$CG/$g"
	done
	cgroup_down cpu
}

in_group() { # GROUP -> $prefix
	# shellcheck disable=SC2016 # expanded there
	prefix=(bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$CG/$1")
}

frozen() { grep -q '^frozen 1' "$CG/blue/$1/cgroup.events"; }
freeze() { # good|bad
	echo 1 >"$CG/blue/$1/cgroup.freeze"
	wait_for 30 frozen "$1"
}

busy() { # good|bad KIND...
	local group=$1 prefix
	shift
	in_group "blue/$group"
	start "$WORK/busy.$group" ip netns exec bluea "${prefix[@]}" python3 "$NET_DIR/tenants_busy.py" \
		mrcbluea "$(addr bluea)" "$(addr blueb),$(addr redb)" "$@"
	for kind in "$@"; do
		wait_for 60 done_at_least "$group" "$kind" 2 || fail "$(tail -n 5 "$WORK/busy.$group")"
	done
}
done_now() { awk -v k="$2" '$1 == k { n = $2 } END { print n + 0 }' "$WORK/busy.$1"; }
done_at_least() { [ "$(done_now "$1" "$2")" -ge "$3" ]; }

# Blue's region, whose pages its program brings in and takes away all the time.
take_away() {
	local prefix
	in_group blue/bad
	start "$WORK/away" ip netns exec bluea "${prefix[@]}" mrc_memory mrcbluea take-away region pages
	wait_for 60 grep -q 'begun\|^mrc_memory' "$WORK/away"
	! grep -q EOPNOTSUPP "$WORK/away" || skip "this kernel has no paging on demand"
	grep -q begun "$WORK/away" || fail "$(cat "$WORK/away")"
}

# Red's goodput while blue does KIND with its share, or take-away, against red's while blue
# computes.
PERCENT=60
beside() { # KIND...|take-away
	local prefix kind i before=() now kinds=("$@")
	trap share_down EXIT
	share_up
	in_group red
	with_a=("${prefix[@]}") with_b=("${prefix[@]}")
	bandwidth red
	busy good "${kinds[@]/*/spin}"
	freeze good
	if [ "$1" = take-away ]; then
		kinds=()
		take_away
	else
		busy bad "${kinds[@]}"
	fi
	freeze bad
	for kind in "${kinds[@]}"; do
		before+=("$(done_now bad "$kind")")
	done
	ctr_mark
	in_ns redb python3 "$NET_DIR/tenants_share.py" "$CG/red" "$CG/blue" \
		/sys/class/infiniband/mrcredb/ports/1/hw_counters/rx_data_bytes $PERCENT \
		>"$WORK/share" 2>&1 || fail "less than $PERCENT %: $(cat "$WORK/share")"
	ctr_take
	! process_gone "$perftest_client" || fail "red has ended: $(tail -n 5 "$WORK/client")"
	! process_gone "$started" || fail "blue has ended: $(tail -n 5 "$WORK/busy.bad" "$WORK/away")"
	for ((i = 0; i < ${#kinds[@]}; i++)); do
		now=$(done_now bad "${kinds[i]}")
		check "$now" '>' "${before[i]}" "times blue did ${kinds[i]}"
		echo "figure: blue did ${kinds[i]} $((now - before[i])) times"
	done
	echo "figure: $(cat "$WORK/share")"
	for d in mrcreda mrcredb; do
		expect $d qp_errors == 0
		expect $d retry_exceeded == 0
	done
	[ "$1" != flood ] || expect mrcredb rx_drop_unknown_qp '>' 0
}

# --- limits of programs -------------------------------------------------------------------

# The host allows blue's programs one context and three objects. Blue gets no more. Red gets
# what it wants.
limited_by_cgroup() {
	local rc=0
	trap 'stop_all; cgroup_down rdma' EXIT
	cgroup_up rdma || skip "$(cat "$WORK/why")"
	echo "mrcbluea hca_handle=1 hca_object=3" >"$CG/mrc/rdma.max"
	red_begin
	grouped ip netns exec bluea timeout 60 "${uctx_refused[@]}" python3 "$NET_DIR/limits.py" \
		stopped mrcbluea "$CG/mrc/rdma.current" >"$WORK/out" 2>&1 || rc=$?
	[ "$rc" = 0 ] || fail "ended with $rc: $(cat "$WORK/out")"
	check "$(grep -c '^ok ' "$WORK/out")" == 14 "results"
	red_well
	t_start red --qps 4 --iters 64
	t_end red
	echo "mrcbluea hca_handle=max hca_object=max" >"$CG/mrc/rdma.max"
	rc=0
	grouped ip netns exec bluea timeout 60 python3 "$NET_DIR/limits.py" stopped mrcbluea \
		"$CG/mrc/rdma.current" >"$WORK/out" 2>&1 || rc=$?
	[ "$rc" != 0 ] && grep -q '^not ok another handle' "$WORK/out" ||
		fail "blue is limited without a limit: $(cat "$WORK/out")"
}

# Blue's programs may lock 256 pages, page by page. Red has regions of its own meanwhile.
limited_memlock() {
	local rc=0 limit=$((256 * $(getconf PAGESIZE)))
	red_begin
	in_ns bluea prlimit --memlock=$limit:$limit -- "${as_nobody[@]}" -- timeout 60 \
		python3 "$NET_DIR/limits.py" memlock mrcbluea >"$WORK/out" 2>&1 || rc=$?
	[ "$rc" = 0 ] || fail "ended with $rc: $(cat "$WORK/out")"
	check "$(grep -c '^ok ' "$WORK/out")" == 31 "results"
	red_well
}

# --- a tenant in a user namespace -----------------------------------------------------------

# Green's namespaces belong to a user namespace: root in there is nobody outside.
declare -A box=()
green_up() { # NETNS
	start "$WORK/box.$1" setpriv --reuid $SOMEBODY --regid $SOMEBODY --clear-groups -- \
		unshare -U -r -n -- sleep 1000
	box[$1]=$started
	wait_for 30 in_userns "$started"
	ip netns attach "$1" "$started"
	ip -n "$1" link set lo up
	host_sysctls "$1"
	tenant_device "$1"
}
in_userns() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
		grep -q . "/proc/$1/uid_map" && grep -q sleep "/proc/$1/comm"
}
in_green() { # NETNS COMMAND...
	nsenter -t "${box[$1]}" -U -n -- "${@:2}"
}

green_down() { # NETNS
	[ -e "/run/netns/$1" ] || return 0
	kill -9 "${box[$1]}"
	wait "${box[$1]}" || true
	tenant_down "$1"
}

own_users() {
	local said dev server
	"${as_nobody[@]}" unshare -U -r true 2>"$WORK/why" ||
		skip "no user namespaces here: $(cat "$WORK/why")"
	trap 'stop_all; tenant_down greena; tenant_down greenb' EXIT
	TENANTS+=(greena greenb)
	green_up greena
	green_up greenb
	red_begin
	said=$(in_green greena sh -c 'id -u; cat /proc/self/uid_map; rdma dev show')
	grep -q -E "^ +0 +$SOMEBODY +1\$" <<<"$said" || fail "no user namespace: $said"
	check "$(in_green greena rdma dev show | wc -l)" == 1 "devices that green sees"
	expect_devices greena mrcgreena
	dev=$(grep -l -x mrcreda /sys/class/infiniband_verbs/uverbs*/ibdev)
	dev=/dev/infiniband/$(basename "$(dirname "$dev")")
	# shellcheck disable=SC2016 # expanded there
	refuse 'not permitted' in_green greena bash -c 'exec 3<>"$1"' - "$dev"
	refuse 'no MRC device' in_green greena mrcctl -d mrcreda port set 1 disable
	refuse 'not permitted' in_green greena rdma link add mrcx type mrc netdev eth0
	refuse 'not permitted' in_green greena rdma link del mrcgreena
	# Controller of its own device, within what the host has set.
	in_green greena mrcctl -d mrcgreena dev set cc none
	in_green greena mrcctl -d mrcgreena dev show | grep -q -E 'cc +none' ||
		fail "$(in_green greena mrcctl -d mrcgreena dev show)"
	refuse 'CAP_NET_ADMIN' in_green greena mrcctl -d mrcgreena limit set qp 7
	start "$WORK/green.server" nsenter -t "${box[greenb]}" -U -n -- timeout 100 \
		mrc_verify -d mrcgreenb --gid "$(addr greenb)"
	server=$started
	in_green greena timeout 90 mrc_verify -d mrcgreena --gid "$(addr greena)" --op mixed \
		--size 1,4097,65536 --iters 20 "$(addr greenb)" >"$WORK/green.client" 2>&1 ||
		fail "green: $(tail -n 5 "$WORK/green.client" "$WORK/green.server")"
	finished "$server" 30 || fail "green: $(tail -n 5 "$WORK/green.server")"
	grep -q '^mrc_verify: OK' "$WORK/green.client" || fail "no OK from green"
	green_down greena
	green_down greenb
	red_well
}

python3 -c 'import pyverbs.device' 2>/dev/null || tap_skip_all "no pyverbs"
for tool in setpriv unshare prlimit nsenter; do
	command -v $tool >/dev/null || tap_skip_all "no $tool"
done
tenants_up
subtest "red beside blue's packets without end" beside flood
subtest "red beside blue's calls without end" beside qps mtu
subtest "red beside pages that blue takes away without end" beside take-away
subtest "limits of the rdma cgroup for one tenant" limited_by_cgroup
subtest "a limit of locked memory for one tenant" limited_memlock
subtest "a tenant in a user namespace of its own" own_users
tap_end
