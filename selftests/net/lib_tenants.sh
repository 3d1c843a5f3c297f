# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Two tenants share a NIC. Each has a network namespace on either host, with a veth to a
# bridge of the host and a device of its own. Sourced after lib.sh.
#
#	reda   eth0 -- reda --+               +-- redb  -- eth0   redb
#	                   nicbr - pa1 - pb1 - nicbr
#	bluea  eth0 -- bluea -+               +-- blueb -- eth0   blueb
#
. "$NET_DIR/lib_netns.sh"
. "$NET_DIR/lib_cgroup.sh"

TENANTS=(reda redb bluea blueb)
RED=10.7.0 BLUE=10.8.0 GREEN=10.9.0

addr() { # NETNS
	case $1 in
	reda) echo $RED.1 ;;
	redb) echo $RED.2 ;;
	bluea) echo $BLUE.1 ;;
	blueb) echo $BLUE.2 ;;
	greena) echo $GREEN.1 ;;
	greenb) echo $GREEN.2 ;;
	esac
}

in_ns() { ip netns exec "$@"; }

hw_now() { # DEV NAME
	hw=$(in_ns "${1#mrc}" cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2")
}

ctr_json() {
	local ns
	for ns in "${TENANTS[@]}"; do
		[ ! -e "/run/netns/$ns" ] || in_ns "$ns" rdma -j statistic show link
	done
}

bridge_up() { # a|b
	ip -n "host$1" link add name nicbr mtu 4500 type bridge
	ip -n "host$1" link set "p${1}1" master nicbr
	ip -n "host$1" link set nicbr up
}

# The host gives a tenant a netdev, and makes a device of it. What comes from the tenant
# passes only with the hardware address and the address that the host has given out, and
# reaches nobody on the same NIC. The filter is at the host's end of the veth, where no
# tenant can change it.
tenant_up() { # NETNS
	host_up "$1"
	tenant_device "$1"
}

# The part after the namespace is there.
tenant_device() { # NETNS
	local host=host${1: -1}
	# A closed connection whose other end has gone keeps its namespace until TCP gives up.
	ip netns exec "$1" sysctl -q -w net.ipv4.tcp_orphan_retries=1
	ip -n "$host" link add name "$1" mtu 4500 type veth peer name eth0 mtu 4500 netns "$1"
	ip -n "$host" link set "$1" master nicbr
	ip -n "$host" link set "$1" type bridge_slave isolated on
	ip netns exec "$host" nft -f - <<-END
		table netdev $1 {
			counter forged { }
			chain in {
				type filter hook ingress device $1 priority 0; policy drop;
				ether saddr $(mac "$1" eth0) ip saddr $(addr "$1") accept
				ether saddr $(mac "$1" eth0) arp saddr ip $(addr "$1") accept
				ether type { ip, ip6, arp } counter name forged
			}
		}
	END
	ip -n "$host" link set "$1" up
	ip -n "$1" addr add "$(addr "$1")/24" dev eth0
	ip -n "$1" link set eth0 up
	# Nothing in the tenants' own settings keeps them apart.
	ip -n "$1" route add 10.0.0.0/8 dev eth0
	in_ns "$1" rdma link add "mrc$1" type mrc netdev eth0
	home[mrc$1]=$1
	wait_for 30 port_is "mrc$1" 1 ACTIVE
	wait_for 30 gid_index "mrc$1" 1 "$(addr "$1")"
}

tenant_down() { # NETNS
	local pid
	[ -e "/run/netns/$1" ] || return 0
	for pid in $(ip netns pids "$1"); do
		kill -9 "$pid" 2>/dev/null || true
	done
	# The device ends with the namespace, and both with the last process.
	ip netns del "$1"
	wait_for 60 no_verbs_device "mrc$1"
	ip netns exec "host${1: -1}" nft delete table netdev "$1"
}

# Names of the verbs devices are seen from everywhere.
no_verbs_device() { ! grep -q -s -x "$1" /sys/class/infiniband_verbs/uverbs*/ibdev; }

# --- traffic -------------------------------------------------------------------------

# t_start red|blue OPTIONS...: mrc_verify from A to B; t_end waits, t_stop ends it.
declare -A t_client=() t_server=()
t_start() {
	local t=$1
	shift
	rm -f "$WORK/$t.client" "$WORK/$t.server"
	start "$WORK/$t.server" ip netns exec "${t}b" mrc_verify -d "mrc${t}b" --gid "$(addr "${t}b")"
	t_server[$t]=$started
	start "$WORK/$t.client" ip netns exec "${t}a" mrc_verify -d "mrc${t}a" --gid "$(addr "${t}a")" \
		"$@" "$(addr "${t}b")"
	t_client[$t]=$started
}

t_running() { grep -q '^t=[0-9]' "$WORK/$1.client"; }

t_end() { # red|blue
	local crc=0 src=0
	finished "${t_client[$1]}" 120 || crc=$?
	finished "${t_server[$1]}" 30 || src=$?
	if [ "$crc$src" != 00 ] || ! grep -q '^mrc_verify: OK' "$WORK/$1.client" ||
		! grep -q '^mrc_verify: OK' "$WORK/$1.server"; then
		tail -n 15 "$WORK/$1.client" "$WORK/$1.server"
		fail "$1: client $crc, server $src"
	fi
}

t_stop() { # red|blue
	kill -INT "${t_client[$1]}"
	t_end "$1"
}

# Red is served well, whatever blue does meanwhile.
red_begin() {
	t_start red --duration 1000 --op mixed --size 1,4097,65536 --timeout 18
	wait_for 60 t_running red
	ctr_mark
}
red_well() {
	local from
	from=$(ctr_now mrcredb rx_data_pkts)
	wait_for 60 ctr_at_least mrcredb rx_data_pkts $((from + 100))
	t_stop red
	ctr_quiet 20
	ctr_take
	for d in mrcreda mrcredb; do
		expect $d qp_errors == 0
		expect $d retry_exceeded == 0
	done
}

bandwidth() { # red|blue OPTIONS...
	local t=$1
	shift
	perftest_between "${t}a" "mrc${t}a" "$(addr "${t}a")" "${t}b" "mrc${t}b" "$(addr "${t}b")" \
		"$(addr "${t}b")" ib_write_bw -s 65536 -D 1000 -u 19 "$@"
	wait_for 60 ctr_at_least "mrc${t}b" rx_data_pkts $(($(ctr_now "mrc${t}b" rx_data_pkts) + 50))
}

all_gone() {
	local ns
	for ns in "${TENANTS[@]}"; do
		tenant_down "$ns"
	done
	cgroup_down memory
	home=()
	topo_down
}

# Both tenants on both hosts, in the mode in which each sees its own device only.
tenants_up() {
	local ns
	wait_for 30 exclusive_now >"$WORK/mode" ||
		tap_skip_all "this kernel cannot give devices to namespaces: $(rdma system set netns exclusive 2>&1)"
	trap leave_exclusive EXIT
	hosts_up
	plane_add 1 4500
	bridge_up a
	bridge_up b
	for ns in "${TENANTS[@]}"; do
		tenant_up "$ns"
	done
}
