#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What others find in sysfs about a device: which NIC it uses and near which processors
# that is, what kind of device it is, counters of its ports. hwloc, the node exporter of
# Prometheus, and a program that looks as libraries for collectives do, see what is there;
# with netdevs that have no hardware, with NICs, and with NICs that are unplugged while
# the device is in use.
# timeout: 600
# nics
. "$(dirname "$0")/lib.sh"

IB=/sys/class/infiniband

# --- the parent -----------------------------------------------------------------

# The device of ours that DEV is below, wherever that is.
ours() { # DEV
	dirname "$(dirname "$(readlink -f $IB/"$1")")"
}

nic() { # a|b PLANE: the device of that NIC
	ip netns exec "host$1" readlink -f "/sys/class/net/p$1$2/device"
}

pci_name() { # a|b PLANE: of the PCI device that is the NIC, or that it is behind
	nic "$1" "$2" | grep -o '[0-9a-f]\{4\}:[0-9a-f]\{2\}:[0-9a-f]\{2\}\.[0-7]' | tail -n1
}

# The link leads to PATH, in every namespace that sees the device.
parent_is() { # DEV PATH
	local ns got
	for ns in '' hosta hostb; do
		got=$(${ns:+ip netns exec $ns} readlink -f "$IB/$1/device")
		[ "$got" = "$2" ] || {
			echo "device of $1 in ${ns:-the first namespace}: $got"
			return 1
		}
	done
}

# As its NIC has it.
reads() { # DEV FILE VALUE
	local value
	value=$(cat "$IB/$1/device/$2")
	[ "$value" = "$3" ] || fail "$1/device/$2 is '$value', not '$3'"
}

# Others' devices that belong to DEV are below the same parent and can be read.
belongs() { # DEV
	local class f n=0 want=1
	for class in infiniband_verbs infiniband_mad; do
		for f in /sys/class/$class/*/ibdev; do
			[ -e "$f" ] && [ "$(cat "$f")" = "$1" ] || continue
			[ "$(readlink -f "${f%/ibdev}/device")" = "$(ours "$1")" ] ||
				fail "${f%/ibdev} is below $(readlink -f "${f%/ibdev}")"
			n=$((n + 1))
		done
	done
	# One for verbs, and one of each port for management.
	[ ! -d /sys/module/ib_umad ] ||
		want=$((want + $(find $IB/"$1"/ports/ -mindepth 1 -maxdepth 1 | wc -l)))
	check "$n" == "$want" "devices that belong to $1"
}

virtual() {
	local dev bus
	for dev in mrca mrcb; do
		parent_is $dev "$(ours $dev)" || fail "the link of $dev"
		bus=$(basename "$(readlink -f "$(ours $dev)/subsystem")")
		[ "$bus" = faux ] || [ "$bus" = platform ] || fail "$dev is on the bus $bus"
		[[ $(ours $dev) == /sys/devices/"$bus"/* ]] || fail "$dev is at $(ours $dev)"
		reads $dev numa_node -1
		reads $dev local_cpulist "$(cat /sys/devices/system/cpu/online)"
		belongs $dev
	done
	[ "$(ours mrca)" != "$(ours mrcb)" ] || fail "both have the same parent"
}

# Ports come and go, and the namespaces that see the device.
always_there() {
	local n
	ip netns add late
	[ "$(ip netns exec late readlink -f $IB/mrca/device)" = "$(ours mrca)" ] ||
		fail "not in a namespace that came later"
	ip netns del late
	plane_add 3 4500
	link_add a 3
	parent_is mrca "$(ours mrca)" || fail "with another port"
	for n in 1 2 3; do
		ip -n hosta link del "pa$n"
	done
	parent_is mrca "$(ours mrca)" || fail "without netdevs"
	belongs mrca
}

# What a library for collectives needs: a path, and the GID of an address.
nearby() { # DEV PORT ADDRESS PATH SUBSYSTEM VENDOR
	local line want
	mrc_nearby "$1" >"$WORK/nearby" || fail "$(cat "$WORK/nearby")"
	line=$(grep "^$1 $2 " "$WORK/nearby") || fail "no $1/$2: $(cat "$WORK/nearby")"
	for want in "path=$4" "subsystem=$5" "vendor=$6" "gid=$(gid_index "$1" "$2" "$3")" \
		"numa=$(cat "$4/numa_node" 2>/dev/null || echo -)" \
		"cpus=$(cat "$4/local_cpulist" 2>/dev/null || echo -)"; do
		[[ " $line " == *" $want "* ]] || fail "no $want: $line"
	done
}

virtual_nearby() {
	local bus
	bus=$(basename "$(readlink -f "$(ours mrca)/subsystem")")
	nearby mrca 1 "$A4" "$(ours mrca)" "$bus" -
	# The name stays as it is when ports and virtual functions are taken for one NIC.
	grep -q "^mrca 1 .* nic=$(ours mrca) " "$WORK/nearby" || fail "$(cat "$WORK/nearby")"
}

kind() {
	local fw
	[ "$(cat $IB/mrca/hca_type)" = MRC ] || fail "hca_type"
	[ "$(cat $IB/mrca/board_id)" = soft-mrc ] || fail "board_id"
	grep -E -q '^[0-9a-f]+$' $IB/mrca/hw_rev || fail "hw_rev"
	fw=$(ibv_devinfo -d mrca | sed -n 's/.*fw_ver:[[:space:]]*//p')
	[ -n "$fw" ] && [ "$(cat $IB/mrca/fw_ver)" = "$fw" ] ||
		fail "fw_ver is $(cat $IB/mrca/fw_ver), for verbs $fw"
}

