#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Probes of explicit entropy values (MRC 1.0 §12): their round trip times compared
# with ping, their format on the wire, timeouts, late replies and refusals; batches of
# probes that are killed or interrupted, or whose device is removed.
# timeout: 600
# kmsg-ok: mrc[ :].*(lost pb2|has a netdev again)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_bridged.sh"

TOPO_RESOLVE=1

# --- what they find ----------------------------------------------------------------

# Smallest RTT of ping through PORT in microseconds, there and back.
ping_rtt() { # PORT
	local out
	ip -n hosta route add "$B4" dev "pa$1" src "$A4" metric 50
	ip -n hostb route add "$A4" dev "pb$1" src "$B4" metric 50
	out=$(in_a ping -q -n -i 0.2 -c 5 -I "$A4" "$B4")
	ip -n hosta route del "$B4" dev "pa$1" metric 50
	ip -n hostb route del "$A4" dev "pb$1" metric 50
	awk -F'[=/ ]+' '/^rtt/ { printf "%d\n", $6 * 1000 }' <<<"$out"
}

# The smallest RTT is that of the network; a busy machine makes the others longer.
probe_rtt() { # PORT
	awk -v p="$1" '$2 == p { r = $3 / 1000; if (!n++ || r < min) min = r }
		END { if (!n) exit 1; printf "%d\n", min }' "$WORK/probes"
}

probes_agree() { # delays of netem determine the RTTs
	local n p want got
	# The delays are long compared with a pause of the machine.
	netem a 1 delay 200ms
	netem a 2 delay 400ms
	ctr_mark
	# Several batches: a pause delays all probes of a batch.
	for n in 1 2 3; do
		probe evs c001@1,d002@1,e003@1,c001@2,d002@2,e003@2 timeout 2000
	done >"$WORK/probes"
	ctr_take
	expect mrca/1 tx_endpoint_req == 9
	expect mrca/2 tx_endpoint_req == 9
	expect mrca/1 rx_endpoint_resp == 9
	expect mrca/2 rx_endpoint_resp == 9
	expect mrcb/1 tx_endpoint_resp == 9
	expect mrcb/2 tx_endpoint_resp == 9
	expect mrca endpoint_timeouts == 0
	expect_only mrca tx_endpoint_req rx_endpoint_resp
	[ "$(wc -l <"$WORK/probes")" = 18 ] || fail "not 18 lines: $(cat "$WORK/probes")"
	for p in 1 2; do
		want=$(ping_rtt "$p")
		got=$(probe_rtt "$p")
		echo "figure: port $p: ping $want us, smallest probe $got us"
		check "$got" '>' $((want * 2 / 3)) "probe of port $p, ping $want us"
		check "$got" '<' $((want * 3 / 2)) "probe of port $p, ping $want us"
	done
	check "$(probe_rtt 2)" '>' "$(probe_rtt 1)" "port 2 has the longer way"
	unimpair a 1
	unimpair a 2
}

probes_ipv6() {
	ctl a -j probe ev src "$A6" dst "$B6" fmt stev evs 0001c001@1,00ffd002@2 \
		timeout 2000 | answers >"$WORK/probes"
	grep -q '^0001c001@1 1 ' "$WORK/probes" || fail "$(cat "$WORK/probes")"
	grep -q '^00ffd002@2 2 ' "$WORK/probes" || fail "$(cat "$WORK/probes")"
}

# A probe on the wire carries exactly the requested value.
probes_carry_the_value() {
	in_b nft -f - <<-NFT
		table inet seen {
			counter c1 {}
			counter c2 {}
			chain in {
				type filter hook prerouting priority -300;
				iifname pb1 udp dport 4791 udp sport 0xc0a1 ip dscp 5 counter name c1
				iifname pb2 udp dport 4791 udp sport 0xc0a2 ip dscp 5 counter name c2
			}
		}
	NFT
	probe tc 20 evs c0a1@1,c0a2@2,c0a2@2 timeout 2000 >"$WORK/probes"
	[ "$(seen c1) $(seen c2)" = "1 2" ] || fail "seen $(seen c1) and $(seen c2)"
	in_b nft delete table inet seen
}

seen() { nft_counter hostb inet seen "$1"; } # COUNTER

many_probes() {
	local n evs
	evs=$(seq 49152 50151 | awk '{ printf "%s%04x@%d", (NR > 1 ? "," : ""), $1, NR % 2 + 1 }')
	probe evs "$evs" timeout 4000 >"$WORK/probes"
	n=$(awk '{ print $1 }' "$WORK/probes" | sort -u | wc -l)
	check "$n" == 1000 "different EVs answered"
}

unanswered() {
	ctr_mark
	netem b 2 loss 100%
	refuse '2 of 4 requests were not answered' \
		probe evs c001@1,c002@2,c003@1,c004@2 timeout 300
	probe evs c001@1,c002@2,c003@1,c004@2 timeout 300 >"$WORK/probes" 2>/dev/null || true
	unimpair b 2
	ctr_take
	[ "$(awk '{ print $1, $2 }' "$WORK/probes" | sort | paste -sd' ')" = "c001@1 1 c003@1 1" ] ||
		fail "answers: $(cat "$WORK/probes")"
	expect mrca/1 endpoint_timeouts == 0
	expect mrca/2 endpoint_timeouts == 4
	expect_only mrca tx_endpoint_req rx_endpoint_resp endpoint_timeouts
}

