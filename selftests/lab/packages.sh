#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds the Debian packages of a release, source and binary, in a clean root of it and
# without network, and lets lintian judge them. Documentation/packages.md says what is in
# them.
#
# usage: packages.sh [bookworm|trixie|forky]   (default: this machine's release, or trixie)
#   PACKAGES_JOBS=N   compilers at a time (default: 2)
#   PACKAGES_PROFILES=pkg.mrc.notools   without the tools, in a fraction of the time
# Result: build/packages/RELEASE/, and in its folder install/ what "apt install ./*.deb" is
# for: all packages but those of symbols for debuggers. Nothing is done if it was made of the
# same sources.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$TOP/selftests/packages/lib_root.sh"

release=${1:-}
if [ -z "$release" ]; then
	release=$(host_codename) || release=trixie
fi
known_release "$release"
need_root "building packages"
out=$BUILD/packages/$release
work=$BUILD/packages/.work-$release
root_mb=2500 work_mb=1200

# The files that go into the source package; debian/ is not part of the original source.
# Files that were not added to git yet belong to it, as everywhere in the lab.
package_files() {
	(cd "$TOP" && if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -type f ! -path './build/*' -printf '%P\n'
	fi) |
		sort -u | while read -r f; do [ ! -e "$TOP/$f" ] || echo "$f"; done
}

"$LAB_DIR/setup.sh" vm
mkdir -p "$BUILD/packages"
exec 7>"$BUILD/packages/.lock-$release"
flock 7

# The source of the release's rdma-core becomes a part of the source package: a provider
# can only be built within it. apt fetches it here, so that building needs no network.
# Archives are not always complete; then it is that of Debian 13, as for "make" on Debian
# 12. debian/rules sees to it that both have the same private interface. The next build
# tries again.
make_root "build-$release" "$release" "$root_mb" "" "build-essential,lintian,$(build_depends)"
tree=$(package_root "build-$release")
mkdir -p "$tree/usr/src/rdma-core-source"
rdma_source() {
	find "$tree/usr/src/rdma-core-source" -name 'rdma-core_*.orig.tar.*' ! -name '*.asc'
}
rdma_tar=$(rdma_source)
if [ ! -f "$rdma_tar" ]; then
	in_tree "$tree" -- sh -c 'apt-get -qq update && cd /usr/src/rdma-core-source &&
		apt-get -qq source --download-only --tar-only rdma-core' \
		>"$LOGS/rdma-core-source-$release.log" 2>&1 || true
	rdma_tar=$(rdma_source)
fi
if [ ! -f "$rdma_tar" ]; then
	lab_note "the source of rdma-core of $release cannot be fetched; Debian 13's is used"
	"$LAB_DIR/fetch.sh" rdma-core
	rdma_tar=$(find "$LAB/rdma-core/dl" -name 'rdma-core_*.orig.tar.*' ! -name '*.asc')
fi
rdma=$(basename "$rdma_tar" | sed 's/^rdma-core_\(.*\)\.orig\.tar\..*/\1/')

# --- is there anything to do? ---------------------------------------------------
files=$(package_files)
stamp=$({
	cat "$tree/.lab-stamp"
	echo "$rdma ${PACKAGES_PROFILES:-}"
	cd "$TOP"
	xargs -d '\n' sha256sum <<<"$files"
} | sha256sum | cut -c1-16)
if [ "$(cat "$out/.stamp" 2>/dev/null)" = "$stamp" ]; then
	exit 0
fi
need_space "$work_mb" "$BUILD" "building packages"

