#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A fabric in a guest, for those who install nothing: builds, boots the guest, makes the
# fabric with mrclab, and gives a shell in which mrclab(8) and the RDMA programs work.
#
# usage: lab.sh [FILE]        (default: userspace-tools/mrclab/fabrics/small.yaml)
#   K=KERNEL  another kernel than 6.12
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=${K:-$DEFAULT_KERNEL}
file=${1:-$TOP/userspace-tools/mrclab/fabrics/small.yaml}
[ -f "$file" ] || lab_die "there is no file $file"
need_root "booting a guest"
"$LAB_DIR/setup.sh" vm
"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
"$LAB_DIR/module.sh" "$k"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
job=$(mktemp)
trap 'rm -f "$job"' EXIT
{
	echo 'modprobe mrc'
	echo "cat >/root/fabric.yaml <<'END-OF-FABRIC'"
	cat "$file"
	echo
	echo END-OF-FABRIC
	echo 'mrclab up /root/fabric.yaml'
	echo 'echo "man pages: mrclab(8), mrclab-fabric(5); the file: /root/fabric.yaml"'
} >"$job"
"$LAB_DIR/vm.sh" -k "$k" -i "$job"
