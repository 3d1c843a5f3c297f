# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154
#
# Two rxe devices joined by a cable, ra and rb, for benchmarks that compare.
# Sourced after lib.sh.

# rxe of kernels before 7.x works in the initial namespace only, and a VRF would hide
# the netdev from it. So both ends are in the initial namespace, and policy routing
# sends packets for the own other address out through the cable.
rxe_up() {
	local d
	modprobe crc32_generic 2>/dev/null || true
	modprobe rdma_rxe || skip "no rdma_rxe in this kernel"
	ip link add name ra mtu 4500 type veth peer name rb mtu 4500
	for d in all ra rb; do
		sysctl -q -w "net.ipv4.conf.$d.rp_filter=0" \
			"net.ipv4.conf.$d.accept_local=1" "net.ipv4.conf.$d.arp_ignore=1"
	done
	ip addr add 198.51.100.1/32 dev ra
	ip addr add 198.51.100.2/32 dev rb
	ip link set ra up
	ip link set rb up
	ip route add 198.51.100.2 dev ra src 198.51.100.1 table 1001
	ip route add 198.51.100.1 dev rb src 198.51.100.2 table 1002
	ip rule add pref 10 iif ra lookup local
	ip rule add pref 11 iif rb lookup local
	ip rule add pref 20 to 198.51.100.2 lookup 1001
	ip rule add pref 21 to 198.51.100.1 lookup 1002
	ip rule add pref 30 lookup local
	ip rule del pref 0
	rdma link add rxea type rxe netdev ra
	rdma link add rxeb type rxe netdev rb
	wait_for 30 port_is rxea 1 ACTIVE
	wait_for 30 port_is rxeb 1 ACTIVE
	wait_for 30 gid_index rxea 1 198.51.100.1
	wait_for 30 gid_index rxeb 1 198.51.100.2
}

rxe_down() {
	local pref
	rdma link del rxea 2>/dev/null || true
	rdma link del rxeb 2>/dev/null || true
	if ip rule show pref 30 | grep -q local; then
		ip rule add pref 0 lookup local
		for pref in 10 11 20 21 30; do
			ip rule del pref "$pref"
		done
	fi
	ip link del ra 2>/dev/null || true
	wait_for 30 rmmod rdma_rxe >/dev/null 2>&1 || true
}

# Prints kbit/s of payload, or 0 if rxe gave up the transfer. Then $WORK/rxe.error has
# the reason.
rxe_bw() { # SECONDS
	rm -f "$WORK/rxe.error"
	start "$WORK/server" ib_write_bw -F -d rxeb -x "$(gid_index rxeb 1 198.51.100.2)" \
		-s 65536 -D "$1" -u 17
	rxe_server=$started
	wait_for 30 rxe_listens || fail "$(cat "$WORK/server")"
	start "$WORK/client" ib_write_bw -F -d rxea -x "$(gid_index rxea 1 198.51.100.1)" \
		-s 65536 -D "$1" -u 17 --report_gbits 127.0.0.1
	finished "$started" 40 || {
		grep -i -E 'status|error' "$WORK/client" >"$WORK/rxe.error" ||
			tail -n 3 "$WORK/client" >"$WORK/rxe.error"
		kill "$rxe_server" 2>/dev/null || true
		finished "$rxe_server" 20 || true
		echo 0
		return
	}
	finished "$rxe_server" 20 || true
	perftest_field 65536 4 | awk '{ printf "%d\n", $1 * 1000000 }'
}

rxe_listens() { ss -Hltn 'sport = :18515' | grep -q LISTEN; }
