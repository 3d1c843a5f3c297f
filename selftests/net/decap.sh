#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Who gets something from an outer IPv6 header (SRv6, IP in IP), and who does not: nobody while
# no SRv6 profile is online, no queue pair that does not use SRv6, nobody through a netdev that
# is no plane, and nobody at another address of the host than that of the queue pair.
# decap_more.sh has the headers themselves.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_decap.sh"

# Addresses of host B that its queue pairs do not have: of a netdev that is no plane, and
# others of the device.
HOST4=10.7.0.7 HOST6=fd00:7::7
SECOND4=10.1.0.3 SECOND6=fd00:1::3

decap_up
ip -n "$HOST_B" -batch - <<-END
	addr add $HOST4/32 dev lo
	addr add $HOST6/128 dev lo
	addr add $SECOND4/32 dev pb1
	addr add $SECOND6/128 dev pb1 nodad
END
for address in "$SECOND4" "$SECOND6"; do
	wait_for 30 gid_index mrcb 1 "$address"
done

by_hand "packets where no profile is SRv6" "no profile: " 16 srv6_hostile.py "$USID_B" off
srv6_profile
by_hand "packets to other places" "elsewhere: " 30 srv6_places.py "$USID_B" \
	mgmta "$(mac "$HOST_B" mgmtb)" "$HOST4" "$HOST6" "$SECOND4" "$SECOND6"
no_default
by_hand "packets for others than SRv6's queue pairs" "another queue pair: " 16 \
	srv6_hostile.py "$USID_B" plain
ctl b ev del 1
by_hand "packets after the last profile" "no profile any more: " 16 srv6_hostile.py \
	"$USID_B" off
tap_end
