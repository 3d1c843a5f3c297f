#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Judges the output of one TAP script. Prints "passed failed skipped". Standard error
# gets every failed line with the comments around it, and every skip with its reason.
#
# -v rc=N   the script's exit status; 4 is kselftest's "skipped", 124 and 137
#           mean the time limit, 126 that the guest died under it
#
# Besides "not ok", these count as failed: no plan, a plan that does not match, a skip
# without a reason, TODO, a failing exit status without a failed test.

function bad(text) { f++; print "    " text > "/dev/stderr" }
function comments() {
	printf "%s", held > "/dev/stderr"
	held = ""
}
/^LAB-RESULT not ok/ { comments(); sub(/^LAB-RESULT /, ""); bad($0); next }
/^LAB-RESULT ok/ { p++; held = ""; next }
/^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0; planned = 1
	if (plan == 0) {
		if (toupper($0) ~ /# *SKIP +[^ ]/) s++
		else bad("plan of no tests without a reason")
	}
	next
}
/^not ok/ {
	seen++
	if (toupper($0) ~ /# *TODO/) bad("unfinished: " $0)
	else { comments(); bad($0) }
	held = ""
	after = 1
	next
}
/^ok/ {
	seen++; held = ""; after = 0
	if (toupper($0) ~ /# *SKIP/) {
		if (toupper($0) ~ /# *SKIP +[^ ]/) { s++; print "    " $0 > "/dev/stderr" }
		else bad("skip without a reason: " $0)
	} else
		p++
	next
}
/^Bail out!/ { bad($0); next }
/^#/ {
	if (after) print "      " $0 > "/dev/stderr"
	else held = held "      " $0 "\n"
	next
}
END {
	if (rc == 124 || rc == 137)
		bad("time limit")
	else if (rc == 4 && seen == 0 && s == 0)
		bad("skipped without a reason")
	if (rc != 126 && !planned) bad("no plan (1..N)")
	else if (planned && plan != seen && plan > 0)
		bad("planned " plan " tests, ran " seen + 0)
	if (rc != 0 && rc != 4 && rc != 124 && rc != 137 && f == 0)
		bad("exit status " rc)
	print p + 0, f + 0, s + 0
}
