#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The examples of libibverbs; -c lets them compare the data.
# timeout: 900
. "$(dirname "$0")/lib_interop.sh"

cases() {
	printf '%s\n' rc rc_events rc_new_send rc_mtu256 srq srq_events \
		uc uc_events uc_mtu256 ud ud_events
}

case_run() {
	local tool=${1%%_*} args=(-n 300)
	case $1 in
	*_events) args+=(-e) ;;
	*_new_send) args+=(-N) ;;
	*_mtu256) args+=(-m 256) ;;
	esac
	[ "$tool" != rc ] || args+=(-c)
	[ "$tool" != ud ] || args+=(-s 1024)
	[ "$tool" != ud ] || datagrams
	[ "$tool" != uc ] || in_order
	pair 90 "ibv_${tool}_pingpong" -d "$DEV_B" -g "$GIDX_B" "${args[@]}" -- \
		"ibv_${tool}_pingpong" -d "$DEV_A" -g "$GIDX_A" "${args[@]}" "$MG_B"
}

interop pingpong
