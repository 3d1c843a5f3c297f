#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Port status updates sent to peers and received from them (MRC 1.0 §12), and ports
# that a controller disables. The planes run through bridges, so a port that goes down
# at one end stays up at the other end, which can learn about it only from the update.
# timeout: 900
# long
# kmsg-ok: mrc[ :].*(lost pb2|has a netdev again)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_bridged.sh"

TOPO_RESOLVE=1

# After A has received the update, only the batch in progress still leaves through
# PORT, while the other port continues.
port_is_left() { # PORT OTHER
	local from
	wait_for 30 told a "$(printf '0x%x' $((1 << $2)))"
	from=$(ctr_now "mrca/$1" tx_data_pkts)
	sends_on "$2" 50
	check "$(ctr_now "mrca/$1" tx_data_pkts)" '<=' $((from + 32)) \
		"packets through port $1 after its peer said that it is down"
	from=$(ctr_now "mrca/$1" tx_data_pkts)
	sends_on "$2" 50
	check "$(ctr_now "mrca/$1" tx_data_pkts)" == "$from" \
		"packets through port $1 a while later"
}

# --- ports that a controller disables ----------------------------------------------

disabled_at_the_peer() { # OPTIONS of verify
	local refused
	load_start 10ms "$@"
	refused=$(ctr_now mrca rx_port_status_refused)
	start "$WORK/watch" ip netns exec hostb ibv_asyncwatch -d mrcb
	wait_for 30 grep -q 'async event FD' "$WORK/watch"
	ctl b port set 2 disable
	wait_for 30 port_is mrcb 2 DOWN
	port_is_left 2 1
	port_is mrca 2 ACTIVE || fail "the own port is not concerned"
	wait_for 30 grep -q -i -E 'port.*err.*2|port_err.*2' "$WORK/watch"
	# From here on an answer through the port may be faster than the update.
	check "$(ctr_now mrca rx_port_status_refused)" == "$refused" "updates refused"
	ctl b port set 2 enable
	wait_for 30 port_is mrcb 2 ACTIVE
	sends_on 2 50
	wait_for 30 grep -q -i -E 'port.*active.*2' "$WORK/watch"
	verify_stop_well
	# A learned about the port from the update: packets in flight arrived and
	# there were no losses. (When the machine pauses for a moment, A retransmits
	# packets that had arrived.)
	expect mrca retry_timeouts == 0
	expect mrca loss_timeout == 0
	# The program may have changed a buffer since: then the ICRC of a duplicate is wrong.
	check $(($(ctr mrcb rx_duplicate) + $(ctr mrcb rx_drop_icrc))) == \
		"$(ctr mrca tx_rtx_pkts)" "duplicates against packets sent again"
	expect mrcb port_down_events == 1
	expect mrcb port_up_events == 1
	expect mrcb tx_port_status '>=' 2
	expect mrca rx_port_status '>=' 2
	expect mrcb port_status_ok '>=' 2
}

# A delay of the path, so that the round trip time is significant.
way() { # DELAY|''
	local h p
	for h in a b; do
		for p in 1 2; do
			tc -n middle qdisc del dev "s$h$p" root 2>/dev/null || true
			[ -z "$1" ] || tc -n middle qdisc add dev "s$h$p" root netem delay "$1"
		done
	done
}

seen_figure() { # NAME
	sed -n "s/^.*\<$1 \([0-9]*\).*/\1/p" "$WORK/silence"
}

# §12: the port is left as soon as the update arrives. The tap sees the packets that
# the driver hands to netdevs and the update in one order.
within_a_round_trip() { # OPTIONS of verify
	local after last rtt
	way 50ms
	ctr_mark
	verify_start -t 150 "$@" --duration 1000 --size 16384 --op mixed --depth 8 \
		--timeout 19
	sends_on 1 50
	sends_on 2 50
	start "$WORK/silence" ip netns exec hosta python3 "$NET_DIR/port_silence.py" pa2 2 pa1
	wait_for 30 grep -q ready "$WORK/silence"
	sends_on 2 100
	ctl b port set 2 disable
	finished "$started" 60 || fail "$(cat "$WORK/silence")"
	after=$(seen_figure after) last=$(seen_figure last_us) rtt=$(seen_figure rtt_us)
	check "$(seen_figure before)" '>' 50 "packets through port 2 of the last 200 before the message"
	check "$(seen_figure other)" '>=' 200 "packets through port 1 after the message"
	check "$(seen_figure late)" == 0 "packets through port 2 a round trip after the message"
	# At most the batch in progress.
	check "$after" '<=' 32 "packets through port 2 after the message"
	echo "figure: $after packets after the message, the last" \
		"$(awk -v l="$last" -v r="$rtt" 'BEGIN { printf "%.3f", l / r }') RTTs after it" \
		"(RTT $rtt us)"
	ctl b port set 2 enable
	wait_for 30 port_is mrcb 2 ACTIVE
	sends_on 2 50
	verify_stop_well
	expect mrca retry_timeouts == 0
	expect mrca loss_timeout == 0
	way ''
}

