# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Two hosts whose planes run through bridges, so that a port that goes down at one end
# stays up at the other; and helpers for tests of port status. Sourced after lib.sh.

bridged_plane() { # I
	local i=$1 h
	for h in a b; do
		ip -n "host$h" link add name "p$h$i" mtu 4500 \
			address "02:00:00:00:0$h:0$i" type veth \
			peer name "s$h$i" mtu 4500 netns middle
		ip -n middle link set "s$h$i" master "br$i" up
		plane_commands $h "$i" 4500 46 | grep -v '^link add' |
			ip -n "host$h" -batch -
	done
}

bridged() { # PLANES
	local i h
	topo_down
	ip netns del middle 2>/dev/null || true
	hosts_up
	ip netns add middle
	for i in $(seq "$1"); do
		ip -n middle link add name "br$i" mtu 4500 type bridge
		ip -n middle link set "br$i" up
		bridged_plane "$i"
	done
	for i in $(seq "$1"); do
		link_add a "$i"
		link_add b "$i"
	done
	PLANES=$1
	for i in $(seq "$1"); do
		plane_ready "$i"
	done
}

bridged_topo() {
	if ! bridged "$@" >"$WORK/topo.log" 2>&1; then
		comment <"$WORK/topo.log"
		echo "Bail out! cannot build the topology"
		tap_done=1
		exit 1
	fi
}

bridged_down() {
	topo_down
	ip netns del middle
}

# Probes EVs from A to B and prints the answers (answers()).
probe() { # WORDS...
	ctl a -j probe ev src "$A4" dst "$B4" "$@" | answers
}

# Waits until port PORT of a device has sent N more data packets than now.
sends_on() { # PORT N [DEV]
	hw_now "${3:-mrca}" tx_data_pkts "$1"
	wait_for 60 hw_at_least "${3:-mrca}" tx_data_pkts "$1" $((hw + $2))
}

# Whether the QPs of HOST use the ports of their peer that are in MASK.
told() { # a|b MASK
	rdma -dd resource show qp link "mrc$1/1" | grep -q -E "drv_peer_ports[ :]*$2( |\$)"
}

# Traffic from A to B on both planes, with -r from B to A. Delays limit its rate, so
# that the machine is not busy. The timeout is 2 s, a value that programs use, so that
# nothing times out when the machine pauses for a moment.
load_start() { # DELAY [OPTIONS of verify]
	local p from=mrca
	for p in 1 2; do
		netem a "$p" delay "$1"
	done
	shift
	[ "${1:-}" != -r ] || from=mrcb
	ctr_mark
	verify_start -t 200 "$@" --duration 1000 --size 16384 --op mixed --depth 4 \
		--timeout 19
	sends_on 1 20 $from
	sends_on 2 20 $from
}

# The same, and waits until the hosts have stopped to repeat port status updates,
# which they send every second for a while after a change. From then on the subtest
# alone causes updates.
load_start_quiet() { # DELAY [OPTIONS of verify]
	load_start "$@"
	wait_for 30 ctr_still mrca tx_port_status 1.5
	wait_for 30 ctr_still mrcb tx_port_status 1.5
	ctr_mark
}

# A failed subtest must not make the next one fail: undo all its changes. A script
# that has more to undo defines restore_more.
restore() {
	local h p
	unimpair_all
	for h in a b; do
		ip netns exec "host$h" nft flush ruleset || true
		for p in 1 2; do
			ip -n "host$h" link set "p$h$p" up
			ctl $h port set $p enable
		done
	done >/dev/null 2>&1
	restore_more
	plane_routes 1
	plane_routes 2
	wait_for 30 no_qps || true
}

restore_more() { :; }

sub() { # NAME COMMAND...
	subtest "$@"
	restore
}
