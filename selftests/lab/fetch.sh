#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Fetches sources from Debian's archive into build/lab, once:
#
#   rdma-core      build/lab/rdma-core/src    unpacked, without patches of this project
#   rdma-core RELEASE  build/lab/rdma-core-RELEASE/src  that of another Debian release
#   prometheus     build/lab/prometheus/      the programs of that package, unpacked: installed,
#                                             they would be a service
#   checkpatch     build/lab/checkpatch/      scripts/checkpatch.pl and its lists
#   linux KERNEL   build/lab/linux/KERNEL/src the kernel with Debian's patches
#   linux-rest KERNEL  build/lab/linux-rest/KERNEL  files that the former leaves out and
#                  that a series of patches changes
#
# usage: fetch.sh rdma-core [RELEASE]|prometheus|checkpatch|linux KERNEL|linux-rest KERNEL
set -euo pipefail
. "$(dirname "$0")/common.sh"

# Debian 13, except for the oldest kernel.
suite=trixie
[ "${1:-} ${2:-}" != 'linux 6.1' ] || suite=bookworm
[ "${1:-}" != rdma-core ] || suite=${2:-$suite}
# Its programs run on this machine.
[ "${1:-}" != prometheus ] || suite=$(host_codename) || suite=trixie
apt_dir=$LAB/apt-$suite
apt_opts=(-o "Dir::Etc::SourceList=$apt_dir/sources.list"
	-o Dir::Etc::SourceParts=/dev/null
	-o "Dir::State::Lists=$apt_dir/lists"
	-o Dir::State::status=/dev/null
	-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
	-o "Dir::Cache::archives=$apt_dir/archives"
	-o Acquire::Retries=3 -o APT::Sandbox::User=root
	-o Acquire::Languages=none -o Debug::NoLocking=1)

update_lists() {
	local mirror security opt='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
	mirror=$(debian_mirror)
	security=$(debian_security_mirror)
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial"
	{
		echo "deb $opt $mirror $suite main"
		echo "deb-src $opt $mirror $suite main"
		[ "${1:-}" != linux ] || {
			echo "deb $opt $mirror $suite-updates main"
			[ -z "$security" ] || echo "deb $opt $security $suite-security main"
			[ "$suite" != trixie ] || echo "deb $opt $mirror trixie-backports main"
		}
	} >"$apt_dir/sources.list"
	apt-get "${apt_opts[@]}" -qq update ||
		lab_die "the package lists of Debian ($suite) cannot be fetched"
}

mkdir -p "$LAB"
exec 6>"$LAB/.fetch-lock"
flock 6

# Fetches the package with the source of kernel $k, $package, into $dest/dl. The name
# of the newest kernel's package is found as a dependency of the package without a
# version.
linux_package() {
	local opts=()
	package=linux-source-$k
	if [ "$k" = 7.2 ]; then
		opts=(-t trixie-backports)
		package=$(apt-cache "${apt_opts[@]}" "${opts[@]}" depends linux-source |
			awk '$1 == "Depends:" && $2 ~ /^linux-source-/ { print $2; exit }')
	fi
	(cd "$dest/dl" && apt-get "${apt_opts[@]}" ${opts[@]+"${opts[@]}"} -qq download "$package") ||
		lab_die "the source of Linux $k cannot be fetched"
}

case ${1:-} in
rdma-core)
	dest=$LAB/rdma-core${2:+-$2}
	[ ! -f "$dest/.fetched" ] || exit 0
	need_space 100 "$LAB" "the source of rdma-core"
	update_lists
	rm -rf "$dest"
	mkdir -p "$dest/dl" "$dest/src"
	# The upstream tarball is sufficient: Debian's patches do not touch files that
	# a provider is built from.
	(cd "$dest/dl" && apt-get "${apt_opts[@]}" -qq source --download-only \
		--tar-only rdma-core) || lab_die "rdma-core's source cannot be fetched"
	tar -x -f "$dest"/dl/rdma-core_*.orig.tar.* -C "$dest/src" --strip-components=1
	touch "$dest/.fetched"
	lab_note "rdma-core source: $(basename "$dest"/dl/*.orig.tar.*)"
	;;
