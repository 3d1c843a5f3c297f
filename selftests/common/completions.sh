#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bash completion of the programs other than mrcctl, which has a test of its own: every
# command and every long option in their sources is offered, words with a fixed list are
# completed, and nothing is offered that is no option. Programs that the completions ask are
# made up here, of what the sources say.
set -euo pipefail
tools=$(cd "$(dirname "$0")/../../userspace-tools" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# Sources that define options, with the function that adds them.
options_of() { # PROGRAM
	cat "$tools/$1"/*.cpp | grep -o -E '"(-[A-Za-z],)?--[a-z][a-z0-9-]+"' |
		grep -o -E -- '--[a-z0-9-]+' | sort -u
}
commands_of() { # PROGRAM
	cat "$tools/$1"/*.cpp | tr '\n' ' ' |
		grep -o -E '(add_subcommand\(|[ (]add\(app, chosen, [a-z_]+,)\s*"[a-z]+"' |
		sed 's/.*"\([a-z]*\)"$/\1/' | sort -u
}

# What the completions run. --help has all options of the program.
mrcmap() { options_of mrcmap | sed 's/^/  /; s/$/ TEXT/'; }
mrcsim() { options_of mrcsim | sed 's/^/  /; s/$/ TEXT/'; }
mrcconform() { printf '%s\n' 'ack.good  6.1 a case' 'wire.bad  6.2 another one'; }
mrclab() {
	case $* in
	status) echo 'small: 2 hosts' ;;
	'status -j') echo '[{"nodes":[{"name":"h1"},{"name":"p1l1"}],"links":[{"name":"h1:p1"}]}]' ;;
	*) echo "mrclab: what is $*?" >&2 && return 1 ;;
	esac
}

# complete_words PROGRAM WORDS...: in $reply; the last word is the one that is being written
complete_words() {
	local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	"_$1" || true
	reply=${COMPREPLY[*]}
}
completes() { # WANTED PROGRAM WORDS...
	local want=$1
	shift
	complete_words "$@"
	[ "$reply" = "$want" ] || {
		echo "$*: completed to '$reply', expected '$want'"
		bad=1
	}
}
offered() { # OPTION PROGRAM: behind one of the commands, or without any
	local option=$1 program=$2 c
	for c in '' "${commands[@]}"; do
		# shellcheck disable=SC2086 # no word if there is no command
		complete_words "$program" $c "$option"
		[[ " $reply " != *" $option "* ]] || return 0
	done
	return 1
}

programs=()
for f in "$tools"/*/CMakeLists.txt; do
	p=$(basename "$(dirname "$f")")
	grep -q 'install(TARGETS' "$f" && [ "$p" != mrcctl ] || continue
	programs+=("$p")
done
[ "${#programs[@]}" -ge 6 ] || {
	echo "programs: ${programs[*]}"
	bad=1
}
for p in "${programs[@]}"; do
	if ! [ -f "$tools/$p/completion.bash" ]; then
		echo "$p has no completion"
		bad=1
		continue
	fi
	grep -q "completion.bash RENAME $p\$" "$tools/$p/CMakeLists.txt" || {
		echo "the completion of $p is not installed"
		bad=1
	}
	# shellcheck source=/dev/null
	. "$tools/$p/completion.bash"
	complete -p "$p" >/dev/null || bad=1
	mapfile -t commands < <(commands_of "$p")
	[ "$p" = mrcperf ] || [ "${#commands[@]}" -ge 3 ] || {
		echo "commands of $p: ${commands[*]}"
		bad=1
	}
	for c in "${commands[@]}"; do
		complete_words "$p" "$c"
		[[ " $reply " == *" $c "* ]] || {
			echo "$p $c: completed to '$reply'"
			bad=1
		}
	done
	# Those of mrclab are few and short.
	[ "$p" != mrclab ] || continue
	while read -r option; do
		case $p:$option in
		*:--version) continue ;;
		esac
		offered "$option" "$p" || {
			echo "$p: $option is not offered"
			bad=1
		}
	done < <(options_of "$p")
	for c in '' "${commands[@]}"; do
		# shellcheck disable=SC2086
		complete_words "$p" $c --
		for option in $reply; do
			[ "$option" = --help ] || [ "$option" = --version ] ||
				options_of "$p" | grep -q -x -- "$option" || {
				echo "$p $c: there is no option $option"
				bad=1
			}
		done
	done
done

printf '%s\n' 'title = x' '[first]' '[other]' >"$tmp/x.plan"
# shellcheck disable=SC2016 # a command that must not run
printf '[$(touch %s)]\n[`touch %s`]\n[last]\n' "$tmp/run" "$tmp/run" >"$tmp/evil.plan"
completes 'last' mrcbench run "$tmp/evil.plan" --only ''
[ ! -e "$tmp/run" ] || {
	echo "mrcbench: a name in a plan is run as a command"
	bad=1
}
completes 'write write_imm' mrcperf --op ''
completes 'bw' mrcperf -T b
completes 'text' mrcperf --format t
completes '1024' mrcperf -m 10
completes '--ev-profile --events' mrcperf h1 --ev
completes '' mrcperf -n ''
completes "$tmp/x.plan" mrcperf -o "$tmp/x"
completes 'run' mrcbench r
completes "$tmp/x.plan" mrcbench run "$tmp/x"
completes 'first other' mrcbench run "$tmp/x.plan" --only ''
completes '--strict' mrcbench run "$tmp/x.plan" --str
completes '' mrcbench check --str
completes '--sessions' mrcbench serve --se
completes '' mrcbench serve --sessions ''
completes 'ack.good wire.bad' mrcconform run -c ''
completes '4096' mrcconform run --mtu 40
completes 'agent' mrcmap a
completes "$tmp/x.plan" mrcmap show -s "$tmp/x"
completes 'run' mrcsim r
completes 'roce roce-pfc' mrcsim run --columns ro
completes "$tmp/x.plan" mrcsim run "$tmp/x"
completes 'small' mrclab down ''
completes 'h1 p1l1' mrclab exec ''
completes 'h1:p1' mrclab capture ''
completes 'down drop delay duplicate' mrclab fault p1l1 d
completes "$tmp/x.plan" mrclab up "$tmp/x"
exit $bad
