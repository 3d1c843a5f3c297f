#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcconform: host A tests the device of host B against MRC 1.0, with IPv4 and IPv6. Each
# case is one result here. The same with queue pairs of libMRC, and some cases on the other UDP
# port. Also its reports, its exit statuses, and a target that hears nonsense.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_conform.sh"

# Those of several planes and of SRv6 are run by conform_planes.sh.
all_ran() { # ADDRESSES
	local cases others
	others=$(mrcconform list planes srv6 | wc -l)
	cases=$(($(mrcconform list | wc -l) - others))
	check "$cases" '>' 150 "cases"
	check "$others" '>' 15 "cases of several planes and of SRv6"
	check "$(grep -c '"verdict": "passed"' "$WORK/json")" == $(($1 * cases)) "cases passed"
	check "$status" == 0 "exit status"
	grep -q "^$(($1 * cases)) passed, 0 failed (MUST), 0 failed (SHOULD), $(($1 * others)) skipped, 0 errors\$" \
		"$WORK/out" || fail "$(tail -n 1 "$WORK/out")"
}

junit() {
	python3 - "$WORK/junit" "$(grep -c '"verdict"' "$WORK/json")" <<-'END'
		import sys, xml.etree.ElementTree as e
		suites = list(e.parse(sys.argv[1]).getroot())
		assert len(suites) == 2, suites
		assert sum(int(s.get('tests')) for s in suites) == int(sys.argv[2])
		assert sum(len(s) for s in suites) == int(sys.argv[2])
	END
}

list_json() {
	mrcconform list --json sack >"$WORK/list"
	python3 - "$WORK/list" <<-'END'
		import json, sys
		cases = json.load(open(sys.argv[1], encoding='utf-8'))
		assert len(cases) > 10, len(cases)
		for c in cases:
		    assert c['name'].startswith('sack.') and c['level'] in ('MUST', 'SHOULD'), c
	END
}

# The device has another window than the tester is told.
failure() {
	local rc=0
	conform -a "$B4" --window 2048 --patience 2 -c rc.window.last-psn >"$WORK/failure" || rc=$?
	check "$rc" == 1 "exit status"
	for text in '^FAIL  rc.window.last-psn' 'rule:     MRC 1.0 §5.1 (MUST)' 'expected: ' \
		'sent WRITE_ONLY ' 'came RELIABILITY_NACK ' '^0 passed, 1 failed (MUST)'; do
		grep -q -- "$text" "$WORK/failure" || fail "'$text' is not in: $(cat "$WORK/failure")"
	done
}

# The device has another codepoint for trimmed packets, so a case of a SHOULD fails.
should_only() {
	local rc=0 args=(-a "$B4" --dscp-trimmed 13 --patience 2 -c trim.received-before)
	conform "${args[@]}" >"$WORK/failure" || rc=$?
	check "$rc" == 0 "exit status"
	grep -q '^WARN  trim.received-before' "$WORK/failure" || fail "$(cat "$WORK/failure")"
	conform "${args[@]}" --strict >/dev/null || rc=$?
	check "$rc" == 1 "exit status with --strict"
}

capture() {
	conform -a "$B6" -c probe.answered --pcap "$WORK/pcap" >/dev/null
	python3 - "$WORK/pcap" <<-'END'
		import struct, sys
		data = open(sys.argv[1], 'rb').read()
		assert struct.unpack('=I', data[:4]) == (0xA1B2C3D4,)
		at, n = 24, 0
		while at < len(data):
		    length, = struct.unpack('=I', data[at + 8:at + 12])
		    assert data[at + 16] >> 4 == 6
		    at, n = at + 16 + length, n + 1
		assert at == len(data) and n >= 4, n
	END
}

usage() {
	local rc
	for args in '' 'fly' 'run' "run -t x" "run -t x -a y" "run -t x:0 -a $B4" \
		"run -t x -a $B4 -c none" "run -t x -a $B4 --mtu 1000" 'list none'; do
		rc=0
		# shellcheck disable=SC2086 # words
		in_a mrcconform $args >/dev/null 2>"$WORK/err" || rc=$?
		check "$rc" == 2 "status of 'mrcconform $args'"
		[ -s "$WORK/err" ] || fail "'mrcconform $args' gives no reason"
	done
}

