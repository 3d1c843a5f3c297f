#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Connections that are encrypted below MRC: by IPsec between the hosts (ESP in transport
# mode, AES-GCM), with IPv4 and IPv6, and by MACsec below each plane. All data is
# verified, and no packet of MRC is on the wire in clear. Packets that come in clear
# although IPsec is required are not taken, and new keys in the middle of traffic lose
# nothing.
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netdevs.sh"

TOPO_RESOLVE=''
KEY=0x0123456789abcdef0123456789abcdef01234567

# --- what is on the wire -----------------------------------------------------------

# Counts frames that arrive at B's netdevs: packets to the UDP port, and others.
wire_watch() { # NETDEV...
	local devs
	devs=$(printf ', %s' "$@")
	in_b nft -f - <<-END
		table netdev wire {
			counter clear { }
			counter crypt { }
			chain in {
				type filter hook ingress devices = { ${devs#, } } priority -500;
				udp dport 4791 counter name clear return
				meta l4proto esp counter name crypt
				ether type 0x88e5 counter name crypt
			}
		}
	END
}

wire_unwatch() { in_b nft delete table netdev wire 2>/dev/null || true; }

wire_saw() { # clear|crypt
	in_b nft list counter netdev wire "$1" | sed -n 's/.*packets \([0-9]*\).*/\1/p'
}

# --- IPsec --------------------------------------------------------------------------

sa() { # a|b add|delete FROM TO SPI
	if [ "$2" = add ]; then
		on "$1" xfrm state add src "$3" dst "$4" proto esp spi "$5" mode transport \
			aead 'rfc4106(gcm(aes))' "$KEY" 128
	else
		on "$1" xfrm state delete src "$3" dst "$4" proto esp spi "$5"
	fi
}

# Security associations of both directions, at both hosts.
sas() { # add|delete A B SPI
	local h
	for h in a b; do
		sa $h "$1" "$2" "$3" "$4"
		sa $h "$1" "$3" "$2" "$4"
	done
}

policies() { # A B
	local h from to dir
	for h in a b; do
		for dir in out in; do
			from=$1 to=$2
			[ "$h$dir" = aout ] || [ "$h$dir" = bin ] || from=$2 to=$1
			on $h xfrm policy add dir $dir src "$from" dst "$to" proto udp \
				tmpl proto esp mode transport
		done
	done
}

esp_there() {
	modprobe esp4 || skip "this kernel has no ESP for IPv4"
	modprobe esp6 || skip "this kernel has no ESP for IPv6"
	sas add "$A4" "$B4" 0x100 || skip "this kernel has no AES-GCM"
	sas delete "$A4" "$B4" 0x100
}

ipsec_on() { # A B
	sas add "$1" "$2" 0x100
	policies "$1" "$2"
}

ipsec_off() {
	local h
	for h in a b; do
		on $h xfrm policy flush
		on $h xfrm state flush
	done
}

family() { # 4|6: option of verify
	[ "$1" = 4 ] || echo -6
}

load() { # OPTIONS...
	verify_start -t 200 "$@" --duration 1000 --size 16384 --op mixed --depth 16 --timeout 20
	receives_on 1 50
	receives_on 2 50
}

everything() { # OPTIONS...
	verify "$@" --size 1,4097,65536 --iters 20 --depth 5 --op mixed --bidir --timeout 18
	verify "$@" --ext-test send --iters 20 --timeout 22
	verify "$@" --ext-test read --iters 20 --timeout 22
}

encrypted() { # 4|6
	esp_there
	wire_watch pb1 pb2
	ipsec_on "$(own a "$1")" "$(own b "$1")"
	# shellcheck disable=SC2046 # an option or none
	everything $(family "$1")
	check "$(wire_saw crypt)" '>' 100 "packets in ESP"
	check "$(wire_saw clear)" == 0 "packets in clear"
	ctr_mark
	# shellcheck disable=SC2046
	verify $(family "$1") --size 65536 --iters 60 --timeout 18
	ctr_quiet 20
	ctr_take
	expect mrca/1 tx_data_pkts '>' 50
	expect mrca/2 tx_data_pkts '>' 50
}

# B wants IPsec, A does not know of it.
required() { # 4|6
	local a b before again
	esp_there
	a=$(own a "$1") b=$(own b "$1")
	wire_watch pb1 pb2
	ipsec_on "$a" "$b"
	# shellcheck disable=SC2046
	load $(family "$1")
	again=$(ctr_now mrca tx_rtx_pkts)
	on a xfrm policy delete dir out src "$a" dst "$b" proto udp
	wait_for 60 wire_clear
	before=$(ctr_now mrcb rx_data_pkts)
	wait_for 60 ctr_at_least mrca tx_rtx_pkts $((again + 40))
	check "$(($(ctr_now mrcb rx_data_pkts) - before))" '<' 40 "packets taken in clear"
	on a xfrm policy add dir out src "$a" dst "$b" proto udp tmpl proto esp mode transport
	receives_on 1 50
	receives_on 2 50
	verify_stop_well
}

wire_clear() { [ "$(wire_saw clear)" -gt 0 ]; }

# New keys: first both ends know them, then packets use them, then the old ones go.
rekeyed() {
	esp_there
	ipsec_on "$A4" "$B4"
	load
	for spi in 0x200 0x300; do
		sas add "$A4" "$B4" $spi
		receives_on 1 100
		sas delete "$A4" "$B4" $((spi - 0x100))
		receives_on 1 100
		receives_on 2 100
	done
	verify_stop_well
}

ipsec_subtest() { # NAME COMMAND...
	subtest "$@"
	ipsec_off
	wire_unwatch
}

# --- MACsec -------------------------------------------------------------------------

# Plane I over a MACsec netdev of a veth pair.
macsec_plane() { # I
	local i=$1 h other n=1
	ip -n hosta link add name "la$i" mtu 4600 address "02:00:00:00:0a:0$i" \
		type veth peer name "lb$i" mtu 4600 address "02:00:00:00:0b:0$i" netns hostb
	for h in a b; do
		other=b
		[ $h = a ] || other=a
		on $h link set "l$h$i" up
		on $h link add link "l$h$i" name "p$h$i" type macsec encrypt on
		ip netns exec "host$h" ip macsec add "p$h$i" tx sa 0 pn 1 on \
			key "0$n" "$(printf %032x $((n + 16 * i)))"
		n=$((3 - n))
		ip netns exec "host$h" ip macsec add "p$h$i" rx address \
			"02:00:00:00:0$other:0$i" port 1
		ip netns exec "host$h" ip macsec add "p$h$i" rx address \
			"02:00:00:00:0$other:0$i" port 1 sa 0 pn 1 on \
			key "0$n" "$(printf %032x $((n + 16 * i)))"
		plane_commands $h "$i" 4500 46 nic | ip -n "host$h" -batch -
	done
	for h in a b; do
		link_add $h "$i"
	done
}

macsec_planes() {
	local i
	modprobe macsec || skip "this kernel has no MACsec"
	for i in 1 2; do
		macsec_plane $i
	done
	for i in 1 2; do
		plane_ready $i
	done
}

below() {
	[ -e "/sys/class/infiniband/mrca" ] || skip "no planes over MACsec"
	wire_watch lb1 lb2
	everything
	everything -6
	check "$(wire_saw crypt)" '>' 100 "frames of MACsec"
	check "$(wire_saw clear)" == 0 "packets in clear"
}

# --- how much it costs ----------------------------------------------------------------

# Kept for the ratio, which is a figure and no test.
goodput() { # NAME
	# shellcheck disable=SC2119
	steady_bw
	measure 3
	steady_bw_end
	keep "$1" "$measured"
}

beside_plain() { # NAME
	goodput "$1"
	echo "figure: $1: $(percent "$measured" "$(result plain)") % of plain ($(mbit "$measured")" \
		"of $(mbit "$(result plain)") Mbit/s)"
}

ipsec_beside_plain() {
	esp_there
	ipsec_on "$A4" "$B4"
	beside_plain IPsec
}

macsec_beside_plain() {
	[ -e "/sys/class/infiniband/mrca" ] || skip "no planes over MACsec"
	beside_plain MACsec
}

topo 2
ipsec_subtest "IPsec, IPv4" encrypted 4
ipsec_subtest "IPsec, IPv6" encrypted 6
ipsec_subtest "IPsec is required, IPv4" required 4
ipsec_subtest "IPsec is required, IPv6" required 6
ipsec_subtest "IPsec with new keys under load" rekeyed
subtest "goodput, plain" goodput plain
ipsec_subtest "goodput with IPsec" ipsec_beside_plain
topo_down
hosts_up
subtest "planes over MACsec" macsec_planes
subtest "MACsec below each plane" below
subtest "goodput with MACsec" macsec_beside_plain
tap_end
