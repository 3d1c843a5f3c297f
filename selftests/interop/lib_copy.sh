# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154 # WORK and KIND: lib_interop.sh
#
# Copies that are compared, over and over while planes of mrc are cut and
# restored. For suites of kernel consumers; to be read after lib_interop.sh.

# copies BYTES COMMAND [ARGUMENT...]: makes a file of random bytes, WORK/data, and
# runs the command, which copies and compares it: once on rxe, on mrc until each
# plane was away.
copies() {
	head -c "$1" /dev/urandom >"$WORK/data"
	shift
	[ "$KIND" != mrc ] || flap_start
	"$@"
	until flapped; do
		"$@"
	done
	[ "$KIND" != mrc ] || flap_stop
}

# disk_copies DEVICE BYTES: the same on a file system made anew.
disk_copies() {
	mkfs.ext4 -q "$1"
	mkdir -p "$WORK/mnt"
	copies "$2" disk_copy "$1"
}

# Unmounting between writing and reading lets no page stay in memory.
disk_copy() { # DEVICE
	mount "$1" "$WORK/mnt"
	cp "$WORK/data" "$WORK/mnt/copy"
	umount "$WORK/mnt"
	mount -o ro "$1" "$WORK/mnt"
	cmp "$WORK/data" "$WORK/mnt/copy"
	umount "$WORK/mnt"
}
