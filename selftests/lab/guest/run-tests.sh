#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs TAP scripts in the guest, one after the other, and adds checks to each: that the
# kernel log stayed clean, that the script left nothing behind, and the reports of debugging
# kernels. Marker lines tell the host which script is running.
#
# A script may have these comment lines near its top:
#   # timeout: SECONDS        time limit (default 300)
#   # kmsg-ok: REGEX          kernel messages that it provokes on purpose
#   # kmemleak-ok: REGEX      leaks of other code: tolerates objects whose report has a
#                             matching line. The script states the reason beside it.
#                             Such leaks may be reported only after later scripts
#
# LAB_TIME in the environment: the factor by which time limits are longer.
#
# usage: run-tests.sh SCRIPT...   (paths under /mrc)
set -uo pipefail
here=/mrc/selftests/lab/guest

header() { # KEY SCRIPT
	sed -n -e '/^#/!q' -e "s/^# $1: *//p" "$2"
}

# Tunnel modules make these netdevs in every namespace; no test does.
fallback_netdevs='^(lo|sit0|tunl0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|ip6tnl0|ip6gre0)$'

# Every script runs in its own session. So processes that are neither in an older
# session nor in that of this program belong to the script. Kernel threads are
# children of process 2.
processes() {
	ps -e -o pid=,ppid=,sid=,comm= >/run/lab-ps
	awk -v me="$(ps -o sid= -p $$ | xargs)" '
		$1 != 2 && $2 != 2 && $3 != me { print $1, $4 }' /run/lab-ps
}

new_processes() {
	processes | awk 'NR == FNR { old[$1]; next } !($1 in old)' /run/lab-processes -
}

netdevs() {
	local d
	for d in /sys/class/net/*; do
		d=${d##*/}
		[[ $d =~ $fallback_netdevs ]] || [ "$d" = bonding_masters ] || echo "$d"
	done
}

# Fabrics of mrclab; it does not build one again that it has a record of.
fabrics=/run/mrclab

leftovers() {
	local found d
	found=$(ip netns list)
	[ -z "$found" ] || echo "namespaces: $found"
	for d in "$fabrics"/*/; do
		[ ! -e "$d" ] || echo "fabric: $(basename "$d")"
	done
	for d in /sys/class/infiniband/*; do
		[ ! -e "$d" ] || echo "rdma device: ${d##*/}"
	done
	found=$(netdevs)
	[ -z "$found" ] || echo "network devices: $found"
	found=$(new_processes)
	[ -z "$found" ] || echo "processes: $found"
}

nothing_left() { [ -z "$(leftovers)" ]; }

# Whether all network namespaces without a name or process have ended. RDMA devices
# can be hidden from namespaces only while there is no other namespace. A closed
# connection may keep its namespace for a moment. A namespace that stays is attributed
# to the first script that finds it.
namespaces_gone() {
	rdma system set netns exclusive 2>/run/lab-netns && rdma system set netns shared
}

namespaces_stay() {
	namespaces_gone || {
		cat /run/lab-netns
		rdma resource show
		grep -E '^(net_namespace|sock_inode_cache|TCP|UDP|RAW|PING)' /proc/slabinfo
	}
}

unloaded() {
	[ ! -d /sys/module/mrc ] || modprobe -r mrc 2>/run/lab-unload
}

# Removes everything that a script left, so that the next one is judged alone.
clean_up() {
	local x
	new_processes | while read -r x _; do
		kill -9 "$x" 2>/dev/null
	done
	for x in /sys/class/infiniband/*; do
		[ ! -e "$x" ] || rdma link del "${x##*/}" 2>/dev/null
	done
	ip netns list | awk '{ print $1 }' | while read -r x; do
		ip netns del "$x"
	done
	# The netdevs of NICs disappear with their drivers.
	for x in /sys/class/net/*/device/driver/module; do
		[ ! -e "$x" ] || modprobe -r "$(basename "$(readlink -f "$x")")"
	done
	netdevs | while read -r x; do
		[ ! -e "/sys/class/net/$x" ] || ip link del "$x" 2>/dev/null
	done
	rm -rf "${fabrics:?}"/*/
}

