# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Fabrics of two tiers in one guest, made by mrclab: mrclab-fabric(5) has the names of
# nodes and links and the addresses. Sourced after lib.sh. Settings and counters of links
# are in lib_links.sh, traffic is in lib_flows.sh.
#
#	fabric KIND [PLANES [LEAVES [SPINES [HOSTS [MTU]]]]]     2 2 2 2 4500
#
# KIND: srv6 (static uSID routes only, MRC 1.0 §16), ecmp (hash of addresses, ports
# and flow label, IPv4 and IPv6) or srv6+ecmp. Every plane is a separate fabric with
# LEAVES leaves (T0). Each leaf has HOSTS hosts and a link to each of the SPINES spines
# (T1). A host has one netdev in each plane. Namespaces have the names of the nodes, and
# the fabric has no RDMA devices before fabric_rdma.
#
# All functions for links take one direction, which is named NODE:NETDEV after its
# sending end: h1:p2, p1l2:s1 or p2l1:h1.

FABRIC_PREFIX=${FABRIC_PREFIX:-fcbb}
FABRIC_PREFIX4=${FABRIC_PREFIX4:-10.1}
FAB_NODES=()

fab_params() { # KIND PLANES LEAVES SPINES HOSTS MTU
	FAB_KIND=$1 FAB_PLANES=$2 FAB_LEAVES=$3 FAB_SPINES=$4 FAB_PER_LEAF=$5 FAB_MTU=$6
	FAB_HOSTS=$((FAB_LEAVES * FAB_PER_LEAF))
	# functions of other libraries that sum over ports use PLANES
	PLANES=$FAB_PLANES
	local p n
	FAB_NODES=()
	for ((n = 1; n <= FAB_HOSTS; n++)); do FAB_NODES+=("h$n"); done
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((n = 1; n <= FAB_LEAVES; n++)); do FAB_NODES+=("p${p}l$n"); done
		for ((n = 1; n <= FAB_SPINES; n++)); do FAB_NODES+=("p${p}s$n"); done
	done
	for ((n = 1; n < 100; n++)); do
		printf -v "FAB_2[$n]" %02x "$n"
		printf -v "FAB_X[$n]" %x "$n"
	done
}

# --- names and addresses ----------------------------------------------------------

FAB_2=() FAB_X=() # hexadecimal, with two digits and as they are: faster than a fork

leaf_of() { echo $((($1 - 1) / FAB_PER_LEAF + 1)); } # HOST
host6() { echo "$FABRIC_PREFIX:1:${FAB_X[$(leaf_of "$1")]}::${FAB_X[$1]}"; }
host4() { echo "$FABRIC_PREFIX4.$(leaf_of "$1").$1"; }
port6() { # HOST PLANE
	echo "$FABRIC_PREFIX:2:${FAB_X[$2]}:${FAB_X[$(leaf_of "$1")]}::${FAB_X[$1]}"
}
mgmt4() { echo "192.0.2.$1"; }

# Outer destination from host A to host B, by spine S where their leaves differ.
usid_path() { # A S B
	local from=$((($1 - 1) / FAB_PER_LEAF + 1)) to=$((($3 - 1) / FAB_PER_LEAF + 1))
	if [ "$from" = "$to" ]; then
		echo "$FABRIC_PREFIX:0:01${FAB_2[from]}:03${FAB_2[$3]}::"
	else
		echo "$FABRIC_PREFIX:0:01${FAB_2[from]}:02${FAB_2[$2]}:01${FAB_2[to]}:03${FAB_2[$3]}::"
	fi
}

# An SRv6 EV from host A to host B by spine S in plane P, in the syntax for probes.
srv6_ev() { # A P S B
	local path group hex='' groups
	path=$(usid_path "$1" "$3" "$4")
	IFS=: read -r -a groups <<<"${path%::}"
	for group in "${groups[@]}"; do
		printf -v group %04x "0x$group"
		hex+=$group
	done
	printf -v group %032d 0
	echo "${hex}${group:${#hex}}@$2"
}

# The directions of links that a packet takes from A to B in plane P.
path_links() { # A P S B
	local from to
	from=$(leaf_of "$1") to=$(leaf_of "$4")
	echo "h$1:p$2"
	if [ "$from" != "$to" ]; then
		echo "p$2l$from:s$3"
		echo "p$2s$3:l$to"
	fi
	echo "p$2l$to:h$4"
}

