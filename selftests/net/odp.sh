#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Regions with on-demand paging: data is correct whatever the kernel does to the
# pages, also with packet loss. Access to missing memory is the error of the
# InfiniBand specification. A page wait does not count as silence of the peer. Also
# the view of tools, and programs killed in the middle. If the kernel has no on-demand
# paging, such regions must be refused.
# timeout: 280
# races
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_cgroup.sh"

memory() { # PREFIX LIMIT [PART]
	local rc=0
	in_a timeout -s KILL "$(($2 * ${LAB_TIME:-1}))" mrc_memory mrca paging ${3:+"$3"} \
		>"$WORK/paging.out" 2>&1 || rc=$?
	# Status 1: the program printed what failed.
	if [ "$rc" -gt 1 ] || ! grep -q -E '^(not )?ok ' "$WORK/paging.out" ||
		grep -q '^mrc_memory: ' "$WORK/paging.out"; then
		echo "not ok mrc_memory came to its end ($rc)" >>"$WORK/paging.out"
	fi
	adopt "$1" <"$WORK/paging.out"
}

# Both ends are on this host, so packets are lost here.
lossy() {
	in_a tc qdisc add dev lo root netem loss 2% delay 100us 50us
}

no_objects() {
	[ "$(in_a rdma resource show mr | grep -c mrca)" = 0 ] &&
		[ "$(in_a rdma resource show qp | grep mrca | grep -c -v GSI)" = 0 ]
}

# A program is killed while its packets are in flight, and while it waits for pages
# that never come.
killed() {
	local i part
	for part in "taken away" "never come" "come late"; do
		for i in 1 2 3 4; do
			in_a timeout -s KILL "0.$((2 * i))" mrc_memory mrca paging "$part" \
				>/dev/null 2>&1 || true
		done
		wait_for 30 no_objects
	done
}

# Programs pay for the datagrams that wait for them.
charged() {
	local rc=0
	cgroup_up memory || skip "$(cat "$WORK/why")"
	# Not "ip netns exec": there sysfs has no counters of devices.
	grouped nsenter "--net=/run/netns/$HOST_A" timeout -s KILL $((60 * ${LAB_TIME:-1})) \
		mrc_memory mrca datagrams "$CG/mrc" >"$WORK/datagrams" 2>&1 || rc=$?
	cgroup_down memory
	comment <"$WORK/datagrams"
	! grep -q '# SKIP' "$WORK/datagrams" || skip "no userfaultfd"
	[ "$rc" = 0 ] && grep -q '^ok ' "$WORK/datagrams" || fail "ended with $rc"
}

counted() {
	expect mrca tx_page_wait '>' 0
	expect mrca resp_page '>' 0
	expect mrca rx_nack_page '>' 0
	expect mrca retry_exceeded == 0
	expect mrca rnr_exceeded == 0
}

topo 1
ctr_mark
memory "" 120
if grep -q 'refused where the kernel cannot' "$WORK/paging.out"; then
	tap_end
	exit
fi
ctr_take
subtest "what was waited for is counted" counted
# A lost NAK ends in RETRY_EXC (MRC 1.0 §10), so these parts cause no errors.
lossy
for part in "thrown away" "copies on write" "come late"; do
	memory "lossy: " 40 "$part"
done
in_a tc qdisc del dev lo root
subtest "datagrams that wait are charged to their program" charged
subtest "programs that are killed leave nothing" killed
tap_end
