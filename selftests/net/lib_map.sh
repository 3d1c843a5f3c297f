# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Agents and a collector of mrcmap on a fabric of mrclab. Sourced after lib_fabric.sh. The script
# sets SETTINGS and FOUND_TIME, and brings up the fabric of $FILE.

# Agents that have no privileges read it, too.
FILE=$(mktemp /tmp/mrc-map.XXXXXX)
chmod 644 "$FILE"
STATE=$WORK/state.json
COLLECTOR=192.0.2.1:48621
agents=()
(umask 077 && echo 000102030405060708090a0b0c0d0e0f >"$WORK/key")

agent_start() { # HOST
	start "$WORK/agent.$1" mrclab exec "h$1" mrcmap agent -f "$FILE" -H "h$1" \
		-c $COLLECTOR -k "$WORK/key" --deny "${SETTINGS[@]}"
	agents[$1]=$started
}

# The collector is in host 1, as the agents reach it by the management network.
all_start() { # HOST...
	local h
	start "$WORK/collector" mrclab exec h1 mrcmap collector -f "$FILE" -l $COLLECTOR \
		--deny -s "$STATE" -m "$WORK/map.prom" --history-file "$WORK/history" \
		"${SETTINGS[@]}"
	collector=$started
	for h; do
		agent_start "$h"
	done
}

# With the fabric.
all_end() { # HOST...
	local h
	for h; do
		kill "${agents[h]}"
	done
	kill "$collector"
	wait_for 30 process_gone "$collector"
	mrclab down -q
}

links_known() { is_known 'all(l["loss"] is not None for l in s["links"])'; }

all_probed() {
	wait_for 60 is_known 'all(a["connected"] and not a["silent"] for a in s["agents"])'
	wait_for 60 links_known || {
		known '[l["name"] for l in s["links"] if l["loss"] is None]'
		fail "links are not probed"
	}
}

# An expression of Python about what the collector knows: s, and its findings f.
known() { # EXPRESSION
	mrcmap show -s "$STATE" -j >"$WORK/shown" || return
	python3 - "$WORK/shown" "$1" <<'END'
import json, sys
s = json.load(open(sys.argv[1], encoding="utf-8"))
f = s["findings"]
print(eval(sys.argv[2]))
END
}

is_known() { [ "$(known "$1")" = True ]; }

# These places are wrong, and nothing else; "ELEMENT DIRECTION...|..." of each.
found() {
	[ "$(known '"|".join(sorted(x["element"] + " " + " ".join(x["directions"]) for x in f))')" = "$1" ]
}

wait_found() { # PLACES
	wait_for "$FOUND_TIME" found "$1" || {
		mrcmap show -s "$STATE"
		fail "not found: $1"
	}
}

# Whatever the subtest before has left.
all_well() {
	mrclab fault clear
	wait_found ''
}

# breaks PLACES WORDS...: what mrclab breaks is found, and it is gone after the heal.
breaks() {
	local places=$1
	shift
	all_well
	fault_at=$EPOCHREALTIME
	mrclab fault "$@"
	wait_found "$places"
	mrcmap show -s "$STATE" | grep -v '^$'
	echo "figure: $*: found after $(after "$fault_at" raised) s: $(mrcmap show -s "$STATE" |
		grep -m1 -E '^(nic_link|t0|t1|fabric_link)')"
}

# Seconds from a time to the last change of a kind in the history.
after() { # TIME raised|cleared
	mrcmap show -s "$STATE" -y | python3 -c '
import json, sys
at = [c["at"] for c in json.load(sys.stdin) if c["what"] == sys.argv[2]]
print(round(at[-1] - float(sys.argv[1]), 2) if at else "?")' "$1" "$2"
}

heal() {
	local since=$EPOCHREALTIME
	mrclab fault clear
	wait_found ''
	echo "figure: cleared after $(after "$since" cleared) s"
}

