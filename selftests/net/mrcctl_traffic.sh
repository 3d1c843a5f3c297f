#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl during traffic: probes; details of queue pairs, which agree with the port
# counters to the byte; a profile that a program names, and the effect of deny, allow
# and replace on its packets; requests that a program without privileges is refused.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_mrcctl.sh"
. "$NET_DIR/lib_paths.sh"

# --- endpoint operations -----------------------------------------------------------

probes() {
	ctr_mark
	do_a probe ev src "$A4" dst "$B4" evs c0a1@1,c0a2@2,c0a3@2 timeout 2s
	sed -E 's/ rtt [0-9.]+(us|ms|s)( without service time)?$/ rtt TIME/' "$WORK/out" >"$WORK/got"
	cat >"$WORK/want" <<-'END'
		c0a1@1 port 1 rtt TIME
		c0a2@2 port 2 rtt TIME
		c0a3@2 port 2 rtt TIME
	END
	same "$WORK/want" "$WORK/got" "what was answered"
	do_a -j probe ev src "$A6" dst "$B6" fmt stev evs 0001c001@1 timeout 2s
	[ "$(json '[d[0]["ev"], d[0]["answered"], d[0]["port"], d[0]["rtt_ns"] > 0]')" = \
		"0001c001@1 True 1 True" ] || fail "$(cat "$WORK/out")"
	ctr_take
	expect mrca/1 tx_endpoint_req == 2
	expect mrca/2 tx_endpoint_req == 2
	expect mrcb tx_endpoint_resp == 4
	expect mrca rx_endpoint_resp == 4

	netem a 2 loss 100%
	run a probe ev src "$A4" dst "$B4" evs c0a1@1,c0a2@2,c0a3@2 timeout 300
	unimpair a 2
	check "$rc" == 2 "status with answers missing"
	sed -E -i 's/ rtt [0-9.]+(us|ms|s)( without service time)?$/ rtt TIME/' "$WORK/out"
	cat >"$WORK/want" <<-'END'
		c0a1@1 port 1 rtt TIME
		c0a2@2 no answer
		c0a3@2 no answer
	END
	same "$WORK/want" "$WORK/out" "what was answered of three"
	echo "mrcctl: 2 of 3 requests were not answered" >"$WORK/want"
	same "$WORK/want" "$WORK/err" "what is said of the others"
	denies 2 "probe: Invalid argument" probe ev src "$A4" dst "$B4" evs c001@3
	denies 2 "probe: Invalid argument" probe ev src 10.9.9.9 dst "$B4" evs c001@1
	denies 2 "probe: Input/output error" probe ev src "$A4" dst 10.9.9.9 evs c001@1
}

told_ports() { # MASK: the ports of A that the QPs of B use
	rdma -dd resource show qp link mrcb/1 >"$WORK/told"
	grep -q -E "drv_peer_ports[ :]*$1( |\$)" "$WORK/told"
}

# What the peer's queue pairs know about the ports. Queue pairs that only receive find
# out nothing by themselves. The device's own repeated updates have ended before.
# Without queue pairs between the two hosts no update is accepted.
port_status() {
	local h
	paths_up
	quiet cc add 2 algorithm none
	load_start
	for h in a b; do
		wait_for 30 ctr_still mrc$h tx_port_status 1.5
	done
	ctr_mark
	do_a probe status src "$A4" dst "$B4" evs c001@1 ports 1 timeout 2s
	grep -q -x -E 'c001@1 port 1 rtt [0-9.]+[mu]?s( without service time)?' "$WORK/out" ||
		fail "$(cat "$WORK/out")"
	wait_for 30 told_ports 0x2
	do_a probe status src "$A4" dst "$B4" evs c001@1 ports none timeout 2s
	wait_for 30 told_ports 0x0
	do_on b -j qp
	[ "$(json '[[p["peer_up"] for p in q["ports"]] for q in d]')" = \
		"[False, False] [False, False]" ] || fail "$(cat "$WORK/out")"
	do_a -j probe status src "$A4" dst "$B4" evs c002@2 ports 1,2 timeout 2s
	[ "$(json '[d[0]["ev"], d[0]["answered"], d[0]["port"]]')" = "c002@2 True 2" ] ||
		fail "$(cat "$WORK/out")"
	wait_for 30 told_ports 0x6
	ctr_take
	expect mrcb rx_port_status == 3
	expect mrca rx_endpoint_resp '>=' 3
	verify_stop_well
	gone cc 2
	paths_down
	denies 2 "probe: Invalid argument" probe status src 10.9.9.9 dst "$B4" evs c001@1 ports 1
}

# --- queue pairs -------------------------------------------------------------------

# The process id of the client, which runs below ip and timeout.
client_pid() {
	local pid
	for pid in $(descendants "$verify_client") "$verify_client"; do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) != mrc_verify ]] || echo "$pid"
	done
}

all_good() {
	run a qp
	[ "$rc" = 0 ] && ! grep -q -E ' (skip|assumed_bad) ' "$WORK/out"
}

