# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Two hosts on one machine, A and B, with a device each: planes of veth pairs between their
# network namespaces, one address per host, a route to the other host through every plane.
# Sourced by packaging/ci/mrc-up.sh and packaging/containers/mrc-netns.sh; needs iproute2 and
# nsenter, and root.

# The addresses are of a range for documentation, which no network uses.
PAIR_ADDRESS_A=198.51.100.1
PAIR_ADDRESS_B=198.51.100.2
PAIR_PREFIX=mrcp # planes are mrcp1, mrcp2, ... at both ends

pair_note() { printf '[mrc] %s\n' "$*" >&2; }
pair_die() {
	printf '[mrc] error: %s\n' "$*" >&2
	exit 1
}

# A command in a network namespace. Its files stay those of this machine. NS is what ip calls
# a namespace: the id of a process in it, or its name.
pair_at() { # NS COMMAND...
	local ns=$1
	shift
	case $ns in
	*[!0-9]*) nsenter --net="/run/netns/$ns" -- "$@" ;;
	*) nsenter --target "$ns" --net -- "$@" ;;
	esac
}

# One end of all planes, as a batch of `ip`.
pair_host_commands() { # PLANES ADDRESS PEER
	local i
	for ((i = 1; i <= $1; i++)); do
		echo "addr add $2/32 dev $PAIR_PREFIX$i"
		echo "link set $PAIR_PREFIX$i up"
	done
	# The metrics only keep the routes apart.
	for ((i = 1; i <= $1; i++)); do
		echo "route add $3/32 dev $PAIR_PREFIX$i src $2 metric $((100 + i))"
	done
}

# A netdev answers for its own addresses only, and takes packets that come over any plane.
# The settings are those of the planes, so other netdevs of the namespace keep theirs.
pair_host_settings() { # PLANES
	local i
	for ((i = 1; i <= $1; i++)); do
		echo "net.ipv4.conf.$PAIR_PREFIX$i.arp_ignore=1"
		echo "net.ipv4.conf.$PAIR_PREFIX$i.rp_filter=2"
	done
}

# Makes the planes between the namespaces A and B. Those must not have any yet.
pair_planes() { # A B PLANES MTU
	local a=$1 b=$2 planes=$3 mtu=$4 i
	! pair_at "$a" ip link show "${PAIR_PREFIX}1" >/dev/null 2>&1 ||
		pair_die "there is a netdev ${PAIR_PREFIX}1 already; take the pair down first"
	for ((i = 1; i <= planes; i++)); do
		echo "link add $PAIR_PREFIX$i netns $a mtu $mtu type veth" \
			"peer name $PAIR_PREFIX$i netns $b mtu $mtu"
	done | ip -batch -
	pair_host_commands "$planes" "$PAIR_ADDRESS_A" "$PAIR_ADDRESS_B" | pair_at "$a" ip -batch -
	pair_host_commands "$planes" "$PAIR_ADDRESS_B" "$PAIR_ADDRESS_A" | pair_at "$b" ip -batch -
	pair_host_settings "$planes" | pair_at "$a" sysctl -q -p -
	pair_host_settings "$planes" | pair_at "$b" sysctl -q -p -
}

# One device of all planes in a namespace.
pair_device() { # NS DEVICE PLANES
	local i
	for ((i = 1; i <= $3; i++)); do
		pair_at "$1" rdma link add "$2" type mrc netdev "$PAIR_PREFIX$i"
	done
}

# Waits until all planes of a device can carry data, at most 10 seconds.
pair_ready() { # NS DEVICE PLANES
	local try active
	for ((try = 0; try < 100; try++)); do
		active=$(pair_at "$1" rdma link show | grep -c "^link $2/.*state ACTIVE") || true
		[ "$active" -lt "$3" ] || return 0
		sleep 0.1
	done
	pair_die "$2: $active of $3 planes are ACTIVE"
}

# The index of an IPv4 address in the GID table of a device. SYS is the /sys in which
# programs see the device.
pair_gid() { # SYS DEVICE ADDRESS
	local want i value
	# shellcheck disable=SC2046,SC2086 # four numbers
	printf -v want '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${3//./ }
	for ((i = 0; i < 128; i++)); do
		{ read -r value <"$1/class/infiniband/$2/ports/1/gids/$i"; } 2>/dev/null || continue
		[ "$value" != "$want" ] || { echo "$i" && return; }
	done
	pair_die "$2 has no GID of $3"
}
