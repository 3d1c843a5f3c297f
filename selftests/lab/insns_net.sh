#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs scripts of selftests/net that compare rates, each in a guest whose time is made of
# instructions: other work on the machine does not change their figures.
#
# usage: insns_net.sh [-k KERNEL] NAME...
# exit status: 0; 1 a script failed or was not run
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=$DEFAULT_KERNEL failed=0
while getopts k: opt; do
	case $opt in
	k) k=$OPTARG ;;
	*) lab_die "see the head of $0 for its use" ;;
	esac
done
shift $((OPTIND - 1))
known_kernel "$k"
[ "$MACHINE" = qemu ] || lab_die "instructions are counted in QEMU only"
[ $# -gt 0 ] || lab_die "no script is named; see the head of $0"
need_root "counting in a guest"
"$LAB_DIR/setup.sh" vm
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
for name; do
	lab_note "net/$name [$k], by a clock of instructions; takes some minutes"
	"$LAB_DIR/vm.sh" -C -k "$k" -t 3000 "$TOP/selftests/net/$name.sh" || failed=1
done
exit $failed
