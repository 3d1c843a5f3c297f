#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcctl plane on real netdevs: it makes bare netdevs planes that carry traffic, and takes
# back exactly what it has changed. mrcctl links makes their device, as a file says, also
# when netdevs of the file come later.
# timeout: 300
# long
# kmsg-ok: mrc[ :].*not an Ethernet
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_mrcctl.sh"

TOPO_RESOLVE=1

# --- hosts without planes -----------------------------------------------------------

# Two pairs of netdevs as a machine has them after boot: no addresses, no routes, strict
# filters.
bare_hosts() {
	local i h
	hosts_up
	for i in 1 2; do
		ip -n "$HOST_A" link add name "pa$i" type veth peer name "pb$i" netns "$HOST_B"
	done
	for h in a b; do
		ip netns exec "host$h" sysctl -q -w net.ipv4.conf.all.rp_filter=1 \
			net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.default.arp_ignore=0 \
			net.ipv4.conf.pa1.arp_ignore=0 net.ipv4.conf.pa2.arp_ignore=0 \
			net.ipv4.conf.pb1.arp_ignore=0 net.ipv4.conf.pb2.arp_ignore=0 \
			2>/dev/null || true
	done
	PLANES=2
}

# All that "plane" may change at a host.
state_of() { # a|b
	local ns=host$1
	# Link-local addresses come with a moment of delay.
	ip -n "$ns" -o addr show scope global | sed -E 's/(valid|preferred)_lft.*//'
	# The kernel attaches a qdisc when a netdev is set up for the first time.
	ip -n "$ns" -o link show | sed -E 's/^[0-9]+: //; s/,LOWER_UP|,M-DOWN|NO-CARRIER,//g
		s/qdisc [a-z]+|state [A-Z]+//g'
	# So do routes of IPv6 that the kernel makes for each netdev.
	ip -n "$ns" -4 route show table all
	ip -n "$ns" -6 route show table all | grep -v -E 'fe80|multicast|anycast' || true
	ip netns exec "$ns" sysctl -a -r '^net\.ipv4\.conf\..*\.(rp_filter|arp_ignore|arp_filter)' \
		2>/dev/null
}

plane() { # a|b WORDS...
	local h=$1
	shift
	run_as "ip netns exec host$h" plane "$@"
	[ "$rc" = 0 ] || fail "mrcctl plane $* ended with $rc: $(cat "$WORK/err")"
}

add_words() { # a|b I: the words behind "plane add"
	local peer=b
	[ "$1" = a ] || peer=a
	echo "p$1$2 addr $(own "$1" 4) addr $(own "$1" 6) route $(own $peer 4)" \
		"route $(own $peer 6)"
}

# --- tests --------------------------------------------------------------------------

tries_nothing() {
	state_of a >"$WORK/bare-a"
	state_of b >"$WORK/bare-b"
	# shellcheck disable=SC2046 # words
	plane a add $(add_words a 1) --dry-run
	grep -q -x "ip link set dev pa1 mtu 4500" "$WORK/out" || fail "$(cat "$WORK/out")"
	grep -q -x "sysctl -q -w net.ipv4.conf.all.rp_filter=2" "$WORK/out" ||
		fail "$(cat "$WORK/out")"
	check "$(wc -l <"$WORK/out")" == 8 "commands: $(cat "$WORK/out")"
	state_of a >"$WORK/now"
	same "$WORK/bare-a" "$WORK/now" "host A"
	plane a show
	[ ! -s "$WORK/out" ] || fail "$(cat "$WORK/out")"
}

carries_traffic() {
	local h i
	for i in 1 2; do
		for h in a b; do
			# shellcheck disable=SC2046 # words
			plane $h add $(add_words $h "$i")
		done
	done
	for h in a b; do
		printf '# two planes\n\nname = mrc%s\nnetdev = p%s1\nnetdev = p%s2\n' $h $h $h \
			>"$WORK/mrc$h.conf"
		run_as "ip netns exec host$h" links up "$WORK/mrc$h.conf"
		check "$rc" == 0 "status of links up: $(cat "$WORK/err")"
	done
	for i in 1 2; do
		plane_ready "$i"
	done
	run_as "ip netns exec $HOST_A" doctor mrca --peer "$B4" "$B6"
	check "$rc" == 0 "status of doctor: $(cat "$WORK/out")"
	grep -q '^0 errors, 0 warnings, ' "$WORK/out" || fail "$(cat "$WORK/out")"
	ctr_mark
	verify --size 65536 --iters 40
	verify -6 --size 65536 --iters 40
	ctr_quiet
	ctr_take
	expect mrca/1 tx_data_pkts '>' 0
	expect mrca/2 tx_data_pkts '>' 0
}

