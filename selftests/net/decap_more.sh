#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Reception of SRv6 packets: an outer IPv6 header with and without an SRH, IPv4 and
# IPv6 inside, with seg6_enabled on and off, and trimmed packets whatever their length
# fields say. All packets of hostile.py are sent again in outer headers, and then
# packets with bad outer headers. decap.sh says who receives them.
# long
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_decap.sh"

decap_up
srv6_profile
by_hand "packets in outer headers" "seg6_enabled=0: " 118 srv6_hostile.py "$USID_B" all
seg6_enabled 1
ctl b tc set trimmed 20 trimmed_lasthop 16 control 40
export MRC_TRIMMED='20 16'
by_hand "packets with seg6_enabled" "seg6_enabled=1, other codepoints: " 42 \
	srv6_hostile.py "$USID_B" proper
unset MRC_TRIMMED
ctl b tc set trimmed 12 control 46
seg6_enabled 0
export MRC_SRV6=$USID_B
by_hand "packets of hostile.py in outer headers" "in an outer header: " 136 hostile.py
unset MRC_SRV6
tap_end