# --- counters of ports ------------------------------------------------------------

value() { # DEV PORT COUNTER
	cat "$IB/$1/ports/$2/counters/$3"
}

values_mark() {
	local f
	for f in $IB/mrc[ab]/ports/*/counters/*; do
		echo "$f $(cat "$f")"
	done >"$WORK/values"
}

# How much it grew since.
grown() { # DEV PORT COUNTER
	local before
	before=$(sed -n "s|^$IB/$1/ports/$2/counters/$3 ||p" "$WORK/values")
	echo $(($(value "$@") - before))
}

# What arrives at each plane's end, by netfilter: packets and bytes of IP.
watch() {
	local h i
	for h in a b; do
		{
			echo "table netdev watch {"
			for i in 1 2; do
				echo "counter plane$i {}"
				echo "chain in$i { type filter hook ingress device p$h$i priority -1000;"
				echo "meta l4proto udp udp dport 4791 counter name plane$i; }"
			done
			echo "}"
		} | ip netns exec "host$h" nft -f -
	done
}

unwatch() {
	in_a nft delete table netdev watch
	in_b nft delete table netdev watch
}

watched() { # a|b PLANE packets|bytes
	ip netns exec "host$1" nft list counter netdev watch "plane$2" |
		sed -n "s/.*$3 \([0-9]*\).*/\1/p"
}

# What one end sent, the other got, and netfilter saw.
same_on_the_way() { # FROM TO PLANE
	local packets bytes
	packets=$(watched "$2" "$3" packets)
	bytes=$(watched "$2" "$3" bytes)
	check "$packets" '>' 10 "packets from $1 over plane $3"
	check "$(grown "mrc$1" "$3" port_xmit_packets)" == "$packets" "packets that $1/$3 sent"
	check "$(grown "mrc$2" "$3" port_rcv_packets)" == "$packets" "packets that $2/$3 got"
	# Packets have whole units of four octets.
	check $(($(grown "mrc$1" "$3" port_xmit_data) * 4)) == "$bytes" "octets that $1/$3 sent"
	check $(($(grown "mrc$2" "$3" port_rcv_data) * 4)) == "$bytes" "octets that $2/$3 got"
}

