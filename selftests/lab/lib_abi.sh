# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# rdma-core's private interface, by number. A provider works with a libibverbs of the same
# number only; it is in the name of the provider's file. To be sourced only.

# Of the installed libibverbs: nothing if there is none, or no readelf.
installed_abi() { # [DESTDIR]
	local f
	for f in "${1:-}"/usr/lib/*/libibverbs.so.1 "${1:-}"/usr/lib64/libibverbs.so.1 \
		"${1:-}"/usr/lib/libibverbs.so.1; do
		[ -f "$f" ] || continue
		readelf -V "$f" 2>/dev/null |
			sed -n 's/.*Name: IBVERBS_PRIVATE_\([0-9]*\)\b.*/\1/p' | sort -n | tail -n 1 || true
		return 0
	done
}

# Of a source of rdma-core.
source_abi() { # DIRECTORY
	sed -n 's/^set(IBVERBS_PABI_VERSION "\([0-9]*\)")$/\1/p' "$1/CMakeLists.txt"
}

# Of a provider that was built.
built_abi() { # DIRECTORY
	local f
	for f in "$1"/libmrc-rdmav*.so; do
		[ -L "$f" ] || [ -e "$f" ] || continue
		f=${f##*/libmrc-rdmav}
		echo "${f%.so}"
		return
	done
}
