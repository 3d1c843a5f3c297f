#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Four planes with four models of NICs. Their delays differ and vary, queues of one
# NIC reorder packets, and the processors are busy with other work. The only losses
# are packets that a NIC reports as dropped, so all other retransmissions are
# spurious.
# timeout: 900
# long
# nics
. "$(dirname "$0")/lib.sh"

have_nics ||
	tap_skip_all "this machine has no NICs (no PCI, or vm.sh without -N)"

TRAFFIC=(--size 65536 --op write --timeout 18)
# The limit for spurious retransmissions per 1000 data packets.
MOST=5

driver() { # a|b PLANE
	basename "$(ip netns exec "host$1" readlink -f "/sys/class/net/p$1$2/device/driver")"
}

models() {
	local h i
	for h in a b; do
		for i in 1 2 3 4; do
			[ "$(driver $h $i)" = "${NIC_DRIVERS[i - 1]}" ] ||
				fail "p$h$i is a NIC of $(driver $h $i)"
		done
	done
}

# Packets that NICs, their drivers and qdiscs report as dropped, on both hosts.
dropped() {
	local h
	for h in a b; do
		ip -n "host$h" -j -s link show | python3 -c '
import json, sys
print(sum(d["stats64"][way][what]
          for d in json.load(sys.stdin) if d["ifname"][:2] in ("pa", "pb")
          for way in ("rx", "tx") for what in d["stats64"][way]
          if what in ("dropped", "errors", "over_errors", "missed")))'
		ip netns exec "host$h" tc -s qdisc show |
			sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'
	done | awk '{ n += $1 } END { print n + 0 }'
}

# Endless work of normal priority on all processors.
busy() {
	local i
	for i in $(seq "$(nproc)"); do
		start "$WORK/busy.$i" bash -c 'while :; do :; done'
	done
}

# needless NAME FROM TO OPTIONS...: counts spurious retransmissions from host FROM to
# host TO.
needless() {
	local name=$1 from=mrc$2 to=mrc$3 drops again sent late
	shift 3
	drops=$(dropped)
	ctr_mark
	verify -t 300 "$@" "${TRAFFIC[@]}"
	ctr_quiet 60
	ctr_take
	drops=$(($(dropped) - drops))
	sent=$(ctr "$from" tx_data_pkts)
	again=$(ctr "$from" tx_rtx_pkts)
	late=$(ctr "$to" rx_duplicate)
	echo "figure: $name: $sent packets, $again sent again" \
		"(inferred $(ctr "$from" loss_inferred), by a probe $(ctr "$from" loss_probe)," \
		"timeout $(ctr "$from" loss_timeout)), $late arrived twice, $drops dropped," \
		"$(ctr "$to" rx_out_of_order) out of order"
	check "$sent" '>' 10000 "packets sent"
	expect "$from" qp_errors == 0
	expect "$to" rx_data_pkts == $((sent - again))
	check $((late * 1000)) '<' $((sent * MOST)) "1000 x packets that arrived twice"
	check $(((again - drops) * 1000)) '<' $((sent * MOST)) "1000 x sent again in vain"
}

busy_needless() {
	busy
	needless "$@"
}

nothing_of_nics() {
	! nic_netdevs | grep . || fail "NICs are left"
	verify --size 4097 --iters 20
}

again() {
	models
	verify -6 --size 4097 --iters 20
}

topo nics
subtest "each plane is a pair of NICs of one model" models
subtest "nothing is sent twice needlessly" needless quiet a b --iters 1000
subtest "the other way, IPv6" needless "quiet, IPv6" b a -6 -r --iters 700
subtest "both processors busy" busy_needless busy a b --iters 1000
subtest "both processors busy, two queue pairs" busy_needless "busy, 2 QPs" a b \
	--qps 2 --iters 500
subtest "both processors busy, both ways" busy_needless "busy, both ways" a b \
	--bidir --iters 700
topo 2
subtest "veth pairs take their place" nothing_of_nics
topo nics 1500
subtest "and NICs that of veth pairs" again
tap_end
