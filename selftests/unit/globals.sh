#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Many engines run in many threads, so the engine has no data of its own that
# can be written to. Fails and says what there is otherwise. What is constant and
# holds addresses (.data.rel.ro) is written by the loader alone.
#
# usage: globals.sh NM LIBRARY
set -euo pipefail

# Symbols that are there nevertheless, with the reason. Those of the sanitizers
# and of gcov belong to the build, not to the engine.
allowed='^(__odr_asan|__asan_|__gcov|__llvm_|__sancov)'

# nm -f sysv: name | value | class | type | size | line | section
found=$("$1" -f sysv "$2" | awk -F '|' -v allowed="$allowed" '
	NF == 7 {
		gsub(/ /, "", $1); gsub(/[ \t]/, "", $7)
		seen++
		if ($7 ~ /^(\.t?bss|\.t?data|\*COM\*)/ &&
		    $7 !~ /^\.data\.rel\.ro/ && $1 !~ allowed)
			print $1, $7
	}
	END { if (!seen) print "no symbols at all" }')
[ -z "$found" ] || {
	echo "$2 has data that can be written to:"
	echo "$found"
	exit 1
}
