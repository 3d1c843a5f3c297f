# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Fabrics of two tiers in one guest. Hosts and switches are network namespaces, links
# are veth pairs. Sourced after lib.sh. Settings and counters of links are in
# lib_links.sh, traffic is in lib_flows.sh.
#
#	fabric KIND [PLANES [LEAVES [SPINES [HOSTS [MTU]]]]]     2 2 2 2 4500
#
# KIND: srv6 (static uSID routes only, MRC 1.0 §16), ecmp (hash of addresses, ports
# and flow label, IPv4 and IPv6) or srv6+ecmp. Every plane is a separate fabric with
# LEAVES leaves. Each leaf has HOSTS hosts and a link to each of the SPINES spines. A
# host has one netdev in each plane.
#
#	node		is namespace	with netdevs
#	host H		hH		pP in plane P, mgmt
#	leaf L		pPlL		hH to host H, sS to spine S
#	spine S		pPsS		lL to leaf L
#
# A direction of a link is named NODE:NETDEV after its sending end: h1:p2, p1l2:s1 or
# p2l1:h1. All functions for links take one direction.
#
# All addresses come from one prefix of 16 bits (two of IPv4):
#	fcbb:0::/32		uSIDs: leaf 01LL, spine 02SS, host 03HH, the same
#				in every plane
#	fcbb:1:L::H		host H behind leaf L, the same on all its netdevs
#	fcbb:2:P:L::H		its netdev of plane P: source of outer headers
#	10.1.L.H		host H in IPv4
#	192.0.2.H		management, a network of its own
# The digits of a number in an address are the decimal ones. The highest number is 99.

FABRIC_PREFIX=${FABRIC_PREFIX:-fcbb}
FABRIC_PREFIX4=${FABRIC_PREFIX4:-10.1}
FAB=$WORK/fabric
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
		printf -v "FAB_2[$n]" %02d "$n"
	done
}

# --- names and addresses ----------------------------------------------------------

FAB_2=()	# numbers with two digits: a table is faster than a fork

leaf_of() { echo $((($1 - 1) / FAB_PER_LEAF + 1)); } # HOST
host6() { echo "$FABRIC_PREFIX:1:$(leaf_of "$1")::$1"; }
host4() { echo "$FABRIC_PREFIX4.$(leaf_of "$1").$1"; }
port6() { echo "$FABRIC_PREFIX:2:$2:$(leaf_of "$1")::$1"; } # HOST PLANE
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
# Hardware addresses (02:f0:PLANE:TYPE:NUMBER:PORT) and link-local addresses
# (fe80::TYPE:NUMBER; leaf 1, spine 2, host 3) are fixed, so no address is resolved
# and only the test's traffic is counted. There is no command substitution here: forks
# are slow under emulation.

FAB_GW4=169.254.0.1	# every leaf, towards its hosts
FAB_END="encap seg6local action End flavors next-csid lblen 32 nflen 16 dev usid"

fab_link_commands() {
	local p l s h mac mtu="mtu $FAB_MTU"
	for ((h = 1; h <= FAB_HOSTS; h++)); do
		l=$(((h - 1) / FAB_PER_LEAF + 1))
		for ((p = 1; p <= FAB_PLANES; p++)); do
			mac=02:f0:${FAB_2[p]}
			echo "link add name p$p netns h$h $mtu address $mac:03:${FAB_2[h]}:00 type veth" \
				"peer name h$h netns p${p}l$l $mtu address $mac:01:${FAB_2[l]}:a${FAB_2[h]:1}"
		done
		echo "link add name mgmt netns h$h type veth peer name h$h netns fabmgmt"
	done
	for ((p = 1; p <= FAB_PLANES; p++)); do
		mac=02:f0:${FAB_2[p]}
		for ((l = 1; l <= FAB_LEAVES; l++)); do
			for ((s = 1; s <= FAB_SPINES; s++)); do
				echo "link add name s$s netns p${p}l$l $mtu address $mac:01:${FAB_2[l]}:${FAB_2[s]} type veth" \
					"peer name l$l netns p${p}s$s $mtu address $mac:02:${FAB_2[s]}:${FAB_2[l]}"
			done
		done
	done
}

