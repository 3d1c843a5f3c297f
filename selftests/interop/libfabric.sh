#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# libfabric's own ping-pong over the verbs provider; -c checks the data. With room
# for 256 peers, the default, a completion queue would be larger than rxe has any.
# timeout: 600
. "$(dirname "$0")/lib_interop.sh"

cases() { choose msg -- rdm; }

case_run() {
	local ep=$1 prov=verbs
	[ "$ep" != rdm ] || prov='verbs;ofi_rxm'
	PAIR_READY=(tcp_listens 47592)
	export FI_UNIVERSE_SIZE=2
	pair 120 fi_pingpong -p "$prov" -e "$ep" -d "$DEV_B" -I 50 -c -- \
		fi_pingpong -p "$prov" -e "$ep" -d "$DEV_A" -I 50 -c "$IP_B"
}

interop libfabric
