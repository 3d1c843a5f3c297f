#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest that systemd has booted, with the Debian packages: what an administrator does
# with them, and what has to be there after a boot. boot.sh puts this file on the disk and
# says by the kernel's command line what is to be done:
#   installed  nothing of the packages has run yet; the units are enabled
#   again      the same kernel once more: all is there without anybody's help, but for one
#              network card, which is plugged in later
#   updated    the same with a newer kernel; then the device is removed
# Prints to the second serial port.
set -uo pipefail
exec >/dev/ttyS1 2>&1 </dev/null
export HOME=/root LC_ALL=C
cd "$(dirname "$0")" || exit
# shellcheck source=../lab/lib_checks.sh
. ./lib_checks.sh
# shellcheck source=../../packaging/pair.sh
. ./pair.sh

stage=$(sed -n 's/.*boot_test=\([a-z]*\).*/\1/p' /proc/cmdline)
network=$(sed -n 's/.*boot_network=\([a-z-]*\).*/\1/p' /proc/cmdline)
UNITS=(mrc-links@mrc0.service mrcctl-serve.service mrcctl-metrics.timer mrcmap-collector.service)
PAGE=http://127.0.0.1:4680 TEXT=/var/lib/prometheus/node-exporter/mrc.prom
MAP_LINK=/var/lib/prometheus/node-exporter/mrcmap.prom
log=/tmp/log

up() { echo "$(cut -d. -f1 /proc/uptime) s after the kernel's start"; }
is() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$log" 2>&1; then good "$name"; else bad "$name" "$log"; fi
}
soon() { # NAME COMMAND...: succeeds within two minutes
	local name=$1 try
	shift
	for ((try = 0; try < 240; try++)); do
		! "$@" >"$log" 2>&1 || { good "$name, $(up)" && return; }
		sleep 0.5
	done
	systemctl --no-pager --lines 20 status "${UNITS[@]}" >>"$log" 2>&1
	bad "$name" "$log"
}

started() { # all jobs of the boot are done, and nothing has failed
	local state
	state=$(systemctl is-system-running --wait)
	echo "the system is $state"
	systemctl --no-pager --failed
	[ "$state" = running ]
}

nothing_runs() {
	[ ! -e /sys/module/mrc ] || return
	! systemctl list-units --all --plain --no-legend 'mrc*' | grep .
}

# By the key of this machine, which DKMS has made; that of the running kernel.
signed() {
	modinfo mrc | grep -E '^(filename|vermagic|sig)'
	[ "$(modinfo -F sig_id mrc)" = "PKCS#7" ] && [ -n "$(modinfo -F signer mrc)" ] &&
		[ "$(modinfo -F vermagic mrc | cut -d' ' -f1)" = "$(uname -r)" ]
}

# --- the device and its peer -----------------------------------------------------------------
# The kernel may find network cards after systemd has started all units.
netdevs() { ls -d /sys/class/net/{plane,peer}{1,2}; }
netdevs_of_peer() { ls -d /sys/class/net/peer{1,2}; }

enable_device() {
	mkdir -p /etc/mrc/links.d
	echo '{"formats":[{"id":3,"mode":"udp","fields":[16]}]}' >/etc/mrc/profiles.json
	printf '%s\n' 'name = mrc0' 'netdev = plane1' 'netdev = plane2' \
		'plane = plane2 addr 198.51.100.1 route 198.51.100.2 metric 102' \
		'profiles = /etc/mrc/profiles.json' 'extension = off' >/etc/mrc/links.d/mrc0.conf
	mrcctl links check && systemctl enable --now mrc-links@mrc0
}
# As the file says.
settings() {
	mrcctl -d mrc0 dev show && mrcctl -d mrc0 fmt show
	mrcctl -d mrc0 dev show | grep -q '^ *extension off$' &&
		mrcctl -d mrc0 fmt show | grep -q -x 'fmt 3 state online mode udp fields 16'
}

# Plane 1 has its address from the network's programs, plane 2 from the file.
addresses() {
	ip -4 addr show
	ip -4 route show
	[ "$(ip -4 -o addr show | grep -c ' plane[12] .* 198\.51\.100\.1/32 ')" = 2 ] &&
		ip -4 route show dev plane1 | grep -q '^198\.51\.100\.2 .* metric 101' &&
		ip -4 route show dev plane2 | grep -q '^198\.51\.100\.2 .* metric 102'
}
network_is() { # as boot.sh says
	case $network in
	ifupdown) systemctl is-active networking && ifquery --state plane1 &&
		! ifquery --state plane2 ;;
	network-manager) nmcli -t -f DEVICE,STATE device &&
		nmcli -t -f DEVICE,STATE device | grep -q -x plane1:connected &&
		nmcli -t -f DEVICE,STATE device | grep -q -x plane2:unmanaged ;;
	networkd) networkctl --no-pager list && networkctl list | grep -q 'plane1 .* configured' &&
		networkctl list | grep -q 'plane2 .* unmanaged' ;;
	*) false ;;
	esac
}