# The commands that bring up a node's netdevs and set addresses, neighbours and
# routes. They can be repeated. Some must be, after a netdev was down.
fab_host_commands() { # HOST
	local h=$1 p l x=$FABRIC_PREFIX gw mac me6 me4
	l=$(((h - 1) / FAB_PER_LEAF + 1)) gw=fe80::1:$l
	me6=$x:1:$l::$h me4=$FABRIC_PREFIX4.$l.$h
	echo "link set lo up"
	[[ $FAB_KIND != *srv6* ]] ||
		echo "route replace local $x:0:03${FAB_2[h]}::/48 dev lo"
	for ((p = 1; p <= FAB_PLANES; p++)); do
		mac=02:f0:${FAB_2[p]}:01:${FAB_2[l]}:a${FAB_2[h]:1}
		echo "link set p$p up"
		echo "addr replace $me4/32 dev p$p"
		echo "addr replace fe80::3:$h/64 dev p$p scope link nodad"
		echo "addr replace $x:2:$p:$l::$h/128 dev p$p nodad"
		echo "addr replace $me6/128 dev p$p nodad"
		echo "neigh replace $gw lladdr $mac dev p$p nud permanent"
		echo "neigh replace $FAB_GW4 lladdr $mac dev p$p nud permanent"
		echo "route replace $FABRIC_PREFIX4.0.0/16 via $FAB_GW4 dev p$p onlink src $me4 metric $((100 + p))"
		echo "route replace $x:1::/32 via $gw dev p$p src $me6 metric $((100 + p))"
		[[ $FAB_KIND != *srv6* ]] ||
			echo "route replace $x:0::/32 via $gw dev p$p src $x:2:$p:$l::$h metric $((100 + p))"
	done
	echo "addr replace 192.0.2.$h/24 dev mgmt"
	echo "link set mgmt up"
}

# A port to a neighbour, and the route to the neighbour's uSID.
fab_port() { # NETDEV OWN-LINK-LOCAL NEIGHBOUR-LINK-LOCAL MAC USID
	echo "link set $1 up"
	echo "addr replace $2/64 dev $1 scope link nodad"
	echo "neigh replace $3 lladdr $4 dev $1 nud permanent"
	[[ $FAB_KIND != *srv6* ]] ||
		echo "route replace $FABRIC_PREFIX:0:$5::/48 via $3 dev $1"
}

# The node's own uSID. Its netdev can be any one that is never cut.
fab_usid() { # USID
	echo "link set lo up"
	[[ $FAB_KIND != *srv6* ]] || {
		echo "link set usid up"
		echo "route replace $FABRIC_PREFIX:0:$1::/48 $FAB_END"
	}
}

fab_leaf_commands() { # PLANE LEAF
	local p=$1 l=$2 s h other x=$FABRIC_PREFIX hops4='' hops6=''
	fab_usid "01${FAB_2[l]}"
	for ((s = 1; s <= FAB_SPINES; s++)); do
		fab_port s$s "fe80::1:$l" fe80::2:$s \
			"02:f0:${FAB_2[p]}:02:${FAB_2[s]}:${FAB_2[l]}" "02${FAB_2[s]}"
		hops4+=" nexthop via inet6 fe80::2:$s dev s$s"
		hops6+=" nexthop via fe80::2:$s dev s$s"
	done
	for ((h = (l - 1) * FAB_PER_LEAF + 1; h <= l * FAB_PER_LEAF; h++)); do
		fab_port h$h "fe80::1:$l" fe80::3:$h \
			"02:f0:${FAB_2[p]}:03:${FAB_2[h]}:00" "03${FAB_2[h]}"
		[[ $FAB_KIND != *ecmp* ]] || {
			echo "route replace $x:1:$l::$h/128 via fe80::3:$h dev h$h"
			echo "route replace $FABRIC_PREFIX4.$l.$h/32 via inet6 fe80::3:$h dev h$h"
		}
	done
	[[ $FAB_KIND == *ecmp* ]] || return 0
	for ((other = 1; other <= FAB_LEAVES; other++)); do
		[ "$other" != "$l" ] || continue
		echo "route replace $x:1:$other::/48$hops6"
		echo "route replace $FABRIC_PREFIX4.$other.0/24$hops4"
	done
}

fab_spine_commands() { # PLANE SPINE
	local p=$1 s=$2 l
	fab_usid "02${FAB_2[s]}"
	for ((l = 1; l <= FAB_LEAVES; l++)); do
		fab_port l$l "fe80::2:$s" fe80::1:$l \
			"02:f0:${FAB_2[p]}:01:${FAB_2[l]}:${FAB_2[s]}" "01${FAB_2[l]}"
		[[ $FAB_KIND != *ecmp* ]] || {
			echo "route replace $FABRIC_PREFIX:1:$l::/48 via fe80::1:$l dev l$l"
			echo "route replace $FABRIC_PREFIX4.$l.0/24 via inet6 fe80::1:$l dev l$l"
		}
	done
}

