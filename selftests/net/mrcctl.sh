#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl on real devices: the commands that show and set, as text and as JSON, with
# their exact error messages; load and save. selftests/mrcctl compares the output for
# a simulated device.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_mrcctl.sh"

# --- which device ------------------------------------------------------------------

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
			    attr num_evs 64 mpr 8 cwnd 0 cc vegas
			    cap trim_nack,dynamic_mpr,service_time
			    opt ev_modify_online,cc_modify_online,ev_event,ev_event_precise,ep_ev_probe
			    max_wimm 1024 max_wimm_dest 1024 max_mpr 255 mpr_resolution 1 max_qp_hint 65536
			    fmt max_profiles 64 modes udp,stev,srv6
			    ev max_profiles 256 modes auto,explicit,generated max_count 65536 free_count 65536
			       max_count_profile 1024 count_align 1 max_width 256 op_max_entries 1024
			    cc max_profiles 64 algorithms uet-1.0-nscc,vegas,none
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
		            "mpr": 8,
		            "cwnd": 0,
		            "cc": "vegas"
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
		                "vegas",
		                "none"
		            ]
		        }
		    }
		]
	END
	same "$WORK/want" "$WORK/out" "the device as JSON"
}

# --- ports -------------------------------------------------------------------------

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

# --- profiles ----------------------------------------------------------------------

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
	ctl a ev deny 7 - <"$WORK/evs"
	do_a ev
	grep -q '^    evs denied 3 good 1$' "$WORK/out" || fail "$(cat "$WORK/out")"
	do_a dev
	grep -q ' free_count 65532$' "$WORK/out" || fail "free: $(cat "$WORK/out")"
	quiet ev set 7 min_active 2 state offline
	quiet ev set 7 state online
	do_a ev
	grep -q ' min_active 2 events' "$WORK/out" || fail "$(cat "$WORK/out")"

	# A batch stops at an EV that does not exist. EVs before it are changed.
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
	# Parameters that are not named keep their values.
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

# --- definitions -------------------------------------------------------------------

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

	# A saved file makes the same configuration on another device, and again on
	# this one.
	ctl b load - <"$WORK/saved"
	do_on b save
	same "$WORK/saved" "$WORK/out" "what B saves"
	quiet load "$WORK/saved"
	shows save <"$WORK/saved"

	# A file with an error is not applied at all. An error from the device ends
	# the load.
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
subtest "definitions: load and save" definitions
subtest "memory is back after 20 loads" no_leak
tap_end
