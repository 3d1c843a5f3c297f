#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the documents list must be what the sources have: counters, test
# scripts, module parameters, ABI structures, and links between documents.
# Run from anywhere; prints what differs and fails. Needs no package: only
# what is essential in Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."

bad=0
differ() { # TITLE LEFT-NAME LEFT RIGHT-NAME RIGHT
	local only
	only=$(comm -23 <(sort -u <<<"$3") <(sort -u <<<"$5") | paste -sd' ')
	[ -z "$only" ] || { echo "$1: only in $2: $only"; bad=1; }
	only=$(comm -13 <(sort -u <<<"$3") <(sort -u <<<"$5") | paste -sd' ')
	[ -z "$only" ] || { echo "$1: only in $4: $only"; bad=1; }
}

header=drivers/infiniband/sw/mrc/core/mrc_counters.h
source=$(sed -n 's/.*X([A-Z_0-9]*, "\([a-z_0-9]*\)").*/\1/p' "$header")
[ -n "$source" ] || { echo "no counters found in $header"; bad=1; }
differ counters "$header" "$source" Documentation/counters.md \
	"$(sed -n '1,/^## Reading/s/^| `\([a-z_0-9]*\)` |.*/\1/p' Documentation/counters.md)"
differ counters "$header" "$source" selftests/net/counters.list \
	"$(grep -v '^#' selftests/net/counters.list)"

scripts=$(find selftests/net -maxdepth 1 -name '*.sh' ! -name 'lib*' -printf '%f\n')
differ "test scripts" selftests/net "$scripts" Documentation/testing.md \
	"$(sed -n 's/^| `\([a-z_0-9]*\.sh\)` |.*/\1/p' Documentation/testing.md)"

params=$(sed -n 's/^module_param[a-z_]*(\([a-z_]*\),.*/\1/p' drivers/infiniband/sw/mrc/*.c)
[ -n "$params" ] || { echo "no module parameters found"; bad=1; }
for f in README.md Documentation/architecture.md; do
	for p in $params; do
		grep -q "\`$p\`" "$f" || { echo "parameter $p is not in $f"; bad=1; }
	done
done

structs=$(sed -n 's/^struct \(mrc_[a-z_]*\) {$/\1/p' include/uapi/rdma/mrc-abi.h)
[ -n "$structs" ] || { echo "no structures found in mrc-abi.h"; bad=1; }
for s in $structs; do
	grep -q "\`$s\`" Documentation/uapi.md || { echo "struct $s is not in uapi.md"; bad=1; }
done

# Relative links lead somewhere.
while IFS=: read -r f link; do
	[ -e "$(dirname "$f")/$link" ] || { echo "$f links to $link, which is not there"; bad=1; }
done < <(grep -o -H -E '\]\([A-Za-z_./-]+\)' README.md Documentation/*.md |
	sed 's/:](/:/; s/)$//')

exit $bad