# Sets what a namespace needs before it has netdevs. Then it stays, so that the files
# below the namespace's /proc can be read without starting a program. The hash uses
# addresses, protocol, ports and, for IPv6, the flow label.
fab_node_program() {
	cat <<-'END'
		put() { echo "$2" >/proc/sys/net/$1; }
		for f in default all; do
			put ipv4/conf/$f/rp_filter 0
			put ipv4/conf/$f/arp_ignore 1
			put ipv6/conf/$f/accept_dad 0
			put ipv6/conf/$f/accept_ra 0
			put ipv6/conf/$f/router_solicitations 0
			put ipv6/conf/$f/addr_gen_mode 1
			put ipv6/conf/$f/mldv2_unsolicited_report_interval 1
		done
		case $1 in
		h*) ;;
		p*)
			put ipv4/conf/all/forwarding 1
			put ipv6/conf/all/forwarding 1
			put ipv4/fib_multipath_hash_policy 3
			put ipv4/fib_multipath_hash_fields 55
			put ipv6/fib_multipath_hash_policy 3
			put ipv6/fib_multipath_hash_fields 63
			;;
		esac
		echo $$ >$2/pid.$1.new
		mv $2/pid.$1.new $2/pid.$1
		exec sleep infinity
	END
}

fab_nodes_ready() {
	local n
	for n in "${FAB_NODES[@]}" fabmgmt; do
		[ -e "$FAB/pid.$n" ] || return 1
	done
}

fabric_up() { # KIND PLANES LEAVES SPINES HOSTS MTU
	local n p l s h
	fab_params "$@"
	rm -rf "$FAB"
	mkdir -p "$FAB"
	modprobe sch_mrcsw
	modprobe dummy numdummies=0
	printf 'netns add %s\n' "${FAB_NODES[@]}" fabmgmt | ip -batch -
	fab_node_program >"$FAB/node.sh"
	for n in "${FAB_NODES[@]}" fabmgmt; do
		ip netns exec "$n" sh "$FAB/node.sh" "$n" "$FAB" >"$FAB/log.$n" 2>&1 </dev/null &
	done
	fab_link_commands >"$FAB/links"
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((l = 1; l <= FAB_LEAVES; l++)); do
			fab_leaf_commands $p $l >"$FAB/ip.p${p}l$l"
			echo "link add name usid netns p${p}l$l type dummy" >>"$FAB/links"
		done
		for ((s = 1; s <= FAB_SPINES; s++)); do
			fab_spine_commands $p $s >"$FAB/ip.p${p}s$s"
			echo "link add name usid netns p${p}s$s type dummy" >>"$FAB/links"
		done
	done
	for ((h = 1; h <= FAB_HOSTS; h++)); do
		fab_host_commands $h >"$FAB/ip.h$h"
	done
	wait_for 60 fab_nodes_ready || {
		cat "$FAB"/log.*
		return 1
	}
	ip -batch "$FAB/links"
	{
		echo "link add br0 type bridge"
		echo "link set br0 up"
		for ((h = 1; h <= FAB_HOSTS; h++)); do
			echo "link set h$h master br0 up"
		done
	} | ip -n fabmgmt -batch -
	for n in "${FAB_NODES[@]}"; do
		ip -n "$n" -batch "$FAB/ip.$n" || {
			echo "in $n: $(cat "$FAB/ip.$n")"
			return 1
		}
	done
}

# Makes the devices mrcH of all hosts, or of those named, with a port for each plane.
fabric_rdma() { # [HOST...]
	local h p
	[ $# -gt 0 ] || set -- $(seq "$FAB_HOSTS")
	for h in "$@"; do
		for ((p = 1; p <= FAB_PLANES; p++)); do
			echo "link add mrc$h type mrc netdev p$p"
		done >"$FAB/rdma.h$h"
		on "h$h" rdma -b "$FAB/rdma.h$h"
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
	local n h pids=() pid
	[ "${#FAB_NODES[@]}" -gt 0 ] || return 0
	for ((h = 1; h <= FAB_HOSTS; h++)); do
		[ -e "/run/netns/h$h" ] || continue
		for pid in $(ip netns pids "h$h" 2>/dev/null); do
			pids+=("$pid")
		done
	done
	for n in "${FAB_NODES[@]}" fabmgmt; do
		{ read -r pid <"$FAB/pid.$n" && pids+=("$pid"); } 2>/dev/null || true
	done
	for n in $(rdma_devices); do
		rdma link del "$n" 2>/dev/null || true
	done
	for pid in ${pids[@]+"${pids[@]}"}; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	for n in "${FAB_NODES[@]}" fabmgmt; do
		[ ! -e "/run/netns/$n" ] || echo "netns del $n"
	done | ip -force -batch - 2>/dev/null || true
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
		wait_for 30 links_up && wait_for 20 links_quiet) >"$WORK/fabric.log" 2>&1; then
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
