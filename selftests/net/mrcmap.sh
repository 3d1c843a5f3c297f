#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcmap: agents on all hosts of a fabric probe every link, and the collector finds what
# mrclab breaks, by its name and direction, and nothing else. Paths over a bad link are
# denied and allowed again. Peers of the collector can send what they like. How long
# something takes is a figure and never judged.
# timeout: 1200
# long
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_map.sh"

# One processor has all hosts, all switches and the traffic. Links are a thousand times
# slower than those for which the defaults are, so the same queues last longer.
SETTINGS=(--period 20ms --wait 300ms --slow-alarm 1s)
PLANES=2
FOUND_TIME=60

map_file() {
	cat >"$FILE" <<-'END'
		name: map
		prefix: ''
		planes: 2
		t0: 2
		t1: 2
		hosts: 2
		forwarding: srv6
		profiles: {evs: true}
		links: {host: {rate: 40mbit, delay: 2ms}, fabric: {rate: 80mbit}}
	END
}

every_link() {
	all_probed
	is_known 'len(s["links"]) == 2 * 2 * (2 * 2 + 4)'
	is_known 'all(a["probes"]["sent"] > 0 for a in s["agents"])'
	is_known 'f == []'
	mrcmap show -s "$STATE"
	mrcmap show -s "$STATE" -g | grep -q '^digraph\|^graph'
	grep -q '^mrcmap_findings{fabric="map"} 0$' "$WORK/map.prom"
	mrcmap show -s "$STATE" -c >/dev/null
	# A path that crosses each link is in the plan.
	mrcmap plan -f "$FILE" -H 1 "${SETTINGS[@]}" | tail -n 1
}

# Queues are full, and that is no fault.
under_load() {
	traffic 1 3 65536 64
	traffic 4 2 65536 64
	sleep 10
	echo "figure: $(rate 3) kbit/s to h3, $(rate 2) kbit/s to h2"
	is_known 'f == []' && is_known 's["history"] == []' || {
		mrcmap show -s "$STATE" -y
		fail "load was taken for a fault"
	}
}

black_hole() {
	breaks 'fabric_link p1l1:s2' p1l1:s2 drop
	# The first interval may have begun before the fault.
	wait_for 30 is_known 'f[0]["state"] == "gray" and f[0]["direction_known"]'
	! mrcmap show -s "$STATE" -c >/dev/null || fail "show -c did not tell"
	grep -q '^mrcmap_finding{fabric="map",element="fabric_link",name="p1l1:s2"' "$WORK/map.prom"
	heal
}

t1_down() {
	breaks "t1 $(known '" ".join(l["name"] for l in s["links"] if l["name"].startswith("p2s1:"))')" \
		p2s1 down
	heal
}

cable() {
	breaks 'nic_link h2:p1 p1l1:h2' h2:p1+ down
	wait_for 30 is_known 'f[0]["state"] == "down" and f[0]["carrier"] == False'
	heal
}

# EVs of host 1 that lead to host 3 and are denied.
denied() {
	mrcctl -d mrc1 ev show 3 | evs_shown | grep denied | cut -d' ' -f2 | sort | tr '\n' ' '
}

denies() { [ "$(denied)" = "$1" ]; }

lossy_nic() {
	local all before during since now
	all=$(mrcctl -d mrc1 ev show 3 | evs_shown | cut -d' ' -f2 | grep '@1$' | sort | tr '\n' ' ')
	denies ''
	# One packet at a time: what waits for a lost one is not hidden by others.
	traffic 1 3 4096 1
	before=$(rate 3)
	breaks 'nic_link h1:p1' h1:p1 loss 5%
	wait_for 30 is_known 'f[0]["state"] == "lossy" and 0.01 < f[0]["loss"] < 0.2'
	now_ms
	since=$now
	wait_for 30 denies "$all"
	now_ms
	echo "figure: denied at most $((now - since)) ms after the finding was seen"
	during=$(rate 3)
	# And without the list, which the agent applies when it changes.
	mrcctl -d mrc1 ev allow 3 "$(denied | sed 's/ $//; s/ /,/g')"
	echo "figure: goodput $before kbit/s; with 5% loss $(rate 3), paths denied $during"
	heal
	wait_for 30 denies ''
	echo "figure: after the heal $(rate 3) kbit/s"
}

