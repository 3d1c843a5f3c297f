# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Two hosts as network namespaces, connected by N planes (veth pairs) and one
# management link for the TCP connections of the programs themselves:
#
#	hosta                                  hostb
#	  mrca/1  pa1 ---------------- pb1  mrcb/1
#	  mrca/2  pa2 ---------------- pb2  mrcb/2
#	  ...
#	       mgmta ---------------- mgmtb
#
# A host has one address per family, the same on all of its planes, and one route to
# the peer through each plane. The metric only matters for traffic that is not bound
# to a plane. Sourced by lib.sh.
#
# `topo nics` uses emulated NICs (vm.sh -N) in place of veth pairs, one model for each
# plane. They get the same names and addresses.

HOST_A=hosta
HOST_B=hostb
A4=10.1.0.1 B4=10.1.0.2
A6=fd00:1::1 B6=fd00:1::2
MGMT_A=192.0.2.1 MGMT_B=192.0.2.2
PLANES=0
# By plane.
NIC_DRIVERS=(e1000e igb vmxnet3 virtio_net)

in_a() { ip netns exec "$HOST_A" "$@"; }
in_b() { ip netns exec "$HOST_B" "$@"; }

# Sysctls of a host. With the same address on several netdevs, the netdev that was
# asked must answer, and there must be no reverse path filter. Netdevs keep their
# link-local address: the kernel confirms IPv6 neighbours from it.
host_sysctls() { # NETNS
	ip netns exec "$1" sysctl -q -w \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
		net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.default.arp_ignore=1 \
		net.ipv6.conf.default.accept_dad=0 \
		net.ipv6.conf.default.accept_ra=0
}

host_up() { # NETNS
	ip netns add "$1"
	ip -n "$1" link set lo up
	host_sysctls "$1"
}

# Commands for `ip -batch` that make plane I. One process makes all planes of a host.
# The hardware addresses are known, so neighbours are entered and not resolved.
# Scripts that need real resolution set TOPO_RESOLVE=1.
plane_commands() { # a|b I MTU 4|6|46 [nic]
	local h=$1 i=$2 mtu=$3 families=$4
	if [ -n "${5:-}" ]; then
		echo "link set p$h$i mtu $mtu"
	elif [ "$h" = a ]; then
		echo "link add name pa$i mtu $mtu address 02:00:00:00:0a:0$i type veth" \
			"peer name pb$i mtu $mtu address 02:00:00:00:0b:0$i netns $HOST_B"
	fi
	echo "link set p$h$i up"
	if [[ $families == *4* ]]; then
		echo "addr add $(own "$h" 4)/32 dev p$h$i"
	fi
	if [[ $families == *6* ]]; then
		echo "addr add $(own "$h" 6)/128 dev p$h$i nodad"
	fi
	route_commands "$h" "$i" "$families"
}

route_commands() { # a|b I 4|6|46
	local h=$1 i=$2 families=$3 peer
	peer=b
	[ "$h" = a ] || peer=a
	if [[ $families == *4* ]]; then
		echo "route replace $(own $peer 4)/32 dev p$h$i src $(own "$h" 4)" \
			"metric $((100 + i))"
	fi
	if [[ $families == *6* ]]; then
		echo "addr replace $(own "$h" 6)/128 dev p$h$i nodad"
		echo "route replace $(own $peer 6)/128 dev p$h$i metric $((100 + i))"
	fi
	[ -z "${TOPO_RESOLVE:-}" ] || return 0
	for f in 4 6; do
		[[ $families != *$f* ]] ||
			echo "neigh replace $(own $peer $f) lladdr 02:00:00:00:0$peer:0$i" \
				"dev p$h$i nud permanent"
	done
}

own() { # a|b 4|6
	case $1$2 in
	a4) echo "$A4" ;;
	b4) echo "$B4" ;;
	a6) echo "$A6" ;;
	b6) echo "$B6" ;;
	esac
}

# The kernel drops routes with the link. Call this after bringing a link up again.
plane_routes() { # I [4|6|46]
	route_commands a "$1" "${2:-46}" | ip -n "$HOST_A" -batch -
	route_commands b "$1" "${2:-46}" | ip -n "$HOST_B" -batch -
}

# plane_add I MTU [4|6|46]: makes the veth pair with addresses, without an RDMA port.
plane_add() {
	plane_commands a "$1" "$2" "${3:-46}" | ip -n "$HOST_A" -batch -
	plane_commands b "$1" "$2" "${3:-46}" | ip -n "$HOST_B" -batch -
}

port_state() { # DEV PORT -> ACTIVE, DOWN or nothing
	local state=''
	{ read -r _ state </sys/class/infiniband/"$1/ports/$2/state"; } 2>/dev/null ||
		true
	echo "$state"
}

port_is() { # DEV PORT STATE
	[ "$(port_state "$1" "$2")" = "$3" ]
}