poll() { # SECONDS COMMAND...
	local end=$((SECONDS + $1 * ${LAB_TIME:-1}))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

report() { # DESCRIPTION TROUBLE
	if [ -z "$2" ]; then
		echo "LAB-RESULT ok $1"
	else
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "LAB-RESULT not ok $1"
	fi
}

# On a kernel with kmemleak: objects that were allocated meanwhile and that nothing
# points to. kmemleak does not report objects younger than 5 s or written to since the
# last scan; newer kernels report an object only after several scans in a row. A stale
# pointer on some stack can hide an object until much later.
kmemleak=/sys/kernel/debug/kmemleak
leaks() { # SCRIPT
	local n
	n=$(cat /sys/module/kmemleak/parameters/min_unref_scans 2>/dev/null) || n=1
	echo scan >$kmemleak
	sleep 6
	while [ "$n" -gt 0 ]; do
		echo scan >$kmemleak
		n=$((n - 1))
	done
	header kmemleak-ok "$1" >>/run/lab-leaks-ok
	awk -f "$here/leaks.awk" /run/lab-leaks-ok $kmemleak | head -n 60
}

# On a kernel with KCSAN: reports that involve this project. Reports of other parts of
# the kernel are ignored.
races() { dmesg --notime | awk -v ours=1 -f "$here/races.awk" | head -n 120; }
kcsan=/sys/kernel/debug/kcsan

# Leaks of the kernel during boot, before its first program.
echo 'comm "swapper/0", pid 1,' >/run/lab-leaks-ok
held=''
for script in "$@"; do
	name=$(basename "$script" .sh)
	limit=$(header timeout "/mrc/$script" | head -n1)
	limit=$((${limit:-300} * ${LAB_TIME:-1}))
	processes >/run/lab-processes
	dmesg -C
	[ ! -w $kmemleak ] || echo clear >$kmemleak
	echo "<6>lab: begin $name" >/dev/kmsg
	started=$SECONDS
	echo "LAB-BEGIN $name"
	(cd /mrc && exec timeout --kill-after=10 "$limit" setsid --wait bash "/mrc/$script") \
		</dev/null 2>&1
	rc=$?
	echo
	[ "$rc" != 124 ] && [ "$rc" != 137 ] || echo "# the script was stopped after $limit s"

	poll 30 nothing_left
	left=$(leftovers)
	report "nothing left behind" "$left"
	[ -z "$left" ] || clean_up
	poll 30 unloaded
	left=$(unloaded || echo "rmmod: $(cat /run/lab-unload)")
	[ -z "$left" ] || report "the module can be unloaded" "$left"

	if [ -w $kmemleak ] && [ -d /sys/module/ib_core ] && [ -z "$held" ]; then
		poll 30 namespaces_gone
		held=$(namespaces_stay)
		report "network namespaces are gone" "$held"
	fi
	[ ! -w $kmemleak ] || report "kmemleak found nothing" "$(leaks "/mrc/$script")"
	[ ! -w $kcsan ] || report "KCSAN found nothing" "$(races)"
	dmesg >"/out/$name.dmesg"
	header kmsg-ok "/mrc/$script" >/run/lab-provoked
	cat /run/lab-provoked >>/out/kmsg-ok
	cat /run/lab-provoked "$here/kmsg-tolerated" >/run/lab-tolerated
	bad=$(
		{
			dmesg --notime --level=emerg,alert,crit,err,warn |
				awk -f "$here/races.awk"
			dmesg --notime | awk -f "$here/races.awk" |
				grep -E -f "$here/kernel-trouble"
		} | sort -u | grep -v -E -f /run/lab-tolerated | head -n 40
	)
	report "kernel log clean" "$bad"
	echo "LAB-END $name $rc $((SECONDS - started))"
done
