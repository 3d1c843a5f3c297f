#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The watching commands of mrcctl: changes of state and EV events as they happen,
# while a path fails and recovers; the live view; a device that is removed.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_mrcctl.sh"

STAMP='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z'

# Time stamps in FILE are between SINCE and now, and do not go back.
stamps_fit() { # FILE SINCE
	local first last
	grep -o -E "$STAMP" "$1" >"$WORK/stamps"
	LC_ALL=C sort -c "$WORK/stamps" || fail "times go back: $(cat "$1")"
	check "$(wc -l <"$WORK/stamps")" == "$(wc -l <"$1")" "times in lines"
	first=$(sed -n 1p "$WORK/stamps") last=$(tail -n 1 "$WORK/stamps")
	[[ ! $first < $2 ]] || fail "$first is before $2"
	[[ ! $(date -u +%Y-%m-%dT%H:%M:%S.%NZ) < $last ]] || fail "$last has not come yet"
}

# Adds or deletes format 60 until the monitor reports it. Then the monitor is
# watching.
nudge() {
	ctl a fmt add 60 mode udp fields 16 2>/dev/null ||
		ctl a fmt del 60
	sleep 0.3
	grep -q 'fmt 60' "$WORK/monitor"
}

monitor_has() { # TEXT
	wait_for 30 grep -q -x -E "$STAMP $1" "$WORK/monitor" || {
		cat "$WORK/monitor"
		fail "the monitor does not tell: $1"
	}
}

state_changes() {
	local since qpn monitor
	paths_up
	since=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca monitor state -i 100ms
	monitor=$started
	wait_for 30 nudge
	quiet port set 2 disable
	monitor_has 'port 2 admin enabled -> disabled'
	monitor_has 'port 2 state ACTIVE -> DOWN'
	quiet port set 2 enable
	monitor_has 'port 2 admin disabled -> enabled'
	monitor_has 'port 2 state DOWN -> ACTIVE'
	ip -n "$HOST_A" link set pa1 down
	monitor_has 'port 1 state ACTIVE -> DOWN'
	ip -n "$HOST_A" link set pa1 up
	plane_routes 1
	monitor_has 'port 1 state DOWN -> ACTIVE'
	quiet ev set 7 state offline
	monitor_has 'ev 7 online -> offline'
	quiet ev set 7 state online
	monitor_has 'ev 7 offline -> online'
	quiet cc add 2 algorithm none
	monitor_has 'cc 2 new, online'
	load_start
	do_a -j qp
	qpn=$(json '[d[0]["qpn"]]')
	monitor_has "qp $qpn (new, |RTR -> |INIT -> |RESET -> )RTS"
	verify_stop_well
	monitor_has "qp $qpn gone, was RTS"
	gone cc 2
	monitor_has 'cc 2 gone, was online'
	stamps_fit "$WORK/monitor" "$since"
	kill "$monitor"
	ctl a fmt del 60 2>/dev/null || true
	paths_down

	# It prints so many lines and ends.
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca -j monitor state -n 1 -i 100ms
	wait_for 30 nudge
	finished "$started" 20 || fail "the monitor ended with $?"
	sed -E "s/$STAMP/TIME/; s/\"(offline|online)\"/STATE/; s/null/STATE/g" "$WORK/monitor" \
		>"$WORK/got"
	echo '{"time":"TIME","event":"state","what":"fmt 60","from":STATE,"to":STATE}' >"$WORK/want"
	same "$WORK/want" "$WORK/got" "one change as JSON"
	json_lines "$WORK/monitor"
	ctl a fmt del 60 2>/dev/null || true
	quiet monitor state -t 200ms
	quiet monitor ev -t 200ms
}

monitor_even() {
	[ "$(wc -l <"$WORK/monitor")" = "$(wc -l <"$WORK/monitor.json")" ]
}

# EV events of a path that drops packets and recovers, as text and as JSON at the same
# time. Their number must equal the kernel's counter.
ev_events() {
	local since p text json_pid
	paths_up good,assumed_bad
	quiet cc add 2 algorithm none
	since=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca monitor ev
	text=$started
	start "$WORK/monitor.json" ip netns exec "$HOST_A" mrcctl -d mrca -j monitor ev
	json_pid=$started
	wait_for 30 hears_events "$text"
	wait_for 30 hears_events "$json_pid"
	load_start
	netem a 2 loss 100%
	for p in c002 c004; do
		monitor_has "ev profile 7 $p@2 state assumed_bad"
	done
	do_a ev
	grep -q ' assumed_bad 2' "$WORK/out" || fail "$(cat "$WORK/out")"
	unimpair a 2
	for p in c002 c004; do
		monitor_has "ev profile 7 $p@2 state good"
	done
	verify_stop_well
	wait_for 30 monitor_even
	check "$(grep -c 'state assumed_bad' "$WORK/monitor")" == \
		"$(ctr mrca ev_to_assumed_bad)" "events, and what the counter says"
	if grep -v -E "^$STAMP ev profile 7 c00[1-4]@[12] state (assumed_bad|good)\$" "$WORK/monitor"; then
		fail "events about something else"
	fi
	stamps_fit "$WORK/monitor" "$since"
	stamps_fit "$WORK/monitor.json" "$since"
	json_lines "$WORK/monitor.json"
	# Both monitors report the same events, in two formats.
	sed -E "s/^$STAMP ev profile ([0-9]+) ([^ ]*) state ([a-z_]*)/\1 \2 \3 0/" "$WORK/monitor" \
		>"$WORK/want"
	sed -E 's/.*"event":"ev","ev_profile":([0-9]+),"ev":"([^"]*)","state":"([a-z_]*)","dropped":([0-9]+)\}/\1 \2 \3 \4/' \
		"$WORK/monitor.json" >"$WORK/got"
	same "$WORK/want" "$WORK/got" "what the two monitors tell"
	kill "$text" "$json_pid"
	gone cc 2
	paths_down
}