# Without the card of plane 2: its port is there, so that it can come while programs run.
one_plane() {
	local n
	rdma link show
	for n in /sys/class/net/plane2 /sys/class/net/mrcvacant*; do
		[ ! -e "$n" ] || return
	done
	[ "$(rdma link show | grep -c '^link mrc0/')" = 2 ] &&
		rdma link show | grep -q '^link mrc0/1 state ACTIVE .* netdev plane1' &&
		! rdma link show | grep -q '^link mrc0/2 .* netdev'
}

active() { # of two planes, with the netdevs of the file
	rdma link show
	[ "$(rdma link show | grep -c -E '^link mrc0/[12] state ACTIVE .* netdev plane[12]')" = 2 ]
}

# Nobody makes the peer at boot: it is another host.
make_peer() {
	local i
	ip netns add mrc-peer
	ip -n mrc-peer link set lo up
	for i in 1 2; do
		ip link set "peer$i" netns mrc-peer
		ip -n mrc-peer link set "peer$i" name "$PAIR_PREFIX$i" mtu 4500
	done
	pair_host_commands 2 "$PAIR_ADDRESS_B" "$PAIR_ADDRESS_A" | pair_at mrc-peer ip -batch -
	pair_host_settings 2 | pair_at mrc-peer sysctl -q -p -
	pair_device mrc-peer mrcpeer 2
	pair_at mrc-peer mrcctl -d mrcpeer dev set extension off
	pair_ready mrc-peer mrcpeer 2
}

listens() { pair_at mrc-peer ss -Hltn | grep -q :18515; }

# As its users type it.
write_bw() {
	local server rc=0 try from=$SECONDS
	pair_at mrc-peer ib_write_bw -d mrcpeer -x "$(pair_gid /sys mrcpeer "$PAIR_ADDRESS_B")" -F \
		-n 500 >/tmp/server 2>&1 &
	server=$!
	for ((try = 0; try < 300; try++)); do
		! listens || break
		sleep 0.2
	done
	timeout 300 ib_write_bw -d mrc0 -x "$(pair_gid /sys mrc0 "$PAIR_ADDRESS_A")" -F -n 500 \
		"$PAIR_ADDRESS_B" >/tmp/client 2>&1 || rc=$?
	[ "$rc" = 0 ] || kill "$server"
	wait "$server" || rc=$?
	cat /tmp/client
	tail -n 5 /tmp/server
	awk -v s=$((SECONDS - from)) '$1 == 65536 && $4 > 0 { mb = $4 }
		END { if (mb) print "figure: ib_write_bw: " mb " MB/s in " s " s"; exit !mb }' /tmp/client &&
		[ "$rc" = 0 ]
}

sent() { # PORT: bytes that mrc0 has sent over it, as the kernel counts them
	rdma -j statistic show link "mrc0/$1" | python3 -c 'import json, sys
print(sum(v for k, v in json.load(sys.stdin)[0].items() if k == "tx_data_bytes"))'
}

both_planes() {
	local p
	for p in 1 2; do
		echo "plane $p: $(sent "$p") bytes"
		[ "$(sent "$p")" -gt 1000000 ] || return
	done
}

