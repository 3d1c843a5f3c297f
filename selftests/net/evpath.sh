#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# EVs are paths: on the SRv6 fabric every EV of a generated profile takes exactly the
# links that it names. A path drops packets silently; a spine goes down and comes
# back. In both cases exactly the EVs that lead there become ASSUMED_BAD, traffic
# continues on the others, and probes make them GOOD again.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

# The directions of links between switches on the paths from host 1 to host 3.
forward_links() {
	local p s
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			echo "p${p}l1:s$s"
			echo "p${p}s$s:l2"
		done
	done
}

# Lines "PLANE SPINE" of the profile, by index.
all_paths() {
	local v
	profile_list 1 3 >"$WORK/evs"
	while read -r _ v _; do
		ev_path "$v"
	done <"$WORK/evs"
}

every_pair_once() {
	local want p s
	want=$(for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do echo "$p $s"; done
	done)
	[ "$(all_paths | sort)" = "$want" ] || {
		cat "$WORK/evs"
		fail "the profile does not name every path once"
	}
}

# Only the EV with INDEX may be used: all packets take its path.
one_ev() { # INDEX
	local value others path link sent links
	value=$(awk -v i="$1" '$1 == i { print $2 }' "$WORK/evs")
	others=$(awk -v i="$1" '$1 != i { printf "%s%s", n++ ? "," : "", $2 }' "$WORK/evs")
	path=$(ev_path "$value")
	mrcctl -d mrc1 ev deny 3 "$others"
	links_mark
	ctr_mark
	flow 1 1 3 --iters 40 --size 1,4097,65536 --timeout 18
	flow_end 1
	ctr_quiet
	ctr_take
	links_take
	mrcctl -d mrc1 ev allow 3 "$others"
	sent=$(ctr mrc1 tx_srv6)
	check "$sent" '>' 100 "packets sent"
	# shellcheck disable=SC2086 # two numbers
	links=$(path_links 1 $path 3)
	for link in $(forward_links); do
		if grep -q -x "$link" <<<"$links"; then
			check "$(link_tx "$link")" == "$sent" "packets of $link, for $value"
		else
			check "$(link_tx "$link")" == 0 "packets of $link, for $value"
		fi
	done
}

each_ev_alone() {
	local i
	all_paths >"$WORK/paths"
	for i in $(awk '{ print $1 }' "$WORK/evs"); do
		one_ev "$i"
	done
}

# All EVs: each path carries its share, and every packet that enters a path leaves it.
# A timeout would condemn paths for a while, so the timeout is longer than a busy
# machine pauses.
all_evs() {
	local p s n=$((FAB_PLANES * FAB_SPINES)) share sent
	links_mark
	ctr_mark
	flow 1 1 3 --iters 100 --size 65536 --timeout 20
	flow_end 1
	ctr_quiet
	ctr_take
	links_take
	sent=$(ctr mrc1 tx_srv6)
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			share=$(link_tx "p${p}l1:s$s")
			check "$share" '>=' $((sent / n * 8 / 10)) "packets of plane $p, spine $s, of $sent"
			check "$share" '<=' $((sent / n * 12 / 10)) "packets of plane $p, spine $s, of $sent"
			check "$(link_tx "p${p}s$s:l2")" == "$share" "plane $p, spine $s passes on"
		done
	done
}

# State of the EV of the running QP that leads through PLANE and SPINE.
qp_ev_state() { # PLANE SPINE
	local index
	index=$(awk -v p="$1 $2" '$0 == p { print NR }' "$WORK/paths")
	mrcctl -d mrc1 qp show "$(sending_qp 1)" | qp_evs_shown | awk -v n="$index" 'NR == n { print $3 }'
}

qp_ev_is() { # PLANE SPINE STATE
	[ "$(qp_ev_state "$1" "$2")" = "$3" ]
}

# The EVs of the paths in $1 ("PLANE SPINE" lines) are in STATE; the others are in
# use.
evs_are() { # PATHS STATE
	local p s state
	for ((p = 1; p <= FAB_PLANES; p++)); do
		for ((s = 1; s <= FAB_SPINES; s++)); do
			state=$(qp_ev_state $p $s)
			if grep -q -x "$p $s" <<<"$1"; then
				[ "$state" = "$2" ] || return 1
			else
				[ "$state" = good ] || [ "$state" = skip ] || return 1
			fi
		done
	done
}

evs_all_good() { evs_are '' ''; }

flowing() { # SINCE
	[ "$(ctr_now mrc3 rx_data_pkts)" -ge $(($1 + 300)) ]
}

