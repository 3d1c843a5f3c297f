#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The standard port counters in sysfs: packets and data compared with netfilter's
# counts on the way, damaged packets, multicast, link-down events, packets that a
# netdev refuses; and the Prometheus node exporter, which reads them.
# timeout: 600
. "$(dirname "$0")/lib.sh"

IB=/sys/class/infiniband

value() { # DEV PORT COUNTER
	cat "$IB/$1/ports/$2/counters/$3"
}

values_mark() {
	local f
	for f in $IB/mrc[ab]/ports/*/counters/*; do
		echo "$f $(cat "$f")"
	done >"$WORK/values"
}

# How much the counter has grown since values_mark.
grown() { # DEV PORT COUNTER
	local before
	before=$(sed -n "s|^$IB/$1/ports/$2/counters/$3 ||p" "$WORK/values")
	echo $(($(value "$@") - before))
}

has_grown() { [ "$(grown "$@")" -gt 0 ]; }

grown_all() { # DEV COUNTER
	echo $(($(grown "$1" 1 "$2") + $(grown "$1" 2 "$2")))
}

# --- on the way --------------------------------------------------------------------

# Counts with netfilter what arrives at each end of a plane: IP packets and bytes.
watch() {
	local h i
	for h in a b; do
		{
			echo "table netdev watch {"
			for i in 1 2; do
				echo "counter plane$i {}"
				echo "chain in$i { type filter hook ingress device p$h$i priority -1000;"
				echo "meta l4proto udp udp dport 4791 counter name plane$i; }"
			done
			echo "}"
		} | ip netns exec "host$h" nft -f -
	done
}

unwatch() {
	in_a nft delete table netdev watch
	in_b nft delete table netdev watch
}

watched() { nft_counter "host$1" netdev watch "plane$2" "$3"; } # a|b PLANE packets|bytes

# One end sent, the other end received, and netfilter counted the same numbers.
same_on_the_way() { # FROM TO PLANE
	local packets bytes
	packets=$(watched "$2" "$3" packets)
	bytes=$(watched "$2" "$3" bytes)
	check "$packets" '>' 10 "packets from $1 over plane $3"
	check "$(grown "mrc$1" "$3" port_xmit_packets)" == "$packets" "packets that $1/$3 sent"
	check "$(grown "mrc$2" "$3" port_rcv_packets)" == "$packets" "packets that $2/$3 got"
	# The length of a packet is a multiple of four octets.
	check $(($(grown "mrc$1" "$3" port_xmit_data) * 4)) == "$bytes" "octets that $1/$3 sent"
	check $(($(grown "mrc$2" "$3" port_rcv_data) * 4)) == "$bytes" "octets that $2/$3 got"
}

# Runs over the first plane, from a host to host A.
pingpong() { # NETNS PROGRAM
	local dev=mrcb own=$B4
	[ "$1" = hostb ] || dev=mrca own=$A4
	start "$WORK/pong" ip netns exec hosta timeout 60 "$2" -d mrca -n 50 \
		-g "$(gid_index mrca 1 "$A4")"
	wait_for 30 listening hosta 18515
	ip netns exec "$1" timeout 60 "$2" -d $dev -n 50 -g "$(gid_index $dev 1 "$own")" "$MGMT_A"
	finished "$started" 60 || fail "$(cat "$WORK/pong")"
}

traffic_counted() {
	local i c
	watch
	values_mark
	verify --op mixed --size 1,4097,65536 --iters 40
	verify -6 -r --size 20000 --iters 40
	pingpong hostb ibv_uc_pingpong
	pingpong hostb ibv_ud_pingpong
	ctr_quiet 30
	for i in 1 2; do
		same_on_the_way a b "$i"
		same_on_the_way b a "$i"
		for c in unicast_xmit_packets unicast_rcv_packets; do
			check "$(grown mrca "$i" $c)" == "$(grown mrca "$i" "port_${c#unicast_}")" \
				"$c of plane $i"
		done
	done
	unwatch
}

# Loopback traffic passes no port.
loopback_not_counted() {
	values_mark
	pingpong hosta ibv_rc_pingpong
	ctr_quiet 30
	check "$(grown mrca 1 port_xmit_packets)" == 0 "packets sent"
	check "$(grown mrca 1 port_rcv_packets)" == 0 "packets that arrived"
}

# A damaged packet that belongs to no queue pair: 20 + 8 + 64 octets. The guard lets raw
# sockets of root send it.
damaged_counted() {
	values_mark
	in_b python3 -c "
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'pb2')
udp = struct.pack('>HHHH', 50000, 4791, 72, 0)
s.sendto(udp + bytes([0x64]) + bytes(63), ('$A4', 0))"
	wait_for 30 has_grown mrca 2 port_rcv_errors
	check "$(grown mrca 2 port_rcv_errors)" == 1 "damaged packets"
	check "$(grown mrca 2 port_rcv_packets)" == 1 packets
	check "$(grown mrca 2 port_rcv_data)" == 23 "units of data"
	check "$(grown mrca 1 port_rcv_errors)" == 0 "damaged packets of the other port"
}

joined() { # NETNS GROUP
	ip -n "$1" maddr show | grep -q -w "$2"
}

# The copy of a multicast packet that its own sender receives passed no port.
multicast_counted() {
	local dev other
	values_mark
	start "$WORK/mc" ip netns exec hosta timeout 60 mckey -m 239.1.2.3 -b "$A4" -C 10
	wait_for 30 joined hosta 239.1.2.3
	in_b timeout 60 mckey -m 239.1.2.3 -b "$B4" -s -C 10
	finished "$started" 60 || fail "$(cat "$WORK/mc")"
	ctr_quiet 30
	check "$(grown_all mrcb multicast_xmit_packets)" == 10 "multicast packets sent"
	check "$(grown_all mrca multicast_rcv_packets)" == 10 "multicast packets that arrived"
	check "$(grown_all mrcb multicast_rcv_packets)" == 0 "multicast packets of its own"
	for dev in mrca mrcb; do
		other=$(grown_all $dev port_xmit_packets)
		check $(($(grown_all $dev unicast_xmit_packets) + $(grown_all $dev multicast_xmit_packets))) == \
			"$other" "packets that $dev sent"
	done
}

link_counted() {
	values_mark
	ip -n hostb link set pb2 down
	wait_for 30 port_is mrca 2 DOWN
	check "$(grown mrca 2 link_downed)" == 1 "times that port 2 went down"
	check "$(grown mrca 1 link_downed)" == 0 "times that port 1 went down"
	ip -n hostb link set pb2 up
	plane_routes 2
	wait_for 30 port_is mrca 2 ACTIVE
	check "$(grown mrca 2 link_downed)" == 1 "times that port 2 went down"
}

# Packets that a qdisc drops immediately.
discards_counted() {
	values_mark
	ctr_mark
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	in_a tc qdisc replace dev pa2 root pfifo limit 0
	wait_for 30 has_grown mrca 2 port_xmit_discards
	in_a tc qdisc del dev pa2 root
	verify_stop
	ctr_quiet 30
	ctr_take
	expect mrca/2 tx_errors == "$(grown mrca 2 port_xmit_discards)"
}

# --- monitoring --------------------------------------------------------------------

# A simulated device of another driver, beside this one.
put() { # PATH VALUE
	mkdir -p "$(dirname "$1")"
	echo "$2" >"$1"
}

sysfs_with_other() {
	local dir=$WORK/sys/class/infiniband d
	mkdir -p "$dir"
	for d in $IB/*; do
		ln -s "$d" "$dir/"
	done
	put "$dir/mlx5_0/board_id" MT_0000000012
	put "$dir/mlx5_0/fw_ver" 16.35.4030
	put "$dir/mlx5_0/hca_type" MT4119
	put "$dir/mlx5_0/node_guid" 506b:4b03:005c:1234
	dir=$dir/mlx5_0/ports/1
	put "$dir/link_layer" Ethernet
	put "$dir/phys_state" "5: LinkUp"
	put "$dir/state" "4: ACTIVE"
	put "$dir/rate" "100 Gb/sec (4X EDR)"
	put "$dir/counters/port_rcv_data" 1000
	put "$dir/counters/port_xmit_data" 2000
	put "$dir/hw_counters/out_of_sequence" 3
}

metrics() {
	python3 -c "
import sys, urllib.request
sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:9100/metrics').read().decode())" \
		>"$WORK/metrics" 2>/dev/null &&
		grep -q '^node_scrape_collector_success' "$WORK/metrics"
}

# The exporter writes large numbers as 1.25e+09.
metric() { # NAME DEV PORT VALUE
	local got
	got=$(grep "^node_infiniband_$1{device=\"$2\",port=\"$3\"} " "$WORK/metrics") ||
		fail "no $1 of $2/$3: $(grep -c ^node_infiniband "$WORK/metrics") others"
	check "$(awk '{ printf "%.0f", $2 }' <<<"$got")" == "$4" "$1 of $2/$3"
}

exporter() {
	local p d
	command -v prometheus-node-exporter >/dev/null || fail "there is none"
	sysfs_with_other
	start "$WORK/exporter" prometheus-node-exporter --path.sysfs="$WORK/sys" \
		--collector.disable-defaults --collector.infiniband \
		--web.listen-address=127.0.0.1:9100
	wait_for 60 metrics || fail "$(cat "$WORK/exporter")"
	grep -q '^node_scrape_collector_success{collector="infiniband"} 1$' "$WORK/metrics" ||
		fail "it has ended: $(cat "$WORK/exporter")"
	! grep -i -E 'error|not found' "$WORK/exporter" || fail "it complains"
	for d in mrca mrcb; do
		grep -q "^node_infiniband_info{board_id=\"soft-mrc\",device=\"$d\",firmware_version=\"$(cat $IB/$d/fw_ver)\",hca_type=\"MRC\"} 1$" \
			"$WORK/metrics" || fail "no information about $d: $(grep _info "$WORK/metrics")"
		for p in 1 2; do
			check "$(value $d $p port_xmit_packets)" '>' 100 "packets of $d/$p"
			metric port_data_transmitted_bytes_total $d $p \
				$(($(value $d $p port_xmit_data) * 4))
			metric port_data_received_bytes_total $d $p \
				$(($(value $d $p port_rcv_data) * 4))
			metric port_packets_transmitted_total $d $p "$(value $d $p port_xmit_packets)"
			metric port_packets_received_total $d $p "$(value $d $p port_rcv_packets)"
			metric unicast_packets_transmitted_total $d $p \
				"$(value $d $p unicast_xmit_packets)"
			metric multicast_packets_received_total $d $p \
				"$(value $d $p multicast_rcv_packets)"
			metric port_errors_received_total $d $p "$(value $d $p port_rcv_errors)"
			metric port_discards_transmitted_total $d $p \
				"$(value $d $p port_xmit_discards)"
			metric link_downed_total $d $p "$(value $d $p link_downed)"
			metric state_id $d $p 4
			metric physical_state_id $d $p 5
			metric rate_bytes_per_second $d $p 1250000000
		done
	done
	metric port_data_received_bytes_total mlx5_0 1 4000
	metric port_data_transmitted_bytes_total mlx5_0 1 8000
	grep -q '^node_infiniband_info{board_id="MT_0000000012",device="mlx5_0",firmware_version="16.35.4030",hca_type="MT4119"} 1$' \
		"$WORK/metrics" || fail "no information about the other"
}

topo 2
subtest "packets and data, counted as on the way" traffic_counted
subtest "loopback goes through no port" loopback_not_counted
subtest "damaged packets" damaged_counted
subtest "multicast" multicast_counted
subtest "links that go down" link_counted
subtest "packets that the netdev refuses" discards_counted
subtest "the node exporter, with another device beside" exporter
tap_end
