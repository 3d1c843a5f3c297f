# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Two hosts whose plane 1 gets netdevs of many kinds, while plane 2 is a veth pair.
# Sourced after lib.sh by the scripts about netdevs.

TOPO_RESOLVE=1			# real ARP and neighbour discovery

# The modules make a netdev in the first namespace when they are loaded, except when told
# not to.
modprobe bonding max_bonds=0 2>/dev/null || true
modprobe dummy numdummies=0 2>/dev/null || true

on() { ip -n "host$1" "${@:2}"; } # a|b WORDS...

port_shown() { # DEV/PORT: "state netdev", as rdma shows it
	in_a rdma link show "$1" | awk '
		{ for (i = 1; i < NF; i++) v[$i] = $(i + 1); print v["state"], v["netdev"] }'
}

# Nothing was lost or damaged: what was sent again, because the machine paused, arrived
# twice. Little was.
lossless() { # FROM TO
	local again
	again=$(ctr "$1" tx_rtx_pkts)
	expect "$2" rx_duplicate == "$again"
	expect "$2" rx_data_pkts == $(($(ctr "$1" tx_data_pkts) - again))
	check $((again * 10)) '<=' "$(ctr "$1" tx_data_pkts)" "10 x sent again by $1"
	undamaged "$2"
}

undamaged() { # DEV
	expect "$1" qp_errors == 0
	expect "$1" rx_drop_icrc == 0
	expect "$1" tx_errors == 0
}

# A timer of 17 s does not expire when the machine pauses.
traffic() { # OPTIONS...
	verify "$@" --size 1,4097,65536 --iters 30 --depth 5 --op mixed --timeout 22
}

# The same, and nothing was lost. Plane 1 carries its share.
lossless_traffic() {
	ctr_mark
	traffic --bidir
	traffic -6
	ctr_quiet 20
	ctr_take
	lossless mrca mrcb
	lossless mrcb mrca
	expect_equal_share mrca tx_data_pkts 10
	expect_equal_share mrcb rx_data_pkts 10
}

# Waits until port PORT of mrcb has received N more data packets than now.
receives_on() { # PORT N
	hw_now mrcb rx_data_pkts "$1"
	wait_for 60 hw_at_least mrcb rx_data_pkts "$1" $((hw + $2))
}

load_start() { # OPTIONS...
	ctr_mark
	verify_start -t 200 --duration 1000 --size 16384 --op mixed --depth 16 --timeout 18 "$@"
	receives_on 1 50
	receives_on 2 50
}

load_stop() {
	receives_on 1 50
	verify_stop_well
	expect mrca retry_exceeded == 0
}

# --- offloads -----------------------------------------------------------------------

OFFLOADS=(rx-checksumming tx-checksumming scatter-gather tcp-segmentation-offload
	generic-segmentation-offload generic-receive-offload rx-gro-list
	rx-udp-gro-forwarding large-receive-offload)

offload() { # a|b PLANE FEATURE -> on, off, or with " [fixed]" or " [requested on]"
	ip netns exec "host$1" ethtool -k "p$1$2" | sed -n "s/^[[:space:]]*$3: //p"
}

driver_of() { # a|b PLANE
	ip netns exec "host$1" ethtool -i "p$1$2" | sed -n 's/^driver: //p'
}

# Fails if the driver refuses it.
offload_set() { # PLANE FEATURE on|off
	local h
	for h in a b; do
		ip netns exec host$h ethtool -K "p$h$1" "$2" "$3" >"$WORK/ethtool" 2>&1 || {
			echo "figure: $(driver_of $h "$1"): $2 $3: $(cat "$WORK/ethtool")"
			grep -q 'Could not change any device features' "$WORK/ethtool" || fail "ethtool"
			return 1
		}
		[ "$(offload $h "$1" "$2")" = "$3" ] ||
			fail "$2 of p$h$1 is $(offload $h "$1" "$2")"
	done
}

# Each offload of a plane that can be switched is switched over and back in the middle of
# traffic; after each change a number of packets arrive.
offloads_toggled() { # PLANE PACKETS
	local f was other
	for f in "${OFFLOADS[@]}"; do
		was=$(offload a "$1" "$f")
		case $was in
		on) other=off ;;
		off) other=on ;;
		*)
			echo "figure: $(driver_of a "$1"): $f cannot be switched: $was"
			continue
			;;
		esac
		offload_set "$1" "$f" "$other" || continue
		receives_on "$1" "$2"
		offload_set "$1" "$f" "$was"
		receives_on "$1" "$2"
	done
}

# Counts in "switched" what could be switched; the rest stays as it is.
offloads_all() { # PLANE on|off
	local f
	for f in "${OFFLOADS[@]}"; do
		case $(offload a "$1" "$f") in
		"$2") ;;
		on | off) ! offload_set "$1" "$f" "$2" || switched=$((switched + 1)) ;;
		esac
	done
}
