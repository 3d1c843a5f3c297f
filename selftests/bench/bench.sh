#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs benchmark plans in a guest, or on any machine with the module and mrcbench. Results
# go to OUT/PLAN. OUT is /out in a guest that has this directory.
#
# usage: bench.sh [-o OUT] [PLAN [OPTION OF mrcbench...]]
#   PLAN is a file, or the name of one beside this script; default: goals
# exit status: that of mrcbench, which is 3 if a goal is not met
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=.
[ ! -d /out ] || out=/out
if [ "${1:-}" = -o ]; then
	out=${2:?usage: bench.sh [-o OUT] [PLAN [OPTION...]]}
	shift 2
fi
plan=${1:-goals}
[ $# -eq 0 ] || shift
[ -f "$plan" ] || plan=$here/$plan.plan
[ -f "$plan" ] || {
	echo "bench.sh: no plan $plan" >&2
	exit 2
}
[ "$(id -u)" = 0 ] || {
	echo "bench.sh: needs root, to make network namespaces and devices" >&2
	exit 2
}
modprobe mrc
exec mrcbench run --strict "$plan" -o "$out/$(basename "$plan" .plan)" "$@"
