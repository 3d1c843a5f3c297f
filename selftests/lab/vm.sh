#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Boots a guest, runs one job in it as root and powers it off.
#
# usage: vm.sh [-k KERNEL] [-u TREE] [-t SECONDS] [-m MEGABYTES] [-o DIR] [-e NAME=VALUE]... [-p PARAMETER]... [-q] [-n] [-N] [-C] [-I PLUGIN] [-w DIR] JOB [ARG...]
#        vm.sh [-k KERNEL] [-N] -i [JOB [ARG...]]       a shell in the guest, after JOB
#   JOB  a script of this machine; its output is printed here as it comes.
#        /mrc in the guest holds selftests/, the guides and the results of the build,
#        /out is a directory that is copied back to the host (-o)
#   -u   user land: a tree of image.sh (default 6.12)
#   -e   in the environment of the job
#   -p   a parameter of the kernel
#   -w   the guest has a copy of this directory as /mrc/work, which it cannot change
#   -q   prints nothing but errors; the output is in DIR/output
#   -n   without this project's modules and provider; they need not exist (for the lab's
#        own tests)
#   -N   eight emulated NICs, two of each model, which are connected with each other. Their
#        drivers are installed and not loaded; stock kernels in QEMU only. The job pulls a
#        cable with a line "set_link nica1 off" written to /out/cables (not with -i)
#   -C   one emulated processor and a clock that counts instructions, a nanosecond for each:
#        in the guest the same job takes the same time on any machine. LAB_CLOCK is
#        "instructions" there
#   -I   as -C, and loads this plugin of QEMU (FILE,ARGUMENT=VALUE...)
# LAB_MRC_KO in the environment: the module, if it is not the one of module.sh.
# LAB_MACHINE in the environment: uml or uml-debug run the kernel as a program,
# kcsan runs a kernel built by the lab (common.sh); everything else is the same.
# exit status: that of the job; 124 after the time limit; 125 if the guest did
# not boot (tried three times); 126 if the kernel crashed or warned.
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=$DEFAULT_KERNEL user=$DEFAULT_KERNEL seconds=600 memory=2048 out='' quiet='' interactive='' bare='' env=() params=() nics=() count='' plugin=() work=''
while getopts k:u:t:m:o:e:p:w:I:CqnNi opt; do
	case $opt in
	e) env+=("$OPTARG") ;;
	k) k=$OPTARG ;;
	u) user=$OPTARG ;;
	t) seconds=$OPTARG ;;
	m) memory=$OPTARG ;;
	o) out=$OPTARG ;;
	p) params+=("$OPTARG") ;;
	w) work=$OPTARG ;;
	q) quiet=1 ;;
	n) bare=1 ;;
	C) count=1 ;;
	I) count=1 plugin=(-plugin "$OPTARG") ;;
	N) nics=(e1000e igb vmxnet3 virtio-net-pci) ;;
	i) interactive=1 ;;
	*) lab_die "see the head of $0 for its use" ;;
	esac
done
shift $((OPTIND - 1))
known_kernel "$k"
[ -n "$interactive" ] || [ $# -gt 0 ] || lab_die "no job given; see the head of $0"
[ "${#nics[@]}" = 0 ] || [ "$MACHINE" = qemu ] ||
	lab_die "-N: no NICs on $MACHINE (no PCI there, or a kernel without their drivers)"
[ -z "$work" ] || [ -d "$work" ] || lab_die "-w $work: no directory"
[ -z "$count" ] || [ "$MACHINE" = qemu ] || lab_die "-C and -I: not on $MACHINE"
need_root "booting a guest"
"$LAB_DIR/image.sh" "$user" "$k"

base=$(kernel_tree "$user")
tree=$(kernel_tree "$k")
build_kernel "$k"
ver=$(kernel_version "$k")
dir=$(machine_dir "$k")
mkdir -p "$dir" "$LAB/run"

# --- initramfs: busybox and the few modules that are needed to mount the root -
make_initramfs() {
	local stamp want work m n=10 f
	stamp=$dir/initramfs.stamp
	want=$({ cat "$LAB_DIR/guest/initramfs-init" "$tree/.lab-stamp" && echo "$ver"; } |
		sha256sum)
	[ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || [ ! -f "$dir/initramfs" ] || return 0
	work=$(mktemp -d "$LAB/run/initramfs.XXXXXX")
	mkdir -p "$work/bin" "$work/modules"
	cp "$(command -v busybox)" "$work/bin/busybox"
	cp "$LAB_DIR/guest/initramfs-init" "$work/init"
	chmod 755 "$work/init"
	# Modules that are built into the kernel have no file and need none.
	for m in virtio_pci 9pnet_virtio 9p virtio_blk ext4 overlay; do
		modprobe -d "$tree" -S "$ver" --show-depends "$m" 2>/dev/null || true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/list"
	while read -r f; do
		m=$work/modules/$n-$(basename "$f")
		n=$((n + 1))
		case $f in
		*.xz) xz -dc "$f" >"${m%.xz}" ;;
		*.zst) zstd -dcq "$f" >"${m%.zst}" ;;
		*.gz) gzip -dc "$f" >"${m%.gz}" ;;
		*) cp "$f" "$m" ;;
		esac
	done <"$work/list"
	rm "$work/list"
	(cd "$work" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs.new"
	rm -rf "$work"
	mv "$dir/initramfs.new" "$dir/initramfs"
	echo "$want" >"$stamp"
}

