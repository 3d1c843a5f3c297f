# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Runs mrcctl and compares its exact output. Sourced after lib.sh.

EVS=c001@1,c002@2,c003@1,c004@2

# run a|b WORDS...: runs mrcctl on that host's device. The status is in $rc, the
# output in $WORK/out and $WORK/err.
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

# do_on a|b WORDS...: must succeed and print nothing on standard error.
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

# shows WORDS...: must print exactly what is on standard input.
shows() {
	cat >"$WORK/want"
	do_a "$@"
	same "$WORK/want" "$WORK/out" "the output of mrcctl $*"
}

# quiet WORDS...: must succeed and print nothing.
quiet() { shows "$@" </dev/null; }

# denies STATUS MESSAGE WORDS...: must fail, print exactly MESSAGE after "mrcctl: ",
# and print nothing else.
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

# json EXPRESSION: parses the last output as d and prints the values of the list
# EXPRESSION in one line.
json() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
print(*eval(sys.argv[2]))' "$WORK/out" "$1"
}

# Each line of FILE must be a JSON document.
json_lines() { # FILE
	python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
	json.loads(line)' "$1" || fail "no JSON: $(cat "$1")"
}

gone() { # fmt|ev|cc ID: deletes the object as soon as nobody uses it
	wait_for 30 ctl a "$1" del "$2"
}

# Removes whatever a failed subtest has left.
clean_slate() {
	local id
	uncount_ports 2>/dev/null || true
	unimpair a 1
	unimpair a 2
	ctl a default del "$B4" 2>/dev/null || true
	for id in 3 5 7; do
		ctl a ev del $id 2>/dev/null || true
	done
	for id in 1 2 5; do
		ctl a fmt del $id 2>/dev/null || true
		ctl a cc del $id 2>/dev/null || true
	done
	ctl a port set 2 enable
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

# A session of two queue pairs with the profiles that the program names.
load_start() {
	ctr_mark
	verify_start --watchdog 100 --ev-profile 7 --cc-profile 2 --qps 2 --duration 1000 \
		--size 65536,777 --op mixed --timeout 18
	wait_for 40 ctr_at_least mrca tx_data_pkts $(($(ctr_marked mrca tx_data_pkts) + 300))
}
