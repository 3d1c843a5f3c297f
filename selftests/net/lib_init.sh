# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Both hosts of lib_topo.sh in the initial namespace, for kernel drivers that work
# only there: mrca and mrcb with the same planes, names and IPv4 addresses. There is
# no IPv6 and no management link. Sourced after lib.sh.
#
# Linux reaches its own addresses through lo. Rules therefore send packets for one of
# the two hosts out through the planes of the other one, as between namespaces.
# Packets that come in from a plane are local.
init_up() { # PLANES [MTU]
	local n=$1 mtu=${2:-4500} i h
	sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.arp_ignore=1 \
		net.ipv4.conf.all.accept_local=1
	for ((i = 1; i <= n; i++)); do
		echo "link add name pa$i mtu $mtu address 02:00:00:00:0a:0$i type veth" \
			"peer name pb$i mtu $mtu address 02:00:00:00:0b:0$i"
		for h in a b; do
			echo "link set p$h$i up"
			echo "addr add $(own $h 4)/32 dev p$h$i"
			echo "rule add pref 10 iif p$h$i lookup local"
		done
	done | ip -batch -
	for ((i = 1; i <= n; i++)); do
		sysctl -q -w "net.ipv4.conf.pa$i.rp_filter=0" "net.ipv4.conf.pb$i.rp_filter=0"
		route_commands a "$i" 4
		route_commands b "$i" 4
	done | ip -batch -
	ip -batch - <<-END
		rule add pref 20 to $A4 lookup main
		rule add pref 20 to $B4 lookup main
		rule add pref 30 lookup local
		rule del pref 0
	END
	for h in a b; do
		for ((i = 1; i <= n; i++)); do
			rdma link add "mrc$h" type mrc netdev "p$h$i"
		done
	done
	PLANES=$n
	for ((i = 1; i <= n; i++)); do
		plane_ready "$i" 4
	done
}

# Never fails, also when another topology exists.
init_down() {
	local d
	for d in mrca mrcb; do
		rdma link del "$d" 2>/dev/null || true
	done
	if ip rule show pref 30 | grep -q 'lookup local'; then
		ip rule add pref 0 lookup local
		ip rule del pref 30
	fi
	while ip rule del pref 10 2>/dev/null || ip rule del pref 20 2>/dev/null; do :; done
	for d in $(ip -o link show type veth | grep -o -E '\<pa[0-9]+\>' | sort -u); do
		ip link del "$d" 2>/dev/null || true
	done
}