case $MACHINE in
qemu) stock_modules=$tree/usr/lib/modules image=$tree/boot/vmlinuz-$ver ;;
*) stock_modules=$(built_dir "$k")/modules/lib/modules image=$(built_dir "$k")/linux ;;
esac

# Drivers of the NICs of -N and their dependencies, with paths below the modules of
# the kernel. Built-in ones have no file.
nic_drivers() {
	local m
	[ "$MACHINE" = qemu ] || return 0
	for m in e1000e igb vmxnet3 virtio_net; do
		modprobe -d "$tree" -S "$ver" --show-depends "$m" 2>/dev/null || true
	done | awk -v top="/modules/$ver/" '
		$1 == "insmod" && !seen[$2]++ { print substr($2, index($2, top) + length(top)) }'
}

# --- modules: the distribution's (without the many that no guest can use) and this
# project's; depmod runs here because it takes minutes inside a guest -----------
# The directory is named by content, so that a rebuild never changes the files of a running
# guest.
make_modules() {
	local ko=() id d stage
	[ -n "$bare" ] ||
		ko=("${LAB_MRC_KO:-$dir/mrc.ko}" "$dir/sch_mrcsw.ko" "$dir/mrc_kverbs.ko")
	for d in ${ko[@]+"${ko[@]}"}; do
		[ -e "$d" ] || lab_die "$d is missing: run selftests/lab/module.sh $k"
	done
	id=$({
		cat "$LAB_DIR/vm.sh" ${ko[@]+"${ko[@]}"} "$tree/.lab-stamp"
		[ "$MACHINE" = qemu ] || cat "$(built_dir "$k")/.stamp"
		echo "$ver"
	} | sha256sum | cut -c1-12)
	modules=$dir/modules-$id
	if [ -d "$modules" ]; then
		touch "$modules"
		return 0
	fi
	stage=$(mktemp -d "$dir/stage.XXXXXX")
	mkdir -p "$stage/lib/modules"
	cp -al "$stock_modules/$ver" "$stage/lib/modules/"
	d=$stage/lib/modules/$ver
	rm -f "$d/build" "$d/source"
	for d in drivers/gpu drivers/media drivers/net/wireless drivers/net/ethernet \
		drivers/usb drivers/staging drivers/iio drivers/hwmon drivers/input \
		drivers/infiniband/hw drivers/isdn drivers/mtd \
		drivers/platform drivers/power drivers/i2c drivers/comedi \
		drivers/accel drivers/bluetooth sound; do
		rm -rf "$stage/lib/modules/$ver/kernel/$d"
	done
	d=$stage/lib/modules/$ver
	nic_drivers | while read -r f; do
		mkdir -p "$d/$(dirname "$f")"
		[ -e "$d/$f" ] || cp -al "$stock_modules/$ver/$f" "$d/$f"
	done
	if [ -z "$bare" ]; then
		mkdir -p "$d/updates"
		cp "${ko[@]}" "$d/updates/"
	fi
	# The index files are hard links into the tree: depmod must write new files.
	for f in alias dep softdep symbols devname weakdep builtin.alias; do
		rm -f "$d/modules.$f" "$d/modules.$f.bin"
	done
	rm -f "$d/modules.builtin.bin"
	depmod -b "$stage" "$ver" 2>/dev/null || lab_die "depmod failed for $ver"
	mv "$stage/lib/modules" "$modules"
	rm -rf "$stage"
	# Keep the recent ones: other guests may still use theirs.
	find "$dir" -maxdepth 1 -name 'modules-*' -type d -mmin +180 ! -path "$modules" \
		-exec rm -rf {} +
}