# What strangers send to the collector.
hostile() {
	all_well
	on h2 python3 - "${COLLECTOR%:*}" "${COLLECTOR#*:}" "$WORK/flood" <<'END' &
import os, socket, sys, time
to = (sys.argv[1], int(sys.argv[2]))

def send(data, wait=True):
    s = socket.create_connection(to, 10)
    s.settimeout(20)
    try:
        s.sendall(data)
        while wait and s.recv(4096):
            pass
    except ConnectionError:
        pass
    s.close()

send(os.urandom(100000))
send(b"[" * 3000000)
send(b'{"mrcmap":1,"type":"hello","fabric":"' + b"x" * 2000000)
send(b"[" * 2000 + b"\n")
send(b'{"type":"windows","at":1,"paths":[[1,2,3]]}\n')
send(b'{"mrcmap":1,"type":"hello","fabric":"map","host":1,"plan":"0"}\n')
send(b'{"mrcmap":99,"type":"hello"}\n')
send(b"\n" * 5000)
send(b"\xff\xfe\x00\n")
send(b"GET / HTTP/1.1\r\n\r\n", False)
half = []
for _ in range(300):
    try:
        half.append(socket.create_connection(to, 10))
    except OSError:
        break
open(sys.argv[3], "w").close()
time.sleep(1000)
END
	bg_pids+=($!)
	wait_for 120 test -e "$WORK/flood"
	# One who belongs here still finds room.
	kill "${agents[4]}"
	wait_for 30 process_gone "${agents[4]}"
	wait_for 60 is_known 'not s["agents"][3]["connected"]'
	start "$WORK/again.4" mrclab exec h4 mrcmap agent -f "$FILE" -H h4 -c $COLLECTOR \
		-k "$WORK/key" "${SETTINGS[@]}"
	wait_for 60 is_known 'all(a["connected"] and not a["silent"] for a in s["agents"])' || {
		cat "$WORK/again.4"
		fail "no room for an agent"
	}
	is_known 's["bad_lines"] > 3'
	is_known 'f == []'
	! process_gone "$collector" || fail "the collector has ended"
	echo "figure: $(grep VmHWM "/proc/$collector/status") of the collector"
}

# Root without any capability but those that are given.
powerless() { # CAPABILITIES COMMAND...
	local caps=$1
	shift
	mrclab exec h4 setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps="$caps" --ambient-caps="$caps" --bounding-set="$caps" "$@"
}

privileges() {
	refuse 'CAP_NET_RAW' powerless -all mrcmap agent -f "$FILE" -H h4 -o - "${SETTINGS[@]}"
	start "$WORK/powerless" powerless -all,+net_raw mrcmap agent -f "$FILE" -H h4 -o - \
		"${SETTINGS[@]}"
	wait_for 30 grep -q '"type":"windows"' "$WORK/powerless"
	refuse 'CAP_NET_ADMIN' powerless -all,+net_raw mrcmap agent -f "$FILE" -H h4 \
		-c $COLLECTOR --deny "${SETTINGS[@]}"
}

wrong_words() {
	refuse 'no node|no host' mrclab exec h1 mrcmap agent -f "$FILE" -H h9 -o -
	refuse 'required' mrcmap agent -f "$FILE" -o -
	refuse 'p9' mrclab exec h1 mrcmap agent -f "$FILE" -H h1 -o - -n p1,p9
	refuse 'range|from|to' mrcmap plan -f "$FILE" --period 1ns
	# An agent of another plan is told so, and never heard.
	start "$WORK/other" mrclab exec h2 mrcmap agent -f "$FILE" -H h2 -c $COLLECTOR --period 30ms
	wait_for 30 grep -q 'settings differ' "$WORK/other"
	refuse 'map.prom' mrcmap show -s "$WORK/map.prom"
}

# Somebody has the collector's port; the one that is there goes on.
port_taken() {
	refuse "^mrcmap: .*${COLLECTOR#*:}.*: Address already in use\$" \
		mrclab exec h1 mrcmap collector -f "$FILE" -l $COLLECTOR -s "$WORK/state.2"
	refuse ': Cannot assign requested address$' \
		mrclab exec h1 mrcmap collector -f "$FILE" -l 203.0.113.9:48621 -s "$WORK/state.2"
	[ ! -e "$WORK/state.2" ] || fail "a state was written"
	! process_gone "$collector" || fail "the collector has ended"
	all_probed
}