# Over the first plane, from a host to host A.
pingpong() { # NETNS PROGRAM
	local dev=mrcb own=$B4
	[ "$1" = hostb ] || dev=mrca own=$A4
	start "$WORK/pong" ip netns exec hosta timeout 60 "$2" -d mrca -n 50 \
		-g "$(gid_index mrca 1 "$A4")"
	wait_for 30 listening hosta 18515
	ip netns exec "$1" timeout 60 "$2" -d $dev -n 50 -g "$(gid_index $dev 1 "$own")" "$MGMT_A"
	finished "$started" 60 || fail "$(cat "$WORK/pong")"
}

traffic_counted() {
	local i c
	watch
	values_mark
	verify --op mixed --size 1,4097,65536 --iters 40
	verify -6 -r --size 20000 --iters 40
	pingpong hostb ibv_uc_pingpong
	pingpong hostb ibv_ud_pingpong
	ctr_quiet 30
	for i in 1 2; do
		same_on_the_way a b "$i"
		same_on_the_way b a "$i"
		for c in unicast_xmit_packets unicast_rcv_packets; do
			check "$(grown mrca "$i" $c)" == "$(grown mrca "$i" "port_${c#unicast_}")" \
				"$c of plane $i"
		done
	done
	unwatch
}

# Over loopback nothing goes through a port.
loopback_not_counted() {
	values_mark
	pingpong hosta ibv_rc_pingpong
	ctr_quiet 30
	check "$(grown mrca 1 port_xmit_packets)" == 0 "packets sent"
	check "$(grown mrca 1 port_rcv_packets)" == 0 "packets that arrived"
}

listening() { # NETNS PORT
	ip netns exec "$1" ss -Hltn "sport = :$2" | grep -q .
}

# A packet that is nobody's and damaged: 20 + 8 + 64 octets.
damaged_counted() {
	values_mark
	in_b python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'pb2')
s.sendto(bytes([0x64]) + bytes(63), ('$A4', 4791))"
	wait_for 30 has_grown mrca 2 port_rcv_errors
	check "$(grown mrca 2 port_rcv_errors)" == 1 "damaged packets"
	check "$(grown mrca 2 port_rcv_packets)" == 1 packets
	check "$(grown mrca 2 port_rcv_data)" == 23 "units of data"
	check "$(grown mrca 1 port_rcv_errors)" == 0 "damaged packets of the other port"
}

has_grown() { [ "$(grown "$@")" -gt 0 ]; }

grown_all() { # DEV COUNTER
	echo $(($(grown "$1" 1 "$2") + $(grown "$1" 2 "$2")))
}

joined() { # NETNS GROUP
	ip -n "$1" maddr show | grep -q -w "$2"
}

# What the sender gets of its own has been nowhere.
multicast_counted() {
	local dev other
	values_mark
	start "$WORK/mc" ip netns exec hosta timeout 60 mckey -m 239.1.2.3 -b "$A4" -C 10
	wait_for 30 joined hosta 239.1.2.3
	in_b timeout 60 mckey -m 239.1.2.3 -b "$B4" -s -C 10
	finished "$started" 60 || fail "$(cat "$WORK/mc")"
	ctr_quiet 30
	check "$(grown_all mrcb multicast_xmit_packets)" == 10 "multicast packets sent"
	check "$(grown_all mrca multicast_rcv_packets)" == 10 "multicast packets that arrived"
	check "$(grown_all mrcb multicast_rcv_packets)" == 0 "multicast packets of its own"
	for dev in mrca mrcb; do
		other=$(grown_all $dev port_xmit_packets)
		check $(($(grown_all $dev unicast_xmit_packets) + $(grown_all $dev multicast_xmit_packets))) == \
			"$other" "packets that $dev sent"
	done
}

link_counted() {
	values_mark
	ip -n hostb link set pb2 down
	wait_for 30 port_is mrca 2 DOWN
	check "$(grown mrca 2 link_downed)" == 1 "times that port 2 went down"
	check "$(grown mrca 1 link_downed)" == 0 "times that port 1 went down"
	ip -n hostb link set pb2 up
	plane_routes 2
	wait_for 30 port_is mrca 2 ACTIVE
	check "$(grown mrca 2 link_downed)" == 1 "times that port 2 went down"
}

