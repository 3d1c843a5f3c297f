#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A plane fails and recovers under load, in every possible way: the host's own netdev
# is set down, the carrier is lost because the peer's end went down, or packets are
# dropped on the way in one or both directions. The program sees no error and its data
# is complete. Meanwhile the other planes carry the traffic. Afterwards the plane is
# used again.
# timeout: 900
# races
. "$(dirname "$0")/lib.sh"

TOPO_RESOLVE=1			# real ARP and neighbour discovery

P=2				# the plane that fails

steady() { # DEV PORT COUNTER VALUE: whether the counter has reached VALUE
	ctr_at_least "$1/$2" "$3" "$4"
}

# Waits until port PORT of mrca has sent N more data packets than now.
sends_on() { # PORT N
	local from
	from=$(ctr_now "mrca/$1" tx_data_pkts)
	wait_for 30 steady mrca "$1" tx_data_pkts $((from + $2))
}

receives_on() { # PORT N
	local from
	from=$(ctr_now "mrcb/$1" rx_data_pkts)
	wait_for 30 steady mrcb "$1" rx_data_pkts $((from + $2))
}

# Removes what a failed subtest may have left.
planes_whole() {
	unimpair_all
	in_a nft delete table netdev cut 2>/dev/null || true
	in_b nft delete table netdev cut 2>/dev/null || true
}

load_start() {
	planes_whole
	ctr_mark
	verify_start -t 280 "$@" --duration 1000 --size 65536 --op mixed --depth 32
	for p in $(seq "$PLANES"); do
		receives_on "$p" 50
	done
}

load_stop() {
	verify_stop_well
	expect mrca retry_exceeded == 0
}

others_carry() {
	local p
	for p in $(seq "$PLANES"); do
		[ "$p" = "$P" ] || receives_on "$p" 100
	done
}

# The state of a port is that of its netdev. The peer learns about changes later:
# after up to a second if its own port lost the carrier, and not at all if the carrier
# is back by then.
admin_down() { # HOST
	local h=$1 peer=b downs ups
	[ "$h" = a ] || peer=a
	load_start
	downs=$(ctr_now "mrc$peer/$P" port_down_events)
	ups=$(ctr_now "mrc$peer/$P" port_up_events)
	ip -n "host$h" link set "p$h$P" down
	wait_for 30 port_is "mrc$h" "$P" DOWN
	wait_for 30 port_is "mrc$peer" "$P" DOWN
	wait_for 30 ctr_at_least "mrc$peer/$P" port_down_events $((downs + 1))
	others_carry
	ip -n "host$h" link set "p$h$P" up
	plane_routes "$P"
	wait_for 30 port_is "mrc$h" "$P" ACTIVE
	wait_for 30 port_is "mrc$peer" "$P" ACTIVE
	wait_for 30 ctr_at_least "mrc$peer/$P" port_up_events $((ups + 1))
	receives_on "$P" 100
	load_stop
	expect "mrca/$P" port_down_events == 1
	expect "mrca/$P" port_up_events == 1
	expect "mrcb/$P" port_down_events == 1
	expect "mrcb/$P" port_up_events == 1
}

swallow() { # HOSTS: all that they send on the plane is dropped
	local h bad good
	load_start "${@:2}"
	bad=$(ctr_now "mrca/$P" ev_to_assumed_bad)
	for h in $1; do
		netem "$h" "$P" loss 100%
	done
	others_carry
	wait_for 30 ctr_at_least "mrca/$P" ev_to_assumed_bad $((bad + 1))
	others_carry
	good=$(ctr_now "mrca/$P" ev_to_good)
	for h in $1; do
		unimpair "$h" "$P"
	done
	wait_for 30 ctr_at_least "mrca/$P" ev_to_good $((good + 1))
	receives_on "$P" 100
	load_stop
	expect "mrca/$P" ev_to_assumed_bad '>' 0
	expect "mrca/$P" ev_to_good '>' 0
}

# The data arrives. The SACKs of the other planes acknowledge it, so no path is
# condemned and the plane continues to carry data. A timeout would condemn all paths,
# and those of this plane forever. So the timeout is longer than a busy machine
# pauses. ARP replies pass: without them the kernel would lose the neighbour, and the
# data would stop.
feedback_swallowed() {
	load_start --timeout 19
	in_a nft -f - <<-NFT
		table netdev cut {
			chain in {
				type filter hook ingress device "pa$P" priority 0;
				udp dport 4791 drop
			}
		}
	NFT
	others_carry
	receives_on "$P" 100
	in_a nft delete table netdev cut
	receives_on "$P" 100
	load_stop
	expect "mrcb/$P" rx_data_pkts '>' 200
}

# nftables drops incoming packets, as a switch with a broken table would.
filtered() {
	local bad
	load_start
	bad=$(ctr_now "mrca/$P" ev_to_assumed_bad)
	in_b nft -f - <<-NFT
		table netdev cut {
			chain in {
				type filter hook ingress device "pb$P" priority 0; policy drop;
			}
		}
	NFT
	others_carry
	wait_for 30 ctr_at_least "mrca/$P" ev_to_assumed_bad $((bad + 1))
	in_b nft delete table netdev cut
	receives_on "$P" 100
	load_stop
}

flapping() {
	local n
	load_start
	for n in 1 2 3 4 5 6 7 8; do
		ip -n hosta link set "pa$P" down
		wait_for 30 port_is mrca "$P" DOWN
		ip -n hosta link set "pa$P" up
		plane_routes "$P"
		wait_for 30 port_is mrca "$P" ACTIVE
	done
	receives_on "$P" 100
	load_stop
	expect "mrca/$P" port_down_events == 8
}

# Three of four planes fail one after the other and recover.
one_after_the_other() {
	local p
	load_start
	for p in 1 2 3; do
		ip -n hosta link set "pa$p" down
		wait_for 30 port_is mrca "$p" DOWN
		receives_on 4 100
	done
	for p in 1 2 3; do
		ip -n hosta link set "pa$p" up
		plane_routes "$p"
		wait_for 30 port_is mrca "$p" ACTIVE
		receives_on "$p" 100
	done
	load_stop
}

# All planes fail at once, for less than the retry budget of 34 s. The budget is long
# enough for a kernel that takes seconds to set four links down and up.
all_at_once() {
	local p
	load_start --timeout 20 --retry 7
	for p in $(seq "$PLANES"); do
		ip -n hosta link set "pa$p" down
	done
	for p in $(seq "$PLANES"); do
		wait_for 30 port_is mrca "$p" DOWN
	done
	for p in $(seq "$PLANES"); do
		ip -n hosta link set "pa$p" up
		plane_routes "$p"
	done
	for p in $(seq "$PLANES"); do
		receives_on "$p" 100
	done
	load_stop
}

topo 4
subtest "own netdev down and up" admin_down a
subtest "peer's netdev down and up (carrier lost here)" admin_down b
subtest "data swallowed silently on one plane" swallow a
subtest "feedback swallowed silently on one plane" feedback_swallowed
subtest "one plane swallows both directions" swallow "a b"
subtest "one plane swallows both directions, IPv6" swallow "a b" -6
subtest "arriving packets filtered on one plane" filtered
subtest "a plane that flaps eight times" flapping
subtest "three of four planes go and come back" one_after_the_other
subtest "all planes gone for a moment" all_at_once
tap_end
