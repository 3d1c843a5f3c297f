#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl serve on a real device: what it tells of planes, queue pairs and EVs beside
# traffic, as root and as nobody; that all clients together cost one sample an interval;
# what it refuses; a device that goes; how it ends.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_mrcctl.sh"

# Between samples, s. There are no rates if nobody asks for five of them, and under emulation
# a request takes a second.
INTERVAL=$((2 * ${LAB_TIME:-1}))

# page PATH [METHOD [HOST]]: the body is in $WORK/out, the status of HTTP in $code
page() {
	code=$(in_a python3 - "$url$1" "${2:-GET}" "${3:-localhost}" "$WORK/out" <<-'PY'
		import sys, urllib.error, urllib.request
		url, method, host, out = sys.argv[1:]
		request = urllib.request.Request(url, method=method, headers={"Host": host})
		try:
		    answer = urllib.request.urlopen(request, timeout=60)
		except urllib.error.HTTPError as e:
		    answer = e
		with open(out, "wb") as f:
		    f.write(answer.read())
		print(answer.status)
	PY
	)
}

answers() { # PATH: with 200
	page "$1"
	check "$code" == 200 "status of /$1"
}

is() { # EXPRESSION: true of the state
	page api/state && [ "$(json "[$1]")" = True ]
}

tells() { # EXPRESSION WANTED: values of the last answer
	local got
	got=$(json "$1")
	[ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

# serve_start [PREFIX...]: the process is in $server, its page in $url
serve_start() {
	start "$WORK/serve" ip netns exec "$HOST_A" "$@" mrcctl -d mrca serve \
		-i ${INTERVAL}s listen 127.0.0.1:0
	server=$started
	wait_for 30 grep -q '^http://127.0.0.1:[0-9]*/$' "$WORK/serve" ||
		fail "$(cat "$WORK/serve")"
	url=$(cat "$WORK/serve")
}

serve_end() {
	local rc=0
	kill "$server"
	finished "$server" 20 || rc=$?
	check "$rc" == 0 "status of mrcctl serve: $(cat "$WORK/serve")"
	[ "$(cat "$WORK/serve")" = "$url" ] || fail "it printed $(cat "$WORK/serve")"
}

beside_traffic() {
	local qpn samples
	paths_up
	quiet cc add 2 algorithm none
	load_start
	serve_start
	wait_for 30 is 'all(p["rates"] and p["rates"]["tx_bytes_per_s"] > 0
		for p in d["devices"][0]["ports"])'
	answers api/state
	tells '[len(d["devices"])]' 1
	tells '[p["state"] for p in d["devices"][0]["ports"]]' "ACTIVE ACTIVE"
	tells '[p["netdev"] for p in d["devices"][0]["ports"]]' "pa1 pa2"
	tells '[d["devices"][0]["missing"]]' "[]"
	tells '[q["program"] for q in d["devices"][0]["qps"]]' "mrc_verify mrc_verify"
	tells '[q["evs_by_state"]["good"] for q in d["devices"][0]["qps"]]' "4 4"
	tells '[(p["id"], p["evs"], p["qps"]) for p in d["devices"][0]["ev_profiles"]]' "(7, 4, 2)"
	wait_for 30 is 'all(q["rates"]["tx_bytes_per_s"] > 0 for q in d["devices"][0]["qps"])'
	qpn=$(json '[d["devices"][0]["qps"][0]["qpn"]]')
	answers "api/qp?device=mrca&qpn=$qpn"
	json '[(e["entropy"], e["port"]) for e in d["evs"]]' >"$WORK/want"
	do_a -j qp show "$qpn"
	json '[(e["entropy"], e["port"]) for e in d[0]["evs"]]' >"$WORK/got"
	same "$WORK/want" "$WORK/got" "EVs"
	answers metrics
	grep -q -x 'mrc_qps{device="mrca",state="RTS"} 2' "$WORK/out" || fail "$(cat "$WORK/out")"
	answers ""
	grep -q '<script type="module" src="/app.js">' "$WORK/out" || fail "$(cat "$WORK/out")"

	# What happens shows.
	quiet port set 2 disable
	wait_for 30 is '[(p["state"], p["admin"]) for p in d["devices"][0]["ports"]] ==
		[("ACTIVE", "enabled"), ("DOWN", "disabled")]'
	quiet port set 2 enable
	wait_for 30 is 'd["devices"][0]["ports"][1]["state"] == "ACTIVE"'
	verify_stop_well
	wait_for 30 is 'd["devices"][0]["qps"] == []'

	# Many ask, and each interval has one sample.
	samples=$(json '[d["sample"]]')
	in_a python3 - "$url" "$samples" "$INTERVAL" <<-'PY'
		import json, sys, threading, time, urllib.request
		url, before, interval = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		seen, began = [], time.monotonic()
		def ask():
		    for _ in range(25):
		        with urllib.request.urlopen(url + "api/state", timeout=60) as r:
		            seen.append(json.load(r)["sample"])
		threads = [threading.Thread(target=ask) for _ in range(4)]
		[t.start() for t in threads]
		[t.join() for t in threads]
		most = (time.monotonic() - began) / interval + 2
		print(f"{len(seen)} answers, {max(seen) - before} samples, at most {most:.0f}")
		sys.exit(len(seen) != 100 or max(seen) - before > most)
	PY
	serve_end
	gone cc 2
	paths_down
}

# Nobody sees planes and their rates, and is told what is missing.
as_nobody_sees() {
	paths_up
	quiet cc add 2 algorithm none
	load_start
	serve_start "${as_nobody[@]}"
	wait_for 30 is 'all(p["rates"] and p["rates"]["tx_bytes_per_s"] > 0
		for p in d["devices"][0]["ports"])'
	answers api/state
	tells '[m["part"] for m in d["devices"][0]["missing"]]' "qps ev_profiles"
	tells '["CAP_NET_ADMIN" in m["error"] for m in d["devices"][0]["missing"]]' "True True"
	tells '[d["devices"][0]["ev_profiles"], d["devices"][0]["ports"][0]["admin"]]' "None None"
	verify_stop_well
	serve_end
	gone cc 2
	paths_down
}

refusals() {
	local port
	serve_start
	port=${url##*:} port=${port%/}
	run_as "ip netns exec $HOST_A" serve listen "127.0.0.1:$port"
	denied 2 "port $port of 127.0.0.1 is in use by another program" "serve, port in use"
	run_as "ip netns exec $HOST_A" serve listen 203.0.113.1
	denied 2 "203.0.113.1 is no address of this host" "serve, foreign address"
	run_as "ip netns exec $HOST_A ${as_nobody[*]}" serve listen :80
	denied 2 "no right to listen to port 80, root has it" "serve, low port"
	page "" POST
	check "$code" == 405 "status of POST"
	page api/state GET evil.example
	check "$code" == 403 "status for another host"
	page ../etc/passwd
	check "$code" == 404 "status of another path"
	serve_end
}

device_goes() {
	serve_start
	is 'd["devices"][0]["name"] == "mrca"'
	# Nobody has the device open between two samples.
	in_a rdma link del mrca
	wait_for 30 is 'd["devices"] == []'
	answers metrics
	serve_end
}

topo 2 4500
subtest "planes, queue pairs and EVs beside traffic" beside_traffic
subtest "what nobody sees" as_nobody_sees
subtest "refusals" refusals
subtest "the device goes" device_goes
tap_end
