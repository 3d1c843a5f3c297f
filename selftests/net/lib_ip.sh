# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the rest of the kernel sees of the driver's packets: IP's statistics and netfilter.
# Traffic during which something changes. Sourced by output.sh and input.sh.

family() { # 4|6: the option of verify
	[ "$1" = 4 ] || echo -6
}

# The counters of IP in a namespace, as NAME VALUE.
ip_counters() { # a|b
	# shellcheck disable=SC2016	# fields of awk
	ip netns exec "host$1" awk '
		$1 ~ /:$/ {
			if ($1 != head) {
				head = $1
				n = split($0, name)
				next
			}
			for (i = 2; i <= n; i++)
				print $1 name[i], $i
			head = ""
			next
		}
		{ print $1, $2 }' /proc/net/snmp /proc/net/netstat /proc/net/snmp6
}

ip_mark() { ip_counters a >"$WORK/a.mark" && ip_counters b >"$WORK/b.mark"; }
ip_take() { ip_counters a >"$WORK/a.take" && ip_counters b >"$WORK/b.take"; }

# How much a counter grew. An unknown name is an error.
ip_grew() { # a|b NAME
	awk -v name="$2" '
		$1 == name && FNR == NR { from = $2; next }
		$1 == name { to = $2; seen = 1 }
		END {
			if (!seen) {
				print "no IP counter " name >"/dev/stderr"
				exit 1
			}
			printf "%d\n", to - from
		}' "$WORK/$1.mark" "$WORK/$1.take"
}

# Each host has received every packet and byte that the other one sent.
ip_conserved() { # OUT IN
	local h peer
	for h in a b; do
		[ $h = a ] && peer=b || peer=a
		check "$(ip_grew $h "$1")" == "$(ip_grew $peer "$2")" \
			"host $h sent by $1, host $peer received by $2"
	done
}

# Packets that a rule of table "seen" has counted.
seen() { nft_counter "host$1" inet seen "at_$2"; } # a|b HOOK

watch() { # a|b HOOK...
	local h=$1 hook
	shift
	{
		echo "table inet seen {"
		for hook; do
			echo "counter at_$hook { }"
			echo "chain $hook { type filter hook $hook priority 0;" \
				"udp dport 4791 counter name at_$hook; }"
		done
		echo "}"
	} | ip netns exec "host$h" nft -f -
}

unwatch() {
	in_a nft delete table inet seen 2>/dev/null || true
	in_b nft delete table inet seen 2>/dev/null || true
}

# Packets of IP that a host has received, each of those that came as one.
ip_received() { # a|b 4|6
	local n=0 ecn prefix=IpExt:In
	[ "$2" = 4 ] || prefix=Ip6In
	for ecn in NoECTPkts ECT0Pkts ECT1Pkts CEPkts; do
		n=$((n + $(ip_grew "$1" $prefix$ecn)))
	done
	echo "$n"
}

# Packets in a row leave as one, or each by itself.
batches() { # on|off
	local i n=65535
	[ "$1" = on ] || n=1
	for ((i = 1; i <= PLANES; i++)); do
		in_a ip link set "pa$i" gso_max_segs $n
		in_b ip link set "pb$i" gso_max_segs $n
	done
}

sent_by() { # DEV: MRC packets
	local n=0 c
	for c in tx_data_pkts tx_sack tx_nack tx_ack tx_nak tx_probe \
		tx_endpoint_req tx_endpoint_resp; do
		n=$((n + $(ctr "$1" $c)))
	done
	echo "$n"
}

traffic() { # OPTIONS...
	ctr_mark
	ip_mark
	verify "$@" --size 20001 --iters 300 --depth 16 --op mixed --timeout 18
	ctr_quiet 20
	ip_take
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect_all_arrived mrca mrcb
}

# Waits until N more data packets have arrived at PORT of host B.
arrives() { # PORT N
	wait_for 60 ctr_at_least "mrcb/$1" rx_data_pkts \
		$(($(ctr_now "mrcb/$1" rx_data_pkts) + $2))
}

load_start() { # OPTIONS...
	ctr_mark
	verify_start -t 200 "$@" --duration 1000 --size 65536 --op write --depth 32
	arrives 1 50
	arrives 2 50
}

# Rule "cut" has dropped a packet.
cut_bites() { [ "$(nft_counter "host$1" inet cut cut)" -gt 0 ]; } # a|b

# A rule that is added during traffic takes effect, and so does its removal. It cuts plane 2.
dropped() { # a|b HOOK MATCH OPTIONS...
	local h=$1 hook=$2 match=$3
	shift 3
	ip netns exec "host$h" nft delete table inet cut 2>/dev/null || true
	load_start "$@"
	ip netns exec "host$h" nft -f - <<-END
		table inet cut {
			counter cut { }
			chain cut {
				type filter hook $hook priority 0;
				$match udp dport 4791 counter name cut drop
			}
		}
	END
	wait_for 60 cut_bites "$h"
	arrives 1 200
	ip netns exec "host$h" nft delete table inet cut
	arrives 2 50
	verify_stop_well
	expect mrca tx_rtx_pkts '>' 0
}
