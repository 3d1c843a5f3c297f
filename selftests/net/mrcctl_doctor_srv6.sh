#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl doctor on an SRv6 fabric: each EV of the peer's profile is probed along its own path. A
# path that swallows packets is told by its EV, a plane that is cut by its port, and a peer
# without such a profile by what it lacks.
# timeout: 600
# shellcheck disable=SC2154 # $rc is of lib_doctor.sh
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"
. "$NET_DIR/lib_doctor.sh"

doctor() { # FAMILY: of host 1 about host 3
	doctor_at h1 mrc1 --peer "$("host$1" 3)"
}

# Each path once, and no other packet.
all_paths() { # FAMILY
	local p s
	links_mark
	ctr_mark
	doctor "$1"
	ctr_take
	links_take
	check "$rc" == 0 "status of doctor"
	for ((p = 1; p <= FAB_PLANES; p++)); do
		finds ok probe "$p" "$("host$1" 3) answers on all $FAB_SPINES SRv6 EVs through p$p, rtt "
		for ((s = 1; s <= FAB_SPINES; s++)); do
			check "$(link_tx "p${p}l1:s$s")" '>=' 1 "packets to spine $s of plane $p"
		done
	done
	expect mrc1 tx_srv6 == $((FAB_PLANES * FAB_SPINES))
	expect mrc1 endpoint_timeouts == 0
}

# The EV is named as "ev show" names it.
swallowed() {
	local ev
	ev=$(profile_list 1 3 | while read -r _ v _; do
		[ "$(ev_path "$v")" != "2 1" ] || echo "$v"
	done)
	[ -n "$ev" ] || fail "no EV over spine 1 of plane 2: $(profile_list 1 3)"
	link_loss p2s1:l2 100
	doctor 6
	link_clear p2s1:l2
	check "$rc" == 0 "status of doctor"
	finds warning probe 2 "$(host6 3) answers on 1 of 2 SRv6 EVs through p2: some paths of the plane lose packets. Silent: $ev."
	finds ok probe 1 "answers on all 2 SRv6 EVs through p1"
	wait_for 30 well_again
}
well_again() {
	doctor 6
	[ "$rc" = 0 ] && [ -z "$(found warning probe)$(found error probe)" ]
}

# What is denied is not used, so it is not probed.
denied() {
	local evs
	evs=$(profile_list 1 3 | awk '$2 ~ /@1$/ { printf "%s%s", n++ ? "," : "", $2 }')
	mrcctl -d mrc1 ev deny 3 "${evs%%,*}"
	doctor 6
	mrcctl -d mrc1 ev allow 3 "${evs%%,*}"
	finds ok probe 1 "answers on all 1 SRv6 EVs through p1"
	finds ok probe 2 "answers on all 2 SRv6 EVs through p2"
}

cut_plane() {
	spine_down 2 1
	spine_down 2 2
	doctor 6
	spine_up 2 1
	spine_up 2 2
	check "$rc" == 1 "status of doctor"
	finds error probe 2 "$(host6 3) answers on none of 2 SRv6 EVs through p2: the plane is cut"
	finds ok probe 1 "answers on all 2 SRv6 EVs through p1"
	wait_for 30 well_again
}

# Devices answer from outer headers only if they have such a profile themselves.
no_profile_there() {
	mrcctl -d mrc3 save >"$WORK/saved"
	mrcctl -d mrc3 default del "$(host6 1)/128"
	mrcctl -d mrc3 default del "$(host4 1)/32"
	mrcctl -d mrc3 ev del 1
	doctor 6
	mrcctl -d mrc3 load "$WORK/saved"
	check "$rc" == 1 "status of doctor"
	finds error probe 1 "nor through another plane: it has no mrc device with this address, no SRv6 profile that is ONLINE"
	wait_for 30 well_again
}

# Answers have no outer header, so that the fabric has to have routes for them.
fabric srv6+ecmp
fabric_rdma 1 3
fabric_profiles 1 3
subtest "each SRv6 EV is probed along its path, IPv6" all_paths 6
subtest "each SRv6 EV is probed along its path, IPv4" all_paths 4
subtest "a path that swallows packets" swallowed
subtest "EVs that are denied" denied
subtest "a plane without its spines" cut_plane
subtest "a peer without an SRv6 profile" no_profile_there
fabric_down
tap_end
