#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrc over switches without any support for MRC. The ECMP fabric hashes addresses,
# ports and flow label, so an EV is a path, but nobody chose which one. The EVs of one
# queue pair spread over the spines of both planes. When a spine loses its route to
# the other leaf, exactly the EVs that lead there are condemned. Probes make them GOOD
# again.
# long
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

EVS=48	# of the profiles, half of them on each plane

# --- which EV takes which way -------------------------------------------------------

# The first leaf of each plane records the EV and the spine of every data packet, and
# counts them. Only data packets are that long.
watch_ways() { # 4|6
	local p s label=''
	[ "$1" = 4 ] || label='ip6 flowlabel . '
	for ((p = 1; p <= FAB_PLANES; p++)); do
		{
			echo "table inet ways {"
			for ((s = 1; s <= FAB_SPINES; s++)); do
				echo "counter s$s { }"
			done
			echo "set seen {"
			echo "typeof ${label}udp sport . meta oifname"
			echo "flags dynamic; size 4096;"
			echo "}"
			echo "chain out {"
			echo "type filter hook forward priority 0;"
			echo "meta length < 300 accept"
			echo "udp dport != 4791 accept"
			echo "add @seen { ${label}udp sport . meta oifname }"
			for ((s = 1; s <= FAB_SPINES; s++)); do
				echo "oifname s$s counter name s$s"
			done
			echo "}"
			echo "}"
		} | on "p${p}l1" nft -f -
	done
}

# Data packets from the first leaf of a plane to a spine.
data_to() { nft_counter "p$1l1" inet ways "s$2"; } # PLANE SPINE

data_stopped() { # PLANE SPINE
	same_after 0.3 data_to "$1" "$2"
}

watch_over() {
	local p
	for ((p = 1; p <= FAB_PLANES; p++)); do
		on "p${p}l1" nft delete table inet ways 2>/dev/null || true
	done
}

# Writes lines "PLANE ENTROPY SPINE" for the EVs used so far to $WORK/ways.
ways_take() {
	local p
	for ((p = 1; p <= FAB_PLANES; p++)); do
		on "p${p}l1" nft list set inet ways seen >"$WORK/set"
		# [LABEL . ]PORT . "SPINE"
		grep -o -E '(0x)?[0-9a-f]+ \. ([0-9]+ \. )?"s[0-9]+"' "$WORK/set" |
			while read -r a _ b _ c; do
				[ -n "$c" ] || { c=$b b=$a a=0; }
				printf '%d 0x%04x%04x %s\n' "$p" "$a" "$b" "${c//[\"s]/}"
			done
	done | sort >"$WORK/ways"
}

# Writes lines "PLANE ENTROPY STATE" of the running queue pair to $WORK/evs.
evs_take() {
	mrcctl -d mrc1 qp show "$(sending_qp 1)" | qp_evs_shown | sort >"$WORK/evs"
}

all_ways_known() {
	evs_take
	ways_take
	[ -s "$WORK/evs" ] &&
		[ "$(cut -d' ' -f1,2 "$WORK/evs")" = "$(cut -d' ' -f1,2 "$WORK/ways")" ]
}

# --- spreading ----------------------------------------------------------------------

