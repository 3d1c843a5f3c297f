#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Congestion on the SRv6 fabric with NSCC. All links are shaped. The load moves away
# from an uplink that has a tenth of the rate. A path with CE marks is skipped and the
# total rate stays. Four senders share one receiver with trimming, without timeouts,
# while a flow to another host keeps its rate. The script checks ratios within one
# run.
# timeout: 900
# benchmark
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

# RATE is the rate of a link, so low that links and not processors are the bottleneck.
# RTT is the round trip time of a busy path without congestion: some packets and the
# guest's scheduling. All other values are derived as in MRC 1.0 §13.3 and §15.
RATE=${RATE:-3000}		# kbit/s
RTT=${RTT:-40}			# ms
BDP=$((RATE * RTT / 8))		# bytes, of one plane
MTU=1500

# fi is 5 MTU a and eta 0.15 MTU a. By default both are derived from the ports' own
# rate, which is a thousand times that of the links.
nscc() { # PLANES
	local mtu=1150 bdp=$(($1 * BDP))
	echo "uet-1.0-nscc base_rtt $((RTT * 1000000)) max_cwnd $((bdp * 3 / 2))" \
		"fi $((5 * mtu * bdp / 150000)) eta $((15 * mtu * bdp / 15000000))"
}

shape_fabric() {
	local link
	for link in $(fabric_links); do
		case $link in
		p*l*:h*) link_set "$link" rate "$RATE" burst 9000 trim $((BDP * 3 / 2)) limit $((BDP * 5)) ;;
		p*) link_set "$link" rate "$RATE" burst 9000 mark $((BDP / 5)):$((BDP * 4 / 5)) trim $BDP limit $((BDP * 5)) ;;
		esac
	done
}

rx_bytes() { ctr_now "mrc$1" rx_data_bytes; } # HOST

# Bytes that hosts receive per second, in the caller's got[HOST], over SECONDS. Reading all
# counters takes long where the machine is busy, so the time that has passed counts.
measure_hosts() { # SECONDS HOST...
	local seconds=$1 h now since
	shift
	links_mark
	now_ms
	since=$now
	ctr_mark
	sleep "$seconds"
	now_ms
	ctr_take
	links_take
	for h in "$@"; do got[h]=$(($(ctr "mrc$h" rx_data_bytes) * 1000 / (now - since))); done
}

busy() { # HOST SINCE
	[ "$(rx_bytes "$1")" -ge $(($2 + RATE * 125 * FAB_PLANES)) ]
}

# Waits until HOST has received as many bytes as fit into a second, so that an earlier
# change has had time to take effect.
settled() { # HOST
	wait_for 120 busy "$1" "$(rx_bytes "$1")"
}

endless() { # NAME A B
	flow "$@" --duration 1000 --size 65536 --depth 16 --timeout 20
}

steady() { # NAME A B
	endless "$@"
	settled "$3"
}

uplink_slow() {
	local got=() slow total
	steady 1 1 3
	measure_hosts 5 3
	total=${got[3]}
	link_set p1l1:s1 rate $((RATE / 10))
	settled 3
	measure_hosts 8 3
	slow=$(link_tx_bytes p1l1:s1)
	link_set p1l1:s1 rate "$RATE"
	flow_stop 1
	echo "figure: an uplink at 10 %: it carried $(percent "$slow" "$(link_tx_bytes h1:p1)") %" \
		"of its plane; goodput $(percent "${got[3]}" "$total") % of before"
	check $((slow * 100)) '<=' $(($(link_tx_bytes h1:p1) * 25)) "share of the slow uplink, of 25 % of its plane"
	check "$(link_tx_bytes p1l1:s2)" '>' $((slow * 2)) "the other uplink"
}

marked_path() {
	local got=() total marked other
	steady 1 1 3
	measure_hosts 5 3
	total=${got[3]}
	link_set p1l1:s1 mark all
	settled 3
	measure_hosts 5 3
	link_set p1l1:s1 mark $((BDP / 5)):$((BDP * 4 / 5))
	flow_stop 1
	marked=$(link_tx p1l1:s1) other=$(link_tx p1l1:s2)
	echo "figure: a marked path: $marked packets beside $other; goodput" \
		"$(percent "${got[3]}" "$total") % of before"
	expect mrc1 ev_to_skip '>' 0
	check $((marked * 10)) '<=' $((other * 9)) "packets of the marked path, against the other's"
	check $((got[3] * 100)) '>=' $((total * 80)) "goodput, of that before"
}

# Hosts 3, 4, 5 and 7 send to host 1, which is behind another leaf. At the same time
# host 6, on the leaf of host 5, sends to host 8, on the leaf of host 7. The goals on
# a quiet machine are an index of 0.9 for the senders and 90 % of its rate for the
# victim flow. A lack of processor time is congestion of another kind. So the victim is
# compared with what it has while the same hosts send to one host each: this takes more
# processor time than the incast, and no port is shared.
incast() {
	local got=() spared n h trims sum=0 squares=0 t shares=''
	steady 9 6 8
	endless 3 3 1
	endless 4 4 2
	endless 5 5 3
	endless 7 7 4
	settled 2
	settled 4
	measure_hosts 5 8
	spared=${got[8]}
	for n in 3 4 5 7; do
		flow_stop $n
		endless $n $n 1
	done
	settled 1
	measure_hosts 20 1 8
	trims=0
	for ((h = 1; h <= FAB_PLANES; h++)); do
		trims=$((trims + $(switch_stat "p${h}l1:h1" trimmed)))
	done
	for n in 3 4 5 7; do
		t=$(($(ctr "mrc$n" tx_data_pkts) - $(ctr "mrc$n" tx_rtx_pkts)))
		shares+=" $t"
		sum=$((sum + t)) squares=$((squares + t * t))
		expect "mrc$n" retry_timeouts == 0
	done
	echo "figure: 4:1 incast: $((got[1] / 125)) kbit/s of $((RATE * FAB_PLANES));" \
		"packets$shares, Jain $(awk -v s=$sum -v q=$squares 'BEGIN { printf "%.3f", s * s / (4 * q) }');" \
		"$trims trimmed; victim $(percent "${got[8]}" "$spared") % of what it has beside" \
		"senders to different hosts, $((spared / 125)) kbit/s"
	for n in 3 4 5 7 9; do
		flow_stop $n
	done
	check "$trims" '>' 0 "packets trimmed at the last hop"
	check $((sum * sum * 100)) '>=' $((4 * squares * 75)) "fairness, Jain's index of 0.75"
	check $((got[8] * 100)) '>=' $((spared * 70)) "rate of the victim, of that without incast"
}

congested() { # HOST...
	local h
	fabric_rdma "$@"
	fabric_profiles cc="$(nscc "$FAB_PLANES")" "$@"
	for h in "$@"; do
		mrcctl -d "mrc$h" tc set trimming on
	done
	shape_fabric
}

fabric srv6 2 2 2 2 $MTU
congested 1 3
subtest "load leaves an uplink at a tenth of its rate" uplink_slow
subtest "a marked path is skipped, the total rate kept" marked_path
fabric srv6 2 4 2 2 $MTU
congested 1 2 3 4 5 6 7 8
subtest "4:1 incast with trimming: no timeouts, fair, the victim is spared" incast
tap_end
