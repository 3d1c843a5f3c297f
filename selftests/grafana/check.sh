#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The dashboard of packaging/grafana and the metrics it draws, with a Prometheus server: promtool
# finds nothing wrong with what mrcctl and mrcmap write, the server scrapes it from two hosts, and
# every expression and every variable of the dashboard has series. Changed dashboards must fail.
# Run from anywhere, without privileges. Prints TAP.
#
# usage: check.sh
# PROMETHEUS and PROMTOOL name other programs. By default those of the PATH, or what
# selftests/lab/fetch.sh prometheus has unpacked.
set -euo pipefail
cd "$(dirname "$0")"
fetched=$(cd ../.. && pwd)/build/lab/prometheus/usr/bin

find_program() { # NAME
	command -v "$1" || { [ ! -x "$fetched/$1" ] || echo "$fetched/$1"; }
}
prometheus=${PROMETHEUS:-$(find_program prometheus)}
promtool=${PROMTOOL:-$(find_program promtool)}
[ -n "$prometheus" ] && [ -n "$promtool" ] || {
	echo "Bail out! no prometheus and promtool; selftests/lab/fetch.sh prometheus unpacks Debian's"
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
python3 ./check.py --prometheus "$prometheus" --promtool "$promtool" "$work"
