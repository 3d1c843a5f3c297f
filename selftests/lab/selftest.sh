#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Tests the lab's own judgement: if a runner reported failures as successes, all other
# tests would be worthless. Needs no guest.
set -euo pipefail
. "$(dirname "$0")/common.sh"

failures=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

expect() { # WHAT EXPECTED GOT
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: expected '$2', got '$3'"
		failures=$((failures + 1))
	fi
}

tap() { # WHAT EXPECTED EXIT TEXT
	expect "tap: $1" "$2" "$(printf '%b' "$4" | awk -v rc="$3" -f "$LAB_DIR/tap.awk" 2>/dev/null)"
}

tap "all passed" "2 0 0" 0 '1..2\nok 1 a\nok 2 b\n'
tap "plan at the end" "2 0 0" 0 'ok 1 a\nok 2 b\n1..2\n'
tap "a failure" "1 1 0" 1 '1..2\nok 1 a\nnot ok 2 b\n'
tap "a skip" "1 0 1" 0 '1..2\nok 1 a\nok 2 b # SKIP no such thing\n'
tap "a skip without a reason" "1 1 0" 0 '1..2\nok 1 a\nok 2 b # SKIP\n'
tap "all skipped" "0 0 1" 4 '1..0 # SKIP nothing here\n'
tap "all skipped without a reason" "0 2 0" 4 '1..0\n'
tap "TODO is not done" "0 1 0" 1 '1..1\nnot ok 1 a # TODO later\n'
tap "fewer than planned" "1 1 0" 0 '1..2\nok 1 a\n'
tap "more than planned" "2 1 0" 0 '1..1\nok 1 a\nok 2 b\n'
tap "no plan" "1 1 0" 0 'ok 1 a\n'
tap "nothing at all" "0 1 0" 0 ''
tap "failing status" "1 1 0" 3 '1..1\nok 1 a\n'
tap "time limit" "1 2 0" 124 '1..2\nok 1 a\n'
tap "guest died after the last test" "1 1 0" 126 '1..1\nok 1 a\n'
tap "guest died in the middle" "1 1 0" 126 '1..2\nok 1 a\n'
tap "runner's checks count" "2 1 0" 0 '1..1\nok 1 a\nLAB-RESULT ok x\nLAB-RESULT not ok y\n'
tap "bail out" "1 1 0" 0 '1..1\nok 1 a\nBail out! no more\n'

trouble() { # WHAT yes|no LINE
	local got=no
	grep -q -E -f "$LAB_DIR/guest/kernel-trouble" <<<"$3" &&
		! grep -q -E -f "$LAB_DIR/guest/kmsg-tolerated" <<<"$3" && got=yes
	expect "kernel log: $1" "$2" "$got"
}

trouble WARN yes '------------[ cut here ]------------ WARNING: CPU: 1 PID: 3 at net/core/dev.c:1 f+0x1/0x2'
trouble BUG yes 'BUG: unable to handle page fault for address: ffff'
trouble oops yes 'Oops: 0000 [#1] PREEMPT SMP'
trouble lockdep yes 'WARNING: possible circular locking dependency detected'
trouble netdevice yes 'unregister_netdevice: waiting for v0 to become free. Usage count = 2'
trouble "hung task" yes 'INFO: task rmmod:123 blocked for more than 120 seconds.'
trouble refcount yes 'refcount_t: underflow; use-after-free.'
trouble taint no 'mrc: loading out-of-tree module taints kernel.'
trouble notice no 'mrc: mrc0: port 2 down'

