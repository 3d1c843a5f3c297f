#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Gives two running containers an RDMA device each, with planes between them. Runs on the
# machine, as root: the containers need no capability.
#
# usage: mrc-netns.sh mode              once, before the first container: a device is seen in
#                                       its own network namespace only
#        mrc-netns.sh up A B [PLANES]   planes (default: 4), mrc0 in A and mrc1 in B
#        mrc-netns.sh down A B          takes both away again
# A and B are names of containers of Docker or Podman, or process ids.
# MTU in the environment: that of the planes (default: 4500)
set -euo pipefail
shopt -s inherit_errexit
. "$(dirname "$0")/../pair.sh"

usage() { pair_die "usage: mrc-netns.sh mode | up A B [PLANES] | down A B"; }

# The first process of a container.
pid_of() { # CONTAINER
	local engine pid
	if [[ $1 =~ ^[0-9]+$ ]]; then
		echo "$1"
		return
	fi
	for engine in docker podman; do
		pid=$("$engine" inspect --format '{{.State.Pid}}' "$1" 2>/dev/null) || continue
		[[ $pid =~ ^[1-9][0-9]*$ ]] || continue
		echo "$pid"
		return
	done
	pair_die "neither docker nor podman has a running container $1"
}

exclusive() { rdma system show | grep -q 'netns exclusive'; }

# The mode can be changed only while there is a single network namespace, but a module that
# is not loaded yet takes it as a parameter at any time.
set_mode() {
	[ -d /sys/module/ib_core ] || modprobe ib_core netns_mode=0
	modprobe -a rdma_ucm mrc
	exclusive || rdma system set netns exclusive ||
		pair_die "the mode cannot be changed while there are other network namespaces;" \
			"put 'options ib_core netns_mode=0' into /etc/modprobe.d and boot"
}

# Makes the node of the container's device in its /dev. Which number it has is in the
# container's /sys, where only its own device is.
make_node() { # PID DEVICE
	local root=/proc/$1/root dir number
	for dir in "$root"/sys/class/infiniband_verbs/uverbs*; do
		[ "$(cat "$dir/ibdev" 2>/dev/null)" = "$2" ] || continue
		number=$(<"$dir/dev")
		mkdir -p "$root/dev/infiniband"
		rm -f "$root/dev/infiniband/${dir##*/}"
		mknod -m 666 "$root/dev/infiniband/${dir##*/}" c "${number%:*}" "${number#*:}"
		return
	done
	pair_die "the container of process $1 does not see $2"
}

up() { # A B PLANES
	local a b gid_a gid_b
	a=$(pid_of "$1")
	b=$(pid_of "$2")
	exclusive || pair_die "devices are seen everywhere; run '$0 mode' before the containers start"
	pair_planes "$a" "$b" "$3" "${MTU:-4500}"
	pair_device "$a" mrc0 "$3"
	pair_device "$b" mrc1 "$3"
	pair_ready "$a" mrc0 "$3"
	pair_ready "$b" mrc1 "$3"
	make_node "$a" mrc0
	make_node "$b" mrc1
	gid_a=$(pair_gid "/proc/$a/root/sys" mrc0 "$PAIR_ADDRESS_A")
	gid_b=$(pair_gid "/proc/$b/root/sys" mrc1 "$PAIR_ADDRESS_B")
	pair_note "$1 has mrc0: address $PAIR_ADDRESS_A, index of its GID $gid_a"
	pair_note "$2 has mrc1: address $PAIR_ADDRESS_B, index of its GID $gid_b"
}

down() { # A B
	local a b i
	a=$(pid_of "$1")
	b=$(pid_of "$2")
	pair_at "$a" rdma link del mrc0
	pair_at "$b" rdma link del mrc1
	rm -f "/proc/$a/root/dev/infiniband/"uverbs* "/proc/$b/root/dev/infiniband/"uverbs*
	# The other end of a pair goes too.
	for ((i = 1; i <= 16; i++)); do
		pair_at "$a" ip link del "$PAIR_PREFIX$i" 2>/dev/null || break
	done
}

[ "$(id -u)" = 0 ] || pair_die "must be run as root"
case ${1:-} in
mode)
	set_mode
	;;
up)
	[ $# -ge 3 ] && [[ ${4:-4} =~ ^([1-9]|1[0-6])$ ]] || usage
	up "$2" "$3" "${4:-4}"
	;;
down)
	[ $# = 3 ] || usage
	down "$2" "$3"
	;;
*) usage ;;
esac