# While the program is stopped, it posts nothing. The figures of the queue pairs must
# then equal the port counters to the byte, retransmissions included.
counts_agree() {
	local pid qpn bytes pkts sums drv
	paths_up
	quiet cc add 2 algorithm uet-1.0-nscc
	netem a 1 loss 5%
	load_start
	wait_for 40 ctr_at_least mrca/1 loss_inferred \
		$(($(ctr_marked mrca/1 loss_inferred) + 3))
	unimpair a 1
	wait_for 40 all_good
	pid=$(client_pid)
	kill -STOP "$pid"
	ctr_quiet 20
	do_a -j qp
	ctr_take
	bytes=$(json '[sum(q["ports"][p]["tx_bytes"] for q in d) for p in (0, 1)]')
	pkts=$(json '[sum(q["ports"][p]["tx_pkts"] for q in d) for p in (0, 1)]')
	sums=$(json '[sum(q[k] for q in d) for k in ("tx_pkts", "rtx_pkts", "inflight")]')
	[ "$bytes" = "$(ctr mrca/1 tx_data_bytes) $(ctr mrca/2 tx_data_bytes)" ] ||
		fail "bytes by port: $bytes, counted $(ctr mrca/1 tx_data_bytes) $(ctr mrca/2 tx_data_bytes)"
	[ "$pkts" = "$(($(ctr mrca/1 tx_data_pkts) + $(ctr mrca/1 tx_probe))) $(($(
		ctr mrca/2 tx_data_pkts) + $(ctr mrca/2 tx_probe)))" ] || fail "packets by port: $pkts"
	[ "$sums" = "$(ctr mrca tx_data_pkts) $(ctr mrca tx_rtx_pkts) 0" ] ||
		fail "packets, of these again, in flight: $sums"
	check "$(ctr mrca tx_rtx_pkts)" '>=' 3 "packets sent again"
	[ "$(json '[(len(q["evs"]), q["state"], q["cc"], q["ev_profile"], q["cc_profile"],
		q["program"], q["pid"], q["sched"], q["ports"][0]["up"], q["cwnd"] > 0,
		0 < q["base_rtt_ns"], 0 < q["srtt_ns"], q["window"] > 0) for q in d]')" = \
		"$(printf "(4, 'RTS', 'uet-1.0-nscc', 7, 2, 'mrc_verify', $pid, 'idle', True, True, True, True, True) %.0s" 1 2 |
			sed 's/ $//')" ] || fail "$(cat "$WORK/out")"
	# rdma shows the same figures.
	in_a rdma -j -dd resource show qp link mrca/1 >"$WORK/rdma"
	for p in 1 2; do
		drv=$(grep -o "\"drv_tx_bytes_port$p\":[0-9]*" "$WORK/rdma" |
			awk -F: '{ n += $2 } END { print n }')
		check "$drv" == "$(ctr mrca/$p tx_data_bytes)" "bytes of port $p by rdma"
	done
	qpn=$(json '[d[0]["qpn"]]')
	one_queue_pair "$qpn"
	denies 2 "qp 1: No such file or directory" qp show 1
	kill -CONT "$pid"
	verify_stop_well
	wait_for 30 no_qps
	quiet qp
	denies 2 "qp $qpn: No such file or directory" qp show "$qpn"
	gone cc 2
	paths_down
}

# The text for one queue pair, without values that differ from run to run.
one_queue_pair() { # QPN
	do_a qp show "$1"
	sed -E -e 's/(qp|dest|pid|cwnd|window|tx_pkts|rtx_pkts|tx_bytes|timeouts|drops) [0-9]+/\1 N/g' \
		-e 's/(rtt) [0-9.]+(ns|us|ms|s)/\1 TIME/g' "$WORK/out" >"$WORK/got"
	cat >"$WORK/want" <<-'END'
		qp N state RTS dest N sched idle pid N comm mrc_verify
		    ev_profile 7 cc_profile 2 cc uet-1.0-nscc cwnd N inflight 0 window N
		    base_rtt TIME srtt TIME tx_pkts N rtx_pkts N timeouts N
		    port 1 up peer up tx_pkts N tx_bytes N evs good 2
		    port 2 up peer up tx_pkts N tx_bytes N evs good 2
		       0 0x0000c001 port 1 good drops N
		       1 0x0000c002 port 2 good drops N
		       2 0x0000c003 port 1 good drops N
		       3 0x0000c004 port 2 good drops N
	END
	same "$WORK/want" "$WORK/got" "queue pair $1"
}

