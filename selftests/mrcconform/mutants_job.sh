#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In the guest of selftests/lab/conform_mutants.sh: tests each mutant of the module by the
# case that names it. /mrc/guest/mutants has NAME.ko and the list: NAME CASE FILE, a line
# each. Writes /out/results: NAME CASE killed|survived|broken.
cd /mrc/selftests/net || exit
. ./lib.sh
. ./lib_conform.sh

DIR=/mrc/guest/mutants
# Of each wait of a case: a packet that does not come takes as long.
PATIENCE=3

load() { # FILE OF THE MODULE
	rdma link del mrcb 2>/dev/null || true
	wait_for 30 rmmod mrc
	insmod "$1"
	link_add b 1
	wait_for 30 port_is mrcb 1 ACTIVE
	for a in "$B4" "$B6"; do
		wait_for 30 gid_index mrcb 1 "$a"
	done
	extension off b
	second=''
}

# Cases of SRv6 and of several planes have a second port; SRv6 has a profile, too.
second_port() {
	[ -z "$second" ] || return 0
	second=1
	link_add b 2
	wait_for 30 port_is mrcb 2 ACTIVE
	wait_for 30 gid_index mrcb 2 "$B6"
}

# Runs cases of one part with one address; the exit status is the tester's. SRv6 is IPv6 only.
try() { # ADDRESS CASE...
	local address=$1 rc=0 options=() kind=${2%%.*}
	shift
	case $kind in
	planes | srv6)
		second_port
		options+=(-i pa1 -i pa2)
		;;
	esac
	if [ "$kind" = srv6 ]; then
		[ "$address" = "$B6" ] || return 0
		conform_profile_on
		options+=(--srv6 fcbb:0:32::)
	fi
	for c in "$@"; do
		options+=(-c "$c")
	done
	start "$WORK/target" ip netns exec "$HOST_B" mrcconform target --once -l "$MGMT_B:$PORT"
	in_a mrcconform run -t "$MGMT_B:$PORT" -a "$address" --strict --patience "$PATIENCE" \
		"${options[@]}" >"$WORK/try" 2>&1 || rc=$?
	# shellcheck disable=SC2154 # set by start
	finished "$started" 30 || true
	[ "$kind" != srv6 ] || conform_profile_off
	return "$rc"
}

topo 2
conform_srv6_up
rdma link del mrca
rdma link del mrcb
rmmod mrc_kverbs 2>/dev/null || true

# The driver itself passes all of these cases, with the same patience.
mapfile -t cases < <(awk '{ print $2 }' "$DIR/list" | grep -Ev '^(planes|srv6)\.' | sort -u)
load "$DIR/driver.ko"
passes() { # CASE...
	local a
	for a in "$B6" "$B4"; do
		try "$a" "$@" || {
			cat "$WORK/try"
			echo "the driver itself fails" >/out/driver
			exit 1
		}
	done
}
[ -z "${cases[*]}" ] || passes "${cases[@]}"
for part in planes srv6; do
	mapfile -t cases < <(awk '{ print $2 }' "$DIR/list" | grep "^$part\." | sort -u)
	[ -z "${cases[*]}" ] || passes "${cases[@]}"
done

while read -r name case file; do
	load "$DIR/$name.ko"
	verdict=survived
	for a in "$B6" "$B4"; do
		rc=0
		try "$a" "$case" || rc=$?
		case $rc in
		0) continue ;;
		1) verdict=killed ;;
		*) verdict=broken ;;
		esac
		break
	done
	[ "$verdict" = killed ] || {
		echo "--- $name ($file)"
		tail -n 30 "$WORK/try"
	}
	echo "$name $case $verdict" >>/out/results
	echo "$verdict $name: $case"
done <"$DIR/list"
rdma link del mrcb
rmmod mrc
# shellcheck disable=SC2034 # of lib.sh
tap_done=1
