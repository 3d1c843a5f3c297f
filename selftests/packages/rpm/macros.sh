# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034
#
# Fedora's packages of macros, which Debian's rpm does not have, as options of rpm's programs.
# To be sourced.
RPM_MACROS=(-D '_unitdir /usr/lib/systemd/system'
	-D '_systemdgeneratordir /usr/lib/systemd/system-generators'
	-D 'systemd_post() true %{*}' -D 'systemd_preun() true %{*}'
	-D 'systemd_postun_with_restart() true %{*}' -D 'pycached %{nil}'
	-D '_libdir /usr/lib64' -D '_lib lib64' -D 'python3_sitelib /usr/lib/python3/dist-packages')
