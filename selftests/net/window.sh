#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The window of queue pairs that nobody has chosen congestion control for ("vegas"): over a
# short path about that of the fixed window, over a long one as much as the path holds,
# with losses too. The fixed window stays what it is. A window that the administrator sets
# is where it begins and the least that it becomes. Data is verified over the long path.
# timeout: 600
. "$(dirname "$0")/lib.sh"

LEAST=$((256 * 1024))
MOST=$((341 * 4180))	# 341 packets, MPR 8; a packet is a few bytes more
SMALL=$((32 * 1024))	# in a pause, once in 2 s
# Each way, ms. So long that any machine can have several times LEAST in flight: with more
# than its processor can handle the rest waits, and the window follows that as well.
DELAY=75
# Of perftest: 2.1 s.
STEADY_TIMEOUT=19

delay_all() { # NETEM...
	impair_all ab delay ${DELAY}ms limit 4000 "$@"
}

window() { qp_details cwnd | awk 'NR == 1 { print $2 }'; }

# The window, if this is no moment of a pause.
window_shown() {
	shown=$(window)
	[ "${shown:-0}" -gt $SMALL ]
}

# Prints it.
window_now() {
	local shown
	wait_for 60 window_shown || return
	echo "$shown"
}

grown() { # TIMES: as much as LEAST
	[ "$(window)" -ge $((LEAST * $1)) ]
}

algorithm() { # NAME
	ctl a dev set cc "$1"
	ctl b dev set cc "$1"
}

is_default() {
	local shown
	shown=$(ctl a dev show)
	[[ $shown == *" cwnd 0 cc vegas"* ]] || fail "$shown"
}

short_path() {
	local w
	steady_bw
	wait_for 60 ctr_at_least mrcb rx_data_pkts $(($(ctr_now mrcb rx_data_pkts) + 4000))
	w=$(window_now)
	steady_bw_end
	echo "figure: window without delay $w bytes"
	check "$w" '<' $MOST "bytes of the window over a short path"
}

grows() { # NETEM...
	delay_all "$@"
	steady_bw -t 128
	wait_for 60 grown 2 || fail "the window is $(window) bytes"
	steady_bw_end
	unimpair_all
}

# In as many round trips as a window needs that grows by 256 KiB in each.
stays() {
	local w
	delay_all
	steady_bw -t 128
	wait_for 60 ctr_at_least mrcb rx_data_pkts $(($(ctr_now mrcb rx_data_pkts) + 1000))
	w=$(window)
	steady_bw_end
	unimpair_all
	check "$w" == $LEAST "bytes in flight"
}

# Over a long path it grows from there. When the path is short, it becomes what was set and
# what the path holds.
set_window() {
	local w
	ctl a dev set cwnd $((2 * LEAST))
	delay_all
	steady_bw -t 128
	wait_for 60 grown 3 || fail "the window is $(window) bytes"
	unimpair_all
	wait_for 60 short_again || fail "the window is $(window) bytes"
	for _ in {1..20}; do
		w=$(window_now)
		check "$w" '>=' $((2 * LEAST)) "bytes of the window that was set"
	done
	steady_bw_end
	ctl a dev set cwnd 0
}

# Not while it opens again after a pause, from half of it on.
short_again() {
	local shown
	window_shown && [ "$shown" -lt $((MOST / 2)) ]
}

# Goodput over the long path in kbit/s, in $measured. Not perftest's own figure: its clock
# gives none on a busy machine.
speed() { # CC [TIMES: as much as LEAST, which the window has reached]
	algorithm "$1"
	steady_bw -t 128
	[ $# = 1 ] || wait_for 60 grown "$2" || fail "the window is $(window) bytes"
	measure 5
	steady_bw_end
}

# Both are bound by the round trip, which is the same.
goodput_follows() {
	local fixed
	delay_all
	speed none
	fixed=$measured
	speed vegas 3
	unimpair_all
	echo "figure: $((2 * DELAY)) ms there and back: fixed window $(mbit "$fixed")," \
		"vegas $(mbit "$measured") Mbit/s"
	check $((100 * measured)) '>=' $((200 * fixed)) "100 times vegas, at least 200 times the fixed window"
	check "$fixed" '>' 0 "kbit/s of the fixed window"
}

data() { # OPTIONS...
	delay_all
	ctr_mark
	verify "$@" -t 200 --op mixed --size 1,4097,262144 --depth 32 --iters 100 --timeout 19
	ctr_quiet 20
	ctr_take
	unimpair_all
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrcb rx_data_pkts '>' 0
}

topo 2
subtest "the default is vegas" is_default
subtest "a short path" short_path
subtest "a long path" grows
subtest "a long path that loses 1 %" grows loss 1%
subtest "a window that was set" set_window
subtest "data over a long path, IPv4" data
subtest "data over a long path, IPv6" data -6
subtest "goodput follows the window" goodput_follows
algorithm none
subtest "the fixed window stays" stays
tap_end