# Packets that a qdisc drops at once.
discards_counted() {
	values_mark
	ctr_mark
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	in_a tc qdisc replace dev pa2 root pfifo limit 0
	wait_for 30 has_grown mrca 2 port_xmit_discards
	in_a tc qdisc del dev pa2 root
	verify_stop
	ctr_quiet 30
	ctr_take
	expect mrca/2 tx_errors == "$(grown mrca 2 port_xmit_discards)"
}

# --- monitoring ---------------------------------------------------------------------

# A device that somebody else made, beside ours.
put() { # PATH VALUE
	mkdir -p "$(dirname "$1")"
	echo "$2" >"$1"
}

sysfs_with_other() {
	local dir=$WORK/sys/class/infiniband d
	mkdir -p "$dir"
	for d in $IB/*; do
		ln -s "$d" "$dir/"
	done
	put "$dir/mlx5_0/board_id" MT_0000000012
	put "$dir/mlx5_0/fw_ver" 16.35.4030
	put "$dir/mlx5_0/hca_type" MT4119
	put "$dir/mlx5_0/node_guid" 506b:4b03:005c:1234
	dir=$dir/mlx5_0/ports/1
	put "$dir/link_layer" Ethernet
	put "$dir/phys_state" "5: LinkUp"
	put "$dir/state" "4: ACTIVE"
	put "$dir/rate" "100 Gb/sec (4X EDR)"
	put "$dir/counters/port_rcv_data" 1000
	put "$dir/counters/port_xmit_data" 2000
	put "$dir/hw_counters/out_of_sequence" 3
}

metrics() {
	python3 -c "
import sys, urllib.request
sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:9100/metrics').read().decode())" \
		>"$WORK/metrics" 2>/dev/null &&
		grep -q '^node_scrape_collector_success' "$WORK/metrics"
}

# The exporter writes large numbers as 1.25e+09.
metric() { # NAME DEV PORT VALUE
	local got
	got=$(grep "^node_infiniband_$1{device=\"$2\",port=\"$3\"} " "$WORK/metrics") ||
		fail "no $1 of $2/$3: $(grep -c ^node_infiniband "$WORK/metrics") others"
	check "$(awk '{ printf "%.0f", $2 }' <<<"$got")" == "$4" "$1 of $2/$3"
}

exporter() {
	local p d
	command -v prometheus-node-exporter >/dev/null || fail "there is none"
	sysfs_with_other
	start "$WORK/exporter" prometheus-node-exporter --path.sysfs="$WORK/sys" \
		--collector.disable-defaults --collector.infiniband \
		--web.listen-address=127.0.0.1:9100
	wait_for 60 metrics || fail "$(cat "$WORK/exporter")"
	grep -q '^node_scrape_collector_success{collector="infiniband"} 1$' "$WORK/metrics" ||
		fail "it has ended: $(cat "$WORK/exporter")"
	! grep -i -E 'error|not found' "$WORK/exporter" || fail "it complains"
	for d in mrca mrcb; do
		grep -q "^node_infiniband_info{board_id=\"soft-mrc\",device=\"$d\",firmware_version=\"$(cat $IB/$d/fw_ver)\",hca_type=\"MRC\"} 1$" \
			"$WORK/metrics" || fail "no information about $d: $(grep _info "$WORK/metrics")"
		for p in 1 2; do
			check "$(value $d $p port_xmit_packets)" '>' 100 "packets of $d/$p"
			metric port_data_transmitted_bytes_total $d $p \
				$(($(value $d $p port_xmit_data) * 4))
			metric port_data_received_bytes_total $d $p \
				$(($(value $d $p port_rcv_data) * 4))
			metric port_packets_transmitted_total $d $p "$(value $d $p port_xmit_packets)"
			metric port_packets_received_total $d $p "$(value $d $p port_rcv_packets)"
			metric unicast_packets_transmitted_total $d $p \
				"$(value $d $p unicast_xmit_packets)"
			metric multicast_packets_received_total $d $p \
				"$(value $d $p multicast_rcv_packets)"
			metric port_errors_received_total $d $p "$(value $d $p port_rcv_errors)"
			metric port_discards_transmitted_total $d $p \
				"$(value $d $p port_xmit_discards)"
			metric link_downed_total $d $p "$(value $d $p link_downed)"
			metric state_id $d $p 4
			metric physical_state_id $d $p 5
			metric rate_bytes_per_second $d $p 1250000000
		done
	done
	metric port_data_received_bytes_total mlx5_0 1 4000
	metric port_data_transmitted_bytes_total mlx5_0 1 8000
	grep -q '^node_infiniband_info{board_id="MT_0000000012",device="mlx5_0",firmware_version="16.35.4030",hca_type="MT4119"} 1$' \
		"$WORK/metrics" || fail "no information about the other"
}

# --- NICs ---------------------------------------------------------------------------

nic_test() { # NAME COMMAND...
	if have_nics; then
		subtest "$@"
	else
		subtest "$1" skip "this machine has no NICs (no PCI, or vm.sh without -N)"
	fi
}

below_nic() {
	local h f n
	for h in a b; do
		n=$(nic $h 1)
		[ "$(basename "$(readlink -f "$n/subsystem")")" = pci ] || fail "$n is not PCI"
		parent_is mrc$h "$n" || fail "the link of mrc$h is not that of its NIC"
		for f in vendor device class numa_node local_cpulist local_cpus; do
			reads mrc$h $f "$(cat "$n/$f")"
		done
		[[ $(ours mrc$h) == "$n"/* ]] || fail "mrc$h is at $(ours mrc$h)"
		belongs mrc$h
		[ "$(cat "$(ours mrc$h)/numa_node")" = "$(cat "$n/numa_node")" ] ||
			fail "another NUMA node than its NIC"
	done
	nearby mrca 1 "$A4" "$(nic a 1)" pci "$(cat "$(nic a 1)/vendor")"
}

# hwloc has the devices as OpenFabrics, below the PCI device of the NIC.
hwloc_sees() {
	local h want
	lstopo --of xml "$WORK/topology.xml"
	for h in a b; do
		want=$(pci_name $h 1)
		python3 - "$WORK/topology.xml" "mrc$h" "$want" <<-'PY'
			import sys, xml.etree.ElementTree as tree
			root = tree.parse(sys.argv[1]).getroot()
			up = {c: p for p in root.iter() for c in p}
			own = [o for o in root.iter("object")
			       if o.get("type") == "OSDev" and o.get("name") == sys.argv[2]]
			if len(own) != 1:
			    sys.exit(f"{len(own)} objects {sys.argv[2]}")
			if own[0].get("osdev_type") != "3":
			    sys.exit(f"{sys.argv[2]} is of type {own[0].get('osdev_type')}")
			parent = up[own[0]]
			if parent.get("type") != "PCIDev" or parent.get("pci_busid") != sys.argv[3]:
			    sys.exit(f"below {parent.attrib}, not {sys.argv[3]}")
		PY
	done
	lstopo --of console | grep -A3 -E 'PCI .*Ethernet' | head -n 8 | sed 's/^/figure: /'
}

# What udev calls for each new device leaves names alone that a user has given.
not_renamed() {
	case $(uname -r) in
	6.1.*) skip "this kernel does not tell who named a device; make install has a rule for it" ;;
	esac
	/usr/lib/udev/rdma_rename mrca NAME_FALLBACK
	[ -e $IB/mrca ] || fail "renamed: $(rdma_devices)"
}

unplug() { # a|b PLANE
	echo 1 >"$(nic "$1" "$2" | grep -o '.*/[0-9a-f]\{4\}:[0-9a-f:.]*')/remove"
}

