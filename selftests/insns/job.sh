#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In the guest of selftests/lab/insns.sh: runs each operation with few and with many
# messages, and has the plugin count both runs. Their difference is the cost of messages
# alone. Writes /out/runs: name, messages of the first and of the second run; the counts
# have the same order.
cd /mrc/selftests/net || exit
. ./lib.sh

counted() { # MESSAGES-PER-ITERATION ITERATIONS TOOL OPTIONS...
	local each=$1 n=$2
	shift 2
	/mrc/guest/bin/mrc_mark begin
	perftest "$@" -n "$n"
	/mrc/guest/bin/mrc_mark
	printf ' %d' $((each * n)) >>/out/runs
}

operation() { # NAME QPS FEW MANY TOOL OPTIONS...
	local name=$1 qps=$2 few=$3 many=$4
	shift 4
	echo "# $name"
	printf '%s' "$name" >>/out/runs
	counted "$qps" "$few" "$@"
	counted "$qps" "$many" "$@"
	echo >>/out/runs
}

sysctl -q -w kernel.kptr_restrict=0
topo 1
operation write-8 16 128 1408 ib_write_bw -s 8 -q 16 -t 16
operation write-8-list-16 16 128 1408 ib_write_bw -s 8 -q 16 -t 64 --post_list=16
operation send-8 16 128 1408 ib_send_bw -s 8 -q 16 -t 16
operation write-64K 1 32 160 ib_write_bw -s 65536 -t 16
operation read-64K 1 32 160 ib_read_bw -s 65536 -t 16
# Now all modules are loaded.
cat /proc/kallsyms >/out/kallsyms
topo_down
# shellcheck disable=SC2034 # of lib.sh
tap_done=1
