#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl doctor on real hosts: each fault is made, is found, and is mended by the command
# that doctor proposes. Also show-gids and metrics, against what sysfs and rdma say.
# timeout: 600
# long
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_mrcctl.sh"
. "$NET_DIR/lib_doctor.sh"

# Doctor looks at neighbours.
TOPO_RESOLVE=1

# doctor a|b WORDS...
doctor() {
	local h=$1
	shift
	doctor_at "host$h" "mrc$h" "$@"
}

BOTH="--peer $B4 --peer $B6"

well() { # a|b WORDS...
	doctor "$@"
	[ "$rc" = 0 ] && [ -z "$(found error all)$(found warning all)" ]
}

# Runs the command in $fix at host A.
mend() {
	[ -n "$fix" ] || fail "no command was proposed"
	echo "# $fix"
	in_a bash -c "$fix"
}

# Nothing is left to mend at host A.
healed() {
	# shellcheck disable=SC2086 # words
	wait_for 30 well a $BOTH || fail "not healed: $(found error all) $(found warning all)"
}

# --- without a device ---------------------------------------------------------------

no_device() {
	rc=0
	mrcctl doctor >"$WORK/out" 2>"$WORK/err" || rc=$?
	check "$rc" == 1 "status of doctor"
	[ ! -s "$WORK/err" ] || fail "doctor said: $(cat "$WORK/err")"
	grep -q '^error    There is no mrc device\.$' "$WORK/out" || fail "$(cat "$WORK/out")"
	grep -q '^         # rdma link add mrc0 type mrc netdev NETDEV$' "$WORK/out" ||
		fail "$(cat "$WORK/out")"
	grep -q '^ok       The module mrc is loaded, UDP port 4791\.$' "$WORK/out" ||
		fail "$(cat "$WORK/out")"
	run_as "" doctor --peer nonsense
	check "$rc" == 2 "status of wrong words"
	run_as "" show-gids
	check "$(wc -l <"$WORK/out")" == 1 "lines of show-gids"
}

# --- a host with nothing wrong ------------------------------------------------------

healthy() {
	local p
	# shellcheck disable=SC2086 # words
	wait_for 30 well a $BOTH || fail "$(cat "$WORK/out")"
	for p in 1 2; do
		finds ok probe "$p" "$B4 answers on all 32 EVs through pa$p, rtt "
		finds ok probe "$p" "$B6 answers on all 32 EVs through pa$p, rtt "
	done
	finds ok gid 0 "GID index for $A4: $(gid_index mrca 1 "$A4") of port 1, $(gid_index mrca 2 "$A4") of port 2"
	finds ok port 0 "ACTIVE ports: 1 (pa1) 2 (pa2)."
	finds ok mtu 0 "All planes have MTU 4500."
	in_a mrcctl doctor mrca --peer "$B4" >"$WORK/text"
	tail -n 1 "$WORK/text" | grep -q '^0 errors, 0 warnings, ' || fail "$(cat "$WORK/text")"
	check "$(wc -l <"$WORK/text")" '<=' 24 "lines, which fit a screen"
}

# The other host's device is seen here too, but not its netdevs.
other_namespace() {
	rc=0
	in_a mrcctl -j doctor >"$WORK/out" || rc=$?
	check "$rc" == 0 "status of doctor for all devices"
	finds note namespace 0 "ports 1 2 are in another network namespace"
}

host_state() {
	in_a ip -d addr
	in_a ip route show table all
	in_a ip -6 route show table all
	in_a nft list ruleset
	in_a sysctl -a -r '^net\.ipv[46]\.(conf|neigh)' 2>/dev/null
	ctl a save
	rdma link
}

changes_nothing() {
	# Counters and lifetimes aside, which time changes.
	host_state | sed -E 's/(expires|valid_lft|preferred_lft) [0-9a-z]+//g' >"$WORK/before"
	# shellcheck disable=SC2086 # words
	doctor a $BOTH
	host_state | sed -E 's/(expires|valid_lft|preferred_lft) [0-9a-z]+//g' >"$WORK/after"
	same "$WORK/before" "$WORK/after" "the host after doctor"
}

unprivileged() {
	rc=0
	in_a "${as_nobody[@]}" mrcctl -j doctor mrca --peer "$B4" >"$WORK/out" 2>"$WORK/err" ||
		rc=$?
	check "$rc" == 0 "status of doctor without rights: $(cat "$WORK/out" "$WORK/err")"
	finds note privilege 0 "Without CAP_NET_ADMIN"
	finds note ev 0 "CAP_NET_ADMIN is needed"
	finds note firewall 0 "CAP_NET_ADMIN is needed"
	finds note probe 0 "$B4 was not probed"
	finds ok gid 0 "GID index for $A4:"
}

