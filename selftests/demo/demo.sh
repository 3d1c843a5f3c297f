#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables shared with lib.sh
#
# The job, shown live in a guest: two hosts, four planes of equal shaped rate,
# unmodified ib_write_bw over one queue pair while a plane is cut and later
# restored. The last line is "DEMO OK" or "DEMO FAILED: why".
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
tap_done=1
TOPO_RESOLVE=1

P=3				# the plane that is cut
CUT=8 RESTORE=16 END=25		# seconds into the run
FLOOR=92			# percent of the planes' rates, payload only

say() { printf '%s\n' "$*"; }
failed() {
	say "DEMO FAILED: $*"
	exit 1
}
trap 'failed "the demo itself stopped at line $LINENO"' ERR

say "Linux $(uname -r), $(nproc) CPUs"
say "perftest: $(ib_write_bw --version 2>&1 | head -n1)"
say ""
say "Two hosts (network namespaces), four cables (planes) between them:"
hosts_up
for i in 1 2 3 4; do
	plane_add "$i" 4500
	link_add a "$i"
	link_add b "$i"
	say "  hosta# rdma link add mrca type mrc netdev pa$i      (and mrcb with pb$i on hostb)"
done
PLANES=4
for i in 1 2 3 4; do
	plane_ready "$i" || failed "plane $i does not come up"
done
in_a rdma link show | sed 's/^/  /'

# How fast is this (perhaps emulated) machine? The planes must be its limit.
steady_bw
measure 2
steady_bw_end
capacity=$measured
RATE=$(pick_rate "$capacity" 4)
say ""
say "Without shaping this machine moves $(mbit "$capacity") Mbit/s;" \
	"each plane is now shaped to $(mbit "$RATE") Mbit/s."
for i in 1 2 3 4; do
	shape a "$i" "$RATE"
done

# One plane alone, for comparison: the others are down.
for i in 2 3 4; do
	ip -n hosta link set "pa$i" down
	wait_for 5 port_is mrca "$i" DOWN || failed "port $i does not go down"
done
steady_bw
measure 4
steady_bw_end
one=$measured
for i in 2 3 4; do
	ip -n hosta link set "pa$i" up
	plane_routes "$i"
	shape a "$i" "$RATE"
done
for i in 1 2 3 4; do
	plane_ready "$i" || failed "plane $i does not come back"
done

say ""
say "hosta# ib_write_bw -d mrca -s 65536 -D $((END + 6)) ...   one QP, all planes"
say ""
printf '%4s  %10s   %-31s  %8s\n' t 'goodput' 'share of planes 1..4 in %' 'sent'
printf '%4s  %10s   %-31s  %8s\n' s 'Mbit/s' '' 'again'

errors_before=$(($(ctr_now mrca qp_errors) + $(ctr_now mrcb qp_errors)))
from=$(ctr_now mrcb rx_data_pkts)
PERFTEST_LIMIT=60
perftest_start ib_write_bw -s 65536 -D $((END + 6)) -u 17
wait_for 15 ctr_at_least mrcb rx_data_pkts $((from + 100)) || {
	cat "$WORK/client" "$WORK/server"
	failed "no data flows"
}

# Counters without starting a program: bytes placed by B through each plane in
# old[1..4], packets sent again by A in old[0].
look() {
	local n hw
	hw_now mrca tx_rtx_pkts
	old[0]=$hw
	for n in 1 2 3 4; do
		hw_now mrcb rx_data_bytes "$n"
		old[n]=$hw
	done
	now_ms
}