cannot_run() {
	local rc=0
	in_a mrcconform run -t "$MGMT_B:1" -a "$B4" --patience 1 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status without a target"
	grep -q "^mrcconform: target $MGMT_B port 1: Connection refused" "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	rc=0
	conform -a "$B4" --json /nowhere/file 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status without a place for the report"
	rc=0
	conform -a "$A4" -c probe.answered >"$WORK/none" 2>&1 || rc=$?
	check "$rc" == 3 "status where no device has the address"
	grep -q 'no RoCE v2 GID' "$WORK/none" || fail "$(cat "$WORK/none")"
	# The device of this host would answer, too.
	link_add a 1
	rc=0
	conform -a "$B4" 2>"$WORK/err" >&2 || rc=$?
	rdma link del mrca
	check "$rc" == 3 "status where the UDP port is taken"
	grep -q 'UDP port 4791 is in use' "$WORK/err" || fail "$(cat "$WORK/err")"
}

# The device sends to the port that its controller has named for the peer, and receives on both.
other_port() {
	local cases rc=0 args=(-a "$B4" -a "$B6" -c wire -c rc.write -c endpoint -c req.format -c req.complete --strict)
	cases=$(mrcconform list wire rc.write endpoint req.format req.complete | wc -l)
	ctl b default set "$A4/32" udp_port 4971
	ctl b default set "$A6/128" udp_port 4971
	conform "${args[@]}" --port 4971 --pcap "$WORK/pcap" >"$WORK/out" || rc=$?
	check "$rc" == 0 "exit status: $(grep -A8 '^FAIL' "$WORK/out" || true)"
	check "$cases" '>' 30 "cases"
	grep -q "^$((2 * cases)) passed, 0 failed" "$WORK/out" || fail "$(tail -n 1 "$WORK/out")"
	python3 - "$WORK/pcap" <<-'END'
		import struct, sys
		data, at, ports = open(sys.argv[1], 'rb').read(), 24, []
		while at < len(data):
		    length, = struct.unpack('=I', data[at + 8:at + 12])
		    p = data[at + 16:at + 16 + length]
		    kind, udp = (p[9], 20) if p[0] == 0x45 else (p[6], 40)
		    if kind == 17 and p[0] >> 4 in (4, 6):
		        ports.append(int.from_bytes(p[udp + 2:udp + 4], 'big'))
		    at += 16 + length
		assert ports.count(4971) > 200, (len(ports), ports.count(4971))
		assert 4791 not in ports, ports.count(4791)
	END
	# A tester on the port that the device does not send to hears nothing.
	conform -a "$B4" -c rc.write.only --patience 1 >"$WORK/out" || rc=$?
	check "$rc" == 1 "exit status on the usual port"
	ctl b default del "$A4/32"
	ctl b default del "$A6/128"
	conform -a "$B4" -c rc.write.only >/dev/null
}

# Queue pairs that a program makes by mrc.h. They never have the extension.
libmrc() {
	extension on b
	start "$WORK/libmrc" ip netns exec "$HOST_B" mrcconform target -l "$MGMT_B:$((PORT + 1))" --api mrc
	wait_for 30 listening "$HOST_B" $((PORT + 1))
	status=0
	in_a mrcconform run -t "$MGMT_B:$((PORT + 1))" -a "$B4" --strict --json "$WORK/json" \
		>"$WORK/out" || status=$?
	results "$WORK/json" | grep -A16 '^not ok' || true
	all_ran 1
	# A second tester, with the same context of the device.
	in_a mrcconform run -t "$MGMT_B:$((PORT + 1))" -a "$B6" -c rc.write >/dev/null
	# The device goes, and another one of its name comes.
	rdma link del mrcb
	link_add b 1
	wait_for 30 gid_index mrcb 1 "$B4"
	in_a mrcconform run -t "$MGMT_B:$((PORT + 1))" -a "$B4" -c rc.write >"$WORK/out" ||
		fail "$(cat "$WORK/out" "$WORK/libmrc")"
	wait_for 30 no_qps
	kill "$started"
	extension off b
}

