#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Stock perftest as Debian ships it, on one plane and on four, with what perftest.sh leaves
# out: all sizes, several queue pairs, lists, inline data, path MTUs.
# timeout: 900
# long
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_perftest.sh"

topo 1
subtest "1 plane: ib_write_bw" bw ib_write_bw -n 1000
subtest "1 plane: ib_write_bw, both directions" bw ib_write_bw -b -n 500
subtest "1 plane: ib_write_bw, 8 QPs" bw ib_write_bw -q 8 -n 200
subtest "1 plane: ib_write_bw, WRITE_IMM" bw ib_write_bw --write_with_imm -n 500
subtest "1 plane: ib_write_lat" lat -n 500
topo 4
subtest "4 planes: ib_write_bw, 8 QPs" bw ib_write_bw -q 8 -n 200
subtest "4 planes: ib_write_bw, all sizes" sizes_complete
subtest "4 planes: ib_write_bw, lists of 16, moderated CQ" bw ib_write_bw -l 16 -Q 16 -t 256 -n 640
subtest "4 planes: ib_write_bw, ibv_post_send" bw ib_write_bw --use_old_post_send -n 500
subtest "4 planes: ib_write_bw, inline" bw ib_write_bw -s 64 -I 64 -n 1000
subtest "4 planes: ib_write_bw, path MTU 1024" bw ib_write_bw -m 1024 -n 300
subtest "4 planes: ib_write_bw, for two seconds" bw ib_write_bw -D 2
subtest "4 planes: ib_write_lat, inline" lat -n 500 -I 64
subtest "4 planes: ib_write_lat, WRITE_IMM" lat -n 500 --write_with_imm
for tool in ib_send_bw ib_read_bw ib_atomic_bw; do
	subtest "4 planes: $tool, both directions, 4 QPs" bw "$tool" -b -q 4 -n 200
done
subtest "4 planes: ib_send_bw, all sizes" sizes_complete ib_send_bw
subtest "4 planes: ib_read_bw, all sizes" sizes_complete ib_read_bw
subtest "MRC 1.0: ib_read_bw is refused, not stuck" unsupported ib_read_bw
subtest "works after the refusal" bw ib_write_bw -n 200
tap_end
