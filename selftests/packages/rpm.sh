#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds the RPM packages with Debian's rpmbuild, as far as that goes: rpmbuild -ba of both
# spec files in the root in which the Debian packages are built. Build dependencies have other
# names there and are not looked at, Fedora's macros are those of rpm/macros.sh, and kmodtool
# is rpm/kmodtool. Nothing is installed. spec.sh looks at what needs no build.
#
# usage: rpm.sh [bookworm|trixie|forky]   (default: trixie)
# Needs root and Debian's archive.
set -euo pipefail
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd)
. "$lab/common.sh"
# shellcheck source=../lab/lib_checks.sh
. "$LAB_DIR/lib_checks.sh"
. "$TOP/selftests/packages/lib_root.sh"
. "$TOP/selftests/packages/rpm/macros.sh"

work_mb=2500

sources() { # RDMA_CORE_TARBALL
	local version
	version=$(sed -n 's/^Version: *//p' "$TOP/packaging/rpm/mrc.spec")
	mkdir -p "$root/build/SOURCES" "$root/build/SPECS"
	(cd "$TOP" && git ls-files -co --exclude-standard | while read -r f; do
		[ ! -e "$f" ] || printf '%s\n' "$f"
	done) | tar -C "$TOP" -c --no-recursion -T - --owner=0 --group=0 \
		--transform="s,^,mrc-$version/,S" | low xz -T1 -0 >"$root/build/SOURCES/mrc-$version.tar.xz"
	cp "$1" "$root/build/SOURCES/rdma-core-$rdma.tar.gz"
	cp "$TOP"/packaging/rpm/*.spec "$root/build/SPECS/"
	cp "$TOP/selftests/packages/rpm/kmodtool" "$root/usr/local/bin/"
}

# The archive of the release has another compression than the upstream's release.
rdma_core() {
	local tar unpacked=$work/rdma-core-src
	tar=$(find "$root/usr/src/rdma-core-source" "$LAB/rdma-core/dl" \
		-name 'rdma-core_*.orig.tar.*' ! -name '*.asc' 2>/dev/null | head -n 1)
	[ -n "$tar" ] || return
	rdma=$(basename "$tar" | sed 's/^rdma-core_\(.*\)\.orig\.tar\..*/\1/')
	mkdir -p "$unpacked/rdma-core-$rdma"
	tar -x -C "$unpacked/rdma-core-$rdma" --strip-components=1 -f "$tar"
	tar -C "$unpacked" -c "rdma-core-$rdma" | gzip -1 >"$work/rdma-core.tar.gz"
}

rpmbuild_in() { # LOG SPEC OPTIONS...
	local log=$1 spec=$2
	shift 2
	inside rpmbuild -ba --nodeps -D '_topdir /build' -D "rdma_core $rdma" \
		-D '_smp_build_ncpus 2' "${RPM_MACROS[@]}" "$@" "/build/SPECS/$spec" >"$log" 2>&1
}
builds() { # NAME SPEC OPTIONS...
	local name=$1 log=$LOGS/rpm-$2${3:+-kernels}-$release.log
	shift
	if rpmbuild_in "$log" "$@"; then
		good "$name"
	else
		grep -i -A8 -E 'error|not found|unpackaged' "$log" >"$work/log" || tail -n 20 "$log" >"$work/log"
		bad "$name" "$work/log"
	fi
}
rpm_of() { # PACKAGE
	find "$root/build/RPMS" -name "$1-[0-9]*.rpm" -printf '/build/RPMS/%P\n' 2>/dev/null | head -n 1
}
has() { # NAME PACKAGE QUERY PATTERN
	prints "$1" "$4" rpm -qp "--$3" "$(rpm_of "$2")"
}

one_release() {
	local kernel m
	packages=$BUILD/packages
	work=$BUILD/packages/.rpm-$release
	root=$work/root
	rm -rf --one-file-system "$work"
	mkdir -p "$work/upper" "$work/overlay" "$root"
	mount -t overlay overlay \
		-o "lowerdir=$(package_root "build-$release"),upperdir=$work/upper,workdir=$work/overlay" "$root"
	rdma_core || {
		bad "there is a source of rdma-core"
		return
	}
	sources "$work/rdma-core.tar.gz"
	succeeds "the package lists are fetched" apt-get -qq update
	succeeds "rpm and headers of a kernel install" apt-get -y --no-install-recommends install \
		rpm linux-headers-amd64
	kernel=$(find "$root/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)

	builds "rpmbuild -ba mrc-kmod.spec" mrc-kmod.spec
	has "akmod-mrc has the source" akmod-mrc list '/usr/src/akmods/mrc-kmod-.*\.src\.rpm$'
	has "akmod-mrc needs what the modules have in common" akmod-mrc requires '^mrc-kmod-common >= '
	builds "rpmbuild -ba mrc-kmod.spec for $kernel" mrc-kmod.spec -D "kernels $kernel"
	for m in mrc sch_mrcsw; do
		has "kmod-mrc has $m" "kmod-mrc-$kernel" list "/extra/mrc/$m\.ko"
		prints "$m is for $kernel" "^${kernel//[.+]/\\&} " sh -c '
			cd /tmp && rpm2archive "$1" && tar -xzf "$1.tgz" &&
				modinfo -F vermagic "./usr/lib/modules/$2/extra/mrc/$3.ko"' \
			sh "$(rpm_of "kmod-mrc-$kernel")" "$kernel" "$m"
	done

	builds "rpmbuild -ba mrc.spec" mrc.spec
	for m in mrc libmrc libmrc-devel libmrc-ibverbs mrc-dkms mrc-kmod-common mrc-doc; do
		if [ -n "$(rpm_of "$m")" ]; then good "there is $m"; else bad "there is $m"; fi
	done
	has "the provider needs the private interface" libmrc requires 'IBVERBS_PRIVATE_[0-9]+'
	has "libmrc provides the library" libmrc provides '^libmrc\.so\.1'
	has "mrc-kmod-common needs modules" mrc-kmod-common requires '^mrc-kmod >= '
	if [ -n "$(find "$root/build/SRPMS" -name 'mrc-1*.src.rpm')" ]; then
		good "there is a source package"
	else
		bad "there is a source package"
	fi
}

if [ "${1:-}" = --inside ]; then
	release=$2 about="[$2] "
	one_release
	umount "$root" 2>/dev/null || umount --lazy "$root"
	echo "$passed $failed" >"$work.counts"
	[ -n "${RPM_KEEP:-}" ] || rm -rf --one-file-system "$work"
	exit 0
fi
need_root "building RPM packages"
release=${1:-trixie}
known_release "$release"
# The root, and the source of rdma-core in it.
"$LAB_DIR/packages.sh" "$release"
need_space "$work_mb" "$BUILD" "building RPM packages"
run_release "$0" "$BUILD/packages/.rpm-$release.counts" "$release"
end_checks
