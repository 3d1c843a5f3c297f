#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packets that no proper peer sends, made by hostile.py, ext_hostile.py and
# srq_hostile.py: each moves exactly its counters, none touches memory, the
# connections go on, the kernel stays calm.
# Traffic between proper peers runs undisturbed beside a storm of them.
# timeout: 900
# races
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
# What hostile.py makes are the packets of MRC 1.0.
extension off
by_hand "hand-made packets" "" 138 hostile.py
extension on
by_hand "hand-made packets of the extension" "extension, " 158 ext_hostile.py
by_hand "peers that hoard shared receives" "shared receives, " 8 srq_hostile.py
subtest "proper traffic beside a storm of bad packets" beside_traffic
tap_end
