#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bash completion of mrcctl, asking a device made up of the files in golden/.
set -euo pipefail
dir=$(cd "$(dirname "$0")" && pwd)
tool=$dir/../../userspace-tools/mrcctl
bad=0

# What the completion runs.
mrcctl() {
	case $* in
	'dev show') cat "$dir/golden/dev_two.txt" ;;
	'-d mrc0 port show' | '-d mrc0 ev show' | '-d mrc0 fmt show' | '-d mrc0 cc show' | \
		'-d mrc0 qp show') cat "$dir/golden/$3.txt" ;;
	*) echo "mrcctl: what is $*?" >&2 && return 1 ;;
	esac
}
. "$tool/completion.bash"

# complete_words WORDS...: in $reply; the last word is the one that is being written
complete_words() {
	local COMP_WORDS=(mrcctl "$@") COMP_CWORD=$# COMPREPLY=()
	_mrcctl || true
	reply=${COMPREPLY[*]}
}

completes() { # WANTED WORDS...
	local want=$1
	shift
	complete_words "$@"
	[ "$reply" = "$want" ] || {
		echo "mrcctl $*: completed to '$reply', expected '$want'"
		bad=1
	}
}

offers() { # WORDS...: the last one among others that begin like it
	complete_words "$@"
	[[ " $reply " == *" ${*: -1} "* ]] || {
		echo "mrcctl $*: completed to '$reply'"
		bad=1
	}
}

completes 'mrc0 mrc1' -d mrc
completes 'mrc1' --device mrc1
completes 'del deny' ev de
completes 'ev' e
completes '0 3' -d mrc0 ev show ''
completes '3' -d mrc0 ev deny 3
completes '' ev add ''
completes '1' -d mrc0 fmt del ''
completes '2 5' -d mrc0 cc set ''
completes '17 18' -d mrc0 qp show ''
completes '1 2' -d mrc0 port set ''
completes 'enable disable' port set 1 ''
completes 'udp stev srv6' fmt add 1 mode ''
completes '1' -d mrc0 ev add 3 mode explicit fmt ''
completes 'offline online' ev set 3 state o
completes 'gamma' cc set 2 ga
completes 'status' probe s
completes 'ports' probe status src ::1 dst ::2 evs 00@1 p
completes '' monitor -n ''
completes 'ev' monitor -n 3 e
completes 'all' probe status src ::1 ports a
completes "$dir/golden/save.json" -d mrc0 -b "$dir/golden/save."
completes 'del' -b file ev del
completes '--peer' doctor --p
completes 'mrc0 mrc1' doctor mrc
completes 'mrc0 mrc1' show-gids mrc
completes '' doctor mrc0 --peer ''
completes "$dir/golden/save.json" links up "$dir/golden/save."
completes 'lo' plane add lo
completes 'metric' plane add lo me
completes '' plane add lo mtu ''
completes '--dry-run' plane del lo -
completes 'health' serve he
completes 'health' serve listen ::1 h
completes "$dir/golden/save.json" serve health "$dir/golden/save."
completes "$dir/golden/save.json" load "$dir/golden/save."

# Each command that there is.
while read -r object name; do
	if [ -n "$name" ]; then
		offers "$object" "$name"
	else
		offers "$object"
	fi
done < <(sed -n 's/^\t{"\([a-z-]*\)", "\([a-z]*\)",.*/\1 \2/p' "$tool/commands.cpp")

# Each parameter of congestion control.
while read -r name; do
	offers cc add 1 algorithm x "$name"
done < <(sed -n 's/.*param<.*>("\([a-z_]*\)".*/\1/p' "$tool/names.cpp")
exit $bad