no_netdev() { # DEV PORT
	! rdma link show "$1/$2" | grep -q netdev
}

# In the middle of traffic; the others go on.
unplugged() {
	local next
	next=$(nic a 2)
	verify_start --duration 1000 --size 65536
	wait_for 30 verify_running
	unplug a 1
	wait_for 30 no_netdev mrca 1
	wait_for 30 parent_is mrca "$next"
	[[ $(ours mrca) == "$next"/* ]] || fail "mrca is at $(ours mrca)"
	belongs mrca
	verify_running || fail "the traffic has ended"
	verify_stop
	nearby mrca 2 "$A4" "$next" "$(basename "$(readlink -f "$next/subsystem")")" \
		"$(cat "$next/vendor")"
}

all_unplugged() {
	local i
	for i in 2 3 4; do
		unplug a $i
	done
	for i in 1 2 3 4; do
		wait_for 30 no_netdev mrca $i
	done
	wait_for 30 parent_is mrca "$(ours mrca)"
	belongs mrca
	[[ $(ours mrca) != */pci* ]] || fail "mrca is at $(ours mrca)"
	# It can be opened as before, and has no port.
	ibv_devinfo -d mrca >"$WORK/info"
	[ "$(grep -c PORT_DOWN "$WORK/info")" = 4 ] || fail "$(cat "$WORK/info")"
}