# --- faults, and what mends them ----------------------------------------------------

wrong_mtu() {
	ip -n "$HOST_A" link set pa2 mtu 1500
	# shellcheck disable=SC2086 # words
	doctor a $BOTH
	check "$rc" == 1 "status of doctor"
	finds error mtu 2 "The MTU 1500 of pa2 leaves 1024 bytes of payload, other planes have 4096."
	[ "$fix" = "ip link set pa2 mtu 4500" ] || fail "$fix"
	mend
	healed
}

no_route() {
	ip -n "$HOST_A" route del "$B4" dev pa2
	ip -n "$HOST_A" -6 route del "$B6" dev pa1
	# shellcheck disable=SC2086 # words
	doctor a $BOTH
	check "$rc" == 1 "status of doctor"
	finds error route 1 "There is no route to $B6 through pa1"
	mend
	finds error route 2 "There is no route to $B4 through pa2"
	mend
	healed
	# Traffic takes the plane again.
	ctr_mark
	verify --size 65536 --iters 20
	ctr_quiet
	ctr_take
	expect mrca/2 tx_data_pkts '>' 0
}

narrow_route() {
	ip -n "$HOST_A" route change "$B4" dev pa1 src "$A4" metric 101 mtu 1400
	doctor a --peer "$B4"
	finds error route 1 "The route to $B4 through pa1 has MTU 1400"
	ip -n "$HOST_A" route change "$B4" dev pa1 src "$A4" metric 101
	healed
}

firewall() {
	in_a nft -f - <<-'END'
		table inet wall {
			chain arriving {
				type filter hook input priority 0; policy accept;
				iifname "mgmta" accept
				udp dport 4000-5000 counter drop
			}
		}
	END
	doctor a --peer "$B4"
	check "$rc" == 1 "status of doctor"
	finds error probe 1 "$B4 answers on none of 32 EVs through pa1, nor through another plane"
	finds error firewall 1 "The chain arriving of table inet wall drops incoming packets to UDP ports 4791 and 4971."
	[ "$fix" = "nft insert rule inet wall arriving udp dport { 4791, 4971 } accept" ] || fail "$fix"
	mend
	healed
	in_a nft delete table inet wall
}

# A policy, a set, a chain that is called; the netdev of one plane only.
firewall_policy() {
	in_a nft -f - <<-'END'
		table ip wall {
			set open {
				type inet_service
				elements = { 22, 4000 }
			}
			chain arriving {
				type filter hook input priority 0; policy drop;
				iifname != "pa2" accept
				jump services
			}
			chain services {
				udp dport @open accept
			}
		}
	END
	doctor a --peer "$B4"
	finds error firewall 2 "The chain arriving of table ip wall drops incoming"
	finds error probe 2 "$B4 answers on none of 32 EVs through pa2: the plane is cut"
	finds ok probe 1 "$B4 answers on all 32 EVs through pa1"
	in_a nft add element ip wall open '{ 4791 }'
	healed
	# The other port that devices receive on is closed still.
	finds note firewall 2 "The chain arriving of table ip wall drops incoming packets to UDP port 4971. Some"
	mend
	doctor a --peer "$B4"
	finds_none note firewall
	finds ok firewall 0 "No rule of nftables drops UDP ports 4791 and 4971."
	in_a nft delete table ip wall
}

# Packets to a port that the controller has named for peers leave by the output chain.
firewall_of_peers_port() {
	in_a nft -f - <<-'END'
		table inet wall {
			chain leaving {
				type filter hook output priority 0; policy accept;
				udp dport 5000 counter drop
			}
		}
	END
	doctor a
	finds_none error firewall
	ctl a default set 192.0.2.0/24 udp_port 5000
	doctor a
	finds error firewall 1 "The chain leaving of table inet wall drops outgoing packets to UDP port 5000."
	mend
	doctor a
	finds_none error firewall
	finds ok firewall 0 "No rule of nftables drops UDP ports 4791, 4971 and 5000."
	ctl a default del 192.0.2.0/24
	in_a nft delete table inet wall
}

# The peer drops. Doctor sends the administrator there, where it finds the rule.
firewall_of_peer() {
	in_b nft -f - <<-'END'
		table inet wall {
			chain arriving {
				type filter hook input priority 0; policy accept;
				meta l4proto udp drop
			}
		}
	END
	doctor a --peer "$B4"
	finds error probe 2 "$B4 answers on none of 32 EVs"
	[ "$fix" = "on the peer: mrcctl doctor --peer $A4" ] || fail "$fix"
	finds_none error firewall
	doctor b --peer "$A4"
	finds error firewall 1 "The chain arriving of table inet wall drops incoming"
	in_b bash -c "$fix"
	healed
	in_b nft delete table inet wall
}

