#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Removes the results of builds; with "all" also guest images and fetched sources.
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ -d "$BUILD" ] || exit 0
# rm would follow a mount below this directory. Mounts exist only in the lab's own
# mount namespaces, and --one-file-system makes them harmless in any case.
if [ "${1:-}" = all ]; then
	rm -rf --one-file-system "$BUILD"
else
	find "$BUILD" -mindepth 1 -maxdepth 1 ! -name lab -exec rm -rf --one-file-system {} +
	[ ! -d "$LAB" ] || find "$LAB" -mindepth 1 -maxdepth 1 \
		! -name trees ! -name rdma-core ! -name checkpatch ! -name linux \
		! -name kernels ! -name 'apt-*' \
		-exec rm -rf --one-file-system {} +
fi