# The other direction of the same link.
link_back() { # NODE:NETDEV
	local node=${1%%:*} dev=${1#*:}
	case $1 in
	h*) echo "${dev}l$(leaf_of "${node#h}"):$node" ;;
	p*l*:h*) echo "$dev:${node%l*}" ;;
	p*l*:s*) echo "${node%l*}$dev:l${node#*l}" ;;
	p*s*:l*) echo "${node%s*}$dev:s${node#*s}" ;;
	*) fail "no link $1" ;;
	esac
}

# All directions.
fabric_links() {
	local p l s h
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((h = 1; h <= FAB_HOSTS; h++)); do
			echo "h$h:p$p"
			link_back "h$h:p$p"
		done
		for ((l = 1; l <= FAB_LEAVES; l++)); do
			for ((s = 1; s <= FAB_SPINES; s++)); do
				echo "p${p}l$l:s$s"
				echo "p${p}s$s:l$l"
			done
		done
	done
}

on() { ip netns exec "$@"; } # NODE COMMAND...

# --- building ---------------------------------------------------------------------
# mrclab makes the fabric. Its file is kept for scripts that change it.

# The file of the fabric of fab_params, with these RDMA devices.
fabric_file() { # none|mrc
	cat <<-END
		name: net
		prefix: ''
		planes: $FAB_PLANES
		t0: $FAB_LEAVES
		t1: $FAB_SPINES
		hosts: $FAB_PER_LEAF
		forwarding: $FAB_KIND
		mtu: $FAB_MTU
		block: $FABRIC_PREFIX
		block4: $FABRIC_PREFIX4
		devices: $1
	END
}

fabric_up() { # KIND PLANES LEAVES SPINES HOSTS MTU
	fab_params "$@"
	fabric_file none >"$WORK/fabric.yaml"
	mrclab up "$WORK/fabric.yaml"
}

# Sends three datagrams over each SRv6 path between every two hosts. All must arrive.
send_every_path() {
	local a b p s
	for ((a = 1; a <= FAB_HOSTS; a++)); do
		for ((b = 1; b <= FAB_HOSTS; b++)); do
			[ $a != $b ] || continue
			for ((p = 1; p <= FAB_PLANES; p++)); do
				for ((s = 1; s <= FAB_SPINES; s++)); do
					echo "h$a p$p $(port6 $a $p) 4000 $(usid_path $a $s $b) h$b 3"
				done
			done
		done
	done >"$WORK/flows"
	python3 "$NET_DIR/fabric_udp.py" <"$WORK/flows"
}

# Makes the devices mrcH of all hosts, or of those named, with a port for each plane.
fabric_rdma() { # [HOST...]
	local h p
	[ $# -gt 0 ] || set -- $(seq "$FAB_HOSTS")
	for h in "$@"; do
		for ((p = 1; p <= FAB_PLANES; p++)); do
			echo "link add mrc$h type mrc netdev p$p"
		done >"$WORK/rdma.h$h"
		on "h$h" rdma -b "$WORK/rdma.h$h"
	done
	for h in "$@"; do
		for ((p = 1; p <= FAB_PLANES; p++)); do
			wait_for 30 port_is "mrc$h" $p ACTIVE
			wait_for 30 gid_index "mrc$h" $p "$(host6 "$h")"
			wait_for 30 gid_index "mrc$h" $p "$(host4 "$h")"
		done
	done
}

# Never fails.
fabric_down() {
	local n
	[ "${#FAB_NODES[@]}" -gt 0 ] || return 0
	mrclab down -q --all || true
	for n in $(rdma_devices); do
		rdma link del "$n" 2>/dev/null || true
	done
	FAB_NODES=()
	PLANES=0
}

# Builds the fabric for the subtests that follow. Do not call it inside a subtest.
fabric() { # KIND [PLANES [LEAVES [SPINES [HOSTS [MTU]]]]]
	local now since
	fabric_down
	now_ms
	since=$now
	if ! (set -e && fabric_up "$1" "${2:-2}" "${3:-2}" "${4:-2}" "${5:-2}" "${6:-4500}" &&
		wait_for 20 links_quiet) >"$WORK/fabric.log" 2>&1; then
		comment <"$WORK/fabric.log"
		dmesg | tail -n 20 | comment
		echo "Bail out! cannot build the fabric: $*"
		tap_done=1
		fab_params "$1" "${2:-2}" "${3:-2}" "${4:-2}" "${5:-2}" "${6:-4500}"
		exit 1
	fi
	fab_params "$1" "${2:-2}" "${3:-2}" "${4:-2}" "${5:-2}" "${6:-4500}"
	now_ms
	echo "# fabric $*: built in $((now - since)) ms"
}

. "$NET_DIR/lib_links.sh"
. "$NET_DIR/lib_flows.sh"
