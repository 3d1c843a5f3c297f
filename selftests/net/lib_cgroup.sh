# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# One cgroup with one controller. Sourced after lib.sh.

CG=$WORK/cgroup

# cgroup_up CONTROLLER: makes the cgroup $CG/mrc. If it cannot, it says in $WORK/why why, and
# leaves nothing.
cgroup_up() {
	mkdir -p "$CG"
	mount -t cgroup2 none "$CG" 2>"$WORK/why" || return 1
	if ! grep -q -w "$1" "$CG/cgroup.controllers"; then
		echo "this kernel has no $1 controller: $(cat "$CG/cgroup.controllers")" >"$WORK/why"
	elif echo "+$1" >"$CG/cgroup.subtree_control" 2>"$WORK/why"; then
		mkdir -p "$CG/mrc"
		return 0
	fi
	umount "$CG"
	return 1
}

# cgroup_down CONTROLLER: its programs have been told to end.
cgroup_down() {
	mountpoint -q "$CG" || return 0
	[ ! -d "$CG/mrc" ] || wait_for 30 rmdir "$CG/mrc"
	echo "-$1" >"$CG/cgroup.subtree_control" || true
	umount "$CG"
}

# Runs a command in the cgroup.
grouped() {
	# shellcheck disable=SC2016 # expanded there
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$CG/mrc" "$@"
}
