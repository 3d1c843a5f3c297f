#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The lab's switch port, the qdisc module sch_mrcsw, with hand-made packets: exact
# trimming, ECN marking, priority, limits and counters. mrc is not involved.
# timeout: 900
. "$(dirname "$0")/lib.sh"

switch_end() {
	local n
	for n in swa swb; do
		[ ! -e /run/netns/$n ] || ip netns del $n || true
	done
}
trap 'switch_end; script_exit' EXIT

# Without addresses, routes or neighbours, so that the kernel sends nothing by itself.
switch_link() {
	modprobe sch_mrcsw
	local n
	for n in swa swb; do
		ip netns add $n
		ip netns exec $n sysctl -q -w net.ipv6.conf.default.accept_dad=0 \
			net.ipv6.conf.default.router_solicitations=0 \
			net.ipv6.conf.default.addr_gen_mode=1
	done
	ip -batch - <<-END
		link add name sa netns swa address 02:00:00:00:77:01 type veth peer name sb netns swb address 02:00:00:00:77:02
	END
	ip -n swa -batch - <<-END
		link set sa up
		addr add 10.77.0.1/24 dev sa
		addr add fd77::1/64 dev sa nodad
		neigh add 10.77.0.2 lladdr 02:00:00:00:77:02 dev sa nud permanent
		neigh add fd77::2 lladdr 02:00:00:00:77:02 dev sa nud permanent
	END
	ip -n swb -batch - <<-END
		link set sb up
		addr add 10.77.0.2/24 dev sb
		addr add fd77::2/64 dev sb nodad
		neigh add 10.77.0.1 lladdr 02:00:00:00:77:01 dev sb nud permanent
		neigh add fd77::1 lladdr 02:00:00:00:77:01 dev sb nud permanent
	END
}

still() {
	local a b
	a=$(ip -n swb -s link show dev sb)
	sleep 1.5
	b=$(ip -n swb -s link show dev sb)
	[ "$a" = "$b" ]
}

switch_link
wait_for 30 still
timeout 300 python3 -u "$NET_DIR/switch.py" >"$WORK/switch" 2>&1 || true
adopt <"$WORK/switch"
whole() {
	check "$(grep -c -E '^(not )?ok ' "$WORK/switch")" == \
		"$(grep -c '^def test_' "$NET_DIR/switch.py")" "tests that were run"
}
subtest "all tests of the switch port were run" whole
tap_end
