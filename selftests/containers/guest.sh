#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest, with crun: the two services of packaging/containers/compose.yaml as containers
# without any capability, and the devices that mrc-netns.sh gives them; then two pods whose
# devices mrc-cni.sh moves, and a pod that containerd makes. TAP output. check.sh starts it.
# shellcheck disable=SC2154 # $started is of lib.sh
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib_containerd.sh
. "$(dirname "$0")/lib_containerd.sh"

IMAGE=/mrc/work/rootfs PACKAGING=/mrc/work/packaging
COMPOSE=$PACKAGING/containers/compose.yaml
HERE=$(cd "$(dirname "$0")" && pwd)
A4=198.51.100.1 B4=198.51.100.2
POD_A4=10.1.0.1 POD_B4=10.1.0.2

mrc_netns() { "$PACKAGING/containers/mrc-netns.sh" "$@"; }

# --- containers ----------------------------------------------------------------------
# Their memory of locked pages must come from the compose file.
ulimit -l 64

container() { # NAME SERVICE OPTION-OF-OCI.PY...
	local name=$1 service=$2
	shift 2
	mkdir -p "$WORK/$name"
	"$HERE/oci.py" "$COMPOSE" "$service" "$IMAGE" "$@" >"$WORK/$name/config.json"
	crun run --detach --bundle "$WORK/$name" "$name" </dev/null >"$WORK/$name/log" 2>&1 ||
		fail "crun: $(cat "$WORK/$name/log")"
}

pid_of() { crun state "$1" | jq -r .pid; }
# The runtime gives a further process the rights and limits of the first one only if it is told.
process() { # CONTAINER COMMAND...: prints a file that describes it
	local name=$1 file
	shift
	file=$(mktemp "$WORK/$name/process.XXXXXX")
	jq '.process | .args = $ARGS.positional' "$WORK/$name/config.json" --args -- "$@" >"$file"
	echo "$file"
}
inside() { # CONTAINER COMMAND...
	crun exec --process "$(process "$@")" "$1"
}

container_gone() { ! crun state "$1"; }
end_container() { # NAME
	crun delete --force "$1"
	wait_for 30 container_gone "$1"
}

# The index of a GID in the table that a container sees.
gid_in() { # CONTAINER DEVICE ADDRESS
	gid_text_is "$(gid_text "$3")" inside "$1" sh -c \
		"cd /sys/class/infiniband/$2/ports/1/gids && grep . *"
}
gid_text_is() { # GID COMMAND...
	local gid=$1
	shift
	"$@" 2>/dev/null | awk -F: -v g="$gid" '{ i = $1; sub(/^[0-9]+:/, "") } $0 == g { print i; exit }'
}

listens() { # CONTAINER: for TCP, or for rdma_cm
	inside "$1" sh -c 'grep -q -i ":4951 .* 0A " /proc/net/tcp /proc/net/tcp6' ||
		nsenter -t "$(pid_of "$1")" -n rdma resource show cm_id | grep -q LISTEN
}

# An unmodified ib_write_bw between two containers, as its user would type it.
write_bw() { # SERVER ITS-DEVICE CLIENT ITS-DEVICE [OPTION]...
	local server=$1 sdev=$2 client=$3 cdev=$4 sgid cgid pid file rc=0
	shift 4
	sgid=$(gid_in "$server" "$sdev" "$B4")
	cgid=$(gid_in "$client" "$cdev" "$A4")
	[ -n "$sgid" ] && [ -n "$cgid" ] || fail "no GIDs: server '$sgid', client '$cgid'"
	file=$(process "$server" ib_write_bw -d "$sdev" -x "$sgid" -p 18769 -F -s 65536 -n 200 "$@")
	start "$WORK/server" crun exec --process "$file" "$server"
	pid=$started
	wait_for 60 listens "$server" || fail "$(cat "$WORK/server")"
	file=$(process "$client" ib_write_bw -d "$cdev" -x "$cgid" -p 18769 -F -s 65536 -n 200 "$@" "$B4")
	timeout 120 crun exec --process "$file" "$client" >"$WORK/client" 2>&1 || rc=$?
	[ "$rc" = 0 ] || fail "client $rc: $(tail -n 8 "$WORK/client" "$WORK/server")"
	finished "$pid" 60 || fail "server: $(tail -n 8 "$WORK/server")"
	bandwidth=$(awk '$1 == 65536 { print $4 }' "$WORK/client")
	[ -n "$bandwidth" ] || fail "no bandwidth: $(cat "$WORK/client")"
	echo "figure: ib_write_bw $*: $bandwidth MB/s"
}