netdev_down() {
	local round
	ip -n "$HOST_A" link set pa1 down
	wait_for 30 port_is mrca 1 DOWN
	# shellcheck disable=SC2086 # words
	doctor a $BOTH
	check "$rc" == 1 "status of doctor"
	finds error port 1 "pa1 is down."
	[ "$fix" = "ip link set pa1 up" ] || fail "$fix"
	mend
	wait_for 30 port_is mrca 1 ACTIVE
	# The kernel has removed routes and the IPv6 address. Doctor says so, until all is
	# back.
	for round in 1 2 3; do
		# shellcheck disable=SC2086 # words
		doctor a $BOTH
		{
			found warning gid
			found error gid
			found error route
		} >"$WORK/todo"
		[ -s "$WORK/todo" ] || break
		while IFS='|' read -r _ _ fix; do
			mend
		done <"$WORK/todo"
		wait_for 30 gid_index mrca 1 "$A6"
	done
	echo "rounds: $round"
	healed
}

no_carrier() {
	ip -n "$HOST_B" link set pb2 down
	wait_for 30 port_is mrca 2 DOWN
	doctor a --peer "$B4"
	finds error port 2 "pa2 has no carrier"
	finds_none error route
	ip -n "$HOST_B" link set pb2 up
	plane_routes 2
	plane_ready 2
	healed
}

port_disabled() {
	ctl a port set 2 disable
	wait_for 30 port_is mrca 2 DOWN
	doctor a
	finds error port 2 "A controller has disabled the port."
	mend
	wait_for 30 port_is mrca 2 ACTIVE
	healed
}

sysctls() {
	in_a sysctl -q -w net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.all.arp_ignore=0 \
		net.ipv4.conf.pa2.arp_ignore=0 net.ipv4.conf.pa1.arp_filter=1
	doctor a
	check "$rc" == 1 "status of doctor"
	finds warning arp_ignore 0 "arp_ignore is 0 on pa2"
	mend
	finds error arp_filter 0 "arp_filter is on for pa1"
	mend
	finds error rp_filter 0 "rp_filter is strict (1) on pa1 pa2"
	mend
	check "$(in_a sysctl -n net.ipv4.conf.all.rp_filter)" == 2 "rp_filter"
	healed
	host_sysctls "$HOST_A"
}

extension_off() {
	ctl a dev set extension off
	doctor a
	check "$rc" == 0 "status of doctor"
	finds note extension 0 "The extension is off"
	mend
	doctor a
	finds ok extension 0 "is on"
}

denied_evs() {
	paths_up
	quiet ev deny 7 c002@2,c004@2
	doctor a
	finds warning ev 2 "All 2 EVs of EV profile 7 are denied"
	quiet ev allow 7 c002@2,c004@2
	# Probes take the EVs of the default.
	quiet default set "$B4" ev 7
	doctor a --peer "$B4"
	finds ok probe 2 "$B4 answers on all 2 EVs through pa2"
	quiet default del "$B4"
	paths_down
}

# --- a peer that does not answer ----------------------------------------------------

absent_peer() {
	local p
	doctor a --peer 10.1.0.99
	check "$rc" == 1 "status of doctor"
	for p in 1 2; do
		finds error route "$p" "There is no route to 10.1.0.99 through pa$p"
		mend
	done
	# The kernel asks for the neighbour as soon as a probe leaves.
	doctor a --peer 10.1.0.99
	for p in 1 2; do
		finds error neighbour "$p" "10.1.0.99 does not answer ARP requests through pa$p"
		ip -n "$HOST_A" route del 10.1.0.99 dev "pa$p"
	done
	doctor a --peer fd00:9::9
	finds error route 1 "There is no route to fd00:9::9 through pa1"
}

peer_without_device() {
	rdma link del mrcb
	doctor a --peer "$B4"
	check "$rc" == 1 "status of doctor"
	finds error probe 1 "it has no mrc device with this address, another UDP port, or a firewall"
	link_add b 1
	link_add b 2
	plane_ready 1
	plane_ready 2
	healed
}

# --- show-gids ----------------------------------------------------------------------