# mirror_sources: copies, notices changes, removes deleted files, keeps build products
(
	TOP=$tmp/repo
	mkdir -p "$TOP/drivers/x"
	echo 1 >"$TOP/drivers/x/a.c"
	echo 1 >"$TOP/drivers/x/b.c"
	mirror_sources "$tmp/copy" drivers
	touch "$tmp/copy/drivers/x/a.o"
	echo 2 >"$TOP/drivers/x/a.c"
	rm "$TOP/drivers/x/b.c"
	mirror_sources "$tmp/copy" drivers
	(cd "$tmp/copy/drivers/x" && cat a.c && printf '%s ' *)
) >"$tmp/mirror"
expect "mirror_sources" "2 a.c a.o" "$(xargs <"$tmp/mirror")"

# machines: each has its own suffix, and unknown machines are refused
suffixes() {
	local m
	for m in qemu uml uml-debug kcsan nonsense; do
		(MACHINE=$m machine_suffix 2>/dev/null) || echo refused
	done | xargs
}
expect "machines" "-uml -uml-debug -kcsan refused" "$(suffixes)"
expect "modules by machine" "6.1 6.1-uml" \
	"$(for m in qemu uml; do basename "$(MACHINE=$m machine_dir 6.1)"; done | xargs)"

# config_missed: an option that a kernel does not have is not missed; the last of two
# lines holds
mkdir "$tmp/linux"
printf 'config %s\n' A B C D >"$tmp/linux/Kconfig"
printf '\tmenuconfig E\n' >>"$tmp/linux/Kconfig"
printf '%s\n' CONFIG_A=y CONFIG_B=m CONFIG_C=y '# CONFIG_C is not set' \
	'# CONFIG_D is not set' CONFIG_E=y CONFIG_GONE=y >"$tmp/wanted"
printf '%s\n' CONFIG_A=y CONFIG_B=y CONFIG_D=y >"$tmp/config"
expect "config_missed" "CONFIG_B is y, not m CONFIG_D is y, not n CONFIG_E is n, not y" \
	"$(config_missed "$tmp/wanted" "$tmp/config" "$tmp/linux" | xargs)"

