#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The switches of a fabric run FRR with the configuration that "mrclab export frr" wrote.
# FRR accepts every line, and its routes and uSIDs lead packets along the same paths as
# those of mrclab: every SRv6 path, ECMP for both families, and an mrc queue pair over all
# paths.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

if [ ! -x /usr/lib/frr/zebra ]; then
	tap_skip_all "this root has no FRR"
fi
LAB=$WORK/lab.yaml

# The switches, which are the nodes with a configuration.
switches() {
	local n
	for n in "${FAB_NODES[@]}"; do
		[[ $n == h* ]] || echo "$n"
	done
}

# Takes mrclab's routes and addresses from a switch, and names its netdevs as the export
# does: "interface eth1" and below it "description p1l1:s1 to p1s1:l1".
bare_switch() { # NODE
	ip -n "$1" -6 route flush proto boot
	ip -n "$1" -4 route flush proto boot
	ip -n "$1" link del usid
	awk '$1 == "interface" { dev = $2 }
		$1 == "description" && dev != "" {
			split($2, end, ":")
			print "link set " end[2] " down"
			print "link set " end[2] " name " dev
		}
		$1 == "exit" { dev = "" }' "$WORK/frr/$1/frr.conf" | ip -n "$1" -batch -
}

frr_start() { # NODE
	local daemon dir=/run/frr/$1
	mkdir -p "$dir" "/etc/frr/$1"
	chown frr: "$dir" "/etc/frr/$1"
	touch "/etc/frr/$1/vtysh.conf"
	on "$1" sh "$WORK/frr/$1/prepare.sh"
	for daemon in mgmtd zebra staticd; do
		on "$1" /usr/lib/frr/$daemon -d -N "$1" >"$WORK/frr.$1.$daemon" 2>&1 ||
			fail "$daemon in $1: $(cat "$WORK/frr.$1.$daemon")"
	done
	# One daemon after the other: several at once may find the datastore locked.
	on "$1" vtysh -N "$1" --no-fork -f "$WORK/frr/$1/frr.conf" >"$WORK/frr.$1.vtysh" 2>&1 ||
		fail "FRR in $1 refuses a line: $(cat "$WORK/frr.$1.vtysh")"
	! grep -E '^%|Unknown command|rror' "$WORK/frr.$1.vtysh" ||
		fail "FRR in $1: $(cat "$WORK/frr.$1.vtysh")"
}

# Whether the routes that the kernel has from FRR (protocol 196) are those of the file:
# static routes, and the switch's own uSID.
frr_has_all() { # NODE
	local file=$WORK/frr/$1/frr.conf
	awk '/^ip(v6)? route / { print $3 } $1 == "sid" { print $2 }' "$file" |
		sort -u >"$WORK/wanted"
	{
		ip -n "$1" -6 route show proto 196
		ip -n "$1" -4 route show proto 196
	} >"$WORK/routes"
	# ip prints host routes without their length.
	awk '/^[0-9a-f]/ { if ($1 !~ /\//) $1 = $1 ($1 ~ /:/ ? "/128" : "/32"); print $1 }' \
		"$WORK/routes" | sort -u >"$WORK/have"
	cmp -s "$WORK/wanted" "$WORK/have" &&
		grep -q 'seg6local action End.*next-csid' "$WORK/routes"
}

# The netdevs of a node that are ports.
ports_up() { # NODE
	local dev
	for dev in $(awk '$1 == "interface" { print $2 }' "$WORK/frr/$1/frr.conf"); do
		ip -n "$1" link show dev "$dev" | grep 'state UP' >/dev/null || return 1
	done
}

up() {
	local n
	fabric_file mrc >"$LAB"
	echo "profiles: {evs: on}" >>"$LAB"
	mrclab up -q "$LAB"
	mrclab export frr "$LAB" "$WORK/frr"
	check "$(find "$WORK/frr" -name frr.conf | wc -l)" == "$(switches | wc -l)" "configurations"
	for n in $(switches); do
		bare_switch "$n"
	done
	for n in $(switches); do
		frr_start "$n"
	done
	for n in $(switches); do
		wait_for 30 ports_up "$n"
		wait_for 60 frr_has_all "$n" || fail "routes: $(diff "$WORK/wanted" "$WORK/have")"
		check "$(ip -n "$n" route show proto boot | wc -l)" == 0 "routes of mrclab"
		check "$(ip -n "$n" -6 route show proto boot | wc -l)" == 0 "IPv6 routes of mrclab"
	done
}

# Flows with many source ports from host 1 to the last one, in plane 1. Each T1 forwards
# some of them.
ecmp() { # 4|6
	local n s from to before=() after
	to=$(host"$1" "$FAB_HOSTS") from=$(host"$1" 1)
	for ((n = 0; n < 64; n++)); do
		echo "h1 p1 $from $((20000 + n * 7)) $to h$FAB_HOSTS 3"
	done >"$WORK/flows"
	for ((s = 1; s <= FAB_SPINES; s++)); do
		before[s]=$(tx_now "p1s$s")
	done
	python3 "$NET_DIR/fabric_udp.py" <"$WORK/flows"
	for ((s = 1; s <= FAB_SPINES; s++)); do
		after=$(tx_now "p1s$s")
		check $((after - before[s])) '>=' 15 "packets that T1 $s has forwarded, of 192"
	done
}

tx_now() { # NODE
	on "$1" awk '/eth[0-9]+:/ { sub(/.*:/, ""); n += $10 } END { print n }' /proc/net/dev
}

queue_pair() {
	flow 0 1 "$FAB_HOSTS" --qps 2 --size 65536 --iters 200 --timeout 20
	flow_end 0
}

# Each uSID path of the profile carries packets.
paths_used() {
	local p s n before=()
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			before[p * 10 + s]=$(tx_now "p${p}s$s")
		done
	done
	queue_pair
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			n=$(($(tx_now "p${p}s$s") - before[p * 10 + s]))
			check $n '>' 100 "packets that T1 $s of plane $p has forwarded"
		done
	done
}

down() {
	mrclab down -q
	FAB_NODES=()
	check "$(pgrep -c -f /usr/lib/frr || true)" == 0 "daemons"
	rm -rf /run/frr/p[0-9]* /etc/frr/p[0-9]*
}

fab_params srv6+ecmp 2 2 2 1 4500
subtest "FRR takes the configuration of every switch" up
subtest "every SRv6 path between every two hosts" send_every_path
subtest "ECMP for IPv6" ecmp 6
subtest "ECMP for IPv4" ecmp 4
subtest "an mrc queue pair over all SRv6 paths" paths_used
subtest "all is removed, FRR's daemons too" down
tap_end
