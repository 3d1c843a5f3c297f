#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Makes the Debian trees under build/lab/trees:
#
#   trixie      kernel 6.12, its headers and compiler, the user land of every
#               guest, and the build tools for rdma-core and the C++ tools
#   linux-6.1   kernel, headers and compiler of Debian 12
#   linux-7.2   the same of the newest kernel in trixie-backports
#   interop     no kernel: the guests' user land with the foreign suites
#   containers  no kernel: the guests' user land with runtimes of containers
#
# A tree is rebuilt when its recipe (this file's lists) changes; otherwise this script
# returns at once. Needs root.
#
# usage: image.sh KERNEL|interop|containers...
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || lab_die "usage: image.sh KERNEL... (${KERNELS[*]})"

# flex, bison, bc, libelf-dev: for kernels that the lab builds from the same source.
kernel_packages="linux-image-amd64 linux-headers-amd64 gcc make kmod
	libc6-dev flex bison bc libelf-dev"
guest_packages="iproute2 rdma-core ibverbs-utils ibverbs-providers
	rdmacm-utils perftest python3-pyverbs python3 iperf3 busybox-static
	ethtool tcpdump iputils-ping procps nftables util-linux"
# Foreign programs that examine devices.
monitor_packages="hwloc-nox prometheus-node-exporter"
# A foreign control plane for switches.
switch_packages="frr"
# Programs that mrcbench and mrclab run to draw.
plot_packages="gnuplot-nox"
build_packages="g++ cmake ninja-build pkg-config libnl-3-dev
	libnl-route-3-dev libudev-dev libibverbs-dev librdmacm-dev dpkg-dev
	sparse perl libcli11-dev nlohmann-json3-dev libfmt-dev libyaml-cpp-dev
	libcpp-httplib-dev"

# The suites of selftests/interop, and packages that their kernel parts need.
interop_packages="fio qperf libfabric-bin ucx-utils python3-mpi4py openmpi-bin
	nvme-cli nfs-kernel-server nfs-common open-iscsi targetcli-fb e2fsprogs
	kmod python3"

# What selftests/containers runs: an OCI runtime, one for Kubernetes and what asks it, modprobe,
# and what reads JSON and YAML.
container_packages="crun jq kmod python3-yaml containerd containernetworking-plugins
	busybox-static protobuf-compiler python3-protobuf python3-grpcio"

tree_suite() { # KERNEL
	case $1 in
	6.1) echo bookworm ;;
	*) echo trixie ;;
	esac
}

tree_packages() { # KERNEL
	case $1 in
	6.12) echo "$kernel_packages $guest_packages $monitor_packages $switch_packages $plot_packages $build_packages" ;;
	interop) echo "$guest_packages $interop_packages" ;;
	containers) echo "$guest_packages $container_packages" ;;
	*) echo "$kernel_packages" ;;
	esac
}

sources() { # KERNEL
	local suite mirror security
	suite=$(tree_suite "$1")
	mirror=$(debian_mirror)
	security=$(debian_security_mirror)
	echo "deb $mirror $suite main"
	echo "deb $mirror $suite-updates main"
	[ -z "$security" ] || echo "deb $security $suite-security main"
	case $1 in
	6.12) echo "deb-src $mirror $suite main" ;;
	7.2) echo "deb $mirror $suite-backports main" ;;
	esac
}

# The space that making a tree needs, unpacked packages included.
tree_mb() { # KERNEL
	case $1 in
	6.12) echo 1400 ;;
	interop) echo 1800 ;;
	*) echo 1000 ;;
	esac
}

has_kernel() { # TREE
	case $1 in
	interop | containers) return 1 ;;
	esac
}

# Everything that determines the contents of a tree, apart from the day it is made.
recipe() { # KERNEL
	echo "format 1"
	tree_suite "$1"
	tree_packages "$1"
}

make_tree() { # KERNEL
	local k=$1 tree stamp new suite pkgs opts=() proxy failed=''
	tree=$(kernel_tree "$k")
	stamp=$(recipe "$k" | sha256sum | cut -c1-16)
	# Mounts exist there only while a tree is made: in_tree has its own mount
	# namespace.
	[ ! -d "$tree" ] || unmount_below "$tree" ||
		lab_die "something is mounted in the tree $(basename "$tree"); unmount it"
	[ "$(cat "$tree/.lab-stamp" 2>/dev/null)" = "$stamp" ] && return 0

	need_root "making guest images"
	mkdir -p "$TREES" "$LOGS"
	exec 8>"$TREES/.$(basename "$tree").lock"
	flock 8
	# Another process may have made the tree meanwhile.
	[ "$(cat "$tree/.lab-stamp" 2>/dev/null)" = "$stamp" ] && return 0

	suite=$(tree_suite "$k")
	pkgs=$(tree_packages "$k" | tr -s ' \n\t' ,)
	new=$tree.new
	unmount_below "$new" || lab_die "an unfinished tree cannot be removed: $new"
	rm -rf --one-file-system "$new"
	need_space "$(tree_mb "$k")" "$TREES" "the tree $(basename "$tree")"
	[ "$k" != 7.2 ] || opts+=(--setup-hook='mkdir -p "$1/etc/apt/preferences.d"
		printf "Package: linux-*\nPin: release n=trixie-backports\nPin-Priority: 990\n" \
			>"$1/etc/apt/preferences.d/kernel"')
	proxy=$(apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy ' || true)
	[ -z "$proxy" ] || opts+=(--aptopt="$proxy")

	lab_note "making the tree $(basename "$tree") (Debian $suite); log: ${LOGS#"$TOP"/}/image-$k.log"
	# The guests boot without the distribution's initramfs: do not build it.
	if ! sources "$k" | INITRD=No low mmdebstrap --variant=minbase \
		--mode=root --format=directory --include="${pkgs%,}" \
		--aptopt='Acquire::Retries "3"' \
		--aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt=force-confold \
		"${opts[@]}" "$suite" "$new" - </dev/stdin \
		>"$LOGS/image-$k.log" 2>&1; then
		failed=1
		tail -n 15 "$LOGS/image-$k.log" >&2
		was_full "$(tree_mb "$k")" "$TREES" "the tree $(basename "$tree")" \
			"$LOGS/image-$k.log" || true
	fi
	# mmdebstrap only warns if a process in the tree still uses the /proc that it
	# mounted.
	unmount_below "$new" ||
		lab_die "the tree $(basename "$tree") is not finished: see what is mounted in $new"
	[ -z "$failed" ] || lab_die "mmdebstrap failed for kernel $k"
	if has_kernel "$k"; then
		# shellcheck disable=SC2012 # version names hold nothing odd
		ls "$new/usr/lib/modules" | sort -V | tail -n1 >"$new/.lab-kernel-version"
	fi
	mkdir -p "$new/mnt/lab" "$new/mrc" "$new/usr/lib/modules"
	echo "$stamp" >"$new/.lab-stamp"
	rm -rf --one-file-system "$tree"
	mv "$new" "$tree"
	flock -u 8
	! has_kernel "$k" || lab_note "kernel $k is $(cat "$tree/.lab-kernel-version")"
}

"$LAB_DIR/setup.sh" vm
for k in "$@"; do
	! has_kernel "$k" || known_kernel "$k"
done
for k in "$@"; do
	make_tree "$k"
done
