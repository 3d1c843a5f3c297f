#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Drills of mrclab: traffic runs, faults happen in time, samples and verdicts are written,
# and the fabric is gone afterwards, also after an interrupt and when something fails.
# What the verdicts say of speed is not judged here.
# timeout: 900
# kmsg-ok: rdma_rxe|rxe
. "$(dirname "$0")/lib.sh"

DIR=$WORK/drill
OUT=$WORK/out

# What a drill leaves nothing of.
all_there_is() {
	ip netns list | sort
	rdma -j dev
	mrclab status
	pgrep -l 'ib_write_bw|mrcperf' || true
}

fabric_file() {
	mkdir -p "$DIR"
	printf '%s\n' 'name: d' 'planes: 2' 't0: 1' 't1: 0' 'hosts: 3' \
		'forwarding: srv6+ecmp' 'links: {host: {rate: 10mbit}}' >"$DIR/fabric.yaml"
}

drill_file() { # NAME; the rest of the file is read
	{
		printf '%s\n' "drill: $1" 'fabric: fabric.yaml'
		cat
	} >"$DIR/$1.yaml"
}

# A value of the result by an expression of Python; r is the result, run its first run.
result() { # NAME EXPRESSION
	python3 - "$OUT/$1.json" "$2" <<'END'
import json, sys
r = json.load(open(sys.argv[1], encoding="utf-8"))
run = r["runs"][0]
series = {s["name"]: s["values"] for s in run["series"]}
print(eval(sys.argv[2]))
END
}

# The bytes of some series together, in percent of those of others; names begin so.
percent() { # NAME SERIES OTHERS
	result "$1" '
(lambda of: int(100 * of("'"$2"'") / of("'"$3"'")))(lambda begin:
	sum(v * (t - since)
	    for name, values in series.items()
	    if name.startswith(begin) and not name.endswith(" packets")
	    for v, t, since in zip(values, run["times"], [0] + run["times"])))'
}

# Runs it, and nothing must be left.
drill() { # WANTED-STATUS NAME [OPTION]
	local rc=0
	all_there_is >"$WORK/before"
	mrclab drill ${3:+"$3"} -o "$OUT" "$DIR/$2.yaml" >"$WORK/output" 2>&1 || rc=$?
	all_there_is | diff -u "$WORK/before" - || fail "$2 has left something"
	[ "$rc" = "$1" ] || {
		cat "$WORK/output"
		fail "mrclab drill: status $rc, expected $1"
	}
}

# A netdev that goes down carries nothing, as the samples of its plane must show; the
# other one goes on. The bytes of the two planes together are the payload and a little
# more.
timeline() {
	local samples
	drill_file cut <<-'END'
		time: 6s
		baseline: 500ms..2s
		traffic: {write: {program: ib_write_bw, from: h1, to: h2, qps: 2}}
		timeline: {2s: "h1:p2+ down", 4s: "h1:p2+ up"}
		show: [write, planes, "h1:p*"]
		must:
		  - {what: write, from: 2s, to: 4s, mean: 1%}
		  - {what: h1:p1, mean: 1%}
	END
	drill 0 cut
	check "$(result cut 'len(run["events"])')" == 2 "events"
	check "$(result cut 'len(run["verdicts"])')" == 2 "verdicts"
	check "$(result cut 'int(run["flows"][0]["ok"])')" == 1 "the program has not failed"
	# On a busy machine a sample that is late by half its interval is left out.
	samples=$(result cut 'len(run["times"])')
	check "$samples" '>' 10 "samples"
	check "$samples" '<=' 60 "samples"
	check "$(result cut 'int(10 * run["times"][-1])')" '>=' 59 "tenths of seconds at the last sample"
	check "$(result cut '
int(max(v for t, v in zip(run["times"], series["h1:p2"])
        if run["events"][0]["done"] + 0.25 < t <= run["events"][1]["at"]))')" == 0 \
		"bit/s of the netdev that is down"
	check "$(result cut 'int(sum(series["plane 1"]))')" '>' 0 "bit/s of the other plane"
	check "$(percent cut write 'plane ')" '>=' 85 \
		"percent of payload in the bytes of both planes"
	check "$(percent cut write 'plane ')" '<=' 100 \
		"percent of payload in the bytes of both planes"
	check "$(wc -l <"$OUT/cut.mrc.csv")" == $((samples + 1)) "lines of the CSV file"
	grep -q '<svg' "$OUT/cut.svg" || fail "no picture"
	grep -q 'cut.mrc.csv' "$OUT/report.html" || fail "the report does not name its data"
}

# A requirement that cannot be met ends with 3, and the report says so.
not_met() {
	drill_file unmet <<-'END'
		time: 2s
		traffic: {write: {program: ib_write_bw, from: h1, to: h2}}
		must: [{what: write, mean: 90%, against: 10gbit}]
	END
	drill 3 unmet
	grep -q 'NOT MET' "$WORK/output" || fail "not said"
	check "$(result unmet 'int(run["verdicts"][0]["ok"])')" == 0 "the verdict"
}

# A program that ends before the drill has failed, and its own words are in the result.
# The drill does not wait for bytes of flows that start later.
program_fails() {
	drill_file dies <<-'END'
		time: 3s
		traffic:
		  write: {program: ib_write_bw, from: h1, to: h2}
		  other: {command: [sh, -c, "sleep 1; echo broken; exit 7"], hosts: [h3], start: 100ms}
	END
	drill 3 dies
	check "$(result dies 'int(run["flows"][1]["ok"])')" == 0 "the program's end"
	result dies 'run["flows"][1]["why"]' | grep -q 'broken' || fail "$(result dies 'run["flows"]')"
	check "$(result dies 'int(run["flows"][0]["ok"])')" == 1 "the other program's end"
}