declare -a old before
look
begin=$now
last=$begin
in_four=() in_three=() in_back=()
cut_at='' restored_at=''
next=1000
# A line per second, on the second; on a slow machine a line may be late, so
# everything goes by the time that has really passed.
while [ "$((last - begin))" -lt $((END * 1000)) ]; do
	note=''
	now_ms
	left=$((begin + next - now))
	[ "$left" -le 0 ] || sleep "$(printf '%d.%03d' $((left / 1000)) $((left % 1000)))"
	before=("${old[@]}")
	look
	start_ms=$((last - begin)) ms=$((now - last)) t_ms=$((now - begin))
	last=$now
	next=$(((t_ms / 1000 + 1) * 1000))
	rtx=$((old[0] - before[0])) bytes=0 share=''
	for i in 1 2 3 4; do
		bytes=$((bytes + old[i] - before[i]))
	done
	for i in 1 2 3 4; do
		permille=$((bytes ? (old[i] - before[i]) * 1000 / bytes : 0))
		printf -v share '%s%5d.%d' "$share" $((permille / 10)) $((permille % 10))
	done
	rate=$((bytes * 8 / ms))
	# The second after a change belongs to the change, and after a restoration
	# one more, in which the plane's route is found again.
	if [ -z "$cut_at" ]; then
		[ "$start_ms" -lt 900 ] || in_four+=("$rate")
	elif [ -z "$restored_at" ]; then
		[ "$start_ms" -lt $((cut_at + 1000)) ] || in_three+=("$rate")
	elif [ "$start_ms" -ge $((restored_at + 2000)) ]; then
		in_back+=("$rate")
	fi
	if [ -z "$cut_at" ] && [ "$t_ms" -ge $((CUT * 1000)) ]; then
		ip -n hosta link set "pa$P" down
		now_ms
		cut_at=$((now - begin))
		note="<- plane $P is cut now"
	elif [ -z "$restored_at" ] && [ "$t_ms" -ge $((RESTORE * 1000)) ]; then
		ip -n hosta link set "pa$P" up
		plane_routes "$P"
		shape a "$P" "$RATE"
		now_ms
		restored_at=$((now - begin))
		note="<- plane $P is restored now"
	fi
	printf '%4d  %7d.%02d   %-31s  %8d   %s\n' $(((t_ms + 500) / 1000)) \
		$((rate / 1000)) $((rate % 1000 / 10)) "$share" "$rtx" "$note"
done
rc=0
finished "$perftest_client" 60 || rc=$?
finished "$perftest_server" 30 || rc=$((rc + $?))
say ""
grep -A1 '#bytes' "$WORK/client" | sed 's/^/  /'

errors=$(($(ctr_now mrca qp_errors) + $(ctr_now mrcb qp_errors) - errors_before))
trouble=$(dmesg --notime | grep -E -f "$NET_DIR/../lab/guest/kernel-trouble" || true)
[ "$rc" = 0 ] || { tail -n 20 "$WORK/client"; failed "ib_write_bw ended with an error"; }
! grep -q -i 'completion with error' "$WORK/client" "$WORK/server" ||
	failed "ib_write_bw saw a completion error"
[ "$errors" = 0 ] || failed "$errors queue pairs went to ERROR"
[ -z "$trouble" ] || failed "kernel log: $trouble"

[ "${#in_four[@]}" -gt 2 ] && [ "${#in_three[@]}" -gt 2 ] && [ "${#in_back[@]}" -gt 2 ] ||
	failed "this machine is too slow to look once per second"
four=$(median "${in_four[@]}")
three=$(median "${in_three[@]}")
back=$(median "${in_back[@]}")
say ""
say "Goodput (payload), median second, against the sum of the planes' rates:"
verdict=''
row() { # NAME KBIT PLANES
	local sum=$((RATE * $3))
	printf '  %-24s %8s of %8s Mbit/s = %5s %%\n' "$1" "$(mbit "$2")" \
		"$(mbit $sum)" "$(percent "$2" $sum)"
	[ $(($2 * 100)) -ge $((sum * FLOOR)) ] ||
		verdict+="$1 reached $(percent "$2" $sum) %, less than $FLOOR %; "
}
row "one plane" "$one" 1
row "four planes" "$four" 4
row "three of four planes" "$three" 3
row "four after restoration" "$back" 4
say ""
[ -z "$verdict" ] || failed "$verdict"
say "DEMO OK: one plane $(mbit "$one"), four $(mbit "$four"), three of four" \
	"$(mbit "$three"), restored $(mbit "$back") Mbit/s; no error"