live_view() {
	paths_up
	quiet cc add 2 algorithm none
	load_start
	do_a -j top -n 3 -i 500ms
	check "$(wc -l <"$WORK/out")" == 3 "lines"
	json_lines "$WORK/out"
	[ "$(python3 - "$WORK/out" <<-'PY'
		import json, sys
		for line in open(sys.argv[1], encoding="utf-8"):
		    d = json.loads(line)
		    assert len(d["ports"]) == 2 and len(d["qps"]) == 2, line
		    assert all(p["tx_bytes_per_s"] > 0 and p["state"] == "ACTIVE" for p in d["ports"]), line
		    qps = d["qps"]
		    assert all(q["tx_bytes_per_s"] > 0 and q["evs_good"] == q["evs"] == 4 for q in qps), line
		    assert qps[0]["tx_pkts_per_s"] >= qps[1]["tx_pkts_per_s"], line
		    bytes_qps = sum(q["tx_bytes_per_s"] for q in qps)
		    bytes_ports = sum(p["tx_bytes_per_s"] for p in d["ports"])
		    # The two rates are measured one after the other.
		    assert bytes_qps < 3 * bytes_ports and bytes_ports < 3 * bytes_qps, line
		print("good")
	PY
	)" = good ] || fail "$(cat "$WORK/out")"
	do_a top -n 2 -i 200ms
	sed -E -e "s/^$STAMP\$/TIME/" -e 's/ +[0-9.]+[kMG]?( +[0-9.]+[kMG]?){3}$/ RATES/' \
		-e 's/^ *[0-9]+ +[0-9]+ mrc_verify +RTS .* 4\/4$/QP/' "$WORK/out" >"$WORK/got"
	{
		local n
		for n in 1 2; do
			[ $n = 1 ] || echo
			cat <<-'END'
				TIME

				PORT STATE      ADMIN    NETDEV         TX B/s   RX B/s    PKT/s    RTX/s
				   1 ACTIVE     enabled  pa1 RATES
				   2 ACTIVE     enabled  pa2 RATES

				      QP      PID PROGRAM         STATE     CWND INFLIGHT      SRTT   TX B/s    PKT/s    RTX/s  EVS GOOD
				QP
				QP
			END
		done
	} >"$WORK/want"
	same "$WORK/want" "$WORK/got" "the live view"
	verify_stop_well
	gone cc 2
	paths_down
}

device_goes() {
	local ev state
	start "$WORK/ev" ip netns exec "$HOST_A" mrcctl -d mrca monitor ev
	ev=$started
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca monitor state -i 100ms
	state=$started
	wait_for 30 hears_events "$ev"
	wait_for 30 nudge
	in_a rdma link del mrca
	rc=0
	finished "$ev" 20 || rc=$?
	check "$rc" == 2 "status of the monitor of events: $(cat "$WORK/ev")"
	rc=0
	finished "$state" 20 || rc=$?
	check "$rc" == 2 "status of the monitor of states: $(tail -n 1 "$WORK/monitor")"
	cat "$WORK/ev"
	tail -n 1 "$WORK/monitor"
	[ "$(cat "$WORK/ev")" = "mrcctl: EV events: Input/output error" ]
	tail -n 1 "$WORK/monitor" | grep -q '^mrcctl: '
	run_as "" dev
	[ "$(wc -l <"$WORK/out")" = 10 ] || fail "$(cat "$WORK/out")"
	run_as "" -d mrca dev
	denied 2 "no MRC device mrca" "-d mrca dev"
	# A command need not name the only device.
	run_as "ip netns exec $HOST_B" -j fmt
	[ "$rc $(cat "$WORK/out")" = "0 []" ] || fail "$rc $(cat "$WORK/out" "$WORK/err")"
}

topo 2 4500
subtest "changes of state as they come" state_changes
subtest "EV events as they come" ev_events
subtest "live view" live_view
subtest "the device goes under a monitor" device_goes
tap_end