gid_table() {
	local port i gid
	do_a show-gids
	head -n 1 "$WORK/out" |
		grep -q '^DEV  *PORT INDEX GID  *IPv4  *VER  NETDEV$' || fail "$(cat "$WORK/out")"
	sed 1d "$WORK/out" | awk '{ print $2, $3, $4, $NF }' >"$WORK/got"
	for port in 1 2; do
		for i in $(seq 0 127); do
			gid=$(cat "/sys/class/infiniband/mrca/ports/$port/gids/$i")
			[ "$gid" = 0000:0000:0000:0000:0000:0000:0000:0000 ] ||
				echo "$port $i $gid pa$port"
		done
	done >"$WORK/want"
	same "$WORK/want" "$WORK/got" "the table of GIDs"
	do_a -j show-gids
	[ "$(json "[g['index'] for g in d if g['ipv4'] == '$A4' and g['type'] == 'v2']")" = \
		"$(gid_index mrca 1 "$A4") $(gid_index mrca 2 "$A4")" ] || fail "$(cat "$WORK/out")"
	in_a mrcctl show-gids >"$WORK/all"
	grep -q '^mrcb ' "$WORK/all" || fail "no mrcb: $(cat "$WORK/all")"
}

# --- metrics ------------------------------------------------------------------------

metric() { # NAME LABELS: the value in $WORK/prom
	grep -F "$1{$2} " "$WORK/prom" | sed 's/.* //'
}

real_metrics() {
	local p part
	verify_start --watchdog 100 --qps 2 --duration 1000 --size 65536 --op write --timeout 18
	wait_for 40 verify_running
	in_a "${as_nobody[@]}" mrcctl -d mrca metrics >"$WORK/prom"
	for part in qps=0 ev_profiles=0 ports=1 device=1; do
		check "$(metric mrc_collector_success "device=\"mrca\",collector=\"${part%=*}\"")" \
			== "${part#*=}" "${part%=*} without rights"
	done
	ctl a metrics "$WORK/prom"
	verify_stop
	for part in device ports qp_names qps ev_profiles; do
		check "$(metric mrc_collector_success "device=\"mrca\",collector=\"$part\"")" == 1 \
			"$part was read"
	done
	check "$(metric mrc_qps 'device="mrca",state="RTS"')" == 2 "queue pairs"
	check "$(metric mrc_ev_profile_qps 'device="mrca",profile="none"')" == 2 "without profile"
	for p in 1 2; do
		check "$(metric mrc_port_up "device=\"mrca\",port=\"$p\",netdev=\"pa$p\"")" == 1 \
			"port $p is up"
		check "$(metric mrc_qp_evs "device=\"mrca\",port=\"$p\",state=\"good\"")" == 64 \
			"EVs of port $p"
	done
	awk '/^mrc_qp_port_bytes_ratio\{/ { s += $2 }
		/^mrc_qp_srtt_mean_seconds\{/ { rtt = $2 }
		/^mrc_qp_cwnd_max_bytes\{/ { cwnd = $2 }
		END { exit !(s > 0.999 && s < 1.001 && rtt > 0 && rtt < 10 && cwnd > 0) }' \
		"$WORK/prom" || fail "$(grep ^mrc_qp "$WORK/prom")"
	# At rest, each counter is what rdma statistic says.
	ctr_mark
	ctr_quiet
	ctl a metrics "$WORK/prom"
	ctr_take
	awk '$1 ~ /^mrca\// { print $1, $2, $3 }' "$WORK/take" | LC_ALL=C sort >"$WORK/want"
	sed -n -E 's/^mrc_port_([a-z0-9_]+)_total\{device="(mrca)",port="([0-9]+)"\} ([0-9]+)$/\2\/\3 \1 \4/p' \
		"$WORK/prom" | LC_ALL=C sort >"$WORK/got"
	same "$WORK/want" "$WORK/got" "the counters"
	check "$(wc -l <"$WORK/got")" '>' 150 "counters"
	[ ! -e "$WORK/prom.$$" ] || fail "a file was left"
}

subtest "no device: doctor says how to make one" no_device
topo 2 4500
subtest "nothing is wrong with a host of two planes" healthy
subtest "doctor changes nothing" changes_nothing
subtest "netdevs of another namespace" other_namespace
subtest "doctor without rights" unprivileged
subtest "an MTU that is too small" wrong_mtu
subtest "a plane without route" no_route
subtest "a route with a small MTU" narrow_route
subtest "a firewall that drops at the input" firewall
subtest "a firewall whose policy drops what comes in from one plane" firewall_policy
subtest "a firewall in front of a port of peers" firewall_of_peers_port
subtest "a firewall of the peer" firewall_of_peer
subtest "a netdev that is down" netdev_down
subtest "a netdev without carrier" no_carrier
subtest "a port that a controller disabled" port_disabled
subtest "sysctls that break planes" sysctls
subtest "the extension is off" extension_off
subtest "EVs that are denied, and the EVs of a default" denied_evs
subtest "a peer that is not there" absent_peer
subtest "show-gids against sysfs" gid_table
subtest "metrics beside traffic, with and without rights; the counters" real_metrics
subtest "a peer without a device" peer_without_device
tap_end
