#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What can be seen of packaging/rpm/mrc.spec without building it: every macro is known, its
# scripts are scripts, and its lists have each file of the Debian packages once and no other
# one. Needs rpm, and the packages in build/packages/RELEASE for the last part.
#
# usage: spec.sh [bookworm|trixie|forky]   (default: the first that has packages)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../lab/common.sh"
. "$TOP/selftests/packages/lib_root.sh"

spec=$TOP/packaging/rpm/mrc.spec
release=${1:-}
if ! command -v rpmspec >/dev/null; then
	echo "skip: rpmspec is missing (package rpm)"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
bad() {
	failed=1
	echo "not ok: $1"
	[ -z "${2:-}" ] || sed 's/^/    /' "$2" | head -n 20
}

# Fedora's packages of macros, which Debian's rpm does not have.
macros=(-D '_unitdir /usr/lib/systemd/system' -D 'systemd_post() true %{*}'
	-D 'systemd_preun() true %{*}' -D 'systemd_postun_with_restart() true %{*}'
	-D '_libdir /usr/lib64' -D '_lib lib64' -D 'python3_sitelib /usr/lib/python3/dist-packages')
rpmspec -P "${macros[@]}" "$spec" >"$tmp/spec" 2>"$tmp/log" || bad "the spec file is read" "$tmp/log"
! grep -n '%{\|%[a-z]*_[a-z]' "$tmp/spec" >"$tmp/log" || bad "a macro is unknown" "$tmp/log"

# Each section that is a script.
awk -v dir="$tmp" '
	/^%(prep|build|install|post|preun|postun)( |$)/ {
		name = $0; gsub(/[% -]+/, "_", name); out = dir "/script" name; next }
	/^%[a-z]+/ { out = "" }
	out { print >out }' "$tmp/spec"
for f in "$tmp"/script*; do
	bash -n "$f" 2>"$tmp/log" || bad "${f##*/script_} is a script" "$tmp/log"
done

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
		on && !/^%(license|doc)/ { sub(/^%[^ ]* /, ""); if (NF) print }' "$tmp/spec" >"$tmp/patterns"
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
	echo "skip: no packages to compare the lists of files with"
fi
[ "$failed" = 0 ] && echo "ok: packaging/rpm/mrc.spec"
exit "$failed"
