#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Installs missing packages, builds, boots the guest and shows the job live. The
# demonstration itself is selftests/demo/demo.sh, which runs in the guest.
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ "$(id -u)" = 0 ] || lab_die "make demo needs root: it installs packages and makes guest images"
show=$TOP/selftests/demo/demo.sh
[ -f "$show" ] || lab_die "selftests/demo/demo.sh does not exist"
"$LAB_DIR/setup.sh" vm
"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
"$LAB_DIR/module.sh" "$DEFAULT_KERNEL"
"$LAB_DIR/provider.sh"
"$LAB_DIR/tools.sh"
lab_note "booting Linux $(kernel_version "$DEFAULT_KERNEL") in an emulated machine"
rc=0
"$LAB_DIR/vm.sh" -t 1200 "$show" | tee "$LAB/demo.out" || rc=${PIPESTATUS[0]}
[ "$rc" = 0 ] || lab_die "the demo failed (status $rc)"
grep -q '^DEMO OK' "$LAB/demo.out" || lab_die "the demo did not end with DEMO OK"
