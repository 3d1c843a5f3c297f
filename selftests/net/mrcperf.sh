#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The benchmark mrcperf: every test and both operations with every byte checked, over
# two planes, with IPv4 and IPv6, also with loss. Its text, CSV and JSON reports state
# exactly how many messages were sent. For runs that it cannot do it prints an error
# and has the exit status that the manual documents. The script checks no performance
# figure.
# long
# timeout: 600
. "$(dirname "$0")/lib.sh"

PORT=18700
LIMIT=100

# perf_start [-6] SERVER-OPTIONS -- CLIENT-OPTIONS: server on B, client on A. The
# client starts when the server listens.
perf_start() {
	local server=() gid_a=$A4 gid_b=$B4
	if [ "$1" = -6 ]; then
		gid_a=$A6 gid_b=$B6
		shift
	fi
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	rm -f "$WORK/server" "$WORK/client" "$WORK/err"
	start "$WORK/server" ip netns exec "$HOST_B" timeout $((LIMIT + 20)) \
		mrcperf -d mrcb -x "$(gid_index mrcb 1 "$gid_b")" ${server[@]+"${server[@]}"}
	perf_server=$started
	start "$WORK/err" ip netns exec "$HOST_A" timeout "$LIMIT" \
		mrcperf -d mrca -x "$(gid_index mrca 1 "$gid_a")" -o "$WORK/client" \
		"$@" "$MGMT_B"
	perf_client=$started
	perf_args=$*
}

# perf_finish CLIENT-STATUS SERVER-STATUS
perf_finish() {
	local crc=0 src=0
	finished "$perf_client" "$LIMIT" || crc=$?
	finished "$perf_server" 30 || src=$?
	if [ "$crc" != "$1" ] || [ "$src" != "$2" ]; then
		echo "--- client (status $crc, not $1): mrcperf $perf_args"
		tail -n 20 "$WORK/err" "$WORK/client" || true
		echo "--- server (status $src, not $2)"
		tail -n 20 "$WORK/server"
		fail "mrcperf $perf_args"
	fi
}

perf() { # [-6] CLIENT-OPTIONS
	if [ "$1" = -6 ]; then
		shift
		perf_start -6 -- "$@"
	else
		perf_start -- "$@"
	fi
	perf_finish 0 0
	[ ! -s "$WORK/err" ] || fail "the client complains: $(cat "$WORK/err")"
}

# The device counted no errors, and all traffic is in the report.
no_errors() {
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
}

# failed_with STATUS REGEX COMMAND...: the output is in $WORK/out
failed_with() {
	local want=$1 regex=$2 rc=0
	shift 2
	"$@" >"$WORK/out" 2>"$WORK/err" || rc=$?
	check "$rc" == "$want" "status of '$*', which says $(cat "$WORK/err")"
	grep -q -E -- "^mrcperf: $regex" "$WORK/err" ||
		fail "'$*' says: $(cat "$WORK/err")"
}

# The command fails before there is anything to report.
refused() { # STATUS REGEX COMMAND...
	failed_with "$@"
	[ ! -s "$WORK/out" ] || fail "'${*:3}' prints: $(cat "$WORK/out")"
}

# The report contains no run and gives the reason.
no_run() { # REGEX COMMAND...
	failed_with 1 "$@"
	check "$(grep -c . "$WORK/out")" == 1 "lines '${*:2}' prints"
	grep -q -E "^# 0 messages, 0 bytes, 0 checked, 0 bad; ended early: $1" "$WORK/out" ||
		fail "'${*:2}' prints: $(cat "$WORK/out")"
}

# --- reports ----------------------------------------------------------------------

# Every point of a sweep, in every format. Each format has its own parser.
SWEEP=(-T all --op "write,write_imm" -s "8,1500,65536" -n 12 -w 2 -q 2 -t 8 --verify)
POINTS=18

# Messages and bytes of data of 12 + 2 messages on each of 2 queue pairs. Ping-pong
# counts both ways, so that the sum of both sides' counts is known.
expected_bytes() { # TESTS-ONE-WAY TESTS-BOTH-WAYS
	echo $(((8 + 1500 + 65536) * 2 * 14 * 2 * ($1 + 2 * $2)))
}

