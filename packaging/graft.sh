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
"$top/packaging/graft_lists.sh" "$from" "$to/CMakeLists.txt" "$to/kernel-headers/CMakeLists.txt"