# Replies that arrive after nobody waits for them. They are late by two seconds, so
# that a pause of the machine does not make them look in time.
late_answers() {
	ctr_mark
	netem b 1 delay 2s
	refuse '2 of 2 requests were not answered' probe evs c001@1,c002@1 timeout 50
	wait_for 30 ctr_at_least mrca rx_drop_endpoint \
		$(($(ctr_marked mrca rx_drop_endpoint) + 2))
	unimpair b 1
	ctr_take
	expect mrca endpoint_timeouts == 2
	expect mrca rx_endpoint_resp == 2
	expect mrca rx_drop_endpoint == 2
}

# --- what they are refused ---------------------------------------------------------

refusals() {
	local invalid='^mrcctl: probe: Invalid argument$'
	local failed='^mrcctl: probe: Input/output error$'
	refuse "$invalid" probe evs c001@3
	refuse "$invalid" probe evs c001@0
	refuse "$invalid" probe evs c00101@1
	refuse "$invalid" probe fmt stev evs 0000c001@1
	refuse "$invalid" ctl a probe ev src 10.9.9.9 dst "$B4" evs c001@1
	refuse "$invalid" ctl a probe ev src "$A4" dst "$B6" evs c001@1
	refuse "$invalid" ctl a probe ev src "$A4" dst 224.0.0.1 evs c001@1
	# Nothing can be sent: no route, or all ports of the batch are down.
	refuse "$failed" ctl a probe ev src "$A4" dst 10.9.9.9 evs c001@1
	ctl a port set 2 disable
	refuse "$failed" probe evs c001@2
	refuse '[12] of 2 requests were not answered' probe evs c001@2,c001@1 timeout 200
	ctl a port set 2 enable
	wait_for 30 port_is mrca 2 ACTIVE
}

# Batches that are killed, and too many batches at once, leave nothing behind.
killed_and_crowded() {
	local n waiters=()
	netem b 1 loss 100%
	netem b 2 loss 100%
	for n in 1 2 3 4; do
		waiter $n
	done
	wait_for 40 crowded
	for n in "${waiters[@]}"; do
		kill -9 "$n"
	done
	for n in "${waiters[@]}"; do
		wait_for 30 process_gone "$n"
	done
	unimpair b 1
	unimpair b 2
	probe evs c001@1,c001@2 timeout 2000 >"$WORK/probes"
	check "$(wc -l <"$WORK/probes")" == 2 "answers afterwards"
}

waiter() { # N
	start "$WORK/wait.$1" ip netns exec hosta mrc_ctl mrca wait "$A4" "$B4" c001@1 c001@2
	waiters[$1]=$started
}

# Whether there is no room for another batch. The batch used to try takes its room
# only for a moment, because it cannot be sent.
crowded() {
	local n
	[[ $(ctl a probe ev src "$A4" dst 10.9.9.9 evs c001@1 2>&1 || true) != \
		*'Resource temporarily unavailable'* ]] ||
		return 0
	# A waiter whose next batch came at the same time was refused and has ended.
	for n in "${!waiters[@]}"; do
		! process_gone "${waiters[n]}" || waiter "$n"
	done
	return 1
}

# Otherwise a program with a timer would wait forever, because its batches would start
# again.
signalled() {
	local pid from
	netem b 1 loss 100%
	hw_now mrca tx_endpoint_req
	from=$hw
	start "$WORK/wait" ip netns exec hosta mrc_ctl mrca wait "$A4" "$B4" c001@1
	pid=$started
	wait_for 30 hw_at_least mrca tx_endpoint_req '*' $((from + 1))
	kill -STOP "$pid"
	kill -CONT "$pid"
	if finished "$pid" 30; then
		fail "the batch went on"
	fi
	grep -q -x 'mrc_ctl: wait: EINTR .*' "$WORK/wait" || fail "$(cat "$WORK/wait")"
	unimpair b 1
}

# --- going away --------------------------------------------------------------------

# The program runs outside the namespace, so that it does not keep the namespace
# alive.
gone_while_waiting() { # HOW
	local since now
	netem b 1 loss 100%
	start "$WORK/wait" mrcctl -d mrca probe ev src "$A4" dst "$B4" evs c001@1 timeout 4s
	wait_for 30 waits
	now_ms
	since=$now
	case $1 in
	link) in_a rdma link del mrca ;;
	namespace) ip netns del hosta ;;
	esac
	finished "$started" 30 && fail "it succeeded"
	wait_for 30 device_gone mrca
	now_ms
	echo "figure: gone after $((now - since)) ms"
	# The program was woken up. After a timeout it would say that nobody answered.
	grep -q -x 'mrcctl: probe: Input/output error' "$WORK/wait" || fail "$(cat "$WORK/wait")"
}

waits() {
	# Whether the program waits in the kernel for responses.
	grep -q mrc_ep_batch "/proc/$started/stack"
}

bridged_topo 2
sub "probes agree with ping" probes_agree
sub "probes over IPv6" probes_ipv6
sub "probes carry the value and the traffic class" probes_carry_the_value
sub "1000 probes in a batch" many_probes
sub "unanswered probes: timeout and the answers there are" unanswered
sub "answers that come too late" late_answers
sub "refusals" refusals
sub "killed batches, too many batches" killed_and_crowded
sub "a batch ends with the first signal" signalled
subtest "rdma link del while a batch waits" gone_while_waiting link
bridged_topo 2
subtest "a namespace goes away while a batch waits" gone_while_waiting namespace
bridged_down
tap_end
