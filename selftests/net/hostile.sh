#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packets that no correct peer sends, made by hostile.py, ext_hostile.py and
# srq_hostile.py. Each packet increments exactly its counters and changes no memory.
# The connections go on, and the kernel logs no trouble. Traffic between correct peers
# runs undisturbed beside a storm of such packets.
# timeout: 900
# races
. "$(dirname "$0")/lib.sh"

# Random packets from the peer's address to the UDP port, during traffic of both hosts.
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
# hostile.py sends packets of MRC 1.0, without the extension.
extension off
by_hand "hand-made packets" "" 138 hostile.py
extension on
by_hand "hand-made packets of the extension" "extension, " 158 ext_hostile.py
by_hand "peers that hoard shared receives" "shared receives, " 8 srq_hostile.py
subtest "proper traffic beside a storm of bad packets" beside_traffic
tap_end