# --- the source package -----------------------------------------------------------
# Each release has a version of its own, the newer release the higher one.
changelog=$TOP/debian/changelog
own=$(sed -n '1s/^mrc (\(.*\)) .*/\1/p' "$changelog")
[[ $own == *-* ]] || lab_die "debian/changelog does not begin with a version"
upstream=${own%-*}+rdma$rdma
version=$upstream-${own##*-}~$(release_suffix "$release")
who_when=$(sed -n 's/^ -- //p' "$changelog" | head -n 1)
rm -rf --one-file-system "$work"
mkdir -p "$work" "$LOGS"
source=$work/mrc-$upstream
lab_note "packages for $release: mrc $version"
grep -v '^debian/' <<<"$files" |
	tar -C "$TOP" -c --no-recursion -T - --sort=name --owner=0 --group=0 --numeric-owner \
		--mode=u+rwX,go+rX,go-w --mtime="${who_when#*>  }" \
		--transform="s,^,mrc-$upstream/,S" |
	low xz -T1 -2 >"$work/mrc_$upstream.orig.tar.xz"
cp "$rdma_tar" "$work/mrc_$upstream.orig-rdma-core.tar.${rdma_tar##*.}"
tar -x -C "$work" -f "$work/mrc_$upstream.orig.tar.xz"
mkdir "$source/rdma-core"
tar -x -C "$source/rdma-core" --strip-components=1 -f "$rdma_tar"
grep '^debian/' <<<"$files" | tar -C "$TOP" -c -T - | tar -x -C "$source"
{
	printf 'mrc (%s) %s; urgency=medium\n\n' "$version" "$release"
	printf '  * Build for %s, with the source of rdma-core %s.\n\n' "$release" "$rdma"
	# Later than the entry before, and the same in each build.
	printf ' -- %s  %s\n\n' "${who_when%%  *}" \
		"$(LC_ALL=C date -u -R -d "${who_when#*>  } + 1 minute")"
	cat "$changelog"
} >"$source/debian/changelog"
chown -R 0:0 "$work"

# --- build --------------------------------------------------------------------------
log=$LOGS/packages-$release.log
in_root() { # COMMAND... without network, in the folder of the sources
	# shellcheck disable=SC2016 # expanded by the inner shell
	in_tree "$tree" "$work:/build" -- unshare --net sh -c 'cd "/build/$1" && shift && exec "$@"' \
		sh "mrc-$upstream" "$@"
}
lab_note "building; log: ${log#"$TOP"/}"
rm -rf "$out"
if ! in_root env "DEB_BUILD_OPTIONS=parallel=${PACKAGES_JOBS:-2} nocheck" \
	"DEB_BUILD_PROFILES=${PACKAGES_PROFILES:-}" dpkg-buildpackage --no-sign >"$log" 2>&1; then
	grep -E -A6 'error|FAILED|\*\*\*|cannot' "$log" | head -n 60 >&2 || true
	tail -n 20 "$log" >&2
	was_full "$work_mb" "$BUILD" "building packages" "$log" || true
	lab_die "the packages of $release cannot be built; log: ${log#"$TOP"/}"
fi

# --- judge --------------------------------------------------------------------------
# Overrides are in debian/ and say why.
lab_note "lintian"
if ! in_root sh -c 'exec lintian --info --display-info --fail-on error \
	--allow-root ../mrc_*.changes' >"$work/lintian.log" 2>&1; then
	grep -E '^[EW]:' "$work/lintian.log" >&2 || tail -n 20 "$work/lintian.log" >&2
	lab_die "lintian finds errors; log: ${work#"$TOP"/}/lintian.log"
fi

rm -rf --one-file-system "$out.new"
mkdir -p "$out.new"
find "$work" -maxdepth 1 -type f -exec mv {} "$out.new/" \;
rm -rf --one-file-system "$work"
mkdir "$out.new/install"
find "$out.new" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec ln {} "$out.new/install/" \;
echo "$stamp" >"$out.new/.stamp"
mv "$out.new" "$out"
lab_note "packages for $release, lintian has $(grep -c '^W:' "$out/lintian.log" || true) warnings:"
for f in "$out"/*.deb; do
	lab_note "  ${f#"$TOP"/}"
done
lab_note "to install all: cd ${out#"$TOP"/}/install && apt install ./*.deb"
