#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# qperf's RDMA tests, connected by rdma_cm. Its server tells the port before it
# listens there: interop_listen.so (listen.cpp) lets it listen from then on.
# timeout: 900
. "$(dirname "$0")/lib_interop.sh"

LISTEN=/usr/local/bin/interop_listen.so

cases() {
	choose rc_bw -- rc_bi_bw rc_lat rc_rdma_write_bw rc_rdma_write_lat \
		rc_rdma_read_bw rc_rdma_read_lat ver_rc_fetch_add ver_rc_compare_swap \
		uc_bw uc_lat uc_rdma_write_bw ud_bw ud_lat
}

case_run() {
	local size=()
	case $1 in ud_*) size=(-m 1024) ;; esac
	start "$WORK/server" "${AT_B[@]}" env LD_PRELOAD="$LISTEN" qperf
	wait_for 30 tcp_listens 19765
	at_a timeout 60 qperf -t 2 "${size[@]}" -cm 1 "$IP_B" "$1"
}

interop qperf
