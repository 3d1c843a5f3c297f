#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Compares the cost of a packet in the engine alone with engine.goals: medians of five
# repetitions of the benchmark of selftests/enginebench, on this machine and without a
# kernel.
#
# usage: engine.sh BENCH_ENGINE OUT
#   BENCH_ENGINE  the program; OUT  the directory for engine.csv
# exit status: 0 all goals met, 1 nothing measured, 3 a goal is not met
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bench=${1:?usage: engine.sh BENCH_ENGINE OUT}
out=${2:?usage: engine.sh BENCH_ENGINE OUT}
names=$(awk '!/^#/ && NF == 2 { printf "%s%s", sep, $1; sep = "|" }' "$here/engine.goals")
[ -n "$names" ] || {
	echo "engine.sh: engine.goals has no goals" >&2
	exit 1
}
mkdir -p "$out"
"$bench" --benchmark_filter="^($names)/manual_time\$" --benchmark_repetitions=5 \
	--benchmark_enable_random_interleaving=true \
	--benchmark_report_aggregates_only=true --benchmark_format=csv \
	>"$out/engine.csv" 2>"$out/engine.log" || {
	cat "$out/engine.log" >&2
	echo "engine.sh: $bench failed" >&2
	exit 1
}
awk -F, '
	FNR == NR {
		if (!/^#/ && split($0, f, " ") == 2) {
			goal[++n] = f[1]
			limit[f[1]] = f[2]
		}
		next
	}
	{ gsub(/"/, "") }
	$1 == "name" {
		for (i = 1; i <= NF; i++)
			if ($i == "ns_per_pkt")
				at = i
	}
	at && sub(/\/manual_time_median$/, "", $1) { found[$1] = $at }
	END {
		print "Engine alone, ns per data packet"
		for (i = 1; i <= n; i++) {
			name = goal[i]
			is = name in found ? sprintf("%.1f", found[name]) : "not measured"
			ok = name in found && found[name] <= limit[name]
			unmet += !ok
			printf "  %-28s <= %s  %s  %s\n", name, limit[name], is, ok ? "met" : "NOT MET"
		}
		exit unmet ? 3 : 0
	}' "$here/engine.goals" "$out/engine.csv"
