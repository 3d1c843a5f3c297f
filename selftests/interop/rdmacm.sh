#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The tools of librdmacm: connections over IPv4 and, where the device has it,
# IPv6, UD, multicast and rsockets.
# timeout: 1800
. "$(dirname "$0")/lib_interop.sh"

cases() {
	choose rping_verify ucmatose udaddy rdma_client rcopy mckey rstream riostream -- \
		rping rping_persistent rping6 ucmatose_many cmtime rdma_xclient mckey6 udpong
}

v6() {
	[ -n "${IP6_B:-}" ] || skip "no IPv6 addresses in this set-up"
}

case_run() {
	PAIR_READY=(cm_listens)
	case $1 in
	rping) pair 90 rping -s -a "$IP_B" -C 20 -- rping -c -a "$IP_B" -I "$IP_A" -C 20 ;;
	rping_verify)
		pair 90 rping -s -a "$IP_B" -C 20 -V -S 4000 -- \
			rping -c -a "$IP_B" -I "$IP_A" -C 20 -V -S 4000
		;;
	rping_persistent)
		start "$WORK/server" "${AT_B[@]}" rping -s -P -a "$IP_B"
		wait_for 30 cm_listens
		for _ in 1 2 3; do
			at_a timeout 60 rping -c -a "$IP_B" -I "$IP_A" -C 5
		done
		;;
	rping6)
		v6
		pair 90 rping -s -a "$IP6_B" -C 20 -- rping -c -a "$IP6_B" -I "$IP6_A" -C 20
		;;
	ucmatose) pair 90 ucmatose -b "$IP_B" -- ucmatose -s "$IP_B" -b "$IP_A" ;;
	ucmatose_many)
		pair 120 ucmatose -b "$IP_B" -c 50 -C 20 -S 1024 -- \
			ucmatose -s "$IP_B" -b "$IP_A" -c 50 -C 20 -S 1024
		;;
	udaddy)
		datagrams
		pair 90 udaddy -b "$IP_B" -- udaddy -s "$IP_B" -b "$IP_A"
		;;
	cmtime) pair 300 cmtime -b "$IP_B" -c "${CMTIME:-2000}" -- \
		cmtime -s "$IP_B" -b "$IP_A" -c "${CMTIME:-2000}" ;;
	rdma_client) pair 90 rdma_server -s "$IP_B" -- rdma_client -s "$IP_B" ;;
	rdma_xclient) pair 90 rdma_xserver -c r -- rdma_xclient -s "$IP_B" -c r ;;
	rcopy)
		head -c 3000000 /dev/urandom >"$WORK/file"
		start "$WORK/server" "${AT_B[@]}" rcopy
		wait_for 30 cm_listens
		at_a timeout 90 rcopy "$WORK/file" "$IP_B:$WORK/copy"
		cmp "$WORK/file" "$WORK/copy"
		;;
	mckey)
		datagrams
		# The connection manager joins first, and nothing arrives yet. When the
		# queue pair is attached mrc joins as well, and rxe by another address.
		PAIR_READY=(group_joined ' 239\.1\.2\.3 users 2$' 33:33:ef:01:02:03)
		pair 90 mckey -m 239.1.2.3 -b "$IP_B" -C 20 -- \
			mckey -m 239.1.2.3 -b "$IP_A" -s -C 20
		;;
	mckey6)
		v6
		datagrams
		PAIR_READY=(group_joined 33:33:00:00:47:91)
		pair 90 mckey -m ff15::4791 -b "$IP6_B" -C 20 -- \
			mckey -m ff15::4791 -b "$IP6_A" -s -C 20
		;;
	rstream) pair 120 rstream -b "$IP_B" -S 65536 -C 50 -- rstream -s "$IP_B" -S 65536 -C 50 ;;
	riostream) pair 120 riostream -b "$IP_B" -S 65536 -C 50 -- riostream -s "$IP_B" -S 65536 -C 50 ;;
	udpong)
		PAIR_READY=(udp_bound 7471)
		pair 120 udpong -b "$IP_B" -- udpong -s "$IP_B" -C 100
		;;
	esac
}

udp_bound() { at_b ss -Hlun "sport = :$1" | grep -q .; }

interop rdmacm
