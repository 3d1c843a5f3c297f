# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Host B receives SRv6 on one plane. Sourced after lib.sh.

USID_B=fcbb:0:32::

decap_up() {
	topo 1
	# The programs send packets of MRC 1.0, without the extension.
	extension off
	ip -n "$HOST_B" -6 route add local "$USID_B/48" dev lo
	ip -n "$HOST_B" -6 route add fcbb:0:31::/48 via "$A6" dev pb1
	seg6_enabled 0
}

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