# One program makes a profile, another one names it by number. Each packet takes one
# of its paths, also during deny, allow and replace.
paths_obeyed() {
	local was
	paths_up
	quiet cc add 2 algorithm none
	count_ports
	load_start
	denies 2 "ev 7: Device or resource busy (in use)" ev del 7
	denies 2 "cc 2: Device or resource busy (in use)" cc del 2
	grows 2 c002 50
	quiet ev deny 7 c002@2
	wait_for 30 stands_still 2 c002
	was=$(seen 2 c002)
	grows 2 c004 100
	check "$(seen 2 c002)" == "$was" "packets on the denied path"
	do_a -j qp
	[ "$(json '[[e["state"] for e in q["evs"]].index("denied") for q in d]')" = "1 1" ] ||
		fail "$(cat "$WORK/out")"
	quiet ev allow 7 c002@2
	grows 2 c002 50
	quiet ev replace 7 c003@1 d003@1
	wait_for 30 stands_still 1 c003
	was=$(seen 1 c003)
	grows 1 d003 50
	check "$(seen 1 c003)" == "$was" "packets on the replaced path"
	quiet port set 2 disable
	wait_for 30 port_is mrca 2 DOWN
	do_a qp
	grep -q '^    port 2 down peer up ' "$WORK/out" || fail "$(cat "$WORK/out")"
	quiet port set 2 enable
	verify_stop_well
	check "$(seen 1 other)" == 0 "packets of plane 1 on other paths"
	check "$(seen 2 other)" == 0 "packets of plane 2 on other paths"
	check "$(seen_all)" == "$(ctr mrca tx_data_pkts)" "data packets seen and sent"
	uncount_ports
	gone cc 2
	paths_down
}

not_online() {
	clean_slate
	rm -f "$WORK/server" "$WORK/client"
	verify_start --ev-profile 7 --iters 1
	if finished "$verify_client" 60; then
		fail "a profile that is not there was taken"
	fi
	grep -q 'MRC attributes 0x20 of a QP in state .*: Invalid argument' "$WORK/client" ||
		fail "$(cat "$WORK/client")"
}

# --- rights ------------------------------------------------------------------------

unprivileged() {
	local words
	paths_up
	quiet cc add 2 algorithm none
	run_as "in_a ${as_nobody[*]}" -d mrca dev
	check "$rc" == 0 "status of dev"
	run_as "in_a ${as_nobody[*]}" -d mrca port
	check "$rc" == 0 "status of port"
	cat >"$WORK/want" <<-'END'
		port 1 state ACTIVE admin ? netdev pa1
		port 2 state ACTIVE admin ? netdev pa2
	END
	same "$WORK/want" "$WORK/out" "the ports"
	while IFS='|' read -r what words; do
		# shellcheck disable=SC2086 # words
		run_as "in_a ${as_nobody[*]}" -d mrca $words
		denied 2 "$what: Operation not permitted (CAP_NET_ADMIN is needed)" "$words"
	done <<-END
		port 1|port set 1 disable
		fmt 0|fmt show
		fmt 1|fmt show 1
		fmt 2|fmt add 2 mode udp fields 16
		fmt 1|fmt del 1
		ev 0|ev show
		ev 7|ev deny 7 c001@1
		ev 7|ev del 7
		cc 0|cc show
		cc 2|cc set 2 algorithm off
		defaults|default show
		default $B4/32|default set $B4 ev 7
		tc|tc show
		tc|tc set control 1
		extension|dev set extension off
		num_evs|dev set num_evs 8
		cwnd|dev set cwnd 65536
		cc|dev set cc uet-1.0-nscc
		probe|probe ev src $A4 dst $B4 evs c001@1
		EV events|monitor ev
		fmt 0|monitor state
		fmt 0|save
	END
	load_start
	do_a -j qp
	qpn=$(json '[d[0]["qpn"]]')
	for words in "qp show" "qp show $qpn" "top -n 1"; do
		# shellcheck disable=SC2086 # words
		run_as "in_a ${as_nobody[*]}" -d mrca $words
		check "$rc" == 2 "status of $words"
		grep -q -E '^mrcctl: qp [0-9]+: Operation not permitted \(CAP_NET_ADMIN is needed\)$' \
			"$WORK/err" || fail "$words: $(cat "$WORK/err")"
		[ ! -s "$WORK/out" ] || fail "$words: $(cat "$WORK/out")"
	done
	verify_stop_well
	# None of the refused requests had an effect.
	shows port <<-'END'
		port 1 state ACTIVE admin enabled netdev pa1
		port 2 state ACTIVE admin enabled netdev pa2
	END
	shows cc show 2 <<<'cc 2 state online algorithm none'
	do_a ev
	grep -q '^    evs good 4$' "$WORK/out" || fail "$(cat "$WORK/out")"
	quiet default

	# The capability in the user namespace of the network namespace is sufficient.
	run_as "in_a ${as_nobody[*]} --inh-caps=+net_admin --ambient-caps=+net_admin" -d mrca cc set 2 state offline
	check "$rc" == 0 "status with CAP_NET_ADMIN: $(cat "$WORK/err")"
	run_as "in_a unshare -U -r" -d mrca cc del 2
	denied 2 "cc 2: Operation not permitted (CAP_NET_ADMIN is needed)" "cc del 2"
	quiet cc del 2
	paths_down
}

topo 2 4500
subtest "probes, answered and not" probes
subtest "port status told" port_status
subtest "queue pairs say what ports count, to the byte" counts_agree
subtest "a profile that a program names; deny, allow, replace" paths_obeyed
subtest "a profile that is not there" not_online
subtest "without rights" unprivileged
tap_end
