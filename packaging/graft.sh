#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Copies the source of rdma-core and adds the provider of this project to the copy, as one
# more of its providers. A provider cannot be built outside of it: rdma-core installs
# neither the headers nor the static libraries that providers use.
#
# usage: graft.sh RDMA-CORE COPY
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
from=$1 to=$2

mkdir -p "$to"
cp -R "$from/." "$to/"
mkdir -p "$to/providers/mrc"
cp -R "$top/providers/mrc/." "$to/providers/mrc/"
cp "$top"/include/uapi/rdma/mrc*.h "$to/kernel-headers/rdma/"
headers=$(cd "$top/include/uapi" && echo rdma/mrc*.h)
sed 's|^add_subdirectory(providers/rxe)$|&\nadd_subdirectory(providers/mrc)|' \
	"$from/CMakeLists.txt" >"$to/CMakeLists.txt"
awk -v all="$headers" '
	BEGIN { n = split(all, h, " ") }
	{ print }
	$1 == "publish_internal_headers(rdma" { for (i = 1; i <= n; i++) print "  " h[i] }
	$1 == "rdma_kernel_provider_abi(" {
		for (i = 1; i <= n; i++)
			if (h[i] ~ /-abi\.h$/) print "  " h[i]
	}' "$from/kernel-headers/CMakeLists.txt" >"$to/kernel-headers/CMakeLists.txt"
if ! grep -q '^add_subdirectory(providers/mrc)$' "$to/CMakeLists.txt" ||
	[ "$(grep -c 'rdma/mrc-abi.h' "$to/kernel-headers/CMakeLists.txt")" != 2 ]; then
	echo "graft.sh: cannot find where rdma-core lists its providers and headers" >&2
	exit 1
fi
