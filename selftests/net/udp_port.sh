#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Devices receive on UDP ports 4791 and 4971. A controller chooses the one to send to, for
# all peers or by address. Each host counts what it sends to either port.
# kmsg-ok: mrc[ :].*cannot open UDP port 4971
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netns.sh"

watch_ports() { # a|b
	ip netns exec "host$1" nft -f - <<-END
		table inet ports {
			counter p4791 { }
			counter p4971 { }
			chain out {
				type filter hook output priority 0;
				udp dport 4791 counter name p4791
				udp dport 4971 counter name p4971
			}
		}
	END
}

# ports_begin; then sent: what A and B have sent to ports 4791 and 4971 since.
ports_begin() {
	local h
	for h in a b; do
		ip netns exec "host$h" nft reset counters table inet ports >/dev/null
	done
}
sent() { nft_counter "host$1" inet ports "p$2"; } # a|b PORT

# uses A-PORT B-PORT: A has sent only to A-PORT, and B to B-PORT.
uses() {
	local h=a port other
	for port; do
		other=$((4791 + 4971 - port))
		check "$(sent $h "$port")" '>' 0 "packets of $h to port $port"
		check "$(sent $h $other)" == 0 "packets of $h to port $other"
		h=b
	done
}

# Nothing was dropped because of it.
well() {
	local d
	ctr_quiet 20
	ctr_take
	for d in mrca mrcb; do
		expect $d retry_exceeded == 0
		expect $d rx_drop_icrc == 0
	done
}

listens() { # 4791|4971
	check "$(in_a ss -Hlun "sport = :$1" | wc -l)" == "${2:-2}" "sockets on port $1"
}

both_open() {
	listens 4791
	listens 4971
}

# OPTIONS of verify
connected() { # A-PORT B-PORT OPTIONS...
	local ports=("$1" "$2")
	shift 2
	ports_begin
	ctr_mark
	verify "$@" --op mixed --size 1,4097,65536 --iters 30
	well
	uses "${ports[@]}"
}

# A subtest that failed may have left some.
no_defaults() {
	local h prefix
	for h in a b; do
		for prefix in $(ctl $h default show | awk '{ print $1 }'); do
			ctl $h default del "$prefix"
		done
	done
}

# Each side chooses for itself.
all_peers() {
	no_defaults
	ctl b default set ::/0 udp_port 4971
	connected 4791 4971
	connected 4791 4971 -6
	ctl a default set ::/0 udp_port 4971
	connected 4971 4971
	no_defaults
	connected 4791 4791
}

# The longest prefix with a port decides. One with a profile only does not count.
by_address() {
	no_defaults
	ctl a default set 0.0.0.0/0 udp_port 4791
	ctl a default set "$B4" udp_port 4971
	connected 4971 4791
	connected 4791 4791 -6
	ctl a cc add 3 algorithm uet-1.0-nscc
	ctl a default set "$B4" cc 3
	ctl a default set 10.0.0.0/8 udp_port 4971
	connected 4971 4791
	[[ $(ctl a default show) == *"10.0.0.0/8 ev none cc none udp_port 4971"* ]] ||
		fail "$(ctl a default show)"
	no_defaults
	ctl a cc del 3
}

# An entry without profiles does not hide the profiles of a shorter prefix.
keeps_profiles() {
	no_defaults
	ctl a cc add 3 algorithm uet-1.0-nscc
	ctl a default set 10.0.0.0/8 cc 3
	ctl a default set "$B4" udp_port 4971
	verify_start --duration 1000 --op write
	wait_for 30 qp_says cc_profile 3
	qp_says udp_port 4971
	verify_stop
	no_defaults
	ctl a cc del 3
}
# Each RC queue pair of A says so.
qp_says() { [ "$(qp_details "$1" | awk '{ print $2 }' | sort -u)" = "$2" ]; } # NAME VALUE

# Datagrams, UC, and what rdma_cm sends.
other_services() {
	modprobe rdma_ucm || skip "no rdma_ucm in this kernel"
	no_defaults
	ctl a default set "$B4" udp_port 4971
	ports_begin
	ctr_mark
	perftest ib_send_lat -c UD -n 100 -s 512
	perftest ib_write_lat -c UC -n 100 -s 512
	meet rping -s -a "$B4" -C 10 -V -- rping -c -a "$B4" -C 10 -V
	well
	uses 4971 4791
}

# What A has chosen does not change the port of B's answers.
probes() {
	no_defaults
	ctl a default set "$B4" udp_port 4971
	ports_begin
	ctl a -j probe ev src "$A4" dst "$B4" evs c001@1,c002@1 >"$WORK/probes"
	[ "$(grep -o '"rtt_ns":[1-9]' "$WORK/probes" | wc -l)" = 2 ] || fail "$(cat "$WORK/probes")"
	uses 4971 4791
}

# A device that is made anew for one more plane keeps what was chosen.
another_plane() {
	no_defaults
	ctl a default set ::/0 udp_port 4971
	plane_add 3 4500
	in_a rdma link add mrca type mrc netdev pa3
	in_b rdma link add mrcb type mrc netdev pb3
	PLANES=3
	plane_ready 3
	connected 4971 4791
	no_defaults
}

# A program has the other port: the device works without it.
in_use() {
	local i holder
	no_defaults
	in_a rdma link del mrca
	start "$WORK/holder" ip netns exec "$HOST_A" python3 -c 'if True:
		import socket, time
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.bind(("0.0.0.0", 4971))
		print("bound", flush=True)
		time.sleep(1000)'
	holder=$started
	wait_for 30 grep -q bound "$WORK/holder"
	for i in 1 2 3; do
		in_a rdma link add mrca type mrc netdev pa$i
	done
	for i in 1 2 3; do
		plane_ready $i
	done
	listens 4791
	listens 4971 1
	dmesg >"$WORK/dmesg"
	tail -n 20 "$WORK/dmesg" | grep 'cannot open UDP port 4971' || fail "$(tail "$WORK/dmesg")"
	connected 4791 4791
	kill "$holder"
}

topo 2
watch_ports a
watch_ports b
subtest "both ports are open" both_open
subtest "as they are, devices use port 4791" connected 4791 4791
subtest "another port to all peers" all_peers
subtest "another port by address" by_address
subtest "profiles of a shorter prefix" keeps_profiles
subtest "datagrams, UC, connections by rdma_cm" other_services
subtest "probes" probes
subtest "one more plane" another_plane
subtest "a program has the port" in_use
tap_end
