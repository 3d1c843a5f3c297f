#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# One simulation over several processes with Open MPI, all on this machine: the same result,
# bit by bit, as of one process; errors end all of them. A job array gives the same, too.
#
# usage: mpi.sh
set -euo pipefail
. "$(dirname "$0")/../lab/common.sh"

build=$BUILD/mrcsim-mpi
"$LAB_DIR/setup.sh" native mpi
mkdir -p "$build"
cmake -S "$TOP/userspace-tools/mrcsim" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
	-DCMAKE_UNITY_BUILD=ON -DMRCSIM_MPI=ON
low ninja -C "$build" mrcsim
mrcsim=$build/mrcsim
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Root may run it here; all processes share what processors there are.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader,tcp
export OMPI_MCA_mpi_yield_when_idle=1

cat >s.yaml <<-'END'
	clos: {planes: 4, t0: 6, t1: 4, hosts: 4, rate: 100gbit}
	traffic:
	  permutation: {size: 300000, repeat: 3, every: 20us}
	timeline:
	  0us: "p*l*:h* loss 0.3%"
	  5us: p1s2 down
	  10us: h3:p2+ down
	  60us: [p1s2 up, h3:p2+ up]
	sample: 10us
	series: {flows: all, queues: "p1l1:h1"}
	columns: [mrc, ecmp, roce]
	seeds: [1, 2]
END

# What the machine has to do with: time and memory.
same() { # JSON OTHER
	python3 - "$1" "$2" <<-'END'
		import json, sys
		a, b = (json.load(open(n)) for n in sys.argv[1:])
		for runs in (a["runs"], b["runs"]):
		    for r in runs:
		        for key in ("cpu_s", "wall_s", "memory"):
		            del r[key]
		sys.exit(a != b)
	END
}

failed=0
expect() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@"; then
		echo "ok: $what"
	else
		echo "NOT OK: $what"
		failed=1
	fi
}
fails_with() { # TEXT COMMAND...
	local text=$1 out rc=0
	shift
	out=$(timeout 60 "$@" 2>&1) || rc=$?
	[ "$rc" != 0 ] && [ "$rc" != 124 ] && grep -q -F -- "$text" <<<"$out" || {
		printf 'status %s: %s\n' "$rc" "$out"
		return 1
	}
}

"$mrcsim" run s.yaml -q -o one.json -f one.csv
for n in 1 2 3 6; do
	mpirun -n "$n" "$mrcsim" run s.yaml --mpi -q -o "$n.json" -f "$n.csv"
	expect "$n processes: the results of one" same one.json "$n.json"
	expect "$n processes: the flows of one" cmp one.csv "$n.csv"
done
mpirun -n 2 "$mrcsim" run s.yaml --mpi -t 2 -q -o 2x2.json
expect "2 processes of 2 threads" same one.json 2x2.json
mpirun -n 3 "$mrcsim" run s.yaml --mpi -q -c mrc -s 1 --trace three.trace
"$mrcsim" run s.yaml -q -c mrc -s 1 --trace one.trace
expect "a trace of 3 processes" cmp one.trace three.trace

expect "more processes than partitions" fails_with \
	"7 processes: the fabric and the triggers of its traffic allow 6" \
	mpirun -n 7 "$mrcsim" run s.yaml --mpi
expect "a scenario that does not exist" fails_with "nothing.yaml" \
	mpirun -n 2 "$mrcsim" run nothing.yaml --mpi
expect "a directory that does not exist: all end" fails_with "nowhere" \
	mpirun -n 2 "$mrcsim" run s.yaml --mpi -q -o nowhere/x.json

for n in 1 2 3; do
	"$mrcsim" run s.yaml -q --part "$n/3" -o "part$n.json"
done
"$mrcsim" merge part3.json part1.json part2.json -o merged.json
expect "a job array of three tasks" same one.json merged.json
expect "a part that is missing" fails_with "run 2 is missing" \
	"$mrcsim" merge part1.json part3.json
expect "a part twice" fails_with "is there twice" \
	"$mrcsim" merge part1.json part1.json
exit "$failed"
