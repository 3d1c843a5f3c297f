#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A CNI plugin: gives a pod a device of the node, whole: the RDMA device and all of its netdevs
# move into the pod's network namespace, and back when the pod ends. Documentation/kubernetes.md
# says when it is needed. Install it as /opt/cni/bin/mrc. Needs bash, jq, iproute2 and the RDMA
# mode "netns exclusive".
#
# Configuration:
#	{ "cniVersion": "1.0.0", "name": "mrc0", "type": "mrc",
#	  "device": "mrc0",		the device's name on the node
#	  "peers": "10.1.0.0/16",	these are reached through every plane
#	  "address": "10.1.0.1",	the pod's address on all planes, or
#	  "capabilities": {"ips": true} }	from the pod's annotation
set -euo pipefail
shopt -s inherit_errexit

# Only the result goes to the standard output.
exec 3>&1 1>&2

conf=$(cat)
version=1.0.0
is_device='^mrc[a-z0-9_]{0,10}$'

fail() { # CODE MESSAGE
	jq -n --arg v "$version" --argjson c "$1" --arg m "mrc: $2" \
		'{cniVersion: $v, code: $c, msg: $m}' >&3
	exit 1
}
value() { jq -r "$1 // empty" <<<"$conf"; }

# A runtime shows the text to whoever made the pod, so it names what is wrong.
check_conf() {
	local kind
	kind=$(jq -r -s 'if length == 1 then .[0] | type else "several" end' 2>/dev/null <<<"$conf") ||
		fail 6 "the configuration is no JSON"
	[ "$kind" = object ] || fail 6 "the configuration is no JSON object"
	kind=$(jq -r '[.cniVersion, .device, .peers, .address, .runtimeConfig.ips[0]?
		| select(. != null and (type != "string")) | tojson] | first // empty' <<<"$conf" 2>/dev/null) ||
		fail 7 "runtimeConfig is no object"
	[ -z "$kind" ] || fail 7 "$kind is no string"
	version=$(value .cniVersion)
	version=${version:-1.0.0}
	case $version in
	0.3.1 | 0.4.0 | 1.0.0) ;;
	*)
		kind=$version version=1.0.0
		fail 1 "version '$kind' of CNI is not supported"
		;;
	esac
}

is_ipv4() { # ADDRESS[/LENGTH]
	local a n part
	a=${1%%/*} n=${1#"$a"}
	[[ $a =~ ^([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)$ ]] || return 1
	for part in "${BASH_REMATCH[@]:1}"; do
		[ "${#part}" -le 3 ] && [ "$((10#$part))" -le 255 ] || return 1
	done
	[ -z "$n" ] || { [[ $n =~ ^/[0-9]{1,2}$ ]] && [ "$((10#${n#/}))" -le 32 ]; }
}

# The namespace's name. The rdma program takes no other names of namespaces than these.
namespace() {
	local path
	path=$(realpath -m "${CNI_NETNS:-}")
	[[ $path == /run/netns/* ]] || fail 4 "the runtime names no namespace in /run/netns"
	echo "${path##*/}"
}
in_pod() { ip netns exec "$pod" "$@"; }

# Netdevs of the device in the namespace of the caller, in the order of its ports.
netdevs_of() { # [in_pod]
	"$@" rdma link show | awk -v d="$device" '$1 == "link" && index($2, d "/") == 1 {
		for (i = 3; i < NF; i++)
			if ($i == "netdev") print $(i + 1)
	}'
}

# Which uverbs the device has, where the caller is.
uverbs_of() { # [in_pod]
	"$@" sh -c 'grep -s -l -x "$1" /sys/class/infiniband_verbs/uverbs*/ibdev' sh "$device" |
		cut -d/ -f5
}

