#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Records what the driver sends, for the tests of the Wireshark dissector: tcpdump on both
# planes of a host, while programs use every operation, EV probes and port status are sent,
# links lose packets and a switch trims them; plain UDP paths, then SRv6. Here the parser of
# mrc_packets.py says that the recording has it all and that each ICRC is right. What the
# dissector says of it is tested by selftests/wireshark/record.sh, which runs this script.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

HERE=2 # the host where packets are recorded

recorder_up() { # PID LOG
	grep -q '^.*listening on ' "$2"
}

# mrclab runs tcpdump, with both directions of the host's link.
record_begin() {
	local p
	recorders=()
	for ((p = 1; p <= FAB_PLANES; p++)); do
		start "$WORK/tcpdump.$p" mrclab capture "h$HERE:p$p+" -n -U -s 2048 -B 16384 \
			--immediate-mode -w "$WORK/p$p.pcap" "udp port 4791 or ip6 proto 41 or ip6 proto 4"
		recorders+=("$started")
	done
	for ((p = 1; p <= FAB_PLANES; p++)); do
		wait_for 30 recorder_up "${recorders[p - 1]}" "$WORK/tcpdump.$p"
	done
}

record_end() {
	local p rc
	wait_for 30 links_quiet
	for ((p = 1; p <= FAB_PLANES; p++)); do
		kill -INT "${recorders[p - 1]}"
		rc=0
		finished "${recorders[p - 1]}" 30 || rc=$?
		check "$rc" == 0 "status of tcpdump on plane $p"
		awk '/captured$/ { got = $1 } /received by filter$/ { all = $1 } /dropped by kernel$/ { lost = $1 }
			END { exit !(got > 0 && got == all && lost == "0") }' "$WORK/tcpdump.$p" ||
			fail "tcpdump: $(cat "$WORK/tcpdump.$p")"
	done
}

writes() { # OPTIONS...: of flow
	flow 0 1 2 "$@" --mtu 256 --op mixed --size 1,256,300,1000 --iters 10 --depth 4 \
		--timeout 18
	flow_end 0
}

# The extension, but for what the next one sends. A message takes up to five packets.
operations() { # OPTIONS...: of flow
	flow 1 1 2 "$@" --mtu 256 --ext-test mixed --ext-max 1100 --iters 30 --timeout 18
	flow_end 1
}

# SEND with invalidation, and a message that finds no receive.
windows() { # OPTIONS...: of flow
	flow 2 1 2 "$@" --mtu 256 --ext-test windows --timeout 18
	flow_end 2
}

# Every path from host A to host B as an EV.
all_evs() { # A B
	local p s evs=''
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			evs+=${evs:+,}$(srv6_ev "$1" "$p" "$s" "$2")
		done
	done
	echo "$evs"
}

plain() {
	writes
	writes -4
	operations -4
	windows -4
	mrcctl -d mrc2 probe ev src "$(host4 2)" dst "$(host4 1)" evs c0a1@1,c0a2@2 timeout 2s
}

# The last hop says so in its trimmed packets.
trims() { # LINK
	local i
	link_set "$1" rate 4000 burst 2000 trim 1500 limit 20000
	# Where the machine is busy, packets may leave so slowly that no queue grows.
	for ((i = 0; i < 20; i++)); do
		flow 8 1 2 --mtu 1024 --op write --size 8192 --iters 3 --timeout 18
		flow_end 8
		[ "$(switch_stat "$1" trimmed)" = 0 ] || break
	done
	check "$(switch_stat "$1" trimmed)" '>' 0 "packets trimmed by $1"
	link_clear "$1"
}

paths() {
	local h
	fabric_profiles 1 2
	writes
	mrcctl -d mrc2 probe ev src "$(host6 2)" dst "$(host6 1)" fmt srv6 \
		evs "$(all_evs 2 1)" timeout 2s
	mrcctl -d mrc2 port set 2 disable
	flow 7 1 2 --mtu 256 --op write --size 600 --iters 4
	flow_end 7
	mrcctl -d mrc2 port set 2 enable
	# Packets are lost in both directions.
	link_loss p1s1:l2 25
	link_loss p2s2:l2 25
	link_loss p2s1:l1 25
	writes
	operations
	for h in p1s1:l2 p2s2:l2 p2s1:l1; do
		link_clear $h
	done
	mrcctl -d mrc1 tc set trimming on
	trims p1s1:l2
	trims p1l2:h2
}

record() {
	record_begin
	plain
	paths
	record_end
}

judge() {
	local rc=0
	python3 "$NET_DIR/recording.py" "$WORK/recording.pcapng" "$WORK"/p?.pcap || rc=$?
	# A directory that the host gets, if it wants (vm.sh -o).
	[ ! -d /out ] || gzip -9 -n -c "$WORK/recording.pcapng" >/out/driver.pcapng.gz
	return $rc
}

fabric srv6+ecmp 2 2 2 1 1500
fabric_rdma 1 2
subtest "each operation, on all paths, with losses and trims, is recorded" record
subtest "the recording has every opcode and kind of packet, with right ICRCs" judge
fabric_down
tap_end