# --- disks: under emulation every request to a share costs about a millisecond, and to
# start a program takes a dozen of them. So stock kernels have the user land and the files
# of this run on disks. Kernels that the lab builds lack drivers for them. -------------
make_disk() { # FILE DIRECTORY
	local megabytes
	megabytes=$(($(du -sm --apparent-size "$2" | cut -f1) * 5 / 4 + 64))
	need_space "$megabytes" "$(dirname "$1")" "a disk for guests"
	rm -f "$1"
	mke2fs -q -t ext4 -O ^has_journal -m 0 -i 8192 -d "$2" "$1" "${megabytes}M" >/dev/null ||
		lab_die "cannot make a disk from $2"
}

make_root_disk() {
	root_disk=$LAB/trees/$(basename "$base").ext4
	[ ! -f "$root_disk" ] || ! cmp -s "$base/.lab-stamp" "$root_disk.stamp" || return 0
	make_disk "$root_disk.new" "$base"
	mv "$root_disk.new" "$root_disk"
	cp "$base/.lab-stamp" "$root_disk.stamp"
}

exec 7>"$dir/.vm-lock"
flock 7
make_initramfs
make_modules
flock -u 7
if [ "$MACHINE" = qemu ]; then
	exec 8>"$LAB/trees/.disk-lock"
	flock 8
	make_root_disk
	flock -u 8
fi

# --- the files that the guest sees -------------------------------------------
run=$(mktemp -d "$LAB/run/$k$(machine_suffix).XXXXXX")
mkdir -p "$run/share" "$run/out"
(cd "$TOP" && find selftests -maxdepth 1 -mindepth 1 -type d ! -name fuzz ! -name unit \
	-exec cp -a --parents {} "$run/share/" \;
	cp -a --parents Documentation/guides "$run/share/")
if [ -z "$bare" ] && [ -d "$LAB/guest" ]; then
	cp -a "$LAB/guest" "$run/share/guest"
