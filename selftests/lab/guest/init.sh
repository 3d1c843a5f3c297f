#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Process 1 of a guest. Sets the machine up as a small Debian host with the
# files of this build installed, runs the job and powers off. The job's output
# goes to the second serial line, the kernel's to the first (under User Mode
# Linux: to its second and first console).
# No `set -e`: in any case this script must reach the power-off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C TERM=dumb LAB_GUEST=1

mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /dev/pts /dev/shm /run/netns
# As udev does, for process substitution in the shell.
ln -sfn /proc/self/fd /dev/fd
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
hostname mrc-guest
ip link set lo up
ulimit -l unlimited
ulimit -c 0

# Provider and tools of this build replace the distribution's files.
if [ -d /mrc/guest/libibverbs ]; then
	# A link to the library in lib/: programs that link the library must find the
	# provider in the same file.
	cp -P /mrc/guest/libibverbs/*.so /usr/lib/x86_64-linux-gnu/libibverbs/
fi
if [ -d /mrc/guest/lib ]; then
	cp -P /mrc/guest/lib/* /usr/lib/x86_64-linux-gnu/
	ldconfig
fi
if [ -d /mrc/guest/libibverbs.d ]; then
	cp /mrc/guest/libibverbs.d/*.driver /etc/libibverbs.d/
fi
if [ -d /mrc/guest/bin ]; then
	cp /mrc/guest/bin/* /usr/local/bin/
fi

# perftest reads the clock frequency of the processor, which User Mode Linux does not
# report.
if [ -f /mrc/cpu-mhz ] && ! grep -q '^cpu MHz' /proc/cpuinfo; then
	cat /proc/cpuinfo /mrc/cpu-mhz >/run/cpuinfo
	mount --bind /run/cpuinfo /proc/cpuinfo
fi

tty=${lab_tty:-/dev/ttyS1}
stty -F "$tty" raw -echo 2>/dev/null
cd /mrc || cd /
echo LAB-READY >"$tty"
if [ -e /mrc/interactive ]; then
	stty -F "$tty" sane
	[ ! -e /mrc/job.sh ] || bash /mrc/job.sh <"$tty" >"$tty" 2>&1
	setsid -c bash -i <"$tty" >"$tty" 2>&1
	rc=$?
else
	setsid bash /mrc/job.sh </dev/null >"$tty" 2>&1
	rc=$?
fi
echo "$rc" >/out/rc
dmesg >/out/dmesg
sync
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
