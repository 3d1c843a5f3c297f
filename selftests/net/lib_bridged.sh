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

ctl() { # a|b WORDS...: mrc_ctl on that host's device
	local h=$1
	shift
	ip netns exec "host$h" mrc_ctl "mrc$h" "$@"
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
