#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Checks the Wireshark dissector and the Scapy layers of MRC: packets with known fields,
# conversations, packets that are cut or random, traffic of the driver that record.sh has
# recorded, and that the document names every field. Run from anywhere, without privileges.
# Prints TAP.
#
# usage: check.sh [-u] [-k] [-q] [-r FILE]
#	-u	write the golden files instead of comparing with them
#	-k	keep the captures, and say where they are
#	-r	only what must hold for any recording, of this one
#	-q	without packets that are cut at every place or random: seconds, not minutes
# TSHARK names another tshark. Needs tshark and python3-scapy.
set -euo pipefail
here=$(dirname "$0")

options=() keep=''
while getopts ukqr: option; do
	case $option in
	u) options+=(--update) ;;
	q) options+=(--quick) ;;
	r) options+=(--recording "$(realpath "$OPTARG")") ;;
	k) keep=1 ;;
	*) sed -n '9,13s/^# \?//p' "$0" >&2; exit 2 ;;
	esac
done

tshark=${TSHARK:-tshark}
command -v "$tshark" >/dev/null || {
	echo "Bail out! no tshark; Debian has it: apt-get install --no-install-recommends tshark"
	exit 1
}
# Debian's packages are for Debian's Python, which need not be the first one.
python=''
for p in python3 /usr/bin/python3; do
	[ -n "$python" ] || ! "$p" -c 'import scapy' 2>/dev/null || python=$p
done
[ -n "$python" ] || {
	echo "Bail out! no Scapy; Debian has it: apt-get install --no-install-recommends python3-scapy"
	exit 1
}

work=$(mktemp -d)
if [ -n "$keep" ]; then
	echo "# captures are in $work"
else
	trap 'rm -rf "$work"' EXIT
fi

# Preferences of the user who runs this must not matter.
export HOME=$work XDG_CONFIG_HOME=$work/config PYTHONDONTWRITEBYTECODE=1
cd "$here"
"$python" ./check.py --tshark "$tshark" "${options[@]}" "$work"
