# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Two hosts whose planes lead through bridges, so that a port that goes down at one
# end is up at the other, and what tests of port status ask. Sourced after lib.sh.

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

probe() { # WORDS...: of EVs from A to B
	ctl a ep probe "sgid=$A4" "dgid=$B4" "$@"
}

# A counter's value now, without starting a program for each look at it.
hw_at_least() { # DEV NAME PORT VALUE
	hw_now "$1" "$2" "$3"
	[ "$hw" -ge "$4" ]
}

# Waits until port PORT of a device has sent N more data packets than now.
sends_on() { # PORT N [DEV]
	hw_now "${3:-mrca}" tx_data_pkts "$1"
	wait_for 60 hw_at_least "${3:-mrca}" tx_data_pkts "$1" $((hw + $2))
}

# MASK is which ports of their peer the QPs of HOST use.
told() { # a|b MASK
	rdma -dd resource show qp link "mrc$1/1" | grep -q -E "drv_peer_ports[ :]*$2( |\$)"
}

# Traffic from A to B on both planes, with -r from B to A. Delays bound its rate, so
# that the machine has time to spare; the timeout is 2 s, one that programs set, so that
# a machine that stops for a moment makes nothing time out.
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

# The same, and waits for the end of what hosts tell every second for a while after a
# change: nothing else than what the subtest does is heard from then on.
load_start_quiet() { # DELAY [OPTIONS of verify]
	load_start "$@"
	wait_for 30 ctr_still mrca tx_port_status 1.5
	wait_for 30 ctr_still mrcb tx_port_status 1.5
	ctr_mark
}

# What a subtest leaves when it fails must not fail the next one. A script may have more
# to take back: restore_more.
restore() {
	local h p
	unimpair_all
	for h in a b; do
		ip netns exec "host$h" nft flush ruleset || true
		for p in 1 2; do
			ip -n "host$h" link set "p$h$p" up
			ctl $h port $p enable
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
