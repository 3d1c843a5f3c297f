#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Reception of SRv6 packets: an outer IPv6 header with and without an SRH, IPv4 and
# IPv6 inside, with seg6_enabled on and off, and trimmed packets whatever their length
# fields say. All packets of hostile.py are sent again in outer headers, and then
# packets with bad outer headers. Queue pairs that do not use SRv6 get nothing from an
# outer header.
# long
# timeout: 900
. "$(dirname "$0")/lib.sh"

USID_B=fcbb:0:32::

seg6_enabled() { # 0|1: on host B
	in_b sysctl -q -w net.ipv6.conf.all.seg6_enabled="$1" \
		net.ipv6.conf.pb1.seg6_enabled="$1"
}

# The queue pairs of B send to A's uSID from now on. Nobody there has to receive that.
srv6_profile() {
	ctl b -b - <<-END
		fmt add 1 mode srv6 fields 32,32,32,32
		ev add 1 mode explicit fmt 1 evs fcbb000000310000@1
		default set $A4/32 ev 1
		default set $A6/128 ev 1
	END
}

# The profile stays, but queue pairs do not use it.
no_default() {
	ctl b -b - <<-END
		default del $A4/32
		default del $A6/128
	END
}

topo 1
# These programs send packets of MRC 1.0, without the extension.
extension off
ip -n hostb -6 route add local "$USID_B/48" dev lo
ip -n hostb -6 route add fcbb:0:31::/48 via "$A6" dev pb1

seg6_enabled 0
by_hand "packets where no profile is SRv6" "no profile: " 16 srv6_hostile.py "$USID_B" off
srv6_profile

seg6_enabled 0
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
no_default
by_hand "packets for others than SRv6's queue pairs" "another queue pair: " 16 \
	srv6_hostile.py "$USID_B" plain
ctl b ev del 1
by_hand "packets after the last profile" "no profile any more: " 16 srv6_hostile.py \
	"$USID_B" off
tap_end
