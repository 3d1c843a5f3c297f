#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The job, shown live in a guest: two hosts, four planes of equal shaped rate,
# unmodified ib_write_bw over one queue pair while a plane is cut and later
# restored. The last line is "DEMO OK" or "DEMO FAILED: why".
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
tap_done=1
TOPO_RESOLVE=1

P=3				# the plane that is cut
CUT=7 RESTORE=14 END=22		# seconds into the run
FLOOR=92			# percent of the planes' rates, payload only

say() { printf '%s\n' "$*"; }
failed() {
	say "DEMO FAILED: $*"
	exit 1
}
trap 'failed "the demo itself stopped at line $LINENO"' ERR

say "Linux $(uname -r), $(nproc) CPUs; module mrc $(modinfo -F version mrc 2>/dev/null || true)"
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
say "hosta# ib_write_bw -d mrca -s 65536 -D $((END + 2)) ...   one QP, all planes"
say ""
printf '%4s  %10s   %-31s  %8s\n' t 'goodput' 'share of planes 1..4 in %' 'sent'
printf '%4s  %10s   %-31s  %8s\n' s 'Mbit/s' '' 'again'

errors_before=$(($(ctr_now mrca qp_errors) + $(ctr_now mrcb qp_errors)))
from=$(ctr_now mrcb rx_data_pkts)
PERFTEST_LIMIT=60
perftest_start ib_write_bw -s 65536 -D $((END + 2)) -u 17
wait_for 15 ctr_at_least mrcb rx_data_pkts $((from + 100)) || {
	cat "$WORK/client" "$WORK/server"
	failed "no data flows"
}

now_ms
begin=$now
last=$begin
four_b=0 four_ms=0 three_b=0 three_ms=0 back_b=0 back_ms=0
ctr_mark
for t in $(seq "$END"); do
	note=''
	# A display once per second, on the second.
	now_ms
	left=$((begin + t * 1000 - now))
	[ "$left" -le 0 ] || sleep "$(printf '%d.%03d' $((left / 1000)) $((left % 1000)))"
	ctr_take
	now_ms
	ms=$((now - last))
	last=$now
	bytes=$(ctr mrcb rx_data_bytes)
	share=''
	for i in 1 2 3 4; do
		b=$(ctr "mrcb/$i" rx_data_bytes)
		share+=$(printf '%7s' "$(percent "$b" "$bytes")")
	done
	rtx=$(ctr mrca tx_rtx_pkts)
	cp "$WORK/take" "$WORK/mark"
	# The second in which something changes belongs to nobody.
	if [ "$t" -gt 1 ] && [ "$t" -le "$CUT" ]; then
		four_b=$((four_b + bytes)) four_ms=$((four_ms + ms))
	elif [ "$t" -gt $((CUT + 1)) ] && [ "$t" -le "$RESTORE" ]; then
		three_b=$((three_b + bytes)) three_ms=$((three_ms + ms))
	elif [ "$t" -gt $((RESTORE + 2)) ]; then
		back_b=$((back_b + bytes)) back_ms=$((back_ms + ms))
	fi
	if [ "$t" = "$CUT" ]; then
		ip -n hosta link set "pa$P" down
		note="<- plane $P is cut now"
	elif [ "$t" = "$RESTORE" ]; then
		ip -n hosta link set "pa$P" up
		plane_routes "$P"
		shape a "$P" "$RATE"
		note="<- plane $P is restored now"
	fi
	printf '%4d  %10s   %-31s  %8d   %s\n' "$t" "$(mbit $((bytes * 8 / ms)))" \
		"$share" "$rtx" "$note"
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

four=$((four_b * 8 / four_ms))
three=$((three_b * 8 / three_ms))
back=$((back_b * 8 / back_ms))
say ""
say "Goodput (payload) against the sum of the planes' rates:"
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
