#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Writes the two lists of rdma-core's build in which a provider has to be named, with that
# of this project added. The source of rdma-core is only read.
#
# usage: graft_lists.sh RDMA-CORE TOP HEADERS
#   TOP      result for CMakeLists.txt
#   HEADERS  result for kernel-headers/CMakeLists.txt
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
from=$1 to=$2 to_headers=$3

headers=$(cd "$top/include/uapi" && echo rdma/mrc*.h)
sed 's|^add_subdirectory(providers/rxe)$|&\nadd_subdirectory(providers/mrc)|' \
	"$from/CMakeLists.txt" >"$to"
awk -v all="$headers" '
	BEGIN { n = split(all, h, " ") }
	{ print }
	$1 == "publish_internal_headers(rdma" { for (i = 1; i <= n; i++) print "  " h[i] }
	$1 == "rdma_kernel_provider_abi(" {
		for (i = 1; i <= n; i++)
			if (h[i] ~ /-abi\.h$/) print "  " h[i]
	}' "$from/kernel-headers/CMakeLists.txt" >"$to_headers"
if ! grep -q '^add_subdirectory(providers/mrc)$' "$to" ||
	[ "$(grep -c 'rdma/mrc-abi.h' "$to_headers")" != 2 ]; then
	echo "cannot find where rdma-core lists its providers and kernel headers" >&2
	exit 1
fi