add() {
	local netdevs node d i=0 address peers
	address=$(value '.runtimeConfig.ips[0] // .address')
	peers=$(value .peers)
	[ -n "$address" ] && [ -n "$peers" ] || fail 7 "address or peers are missing"
	is_ipv4 "$address" || fail 7 "address '$address' is no IPv4 address"
	is_ipv4 "$peers" || fail 7 "peers '$peers' is no IPv4 network"
	address=${address%/*}
	mapfile -t netdevs < <(netdevs_of)
	[ "${#netdevs[@]}" -gt 0 ] ||
		fail 11 "the node has no device $device with netdevs, or another pod has it"
	node=$(uverbs_of)
	rdma dev set "$device" netns "$pod" || fail 999 "$device does not move to the pod"
	for d in "${netdevs[@]}"; do
		ip link set "$d" netns "$pod"
	done
	for d in "${netdevs[@]}"; do
		i=$((i + 1))
		in_pod sysctl -q -w "net.ipv4.conf.$d.arp_ignore=1" "net.ipv4.conf.$d.rp_filter=2"
		printf '%s\n' "addr add $address/32 dev $d" "link set $d up" \
			"route add $peers dev $d src $address metric $((100 + i))" |
			ip -n "$pod" -batch -
		in_pod rdma link add "$device" type mrc netdev "$d"
	done
	# The pod's containers were promised this node before.
	[ "$(uverbs_of in_pod)" = "$node" ] ||
		fail 999 "$device is $(uverbs_of in_pod) in the pod and was $node on the node"
	printf '%s\n' "${netdevs[@]}" | jq -R . | jq -s --arg v "$version" --arg a "$address/32" \
		--arg s "$CNI_NETNS" '{cniVersion: $v, interfaces: map({name: ., sandbox: $s}),
			ips: [{address: $a, interface: 0}], dns: {}}' >&3
}

# Whatever is left of ADD goes back. The settings of the device stay.
del() {
	local netdevs d home=mrc-cni-$$
	[ -e "/run/netns/$pod" ] || return 0
	mapfile -t netdevs < <(netdevs_of in_pod)
	if in_pod rdma dev show "$device" >/dev/null 2>&1; then
		ip netns attach "$home" $$
		in_pod rdma dev set "$device" netns "$home"
		ip netns del "$home"
	fi
	for d in ${netdevs[@]+"${netdevs[@]}"}; do
		ip -n "$pod" link set "$d" netns $$
	done
	for d in ${netdevs[@]+"${netdevs[@]}"}; do
		ip link set "$d" up
		rdma link add "$device" type mrc netdev "$d"
	done
}

for program in jq ip rdma; do
	command -v "$program" >/dev/null || {
		# Without jq the text has to be safe as it is.
		echo "{\"cniVersion\": \"1.0.0\", \"code\": 999, \"msg\": \"mrc: the node lacks the program $program\"}" >&3
		exit 1
	}
done
case ${CNI_COMMAND:-} in
VERSION)
	jq -n '{cniVersion: "1.0.0", supportedVersions: ["0.3.1", "0.4.0", "1.0.0"]}' >&3
	exit
	;;
DEL)
	# A pod whose namespace is gone has given back everything.
	[ -e "${CNI_NETNS:-/none}" ] || exit 0
	# Nothing has been moved for a configuration that names no device.
	[[ $(jq -r '.device? // empty' <<<"$conf" 2>/dev/null) =~ $is_device ]] || exit 0
	;;
esac
case ${CNI_COMMAND:-} in
ADD | DEL | CHECK) ;;
*) fail 4 "unknown command '${CNI_COMMAND:-}'" ;;
esac
check_conf
device=$(value .device)
[ -n "$device" ] || fail 7 "device is missing"
[[ $device =~ $is_device ]] || fail 7 "'$device' is no name of a device of mrc"
pod=$(namespace)
rdma system show | grep -q 'netns exclusive' || fail 999 "the RDMA mode is not 'netns exclusive'"
case ${CNI_COMMAND:-} in
ADD) add ;;
DEL) del ;;
CHECK) [ -n "$(uverbs_of in_pod)" ] || fail 999 "the pod does not see $device" ;;
esac
