#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Reads a kernel log. With -v ours=1 prints the reports of KCSAN whose stacks contain
# a module of this project; without it prints everything except the reports of KCSAN.
# Some stacks do not count. Code that an interrupt interrupted is in the interrupt's
# stack but takes no part in it. A sleeping task takes no part in how the kernel wakes
# up sleepers. A reader of the clock takes no part in its update: readers retry. A
# sender over veth takes no part in what rxe, the receiver in other tests, does with its
# own queues: it is in the stack because reception runs below it. A report is enclosed by
# two lines of "=". It may contain messages of other processors, so lines that KCSAN does
# not write are kept.

function bare(line) {
	sub(/^\[ *[0-9]+\.[0-9]+\](\[ *[CT][0-9]+\])? ?/, "", line)
	sub(/\r$/, "", line)	# serial lines end like this
	return line
}
function rxe_alone() {
	return title ~ /\[rdma_rxe\]/ && title !~ /\[(mrc|mrc_kverbs|sch_mrcsw)\]/
}
function report_ends() {
	if (ours && about_us && !rxe_alone() &&
	    title !~ /data-race in (hrtimer_wakeup \/ schedule_hrtimeout_range_clock|ktime_get[a-z_]* \/ timekeeping_[a-z_.0-9]+)/)
		printf "%s", held
	held = ""
	inside = about_us = interrupted = 0
}
{ line = bare($0) }
!inside && line ~ /^==================+$/ { edge = $0; next }
edge != "" {
	if (line ~ /^BUG: KCSAN: /) inside = 1
	else if (!ours) print edge
	edge = ""
}
inside {
	if (line ~ /^==================+$/) { report_ends(); next }
	held = held line "\n"
	if (line ~ /^BUG: KCSAN: /) title = line
	else if (line ~ / by (task|interrupt)/) interrupted = 0
	else if (line ~ /^ +asm_[a-z0-9_]+\+/) interrupted = 1
	else if (!interrupted && line ~ /\[(mrc|mrc_kverbs|sch_mrcsw)\]$/) about_us = 1
	if (ours || line ~ /^(BUG: KCSAN: |Reported by Kernel Concurrency|CPU: [0-9]+ |Hardware name: |Workqueue: |value changed: | *\(inlined by\)|no locks held|[0-9]+ locks? held|irq event stamp|Tainted: )/ ||
	    line ~ /^(read|write|read-write|assert no (writes|accesses))( \((marked|reordered|reordered, marked|marked, reordered)\))? to 0x/ ||
	    line ~ /^race at unknown origin/ || line ~ /^ *$/ || line ~ /^ [^ ]+\+0x[0-9a-f]+\/0x/ ||
	    line ~ /^ 0x[0-9a-f]+$/)
		next
	print
	next
}
!ours { print }
END {
	if (edge != "" && !ours) print edge
	if (inside) report_ends()
}
