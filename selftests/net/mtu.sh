#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The MTU of a plane changes. Queue pairs whose path MTU does not fit leave the plane and
# come back later. The call is made under RTNL, so its cost must not depend on how many queue
# pairs there are: root of a container may repeat it.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netdevs.sh"

P=2				# the plane that changes
QPS=16000
TOGGLES=200
ROUNDS=5

# No data of mrca arrives there for a moment, while other planes carry some.
silent_on() { # PORT
	local from
	hw_now mrcb rx_data_pkts "$1"
	from=$hw
	receives_on $(($1 % PLANES + 1)) 200
	hw_now mrcb rx_data_pkts "$1"
	[ "$hw" = "$from" ]
}

too_narrow() {
	local was
	was=$(on a -o link show "pa$P" | sed 's/.* mtu \([0-9]*\).*/\1/')
	load_start --qps 4
	on a link set "pa$P" mtu 1500
	wait_for 30 silent_on "$P"
	on a link set "pa$P" mtu "$was"
	receives_on "$P" 100
	load_stop
	expect "mrca/$P" port_down_events == 0
}

# Microseconds of the quickest round. Other programs make rounds longer, never shorter.
quickest() { # BATCH
	local i at took best=0
	for ((i = 0; i < ROUNDS; i++)); do
		at=${EPOCHREALTIME/./}
		on a -batch "$1"
		took=$((${EPOCHREALTIME/./} - at))
		[ $best != 0 ] && [ $best -lt $took ] || best=$took
	done
	echo "$best"
}

# The netdev is the plane of a device without queue pairs.
many_queue_pairs() {
	local i without with
	on a link add name mtux type dummy
	on a link set mtux up
	in_a rdma link add mrcx type mrc netdev mtux
	for ((i = 0; i < TOGGLES; i++)); do
		echo "link set mtux mtu $((1500 + i % 2))"
	done >"$WORK/batch"
	without=$(quickest "$WORK/batch")
	start "$WORK/holder" mrc_memory mrcb queue-pairs $QPS
	wait_for 120 grep -q '^begun' "$WORK/holder"
	with=$(quickest "$WORK/batch")
	echo "figure: $TOGGLES changes of the MTU: $without us; with $QPS queue pairs $with us"
	kill "$started"
	wait_for 60 process_gone "$started"
	rdma link del mrcx
	on a link del mtux
	check "$with" '<=' $((2 * without)) "time with $QPS queue pairs elsewhere"
}

topo 2
subtest "a plane becomes too narrow, and wide again" too_narrow
subtest "a change costs nothing for queue pairs of others" many_queue_pairs
tap_end
