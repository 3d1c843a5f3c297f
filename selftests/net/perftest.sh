#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Stock perftest as Debian ships it, on one plane and on four.
# timeout: 900
. "$(dirname "$0")/lib.sh"

bw() { # OPTIONS...
	ctr_mark
	# A timeout of seconds: a guest may pause for half a second.
	perftest "$@" -u 18
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca tx_data_pkts '>' 0
	expect_equal_share mrca tx_data_pkts 10
}

# All sizes from 2 to 8 MiB; perftest runs each the same number of times.
sizes_complete() { # [TOOL]
	local size
	bw "${1:-ib_write_bw}" -a -n 10
	for size in 2 4096 65536 8388608; do
		[ -n "$(perftest_field "$size" 4)" ] || fail "no line for $size bytes"
	done
}

lat() { # OPTIONS...
	local typical
	ctr_mark
	perftest ib_write_lat "$@" -u 18
	ctr_take
	expect mrca qp_errors == 0
	typical=$(perftest_field 2 5)
	[ -n "$typical" ] || fail "no latency in the report"
	echo "figure: ib_write_lat $*: typical $typical us"
}

# Any tool on a device that has only MRC 1.0.
unsupported() { # TOOL
	extension off
	perftest_start "$1" -n 10
	! finished "$perftest_client" 30 || fail "$1 works on a device that does not offer it"
	! finished "$perftest_server" 30 || fail "$1 works on a device that does not offer it"
	extension on
}

for planes in 1 4; do
	topo "$planes"
	subtest "$planes planes: ib_write_bw" bw ib_write_bw -n 1000
	subtest "$planes planes: ib_write_bw, both directions" bw ib_write_bw -b -n 500
	subtest "$planes planes: ib_write_bw, 8 QPs" bw ib_write_bw -q 8 -n 200
	subtest "$planes planes: ib_write_bw, WRITE_IMM" bw ib_write_bw --write_with_imm -n 500
	subtest "$planes planes: ib_write_lat" lat -n 500
done
subtest "4 planes: ib_write_bw, all sizes" sizes_complete
subtest "4 planes: ib_write_bw, lists of 16, moderated CQ" bw ib_write_bw -l 16 -Q 16 -t 256 -n 640
subtest "4 planes: ib_write_bw, ibv_post_send" bw ib_write_bw --use_old_post_send -n 500
subtest "4 planes: ib_write_bw, inline" bw ib_write_bw -s 64 -I 64 -n 1000
subtest "4 planes: ib_write_bw, path MTU 1024" bw ib_write_bw -m 1024 -n 300
subtest "4 planes: ib_write_bw, for two seconds" bw ib_write_bw -D 2
subtest "4 planes: ib_write_lat, inline" lat -n 500 -I 64
subtest "4 planes: ib_write_lat, WRITE_IMM" lat -n 500 --write_with_imm
for tool in ib_send_bw ib_read_bw ib_atomic_bw; do
	subtest "4 planes: $tool" bw "$tool" -n 500
	subtest "4 planes: $tool, both directions, 4 QPs" bw "$tool" -b -q 4 -n 200
done
subtest "4 planes: ib_send_bw, all sizes" sizes_complete ib_send_bw
subtest "4 planes: ib_read_bw, all sizes" sizes_complete ib_read_bw
subtest "MRC 1.0: ib_send_bw is refused, not stuck" unsupported ib_send_bw
subtest "MRC 1.0: ib_read_bw is refused, not stuck" unsupported ib_read_bw
subtest "works after the refusals" bw ib_write_bw -n 200
tap_end
