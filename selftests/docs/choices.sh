#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Documentation/spec-choices.md against the repository: each number OP-n that a file
# names is there, none is there twice, and the files, functions and tests that the page
# names exist. Prints what is wrong and fails.
#
# usage: choices.sh [ROOT]
#
# What the page looks like:
#   | [OP-n](#anchor) | ... | TEST |      a row of the index; TEST: a file or "none"
#   ### OP-n: TITLE                       its section, with
#   - Code: `FILE`: `NAME`, `NAME`; ...
#   - Test: `FILE`: `NAME`, ...           or "none"
# Tables with `FILE`: `NAME` in their cells are looked at as well. FILE is relative to
# ROOT or to the driver. NAME is a function with (), a unit test Suite.Name, or text.
# Needs no package: only what is essential in Debian.
set -euo pipefail
root=${1:-$(dirname "$0")/../..}
cd "$root"

page=Documentation/spec-choices.md
driver=drivers/infiniband/sw/mrc
bad=0
wrong() {
	echo "$page: $*"
	bad=1
}
[ -f "$page" ] || { echo "$page is not there"; exit 1; }

twice() { # WHAT, of the lines of standard input
	local n
	for n in $(sort | uniq -d); do
		wrong "$n $1"
	done
}
sections=$(sed -n 's/^### \(OP-[0-9]*[a-z]\{0,1\}\):.*/\1/p' "$page")
index=$(sed -n 's/^| \[\(OP-[0-9]*[a-z]\{0,1\}\)\](.*/\1/p' "$page")
[ -n "$sections" ] || wrong "has no sections"
twice "has two sections" <<<"$sections"
twice "is in the index twice" <<<"$index"
for n in $(comm -23 <(sort -u <<<"$sections") <(sort -u <<<"$index")); do
	wrong "$n is not in the index"
done
for n in $(comm -13 <(sort -u <<<"$sections") <(sort -u <<<"$index")); do
	wrong "$n is in the index and has no section"
done

# Whoever names a number means one of these.
while IFS=: read -r f n; do
	grep -q -x -F "$n" <<<"$sections" || {
		echo "$f names $n, which $page does not have"
		bad=1
	}
done < <(grep -r -I -o -w -E 'OP-[0-9]+[a-z]?' --exclude-dir=build --exclude-dir=.git . |
	sed 's|^\./||' | sort -u)

# "NUMBER KIND FILE NAME" of all that is named, with tabs between; FILE "-": there is
# none, NAME "-": the file as a whole. KIND: code, test, index or row (of another table).
named() {
	awk '
	function refs(kind, text,    file, tick, names) {
		file = ""
		while (match(text, /`[^`]+`/)) {
			tick = substr(text, RSTART + 1, RLENGTH - 2)
			text = substr(text, RSTART + RLENGTH)
			if (tick ~ /^[A-Za-z0-9_.\/-]+\.(c|h|cpp|hpp|sh|py|md)$/) {
				if (file != "" && !names)
					print number, kind, file, "-"
				file = tick
				names = 0
			} else if (file != "") {
				print number, kind, file, tick
				names++
			} else {
				print number, kind, "?", tick
			}
		}
		if (file != "" && !names)
			print number, kind, file, "-"
		if (file == "")
			print number, kind, "-", "-"
	}
	function flush() {
		if (item != "")
			refs(item, rest)
		item = ""
	}
	BEGIN { OFS = "\t"; number = "-" }
	/^### OP-[0-9]+[a-z]?:/ { flush(); number = $2; sub(/:$/, "", number); next }
	/^#/ { flush(); number = "-"; next }
	/^\| \[OP-/ {
		n = split($0, cell, / *\| */)
		number = cell[2]
		gsub(/^\[|\].*/, "", number)
		print number, "index", cell[n - 1], "-"
		number = "-"
		next
	}
	/^\|/ {
		n = split($0, cell, "|")
		for (i = 2; i < n; i++)
			if (cell[i] ~ /`[A-Za-z0-9_.\/-]+\.(c|h|cpp|hpp|sh|py)`/)
				refs("row", cell[i])
		next
	}
	/^- (Code|Test):/ {
		flush()
		item = /^- Code/ ? "code" : "test"
		rest = substr($0, 8)
		next
	}
	/^  / && item != "" { rest = rest " " $0; next }
	{ flush() }
	END { flush() }' "$page"
}

exists() { # FILE NAME: what is wrong with it, if anything
	local f=$1 name=$2
	[ -f "$f" ] || f=$driver/$1
	[ -f "$f" ] || { echo "$1, which is not there"; return; }
	case $name in
	-) ;;
	*'()')
		grep -q -w -F "${name%??}" "$f" && grep -q -E "(^|[^A-Za-z0-9_])${name%??}\(" "$f" ||
			echo "$name, which $1 does not have"
		;;
	*)
		if [[ $f == selftests/*.cpp && $name =~ ^([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)$ ]]; then
			grep -q -E "^TEST(_F|_P)?\(${BASH_REMATCH[1]}, ${BASH_REMATCH[2]}\)" "$f" ||
				echo "the test $name, which $1 does not have"
		else
			grep -q -F -e "$name" "$f" || echo "'$name', which $1 does not have"
		fi
		;;
	esac
}

declare -A has=() tests=() first=()
while IFS=$'\t' read -r n kind file name; do
	case $kind in
	index)
		first[$n]=$file
		continue
		;;
	code | test)
		has[$n-$kind]=1
		;;
	esac
	if [ "$file" = - ]; then
		[ "$kind" = test ] || wrong "$n names no file as its code"
	elif [ "$file" = '?' ]; then
		wrong "$n: '$name' is named without a file"
	else
		[ "$kind" != test ] || tests[$n]+=" ${file##*/}"
		what=$(exists "$file" "$name")
		[ -z "$what" ] || wrong "$n names $what"
	fi
done < <(named)

for n in $sections; do
	[ -n "${has[$n-code]:-}" ] || wrong "$n has no line Code"
	[ -n "${has[$n-test]:-}" ] || wrong "$n has no line Test"
	[ -n "${first[$n]:-}" ] || continue
	case " ${tests[$n]:-none} " in
	*" ${first[$n]} "*) ;;
	*) wrong "$n: the index has the test ${first[$n]}, its section${tests[$n]:- none}" ;;
	esac
done

exit $bad
