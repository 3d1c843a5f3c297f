# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034
#
# What mrcctl doctor says. Sourced after lib.sh.

# doctor_at NETNS DEVICE WORDS...: the findings as JSON are in $WORK/out, the exit status in $rc.
doctor_at() {
	local ns=$1 dev=$2
	shift 2
	rc=0
	ip netns exec "$ns" mrcctl -j doctor "$dev" "$@" >"$WORK/out" 2>"$WORK/err" || rc=$?
	[ ! -s "$WORK/err" ] || fail "doctor said: $(cat "$WORK/err")"
}

# Findings of LEVEL and CHECK, as lines "PORT|TEXT|COMMAND".
found() { # LEVEL CHECK
	python3 -c 'import json, sys
for f in json.load(open(sys.argv[1], encoding="utf-8"))["findings"]:
	if f["level"] == sys.argv[2] and sys.argv[3] in (f["check"], "all"):
		print(f["port"] or 0, f["text"], f["fix"] or "", sep="|")' "$WORK/out" "$1" "$2"
}

# finds LEVEL CHECK PORT TEXT: there must be such a finding of the last run, whose sentence
# has TEXT in it. Its command is in $fix.
finds() {
	local line
	line=$(found "$1" "$2" | grep "^$3|" | grep -F -- "$4") ||
		fail "no $1 of $2 at port $3 with '$4'; said: $(found "$1" all)"
	fix=${line##*|}
	echo "$2: $line"
}

finds_none() { # LEVEL CHECK
	[ -z "$(found "$1" "$2")" ] || fail "unexpected: $(found "$1" "$2")"
}