json_report() {
	ctr_mark
	perf "$@" "${SWEEP[@]}" -R 2 -j
	no_errors
	python3 "$NET_DIR/mrcperf_json.py" "$WORK/client" 8,1500,65536 12 2 2 2
}

# The bytes that arrived agree with the report: messages of both directions including
# the warm-up, and 8 bytes for every report of immediates.
bytes_agree() {
	local sent told
	sent=$(($(ctr mrcb rx_data_bytes) + $(ctr mrca rx_data_bytes)))
	told=$((sent - $1))
	check "$told" '>' 0 "bytes that tell of immediates taken"
	check $((told % 8)) == 0 "bytes that tell of immediates taken, modulo 8"
	check "$told" '<=' $((8 * 2 * 14 * 6 * $2)) "bytes that tell of immediates taken"
}

json_lossless() {
	json_report "$@"
	# Two repetitions of two tests one way, and of one test both ways.
	bytes_agree $((2 * $(expected_bytes 2 1))) 2
}

csv_report() {
	perf "$@" "${SWEEP[@]}" -R 3 --csv
	awk -F, -v points=$POINTS '
		function wrong(what) { print "line " NR ": " what ": " $0; bad = 1 }
		NR == 1 {
			for (i = 1; i <= NF; i++) col[$i] = i
			n = NF
			if ($0 !~ /^kind,test,op,size,repetition,messages,bytes,seconds,bytes_per_second,messages_per_second,min_us,p50_us,p90_us,p99_us,p999_us,max_us,mean_us,checked,bad$/)
				wrong("header")
			next
		}
		NF != n { wrong("fields") }
		{ kinds[$1]++ }
		$1 != "spread" && $7 != $6 * $4 { wrong("bytes are not messages x size") }
		$1 == "run" && ($6 != 24 || $5 < 1 || $5 > 3) { wrong("run") }
		$1 == "median" && ($6 != 72 || $5 != "") { wrong("median") }
		$19 != 0 { wrong("bad data") }
		$1 == "run" && $18 != 28 * ($2 == "lat" ? 2 : 1) { wrong("checked") }
		($2 == "lat") != ($12 != "") { wrong("latency") }
		$2 == "lat" && $1 == "run" && !($11 <= $12 && $12 <= $13 && $13 <= $14 &&
			$14 <= $15 && $15 <= $16) { wrong("order of percentiles") }
		END {
			if (kinds["run"] != 3 * points || kinds["median"] != points ||
			    kinds["spread"] != points || NR != 1 + 5 * points) {
				print "number of lines"
				bad = 1
			}
			exit bad
		}' "$WORK/client" || fail "the CSV is wrong"
}

text_report() {
	perf "$@" "${SWEEP[@]}"
	check "$(grep -c -E '^(bw|rate|lat) ' "$WORK/client")" == $POINTS "lines"
	check "$(grep -c '^#test ' "$WORK/client")" == 3 "headings"
	awk '/^(bw|rate|lat) / {
		if ($4 != 24 || $NF != 0 || $(NF - 1) != 28 * ($1 == "lat" ? 2 : 1)) {
			print "wrong: " $0
			bad = 1
		}
	}
	END { exit bad }' "$WORK/client" || fail "the text is wrong"
	grep -q "^# 432 messages, $((67044 * 24 * 6)) bytes, 672 checked, 0 bad\$" \
		"$WORK/client" || fail "sums: $(tail -n 1 "$WORK/client")"
	# The server has checked the messages it received; of ping-pong, one way.
	grep -q '^18 runs, 504 messages checked$' "$WORK/server" ||
		fail "the server says: $(tail -n 1 "$WORK/server")"
}

# --- ways to do it -----------------------------------------------------------------

# One number of a JSON report, by a Python expression on j.
json() {
	python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
print(int(eval(sys.argv[2])))' "$WORK/client" "$1"
}

queues() { # OPTIONS
	ctr_mark
	perf "$@" -n 60 -w 4 -s 64,5000 --verify -j
	no_errors
	check "$(json 'len(j["results"])')" == 8 points
	check "$(json 'j["totals"]["messages"]')" == \
		$((60 * 8 * $(json 'j["parameters"]["queue_pairs"]'))) messages
	check "$(json 'j["totals"]["bad"]')" == 0 "bad messages"
}

