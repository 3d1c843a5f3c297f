#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Finds out which features the kernel headers have: every probes/NAME.c that compiles
# becomes "#define HAVE_NAME 1" in the config header. Versions are not compared, because
# stable kernels contain backports.
#
# usage: probe.sh OBJTREE CONFIG-HEADER
#   OBJTREE: directory of the kernel build (.config, Module.symvers)
#   Environment: ARCH, CC, LLVM, CROSS_COMPILE as for the kernel.
# Does nothing if the header is up to date for this tree and these probes.
set -euo pipefail

objtree=$1
config=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$(cd "$(dirname "$config")" && pwd)/.probe.$$
config=$(cd "$(dirname "$config")" && pwd)/$(basename "$config")

# The module would be built for headers that do not match the installed ib_core: it
# would load and crash.
if [ -e /usr/src/ofa_kernel ] && [ -z "${MRC_IGNORE_OFED:-}" ]; then
	echo "mrc: /usr/src/ofa_kernel replaces the kernel's RDMA stack; mrc" \
		"builds against the kernel's own. MRC_IGNORE_OFED=1 overrides." >&2
	exit 1
fi

key=$({
	echo "$objtree ${ARCH:-} ${CC:-}"
	${CC:-gcc} --version 2>/dev/null | head -n 1 || true
	cat "$objtree/include/generated/autoconf.h" \
		"$objtree/include/generated/utsrelease.h" 2>/dev/null || true
	cat "$here"/probes/*.c "$here/probe.sh"
} | cksum)
if [ -f "$config" ] && grep -q -F "key: $key " "$config"; then
	exit 0
fi

trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir"
cp "$here"/probes/*.c "$dir/"
objs=()
for f in "$dir"/*.c; do
	objs+=("$(basename "$f" .c).o")
done
echo "obj-m := ${objs[*]}" >"$dir/Kbuild"

# Clean environment: the variables of the calling kbuild must not leak in. Otherwise
# warnings could become errors and give wrong results.
vars=()
for v in ARCH CC LLVM CROSS_COMPILE; do
	[ -z "${!v:-}" ] || vars+=("$v=${!v}")
done
env -i PATH="$PATH" HOME="${HOME:-/}" LC_ALL=C make -k \
	-j"$(nproc 2>/dev/null || echo 1)" -C "$objtree" M="$dir" "${vars[@]}" \
	W= C=0 KCFLAGS= "${objs[@]}" >"$dir/log" 2>&1 || true

if [ ! -f "$dir/baseline.o" ]; then
	cat "$dir/log" >&2
	echo "mrc: the kernel headers in $objtree cannot be used" >&2
	exit 1
fi
{
	echo "/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */"
	echo "/* Made by compat/probe.sh. key: $key */"
	echo "#ifndef MRC_CONFIG_H"
	echo "#define MRC_CONFIG_H"
	for o in "${objs[@]}"; do
		name=${o%.o}
		[ "$name" != baseline ] || continue
		if [ -f "$dir/$o" ]; then
			echo "#define HAVE_${name^^} 1"
		fi
	done
	echo "#endif"
} >"$dir/config"
mv "$dir/config" "$config"
