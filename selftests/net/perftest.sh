#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Stock perftest as Debian ships it: each program and the usual options on four planes.
# perftest_modes.sh has the others.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_perftest.sh"

topo 4
subtest "4 planes: ib_write_bw" bw ib_write_bw -n 1000
subtest "4 planes: ib_write_bw, both directions" bw ib_write_bw -b -n 500
subtest "4 planes: ib_write_bw, WRITE_IMM" bw ib_write_bw --write_with_imm -n 500
subtest "4 planes: ib_write_lat" lat -n 500
for tool in ib_send_bw ib_read_bw ib_atomic_bw; do
	subtest "4 planes: $tool" bw "$tool" -n 500
done
subtest "MRC 1.0: ib_send_bw is refused, not stuck" unsupported ib_send_bw
subtest "works after the refusal" bw ib_write_bw -n 200
tap_end
