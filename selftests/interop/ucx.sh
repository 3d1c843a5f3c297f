#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# ucx_perftest over the verbs transports; the tag tests go through UCX's own
# protocols, with and without zero copy. -P 0: without a terminal it expects MPI.
#
# Whether a datagram came over IPv4 or IPv6 ud_verbs, which wires rc_verbs up too, learns
# from the sl of its completion, and compares the address that the datagram was sent to
# with its own GIDs. mrc reports that there, as some other devices do; rxe reports 0, so
# that UCX takes IPv4 headers for IPv6 ones and drops the packets: with rxe the GIDs are
# IPv6. With mrc they are those that UCX chooses by itself (IPv4), and IPv6 in cases
# that end in 6.
# timeout: 1200
. "$(dirname "$0")/lib_interop.sh"

cases() {
	choose rc_tag_large -- rc_am_lat rc_am_lat6 rc_put_bw rc_tag_bw rc_atomic \
		ud_am_lat ud_am_lat6 ud_tag_bw
}

case_run() {
	local tl=rc_verbs,ud_verbs:aux size=8 test n=200 gid_a=() gid_b=()
	[[ $1 != ud_* ]] || tl=ud_verbs
	case ${1#*_} in
	am_lat*) test=ucp_am_lat ;;
	put_bw) test=ucp_put_bw size=65536 ;;
	tag_bw) test=tag_bw size=4096 ;;
	tag_large) test=tag_bw size=1048576 n=20 ;;
	atomic) test=ucp_fadd ;;
	esac
	if [ "$KIND" = rxe ] || [[ $1 == *6 ]]; then
		gids_v6
		gid_a=("UCX_IB_GID_INDEX=$GIDX6_A") gid_b=("UCX_IB_GID_INDEX=$GIDX6_B")
	fi
	PAIR_READY=(tcp_listens 13337)
	pair 120 env "UCX_NET_DEVICES=$DEV_B:1" "UCX_TLS=$tl" "${gid_b[@]}" \
		ucx_perftest -P 0 -t "$test" -s "$size" -n "$n" -- \
		env "UCX_NET_DEVICES=$DEV_A:1" "UCX_TLS=$tl" "${gid_a[@]}" \
		ucx_perftest -P 0 -t "$test" -s "$size" -n "$n" "$MG_B"
}

interop ucx
