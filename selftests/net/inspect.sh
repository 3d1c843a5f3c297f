#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Looking inside with what people already have: rdma link, rdma resource with
# driver details, rdma statistic, tracepoints.
# timeout: 120
. "$(dirname "$0")/lib.sh"

TRACE=/sys/kernel/tracing

shows_links() {
	local out
	out=$(rdma link show)
	for p in 1 2; do
		grep -E -q "^link mrca/$p state ACTIVE physical_state LINK_UP netdev pa$p" <<<"$(in_a rdma link show)" ||
			fail "port $p: $out"
	done
}

# All that Documentation/counters.md names, which a check of its own compares
# with the source.
shows_counters() {
	local missing
	ctr_dump >"$WORK/all"
	grep -v '^#' "$NET_DIR/counters.list" | sort >"$WORK/names"
	awk '$1 == "mrca/1" { print $2 }' "$WORK/all" | sort >"$WORK/shown"
	missing=$(comm -23 "$WORK/names" "$WORK/shown")
	[ -z "$missing" ] || fail "missing: $missing"
	missing=$(comm -13 "$WORK/names" "$WORK/shown")
	[ -z "$missing" ] || fail "not in counters.list: $missing"
	[ "$(wc -l <"$WORK/all")" = $(($(wc -l <"$WORK/names") * 4)) ] ||
		fail "not the same on both ports of both devices"
}

# All counters are one message, and the device's name is part of it.
long_name() {
	local long
	printf -v long '%063d' 0
	long=m${long:1}
	in_a rdma dev set mrca name "$long"
	in_a rdma statistic show link "$long/1" >"$WORK/long" || true
	in_a rdma dev set "$long" name mrca
	[ "$(grep -c -w -F -f "$WORK/names" "$WORK/long")" = "$(wc -l <"$WORK/names")" ] ||
		fail "counters of a device with a long name: $(head -n 3 "$WORK/long")"
}

# While traffic runs: the driver's part of a QP, MR and CQ.
shows_resources() {
	local qp mr cq want
	verify_start --duration 1000 --size 65536 --depth 32
	wait_for 30 verify_running
	qp=$(in_a rdma -j -dd resource show qp link mrca/1)
	mr=$(in_a rdma -j -dd resource show mr dev mrca)
	cq=$(in_a rdma -j -dd resource show cq dev mrca)
	stop_all
	for want in '"state":"RTS"' '"type":"RC"' '"drv_'; do
		grep -q -- "$want" <<<"$qp" || fail "QP without $want: $qp"
	done
	grep -q '"drv_' <<<"$mr" || fail "MR without driver details: $mr"
	grep -q '"drv_' <<<"$cq" || fail "CQ without driver details: $cq"
	echo "figure: QP details: $(grep -o '"drv_[a-z_]*"' <<<"$qp" | sort -u | wc -l) attributes"
}

traced() { # EVENT: fired at least once
	grep -q " $1: " "$TRACE/trace" || fail "tracepoint mrc:$1 did not fire"
}

tracepoints() {
	local e events
	events=$(cd "$TRACE/events/mrc" && find . -mindepth 1 -maxdepth 1 -type d -printf '%f\n')
	for e in mrc_send mrc_receive mrc_sack mrc_loss mrc_ev_state mrc_qp_state; do
		grep -q -x "$e" <<<"$events" || fail "no tracepoint $e: $events"
	done
	echo 16384 >"$TRACE/buffer_size_kb"
	echo >"$TRACE/trace"
	echo 1 >"$TRACE/events/mrc/enable"
	# Enough loss to condemn paths; then they are probed and used again.
	netem a 1 loss 60%
	verify --size 4096,65536 --iters 60
	unimpair a 1
	echo 0 >"$TRACE/events/mrc/enable"
	for e in $events; do
		traced "$e"
	done
	echo >"$TRACE/trace"
}

port_attributes() {
	local dir=/sys/class/infiniband/mrca/ports/1 i
	grep -q ACTIVE "$dir/state"
	grep -q Ethernet "$dir/link_layer"
	i=$(gid_index mrca 1 "$A4")
	grep -q 'RoCE v2' "$dir/gid_attrs/types/$i"
	[ "$(in_a cat "$dir/gid_attrs/ndevs/$i")" = pa1 ]
	[ "$(cat /sys/class/infiniband/mrca/ports/2/gids/"$(gid_index mrca 2 "$A4")")" = \
		"$(cat "$dir/gids/$i")" ]
}

devinfo() {
	local out
	out=$(ibv_devinfo -d mrca -v)
	for word in hca_id:.*mrca port:.*1 port:.*2 state:.*PORT_ACTIVE active_mtu:.*4096 \
		link_layer:.*Ethernet; do
		grep -q "$word" <<<"$out" || fail "no $word in: $out"
	done
}

topo 2
subtest "rdma link" shows_links
subtest "ibv_devinfo" devinfo
subtest "port attributes and GIDs in sysfs" port_attributes
subtest "rdma statistic has every counter, on every port" shows_counters
subtest "rdma statistic of a device with a long name" long_name
subtest "rdma resource -dd shows the driver's part" shows_resources
subtest "tracepoints" tracepoints
tap_end