# Runs without verification send exactly the reported data, packet by packet.
exact_packets() {
	ctr_mark
	perf -T bw -s 9000 -n 100 -w 10 -t 16 -l 4 -m 1024 -j
	no_errors
	check "$(json 'j["parameters"]["mtu"]')" == 1024 MTU
	expect mrcb rx_data_pkts == $((110 * 9))
	expect mrcb rx_data_bytes == $((110 * 9000))
	expect_equal_share mrcb rx_data_pkts 10
}

for_a_time() {
	ctr_mark
	perf -T bw,lat --op write,write_imm -s 512 -D 0.5 -w 0 -t 16 -j
	no_errors
	check "$(json 'min(x["messages"] for r in j["results"] for x in r["runs"])')" \
		'>' 0 "messages of a run"
	check "$(json 'j["totals"]["bytes"]')" == \
		$((512 * $(json 'j["totals"]["messages"]'))) bytes
	# A pong for each ping. Reports of consumed immediates come in addition.
	expect mrcb rx_data_bytes == "$(json 'j["totals"]["bytes"]')"
}

profiles() {
	ctl a fmt add 1 mode udp fields 16
	ctl a ev add 3 mode explicit fmt 1 evs c001@1,c002@1
	ctl a cc add 2 algorithm uet-1.0-nscc
	ctr_mark
	perf -T bw -s 4096 -n 100 --verify -j --ev-profile 3 --cc-profile 2 \
		--tclass 104 -u 18 --retry 7,3
	no_errors
	# All EVs of the profile are in plane 1.
	expect mrcb/1 rx_data_pkts == 116
	expect mrcb/2 rx_data_pkts == 0
	check "$(json 'j["parameters"]["ev_profile"]')" == 3 "EV profile"
	check "$(json 'j["parameters"]["retry"]["exponential"]')" == 3 retries
	# The client fails before it connects to the server: there is no server.
	no_run 'mrc_modify_qp to INIT .*: Invalid argument' in_a mrcperf -d mrca \
		-s 8 --ev-profile 99 "$MGMT_B"
	wait_for 30 ctl a ev del 3
	ctl a fmt del 1
	ctl a cc del 2
}

# --- loss --------------------------------------------------------------------------

with_loss() {
	local i
	for i in 1 2; do
		netem a "$i" loss 1%
		netem b "$i" loss 1%
	done
	json_report
	expect mrca tx_rtx_pkts '>' 0
	echo "figure: $(ctr mrca tx_rtx_pkts) of $(ctr mrca tx_data_pkts) packets sent again"
	unimpair_all
}

# --- what goes wrong ---------------------------------------------------------------

usage() {
	refused 2 '.*--frobnicate' in_a mrcperf --frobnicate
	refused 2 '"x" is no test' in_a mrcperf -T x host
	refused 2 '--size is for the client' in_a mrcperf -s 8
	refused 2 '--sessions is for the server' in_a mrcperf --sessions 2 host
	refused 2 '--iters: 0 is not within' in_a mrcperf -n 0 host
	refused 2 'several devices, choose one with -d: mrc[ab], mrc[ab]' mrcperf
	in_a mrcperf --help | grep -q -e --verify || fail "no help"
}

no_device() {
	refused 1 'no device mrc9' in_a mrcperf -d mrc9
	refused 1 'mrca has no port 7' in_a mrcperf -d mrca -i 7
	refused 1 'mrca has no RoCE v2 GID 200' in_a mrcperf -d mrca -x 200 host
	no_run "$MGMT_B port 18701: Connection refused" in_a mrcperf -d mrca \
		-s 8 -p 18701 --connect-timeout 0.3 "$MGMT_B"
	refused 1 '/nowhere/out: cannot be written' in_a mrcperf -d mrca \
		-o /nowhere/out "$MGMT_B"
}

