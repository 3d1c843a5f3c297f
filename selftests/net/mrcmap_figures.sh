#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How long a lossy port stays in use, and what is left without it: agents send a probe over
# each link in each millisecond, which is the default, and a port of eight loses 5 %. All
# figures depend on how busy the machine is: judged is only that the right plane is denied.
# timeout: 1200
# benchmark
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_map.sh"

ROUNDS=${ROUNDS:-10}
MEGABITS=${MEGABITS:-16}
SETTINGS=(--slow-alarm 1s)
FOUND_TIME=240

too_busy() {
	all_end 1 2
	skip "this machine is too busy for a probe in each millisecond: agents are late"
}

# Sets "took": milliseconds until the first EV to host 2 is denied. Each look takes some of them.
until_denied() { # SINCE
	until denied_by 1 2; do
		now_ms
		[ $((now - $1)) -lt $((FOUND_TIME * 1000 * ${LAB_TIME:-1})) ] || {
			links_known || too_busy
			fail "no EV is denied"
		}
		sleep 0.02
	done
	now_ms
	took=$((now - $1))
}

lossy_port() {
	local i now since fault took before during lossy times=()
	eight_planes_up "$MEGABITS" 15000 5000000
	all_start 1 2
	# Windows of an agent that was late are not used.
	wait_for "$FOUND_TIME" links_known || too_busy
	echo "figure: kbit/s of eight planes $before; with 5% loss, not denied, $lossy; with probes $(rate 2)"
	for ((i = 1; i <= ROUNDS; i++)); do
		all_well
		wait_allowed 1 2
		before=$(rate 2)
		now_ms
		since=$now
		mrclab fault h1:p8 loss 5%
		now_ms
		fault=$((now - since))
		until_denied "$since"
		times+=("$took")
		without_plane_8
		echo "figure: round $i: denied after $took ms, $fault of them for the fault itself;" \
			"$before kbit/s before, $during on seven planes, $((1000 * during / before)) of 1000, 7/8 are 875"
		heal
	done
	echo "figure: denied after, ms: $(printf '%s\n' "${times[@]}" | sort -n | tr '\n' ' ')"
	tail -n 1 "$WORK/agent.1"
	all_end 1 2
}

modprobe mrc 2>/dev/null || true
subtest "a port of eight that loses 5 % is denied" lossy_port
rm -f "$FILE"
# Of a round that failed.
stop_all
mrclab down -q 2>/dev/null || true
tap_end
