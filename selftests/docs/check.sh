#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the documents list must be what the sources have: counters, test
# scripts, module parameters, ABI structures, functions of the library in the
# manual pages, functions that packets go through, times that follow from others, and
# links between documents.
# Run from anywhere; prints what differs and fails. Needs no package: only
# what is essential in Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."

bad=0
differ() { # TITLE LEFT-NAME LEFT RIGHT-NAME RIGHT
	local only
	only=$(comm -23 <(sort -u <<<"$3") <(sort -u <<<"$5") | paste -sd' ')
	[ -z "$only" ] || { echo "$1: only in $2: $only"; bad=1; }
	only=$(comm -13 <(sort -u <<<"$3") <(sort -u <<<"$5") | paste -sd' ')
	[ -z "$only" ] || { echo "$1: only in $4: $only"; bad=1; }
}

header=drivers/infiniband/sw/mrc/core/mrc_counters.h
source=$(sed -n 's/.*X([A-Z_0-9]*, "\([a-z_0-9]*\)").*/\1/p' "$header")
[ -n "$source" ] || { echo "no counters found in $header"; bad=1; }
differ counters "$header" "$source" Documentation/counters.md \
	"$(sed -n '1,/^## Reading/s/^| `\([a-z_0-9]*\)` |.*/\1/p' Documentation/counters.md)"
differ counters "$header" "$source" selftests/net/counters.list \
	"$(grep -v '^#' selftests/net/counters.list)"

scripts() { # SET HEADING: those that are there, and those of the table below it
	differ "test scripts" "selftests/$1" \
		"$(find "selftests/$1" -maxdepth 1 -name '*.sh' ! -name lib.sh \
			! -name 'lib_*' -printf '%f\n')" Documentation/testing.md \
		"$(awk -v heading="## $2" '/^## / { on = $0 == heading } on' \
			Documentation/testing.md | sed -n 's/^| `\([a-z_0-9]*\.sh\)` |.*/\1/p')"
}
scripts net 'Scripts of selftests/net'
scripts interop 'Foreign suites'