# Traffic from one host to another one until it is stopped.
traffic() { # FROM TO SIZE DEPTH
	local words=(-F -s "$3" -t "$4" -p $((18500 + $1)) -D 1000 -u 18)
	start "$WORK/bw.server.$1" mrclab exec "h$2" ib_write_bw -d "mrc$2" \
		-x "$(gid_index "mrc$2" 1 "$(host6 "$2")")" "${words[@]}"
	wait_for 30 listening "$2" $((18500 + $1)) || {
		cat "$WORK/bw.server.$1"
		fail "no server"
	}
	start "$WORK/bw.client.$1" mrclab exec "h$1" ib_write_bw -d "mrc$1" \
		-x "$(gid_index "mrc$1" 1 "$(host6 "$1")")" "${words[@]}" "$(mgmt4 "$2")"
	wait_for 60 carries "$2" 100000 || {
		cat "$WORK/bw.client.$1"
		fail "no traffic"
	}
}

listening() { # HOST PORT
	on "h$1" ss -Hltn "sport = :$2" | grep -q .
}

received() { # HOST
	local p sum=0 n
	for ((p = 1; p <= PLANES; p++)); do
		n=$(on "h$1" cat "/sys/class/net/p$p/statistics/rx_bytes")
		sum=$((sum + n))
	done
	echo "$sum"
}

# kbit/s that a host receives.
rate() { # HOST
	local now since was sum
	was=$(received "$1")
	now_ms
	since=$now
	sleep 3
	sum=$(received "$1")
	now_ms
	echo $(((sum - was) * 8 / (now - since)))
}

carries() { # HOST BYTES
	local was
	was=$(received "$1")
	sleep 0.5
	[ $(($(received "$1") - was)) -gt "$2" ]
}

denied_by() { # HOST DESTINATION
	mrcctl -d "mrc$1" ev show "$2" >"$WORK/evs" || fail "mrcctl ev show"
	grep -q denied "$WORK/evs"
}

# In a second the plane brings less than a tenth of what the others bring on average: probes and
# feedback take it, too.
quiet() { # HOST PLANE
	local dev=/sys/class/net/p$2/statistics/rx_bytes all own
	own=$(on "h$1" cat "$dev")
	all=$(received "$1")
	sleep 1
	own=$(($(on "h$1" cat "$dev") - own))
	all=$(($(received "$1") - all))
	[ "$((10 * own * (PLANES - 1)))" -lt "$((all - own))" ]
}

not_denied_by() { ! denied_by "$@"; }

# After a heal.
wait_allowed() { # HOST DESTINATION
	wait_for 30 not_denied_by "$@" || {
		mrcmap show -s "$STATE" -y || true
		cat "$WORK/evs"
		cat "$WORK/agent.$1" "$WORK/collector"
		fail "denied after the heal"
	}
}

# Two hosts with eight ports each. Links have few megabits a second: one processor has all
# hosts, all switches and the traffic.
eight_planes_file() { # MEGABITS QUEUE-UNTIL-TRIMMED BASE-RTT-NS
	cat >"$FILE" <<-END
		name: eight
		prefix: ''
		planes: 8
		t0: 1
		t1: 0
		hosts: 2
		forwarding: srv6
		links:
		  host: {rate: $1mbit, burst: 10000}
		  "p*l*:h*": {trim: $2, queue: 200000}
		profiles:
		  evs: on
		  cc: {algorithm: uet-1.0-nscc, base_rtt: $3, max_cwnd: 120000, fi: 11040, eta: 332}
	END
	fab_params srv6 8 1 0 2 4500
}

# This fabric with traffic from host 1 to host 2. Sets before, and lossy: kbit/s without faults
# and when a port of host 1 loses 5 %.
eight_planes_up() { # MEGABITS QUEUE-UNTIL-TRIMMED BASE-RTT-NS
	eight_planes_file "$@"
	mrclab up -q "$FILE"
	traffic 1 2 65536 16
	sleep 3
	before=$(rate 2)
	mrclab fault h1:p8 loss 5%
	sleep 2
	lossy=$(rate 2)
	mrclab fault clear
}

# Plane 8 is denied, no other one is, and it carries nothing. Sets during: kbit/s of the others.
without_plane_8() {
	check "$(mrcctl -d mrc1 ev show 2 | evs_shown | grep denied | cut -d' ' -f2 |
		grep -c -v '@8$')" == 0 "denied EVs of other planes"
	# What was under way must have left it.
	wait_for 60 quiet 2 8
	during=$(rate 2)
}
