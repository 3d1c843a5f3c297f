#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What can be seen of packaging/rpm/*.spec without building it: every macro is known, the
# scripts are scripts, and the lists of mrc.spec have each file of the Debian packages once and
# no other one. Needs the packages in build/packages/RELEASE for the last part. rpm.sh builds.
#
# usage: spec.sh [bookworm|trixie|forky]   (default: the first that has packages)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../lab/common.sh"
. "$TOP/selftests/packages/lib_root.sh"
. "$TOP/selftests/packages/rpm/macros.sh"

release=${1:-}
"$LAB_DIR/setup.sh" rpm
PATH=$TOP/selftests/packages/rpm:$PATH # kmodtool
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
bad() {
	failed=1
	echo "not ok: $1"
	[ -z "${2:-}" ] || sed 's/^/    /' "$2" | head -n 20
}

# Each section that is a script, and what is left of macros.
read_spec() { # NAME OPTIONS...: in $tmp/NAME
	local name=$1 f
	shift
	rpmspec -P "${RPM_MACROS[@]}" "$@" "$TOP/packaging/rpm/${name%+*}.spec" >"$tmp/$name" \
		2>"$tmp/log" || bad "$name: the spec file is read" "$tmp/log"
	! grep -n '%{\|%[a-z]*_[a-z]' "$tmp/$name" >"$tmp/log" || bad "$name: a macro is unknown" "$tmp/log"
	rm -f "$tmp"/script*
	awk -v dir="$tmp" '
		/^%(prep|build|install|post|preun|postun)( |$)/ {
			name = $0; gsub(/[% -]+/, "_", name); out = dir "/script" name; next }
		/^%[a-z]+/ { out = "" }
		out { print >out }' "$tmp/$name"
	for f in "$tmp"/script*; do
		[ -s "$f" ] || bad "$name has scripts"
		bash -n "$f" 2>"$tmp/log" || bad "$name: ${f##*/script_} is a script" "$tmp/log"
	done
}
read_spec mrc
read_spec mrc-kmod
grep -q '^%package -n akmod-mrc$' "$tmp/mrc-kmod" || bad "mrc-kmod has a package akmod-mrc"
read_spec mrc-kmod+kernels -D 'kernels 6.99-x 7.0.1-y'
[ "$(grep -c '^%package -n kmod-mrc-[67]' "$tmp/mrc-kmod+kernels")" = 2 ] ||
	bad "mrc-kmod has a package for each kernel"

# The files that the Debian packages install, at the places of Fedora.
if [ -z "$release" ]; then
	for release in "${RELEASES[@]}" ''; do
		[ ! -e "$BUILD/packages/$release/.stamp" ] || break
	done
fi
if [ -n "$release" ]; then
	for p in mrc-dkms libmrc1 libmrc-dev ibverbs-provider-mrc mrc-tools; do
		dpkg-deb --fsys-tarfile "$BUILD/packages/$release/${p}"_*.deb | tar -t | sed 's,^\./,/,' |
			grep -v '/$'
	done | sed -E 's,^/lib/,/usr/lib/,; s,^/usr/lib/[a-z0-9_]+-linux-gnu[a-z0-9]*/,/usr/lib64/,
		s,(/man/.*)\.gz$,\1,' | grep -v -E '^/usr/share/(doc|lintian)/|^/etc/udev/' | sort -u >"$tmp/have"
	# Patterns of paths, without %config and the like. A folder stands for what is in it.
	awk '/^%files/ { on = 1; next } /^%[a-z]+( |$)/ && !/^%(config|license|doc)/ { on = 0 }
		on && !/^%(license|doc)/ { sub(/^%[^ ]* /, ""); sub(/^ +/, ""); if (NF) print }' "$tmp/mrc" >"$tmp/patterns"
	awk 'NR == FNR {
			p = $0
			gsub(/\./, "\\.", p); gsub(/\*/, "[^/]*", p)
			pattern[++n] = "^" p "(/.*)?$"; text[n] = $0; next
		}
		{
			m = 0
			for (i = 1; i <= n; i++) if ($0 ~ pattern[i]) { m++; used[i] = 1 }
			if (m != 1) print $0 " is listed " m " times"
		}
		END { for (i = 1; i <= n; i++) if (!used[i]) print text[i] " is no file" }' \
		"$tmp/patterns" "$tmp/have" >"$tmp/log"
	[ -s "$tmp/have" ] || bad "the packages have files"
	[ ! -s "$tmp/log" ] || bad "the lists of files are right" "$tmp/log"
else
	bad "there are packages to compare the lists of files with (selftests/lab/packages.sh)"
fi
[ "$failed" = 0 ] && echo "ok: packaging/rpm/mrc.spec, packaging/rpm/mrc-kmod.spec"
exit "$failed"