# A port of the sender itself: EVs of that port are not used, and the peer receives an
# update.
disabled_at_the_sender() {
	local from
	load_start 10ms
	ctl a port set 1 disable
	wait_for 30 port_is mrca 1 DOWN
	from=$(ctr_now mrca/1 tx_data_pkts)
	sends_on 2 50
	check "$(ctr_now mrca/1 tx_data_pkts)" '<=' $((from + 32)) \
		"packets through the disabled port"
	wait_for 30 told b 0x4
	ctl a port set 1 enable
	sends_on 1 50
	verify_stop_well
	expect mrca loss_timeout == 0
	expect mrca retry_timeouts == 0
}

admin_survives() {
	ctl b port set 2 disable
	wait_for 30 port_is mrcb 2 DOWN
	ip -n hostb link set pb2 down
	ip -n hostb link set pb2 up
	plane_routes 2
	port_is mrcb 2 DOWN || fail "a flap enabled the port"
	ip -n hostb link del pb2
	ip -n hosta link del pa2
	bridged_plane 2
	link_add a 2
	link_add b 2
	wait_for 30 port_is mrca 2 ACTIVE
	port_is mrcb 2 DOWN || fail "another netdev enabled the port"
	ctl b port show | grep -q '^port 2 .* admin disabled ' || fail "$(ctl b port show)"
	ctl b port set 2 enable
	wait_for 30 port_is mrcb 2 ACTIVE
	plane_ready 2
}

# --- ports that go down ------------------------------------------------------------

# The peer's netdev goes down behind a bridge. The own netdev stays up.
netdev_down_behind_bridge() {
	load_start 10ms "$@"
	ip -n hostb link set pb2 down
	wait_for 30 port_is mrcb 2 DOWN
	port_is_left 2 1
	port_is mrca 2 ACTIVE || fail "the bridge passed the carrier on"
	ip -n hostb link set pb2 up
	plane_routes 2
	wait_for 30 port_is mrcb 2 ACTIVE
	sends_on 2 50
	verify_stop_well
	expect mrca retry_timeouts == 0
	expect mrca loss_timeout == 0
	echo "figure: lost with the port: $(ctr mrca tx_rtx_pkts) packets of $(ctr mrca tx_data_pkts)"
}

# Lost updates are repeated: three times soon, then every second.
lost_updates() {
	local told heard
	load_start 10ms
	drop_opcode 0xd8
	heard=$(ctr_now mrca rx_port_status)
	told=$(ctr_now mrcb tx_port_status)
	ctl b port set 2 disable
	wait_for 30 ctr_at_least mrcb tx_port_status $((told + 5))
	check "$(ctr_now mrca rx_port_status)" == "$heard" "nothing came through"
	drop_nothing
	port_is_left 2 1
	ctl b port set 2 enable
	sends_on 2 50
	verify_stop_well
}

# One packet at once, and ten at intervals of a second, except those that were due
# while the machine paused. None after the last connection has ended.
how_often() {
	local told since now
	load_start 10ms
	pauses_begin
	told=$(ctr_now mrcb tx_port_status)
	now_ms
	since=$now
	ctl b port set 2 disable
	wait_for 60 updates_have_ended
	pauses_end
	told=$(($(ctr_now mrcb tx_port_status) - told))
	echo "figure: $told updates, the machine stood still for $pause s"
	check "$told" '>=' $((11 - pause)) "updates"
	check "$told" '<=' 14 "updates"
	verify_stop
	wait_for 30 no_qps
	ctr_mark
	ctl b port set 2 enable
	wait_for 30 port_is mrcb 2 ACTIVE
	ctr_quiet
	ctr_take
	expect mrcb tx_port_status == 0
}

# After the last of the ten seconds, and no update for longer than the second between
# two updates.
updates_have_ended() {
	now_ms
	[ $((now - since)) -ge 10000 ] && ctr_still mrcb tx_port_status 2
}

