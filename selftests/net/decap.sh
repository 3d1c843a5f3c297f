#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SRv6, receiving: what comes in an outer IPv6 header, with and without an SRH,
# IPv4 and IPv6 inside, seg6_enabled or not; trimmed packets whatever their
# lengths say. The whole of hostile.py once more in outer headers, and packets
# that are bad because of them.
# long
# timeout: 900
. "$(dirname "$0")/lib.sh"

USID_B=fcbb:0:32::

seg6_enabled() { # 0|1: on host B
	in_b sysctl -q -w net.ipv6.conf.all.seg6_enabled="$1" \
		net.ipv6.conf.pb1.seg6_enabled="$1"
}

by_hand() { # PROGRAM NAME [ARG...]: its results become ours
	local program=$1 name=$2 bad=0
	shift 2
	in_a env ${SRV6_TO:+MRC_SRV6="$SRV6_TO"} python3 "$NET_DIR/$program" \
		"$(mac hostb pb1)" "$B4" "$A4" "$B6" "$A6" "$@" \
		>"$WORK/by_hand" 2>&1 || bad=1
	adopt "$name: " <"$WORK/by_hand"
	echo "$bad" >"$WORK/by_hand.bad"
}

# A program that stops early has tried less than it should.
whole() { # RESULTS
	local n
	n=$(grep -c -E '^(not )?ok ' "$WORK/by_hand")
	check "$n" '>=' "$1" "hand-made packets tried"
	check "$(cat "$WORK/by_hand.bad")" == 0 "status of the program"
}

topo 1
# What these programs make are the packets of MRC 1.0.
extension off
ip -n hostb -6 route add local "$USID_B/48" dev lo

seg6_enabled 0
by_hand srv6_hostile.py "seg6_enabled=0" "$USID_B" all
subtest "all packets in outer headers were tried" whole 80
seg6_enabled 1
in_b mrc_ctl mrcb tc trimmed=20 trimmed_lasthop=16 control=40
export MRC_TRIMMED='20 16'
by_hand srv6_hostile.py "seg6_enabled=1, other codepoints" "$USID_B" proper
unset MRC_TRIMMED
subtest "all packets were tried with seg6_enabled" whole 38
in_b mrc_ctl mrcb tc trimmed=12 control=46
seg6_enabled 0
SRV6_TO=$USID_B by_hand hostile.py "in an outer header"
subtest "all of hostile.py was tried in outer headers" whole 100
tap_end