# A client that does not speak the protocol gets an error, and the server goes on.
strangers() {
	start "$WORK/server" ip netns exec "$HOST_B" timeout $LIMIT \
		mrcperf -d mrcb --sessions 2
	perf_server=$started
	wait_for 30 listening "$HOST_B" $PORT
	in_a bash -c "exec 3<>/dev/tcp/$MGMT_B/$PORT
		printf 'GET / HTTP/1.1\r\n\r\n' >&3; cat <&3" >"$WORK/answer"
	grep -q -a 'the peer is not mrcperf' "$WORK/answer" || fail "no answer"
	in_a bash -c "exec 3<>/dev/tcp/$MGMT_B/$PORT
		printf 'MRCP\0\7\0\1\0\0\0\0' >&3; cat <&3" >"$WORK/answer"
	grep -q -a 'has version 7, this one 1' "$WORK/answer" || fail "no answer"
	# Then at least two clients that speak the protocol.
	in_a mrcperf -d mrca -s 64 -n 20 --verify "$MGMT_B" >"$WORK/client"
	in_a mrcperf -d mrca -T lat -s 64 -n 20 --verify "$MGMT_B" >"$WORK/client"
	finished "$perf_server" 20 || fail "the server fails: $(cat "$WORK/server")"
	check "$(grep -c "$MGMT_A refused: " "$WORK/server")" == 2 "refused"
	check "$(grep -c '^1 runs, ' "$WORK/server")" == 2 "served"
}

# The planes are cut. The client reports its error, the server reports what the client
# reported, and neither hangs.
cut() {
	local i
	perf_start -- -D 600 -s 65536 -u 16 --retry 3,2 -j
	wait_for 30 ctr_grows mrcb rx_data_pkts
	for i in 1 2; do
		netem a "$i" loss 100%
	done
	perf_finish 1 1
	unimpair_all
	grep -q '^mrcperf: queue pair 0x[0-9a-f]*: transport retry counter exceeded' \
		"$WORK/err" || fail "the client says: $(cat "$WORK/err")"
	grep -q '^mrcperf: the peer failed: queue pair' "$WORK/server" ||
		fail "the server says: $(cat "$WORK/server")"
	check "$(json 'j["status"] == "failed" and j["results"] == []')" == 1 report
}

ctr_grows() { # DEV NAME
	local was
	was=$(ctr_now "$1" "$2")
	sleep 0.1
	[ "$(ctr_now "$1" "$2")" -gt "$was" ]
}

# One program is killed in the middle of a run.
killed() { # client|server
	local victim other pid
	perf_start -- -D 600 -T "$2" -s 64 -u 14
	wait_for 30 ctr_grows mrcb rx_data_pkts
	victim=$perf_client other=$perf_server
	if [ "$1" = server ]; then
		victim=$perf_server other=$perf_client
	fi
	for pid in $(descendants "$victim"); do
		kill -9 "$pid"
	done
	! finished "$other" 60 || fail "the other one is content"
	grep -q -h -E '^mrcperf: (the peer closed the connection|connection to the peer|queue pair)' \
		"$WORK/err" "$WORK/server" || fail "$(cat "$WORK/err" "$WORK/server")"
}

no_leak() {
	memory_before "$WORK/before"
	perf "${SWEEP[@]}" -j
	perf "${SWEEP[@]}" -j -e
	expect_memory_back "$WORK/before" 60 1024
}

topo 2
subtest "a sweep of all tests, JSON, every byte checked" json_lossless
subtest "the same over IPv6" json_lossless -6
subtest "a sweep in CSV, medians and spreads" csv_report
subtest "a sweep in text" text_report
subtest "a sweep with 1 % loss both ways" with_loss
subtest "lists of 8, a completion for each 16, 4 queue pairs" \
	queues -T bw,lat --op write,write_imm -q 4 -t 32 -l 8 -Q 16
subtest "one message in flight, one receive" queues -T bw,lat --op write,write_imm -t 1 -r 1
subtest "completion events, inline" queues -T bw,lat --op write,write_imm -e -I 64 -t 8
subtest "as many packets and bytes as it says" exact_packets
subtest "for a time" for_a_time
subtest "EV and CC profiles, traffic class, timeout, retries" profiles
subtest "wrong command lines" usage
subtest "no device, no port, no GID, no server, no file" no_device
subtest "strangers are refused, and the server goes on" strangers
subtest "all planes cut" cut
subtest "the client is killed in a stream" killed client bw
subtest "the server is killed in a stream" killed server bw
subtest "the client is killed in ping-pong" killed client lat
subtest "the server is killed in ping-pong" killed server lat
subtest "memory is back" no_leak
tap_end
