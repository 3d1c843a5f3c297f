#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The controller functions of libMRC through the real kernel: the state tables of
# formats, EV profiles and CC profiles cell by cell with errnos; batches that fail in
# the middle; which programs use which profile; events; probes with replies that are
# late, lost or reordered; ports; and packed EVs whose expanded form on the wire is
# compared with vectors.
# timeout: 900
. "$(dirname "$0")/lib.sh"

# One command of libmrc_ctl.
lib() { adopt_run "" in_a timeout 400 libmrc_ctl mrca "$@"; } # COMMAND [ARGS]

# A device with verbs but without MRC, in the initial namespace, where no other driver
# uses its UDP port.
other_device() {
	{
		modprobe crc32_generic || true
		modprobe rdma_rxe || return 0
		ip link add name rxn type veth peer name rxm || return 0
		ip link set rxn up || return 0
		rdma link add rxe9 type rxe netdev rxn || return 0
	} >"$WORK/other" 2>&1
	echo rxe9
}

other_gone() {
	rdma link del rxe9 || true
	ip link del rxn || true
	wait_for 30 rmmod rdma_rxe || true
}

# --- the network ---------------------------------------------------------------

# Addresses that the vectors' SRv6 EVs lead to: host B takes all of them as its own.
# The first of two segments ends at a node before host B. The rules act as that node:
# they continue with the second segment and mark the first as used. Host B has a profile
# for its queue pairs: without SRv6 of their own they get nothing from outer headers.
BLOCKS="cafe:cafe::/32 dead:dead::/32 4242:4242::/32 1313:1313::/32 deca:fbad::/32"
SEGMENTS="cafe:cafe:b8a7:310e:14c8:962:ae4b:9dd6=deca:fbad:587a:4c16::
	cafe:cafe:c496:626f:a3b0:d560:27fa:9733=deca:fbad:c0ca:89da::
	cafe:cafe:ad55:668e:6450:b8f0:908:4f14=deca:fbad:7d33:da0f::"

srv6_up() {
	local i block
	for block in $BLOCKS; do
		in_b ip -6 route add local "$block" dev lo
		for i in 1 2; do
			in_a ip -6 neigh replace fe80::b lladdr "02:00:00:00:0b:0$i" \
				dev "pa$i" nud permanent
			in_a ip -6 route add "$block" via fe80::b dev "pa$i" \
				metric $((100 + i))
		done
	done
	{
		echo "table netdev node {"
		for i in 1 2; do
			echo "chain in$i {"
			echo "type filter hook ingress device \"pb$i\" priority 0;"
			for block in $SEGMENTS; do
				# the Segments Left byte of the SRH
				echo "ip6 nexthdr 43 ip6 daddr ${block%=*} @nh,344,8 set 0" \
					"ip6 daddr set ${block#*=}"
			done
			echo "}"
		done
		echo "}"
	} | in_b nft -f -
	in_a ip -6 route add local fcbb:0:31::/48 dev lo
	for i in 1 2; do
		in_b ip -6 neigh replace fe80::a lladdr "02:00:00:00:0a:0$i" dev "pb$i" nud permanent
		in_b ip -6 route add fcbb:0:31::/48 via fe80::a dev "pb$i" metric $((100 + i))
	done
	ctl b -b - <<-END
		fmt add 1 mode srv6 fields 32,32,32,32
		ev add 1 mode explicit fmt 1 evs fcbb000000310001@1,fcbb000000310002@2
	END
}

# --- nothing stays behind --------------------------------------------------------

no_evs_left() {
	ctl a dev show >"$WORK/dev"
	grep -q ' free_count 65536$' "$WORK/dev"
	refuse '^mrcctl: fmt 5: No such file or directory$' ctl a fmt show 5
}

# The operations of a controller leak nothing in the kernel.
no_leak() {
	in_a libmrc_ctl mrca batches >/dev/null
	in_a libmrc_ctl mrca cc >/dev/null
	memory_before "$WORK/before"
	for _ in 1 2; do
		in_a libmrc_ctl mrca batches >/dev/null
		in_a libmrc_ctl mrca cc >/dev/null
	done
	expect_memory_back "$WORK/before" 160 1024
}

topo 2
other=$(other_device)
# shellcheck disable=SC2086 # none, or one word
lib device $other
if [ -z "$other" ]; then
	comment <"$WORK/other"
	adopt <<<"ok - a device without MRC # SKIP no rxe in this kernel"
fi
other_gone >"$WORK/other" 2>&1
lib ports
lib formats
lib profiles
lib batches
lib fields
lib cc
lib busy mrcb
lib events mrcb
lib probes mrcb rules
netem a 2 delay 300ms
lib probes mrcb slow 2
unimpair a 2
netem b 1 loss 100%
lib probes mrcb dead 1
unimpair b 1
netem b 2 delay 2s
lib probes mrcb late 2
unimpair b 2
srv6_up
lib vectors mrcb pa1 pa2
subtest "no profile and no EV is left" no_evs_left
subtest "memory is back after batches and profiles" no_leak
tap_end
