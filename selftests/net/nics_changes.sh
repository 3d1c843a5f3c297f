#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Four planes with four models of NICs, which change in the middle of traffic: the hypervisor
# takes a link away and gives it back, offloads are switched. Data is compared without
# offloads, with all that the drivers allow, and with an MTU of 9000.
# timeout: 1200
# long
# nics
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netdevs.sh"

have_nics ||
	tap_skip_all "this machine has no NICs (no PCI, or vm.sh without -N)"

NICS=${#NIC_DRIVERS[@]}

# The hypervisor's side of a cable; vm.sh passes these lines on.
cable() { # NIC on|off
	echo "set_link nic$1 $2" >>/out/cables
}

# No error, and no port but that of the cable goes down.
links_lost() {
	local i
	load_start
	for ((i = 1; i <= NICS; i++)); do
		hw_now mrca port_down_events "$i"
		cable "a$i" off
		# The kernel tells of a link at most once in a second, so a moment is not seen.
		wait_for 60 hw_at_least mrca port_down_events "$i" $((hw + 1))
		port_is mrca "$i" DOWN
		receives_on $((i % NICS + 1)) 50
		cable "a$i" on
		wait_for 60 port_is mrca "$i" ACTIVE
		receives_on "$i" 50
	done
	load_stop
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	for ((i = 1; i <= NICS; i++)); do
		expect "mrca/$i" port_down_events == 1
		expect "mrcb/$i" port_down_events == 0
	done
}

# A NIC may start anew for that, and its link is away for a moment.
toggled() {
	local i
	load_start
	for ((i = 1; i <= NICS; i++)); do
		offloads_toggled "$i" 20
	done
	load_stop
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
}

all_switched() { # on|off
	local i switched=0
	for ((i = 1; i <= NICS; i++)); do
		offloads_all "$i" "$1"
	done
	check $switched '>=' 4 "offloads that were switched $1"
	for ((i = 1; i <= NICS; i++)); do
		wait_for 60 port_is mrca "$i" ACTIVE
		wait_for 60 port_is mrcb "$i" ACTIVE
	done
	compared
}

# All operations, both ways and both families.
compared() {
	local i
	ctr_mark
	traffic --bidir
	traffic -6
	ctr_quiet 60
	ctr_take
	undamaged mrca
	undamaged mrcb
	for ((i = 1; i <= NICS; i++)); do
		expect "mrca/$i" tx_data_pkts '>' 50
		expect "mrcb/$i" rx_data_pkts '>' 50
	done
}

large() {
	local i h
	for h in a b; do
		for ((i = 1; i <= NICS; i++)); do
			[ "$(ip -n "host$h" -o link show "p$h$i" | sed 's/.* mtu \([0-9]*\).*/\1/')" = 9000 ] ||
				fail "the MTU of p$h$i"
		done
	done
	compared
}

topo nics
subtest "the hypervisor takes each link away" links_lost
subtest "offloads are switched in the middle of traffic" toggled
subtest "data without offloads" all_switched off
subtest "data with all offloads" all_switched on
topo nics 9000
subtest "MTU 9000" large
tap_end
