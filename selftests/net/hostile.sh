#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packets that no proper peer sends, made by hostile.py: each moves exactly its
# counter, none touches memory, the connections go on, the kernel stays calm.
# Traffic between proper peers runs undisturbed beside a storm of them.
# timeout: 900
. "$(dirname "$0")/lib.sh"

# Random packets to the port from the peer's address while both talk.
beside_traffic() {
	ctr_mark
	verify_start --iters 400 --size 1,4097,65536 --op mixed --timeout 18
	in_a python3 "$NET_DIR/storm.py" "$(mac hostb pb1)" "$A4" "$B4" 2000
	verify_finish
	ctr_quiet
	ctr_take
	expect mrcb rx_drop_icrc '>' 0
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
}

topo 1
in_a python3 "$NET_DIR/hostile.py" "$(mac hostb pb1)" "$B4" "$A4" "$B6" "$A6" \
	>"$WORK/hostile" 2>&1 || true
adopt <"$WORK/hostile"
whole() {
	[ "$(grep -c -E '^(not )?ok ' "$WORK/hostile")" -ge 100 ] ||
		fail "hostile.py stopped early"
}
subtest "all hand-made packets were tried" whole
subtest "proper traffic beside a storm of bad packets" beside_traffic
tap_end
