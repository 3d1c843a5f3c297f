#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl on real devices: every command, as text and as JSON, its errors to the
# letter, and that what it shows is what the kernel counts. What it prints of a
# made-up device is compared in selftests/mrcctl.
# timeout: 1200
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_paths.sh"

EVS=c001@1,c002@2,c003@1,c004@2

# --- helpers ----------------------------------------------------------------------

# run a|b WORDS...: mrcctl on that host's device; status in $rc, output in
# $WORK/out and $WORK/err.
run() {
	local h=$1
	shift
	run_as "ip netns exec host$h" -d "mrc$h" "$@"
}

run_as() { # PREFIX WORDS...
	local prefix=$1
	shift
	rc=0
	$prefix mrcctl "$@" >"$WORK/out" 2>"$WORK/err" || rc=$?
}

# do_on a|b WORDS...: must succeed and say nothing on standard error.
do_on() { # a|b WORDS...
	run "$@"
	[ "$rc" = 0 ] || fail "mrcctl $* ended with $rc: $(cat "$WORK/err")"
	[ ! -s "$WORK/err" ] || fail "mrcctl $* said: $(cat "$WORK/err")"
}
do_a() { do_on a "$@"; }

same() { # WANTED GOT WHAT...
	local want=$1 got=$2
	shift 2
	diff -u "$want" "$got" >"$WORK/diff" || {
		cat "$WORK/diff"
		fail "$* is something else"
	}
}

# shows WORDS...: prints exactly what is on standard input.
shows() {
	cat >"$WORK/want"
	do_a "$@"
	same "$WORK/want" "$WORK/out" "the output of mrcctl $*"
}

# quiet WORDS...: does it, prints nothing.
quiet() { shows "$@" </dev/null; }

# denies STATUS MESSAGE WORDS...: fails with exactly this after "mrcctl: ", and
# prints nothing else.
denies() {
	local status=$1 message=$2
	shift 2
	run a "$@"
	denied "$status" "$message" "$*"
}

denied() { # STATUS MESSAGE WHAT
	check "$rc" == "$1" "status of mrcctl $3"
	printf 'mrcctl: %s\n' "$2" >"$WORK/want"
	same "$WORK/want" "$WORK/err" "the message of mrcctl $3"
	[ ! -s "$WORK/out" ] || fail "mrcctl $3 printed: $(cat "$WORK/out")"
}

# json EXPRESSION: of the last output, parsed as d; the values that the list
# has, in one line.
json() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
print(*eval(sys.argv[2]))' "$WORK/out" "$1"
}

# Each line of FILE is a JSON document.
json_lines() { # FILE
	python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
	json.loads(line)' "$1" || fail "no JSON: $(cat "$1")"
}