# races.awk: reports that contain modules of this project, and everything that is no
# report
cat >"$tmp/log" <<'END'
[    1.000000] mrc: before
[    2.000000] ==================================================================
[    2.000000] BUG: KCSAN: data-race in mrc_a [mrc] / mrc_b [mrc]
[    2.000000]
[    2.000000] write to 0xffff888004b2a0c8 of 8 bytes by task 5 on cpu 1:
[    2.000000]  mrc_a+0x1/0x2 [mrc]
[    2.000000] mrc: WARNING: of another processor
[    2.000000] read (marked) to 0xffff888004b2a0c8 of 8 bytes by interrupt on cpu 0:
[    2.000000]  mrc_b+0x1/0x2 [mrc]
[    2.000000] value changed: 0x0000000000000001 -> 0x0000000000000002
[    2.000000] Reported by Kernel Concurrency Sanitizer on:
[    2.000000] CPU: 0 UID: 0 PID: 5 Comm: x
[    2.000000] ==================================================================
[    3.000000] ==================================================================
[    3.000000] BUG: KCSAN: data-race in tcp_a / tcp_b
[    3.000000]  tcp_a+0x1/0x2
[    3.000000] Reported by Kernel Concurrency Sanitizer on:
[    3.000000] CPU: 0 UID: 0 PID: 5 Comm: kworker/0:1
[    3.000000] Workqueue: events vmstat_shepherd
[    3.000000] ==================================================================
[    3.100000] ==================================================================
[    3.100000] BUG: KCSAN: data-race in tick_a / tick_b
[    3.100000] write to 0xff1100007c81b180 of 4 bytes by interrupt on cpu 0:
[    3.100000]  tick_a+0x1/0x2
[    3.100000]  asm_sysvec_apic_timer_interrupt+0x16/0x20
[    3.100000]  mrc_c+0x1/0x2 [mrc]
[    3.100000]
[    3.100000] read to 0xff1100007c81b180 of 4 bytes by task 0 on cpu 1:
[    3.100000]  tick_b+0x1/0x2
[    3.100000] ==================================================================
[    3.200000] ==================================================================
[    3.200000] BUG: KCSAN: data-race in timer_a / timer_b
[    3.200000] write to 0xff1100007c81b180 of 4 bytes by interrupt on cpu 0:
[    3.200000]  timer_a+0x1/0x2
[    3.200000]  asm_sysvec_apic_timer_interrupt+0x16/0x20
[    3.200000] read to 0xff1100007c81b180 of 4 bytes by task 0 on cpu 1:
[    3.200000]  timer_b+0x1/0x2
[    3.200000]  mrc_d+0x1/0x2 [mrc]
[    3.200000] ==================================================================
[    3.300000] ==================================================================
[    3.300000] BUG: KCSAN: data-race in hrtimer_wakeup / schedule_hrtimeout_range_clock
[    3.300000] read to 0xff110000034a75f8 of 8 bytes by task 4669 on cpu 0:
[    3.300000]  schedule_hrtimeout_range_clock+0xfc/0x1a0
[    3.300000]  kv_do+0xa1/0xf0 [mrc_kverbs]
[    3.300000] ==================================================================
[    3.400000] ==================================================================
[    3.400000] BUG: KCSAN: data-race in ktime_get / timekeeping_update_from_shadow.constprop.0
[    3.400000] write to 0xffffffff8268ef48 of 320 bytes by interrupt on cpu 1:
[    3.400000]  timekeeping_update_from_shadow.constprop.0+0x208/0x3f0
[    3.400000] read to 0xffffffff8268ef68 of 8 bytes by interrupt on cpu 0:
[    3.400000]  ktime_get+0x109/0x200
[    3.400000]  mrc_rcv+0xae8/0x18f0 [mrc]
[    3.400000] ==================================================================
[    3.500000] ==================================================================
[    3.500000] BUG: KCSAN: data-race in rxe_receiver [rdma_rxe] / skb_queue_tail
[    3.500000] write (marked) to 0xff11000003544bb8 of 8 bytes by interrupt on cpu 0:
[    3.500000]  skb_queue_tail+0x5c/0xa0
[    3.500000]  rxe_rcv+0x486/0xb30 [rdma_rxe]
[    3.500000]  mrc_e+0xae8/0x18f0 [mrc]
[    3.500000] read to 0xff11000003544bb8 of 8 bytes by task 2039 on cpu 1:
[    3.500000]  rxe_receiver+0x3715/0x3e50 [rdma_rxe]
[    3.500000] ==================================================================
[    3.600000] ==================================================================
[    3.600000] BUG: KCSAN: data-race in mrc_f [mrc] / rxe_b [rdma_rxe]
[    3.600000] write to 0xff11000003544bb8 of 8 bytes by interrupt on cpu 0:
[    3.600000]  mrc_f+0x1/0x2 [mrc]
[    3.600000] read to 0xff11000003544bb8 of 8 bytes by task 2039 on cpu 1:
[    3.600000]  rxe_b+0x1/0x2 [rdma_rxe]
[    3.600000] ==================================================================
[    4.000000] ==================================================================
[    4.000000] BUG: KASAN: slab-use-after-free in mrc_a
[    4.000000] ==================================================================
[    5.000000] mrc: after
END
races() { awk "$@" -f "$LAB_DIR/guest/races.awk" "$tmp/log"; }
expect "races: ours" "mrc_a timer_a mrc_f" \
	"$(races -v ours=1 | sed -n 's/.*data-race in \([a-z_]*\) .*/\1/p' | xargs)"
expect "races: the rest of the log" "before WARNING: KASAN: after" \
	"$(races | grep -o -E 'before|WARNING:|KASAN:|KCSAN:|Workqueue:|after$' | xargs)"

expect "races: from a serial line" "$(races | sed 's/$/ /')" \
	"$(sed 's/$/\r/' "$tmp/log" | awk -f "$LAB_DIR/guest/races.awk" | tr '\r' ' ')"