# Index of ADDRESS in the port's GID table.
gid_index() { # DEV PORT ADDRESS
	local dir=/sys/class/infiniband/$1/ports/$2/gids want value i
	want=$(gid_text "$3")
	for ((i = 0; i < 128; i++)); do
		{ read -r value <"$dir/$i"; } 2>/dev/null || continue
		if [ "$value" = "$want" ]; then
			echo "$i"
			return 0
		fi
	done
	echo "no GID $3 on $1/$2" >&2
	return 1
}

# A GID as sysfs prints it: eight groups of four digits.
gid_text() { # ADDRESS
	local left right groups g out=() fill
	case $1 in
	*.*)
		local a b c d
		IFS=. read -r a b c d <<<"$1"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' \
			"$a" "$b" "$c" "$d"
		return
		;;
	esac
	left=${1%%::*} right=''
	[[ $1 != *::* ]] || right=${1#*::}
	IFS=: read -r -a groups <<<"$left"
	for g in ${groups[@]+"${groups[@]}"}; do
		out+=("$(printf '%04x' "0x$g")")
	done
	IFS=: read -r -a groups <<<"$right"
	fill=$((8 - ${#out[@]} - ${#groups[@]}))
	while [ "$fill" -gt 0 ]; do
		out+=(0000)
		fill=$((fill - 1))
	done
	for g in ${groups[@]+"${groups[@]}"}; do
		out+=("$(printf '%04x' "0x$g")")
	done
	(IFS=: && echo "${out[*]}")
}

resolved() { # NETNS DEV ADDRESS
	ip -n "$1" neigh show to "$3" dev "$2" | grep -q lladdr
}

# Lets both ends learn each other's MAC address on plane I, so that the first packets
# of a test are not dropped during the resolution. The reply to a ping may come back
# through another plane; only the resolution matters.
plane_resolve() { # I [4|6|46]
	local i=$1 families=${2:-46} a
	for a in 4 6; do
		[[ $families == *$a* ]] || continue
		if [ "$a" = 4 ]; then
			set -- "$A4" "$B4"
		else
			set -- "$A6" "$B6"
		fi
		in_a ping -q -c1 -W0.2 -I "pa$i" "$2" >/dev/null || true
		in_b ping -q -c1 -W0.2 -I "pb$i" "$1" >/dev/null || true
		wait_for 30 resolved "$HOST_A" "pa$i" "$2" || return 1
		wait_for 30 resolved "$HOST_B" "pb$i" "$1" || return 1
	done
}

# Waits until both ends of the RDMA port on plane I are usable and have the addresses
# as GIDs.
plane_ready() { # I [4|6|46]
	local i=$1 families=${2:-46} h f
	for h in a b; do
		wait_for 30 port_is "mrc$h" "$i" ACTIVE
		for f in 4 6; do
			[[ $families != *$f* ]] ||
				wait_for 30 gid_index "mrc$h" "$i" "$(own $h $f)"
		done
	done
	[ -z "${TOPO_RESOLVE:-}" ] || plane_resolve "$i" "$families"
}

# hosts_up: makes the two hosts with their management link, without planes.
hosts_up() {
	host_up "$HOST_A"
	host_up "$HOST_B"
	ip -n "$HOST_A" -batch - <<-END
		link add name mgmta type veth peer name mgmtb netns $HOST_B
		addr add $MGMT_A/24 dev mgmta
		link set mgmta up
	END
	ip -n "$HOST_B" -batch - <<-END
		addr add $MGMT_B/24 dev mgmtb
		link set mgmtb up
	END
}

link_add() { # a|b PLANE
	ip netns exec "host$1" rdma link add "mrc$1" type mrc netdev "p$1$2"
}

# Whether this machine has Ethernet controllers. Their drivers need not be loaded.
have_nics() {
	local f
	for f in /sys/bus/pci/devices/*/class; do
		[ ! -e "$f" ] || [[ $(<"$f") != 0x020000 ]] || return 0
	done
	return 1
}

# "NETDEV a|b PLANE" of NICs in the first namespace.
nic_netdevs() {
	local d address
	for d in /sys/class/net/*/device; do
		[ -e "$d" ] || continue
		d=${d%/device}
		address=$(cat "$d/address")
		[[ ! $address =~ ^02:00:00:00:0([ab]):0([1-9])$ ]] ||
			echo "${d##*/} ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
	done
}

nics_there() { # NUMBER
	[ "$(nic_netdevs | wc -l)" = "$1" ]
}

# Loads the drivers and moves the NICs to their hosts. Plugs in NICs that were
# unplugged.
nics_up() {
	local d h i
	for d in "${NIC_DRIVERS[@]}"; do
		modprobe "$d"
	done
	echo 1 >/sys/bus/pci/rescan
	wait_for 60 nics_there $((2 * ${#NIC_DRIVERS[@]}))
	while read -r d h i; do
		ip link set "$d" netns "host$h" name "p$h$i"
	done < <(nic_netdevs)
}

# The NICs return to the first namespace when their hosts end, and they disappear with
# their drivers. Only drivers that are modules have an initstate file.
nics_down() {
	local d
	for d in "${NIC_DRIVERS[@]}"; do
		[ ! -e "/sys/module/$d/initstate" ] || modprobe -r "$d" || true
	done
}

# topo_up PLANES|nics [MTU [4|6|46]]: makes all of the topology, ready for traffic.
topo_up() {
	local n=$1 mtu=${2:-4500} families=${3:-46} i h nic=''
	hosts_up
	if [ "$n" = nics ]; then
		n=${#NIC_DRIVERS[@]} nic=1
		nics_up
	fi
	for h in a b; do
		for ((i = 1; i <= n; i++)); do
			plane_commands $h "$i" "$mtu" "$families" $nic
		done | ip -n "host$h" -batch -
	done
	for h in a b; do
		for ((i = 1; i <= n; i++)); do
			echo "rdma link add mrc$h type mrc netdev p$h$i"
		done | ip netns exec "host$h" bash -e
	done
	PLANES=$n
	for ((i = 1; i <= n; i++)); do
		plane_ready "$i" "$families"
	done
}

rdma_devices() {
	local d
	for d in /sys/class/infiniband/*; do
		[ ! -e "$d" ] || echo "${d##*/}"
	done
}

device_gone() { [ ! -e "/sys/class/infiniband/$1" ]; }

# Removes everything that topo_up made, wholly or in part. Never fails.
topo_down() {
	local d ns pid
	for ns in "$HOST_A" "$HOST_B"; do
		[ -e "/run/netns/$ns" ] || continue
		for pid in $(ip netns pids "$ns" 2>/dev/null); do
			kill -9 "$pid" 2>/dev/null || true
		done
	done
	for d in $(rdma_devices); do
		rdma link del "$d" 2>/dev/null || true
	done
	for ns in "$HOST_A" "$HOST_B"; do
		[ ! -e "/run/netns/$ns" ] || ip netns del "$ns" || true
	done
	nics_down
	wait_for 30 no_leftover_netdevs >/dev/null || true
	PLANES=0
}

# The netdevs of a removed namespace disappear a moment later.
no_leftover_netdevs() {
	[ -z "$(rdma_devices)" ] && ! ip -o link show type veth | grep -q . && nics_there 0
}

# topo PLANES|nics [MTU [4|6|46]]: makes the topology that the next subtests need, new
# each time. Do not call it inside a subtest.
topo() {
	topo_down
	if ! topo_up "$@" >"$WORK/topo.log" 2>&1; then
		comment <"$WORK/topo.log"
		dmesg | tail -n 20 | comment
		echo "Bail out! cannot build the topology: $*"
		tap_done=1
		exit 1
	fi
}

# --- impairments on the planes --------------------------------------------------

# netem a|b PLANE ARGS...: impairs packets that this host sends.
netem() {
	local h=$1 i=$2
	shift 2
	tc -n "host$h" qdisc replace dev "p$h$i" root netem "$@"
}

# Every plane.
impair_all() { # a|b|ab NETEM...
	local hosts=$1 i
	shift
	for i in $(seq "$PLANES"); do
		[[ $hosts != *a* ]] || netem a "$i" "$@"
		[[ $hosts != *b* ]] || netem b "$i" "$@"
	done
}

unimpair() { # a|b PLANE
	tc -n "host$1" qdisc del dev "p$1$2" root 2>/dev/null || true
}

# drop_opcode OPCODE: drops packets with this opcode that arrive at A over two planes.
drop_opcode() {
	in_a nft -f - <<-END
		table netdev drop_opcode {
			chain in {
				type filter hook ingress devices = { pa1, pa2 } priority 0;
				udp dport 4791 @th,64,8 $1 drop
			}
		}
	END
}

drop_nothing() { in_a nft delete table netdev drop_opcode; }

unimpair_all() { # every plane, both ways
	local p
	for p in $(seq "$PLANES"); do
		unimpair a "$p"
		unimpair b "$p"
	done
}

# shape a|b PLANE KBIT: limits the rate at which this host sends. The bucket covers 64
# ms, so that late timers of a busy machine do not reduce the rate (the bucket fills
# only while the queue is empty). The queue never drops: it holds more than the
# documented window of a queue pair.
shape() {
	ip netns exec "host$1" tc qdisc replace dev "p$1$2" root \
		tbf rate "$3kbit" burst $(($3 * 8 + 10000)) limit 4m
}

# Switches the extension (SEND, READ, ...) for queue pairs made from now on, at both
# hosts or at one.
extension() { # on|off [a|b]
	local h
	for h in ${2:-a b}; do
		ctl "$h" dev set extension "$1"
	done
}