as_nobody() { in_a setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

gone() { # fmt|ev|cc ID: nobody uses it any more, and it is forgotten
	wait_for 30 in_a mrcctl -d mrca "$1" del "$2"
}

# Whatever a subtest that failed has left.
clean_slate() {
	local id
	uncount_ports 2>/dev/null || true
	unimpair a 1
	unimpair a 2
	in_a mrcctl -d mrca default del "$B4" 2>/dev/null || true
	for id in 3 5 7; do
		in_a mrcctl -d mrca ev del $id 2>/dev/null || true
	done
	for id in 1 2 5; do
		in_a mrcctl -d mrca fmt del $id 2>/dev/null || true
		in_a mrcctl -d mrca cc del $id 2>/dev/null || true
	done
	in_a mrcctl -d mrca port set 2 enable
}

# Format 1 and EV profile 7: explicit, four UDP paths on two planes.
paths_up() { # [EVENTS]
	clean_slate
	quiet fmt add 1 mode udp fields 16
	quiet ev add 7 mode explicit fmt 1 evs $EVS events "${1:-none}"
}

paths_down() {
	gone ev 7
	quiet fmt del 1
}

# --- which device -----------------------------------------------------------------

no_device() {
	run_as ""
	check "$rc" == 1 "status without a command"
	run_as "" dev
	check "$rc" == 0 "status of dev"
	[ ! -s "$WORK/out" ] || fail "devices: $(cat "$WORK/out")"
	run_as "" -j dev
	[ "$(cat "$WORK/out")" = "[]" ] || fail "devices: $(cat "$WORK/out")"
	run_as "" port
	denied 2 "no MRC device" port
	run_as "" -d mrca dev
	denied 2 "no MRC device mrca" "-d mrca dev"
}

two_devices() {
	local d
	run_as "ip netns exec $HOST_A" dev
	check "$rc" == 0 "status of dev"
	for d in mrca mrcb; do
		sed "s/^DEVICE:/$d:/" <<-'END'
			DEVICE: protocol 1 ctl_protocol 1 ports 1,2
			    extension on
			    attr num_evs 64 cwnd 0 cc none
			    cap trim_nack,dynamic_mpr,service_time
			    opt ev_modify_online,cc_modify_online,ev_event,ev_event_precise,ep_ev_probe
			    max_wimm 1024 max_wimm_dest 1024 max_mpr 255 mpr_resolution 1 max_qp_hint 65536
			    fmt max_profiles 64 modes udp,stev,srv6
			    ev max_profiles 256 modes auto,explicit,generated max_count 65536 free_count 65536
			       max_count_profile 1024 count_align 1 max_width 256 op_max_entries 1024
			    cc max_profiles 64 algorithms uet-1.0-nscc,none
		END
	done >"$WORK/devices"
	same "$WORK/devices" "$WORK/out" "the list of devices"
	sed '/^mrcb:/,$d' "$WORK/devices" | shows dev show
	run_as "ip netns exec $HOST_A" -j dev
	[ "$(json '[x["name"] for x in d]')" = "mrca mrcb" ] || fail "$(cat "$WORK/out")"
	run_as "ip netns exec $HOST_A" port show
	denied 1 "several devices, choose one with -d: mrca, mrcb
usage: mrcctl port show [PORT]" "port show"
	run_as "ip netns exec $HOST_A" -d mrc7 port
	denied 2 "no MRC device mrc7" "-d mrc7 port"
}

device_json() {
	do_a -p dev
	cat >"$WORK/want" <<-'END'
		[
		    {
		        "name": "mrca",
		        "protocol_version": [
		            1
		        ],
		        "ctl_protocol_version": [
		            1
		        ],
		        "ports": [
		            1,
		            2
		        ],
		        "cap": [
		            "trim_nack",
		            "dynamic_mpr",
		            "service_time"
		        ],
		        "opt": [
		            "ev_modify_online",
		            "cc_modify_online",
		            "ev_event",
		            "ev_event_precise",
		            "ep_ev_probe"
		        ],
		        "max_wimm": 1024,
		        "max_wimm_dest": 1024,
		        "max_mpr": 255,
		        "mpr_resolution": 1,
		        "max_qp_hint": 65536,
		        "extension": true,
		        "attr": {
		            "num_evs": 64,
		            "cwnd": 0,
		            "cc": "none"
		        },
		        "fmt": {
		            "max_profiles": 64,
		            "modes": [
		                "udp",
		                "stev",
		                "srv6"
		            ]
		        },
		        "ev": {
		            "max_profiles": 256,
		            "modes": [
		                "auto",
		                "explicit",
		                "generated"
		            ],
		            "max_count": 65536,
		            "free_count": 65536,
		            "max_count_profile": 1024,
		            "count_align": 1,
		            "max_width": 256,
		            "op_max_entries": 1024
		        },
		        "cc": {
		            "max_profiles": 64,
		            "algorithms": [
		                "uet-1.0-nscc",
		                "none"
		            ]
		        }
		    }
		]
	END
	same "$WORK/want" "$WORK/out" "the device as JSON"
}

# --- ports ------------------------------------------------------------------------

ports() {
	shows port <<-'END'
		port 1 state ACTIVE admin enabled netdev pa1
		port 2 state ACTIVE admin enabled netdev pa2
	END
	ctr_mark
	ctr_quiet
	do_a port show 1
	ctr_take
	# Every counter with the value that rdma statistic shows.
	awk '$1 == "mrca/1" { print "    " $2, $3 }' "$WORK/take" | LC_ALL=C sort >"$WORK/want"
	sed 1d "$WORK/out" | LC_ALL=C sort >"$WORK/got"
	same "$WORK/want" "$WORK/got" "the counters of port 1"
	[ "$(sed -n 1p "$WORK/out")" = "port 1 state ACTIVE admin enabled netdev pa1" ]
	do_a -j port
	[ "$(json '[(p["port"], p["state"], p["admin"], p["netdev"]) for p in d]')" = \
		"(1, 'ACTIVE', 'enabled', 'pa1') (2, 'ACTIVE', 'enabled', 'pa2')" ] ||
		fail "$(cat "$WORK/out")"
	check "$(json '[len(d[1]["counters"])]')" == "$(wc -l <"$WORK/want")" "counters of port 2"
	denies 2 "no port 3" port show 3
	denies 2 "port 3: Invalid argument" port set 3 disable
	denies 1 '"down" is not enable or disable
usage: mrcctl port set PORT enable|disable' port set 1 down
}

port_disabled() {
	quiet port set 2 disable
	wait_for 30 port_is mrca 2 DOWN
	shows port show <<-'END'
		port 1 state ACTIVE admin enabled netdev pa1
		port 2 state DOWN admin disabled netdev pa2
	END
	ctr_mark
	verify --size 16384 --iters 20
	ctr_quiet
	ctr_take
	expect mrca/2 tx_data_pkts == 0
	expect mrca/1 tx_data_pkts '>=' 80
	quiet port set 2 enable
	wait_for 30 port_is mrca 2 ACTIVE
	shows port <<-'END'
		port 1 state ACTIVE admin enabled netdev pa1
		port 2 state ACTIVE admin enabled netdev pa2
	END
}

# --- profiles ---------------------------------------------------------------------

formats() {
	clean_slate
	quiet fmt show
	shows -j fmt <<<'[]'
	quiet fmt add 1 mode udp fields 16
	quiet fmt add 2 mode stev fields 8,24 state offline
	shows fmt <<-'END'
		fmt 1 state online mode udp fields 16
		fmt 2 state offline mode stev fields 8,24
	END
	shows -j fmt show 2 <<<'[{"id":2,"state":"offline","mode":"stev","fields":[8,24]}]'
	quiet fmt set 2 mode srv6 fields 32,32,32,32 state online
	shows fmt show 2 <<<'fmt 2 state online mode srv6 fields 32,32,32,32'
	denies 2 "fmt 1: File exists" fmt add 1 mode udp fields 16
	denies 2 "fmt 5: Argument list too long" fmt add 5 mode udp fields 17
	denies 2 "fmt 5: No such file or directory" fmt show 5
	denies 2 "fmt 5: Invalid argument" fmt add 5 mode udp fields 8,0
	denies 2 "fmt 2: Invalid argument" fmt set 2 fields 32
	denies 2 "fmt 64: Invalid argument" fmt add 64 mode udp fields 16
	denies 2 "fmt 5: No such file or directory" fmt del 5
	quiet fmt del 2
	quiet fmt del 1
	quiet fmt
}

ev_profiles() {
	clean_slate
	quiet fmt add 1 mode udp fields 16
	quiet ev add 7 mode explicit fmt 1 evs $EVS events good,assumed_bad min_active 1
	cat >"$WORK/seven" <<-'END'
		ev 7 state online mode explicit fmt 1 count 4 min_active 1 events good,assumed_bad
		    fields 16/0/ffff/0/ffff
		    evs good 4
	END
	shows ev <"$WORK/seven"
	{
		cat "$WORK/seven"
		cat <<-'END'
			       0 c001@1 good
			       1 c002@2 good
			       2 c003@1 good
			       3 c004@2 good
		END
	} | shows ev show 7
	quiet ev deny 7 c002@2,c003@1
	quiet ev replace 7 c004@2 d004@2
	quiet ev allow 7 c003@1
	shows -j ev show 7 <<-'END'
		[{"id":7,"state":"online","mode":"explicit","min_active":1,"events":["good","assumed_bad"],"fmt":1,"count":4,"fields":[{"width":16,"init":"0x0","mask":"0xffff","min":"0x0","max":"0xffff"}],"evs":[{"ev":"c001@1","state":"good"},{"ev":"c002@2","state":"denied"},{"ev":"c003@1","state":"good"},{"ev":"d004@2","state":"good"}]}]
	END
	printf '# two, one a line\n\nc001@1\nd004@2\n' >"$WORK/evs"
	in_a mrcctl -d mrca ev deny 7 - <"$WORK/evs"
	do_a ev
	grep -q '^    evs denied 3 good 1$' "$WORK/out" || fail "$(cat "$WORK/out")"
	do_a dev
	grep -q ' free_count 65532$' "$WORK/out" || fail "free: $(cat "$WORK/out")"
	quiet ev set 7 min_active 2 state offline
	quiet ev set 7 state online
	do_a ev
	grep -q ' min_active 2 events' "$WORK/out" || fail "$(cat "$WORK/out")"

	# A batch stops at what is not there; what came before it is done.
	denies 2 "ev 7: No such file or directory" ev allow 7 c001@1,c00f@1,d004@2
	do_a ev
	grep -q '^    evs good 2 denied 2$' "$WORK/out" || fail "$(cat "$WORK/out")"
	denies 2 "fmt 1: Device or resource busy (in use)" fmt del 1
	denies 2 "ev 7: File exists" ev add 7 mode auto
	denies 2 "ev 5: Invalid argument" ev add 5 mode explicit fmt 2 evs c001@1
	denies 2 "ev 5: Invalid argument" ev add 5 mode explicit fmt 1 evs c001@3
	denies 2 "ev 5: Argument list too long" ev add 5 mode generated fmt 1 count 1025 \
		fields 16/c000/3fff
	denies 2 "ev 256: Invalid argument" ev add 256 mode auto
	denies 2 "ev 5: No such file or directory" ev show 5
	denies 2 "ev 5: No such file or directory" ev set 5 min_active 1
	denies 2 "ev 5: Invalid argument" ev deny 5 c001@1

	quiet ev add 3 mode generated fmt 1 count 8 fields 16/c000/00ff
	do_a -j ev show 3
	[ "$(json '[d[0]["count"], len(set(e["ev"] for e in d[0]["evs"]))]')" = "8 8" ] ||
		fail "$(cat "$WORK/out")"
	quiet ev add 5 mode auto state offline
	shows ev show 5 <<<'ev 5 state offline mode auto min_active 0 events none'
	quiet ev del 5
	quiet ev del 3
	quiet ev del 7
	quiet fmt del 1
	quiet ev
	do_a dev
	grep -q ' free_count 65536$' "$WORK/out" || fail "free: $(cat "$WORK/out")"
}

cc_profiles() {
	clean_slate
	quiet cc add 2 algorithm uet-1.0-nscc base_rtt 12000 gamma 0.75 max_cwnd 262144
	quiet cc add 5 algorithm off state offline
	shows cc <<-'END'
		cc 2 state online algorithm uet-1.0-nscc
		    adjust_bytes_threshold 0 bytes
		    adjust_period_threshold 0 ns
		    base_rtt 12000 ns
		    eta 0 bytes
		    fi 0 bytes
		    fi_scale 0
		    gamma 0.75
		    max_md_jump 0
		    max_cwnd 262144 bytes
		    qa_gate 0
		    qa_threshold 0 ns
		    target_delay 0 ns
		    disable_qa 0
		cc 5 state offline algorithm off
	END
	# Those that are not named stay.
	quiet cc set 2 gamma 0.5 qa_gate 3
	shows -j cc show 2 <<-'END'
		[{"id":2,"state":"online","algorithm":"uet-1.0-nscc","parameters":{"adjust_bytes_threshold":0,"adjust_period_threshold":0,"base_rtt":12000,"eta":0.0,"fi":0.0,"fi_scale":0.0,"gamma":0.5,"max_md_jump":0.0,"max_cwnd":262144,"qa_gate":3,"qa_threshold":0,"target_delay":0,"disable_qa":0}}]
	END
	denies 2 "cc 1: Invalid argument" cc add 1 algorithm reno
	denies 2 "cc 2: Invalid argument" cc set 2 gamma 1.5
	denies 2 "cc 2: Invalid argument" cc set 2 algorithm none
	denies 2 "cc 2: File exists" cc add 2 algorithm off
	denies 2 "cc 64: Invalid argument" cc add 64 algorithm off
	denies 2 "cc 1: No such file or directory" cc show 1
	quiet cc set 5 algorithm none state online
	shows -j cc show 5 <<<'[{"id":5,"state":"online","algorithm":"none"}]'
	quiet cc del 5
	quiet cc del 2
	quiet cc
}

defaults() {
	paths_up
	quiet default
	quiet default set "$B4" ev 7
	quiet default set 10.0.0.0/8 cc 3
	quiet default set fd00::/16 ev 7 cc 3
	do_a default
	sort "$WORK/out" >"$WORK/got"
	cat >"$WORK/want" <<-END
		10.0.0.0/8 ev none cc 3
		$B4/32 ev 7 cc none
		fd00::/16 ev 7 cc 3
	END
	same "$WORK/want" "$WORK/got" "the table of defaults"
	quiet default set "$B4" ev 9 cc 4
	do_a -j default
	[ "$(json "[(x['ev_profile'], x['cc_profile']) for x in d if x['prefix'] == '$B4/32']")" = \
		"(9, 4)" ] || fail "$(cat "$WORK/out")"
	quiet default del "$B4"
	quiet default del 10.0.0.0/8
	quiet default del fd00::/16
	quiet default
	denies 2 "default 10.0.0.0/8: No such file or directory" default del 10.0.0.0/8
	denies 2 "default 10.0.0.1/8: Invalid argument" default set 10.0.0.1/8 ev 7
	paths_down
}

traffic_classes() {
	local was
	do_a tc
	was=$(cat "$WORK/out")
	quiet tc set control 46 trimming on
	shows tc <<<"$(sed -E 's/control [0-9]+ trimming off/control 46 trimming on/' <<<"$was")"
	do_a -j tc
	[ "$(json '[d["dscp"]["control"], d["trimming"]]')" = "46 True" ] ||
		fail "$(cat "$WORK/out")"
	denies 2 "tc: Invalid argument" tc set trimmable 46
	# shellcheck disable=SC2086 # words
	quiet tc set $was
	shows tc <<<"$was"
}

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

# --- queue pairs ------------------------------------------------------------------

# A session of two queue pairs over the profiles that its program names.
load_start() {
	ctr_mark
	verify_start --watchdog 100 --ev-profile 7 --cc-profile 2 --qps 2 --duration 1000 \
		--size 65536,777 --op mixed --timeout 18
	wait_for 40 ctr_at_least mrca tx_data_pkts $(($(ctr_marked mrca tx_data_pkts) + 300))
}

# The process of the client: below ip and timeout.
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

# While the program is stopped nothing is posted: what the queue pairs say must be
# what the ports have counted, to the byte, what went again included.
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
	# rdma has the same of them.
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

told_ports() { # MASK: what the QPs of B know of A's ports
	rdma -dd resource show qp link mrcb/1 >"$WORK/told"
	grep -q -E "drv_peer_ports[ :]*$1( |\$)" "$WORK/told"
}

# What the peer's queue pairs know of the ports. Those that only receive find nothing
# out about them. What the device itself tells again for a while is over before.
# Without queue pairs between the two nobody is listening.
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

# The text of one, with what differs from run to run left out.
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

# The profile that a program names by number, made by another one: each packet
# takes one of its paths; deny, allow and replace while data moves.
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

# --- monitor, top -----------------------------------------------------------------

STAMP='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z'

# Times of FILE are between SINCE and now, and do not go back.
stamps_fit() { # FILE SINCE
	local first last
	grep -o -E "$STAMP" "$1" >"$WORK/stamps"
	LC_ALL=C sort -c "$WORK/stamps" || fail "times go back: $(cat "$1")"
	check "$(wc -l <"$WORK/stamps")" == "$(wc -l <"$1")" "times in lines"
	first=$(sed -n 1p "$WORK/stamps") last=$(tail -n 1 "$WORK/stamps")
	[[ ! $first < $2 ]] || fail "$first is before $2"
	[[ ! $(date -u +%Y-%m-%dT%H:%M:%S.%NZ) < $last ]] || fail "$last has not come yet"
}

# Format 60 comes or goes until the monitor tells of it: it is looking.
nudge() {
	in_a mrcctl -d mrca fmt add 60 mode udp fields 16 2>/dev/null ||
		in_a mrcctl -d mrca fmt del 60
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
	in_a mrcctl -d mrca fmt del 60 2>/dev/null || true
	paths_down

	# So many lines, and the end.
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca -j monitor state -n 1 -i 100ms
	wait_for 30 nudge
	finished "$started" 20 || fail "the monitor ended with $?"
	sed -E "s/$STAMP/TIME/; s/\"(offline|online)\"/STATE/; s/null/STATE/g" "$WORK/monitor" \
		>"$WORK/got"
	echo '{"time":"TIME","event":"state","what":"fmt 60","from":STATE,"to":STATE}' >"$WORK/want"
	same "$WORK/want" "$WORK/got" "one change as JSON"
	json_lines "$WORK/monitor"
	in_a mrcctl -d mrca fmt del 60 2>/dev/null || true
	quiet monitor state -t 200ms
	quiet monitor ev -t 200ms
}

# The monitor has its queue of events open: a file of the device.
listens() { # PID
	local fd
	for fd in $(descendants "$1") "$1"; do
		! readlink "/proc/$fd/fd/"* 2>/dev/null | grep -q 'anon_inode:.*mrcevents' || return 0
	done
	return 1
}

# EV events of a path that swallows packets and heals, text and JSON at the same
# time, as many as the kernel counts.
ev_events() {
	local since p text json_pid
	paths_up good,assumed_bad
	quiet cc add 2 algorithm none
	since=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca monitor ev
	text=$started
	start "$WORK/monitor.json" ip netns exec "$HOST_A" mrcctl -d mrca -j monitor ev
	json_pid=$started
	wait_for 30 listens "$text"
	wait_for 30 listens "$json_pid"
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
	# One and the same, in two forms.
	sed -E "s/^$STAMP ev profile ([0-9]+) ([^ ]*) state ([a-z_]*)/\1 \2 \3 0/" "$WORK/monitor" \
		>"$WORK/want"
	sed -E 's/.*"event":"ev","ev_profile":([0-9]+),"ev":"([^"]*)","state":"([a-z_]*)","dropped":([0-9]+)\}/\1 \2 \3 \4/' \
		"$WORK/monitor.json" >"$WORK/got"
	same "$WORK/want" "$WORK/got" "what the two monitors tell"
	kill "$text" "$json_pid"
	gone cc 2
	paths_down
}

monitor_even() {
	[ "$(wc -l <"$WORK/monitor")" = "$(wc -l <"$WORK/monitor.json")" ]
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
		    # Looked at one after the other.
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

# --- definitions ------------------------------------------------------------------

definitions() {
	clean_slate
	cat >"$WORK/all.json" <<-'END'
		{ "formats": [
		    { "id": 1, "mode": "udp", "fields": [16] },
		    { "id": 2, "mode": "stev", "fields": [16, 16], "state": "offline" } ],
		  "ev_profiles": [
		    { "id": 7, "mode": "explicit", "fmt": 1, "min_active": 1,
		      "events": ["assumed_bad"],
		      "evs": ["c001@1", {"ev": "c002@2", "state": "denied"}] },
		    { "id": 5, "mode": "auto", "state": "offline" } ],
		  "cc_profiles": [
		    { "id": 2, "algorithm": "uet-1.0-nscc",
		      "parameters": { "base_rtt": "0x2ee0", "gamma": 0.75 } },
		    { "id": 5, "algorithm": "off" } ],
		  "defaults": [ { "prefix": "10.1.0.0/16", "ev_profile": 7, "cc_profile": 2 } ] }
	END
	quiet load "$WORK/all.json"
	do_a save
	cp "$WORK/out" "$WORK/saved"
	[ "$(json '[[x["id"] for x in d[k]] for k in ("formats", "ev_profiles", "cc_profiles")]')" = \
		"[1, 2] [5, 7] [2, 5]" ] || fail "$(cat "$WORK/out")"
	shows ev show 7 <<-'END'
		ev 7 state online mode explicit fmt 1 count 2 min_active 1 events assumed_bad
		    fields 16/0/ffff/0/ffff
		    evs good 1 denied 1
		       0 c001@1 good
		       1 c002@2 denied
	END
	shows default <<<'10.1.0.0/16 ev 7 cc 2'

	# What was saved makes the same on another device, and again on this one.
	in_b mrcctl -d mrcb load - <"$WORK/saved"
	do_on b save
	same "$WORK/saved" "$WORK/out" "what B saves"
	quiet load "$WORK/saved"
	shows save <"$WORK/saved"

	# Nothing of a file that is wrong; what the device refuses ends it.
	echo '{"formats":[{"id":3,"mode":"udp","fields":[16]},{"id":4,"mode":"tcp","fields":[]}]}' \
		>"$WORK/bad.json"
	denies 1 "$WORK/bad.json: formats[1].mode: \"tcp\" is no mode of an EV format: udp, stev, srv6
usage: mrcctl load FILE|-" load "$WORK/bad.json"
	shows save <"$WORK/saved"
	echo '{"formats":[{"id":3,"mode":"udp","fields":[16]},{"id":4,"mode":"udp","fields":[17]}]}' \
		>"$WORK/bad.json"
	denies 2 "fmt 4: Argument list too long" load "$WORK/bad.json"
	shows fmt show 3 <<<'fmt 3 state online mode udp fields 16'
	denies 2 "/nowhere/at.all: No such file or directory" load /nowhere/at.all
	quiet fmt del 3
	for h in a b; do
		do_on $h default del 10.1.0.0/16
		for id in 5 7; do do_on $h ev del $id; done
		for id in 2 5; do do_on $h cc del $id; done
		for id in 1 2; do do_on $h fmt del $id; done
		do_on $h -j save
	done
	[ "$(json '[len(d[k]) for k in d]')" = "0 0 0 0" ] || fail "$(cat "$WORK/out")"
}

no_leak() {
	local n
	do_a load "$WORK/all.json"
	memory_before "$WORK/before"
	for n in $(seq 20); do
		echo load "$WORK/all.json"
	done | in_a xargs -n 2 mrcctl -d mrca
	expect_memory_back "$WORK/before" 100 1024
	do_a default del 10.1.0.0/16
	clean_slate
}

# --- rights -----------------------------------------------------------------------

unprivileged() {
	local words
	paths_up
	quiet cc add 2 algorithm none
	run_as as_nobody -d mrca dev
	check "$rc" == 0 "status of dev"
	run_as as_nobody -d mrca port
	check "$rc" == 0 "status of port"
	cat >"$WORK/want" <<-'END'
		port 1 state ACTIVE admin ? netdev pa1
		port 2 state ACTIVE admin ? netdev pa2
	END
	same "$WORK/want" "$WORK/out" "the ports"
	while IFS='|' read -r what words; do
		# shellcheck disable=SC2086 # words
		run_as as_nobody -d mrca $words
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
		run_as as_nobody -d mrca $words
		check "$rc" == 2 "status of $words"
		grep -q -E '^mrcctl: qp [0-9]+: Operation not permitted \(CAP_NET_ADMIN is needed\)$' \
			"$WORK/err" || fail "$words: $(cat "$WORK/err")"
		[ ! -s "$WORK/out" ] || fail "$words: $(cat "$WORK/out")"
	done
	verify_stop_well
	# Nothing of it happened.
	shows port <<-'END'
		port 1 state ACTIVE admin enabled netdev pa1
		port 2 state ACTIVE admin enabled netdev pa2
	END
	shows cc show 2 <<<'cc 2 state online algorithm none'
	do_a ev
	grep -q '^    evs good 4$' "$WORK/out" || fail "$(cat "$WORK/out")"
	quiet default

	# The capability is all it takes, in the namespace's user namespace.
	run_as "in_a setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+net_admin
		--ambient-caps=+net_admin" -d mrca cc set 2 state offline
	check "$rc" == 0 "status with CAP_NET_ADMIN: $(cat "$WORK/err")"
	run_as "in_a unshare -U -r" -d mrca cc del 2
	denied 2 "cc 2: Operation not permitted (CAP_NET_ADMIN is needed)" "cc del 2"
	quiet cc del 2
	paths_down
}

# --- the device goes ---------------------------------------------------------------

device_goes() {
	local ev state
	start "$WORK/ev" ip netns exec "$HOST_A" mrcctl -d mrca monitor ev
	ev=$started
	start "$WORK/monitor" ip netns exec "$HOST_A" mrcctl -d mrca monitor state -i 100ms
	state=$started
	wait_for 30 listens "$ev"
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
	# The only one need not be named.
	run_as "ip netns exec $HOST_B" -j fmt
	[ "$rc $(cat "$WORK/out")" = "0 []" ] || fail "$rc $(cat "$WORK/out" "$WORK/err")"
}

subtest "no device" no_device
topo 2 4500
subtest "two devices: dev, and which one is meant" two_devices
subtest "a device as JSON" device_json
subtest "ports and their counters" ports
subtest "a port disabled carries nothing" port_disabled
subtest "EV formats" formats
subtest "EV profiles" ev_profiles
subtest "CC profiles" cc_profiles
subtest "defaults" defaults
subtest "traffic classes" traffic_classes
subtest "probes, answered and not" probes
subtest "port status told" port_status
subtest "queue pairs say what ports count, to the byte" counts_agree
subtest "a profile that a program names; deny, allow, replace" paths_obeyed
subtest "a profile that is not there" not_online
subtest "changes of state as they come" state_changes
subtest "EV events as they come" ev_events
subtest "live view" live_view
subtest "definitions: load and save" definitions
subtest "memory is back after 20 loads" no_leak
subtest "without rights" unprivileged
subtest "the device goes under a monitor" device_goes
tap_end
