#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Names and addresses as lib_fabric.sh has them, one a line.
#
# usage: lib_fabric_plan.sh DIRECTORY-OF-LIB-FABRIC PLANES LEAVES SPINES HOSTS
set -euo pipefail
export NET_DIR=$1 WORK=/nonexistent
. "$NET_DIR/lib_fabric.sh"
fab_params srv6 "$2" "$3" "$4" "$5" 4500

echo "nodes ${FAB_NODES[*]}"
for link in $(fabric_links); do
	echo "link $link $(link_back "$link")"
done
for ((a = 1; a <= FAB_HOSTS; a++)); do
	echo "host $a $(host6 $a) $(host4 $a) $(mgmt4 $a)"
	for ((p = 1; p <= FAB_PLANES; p++)); do
		echo "port $a $p $(port6 $a $p)"
	done
	for b in 1 $((a % FAB_HOSTS + 1)) $FAB_HOSTS; do
		for s in 1 $FAB_SPINES; do
			echo "path $a $s $b $(usid_path $a "$s" "$b")" \
				"$(path_links $a "$FAB_PLANES" "$s" "$b" | tr '\n' ' ')"
		done
	done
done
