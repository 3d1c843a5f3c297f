#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Installs, by package name, the packages that the lab needs on a Debian 12 or 13
# machine. If all are present, it does nothing and uses no network. It uses its own
# package list with Debian's suites only: the machine's apt configuration is not
# changed, and broken sources in it do not matter.
#
# usage: setup.sh [vm|native|mpi|lint|wireshark|web|rpm|all]...   (default: all)
set -euo pipefail
. "$(dirname "$0")/common.sh"

# Packages for guests and their images. QEMU is separate, see below.
vm_packages=(mmdebstrap debian-archive-keyring busybox-static cpio kmod
	util-linux mount make xz-utils e2fsprogs)
# Packages for the tests of the engine and of the tools.
native_packages=(g++ clang llvm cmake ninja-build libgtest-dev
	libbenchmark-dev make python3 python3-jsonschema libcli11-dev nlohmann-json3-dev
	libfmt-dev libyaml-cpp-dev libcpp-httplib-dev pkg-config gnuplot-nox graphviz)
# Packages for simulations by several processes.
mpi_packages=(libopenmpi-dev openmpi-bin)
# Packages for the style checks.
lint_packages=(clang-tidy clang-format shellcheck mandoc python3-docutils unifdef jq iproute2
	python3-yaml)

# Packages for the tests of the dissector.
wireshark_packages=(tshark python3-scapy)

# Packages for the test of the web page, which needs those of native too.
web_packages=(chromium fonts-dejavu-core)

# Packages for reading the spec files.
rpm_packages=(rpm)

# QEMU before 8 crashes now and then while a 6.12 guest patches its kernel
# text under multi-threaded emulation.
qemu_package=qemu-system-x86
qemu_minimum=8.0

usage() { lab_die "usage: setup.sh [vm|native|mpi|lint|wireshark|web|rpm|all]..."; }

installed_version() {
	dpkg-query -W -f '${db:Status-Abbrev} ${Version}\n' "$1" 2>/dev/null |
		awk '$1 ~ /^.i/ { print $2; exit }'
}

qemu_is_fine() {
	local have
	have=$(installed_version "$qemu_package")
	[ -n "$have" ] && dpkg --compare-versions "${have#*:}" ge "$qemu_minimum"
}

# clang's sanitizer and fuzzer runtimes are a separate package named after the
# compiler's version, and clang only recommends it.
clang_runtime_package() {
	local major
	major=$(dpkg-query -W -f '${Depends}' clang 2>/dev/null |
		grep -o 'clang-[0-9]*' | head -n1 | tr -dc 0-9) || true
	if [ -z "$major" ]; then
		case $(host_codename) in
		bookworm) major=14 ;;
		*) major=19 ;;
		esac
	fi
	echo "libclang-rt-$major-dev"
}

[ $# -gt 0 ] || set -- all
wanted=()
with_qemu=
for part in "$@"; do
	case $part in
	vm) wanted+=("${vm_packages[@]}") with_qemu=1 ;;
	native) wanted+=("${native_packages[@]}" "$(clang_runtime_package)") ;;
	mpi) wanted+=("${mpi_packages[@]}") ;;
	lint) wanted+=("${lint_packages[@]}") ;;
	wireshark) wanted+=("${wireshark_packages[@]}") ;;
	web) wanted+=("${web_packages[@]}") ;;
	rpm) wanted+=("${rpm_packages[@]}") ;;
	all)
		wanted+=("${vm_packages[@]}" "${native_packages[@]}"
			"$(clang_runtime_package)" "${mpi_packages[@]}" "${lint_packages[@]}"
			"${wireshark_packages[@]}" "${web_packages[@]}" "${rpm_packages[@]}")
		with_qemu=1
		;;
	*) usage ;;
	esac
done

missing=()
for p in "${wanted[@]}"; do
	[ -n "$(installed_version "$p")" ] || missing+=("$p")
done
qemu_missing=
if [ -n "$with_qemu" ] && ! qemu_is_fine; then
	qemu_missing=$qemu_package
fi
[ "${#missing[@]}" -gt 0 ] || [ -n "$qemu_missing" ] || exit 0

all_missing="${missing[*]}${qemu_missing:+ $qemu_missing (>= $qemu_minimum)}"
if [ "$(id -u)" != 0 ]; then
	lab_die "these packages are missing and only root can install them: $all_missing"
fi
codename=$(host_codename) ||
	lab_die "this machine is not Debian; install these yourself: $all_missing"
[ "$(dpkg --print-architecture)" = amd64 ] ||
	lab_die "the lab is for amd64 machines"
case $codename in
bookworm | trixie) ;;
*) lab_die "Debian 12 or 13 is needed (this is '$codename'); missing: $all_missing" ;;
esac

lab_note "installing with apt: $all_missing"
mkdir -p "$LAB"
exec 9>"$LAB/setup.lock"
flock 9

mirror=$(debian_mirror)
security=$(debian_security_mirror)
apt_dir=$LAB/apt-host
mkdir -p "$apt_dir/lists/partial"
{
	opt='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
	echo "deb $opt $mirror $codename main"
	echo "deb $opt $mirror $codename-updates main"
	[ -z "$security" ] || echo "deb $opt $security $codename-security main"
	echo "deb $opt $mirror $codename-backports main"
} >"$apt_dir/sources.list"

apt_opts=(-o "Dir::Etc::SourceList=$apt_dir/sources.list"
	-o Dir::Etc::SourceParts=/dev/null
	-o "Dir::State::Lists=$apt_dir/lists"
	-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
	-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3
	-o APT::Sandbox::User=root -o Acquire::Languages=none)
export DEBIAN_FRONTEND=noninteractive

apt-get "${apt_opts[@]}" -qq update
if [ "${#missing[@]}" -gt 0 ]; then
	apt-get "${apt_opts[@]}" -y -qq --no-install-recommends install \
		"${missing[@]}" >"$LAB/setup.log" 2>&1 ||
		{
			tail -n 20 "$LAB/setup.log" >&2
			lab_die "apt-get could not install: ${missing[*]}"
		}
fi
if [ -n "$qemu_missing" ]; then
	target=$codename
	[ "$codename" != bookworm ] || target=bookworm-backports
	apt-get "${apt_opts[@]}" -y -qq --no-install-recommends \
		-t "$target" install "$qemu_package" >>"$LAB/setup.log" 2>&1 ||
		{
			tail -n 20 "$LAB/setup.log" >&2
			lab_die "apt-get could not install: $qemu_package"
		}
	qemu_is_fine || lab_die "$qemu_package is still older than $qemu_minimum"
fi
lab_note "host packages are complete"