fi
[ -z "$work" ] || cp -a "$work" "$run/share/work"
[ -z "$interactive" ] || touch "$run/share/interactive"
if [ $# -gt 0 ]; then
	# A script of selftests/ runs in its own directory, so that it finds its
	# neighbours.
	job=$(realpath "$1")
	case $job in
	"$TOP"/selftests/*) job=/mrc/${job#"$TOP"/} ;;
	*)
		cp "$job" "$run/share/job"
		job=/mrc/job
		;;
	esac
	[ -z "$count" ] || env+=(LAB_CLOCK=instructions)
	{
		echo "cd /mrc"
		for e in ${env[@]+"${env[@]}"}; do
			printf 'export %q\n' "$e"
		done
		printf 'exec bash %q' "$job"
		shift
		[ $# -eq 0 ] || printf ' %q' "$@"
		echo
	} >"$run/share/job.sh"
fi

choose_accel
processors=2
if [ -n "$count" ]; then
	processors=1
	accel=(-accel "tcg,thread=single" -icount "shift=0,sleep=off"
		${plugin[@]+"${plugin[@]}"} "${tcg_cpu[@]}")
fi

share() { # TAG PATH [ro]
	echo "local,path=${2//,/,,},mount_tag=$1,security_model=none,multidevs=remap${3:+,readonly=on}"
}

disk() { # ID FILE
	echo "file=${2//,/,,},if=none,id=$1,format=raw,readonly=on"
}

# QEMU's hub I connects pair I of -N. The MAC addresses contain the side and the pair.
# There are no boot ROMs: they would search for a network first. The virtual functions
# of an igb use addresses all over its bus, so each igb is behind its own port.
nic_args() {
	local i h n=0 bus
	nic_args=()
	for i in "${!nics[@]}"; do
		for h in a b; do
			n=$((n + 1)) bus=''
			if [ "${nics[i]}" = igb ]; then
				bus=,bus=port$n
				nic_args+=(-device "pcie-root-port,id=port$n,chassis=$n,hotplug=off")
			fi
			nic_args+=(-netdev "hubport,id=p$h$((i + 1)),hubid=$((i + 1))"
				-device "${nics[i]},id=nic$h$((i + 1)),netdev=p$h$((i + 1)),mac=02:00:00:00:0$h:0$((i + 1)),romfile=$bus")
		done
	done
}

# A guest pulls cables of its NICs and plugs them in: lines "set_link nica1 off" that it writes
# into /out/cables go to QEMU's monitor, and no others do.
cable_args() {
	cable_args=()
	[ "${#nics[@]}" != 0 ] && [ -z "$interactive" ] || return 0
	rm -f "$run/monitor.in" "$run/monitor.out"
	mkfifo "$run/monitor.in" "$run/monitor.out"
	: >"$run/out/cables"
	cable_args=(-chardev "pipe,id=monitor,path=${run//,/,,}/monitor" -mon "chardev=monitor,mode=readline")
}

cables() { # PROCESS of QEMU
	# To open it for both ways does not wait for QEMU, which may die before. Nobody reads
	# what the monitor says.
	tail -n +1 -f -s 0.2 --pid="$1" "$run/out/cables" |
		grep --line-buffered -x -E 'set_link nic[ab][1-9] (on|off)' 1<>"$run/monitor.in" &
}

# slab_nomerge: otherwise caches of one size share memory, and the memory checks would
# report growth under the name of the first of them.
# tsc=reliable: the watchdog of clock sources compares two clocks of the emulator. If the
# machine pauses between the two reads, the guest gives up the faster clock.
start_qemu() {
	local serial=(-serial "file:$run/output") files=()
	[ -z "$interactive" ] || serial=(-serial mon:stdio)
	: >"$run/output"
	: >"$run/console"
	if [ "$MACHINE" = qemu ]; then
		make_disk "$run/share.ext4" "$run/share"
		files=(-drive "$(disk root "$root_disk")" -device "virtio-blk-pci,drive=root"
			-drive "$(disk run "$run/share.ext4")" -device "virtio-blk-pci,drive=run")
	else
		files=(-virtfs "$(share root "$base" ro)" -virtfs "$(share run "$run/share" ro)")
	fi
	nic_args
	cable_args
	set -- qemu-system-x86_64 "${accel[@]}" -M q35 -smp "$processors" -m "$memory" \
		-nodefaults -no-user-config -no-reboot -display none \
		-kernel "$image" -initrd "$dir/initramfs" \
		-append "console=ttyS0 loglevel=6 panic=-1 oops=panic mitigations=off \
net.ifnames=0 watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60 printk.always_kmsg_dump=0 slab_nomerge log_buf_len=4M tsc=reliable ${params[*]-}" \
		-serial "file:$run/console" "${serial[@]}" \
		"${files[@]}" \
		-virtfs "$(share mods "$modules" ro)" -virtfs "$(share out "$run/out")" \
		${nic_args[@]+"${nic_args[@]}"} ${cable_args[@]+"${cable_args[@]}"}
	if [ -n "$interactive" ]; then
		"$@"
	else
		"$@" </dev/null >"$run/machine.log" 2>&1 &
		machine=$!
		[ "${#cable_args[@]}" = 0 ] || cables "$machine"
	fi
}

# The kernel as a program, in its own namespaces. It sees a root directory with only
# the files that it needs, among them the libraries it was linked with. No process
# that it starts survives it. The memory of the guest is a file in a tmpfs.
start_uml() {
	local con=fd:1,fd:1
	[ -z "$interactive" ] || con=fd:0,fd:1
	: >"$run/output"
	: >"$run/console"
	grep -m1 '^cpu MHz' /proc/cpuinfo >"$run/share/cpu-mhz" ||
		echo 'cpu MHz		: 2000.000' >"$run/share/cpu-mhz"
	mkdir -p "$run/uml"
	# shellcheck disable=SC2016 # expanded by the inner shell
	set -- unshare --mount --pid --fork --kill-child --propagation private bash -c '
		set -e
		top=$1 tree=$2 kernel=$3 initrd=$4 root=$5 mods=$6 run=$7 out=$8
		shift 8
		mount -t tmpfs -o mode=755 uml "$top"
		cd "$top"
		mkdir usr proc dev tmp lab lab/root lab/mods lab/run lab/out
		ln -s usr/lib usr/lib64 usr/bin .
		mount --bind "$tree/usr" usr
		mount -t proc proc proc
		mount --bind /dev dev
		mount -t tmpfs -o size=100% tmpfs tmp
		for d in root mods run out; do
			mount --bind "${!d}" "lab/$d"
			[ "$d" = out ] || mount -o remount,ro,bind "lab/$d"
		done
		cp "$kernel" lab/linux
		cp "$initrd" lab/initrd
		linux() {
			env -i PATH=/usr/bin:/usr/sbin HOME=/tmp TMPDIR=/tmp \
				chroot . /lab/linux "$@"
		}
		# Consoles must be files that can be polled; regular files cannot.
		# This shell stays process 1: as process 1 the kernel would survive
		# its own abort().
		if [ -t 0 ]; then
			linux "$@" 3>&1 1>&6 6>&- | cat >&4
		else
			{ linux "$@" 3>&1 1>&6 6>&- | cat >&4; } 6>&1 | cat
		fi' uml \
		"$run/uml" "$tree" "$image" "$dir/initramfs" \
		"$base" "$modules" "$run/share" "$run/out" \
		mem="${memory}M" seccomp=auto ncpus=1 uml_dir=/tmp/ umid=u initrd=/lab/initrd \
		loglevel=6 panic=-1 oops=panic rcupdate.rcu_cpu_stall_timeout=60 slab_nomerge log_buf_len=4M \
		lab_share=hostfs lab_tty=/dev/tty1 con=null "con0=null,fd:3" "con1=$con" \
		${params[@]+"${params[@]}"}
	if [ -n "$interactive" ]; then
		"$@" 4>"$run/console" 6>&1
	else
		"$@" </dev/null 4>"$run/console" >"$run/output" 2>"$run/machine.log" &
		machine=$!
	fi
}

start_machine() {
	case $MACHINE in
	uml*) start_uml ;;
	*) start_qemu ;;
	esac
}

ready() {
	grep -q -a -x LAB-READY "$run/output" || ! kill -0 "$machine" 2>/dev/null
}
gone() { ! kill -0 "$machine" 2>/dev/null; }

finish() {
	[ -z "${machine:-}" ] || kill -9 "$machine" 2>/dev/null || true
	[ -z "${streamer:-}" ] || kill "$streamer" 2>/dev/null || true
	rm -rf "$run"
}
trap finish EXIT
trap 'exit 130' INT TERM

if [ -n "$interactive" ]; then
	lab_note "kernel $ver; leave with 'exit'"
	start_machine || true
	exit 0
fi

keep_log() {
	mkdir -p "$LOGS"
	cp "$run/console" "$LOGS/console-$k$(machine_suffix)-${run##*.}.log"
	lab_note "$1; console log: build/lab/logs/console-$k$(machine_suffix)-${run##*.}.log"
	tail -n "${2:-15}" "$run/console" >&2
}

rc=125
for try in 1 2 3; do
	start_machine
	wait_until 1200 ready || true
	if grep -q -a -x LAB-READY "$run/output"; then
		rc=
		break
	fi
	kill -9 "$machine" 2>/dev/null || true
	wait "$machine" 2>/dev/null || true
	cat "$run/machine.log" >&2
	keep_log "boot $try of kernel $ver died before its first line"
done

if [ -z "$rc" ]; then
	if [ -z "$quiet" ]; then
		tail -n +1 -f -s 0.2 --pid="$machine" "$run/output" 2>/dev/null |
			sed -u '/^LAB-READY$/d' &
		streamer=$!
	fi
	if wait_until $((seconds * 10)) gone; then
		wait "$machine" 2>/dev/null || true
		[ -z "${streamer:-}" ] || wait "$streamer" 2>/dev/null || true
		if [ -s "$run/out/rc" ]; then
			rc=$(cat "$run/out/rc")
		else
			rc=126
			# What the emulator says, if it is what died.
			cat "$run/machine.log" >&2
			keep_log "kernel $ver died during the job" 40
		fi
	else
		kill -9 "$machine" 2>/dev/null || true
		rc=124
		keep_log "the job did not end within $seconds s"
	fi
	machine=''
	# Of KCSAN's reports only those with modules of this project count. Messages
	# that a script of run-tests.sh provokes on purpose were judged there, script
	# by script.
	provoked=$run/out/kmsg-ok
	[ -f "$provoked" ] || provoked=/dev/null
	{
		awk -v ours=1 -f "$LAB_DIR/guest/races.awk" "$run/console"
		awk -f "$LAB_DIR/guest/races.awk" "$run/console"
	} | sed -E 's/^\[ *[0-9]+\.[0-9]+\](\[ *[CT][0-9]+\])? ?//; s/\r$//' |
		grep -a -E -f "$LAB_DIR/guest/kernel-trouble" |
		grep -a -v -E -m5 -f "$provoked" >"$run/trouble" || true
	if [ "$rc" != 126 ] && [ -s "$run/trouble" ]; then
		keep_log "kernel $ver reported trouble"
		cat "$run/trouble" >&2
		rc=126
	fi
fi
sed -i '/^LAB-READY$/d' "$run/output"
if [ -n "$out" ]; then
	mkdir -p "$out"
	cp -a "$run/out/." "$run/output" "$run/console" "$out/"
fi
exit "$rc"