# A peer may remember a port status from connections that have ended. The next connection
# tells it that all ports are up.
told_by_the_next() {
	load_start 10ms
	wait_for 30 ctr_at_least mrcb port_status_ok \
		$(($(ctr_marked mrcb port_status_ok) + 1))
	verify_stop_well
}

# Connections made while a port is down learn about it.
new_connections() {
	ctl b port set 2 disable
	wait_for 30 port_is mrcb 2 DOWN
	netem a 1 delay 10ms
	ctr_mark
	# 2 s, as in load_start.
	verify_start -t 150 --duration 1000 --size 16384 --depth 4 --timeout 19
	port_is_left 2 1
	ctl b port set 2 enable
	sends_on 2 50
	verify_stop_well
	expect mrca retry_timeouts == 0
}

# --- who is believed ---------------------------------------------------------------

# A controller tells B that A's ports are down, which is false. Ports that still
# answer are used again, and none of B's work requests fails. A itself sends no
# contrary update, so B must find out by itself.
false_update_by_controller() {
	load_start_quiet 10ms -r
	tell_b ports 1 >"$WORK/probes"
	check "$(wc -l <"$WORK/probes")" == 1 "confirmed"
	wait_for 30 overruled mrcb/2 1
	sends_on 1 50 mrcb
	sends_on 2 50 mrcb
	tell_b ports none
	wait_for 30 overruled mrcb/1 1
	sends_on 1 50 mrcb
	sends_on 2 50 mrcb
	tell_b ports all
	wait_for 30 told b 0x1fffe
	sends_on 2 50 mrcb
	verify_stop_well
	expect mrcb stall_no_ev == 0
}

tell_b() { # WORDS...
	ctl a -j probe status src "$A4" dst "$B4" evs c001@1 timeout 2000 "$@" | answers
}

overruled() { # DEV/PORT N, since the mark
	ctr_at_least "$1" rx_port_status_refused $(($(ctr_marked "$1" rx_port_status_refused) + $2))
}

# Updates that must be refused: no peer, another address, a bad ICRC.
hostile_updates() {
	load_start_quiet 10ms
	in_b python3 "$NET_DIR/port_status_refused.py" pb1 \
		"$(mac hosta pa1)" "$A4" "$B4" "$MGMT_A" >"$WORK/sent"
	ctr_quiet_endpoint
	ctr_take
	expect mrca rx_port_status == 0
	expect mrca rx_port_status_refused == 40
	expect mrca rx_drop_icrc == 20
	sends_on 1 50
	sends_on 2 50
	verify_stop_well
	expect mrca rx_port_status == 0
}

# Traffic goes on, so only these counters stop growing.
ctr_quiet_endpoint() {
	wait_for 30 ctr_at_least mrca rx_drop_icrc $(($(ctr_marked mrca rx_drop_icrc) + 20))
	# The last update sent is of this kind.
	wait_for 30 ctr_at_least mrca rx_port_status_refused \
		$(($(ctr_marked mrca rx_port_status_refused) + 40))
}

# --- the end -----------------------------------------------------------------------

cycles() {
	local n
	for n in $(seq 15); do
		[ "$n" != 5 ] || memory_before "$WORK/before"
		probe evs c001@1,c002@2 timeout 2000 >/dev/null
		verify --iters 5
		ctl b port set 2 disable
		ctl b port set 2 enable
		wait_for 30 port_is mrcb 2 ACTIVE
	done
	expect_memory_back "$WORK/before" 10 512
}

restore_more() { way ''; }

bridged_topo 2
sub "a port disabled at the peer is left alone" disabled_at_the_peer
sub "a port disabled at the peer is left alone, IPv6" disabled_at_the_peer -6
sub "a port is left within a round trip of the message" within_a_round_trip
sub "a port is left within a round trip of the message, IPv6" within_a_round_trip -6
sub "a port disabled at the sender" disabled_at_the_sender
sub "a disabled port stays disabled" admin_survives
sub "peer's netdev down behind a bridge" netdev_down_behind_bridge
sub "peer's netdev down behind a bridge, IPv6" netdev_down_behind_bridge -6
sub "lost updates are repeated" lost_updates
sub "how often a peer is told" how_often
sub "the next connection tells what has changed" told_by_the_next
sub "connections made while a port is down" new_connections
sub "updates sent by a controller" false_update_by_controller
sub "updates that nobody should believe" hostile_updates
sub "15 cycles leave no memory behind" cycles
bridged_down
tap_end
