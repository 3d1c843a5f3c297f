#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# ucx_perftest over the verbs transports; the tag tests go through UCX's own
# protocols, with and without zero copy. -P 0: without a terminal it expects MPI.
#
# With IPv6 GIDs: ud_verbs, which wires rc_verbs up too, finds the address that a
# datagram was sent to by the kind of packet that a completion's sl says, a habit
# of mlx5's. Where sl is 0, as verbs have it for RoCE, it takes the IPv4 header at the
# end of the GRH for an IPv6 one and drops the packet ("wrong dgid").
# timeout: 1200
. "$(dirname "$0")/lib_interop.sh"

cases() {
	choose rc_tag_large -- rc_am_lat rc_put_bw rc_tag_bw rc_atomic ud_am_lat ud_tag_bw
}

case_run() {
	local tl=rc_verbs,ud_verbs:aux size=8 test n=200
	[[ $1 != ud_* ]] || tl=ud_verbs
	case ${1#*_} in
	am_lat) test=ucp_am_lat ;;
	put_bw) test=ucp_put_bw size=65536 ;;
	tag_bw) test=tag_bw size=4096 ;;
	tag_large) test=tag_bw size=1048576 n=20 ;;
	atomic) test=ucp_fadd ;;
	esac
	gids_v6
	PAIR_READY=(tcp_listens 13337)
	pair 120 env "UCX_NET_DEVICES=$DEV_B:1" "UCX_TLS=$tl" "UCX_IB_GID_INDEX=$GIDX6_B" \
		ucx_perftest -P 0 -t "$test" -s "$size" -n "$n" -- \
		env "UCX_NET_DEVICES=$DEV_A:1" "UCX_TLS=$tl" "UCX_IB_GID_INDEX=$GIDX6_A" \
		ucx_perftest -P 0 -t "$test" -s "$size" -n "$n" "$MG_B"
}

interop ucx