params=$(sed -n 's/^module_param[a-z_]*(\([a-z_]*\),.*/\1/p' drivers/infiniband/sw/mrc/*/*.c)
[ -n "$params" ] || { echo "no module parameters found"; bad=1; }
for f in README.md Documentation/architecture.md; do
	for p in $params; do
		grep -q "\`$p\`" "$f" || { echo "parameter $p is not in $f"; bad=1; }
	done
done

structs=$(sed -n 's/^struct \(mrc_[a-z_]*\) {$/\1/p' include/uapi/rdma/mrc-abi.h)
[ -n "$structs" ] || { echo "no structures found in mrc-abi.h"; bad=1; }
for s in $structs; do
	grep -q "\`$s\`" Documentation/uapi.md || { echo "struct $s is not in uapi.md"; bad=1; }
done

# Every function of the library has a manual page, its own or under one more
# name, and pages describe no others. Whether the declarations are right and
# the examples compile is looked at by selftests/abi/check.sh.
man=providers/mrc/man
page_section() { # FILE SECTION: the lines of a section
	sed -n "/^\\.SH $2\$/,/^\\.SH /{ /^\\.SH /d; p; }" "$1"
}
page_names() { # FILE
	page_section "$1" NAME | paste -sd' ' | sed 's/ \\- .*//' | tr -d ' ' | tr ',' '\n'
}
functions=$(sed -n 's/^\t\t\(mrc_[a-z_]*\);$/\1/p' providers/mrc/libmrc.map)
names='' pages='' aliases=''
for f in "$man"/*.[37]; do
	page=$(basename "$f")
	pages+=$page$'\n'
	own=$(page_names "$f")
	[ "$(head -n 1 <<<"$own").${page##*.}" = "$page" ] ||
		{ echo "$f: the first name is not the page's"; bad=1; }
	aliases+=$(tail -n +2 <<<"$own" | sed "s/.*/$page &.${page##*.}/")$'\n'
	[ "${page##*.}" = 3 ] || continue
	names+=$own$'\n'
	differ "$page" NAME "$own" SYNOPSIS \
		"$(page_section "$f" SYNOPSIS | grep -o '[a-z_]*(' | tr -d '(')"
done
differ functions providers/mrc/libmrc.map "$functions" "$man" "${names%$'\n'}"
list() { # FUNCTION: arguments of a function in the list of pages
	sed -n "/^$1(/,/^)/{ s/^  //p; }" "$man/CMakeLists.txt"
}
differ "manual pages" "$man" "${pages%$'\n'}" "$man/CMakeLists.txt" "$(list rdma_man_pages)"
differ "names of pages" "$man" "$(grep . <<<"$aliases")" "$man/CMakeLists.txt" \
	"$(list rdma_alias_man_pages)"

# What pages refer to is there.
mine=$(for f in "$man"/*.[37] userspace-tools/*/*.[18]; do
	[ -f "$f" ] || continue
	page_names "$f" | sed "s/.*/&(${f##*.})/"
done)
while read -r ref; do
	grep -q -x -F "$ref" <<<"$mine" || { echo "no page $ref, referred to"; bad=1; }
done < <(sed -n 's/\\fB//g; s/\\fP//g; s/^\.BR \(mrc[a-z_]*\) (\([0-9]\)).*/\1(\2)/; p' \
	"$man"/*.[37] userspace-tools/*/*.[18] | grep -o '\<mrc[a-z_]*([1-8])' | sort -u)

# Limits: a row of bounds.md has the value that the constant has in its file.
rows=$(sed -n 's/^\(|.*\)`\([a-z_\/]*\.[ch]\)`, `\(MRC_[A-Z_]*\)`.*/\2 \3 \1/p' Documentation/bounds.md)
[ -n "$rows" ] || { echo "no limits found in bounds.md"; bad=1; }
while read -r file name row; do
	value=$(sed -n "s/^\(#define\)\?[[:space:]]*$name\>[[:space:]=]*\([0-9]\+\).*/\2/p" \
		"drivers/infiniband/sw/mrc/$file")
	grep -q -w "${value:-none}" <<<"$row" ||
		{ echo "bounds.md: $name of $file is \"$value\": $row"; bad=1; }
done <<<"$rows"

# Functions of trip.md are defined in the file of their row, and a file has one row in each
# table. Rows: | NUMBER | `FILE` | `FUNCTION()`, ... | what they do |
trip=Documentation/trip.md
mapfile -t rows < <(awk -F'|' -v OFS='\t' '
	/^## / { table = substr($0, 4) }
	table != "" && $2 ~ /^ [0-9]+ $/ {
		gsub(/[ `]/, "", $3)
		gsub(/[ `]/, "", $4)
		n = split($4, f, ",")
		for (i = 1; i <= n; i++)
			print table, $3, f[i]
		if (seen[table, $3]++)
			print table, $3, "-"
	}' "$trip")
[ "${#rows[@]}" -ge 60 ] || { echo "$trip: only ${#rows[@]} functions found in tables"; bad=1; }
for row in "${rows[@]}"; do
	IFS=$'\t' read -r table file name <<<"$row"
	path=$file
	[ -f "$path" ] || path=drivers/infiniband/sw/mrc/$file
	if [ ! -f "$path" ]; then
		echo "$trip names $file, which is not there"
		bad=1
	elif [ "$name" = - ]; then
		echo "$trip, '$table': $file has two rows"
		bad=1
	elif [[ $name != *'()' ]] ||
		! grep -q -E "^[a-z].*[ *]${name%??}\([^;]*\$" "$path"; then
		echo "$trip: $file does not define $name"
		bad=1
	fi
done

# How long a dead peer is waited for: the times in programs.md are what the rules of
# mrc_req_interval() make of the numbers beside them.
awk -F'|' '
function seconds(cell) { return cell ~ / ms *$/ ? cell / 1000 : cell + 0 }
function capped(t) { return t < 17.179869184 ? t : 17.179869184 }
function is(cell, want, got) {
	got = seconds(cell)
	if (got < 0.994 * want || got > 1.006 * want) {
		print FILENAME ":" FNR ":" cell "should be " want " s"
		bad = 1
	}
}
/^\| timeout \| interval \| 0 retries \|/ { table = 1; next }
/^\| timeout \| interval \| linear_cnt \|/ { table = 2; next }
!/^\|/ { table = 0 }
table && $2 + 0 {
	rows[table]++
	t = capped((table == 1 ? 4.096e-6 : 1.024e-6) * 2 ^ $2)
	is($3, t)
}
table == 1 && $2 + 0 {
	is($4, t)
	is($5, 4 * t)
	is($6, 8 * t)
}
table == 2 && $2 + 0 {
	sum = $4 * t
	for (k = 1; k <= $5; k++)
		sum += capped(t * 2 ^ k)
	is($6, sum + capped(t * 2 ^ $5))
}
END {
	if (!rows[1] || !rows[2]) {
		print FILENAME ": no tables of times found"
		bad = 1
	}
	exit bad
}' Documentation/programs.md || bad=1

# Relative links lead somewhere.
while IFS=: read -r f link; do
	[ -e "$(dirname "$f")/$link" ] || { echo "$f links to $link, which is not there"; bad=1; }
done < <(grep -o -H -E '\]\([A-Za-z0-9_./-]+[#)]' README.md CONTRIBUTING.md Documentation/*.md \
	Documentation/guides/*.md | sed 's/:](/:/; s/[#)]$//')

selftests/docs/guides.sh || bad=1

exit $bad