# Who cannot start gets an error with the reason, and nothing is left.
cannot_start() {
	drill_file wrong <<-'END'
		time: 3s
		traffic: {write: {program: ib_write_bw, from: h1, to: h2, options: --no-such-option}}
	END
	drill 2 wrong
	grep -q 'traffic write has ended with status' "$WORK/output" || fail "$(cat "$WORK/output")"
}

wrong_files() {
	local rc=0
	echo 'traffic: {}' | drill_file empty
	mrclab drill -o "$OUT" "$DIR/cut.yaml" "$DIR/empty.yaml" >"$WORK/output" 2>&1 || rc=$?
	check "$rc" == 1 "status"
	grep -q "empty.yaml:3: " "$WORK/output" || fail "no line: $(cat "$WORK/output")"
	! grep -q making "$WORK/output" || fail "a drill was begun"
}

interrupted() {
	local rc=0
	all_there_is >"$WORK/before"
	sed 's/^time: .*/time: 100s/; s/^drill: .*/drill: long/' "$DIR/cut.yaml" >"$DIR/long.yaml"
	start "$WORK/output" mrclab drill -o "$OUT" "$DIR/long.yaml"
	wait_for 60 grep -q ' s of 100s' "$WORK/output"
	kill -INT "$started"
	finished "$started" 60 || rc=$?
	check "$rc" == 130 "status"
	all_there_is | diff -u "$WORK/before" - || fail "something is left"
}

# What each EV carries is counted packet by packet, so samples of 10 ms have it. The EVs of a
# plane have together what hosts receive in it, but for feedback.
single_evs() {
	local p
	drill_file evs <<-'END'
		time: 3s
		sample: 10ms
		evs: on
		traffic: {write: {program: ib_write_bw, from: h1, to: h2, qps: 2, size: 64k}}
		show: [write, evs]
	END
	drill 0 evs
	check "$(result evs 'len(run["times"])')" '>' 30 "samples"
	for p in 1 2; do
		check "$(result evs "len([n for n in series if n.startswith('ev p$p h1>h2 ')]) // 2")" \
			'>' 8 "EVs that carry data in plane $p"
		check "$(percent evs "ev p$p h1>h2 " "plane $p")" '>=' 85 \
			"percent of plane $p on EVs"
		check "$(percent evs "ev p$p " "plane $p")" '<=' 101 "percent of plane $p on EVs"
	done
	check "$(result evs 'len([n for n in series if n.startswith("ev ") and "h1>h2" not in n])')" \
		== 0 "EVs between other hosts"
	check "$(result evs 'int(max(series["plane 1 packets"]) > 0)')" == 1 "packets of plane 1"
	grep -q 'ev p1 h1>h2' "$OUT/evs.mrc.csv" || fail "no EV in the CSV file"
	grep -q 'ev p1 [0-9a-f]\{8\}<' "$OUT/evs.svg" || fail "no EV in the picture"
}

# Two to one: which flow has what is told by their queue pairs. Both have together what
# the receiver's netdevs have, without headers and what comes twice.
several_flows() {
	drill_file two <<-'END'
		time: 3s
		baseline: 500ms..3s
		traffic: {in: {program: ib_write_bw, from: [h1, h2], to: h3}}
		must: [{what: in, from: 1s, fair: 0.5}]
	END
	drill 0 two
	check "$(result two 'len([s for s in run["series"] if s["name"].startswith("in ")])')" == 2 "flows"
	check "$(result two 'int(min(sum(series["in 1"]), sum(series["in 2"])))')" '>' 0 "bit/s of both"
	check "$(percent two 'in ' 'plane ')" '>=' 70 "percent of payload in the bytes of both planes"
	check "$(percent two 'in ' 'plane ')" '<=' 100 "percent of payload in the bytes of both planes"
}

# Where rxe cannot run in namespaces, the result with mrc is kept.
with_rxe() {
	modprobe rdma_rxe || skip "there is no rdma_rxe"
	drill_file both <<-'END'
		time: 3s
		baseline: 500ms..3s
		traffic: {write: {program: ib_write_bw, from: h1, to: h2}}
		must: [{what: write, mean: 1%}]
		rxe: {}
	END
	drill 0 both -m
	check "$(result both 'len(r["runs"])')" == 1 "runs without rxe"
	if ! rdma_rxe_in_netns; then
		drill 2 both
		grep -q '^mrclab: both: ' "$WORK/output" || fail "no reason"
		check "$(result both 'len(r["runs"])')" == 1 "runs of mrc"
		grep -q both.json "$OUT/report.html" || fail "no report"
		modprobe -r rdma_rxe
		return
	fi
	drill 0 both
	check "$(result both 'len(r["runs"])')" == 2 "runs"
	check "$(result both 'int(sum(s["values"][-1] for s in r["runs"][1]["series"] if s["name"] == "write"))')" \
		'>' 0 "bit/s of rxe at the end"
	modprobe -r rdma_rxe
}

# Before 7.0 rxe makes sockets in the first namespace only.
rdma_rxe_in_netns() {
	[ "$(uname -r | cut -d. -f1)" -ge 7 ]
}

modprobe mrc 2>/dev/null || true
fabric_file
subtest "faults happen in time, and samples show them" timeline
subtest "a requirement that is not met" not_met
subtest "a program that fails" program_fails
subtest "a program that cannot start" cannot_start
subtest "wrong files" wrong_files
subtest "interrupted" interrupted
subtest "several flows to one host" several_flows
subtest "single EVs" single_evs
subtest "with rxe beside it" with_rxe
tap_end
