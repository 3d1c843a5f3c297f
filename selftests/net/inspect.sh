#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Inspection of the driver with standard tools: rdma link, rdma resource with driver
# details, rdma statistic, tracepoints.
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

# All counters of Documentation/counters.md must be shown. Another check compares the
# document with the source.
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

# All counters are in one netlink message, and the device's name is part of it.
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

# During traffic: the driver details of a QP, an MR and a CQ.
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

# --- who sees what -----------------------------------------------------------------

# Details that reveal PSNs, and details that anybody may see. A name may have a prefix
# ("resp_", "ans_").
SECRET="next_psn cack tack tx_pkts rtx_pkts tx_bytes_port1 tx_port1 resp_cack \
	resp_exec resp_max_rcv resp_msn resp_bytes"
OPEN="cwnd unsacked unacked lost retries ev_good resp_unexec resp_ahead resp_ooo"

# All details in FILE of the queue pair of the test program, one name and value a
# line. Those of its requester come first.
details() { # FILE
	python3 - "$1" <<-'EOF'
		import json, sys
		for qp in json.load(open(sys.argv[1])):
		    if qp.get("type") == "RC":
		        for name in sorted(qp):
		            print(name.removeprefix("drv_"), qp[name])
		        break
	EOF
}

value() { sed -n "s/^$2 //p" "$WORK/$1"; } # FILE NAME

has() { # FILE NAMES...
	local file=$WORK/$1 name
	shift
	for name in "$@"; do
		grep -q "^$name\b" "$file" || fail "no $name: $(cat "$file")"
	done
}

has_not() { # FILE NAMES...
	local file=$WORK/$1 name
	shift
	for name in "$@"; do
		! grep "^$name\b" "$file" || fail "it is shown"
	done
}

requester_shown() {
	in_a rdma -j -dd resource show qp link mrca/1 >"$WORK/json"
	details "$WORK/json" >"$WORK/root"
	grep -q '^next_psn ' "$WORK/root" && grep -q '^resp_cack ' "$WORK/root"
}

# rdma must not show to everybody the values that are needed to forge packets.
# shellcheck disable=SC2086 # lists of names
psns_shown() {
	local qpn index who
	verify_start --duration 1000 --size 65536 --depth 32 --bidir
	wait_for 30 requester_shown
	has root $SECRET $OPEN
	check "$(value root unsacked)" == \
		$(((($(value root next_psn) - $(value root cack)) & 0xffffff) - 1)) \
		"packets that no SACK covers"
	check "$(value root unacked)" == \
		$(((($(value root next_psn) - $(value root tack)) & 0xffffff) - 1)) \
		"packets that no ACK covers"
	check "$(value root resp_ahead)" == \
		$((($(value root resp_max_rcv) - $(value root resp_cack)) & 0xffffff)) \
		"packets ahead of a gap"
	check "$(value root resp_unexec)" == \
		$((($(value root resp_cack) - $(value root resp_exec)) & 0xffffff)) \
		"packets that are not executed"

	"${as_nobody[@]}" rdma -j -dd resource show qp link mrca/1 >"$WORK/json"
	details "$WORK/json" >"$WORK/nobody"
	has nobody $OPEN
	has_not nobody $SECRET
	# The core's own details are the same for everybody.
	for who in nobody root; do
		check "$(value $who sq-psn)" == 0 "the sq-psn that $who sees"
		check "$(value $who rq-psn)" == 0 "the rq-psn that $who sees"
	done
	# Root of another user namespace.
	if unshare -U -r true; then
		unshare -U -r rdma -j -dd resource show qp link mrca/1 >"$WORK/json"
		details "$WORK/json" >"$WORK/foreign"
		has foreign $OPEN
		has_not foreign $SECRET
	fi
	# A request for one queue pair: the core does not pass on who asks.
	qpn=$(value root lqpn)
	in_a rdma -j -dd resource show qp lqpn "$qpn" >"$WORK/json"
	details "$WORK/json" >"$WORK/one"
	has one $OPEN
	has_not one $SECRET

	# For a socket that was passed on, both users need the permission.
	index=$(rdma dev show mrca | sed 's/:.*//')
	python3 "$NET_DIR/res_psn.py" "$index" 0 0 >"$WORK/told"
	has told $SECRET unsacked
	for who in "65534 0" "0 65534" "65534 65534"; do
		python3 "$NET_DIR/res_psn.py" "$index" $who >"$WORK/told"
		has told cwnd unsacked unacked resp_unexec resp_ahead
		has_not told $SECRET
	done
	stop_all
}

in_userns() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
		grep -q . "/proc/$1/uid_map"
}

# The owner of the namespace may see all details. A new device already has a
# completion queue, for management datagrams.
owner_sees() {
	local pid
	unshare -U -r true || skip "no user namespaces here"
	start "$WORK/userns" unshare -U -r -n sleep 100
	pid=$started
	wait_for 30 in_userns "$pid"
	ip link add inspx type veth peer name inspy
	ip link set inspx netns "$pid"
	nsenter -t "$pid" -n ip link set inspx up
	nsenter -t "$pid" -n rdma link add mrcx type mrc netdev inspx
	nsenter -t "$pid" -U -n --preserve-credentials \
		rdma -j -dd resource show cq dev mrcx >"$WORK/owner"
	"${as_nobody[@]}" rdma -j -dd resource show cq dev mrcx >"$WORK/nobody"
	rdma link del mrcx
	ip link del inspy
	grep -q '"drv_prod"' "$WORK/owner" || fail "$(cat "$WORK/owner")"
	grep -q '"drv_waiting"' "$WORK/nobody" || fail "$(cat "$WORK/nobody")"
	! grep '"drv_prod"' "$WORK/nobody" || fail "it is shown to everybody"
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
	# The loss is high enough to condemn paths. Then they are probed and used
	# again.
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
subtest "rdma resource -dd shows PSNs to who controls the device only" psns_shown
subtest "rdma resource -dd shows all to the owner of the namespace" owner_sees
subtest "tracepoints" tracepoints
tap_end