libmrc_wrong() {
	local rc=0
	in_b mrcconform target --library libmrc.so.1 2>"$WORK/err" || rc=$?
	check "$rc" == 2 "status of --library without --api mrc"
	rc=0
	in_b mrcconform target --api mrc --library libnone.so 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status without the library"
	grep -q '^mrcconform: cannot load libMRC: libnone.so: ' "$WORK/err" || fail "$(cat "$WORK/err")"
	rc=0
	in_b mrcconform target --api mrc --library libibverbs.so.1 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status with another library"
	grep -q '^mrcconform: libibverbs.so.1 has no function mrc_create_context$' "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	rc=0
	in_b mrcconform target --api other 2>"$WORK/err" || rc=$?
	check "$rc" == 2 "status of another API"
}

# Somebody has the target's TCP port.
port_taken() {
	local rc=0
	in_b mrcconform target -l "$MGMT_B:$PORT" 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status of a second target"
	grep -q "^mrcconform: .*$MGMT_B.*$PORT.*: Address already in use\$" "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	rc=0
	in_b mrcconform target -l "203.0.113.9:$PORT" 2>"$WORK/err" || rc=$?
	check "$rc" == 3 "status at an address of nobody"
	grep -q 'Cannot assign requested address$' "$WORK/err" || fail "$(cat "$WORK/err")"
}

# The target answers each line, and serves the next tester.
nonsense() {
	in_a python3 - "$MGMT_B" "$PORT" <<-'END'
		import json, socket, sys
		def talk(lines):
		    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
		    f = s.makefile('rwb')
		    for line, text in lines:
		        f.write(line + b'\n')
		        f.flush()
		        answer = json.loads(f.readline())
		        assert not answer['ok'] and text in answer['error'], (line, answer)
		    s.close()
		qp = {'op': 'make_qp', 'local': '203.0.113.9', 'peer': '203.0.113.8', 'peer_qpn': 1,
		      'sq_psn': 0, 'rq_psn': 0, 'mtu': 1024, 'timeout': 1, 'retry': 1, 'recvs': 0,
		      'memory': 64, 'qp_access': 1, 'mr_access': 1, 'state': 'rts'}
		talk([(b'', 'not a JSON object'), (b'\xff\x00', 'not a JSON object'),
		      (b'{"op":"query","qp":1}', 'no queue pair 1'),
		      (b'{"op":"hello","version":9}', 'version 9'),
		      (json.dumps(qp).encode(), 'GID')])
		s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
		s.sendall(b'x' * 100)
		s.close()
		talk([(b'[]', 'not a JSON object')])
	END
	conform -a "$B4" -c probe.answered >/dev/null
}

nothing_left() {
	wait_for 30 no_qps
	check "$(ctr_now mrcb rx_drop_icrc)" '>' 0 "packets with a wrong ICRC"
}

topo 1
# The tester's host has no device of its own, which would answer, too.
rdma link del mrca
extension off b
target_start

status=0
conform -a "$B4" -a "$B6" --strict --json "$WORK/json" --junit "$WORK/junit" \
	>"$WORK/out" 2>"$WORK/err" || status=$?
comment <"$WORK/err"
results "$WORK/json" >"$WORK/results" || tail -n 20 "$WORK/out" | comment
adopt <"$WORK/results"
subtest "all cases were run, and passed" all_ran 2
subtest "the results as JUnit's XML" junit
subtest "the list of cases as JSON" list_json
subtest "a failure says what was expected, sent and received" failure
subtest "a SHOULD costs the status only with --strict" should_only
subtest "a capture of all packets" capture
subtest "wrong command lines" usage
subtest "what cannot be run" cannot_run
subtest "some cases on UDP port 4971" other_port
subtest "nonsense to the target" nonsense
subtest "the target's port is taken" port_taken
subtest "no libMRC, or another library" libmrc_wrong
subtest "no queue pair is left" nothing_left
subtest "all cases with queue pairs of libMRC" libmrc
tap_end