# From a file in place of a connection. Of two names for the metrics the last one counts, as in
# the options of the unit.
by_file() {
	start "$WORK/agent.f" mrclab exec h1 mrcmap agent -f "$FILE" -H h1 -o "$WORK/lines" "${SETTINGS[@]}"
	wait_for 30 test -s "$WORK/lines"
	start "$WORK/collector.f" mrcmap collector -f "$FILE" -F "$WORK/lines" \
		-m "$WORK/prom.1" -m "$WORK/prom.2" -s "$WORK/state.f" "${SETTINGS[@]}"
	wait_for 30 test -s "$WORK/state.f"
	wait_for 30 grep -q '^mrcmap_agent_up{' "$WORK/prom.2"
	[ ! -e "$WORK/prom.1" ] || fail "both files were written"
	STATE=$WORK/state.f
	wait_for 30 is_known 's["agents"][0]["reports"] > 3'
}

# Processor time of an agent at the default rate, which is 50 times that of the others.
default_rate() {
	start "$WORK/fast" mrclab exec h1 mrcmap agent -f "$FILE" -H h1 -o "$WORK/lines.fast"
	sleep 10
	kill "$started"
	wait_for 30 process_gone "$started"
	echo "figure: by default: $(grep -o '[0-9]* probes/s.*' "$WORK/fast")"
}

ends() {
	local h
	# The agent of h4 has ended with the subtest before; h1 and h2 have each other.
	all_well
	mrclab fault h2:p2 loss 20%
	wait_found 'nic_link h2:p2'
	wait_for 30 denied_by 2 3
	for h in 1 2 3; do
		kill "${agents[$h]}"
		wait_for 30 process_gone "${agents[$h]}"
		echo "figure: h$h: $(tail -n 1 "$WORK/agent.$h")"
	done
	# Nobody is there to take it back later.
	! denied_by 2 3 || fail "EVs are still denied"
	mrclab fault clear
	kill "$collector"
	wait_for 30 process_gone "$collector"
	[ -s "$WORK/history" ]
	mrclab down -q
	check "$(find /run/netns -mindepth 1 ! -name 'user*' 2>/dev/null | wc -l)" == 0 "namespaces"
	! pgrep -x mrcmap || fail "processes are left"
	[ ! -e "$STATE.new" ] && [ ! -e "$WORK/map.prom.new" ]
}

# A NIC with eight ports, one of which loses 5 %: with the deny list it has the other seven, and
# what they carry is a figure. Links are slow enough for one processor.
eight_planes() {
	local before lossy during
	SETTINGS=(--period 10ms --wait 300ms --slow-alarm 1s)
	# Windows of an agent that was late are not used: on a busy machine most of them.
	FOUND_TIME=240
	eight_planes_up 4 30000 20000000
	all_start 1 2
	all_probed
	breaks 'nic_link h1:p8' h1:p8 loss 5%
	wait_for 30 denied_by 1 2
	without_plane_8
	echo "figure: kbit/s of eight planes $before; with 5% loss $lossy; without the lossy plane $during," \
		"$((100 * during / (7 * 4000))) % of what the links of seven carry"
	heal
	wait_allowed 1 2
	echo "figure: after the heal $(rate 2) kbit/s"
	all_end 1 2
}

modprobe mrc 2>/dev/null || true
map_file
fab_params srv6 2 2 2 2 4500
mrclab up -q "$FILE"
all_start 1 2 3 4
subtest "every link is probed, and nothing is wrong" every_link
subtest "wrong words" wrong_words
subtest "a port that is taken" port_taken
subtest "full load is no fault" under_load
subtest "a black hole in one direction of a link" black_hole
subtest "a T1 that is down" t1_down
subtest "a cable that is pulled" cable
subtest "a lossy NIC: its plane is denied" lossy_nic
subtest "processor time of an agent" default_rate
subtest "privileges" privileges
subtest "reports by a file" by_file
subtest "strangers" hostile
subtest "the end" ends
subtest "a lossy port of eight: its plane carries nothing" eight_planes
rm -f "$FILE"
tap_end