# Every EV keeps to one path, every spine gets its share of the EVs, and links carry
# the packets of those EVs. All data arrives.
spreads() { # 4|6
	local p s n of share sum sent
	watch_ways "$1"
	links_mark
	ctr_mark
	load "$1"
	wait_for 60 all_ways_known || {
		diff "$WORK/evs" "$WORK/ways" || true
		fail "EVs were not seen, or not on one way each"
	}
	wait_for 60 flowing "$(ctr_now mrc3 rx_data_pkts)" 3000
	flow_stop 1
	ctr_quiet
	ctr_take
	links_take
	ways_take
	check "$(wc -l <"$WORK/ways")" == "$(wc -l <"$WORK/evs")" "ways taken, one for each EV"
	for ((p = 1; p <= FAB_PLANES; p++)); do
		of=$(grep -c "^$p " "$WORK/evs")
		sent=$(ctr "mrc1/$p" tx_data_pkts)
		sum=0
		for ((s = 1; s <= FAB_SPINES; s++)); do
			n=$(grep -c "^$p .* $s\$" "$WORK/ways" || true)
			share=$(data_to $p $s)
			sum=$((sum + share))
			echo "figure: plane $p, spine $s: $n of $of EVs, $share packets of $sent"
			check "$n" '>' 0 "EVs by way of spine $s in plane $p"
			check "$share" '>=' $((sent * n / of * 8 / 10)) \
				"packets of plane $p to spine $s, which has $n of $of EVs"
			check "$share" '<=' $((sent * n / of * 12 / 10)) \
				"packets of plane $p to spine $s, which has $n of $of EVs"
			check "$(link_tx "p${p}l1:s$s")" '>=' "$share" "packets of plane $p, spine $s"
			check "$(link_tx "p${p}s$s:l2")" == "$(link_tx "p${p}l1:s$s")" \
				"plane $p, spine $s passes on"
		done
		check $sum == "$sent" "packets over all spines of plane $p"
	done
	# When the machine pauses for a moment, holes look old and packets are
	# retransmitted that had arrived. These are few compared with the cost of a
	# fabric that reorders, and few EVs look bad because of them. No packet is lost.
	check "$(ctr mrc1 tx_rtx_pkts)" '<=' $(($(ctr mrc1 tx_data_pkts) / 100)) \
		"packets sent again"
	expect_all_arrived mrc1 mrc3
	expect mrc1 loss_timeout == 0
	expect mrc1 ev_to_assumed_bad '<=' $((EVS / 10))
	expect mrc1 qp_errors == 0
	expect_equal_share mrc1 tx_data_pkts 10
}

# In the UDP format the flow label carries no entropy. All EVs are those of the
# profile.
profile_spreads() { # 4|6
	profile 3 mode udp fields 16 "$(udp_evs)"
	spreads "$1"
	check "$(grep -c -v ' 0x0000c0' "$WORK/evs")" == 0 "EVs that are not of the profile"
	check "$(wc -l <"$WORK/evs")" == "$EVS" "EVs"
}

# With structured EVs the flow label is sufficient: the source port is the same for
# all EVs of a plane.
labels_spread() {
	profile 3 mode stev fields 16,16 "$(stev_evs)"
	spreads 6
	check "$(awk '{ print $1, substr($2, 7) }' "$WORK/evs" | sort -u | wc -l)" == \
		"$FAB_PLANES" "source ports"
	check "$(cut -d' ' -f2 "$WORK/evs" | sort -u | wc -l)" == "$EVS" "EVs"
}

# --- one spine ----------------------------------------------------------------------

# The EVs of PLANE that lead to SPINE are in STATE; all others are in use.
evs_of_way_are() { # PLANE SPINE STATE
	evs_take
	awk -v p="$1" -v s="$2" -v want="$3" '
		FNR == NR { way[$1 " " $2] = $1 " " $3; next }
		way[$1 " " $2] == p " " s { if ($3 != want) bad = 1; n++; next }
		$3 != "good" && $3 != "skip" { bad = 1 }
		END { exit bad || !n }' "$WORK/ways" "$WORK/evs"
}