# leaks.awk: tolerates leaks of other code, by any line of the report
cat >"$tmp/leaks" <<'END'
unreferenced object 0x1 (size 7552):
  comm "uctx-refused", pid 1, jiffies 1
  backtrace (crc 1):
    copy_process+0x1/0x2
unreferenced object 0x2 (size 64):
  comm "insmod", pid 2, jiffies 1
  backtrace (crc 2):
    mrc_make+0x1/0x2 [mrc]
END
leaks() { awk -f "$LAB_DIR/guest/leaks.awk" <(printf '%s' "$1") "$tmp/leaks"; }
expect "leaks: all" "2 1" "$(leaks '' | grep -c unreferenced) $(leaks '' | grep -c 'mrc\]')"
expect "leaks: but one" "unreferenced object 0x2 (size 64):" \
	"$(leaks 'comm "uctx-refused"' | head -n 1)"

# the Debian mirror is found among archives that also use Debian's suite names
host_codename() { echo bookworm; }
host_apt_sources() {
	printf '%s\n' 'http://a.invalid/linux/tool bookworm' \
		'http://b.invalid/debian bookworm' 'http://b.invalid/debian bookworm-updates' \
		'http://b.invalid/debian-security bookworm-security'
}
expect "debian_mirror" http://b.invalid/debian "$(debian_mirror)"
expect "debian_security_mirror" http://b.invalid/debian-security "$(debian_security_mirror)"