# BREAK is run during traffic. Exactly the EVs of PATHS become bad, and traffic
# continues without them. MEND makes them GOOD again.
broken_and_mended() { # PATHS BREAK MEND
	local from p s
	all_paths >"$WORK/paths"
	ctr_mark
	flow 1 1 3 --duration 1000 --size 4096,65536 --timeout 18
	wait_for 30 flowing "$(ctr_now mrc3 rx_data_pkts)"
	$2
	wait_for 60 evs_are "$1" assumed_bad
	# Data avoids the paths. They still carry probes.
	links_mark
	from=$(ctr_now mrc3 rx_data_pkts)
	wait_for 60 flowing "$from"
	links_take
	while read -r p s; do
		check "$(link_tx "p${p}l1:s$s")" '<=' 20 "packets to a path that is bad"
	done <<<"$1"
	$3
	wait_for 60 evs_all_good
	links_mark
	wait_for 60 flowing "$(ctr_now mrc3 rx_data_pkts)"
	links_take
	while read -r p s; do
		check "$(link_tx "p${p}s$s:l2")" '>' 20 "packets of a path that is good again"
	done <<<"$1"
	flow_stop 1
	ctr_quiet
	ctr_take
	expect mrc1 ev_to_assumed_bad '>=' "$(grep -c . <<<"$1")"
	expect mrc1 ev_to_good '>=' "$(grep -c . <<<"$1")"
	expect mrc1 qp_errors == 0
	echo "figure: $(ctr mrc1 tx_rtx_pkts) of $(ctr mrc1 tx_data_pkts) packets sent again"
}

# --- probes -------------------------------------------------------------------------

# The smallest RTT is that of the network; a busy machine makes the others longer.
ping_us() { # PLANE
	local back
	back="$(host6 1)/128 via fe80::1:$(leaf_of 3) dev p$1 metric 50"
	# shellcheck disable=SC2086 # words
	ip -n h3 route add $back
	on h1 ping -6 -q -n -i 0.2 -c 5 -I "p$1" "$(host6 3)" >"$WORK/ping"
	# shellcheck disable=SC2086 # words
	ip -n h3 route del $back
	awk -F'[=/ ]+' '/^rtt/ { printf "%d\n", $6 * 1000 }' "$WORK/ping"
}

# A probe of an SRv6 EV takes as long as a ping on the same path. Several links of the
# fabric have different delays; only those on the path may count.
probes_agree_with_ping() {
	local p want got evs='' times=7
	for ((p = 1; p <= FAB_PLANES; p++)); do
		evs+=${evs:+,}$(srv6_ev 1 $p 1 3)
	done
	link_delay p1l1:s1 50
	link_delay p2l1:s1 50
	link_delay p2s1:l2 100
	ctr_mark
	# One after the other, as ping does: a pause of the machine would delay all
	# probes in flight together.
	for ((p = 1; p <= times; p++)); do
		mrcctl -d mrc1 -j probe ev src "$(host6 1)" dst "$(host6 3)" fmt srv6 \
			evs "$evs" timeout 4000 | answers
	done >"$WORK/probes"
	ctr_take
	expect mrc1 endpoint_timeouts == 0
	expect mrc1 tx_srv6 == $((times * FAB_PLANES))
	expect mrc3 rx_srv6 == $((times * FAB_PLANES))
	for ((p = 1; p <= FAB_PLANES; p++)); do
		want=$(ping_us $p)
		got=$(awk -v p=$p '$2 == p { r = $3 / 1000; if (!n++ || r < min) min = r }
			END { printf "%d\n", min }' "$WORK/probes")
		echo "figure: plane $p: ping $want us, smallest probe $got us"
		check "$want" '>=' $((p == 1 ? 50000 : 150000)) "ping in plane $p, microseconds"
		check "$got" '>' $((want * 2 / 3)) "probe in plane $p, ping $want us"
		check "$got" '<' $((want * 3 / 2)) "probe in plane $p, ping $want us"
	done
}

fabric srv6
fabric_rdma 1 3
fabric_profiles 1 3
subtest "a generated profile names every path once" every_pair_once
subtest "every EV takes exactly the path that it names" each_ev_alone
subtest "all EVs together share the load" all_evs
# So slow that the machine has time for the commands of the tests.
link_rate h1:p1 8000
link_rate h1:p2 8000
subtest "a path that swallows packets: its EV is bad until it heals" \
	broken_and_mended "1 1" "link_loss p1l1:s1 100" "link_clear p1l1:s1"
subtest "a spine goes down and comes back" \
	broken_and_mended "2 2" "spine_down 2 2" "spine_up 2 2"
# One spine, so that the path of ping, which has no EV, is known.
fabric srv6+ecmp 2 2 1
fabric_rdma 1 3
fabric_profiles 1 3
subtest "probes of SRv6 EVs agree with ping" probes_agree_with_ping
tap_end