new_nics() { # the netdevs of the NICs that are in the first namespace
	local d
	for d in /sys/class/net/*/device; do
		[ ! -e "$d" ] || basename "${d%/device}"
	done
}

four_there() { [ "$(new_nics | wc -l)" = 4 ]; }

# Another one takes the place, and the link shows it.
replaced() {
	local n path
	echo 1 >/sys/bus/pci/rescan
	wait_for 60 four_there
	read -r n < <(new_nics)
	path=$(readlink -f "/sys/class/net/$n/device")
	ip link set "$n" netns hosta
	in_a rdma link add mrca type mrc netdev "$n"
	parent_is mrca "$path" || fail "the link is not that of $n"
	belongs mrca
	# With the NIC it leaves: to another namespace, and for good.
	ip -n hosta link set "$n" netns hostb
	wait_for 30 parent_is mrca "$(ours mrca)"
	ip -n hostb link set "$n" netns hosta
	in_a rdma link add mrca type mrc netdev "$n"
	parent_is mrca "$path" || fail "the link is not that of $n again"
	rdma link del mrca
	[ -e "$path/vendor" ] || fail "the NIC is gone"
}

# Devices below NICs hold nothing when the module goes.
unloaded() {
	local n
	n=$(nic b 1)
	wait_for 30 rmmod mrc
	[ -z "$(find "$n/" -maxdepth 1 -name 'mrc*')" ] || fail "something is left below $n"
	modprobe mrc
}

# Its devices are below the parent too, where the kernel has it.
modprobe ib_umad 2>/dev/null || true
topo 2
subtest "netdevs without hardware: the link leads to a device of ours" virtual
subtest "a program that looks for NICs finds its way" virtual_nearby
subtest "what kind of device it is" kind
subtest "packets and data, counted as on the way" traffic_counted
subtest "loopback goes through no port" loopback_not_counted
subtest "damaged packets" damaged_counted
subtest "multicast" multicast_counted
subtest "links that go down" link_counted
subtest "packets that the netdev refuses" discards_counted
subtest "the node exporter, with another device beside" exporter
subtest "ports and namespaces come and go" always_there
if have_nics; then
	topo nics
fi
nic_test "NICs: the link leads to the first one" below_nic
nic_test "hwloc shows the device at its NIC" hwloc_sees
nic_test "udev leaves the name" not_renamed
nic_test "unplugged in the middle of traffic" unplugged
nic_test "without any NIC left" all_unplugged
nic_test "another NIC takes the place" replaced
nic_test "the module goes while devices are below NICs" unloaded
tap_end