# choices.sh: a correct page, and one error of each kind
choice_tree() { # makes a new $tmp/choices with numbers from the real page
	local n=OP-31
	rm -rf "$tmp/choices"
	mkdir -p "$tmp/choices"/{Documentation,drivers/infiniband/sw/mrc/core,selftests/unit}
	echo "int f(void); /* $n */" >"$tmp/choices/drivers/infiniband/sw/mrc/core/a.c"
	echo 'TEST(Suite, Name)' >"$tmp/choices/selftests/unit/t.cpp"
	echo 'subtest "says so"' >"$tmp/choices/selftests/s.sh"
	cat >"$tmp/choices/Documentation/spec-choices.md" <<-PAGE
		| [$n](#a) | one | t.cpp |
		| [${n}a](#b) | two | none |

		### $n: One

		- Code: \`core/a.c\`: \`f()\`
		- Test: \`selftests/unit/t.cpp\`:
		  \`Suite.Name\`; \`selftests/s.sh\`: \`says so\`

		### ${n}a: Two

		- Code: \`core/a.c\`
		- Test: none

		| x | \`core/a.c\`: \`f()\` |
	PAGE
}
choices() { # WHAT EXPECTED [SED-SCRIPT FILE]: a line of the output must contain EXPECTED
	local out rc=0
	choice_tree
	[ $# = 2 ] || sed -i "$3" "$tmp/choices/$4"
	out=$("$LAB_DIR/../docs/choices.sh" "$tmp/choices") || rc=$?
	expect "choices: $1" "${2:+1 }$2" "${out:+$rc }$(grep -o -F -e "$2" <<<"$out" | head -n 1)"
}
choice_page=Documentation/spec-choices.md
choice_code=drivers/infiniband/sw/mrc/core/a.c
choices "a right page" ""
choices "a number in the code that has no section" "a.c names OP-32, which" \
	's/OP-31/OP-32/' $choice_code
choices "a number twice" "OP-31 has two sections" '/^### OP-31a/s/1a/1/' $choice_page
choices "a number twice in the index" "OP-31 is in the index twice" '1p' $choice_page
choices "a section that the index lacks" "OP-31 is not in the index" 1d $choice_page
choices "a row without a section" "OP-31a is in the index and has no section" \
	'/^### OP-31a/d' $choice_page
choices "a file that is not there" "core/b.c, which is not there" 's/core.a/core\/b/' $choice_page
choices "a function that is not there" "g(), which core/a.c does not have" \
	's/\<f()/g()/' $choice_page
choices "a function that is renamed" "f(), which core/a.c does not have" 's/ f(/ ff(/' $choice_code
choices "a function of a table" "names g(), which" '/^| x/s/f()/g()/' $choice_page
choices "a unit test that is not there" "the test Suite.Name, which" 's/Name/Other/' \
	selftests/unit/t.cpp
choices "a subtest that is not there" "'says so', which" 's/says so/is silent/' selftests/s.sh
choices "a name without a file" "named without a file" 's/`core.a.c`: //' $choice_page
choices "no code" "OP-31a has no line Code" '/^- Code: `core.a.c`$/d' $choice_page
choices "no test" "OP-31a has no line Test" '/none$/d' $choice_page
choices "a test that the index does not know" "index has the test none, its section t.cpp s.sh" \
	'1s/t.cpp/none/' $choice_page
choices "a test that only the index knows" "index has the test t.cpp, its section none" \
	'2s/none/t.cpp/' $choice_page
choices "no sections at all" "has no sections" '/^### /d' $choice_page

# Tests that need a mount namespace: mounts in trees, full disks. They run as root or
# in a user namespace, if possible.
cat >"$tmp/mounts.sh" <<'END'
set -euo pipefail
. "$1/common.sh"
tmp=$2
trap 'kill $(jobs -p) $(cat "$tmp/pid") 2>/dev/null || true' EXIT
mount -t tmpfs -o mode=755 tmpfs "$tmp"

# mounts_below, unmount_below: names with blanks, nested mounts, neighbours
mkdir -p "$tmp/tree/proc" "$tmp/tree/a b" "$tmp/tree-2"
mount -t tmpfs x "$tmp/tree-2"
mount -t tmpfs x "$tmp/tree/proc"
mkdir "$tmp/tree/proc/in"
mount -t tmpfs x "$tmp/tree/proc/in"
mount -t tmpfs x "$tmp/tree/a b"
echo "below: $(mounts_below "$tmp/tree" | sed "s|^$tmp||" | paste -sd,)"
unmount_below "$tmp/tree" && echo "none: $(mounts_below "$tmp/tree" | wc -l)"
echo "neighbour: $(mounts_below "$tmp/tree-2" | wc -l)"

# busy for a moment, and busy forever
mount -t tmpfs x "$tmp/tree/proc"
(cd "$tmp/tree/proc" && exec sleep 1) &
unmount_below "$tmp/tree" 2>"$tmp/said" && echo "moment: $(mounts_below "$tmp/tree" | wc -l) $(wc -l <"$tmp/said")"
wait
mount -t tmpfs x "$tmp/tree/proc"
(cd "$tmp/tree/proc" && exec sleep 1000) &
held=$!
wait_until 100 sh -c "grep -q sleep /proc/$held/comm"
UNMOUNT_WAIT=3 unmount_below "$tmp/tree" 2>"$tmp/said" &&
	echo "busy: $(mounts_below "$tmp/tree" | wc -l) $(grep -c "busy, used by:.*$held sleep" "$tmp/said")"
kill "$held"

# a mount that cannot be unmounted is an error
mount -t tmpfs x "$tmp/tree/proc"
umount() { return 1; }
UNMOUNT_WAIT=1 unmount_below "$tmp/tree" 2>"$tmp/said" || echo "stuck: $(grep -c 'still mounted: .*/tree/proc$' "$tmp/said")"
unset -f umount
umount "$tmp/tree/proc"

# image.sh as a whole, in a copy of the lab with substitutes for its tools: a tree
# whose /proc stays mounted and in use; a disk that is too small; one that fills up
mkdir -p "$tmp/repo/selftests" "$tmp/bin"
cp -a "$1" "$tmp/repo/selftests/lab"
printf '#!/bin/sh\n' >"$tmp/repo/selftests/lab/setup.sh"
cat >"$tmp/bin/apt-get" <<-'APT'
	#!/bin/sh
	echo "'http://a.invalid/debian/dists/stable/InRelease' a 0"
	echo "'http://a.invalid/debian/dists/stable-updates/InRelease' a 0"
APT
cat >"$tmp/bin/mmdebstrap" <<-'MAKE'
	#!/bin/bash
	cat >/dev/null
	for last; do case $last in */trees/*) new=$last ;; esac; done
	mkdir -p "$new/usr/lib/modules/1.2.3" "$new/proc"
	case $FAKE in
	busy)
		mount -t tmpfs x "$new/proc"
		(cd "$new/proc" && exec sleep 1000 >/dev/null 2>&1) &
		echo $! >"$FAKE_PID"
		until grep -q sleep "/proc/$!/comm"; do :; done
		echo "W: umount /proc failed: 32"
		;;
	full)
		head -c 100M /dev/zero >"$new/big"
		exit 1
		;;
	told)
		head -c 100M /dev/zero >"$new/big" 2>"$FAKE_PID" && exit 0
		rm "$new/big"
		cat "$FAKE_PID"
		exit 1
		;;
	esac
MAKE
chmod 755 "$tmp/bin/"* "$tmp/repo/selftests/lab/setup.sh"
export PATH=$tmp/bin:$PATH FAKE_PID=$tmp/pid
image() { # MEGABYTES FAKE
	rm -rf "$tmp/repo/build"
	mkdir "$tmp/repo/build"
	mount -t tmpfs -o "size=$1M" x "$tmp/repo/build"
	FAKE=$2 UNMOUNT_WAIT=3 "$tmp/repo/selftests/lab/image.sh" 7.2 >"$tmp/said" 2>&1 || echo "failed"
}
image 3000 busy
echo "image: $(mounts_below "$tmp/repo/build/lab" | wc -l) $(cat "$tmp/repo/build/lab/trees/linux-7.2/.lab-kernel-version")" \
	"$(grep -c 'proc stays busy, used by:.*sleep' "$tmp/said")"
kill "$(cat "$tmp/pid")"
wait_until 100 sh -c "! test -d /proc/$(cat "$tmp/pid")"
# An existing tree: its mount is removed, and the tree is not made again.
mount -t tmpfs x "$tmp/repo/build/lab/trees/linux-7.2/proc"
"$tmp/repo/selftests/lab/image.sh" 7.2
echo "mended: $(mounts_below "$tmp/repo/build/lab" | wc -l)"
umount "$tmp/repo/build"

image 40 none
echo "small: $(grep -c -E 'no space: the tree linux-7.2 needs [0-9]+ MB in .*/build/lab/trees, and (39|40) MB are free there$' "$tmp/said")"
umount "$tmp/repo/build"

# From here on df first reports enough room.
cat >"$tmp/bin/df" <<-'DF'
	#!/bin/bash
	[ ! -e "$FAKE_PID.df" ] || exec /bin/df "$@"
	>"$FAKE_PID.df"
	echo && echo "x 0 0 9999 0 x"
DF
chmod 755 "$tmp/bin/df"
for how in full told; do
	rm -f "$FAKE_PID.df"
	image 40 $how
	echo "$how: $(grep -c -E 'no space left: the tree linux-7.2 needs [0-9]+ MB in .*, and [0-9]+ MB are free there now$' "$tmp/said")"
	umount "$tmp/repo/build"
done
END
in_namespace=(unshare --mount --propagation private)
[ "$(id -u)" = 0 ] || in_namespace+=(--user --map-root-user)
mkdir "$tmp/mounts"
if "${in_namespace[@]}" true 2>/dev/null; then
	"${in_namespace[@]}" bash "$tmp/mounts.sh" "$LAB_DIR" "$tmp/mounts" >"$tmp/mounts.out" 2>"$tmp/mounts.err" ||
		{ echo "ended with $?" && cat "$tmp/mounts.err"; } >>"$tmp/mounts.out"
	while IFS='|' read -r what expected; do
		expect "$what" "$expected" "$(sed -n "s/^${expected%%:*}: /${expected%%:*}: /p" "$tmp/mounts.out")"
	done <<-'END'
		mounts below a directory|below: /tree/proc,/tree/proc/in,/tree/a b
		all of them are unmounted|none: 0
		a neighbour's is not|neighbour: 1
		a mount that is busy for a moment|moment: 0 0
		a mount that stays busy|busy: 0 1
		a mount that stays|stuck: 1
		image.sh: /proc stays mounted and busy|image: 0 1.2.3 1
		image.sh: /proc in a finished tree|mended: 0
		image.sh: too little space|small: 1
		image.sh: the disk is full, and so is the log|full: 1
		image.sh: the log tells of a full disk|told: 1
	END
	expect "the lab's part in a mount namespace" "" "$(grep '^ended' -A20 "$tmp/mounts.out")"
else
	echo "ok mounts and full disks # SKIP no mount namespaces for this user"
fi

size() { # WHAT EXPECTED FILE...
	local what=$1 want=$2 got=refused
	shift 2
	"$LAB_DIR/script-sizes.sh" "$@" >/dev/null && got=taken
	expect "script sizes: $what" "$want" "$got"
}

seq 500 >"$tmp/long.sh"
seq 501 >"$tmp/longer.py"
size "500 lines" taken "$tmp/long.sh" "$tmp/long.sh"
size "501 lines" refused "$tmp/longer.py"
size "501 lines beside others" refused "$tmp/long.sh" "$tmp/longer.py" "$tmp/long.sh"

# A library with the version names of one libibverbs and another; readelf shows them as those
# of rdma-core's.
. "$LAB_DIR/lib_abi.sh"
abi_of() { # WHAT EXPECTED VERSION...
	local what=$1 want=$2 v before='' n=0
	shift 2
	rm -rf "$tmp/root"
	mkdir -p "$tmp/root/usr/lib/some-arch"
	for v; do
		n=$((n + 1))
		echo "int f$n(void) { return 0; }" >&3
		echo "$v { global: f$n; }$before;"
		before=" $v"
	done >"$tmp/abi.map" 3>"$tmp/abi.c"
	gcc -shared -fPIC -Wl,-soname,libibverbs.so.1 -Wl,--version-script="$tmp/abi.map" \
		-o "$tmp/root/usr/lib/some-arch/libibverbs.so.1" -x c "$tmp/abi.c" 2>"$tmp/abi.err" ||
		cat "$tmp/abi.err"
	expect "private interface: $what" "$want" "$(installed_abi "$tmp/root")"
}

abi_of "rdma-core 39 to 56" 34 IBVERBS_1.0 IBVERBS_1.14 IBVERBS_PRIVATE_34
abi_of "rdma-core 65" 65 IBVERBS_1.0 IBVERBS_1.15 IBVERBS_PRIVATE_65
abi_of "no libibverbs of rdma-core" "" IBVERBS_1.0
expect "private interface: no libibverbs" "" "$(installed_abi "$tmp/nowhere")"
mkdir -p "$tmp/rdma-core" "$tmp/built"
printf 'set(PACKAGE_VERSION "65.0")\nset(IBVERBS_PABI_VERSION "65")\n' >"$tmp/rdma-core/CMakeLists.txt"
expect "private interface: a source" 65 "$(source_abi "$tmp/rdma-core")"
expect "private interface: nothing built" "" "$(built_abi "$tmp/built")"
ln -s ../libmrc.so.1.0.65.1 "$tmp/built/libmrc-rdmav65.so"
expect "private interface: a provider" 65 "$(built_abi "$tmp/built")"

"$LAB_DIR/layers_test.py" || failures=$((failures + 1))

[ "$failures" = 0 ]