nothing_twice() {
	state_of a >"$WORK/before"
	# shellcheck disable=SC2046 # words
	plane a add $(add_words a 1) --dry-run
	[ ! -s "$WORK/out" ] || fail "again: $(cat "$WORK/out")"
	# shellcheck disable=SC2046 # words
	plane a add $(add_words a 1)
	state_of a >"$WORK/now"
	same "$WORK/before" "$WORK/now" "host A"
}

# The sysctls of all stay as long as there is a plane.
takes_back() {
	local h
	for h in a b; do
		run_as "ip netns exec host$h" links down "$WORK/mrc$h.conf"
		check "$rc" == 0 "status of links down: $(cat "$WORK/err")"
		wait_for 30 device_gone "mrc$h"
	done
	plane a del pa1
	[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
	check "$(in_a sysctl -n net.ipv4.conf.all.rp_filter)" == 2 "rp_filter with one plane"
	check "$(ip -n "$HOST_A" route show dev pa1 | wc -l)" == 0 "routes of pa1"
	check "$(ip -n "$HOST_A" route show dev pa2 | wc -l)" == 1 "routes of pa2"
	plane a del pa2
	plane b del pb2
	plane b del pb1
	state_of a >"$WORK/now"
	same "$WORK/bare-a" "$WORK/now" "host A"
	state_of b >"$WORK/now"
	same "$WORK/bare-b" "$WORK/now" "host B"
	plane a show
	[ ! -s "$WORK/out" ] || fail "$(cat "$WORK/out")"
}

# A router that is not on link is refused by the kernel in the last step.
fails_whole() {
	run_as "ip netns exec $HOST_A" plane add pa1 addr "$A4" route "$B4" via 198.51.100.1
	check "$rc" == 2 "status of plane add"
	grep -q '^mrcctl: ip -4 route add 10.1.0.2/32 via 198.51.100.1 .*: ' "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	state_of a >"$WORK/now"
	same "$WORK/bare-a" "$WORK/now" "host A"
	run_as "ip netns exec $HOST_A" plane del pa1
	denied 2 '"plane add" has changed nothing of pa1' "plane del pa1"
	run_as "ip netns exec $HOST_A" plane add pa9
	denied 2 "no netdev pa9" "plane add pa9"
}

# Somebody else's changes are not undone.
others_change() {
	plane a add pa1 addr "$A4" route "$B4"
	ip -n "$HOST_A" link set pa1 mtu 9000
	plane a del pa1
	grep -q 'left alone, it has changed since: ip link set dev pa1 mtu 1500$' "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	ip -n "$HOST_A" -j link show dev pa1 | grep -q '"mtu":9000' || fail "the MTU was undone"
	ip -n "$HOST_A" link set pa1 mtu 1500
	state_of a >"$WORK/now"
	same "$WORK/bare-a" "$WORK/now" "host A"
}

unprivileged() {
	run_as "ip netns exec $HOST_A ${as_nobody[*]}" plane add pa1 addr "$A4"
	check "$rc" == 2 "status of plane add without rights"
	grep -q '^mrcctl: /run/mrc.*: Permission denied$' "$WORK/err" || fail "$(cat "$WORK/err")"
	state_of a >"$WORK/now"
	same "$WORK/bare-a" "$WORK/now" "host A"
}

links_run() { # WORDS...: "mrcctl links" at host A, whose file is $WORK/mrc.conf
	run_as "ip netns exec $HOST_A" links "$@" "$WORK/mrc.conf"
}

links_of_a_file() {
	echo '{"formats":[{"id":1,"mode":"udp","fields":[16]}]}' >"$WORK/profiles.json"
	cat >"$WORK/mrc.conf" <<-END
		name = mrca
		netdev = pa2
		netdev = pa1
		profiles = $WORK/profiles.json
		extension = off
	END
	links_run check
	check "$rc" == 0 "status of links check: $(cat "$WORK/err")"
	[ -z "$(rdma_devices)" ] || fail "check made a device"
	links_run up
	check "$rc" == 0 "status of links up: $(cat "$WORK/err")"
	# In the order of the file.
	[ "$(in_a rdma link show | sed -n 's/.* netdev //p' | xargs)" = "pa2 pa1" ] ||
		fail "$(in_a rdma link show)"
	shows fmt <<<'fmt 1 state online mode udp fields 16'
	do_a dev
	grep -q '^    extension off$' "$WORK/out" || fail "$(cat "$WORK/out")"
	# Again: all is there.
	links_run up
	check "$rc" == 0 "status of links up: $(cat "$WORK/err")"
	links_run down
	check "$rc" == 0 "status of links down: $(cat "$WORK/err")"
	wait_for 30 device_gone mrca

	# Errors have file and line.
	sed -i 's/^netdev = pa1$/netdev = pa7/' "$WORK/mrc.conf"
	links_run check
	check "$rc" == 2 "status of links check"
	grep -q -F -x "mrcctl: $WORK/mrc.conf:3: there is no netdev pa7" "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	sed -i 's/pa7/lo/' "$WORK/mrc.conf"
	links_run up
	check "$rc" == 2 "status of links up with lo"
	grep -q '^mrcctl: rdma link add mrca type mrc netdev lo: .*Invalid argument' "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	rdma link del mrca 2>/dev/null || true
}

# --- netdevs that come later ----------------------------------------------------------

pair_of_netdevs() { # I
	ip -n "$HOST_A" link add name "pa$1" type veth peer name "pb$1" netns "$HOST_B"
}

ports_of() { # a|b: "PORT STATE NETDEV" of each
	ip netns exec "host$1" rdma link show | sed -n -E "s,^link mrc$1/,,
		s/^([0-9]+) state ([A-Z]+).* netdev ([^ ]+).*/\\1 \\2 \\3/p
		s/^([0-9]+) state ([A-Z]+) .*/\\1 \\2 -/p"
}
ports_are() { [ "$(ports_of "$1")" = "$2" ]; } # a|b LINES

links_at() { # a|b STATUS WORDS...
	local h=$1 status=$2
	shift 2
	run_as "ip netns exec host$h" links "$@" "$WORK/later-$h.conf"
	check "$rc" == "$status" "status of links $* at $h: $(cat "$WORK/err")"
}

# Plane 2 is not there yet, but its port is.
one_is_absent() {
	local h
	ip -n "$HOST_A" link del pa2
	state_of a >"$WORK/bare-a"
	state_of b >"$WORK/bare-b"
	for h in a b; do
		printf '%s\n' "name = mrc$h" "netdev = p${h}1" "netdev = p${h}2" \
			"plane = $(add_words $h 1)" "plane = $(add_words $h 2)" \
			>"$WORK/later-$h.conf"
		links_at $h 0 up
		grep -q -F -x "mrcctl: $WORK/later-$h.conf:3: there is no netdev p${h}2: port 2 is vacant" \
			"$WORK/err" || fail "$(cat "$WORK/err")"
		! ip -n "host$h" link show | grep mrcvacant || fail "a placeholder is left"
	done
	for h in a b; do
		wait_for 30 ports_are $h "1 ACTIVE p${h}1"$'\n'"2 DOWN -" || fail "$(ports_of $h)"
	done
	plane_ready 1
	ctr_mark
	verify --size 65536 --iters 40
	ctr_quiet
	ctr_take
	expect mrca/1 tx_data_pkts '>' 0
}

# Once because it is new, and once because it went away and came back.
joins_under_traffic() {
	local h n i
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	for i in 1 2; do
		pair_of_netdevs 2
		for h in a b; do
			links_at $h 0 join
			[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
		done
		for h in a b; do
			wait_for 30 ports_are $h "1 ACTIVE p${h}1"$'\n'"2 ACTIVE p${h}2" ||
				fail "$(ports_of $h)"
		done
		n=$(ctr_now mrca/2 tx_data_pkts)
		wait_for 60 ctr_at_least mrca/2 tx_data_pkts $((n + 100))
		[ "$i" = 2 ] || ip -n "$HOST_A" link del pa2
	done
	verify_stop
}

goes_with_its_planes() {
	local h
	for h in a b; do
		links_at $h 0 down
		[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
		wait_for 30 device_gone "mrc$h"
	done
	plane a show
	[ ! -s "$WORK/out" ] || fail "$(cat "$WORK/out")"
	ip -n "$HOST_A" link del pa2
	for h in a b; do
		state_of $h >"$WORK/now"
		same "$WORK/bare-$h" "$WORK/now" "host $h"
	done
	pair_of_netdevs 2
}

# The third of three comes before the first.
places_are_kept() {
	printf '%s\n' 'name = mrca' 'netdev = pa7' 'netdev = pa8' 'netdev = pa9' >"$WORK/later-a.conf"
	links_at a 3 up
	[ -z "$(rdma_devices)" ] || fail "a device without netdevs"
	pair_of_netdevs 8
	links_at a 0 join
	ports_are a $'1 DOWN -\n2 DOWN pa8\n3 DOWN -' || fail "$(ports_of a)"
	pair_of_netdevs 9
	links_at a 0 join
	ports_are a $'1 DOWN -\n2 DOWN pa8\n3 DOWN pa9' || fail "$(ports_of a)"
	pair_of_netdevs 7
	links_at a 0 join
	ports_are a $'1 DOWN pa7\n2 DOWN pa8\n3 DOWN pa9' || fail "$(ports_of a)"
	[ ! -s "$WORK/err" ] || fail "$(cat "$WORK/err")"
	ip -n "$HOST_A" link del pa8
	ip -n "$HOST_A" link del pa9
	ip -n "$HOST_A" link del pa7
	links_at a 0 down
	wait_for 30 device_gone mrca
}

# A namespace with this inode number.
namespace_again() { # INODE
	ip netns add short
	[ "$(stat -Lc %i /run/netns/short)" != "$1" ] || return 0
	ip netns del short
	return 1
}

# What was changed in a namespace ends with it: a new one with its inode number has nothing to
# take back.
namespace_ends() {
	local i inode=''
	for i in 1 2; do
		if [ -z "$inode" ]; then
			ip netns add short
			inode=$(stat -Lc %i /run/netns/short)
		elif ! wait_for 30 namespace_again "$inode"; then
			skip "no inode number was given again"
		fi
		# It has those of the first namespace, which an earlier script may have changed.
		ip netns exec short sysctl -q -w net.ipv4.conf.all.arp_ignore=0 \
			net.ipv4.conf.default.arp_ignore=0
		ip -n short link add pa1 type veth peer name pa2
		run_as "ip netns exec short" plane add pa1 addr 192.0.2.9 --dry-run
		check "$rc" == 0 "status of a dry run: $(cat "$WORK/err")"
		grep -q 'sysctl .*arp_ignore=1' "$WORK/out" || fail "no change: $(cat "$WORK/out")"
		run_as "ip netns exec short" plane del pa1
		denied 2 '"plane add" has changed nothing of pa1' "plane del in namespace $i"
		run_as "ip netns exec short" plane add pa1 addr 192.0.2.9
		check "$rc" == 0 "status of plane add: $(cat "$WORK/err")"
		ip netns del short
	done
}

topo_down
bare_hosts
subtest "a dry run changes nothing" tries_nothing
subtest "bare netdevs become planes, which carry traffic" carries_traffic
subtest "what is right is not changed again" nothing_twice
subtest "all is as before when the planes are gone" takes_back
subtest "a step that fails undoes those before it" fails_whole
subtest "what others have changed since is left alone" others_change
subtest "without rights nothing changes" unprivileged
subtest "devices as a file says" links_of_a_file
subtest "a netdev of the file is absent" one_is_absent
subtest "it joins under traffic, and again after it was gone" joins_under_traffic
subtest "planes of a file go with the device" goes_with_its_planes
subtest "ports have the order of the file, whatever comes first" places_are_kept
subtest "what was changed ends with the namespace" namespace_ends
rm -rf /run/mrc
tap_end