prometheus)
	dest=$LAB/prometheus
	[ ! -f "$dest/.fetched" ] || exit 0
	need_space 200 "$LAB" "Prometheus"
	update_lists
	rm -rf "$dest"
	mkdir -p "$dest/dl"
	(cd "$dest/dl" && apt-get "${apt_opts[@]}" -qq download prometheus) ||
		lab_die "Prometheus cannot be fetched"
	dpkg-deb --fsys-tarfile "$dest"/dl/prometheus_*.deb |
		tar -x -C "$dest" ./usr/bin/prometheus ./usr/bin/promtool
	rm -rf "$dest/dl"
	touch "$dest/.fetched"
	lab_note "Prometheus: $("$dest/usr/bin/promtool" --version 2>&1 | sed -n '1s/ (.*//p')"
	;;
checkpatch)
	dest=$LAB/checkpatch
	[ ! -f "$dest/.fetched" ] || exit 0
	need_space 300 "$LAB" "fetching checkpatch"
	update_lists
	rm -rf "$dest"
	mkdir -p "$dest/dl"
	(cd "$dest/dl" && apt-get "${apt_opts[@]}" -qq download linux-source-6.12)
	# Three small files of a large archive. tar stops after them, and the commands
	# before it complain about the closed pipe.
	dpkg-deb --fsys-tarfile "$dest"/dl/linux-source-6.12_*.deb 2>/dev/null |
		tar -xO --wildcards './usr/src/linux-source-6.12.tar.xz' |
		xz -dc | tar -x -C "$dest" --strip-components=1 \
		--occurrence=1 linux-source-6.12/scripts/checkpatch.pl \
		linux-source-6.12/scripts/const_structs.checkpatch \
		linux-source-6.12/scripts/spelling.txt 2>/dev/null || true
	[ -s "$dest/scripts/checkpatch.pl" ] || lab_die "no checkpatch.pl in linux-source-6.12"
	rm -rf "$dest/dl"
	touch "$dest/.fetched"
	;;
linux)
	k=${2:-}
	known_kernel "$k"
	dest=$LAB/linux/$k
	[ ! -f "$dest/.fetched" ] || exit 0
	need_space 1300 "$LAB" "the source of Linux $k"
	update_lists linux
	rm -rf "$dest"
	mkdir -p "$dest/dl" "$dest/src"
	linux_package
	# Without drivers for hardware that no guest has: two thirds of the source.
	dpkg-deb --fsys-tarfile "$dest/dl/$package"_*.deb |
		tar -xO --wildcards "./usr/src/$package.tar.xz" | xz -dc -T0 |
		low tar -x -C "$dest/src" --strip-components=1 --wildcards \
			--exclude='*/drivers/gpu/drm/amd/*/*.[ch]' \
			--exclude='*/drivers/net/ethernet/*/*.[ch]' \
			--exclude='*/drivers/net/wireless/*/*.[ch]' \
			--exclude='*/drivers/media/*.[ch]' --exclude='*/sound/*.[ch]' \
			--exclude='*/Documentation/*.rst' --exclude='*/tools/testing/*' \
			--exclude='*.dts' --exclude='*.dtsi' ||
		lab_die "the source of Linux $k cannot be unpacked"
	rm -rf "$dest/dl"
	touch "$dest/.fetched"
	lab_note "Linux source: $package ($(make -s -C "$dest/src" kernelversion))"
	;;
linux-rest)
	k=${2:-}
	known_kernel "$k"
	dest=$LAB/linux-rest/$k
	[ ! -f "$dest/.fetched" ] || exit 0
	need_space 300 "$LAB" "the documentation of Linux $k"
	update_lists linux
	rm -rf "$dest"
	mkdir -p "$dest/dl"
	linux_package
	dpkg-deb --fsys-tarfile "$dest/dl/$package"_*.deb |
		tar -xO --wildcards "./usr/src/$package.tar.xz" | xz -dc -T0 |
		low tar -x -C "$dest" --strip-components=1 --wildcards \
			'*/Documentation/infiniband/*.rst' \
			'*/tools/testing/selftests/Makefile' \
			'*/tools/testing/selftests/rdma/*' ||
		lab_die "the source of Linux $k cannot be unpacked"
	rm -rf "$dest/dl"
	touch "$dest/.fetched"
	lab_note "documentation of Linux $k: $package"
	;;
*) lab_die "usage: fetch.sh rdma-core [RELEASE]|prometheus|checkpatch|linux KERNEL|linux-rest KERNEL" ;;
esac
