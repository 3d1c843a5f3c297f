#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Records traffic of the driver in a guest, by selftests/net/recording.sh, and has tshark dissect
# it with the checks that check.sh makes of the recording in the repository. Needs root, and what
# the lab and check.sh need. Prints TAP.
#
# usage: record.sh [-k KERNEL] [-w]
#	-k	of the guest (6.12)
#	-w	the new recording takes the place of driver.pcapng.gz, if it is good
# LAB_MACHINE as for selftests/lab/run-tests.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=$here/../lab
. "$lab/common.sh"

k=$DEFAULT_KERNEL write=''
while getopts k:w opt; do
	case $opt in
	k) k=$OPTARG ;;
	w) write=1 ;;
	*) sed -n '8,11s/^# \?//p' "$0" >&2; exit 2 ;;
	esac
done
known_kernel "$k"
"$lab/module.sh" "$k" >&2
"$lab/provider.sh" >&2
"$lab/tools.sh" >&2
out=$BUILD/wireshark
rm -rf "$out"
mkdir -p "$out"
"$lab/vm.sh" -q -k "$k" -t 1200 -o "$out" "$LAB_DIR/guest/run-tests.sh" selftests/net/recording.sh >&2 || {
	sed 's/^/# /' "$out/output" >&2
	lab_die "the guest failed"
}
grep '^# figure' "$out/output" >&2 || true
[ -s "$out/driver.pcapng.gz" ] || {
	grep -v '^# figure' "$out/output" >&2
	lab_die "there is no recording"
}
"$here/check.sh" -r "$out/driver.pcapng.gz"
[ -z "$write" ] || cp "$out/driver.pcapng.gz" "$here/driver.pcapng.gz"