# Bytes that a plane of a container has received.
received() { # PID PLANE
	nsenter -t "$1" -n ip -j -s link show "$2" | jq '.[0].stats64.rx.bytes'
}

# --- two hosts of the compose file -----------------------------------------------------
# Other namespaces do not matter while the module is not loaded.
mode() {
	rmmod mrc
	modprobe -r rdma_ucm ib_uverbs rdma_cm ib_cm ib_core
	[ ! -d /sys/module/ib_core ] || fail "ib_core is still loaded"
	ip netns add other
	mrc_netns mode
	mrc_netns mode
	[[ $(rdma system show) == *'netns exclusive'* ]] || fail "$(rdma system show)"
	ip netns del other
	# Programs of containers need it for rdma_cm.
	[ -c /dev/infiniband/rdma_cm ] || fail "no rdma_cm"
}

no_container() {
	refuse 'neither docker nor podman' mrc_netns up nobody nobody
	refuse 'usage' mrc_netns up $$
}

without_rights() {
	local said
	container mrc-a a
	container mrc-b b
	said=$(inside mrc-a sh -c 'id -u; grep -E "^(Cap(Eff|Prm|Bnd)|NoNewPrivs)" /proc/1/status; ulimit -l')
	[ "$(tr -s '\n\t ' ' ' <<<"$said")" = "1000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 unlimited " ] ||
		fail "$said"
	! inside mrc-a touch /root-is-read-only 2>/dev/null || fail "the root is not read-only"
	[ "$(inside mrc-a ls /sys/class/net)" = lo ] || fail "$(inside mrc-a ls /sys/class/net)"
}

devices_given() {
	mrc_netns up "$(pid_of mrc-a)" "$(pid_of mrc-b)"
	check "$(nsenter -t "$(pid_of mrc-a)" -n rdma link show | grep -c ACTIVE)" == 4 "planes of a"
}

own_only() {
	[ "$(inside mrc-a ls /sys/class/infiniband)" = mrc0 ] || fail "a sees others"
	[ "$(inside mrc-b ls /sys/class/infiniband)" = mrc1 ] || fail "b sees others"
	[ "$(inside mrc-a ibv_devices | awk 'NR > 2 { print $1 }')" = mrc0 ] ||
		fail "$(inside mrc-a ibv_devices)"
	refuse "wasn't found|not found" inside mrc-a ibv_devinfo -d mrc1
	check "$(inside mrc-a sh -c 'ls /dev/infiniband | wc -l')" == 2 "nodes in a"
	check "$(rdma dev show | wc -l)" == 0 "devices that the machine sees"
}

