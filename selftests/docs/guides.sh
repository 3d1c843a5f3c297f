#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The guides (Documentation/guides) against what tests them: every block of every page has a
# marker (selftests/net/lib_guides.sh), what it says is tested is in a script, what a script
# runs is in a page, excerpts and differences are those of the examples, and the index has
# all pages. Run from anywhere; prints what differs and fails.
# Needs no package: only what is essential in Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=Documentation/guides
bad=0
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
wrong() {
	echo "$*"
	bad=1
}

block() { # PAGE MARKER
	awk -v want="$2" -f selftests/docs/blocks.awk "$1"
}

# The lines of an excerpt follow each other in the file.
excerpt() { # PAGE LINE FILE
	awk -v at="$2" '
		FNR == NR {
			if (FNR >= at && /^    /) {
				started = 1
				lines[n++] = substr($0, 5)
			} else if (started && !/^[ \t]*$/) {
				nextfile
			}
			next
		}
		{ file[m++] = $0 }
		END {
			for (i = 0; i + n <= m; i++) {
				for (k = 0; k < n && file[i + k] == lines[k]; k++)
					;
				if (n && k == n)
					exit 0
			}
			exit 1
		}' "$1" "$dir/$3"
}

pages=0 blocks=0
tested='' foreign='' seen=''
for page in "$dir"/*.md; do
	name=$(basename "$page" .md)
	pages=$((pages + 1))
	[ "$name" = README ] || grep -q "($name.md)" "$dir/README.md" ||
		wrong "$dir/README.md does not list $name.md"
	while read -r line kind words; do
		blocks=$((blocks + 1))
		case $kind in
		test:) tested+="$name ${words%% *}"$'\n' ;;
		interop:) foreign+="$name ${words%% *}"$'\n' ;;
		seen:) seen+="$name ${words%% *}"$'\n' ;;
		excerpt:)
			excerpt "$page" "$line" "$words" ||
				wrong "$page:$line: this is not in $words"
			;;
		diff:)
			# shellcheck disable=SC2086 # two files
			set -- $words
			(cd "$dir" && diff -u --label "$(basename "$1")" --label "$(basename "$2")" \
				"$1" "$2") | sed "s/[ \t]*\$//" >"$tmp" || true
			block "$page" "diff: $words" | cmp -s - "$tmp" ||
				wrong "$page:$line: the difference of $words is another one"
			;;
		not) [[ $words == 'tested: '?* ]] || wrong "$page:$line: not tested, without a reason" ;;
		none) wrong "$page:$line: a block without a marker" ;;
		*) wrong "$page:$line: unknown marker: $kind $words" ;;
		esac
	done < <(awk -f selftests/docs/blocks.awk "$page")
done

both() { # WHAT PAGES SCRIPT NAMES: both lists are equal and name nothing twice
	local twice
	twice=$(sort <<<"$2" | uniq -d | grep . | paste -sd' ' || true)
	[ -z "$twice" ] || wrong "$1: two blocks have one name: $twice"
	diff <(grep . <<<"$2" | sort -u) <(grep . <<<"$4" | sort -u) >"$tmp" ||
		wrong "$1: < only in the guides, > only in $3:"$'\n'"$(grep '^[<>]' "$tmp")"
}
both tested "$tested" selftests/net/guides.sh \
	"$(sed -n -E 's/^.*(guide|compiles) ([a-z0-9-]+) ([a-z0-9-]+)$/\2 \3/p' selftests/net/guides.sh)"
both interop "$foreign" selftests/interop/guides.sh \
	"$(sed -n -E 's/^\t\t([a-z0-9-]+) ([a-z0-9-]+)$/\1 \2/p' selftests/interop/guides.sh)"
while read -r one; do
	[ -z "$one" ] || grep -q -x -F "$one" <<<"$tested$foreign" ||
		wrong "output of a block that there is not: $one"
done <<<"$seen"

[ "$pages" -ge 13 ] && [ "$blocks" -ge 80 ] || wrong "only $pages pages with $blocks blocks found"
exit $bad