# Spine 1 of plane 1 is up but has lost its link to the receiver's leaf. The first
# leaf still hashes packets to it.
spine_link_cut() { # 4|6 BREAK MEND
	local n bad other
	profile 3 mode udp fields 16 "$(udp_evs)"
	watch_ways "$1"
	load "$1"
	wait_for 60 all_ways_known
	ctr_mark
	cp "$WORK/ways" "$WORK/ways.before"
	n=$(grep -c '^1 .* 1$' "$WORK/ways")
	$2
	wait_for 60 evs_of_way_are 1 1 assumed_bad || {
		cat "$WORK/evs"
		fail "not just the $n EVs by way of spine 1 are assumed bad"
	}
	# Packets that wait at the host's shaped port already have their path.
	wait_for 30 data_stopped 1 1
	bad=$(data_to 1 1) other=$(data_to 1 2)
	wait_for 60 flowing "$(ctr_now mrc3 rx_data_pkts)" 600
	check "$(data_to 1 1)" == "$bad" "data on the way that is bad"
	check "$(data_to 1 2)" '>' $((other + 100)) "data on the plane's other way"
	$3
	wait_for 60 evs_of_way_are 1 1 good || {
		cat "$WORK/evs"
		fail "the EVs by way of spine 1 did not come back"
	}
	wait_for 60 flowing "$(ctr_now mrc3 rx_data_pkts)" 600
	check "$(data_to 1 1)" '>' $((bad + 50)) "data on the way that is good again"
	flow_stop 1
	ctr_quiet
	ctr_take
	ways_take
	cmp "$WORK/ways" "$WORK/ways.before" || fail "an EV took another way"
	expect mrc1 ev_to_assumed_bad '>=' "$n"
	expect mrc1 ev_to_good '>=' "$n"
	expect mrc1 qp_errors == 0
	echo "figure: $n of $EVS EVs bad, $(ctr mrc1 tx_rtx_pkts) of" \
		"$(ctr mrc1 tx_data_pkts) packets sent again"
}

# --- helpers ------------------------------------------------------------------------

flowing() { # SINCE PACKETS
	[ "$(ctr_now mrc3 rx_data_pkts)" -ge $(($1 + $2)) ]
}

# A long flow from host 1 to host 3.
load() { # 4|6
	local family=()
	[ "$1" = 6 ] || family=(-4)
	flow 1 1 3 "${family[@]}" --duration 1000 --size 4096,65536 --timeout 20
}

udp_evs() {
	seq $EVS | awk '{ printf "%sc0%02x@%d", (NR > 1 ? "," : ""), $1, NR % 2 + 1 }'
}

stev_evs() {
	seq $EVS | awk '{ printf "%s%04xc00%d@%d", (NR > 1 ? "," : ""), $1 * 1237, NR % 2 + 1, NR % 2 + 1 }'
}

# Explicit EVs for everything from host 1 to host 3.
profile() { # ID FORMAT-WORDS... EVS
	local id=$1 evs=${*: -1}
	local format=("${@:2:$#-2}")
	{
		echo "fmt add 1 ${format[*]}"
		echo "ev add $id mode explicit fmt 1 evs $evs"
		echo "default set $(host6 3)/128 ev $id"
		[[ ${format[*]} == *stev* ]] || echo "default set $(host4 3)/32 ev $id"
	} >"$WORK/ctl"
	mrcctl -d mrc1 -b "$WORK/ctl"
}

# Removes what a subtest leaves, also when it fails.
clean_slate() {
	{
		watch_over
		wait_for 30 no_qps
		link_clear p1s1:l2
		mrcctl -d mrc1 default del "$(host6 3)/128"
		mrcctl -d mrc1 default del "$(host4 3)/32"
		mrcctl -d mrc1 ev del 3
		mrcctl -d mrc1 fmt del 1
	} >/dev/null 2>&1 || true
}

sub() {
	subtest "$@"
	clean_slate
}

fabric ecmp
fabric_rdma 1 3
# So slow that the machine has time for the commands of the tests.
link_rate h1:p1 8000
link_rate h1:p2 8000
for family in 4 6; do
	sub "IPv$family: EVs of the device's own making spread" spreads $family
	sub "IPv$family: EVs of a UDP profile spread by source port alone" profile_spreads $family
done
sub "IPv6: structured EVs spread by flow label alone" labels_spread
for family in 4 6; do
	sub "IPv$family: a spine swallows packets: its EVs are bad until it heals" \
		spine_link_cut $family "link_loss p1s1:l2 100" "link_clear p1s1:l2"
	sub "IPv$family: a spine's link is cut: its EVs are bad until it heals" \
		spine_link_cut $family "link_cut p1s1:l2" "link_heal p1s1:l2"
done
tap_end
