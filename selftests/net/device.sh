#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What sysfs shows about a device: the NIC that it uses, the processors near that NIC,
# and the kind of device. hwloc and a program that searches like collective libraries
# must find this. Tested with netdevs without hardware, with NICs, and with NICs that
# are unplugged while the device is in use.
# timeout: 600
# kmsg-ok: p[ab][0-9] speed is unknown, defaulting to
# nics
. "$(dirname "$0")/lib.sh"

IB=/sys/class/infiniband

# --- the parent --------------------------------------------------------------------

# The device of this driver that is the parent of DEV, wherever it is in sysfs.
ours() { # DEV
	dirname "$(dirname "$(readlink -f $IB/"$1")")"
}

nic() { # a|b PLANE: the device of that NIC
	ip netns exec "host$1" readlink -f "/sys/class/net/p$1$2/device"
}

pci_name() { # a|b PLANE: name of the PCI device of the NIC, or of the one above it
	nic "$1" "$2" | grep -o '[0-9a-f]\{4\}:[0-9a-f]\{2\}:[0-9a-f]\{2\}\.[0-7]' | tail -n1
}

# The link points to PATH, in every namespace that sees the device.
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

# DEV has the attribute with the value that its NIC has.
reads() { # DEV FILE VALUE
	local value
	value=$(cat "$IB/$1/device/$2")
	[ "$value" = "$3" ] || fail "$1/device/$2 is '$value', not '$3'"
}

# Class devices of other modules that belong to DEV have the same parent and can be
# read. Older kernels also have one for the subnet manager of each port (issm).
belongs() { # DEV
	local class f n=0 want=1
	for class in infiniband_verbs infiniband_mad; do
		for f in /sys/class/$class/*/ibdev; do
			[ -e "$f" ] && [ "$(cat "$f")" = "$1" ] || continue
			[[ $f != */issm*/ibdev ]] || continue
			[ "$(readlink -f "${f%/ibdev}/device")" = "$(ours "$1")" ] ||
				fail "${f%/ibdev} is below $(readlink -f "${f%/ibdev}")"
			n=$((n + 1))
		done
	done
	# One for verbs, and one for management for each port.
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

# The link stays while ports, and namespaces that see the device, are added and
# removed.
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

# Checks what a collective library needs: a path in sysfs, and the GID of an address.
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
	# The name of the NIC does not change when a library counts ports and virtual
	# functions as one NIC.
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

# --- NICs --------------------------------------------------------------------------

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

# hwloc shows the devices as OpenFabrics devices, below the PCI device of the NIC.
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

# The programs that udev runs for each new device do not change names given by a user.
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

# A NIC is unplugged during traffic. The other NICs go on.
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
	# The device can be opened as before, and has no active port.
	ibv_devinfo -d mrca >"$WORK/info"
	[ "$(grep -c PORT_DOWN "$WORK/info")" = 4 ] || fail "$(cat "$WORK/info")"
}

new_nics() { # netdevs of the NICs in the first namespace
	local d
	for d in /sys/class/net/*/device; do
		[ ! -e "$d" ] || basename "${d%/device}"
	done
}

four_there() { [ "$(new_nics | wc -l)" = 4 ]; }

# Another NIC takes the place, and the link points to it.
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
	# When the NIC moves to another namespace, the link points to this driver's
	# device again. Deleting the device does not remove the NIC.
	ip -n hosta link set "$n" netns hostb
	wait_for 30 parent_is mrca "$(ours mrca)"
	ip -n hostb link set "$n" netns hosta
	in_a rdma link add mrca type mrc netdev "$n"
	parent_is mrca "$path" || fail "the link is not that of $n again"
	rdma link del mrca
	[ -e "$path/vendor" ] || fail "the NIC is gone"
}

# Devices below NICs keep no reference when the module is unloaded.
unloaded() {
	local n
	n=$(nic b 1)
	wait_for 30 rmmod mrc
	[ -z "$(find "$n/" -maxdepth 1 -name 'mrc*')" ] || fail "something is left below $n"
	modprobe mrc
}

# The class devices of ib_umad are below the parent too, if the kernel has that
# module.
modprobe ib_umad 2>/dev/null || true
topo 2
subtest "netdevs without hardware: the link leads to a device of ours" virtual
subtest "a program that looks for NICs finds its way" virtual_nearby
subtest "what kind of device it is" kind
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