# --- the page and the figures -------------------------------------------------------------------
page() {
	curl -sS --fail --max-time 60 "$PAGE/" >/tmp/page || return
	grep -q '<script type="module" src="/app.js">' /tmp/page
}
# Two planes are ACTIVE, and nothing is missing, for which the service needs its right.
page_state() {
	curl -sS --fail --max-time 60 "$PAGE/api/state" | python3 -c 'import json, sys
text = sys.stdin.read()
d = {x["name"]: x for x in json.loads(text)["devices"]}["mrc0"]
print(text)
assert [(p["state"], p["netdev"]) for p in d["ports"]] == [
    ("ACTIVE", "plane1"), ("ACTIVE", "plane2")] and d["missing"] == []'
}
# A user of its own with one right, CAP_NET_ADMIN, and a program that has no other name.
page_rights() {
	local pid
	pid=$(systemctl show -P MainPID mrcctl-serve.service)
	grep -E '^(Uid|Cap)' "/proc/$pid/status"
	readlink "/proc/$pid/exe"
	[ "$(awk '/^Uid/ { print ($2 >= 61184 && $2 <= 65519) }' "/proc/$pid/status")" = 1 ] &&
		[ "$(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$pid/status" | sort -u)" = 0000000000001000 ] &&
		[ "$(readlink "/proc/$pid/exe")" = /usr/libexec/mrc/mrcctl-serve ]
}
fresh_text() { # written in this boot, and again after that
	ls -l --time-style=+%s "$TEXT" || return
	[ "$(stat -c %Y "$TEXT")" -ge $(($(date +%s) - $(cut -d. -f1 /proc/uptime))) ] &&
		grep -q -x 'mrc_collector_success{[^}]*} 1' "$TEXT" &&
		! grep -q -x 'mrc_collector_success{[^}]*} 0' "$TEXT"
}
# The program that the file is for reads it.
exported() {
	curl -sS --fail --max-time 60 http://127.0.0.1:9100/metrics >/tmp/metrics || return
	grep -E '^node_(textfile_scrape_error|scrape_collector_success.*(textfile|infiniband))|^mrc_' \
		/tmp/metrics
	grep -q -x 'node_textfile_scrape_error 0' /tmp/metrics &&
		grep -q -x 'node_scrape_collector_success{collector="infiniband"} 1' /tmp/metrics &&
		[ "$(grep -c '^mrc_port_tx_data_pkts_total{.*device="mrc0"' /tmp/metrics)" = 2 ]
}
# The collector of the map, which has no agents here. It cannot write to the exporter's directory,
# so its unit has put a link there.
enable_map() {
	mkdir -p /etc/mrcmap
	cp /usr/share/mrclab/fabrics/small.yaml /etc/mrcmap/fabric.yaml
	printf '%s\n' 'FABRIC=/etc/mrcmap/fabric.yaml' 'LISTEN=127.0.0.1:48621' >/etc/mrcmap/collector.env
	systemctl enable --now mrcmap-collector.service
}
map_exported() {
	curl -sS --fail --max-time 60 http://127.0.0.1:9100/metrics >/tmp/metrics || return
	ls -l "$MAP_LINK"
	grep -E '^(node_textfile_scrape_error|mrcmap_)' /tmp/metrics
	[ -L "$MAP_LINK" ] && grep -q '^mrcmap_' /tmp/metrics &&
		grep -q -x 'node_textfile_scrape_error 0' /tmp/metrics
}
map_gone() {
	systemctl stop mrcmap-collector.service
	curl -sS --fail --max-time 60 http://127.0.0.1:9100/metrics >/tmp/metrics || return
	[ ! -L "$MAP_LINK" ] && ! grep '^mrcmap_' /tmp/metrics &&
		grep -x 'node_textfile_scrape_error 0' /tmp/metrics
}
text_again() { [ "$(stat -c %y "$TEXT")" != "$1" ]; }

services() {
	soon "the page of mrcctl-serve.service" page
	soon "it shows the device" page_state
	is "its user, rights and program" page_rights
	soon "mrcctl-metrics.timer has written its file" fresh_text
	soon "and writes it again" text_again "$(stat -c %y "$TEXT")"
	soon "node_exporter reads it, and the counters of all devices" exported
	soon "node_exporter reads the metrics of the map" map_exported
}

case $stage in
installed)
	is "the system starts" started
	is "the packages have started nothing" nothing_runs
	soon "the netdevs are there" netdevs
	is "a device by links.d" enable_device
	systemctl enable --now mrcctl-serve.service mrcctl-metrics.timer
	is "the map's collector is enabled" enable_map
	;;
again)
	# QEMU keeps what plane 1 sends until the netdev at the other end is up.
	soon "the other ends are there" netdevs_of_peer
	ip link set peer1 up
	ip link set peer2 up
	soon "the device is back with one plane" one_plane
	is "the system starts" started
	is "the units are active" systemctl is-active "${UNITS[@]}"
	echo "plug in plane2"
	;;
updated)
	soon "the device is back" active
	is "the system starts" started
	is "the units are active" systemctl is-active "${UNITS[@]}"
	;;
*) bad "stage '$stage'" ;;
esac
is "DKMS has signed the module" signed
soon "two planes are ACTIVE" active
soon "their addresses and routes, by $network and links.d" addresses
is "$network leaves plane 2 alone" network_is
is "extension and profiles, by links.d" settings
soon "the netdevs of the peer are there" netdevs_of_peer
is "a peer" make_peer
is "ib_write_bw" write_bw
cat "$log" | grep '^figure'
echo "figure: first ib_write_bw: $(up)"
is "both planes carried it" both_planes
services
if [ "$stage" = updated ]; then
	is "the metrics of the map go with its collector" map_gone
	rdma link del mrcpeer
	is "the device goes" systemctl stop mrc-links@mrc0
	is "nothing is left of it" sh -c '! rdma link show | grep mrc'
	is "the plane of the file goes with it" sh -c '! ip -4 addr show dev plane2 | grep 198 &&
		! ip -4 route show dev plane2 | grep 198'
	is "the module goes" modprobe -r mrc
	echo "end of stage $stage"
	systemctl poweroff
else
	echo "end of stage $stage"
	systemctl reboot
fi