# Whoever puts the other's node into the container gains nothing: the kernel refuses to open it.
other_refused() {
	local a b node
	a=$(pid_of mrc-a)
	b=$(pid_of mrc-b)
	node=$(cd "/proc/$b/root/dev/infiniband" && echo uverbs*)
	refuse 'permitted' inside mrc-a mknod /dev/shm/node c 231 193
	mknod -m 666 "/proc/$a/root/dev/infiniband/other" c 231 $((192 + ${node#uverbs}))
	refuse 'permitted' inside mrc-a sh -c 'exec 3<>/dev/infiniband/other'
	rm "/proc/$a/root/dev/infiniband/other"
	inside mrc-b sh -c "exec 3<>/dev/infiniband/$node"
}

traffic() { # [OPTION OF ib_write_bw]
	local i b
	b=$(pid_of mrc-b)
	for i in 1 2 3 4; do
		from[i]=$(received "$b" mrcp$i)
	done
	write_bw mrc-b mrc1 mrc-a mrc0 "$@"
	for i in 1 2 3 4; do
		check $(($(received "$b" mrcp$i) - from[i])) '>' $((200 * 65536 / 8)) "bytes over plane $i"
	done
}

no_control() {
	refuse 'permitted' inside mrc-a rdma link del mrc0
	refuse 'permitted' inside mrc-a ip link set mrcp1 down
	# Packages that were built without the tools do not have it.
	! inside mrc-a sh -c 'command -v mrcctl' >/dev/null ||
		refuse 'permitted|privilege' inside mrc-a mrcctl -d mrc0 port set 1 disable
}

other_ends() {
	end_container mrc-b
	wait_for 30 planes_down
	[ "$(inside mrc-a ls /sys/class/infiniband)" = mrc0 ] || fail "a has lost its device"
	end_container mrc-a
	check "$(rdma dev show | wc -l)" == 0 "devices that are left"
}
planes_down() { ! nsenter -t "$(pid_of mrc-a)" -n rdma link show | grep -q ACTIVE; }

# --- two pods ----------------------------------------------------------------------------
uverbs_node() { # DEVICE of this machine
	echo "/dev/infiniband/$(grep -l -x "$1" /sys/class/infiniband_verbs/uverbs*/ibdev | cut -d/ -f5)"
}

# The configuration of network.yaml.
manifest_network() {
	python3 -c 'import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))["spec"]["config"])' \
		"$PACKAGING/kubernetes/network.yaml"
}

# For this device, as Multus passes it.
cni() { # COMMAND POD DEVICE ADDRESS
	manifest_network |
		jq --arg d "$3" --arg a "$4" \
			'.name = $d | .device = $d | .runtimeConfig = {ips: [$a + "/32"]}' |
		CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/var/run/netns/$2 CNI_IFNAME=net1 \
			CNI_PATH=$PACKAGING/kubernetes "$PACKAGING/kubernetes/mrc-cni.sh"
}

# What an administrator prepares: devices with their planes.
node_devices() {
	local i
	for i in 1 2; do
		ip link add "pa$i" mtu 4500 type veth peer name "pb$i" mtu 4500
		ip link set "pa$i" up
		ip link set "pb$i" up
		rdma link add mrc0 type mrc netdev "pa$i"
		rdma link add mrc1 type mrc netdev "pb$i"
	done
}

# All of them are back from the pods.
node_devices_end() {
	wait_for 30 both_back || fail "$(rdma link show)"
	rdma link del mrc0
	rdma link del mrc1
	ip link del pa1
	ip link del pa2
}

# The order is that of a kubelet: nodes are chosen, the sandbox gets its networks, containers
# start.
pods() {
	local a b said A4=$POD_A4 B4=$POD_B4
	node_devices
	a=$(uverbs_node mrc0)
	b=$(uverbs_node mrc1)
	ip netns add pod-a
	ip netns add pod-b
	said=$(cni ADD pod-a mrc0 "$A4") || fail "$said"
	[ "$(jq -r '.interfaces[].name, .ips[0].address' <<<"$said" | paste -sd' ')" = "pa1 pa2 $A4/32" ] ||
		fail "$said"
	said=$(cni ADD pod-b mrc1 "$B4") || fail "$said"
	cni CHECK pod-a mrc0 "$A4"
	refuse 'another pod has it' cni ADD pod-b mrc0 "$A4"
	container pod-a a --netns /run/netns/pod-a --device "$a"
	container pod-b b --netns /run/netns/pod-b --device "$b"
	[ "$(inside pod-a ls /sys/class/infiniband)" = mrc0 ] || fail "pod-a sees others"
	write_bw pod-b mrc1 pod-a mrc0
}

pods_end() {
	local p
	for p in a b; do
		end_container pod-$p
	done
	cni DEL pod-a mrc0 "$POD_A4"
	cni DEL pod-a mrc0 "$POD_A4"
	cni DEL pod-b mrc1 "$POD_B4"
	ip netns del pod-a
	ip netns del pod-b
	cni DEL pod-a mrc0 "$POD_A4"
	node_devices_end
}
# Pod A is made by containerd, as a kubelet asks for it. Pod B is its peer.
cri_pods() {
	local a b pid pod sandbox said sgid cgid A4=$POD_A4 B4=$POD_B4
	node_devices
	a=$(uverbs_node mrc0)
	b=$(uverbs_node mrc1)
	ip netns add pod-b
	said=$(cni ADD pod-b mrc1 "$B4") || fail "$said"
	container pod-b b --netns /run/netns/pod-b --device "$b"
	cri_start "$A4"
	pod=$(cri_pod pod-a)
	sandbox=$(cri RunPodSandbox "$(jq -n --argjson p "$pod" '{config: $p}')" | jq -r .podSandboxId)
	[ -n "$sandbox" ] || fail "no sandbox: $(tail -n 5 "$WORK/cri/log")"
	[[ $(rdma link show) != *mrc0/* ]] || fail "the device is still on the node"
	cri_id=$(cri CreateContainer "$(cri_container "$sandbox" "$pod" "$a" /dev/infiniband/rdma_cm)" |
		jq -r .containerId)
	[ -n "$cri_id" ] || fail "no container: $(tail -n 5 "$WORK/cri/log")"
	cri StartContainer "$(jq -n --arg c "$cri_id" '{container_id: $c}')"
	# Process 1 is that of the sandbox.
	said=$(cri_exec sh -c 'id -u; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status; ulimit -l
		ls /sys/class/infiniband /sys/class/net')
	[ "$(tr -s '\n\t ' ' ' <<<"$said")" = "1000 CapEff: 0000000000000000 NoNewPrivs: 1 unlimited /sys/class/infiniband: mrc0 /sys/class/net: eth0 lo pa1 pa2 " ] ||
		fail "$said"
	sgid=$(gid_in pod-b mrc1 "$B4")
	cgid=$(gid_text_is "$(gid_text "$A4")" cri_exec sh -c \
		"cd /sys/class/infiniband/mrc0/ports/1/gids && grep . *")
	start "$WORK/server" crun exec --process "$(process pod-b ib_write_bw -d mrc1 -x "$sgid" \
		-p 18769 -F -s 65536 -n 200)" pod-b
	pid=$started
	wait_for 60 listens pod-b || fail "$(cat "$WORK/server")"
	cri_exec ib_write_bw -d mrc0 -x "$cgid" -p 18769 -F -s 65536 -n 200 "$B4" >"$WORK/client" ||
		fail "client: $(tail -n 8 "$WORK/client" "$WORK/server")"
	finished "$pid" 60 || fail "server: $(tail -n 8 "$WORK/server")"
	awk '$1 == 65536 { print "figure: ib_write_bw in a pod of containerd: " $4 " MB/s"; found = 1 }
		END { exit !found }' "$WORK/client" || fail "$(cat "$WORK/client")"
	# The pod ends, and the device is back on the node.
	cri StopPodSandbox "$(jq -n --arg s "$sandbox" '{pod_sandbox_id: $s}')"
	cri RemovePodSandbox "$(jq -n --arg s "$sandbox" '{pod_sandbox_id: $s}')"
	wait_for 30 mrc0_back || fail "$(rdma link show)"
	kill "$containerd"
	finished "$containerd" 60 || true
}
mrc0_back() { [ "$(rdma link show | grep -c 'mrc0/[12]')" = 2 ]; }

cri_pods_end() {
	end_container pod-b
	cni DEL pod-b mrc1 "$POD_B4"
	ip netns del pod-b
	node_devices_end
}
both_back() { [ "$(rdma link show | grep -c 'mrc[01]/[12] state ACTIVE')" = 4 ]; }

# A device of the node, made of a NIC: what plugins find of it, and a pod in the network of the
# node, which gets the nodes.
device_seen() {
	local nic netdev
	modprobe -a ib_umad e1000e
	wait_for 30 nic_there
	netdev=$(nic_netdev)
	nic=$(realpath "/sys/class/net/$netdev/device")
	ip link set "$netdev" up
	rdma link add mrc0 type mrc netdev "$netdev"
	[ "$(realpath /sys/class/infiniband/mrc0/device)" = "$nic" ] || fail "not below $nic"
	[ "$(cat /sys/class/infiniband/mrc0/ports/1/gid_attrs/ndevs/0)" = "$netdev" ] ||
		fail "the first GID is not that of $netdev"
	[ -c /dev/infiniband/umad0 ] || fail "no umad"
	# There a plugin for PCI functions looks.
	[ ! -e "$nic/infiniband" ] || fail "$nic has a directory infiniband"
	container node a --host-network --device "$(uverbs_node mrc0)"
	inside node ibv_devinfo -d mrc0 | grep -q 'PORT_ACTIVE' || fail "$(inside node ibv_devinfo)"
	end_container node
	rdma link del mrc0
}
nic_netdev() { grep -l -x 02:00:00:00:0a:01 /sys/class/net/*/address | cut -d/ -f5; }
nic_there() { [ -n "$(nic_netdev)" ]; }

all_ends() {
	local rc=$? c
	set +e
	stop_all
	for c in mrc-a mrc-b pod-a pod-b node; do
		crun delete --force "$c" >/dev/null 2>&1
	done
	(exit "$rc")
	script_exit
}

mount -t cgroup2 cgroup2 /sys/fs/cgroup
declare -a from=()
trap all_ends EXIT
subtest "the mode" mode
subtest "containers that are not there" no_container
subtest "containers without capabilities" without_rights
subtest "each gets a device with four planes" devices_given
subtest "each sees its own device only" own_only
subtest "the node of the other's device cannot be opened" other_refused
subtest "ib_write_bw uses all planes" traffic
subtest "ib_write_bw with rdma_cm" traffic -R
subtest "a container does not control its device" no_control
subtest "one ends, the other keeps its device" other_ends
subtest "pods: whole devices move, ib_write_bw" pods
subtest "pods: the devices come back" pods_end
subtest "a pod of containerd: its network, its container, ib_write_bw" cri_pods
subtest "a pod of containerd: the devices come back" cri_pods_end
subtest "a pod in the network of the node; what plugins find there" device_seen
tap_end
