#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the TAP scripts of selftests/net (or, with -i, of selftests/interop) in a guest and
# sums up their results. All scripts share one boot. If the kernel dies under a script, that
# script has failed and the others run in a fresh guest.
#
# usage: run-tests.sh [-b] [-i] [-k KERNEL] [-c COUNTSFILE] [PATTERN]
#   PATTERN  runs the scripts whose name contains it, a shell pattern (default: all);
#            =NAME runs the one with that name
#   -b       of these, only the benchmarks and the long ones
#   -i       the foreign suites
#   -c       writes "passed failed skipped" to COUNTSFILE
# Scripts with a line "# benchmark" are left out unless they match a PATTERN or
# LAB_BENCHMARKS is set; in emulated machines also those with a line "# long". On kcsan,
# which is slow, only scripts with a line "# races" run unless there is a PATTERN. A script
# with a line "# not-on: MACHINE REASON" is skipped on that machine, unless it is named
# exactly. If a script to be run has a line "# nics", the guest has emulated NICs (vm.sh -N),
# on machines that can have them. The other scripts run in the same guest: NICs whose
# drivers are not loaded are invisible.
#
# The output of each script is kept in build/lab/logs/net-KERNEL/NAME.tap, or
# interop-KERNEL/NAME.tap (with loss interop-KERNEL-loss). If the machine is not QEMU, its
# name follows KERNEL (LAB_MACHINE: 6.12-uml). LAB_TIME is the factor by which the time
# limits of scripts are longer (default 1, on uml-debug 4, on kcsan 8).
set -euo pipefail
. "$(dirname "$0")/common.sh"

k=$DEFAULT_KERNEL counts='' only='' set=net vm_opts=()
slack=$(time_factor)
while getopts bik:c: opt; do
	case $opt in
	b) only=1 ;;
	i)
		set=interop vm_opts=(-u interop -m 3072)
		for e in "${!INTEROP_@}"; do
			vm_opts+=(-e "$e=${!e}")
		done
		;;
	k) k=$OPTARG ;;
	c) counts=$OPTARG ;;
	*) lab_die "see the head of $0 for its use" ;;
	esac
done
shift $((OPTIND - 1))
pattern=${1:-*}
exact=''
[ "$pattern" = "${pattern#=}" ] || pattern=${pattern#=} exact=1
known_kernel "$k"

scripts=()
limit=120 left_out=0 nics=''
for f in "$TOP/selftests/$set"/*.sh; do
	[ -f "$f" ] || continue
	name=$(basename "$f" .sh)
	case $name in
	lib | lib_* | *.lib | _*) continue ;;
	esac
	# shellcheck disable=SC2053 # a pattern is wanted
	[[ $name == *$pattern* ]] || continue
	[ -z "$exact" ] || [ "$name" = "$pattern" ] || continue
	kind=$(sed -n '1,40s/^# \(benchmark\|long\)$/\1/p' "$f" | head -n1)
	# Scripts marked "long" take minutes under emulation only.
	[ "$kind" != long ] || [ "$MACHINE" = qemu ] || kind=''
	# Benchmarks check ratios of times, which a busy machine can spoil.
	if [ -z "$kind" ]; then
		[ -z "$only" ] || continue
	elif [ "$pattern" = '*' ] && [ -z "${LAB_BENCHMARKS:-}$only" ]; then
		echo "$set/$name is left out ($kind): run it with make check-vm T=$name or make check-all"
		continue
	fi
	if [ "$MACHINE" = kcsan ] && [ "$pattern" = '*' ] &&
		! grep -q '^# races$' < <(sed -n 1,40p "$f"); then
		echo "$set/$name is not run for races: one processor at a time has work in it, or other scripts do the same"
		continue
	fi
	reason=$(sed -n "1,40s/^# not-on: *$MACHINE  *//p" "$f" | head -n1)
	if [ -n "$reason" ] && [ "$pattern" != "$name" ]; then
		echo "SKIP $set/$name [$MACHINE]: $reason"
		left_out=$((left_out + 1))
		continue
	fi
	scripts+=("selftests/$set/$name.sh")
	! grep -q '^# nics$' < <(sed -n 1,40p "$f") || nics=1
	t=$(sed -n '1,40s/^# timeout: *//p' "$f" | head -n1)
	limit=$((limit + ${t:-300} * slack + 30))
done
[ "${#scripts[@]}" -gt 0 ] || lab_die "no script in selftests/$set matches '$pattern'"

label=$k$(machine_suffix)
# Memory for KASAN itself and for the records of kmemleak.
[ "$MACHINE" != uml-debug ] || [ "$set" = interop ] || vm_opts+=(-m 3072)
vm_opts+=(-e "LAB_TIME=$slack")
[ -z "$nics" ] || [ "$MACHINE" != qemu ] || vm_opts+=(-N)
work=$LOGS/$set-$label${INTEROP_LOSS:+-loss}
mkdir -p "$work" "$LAB/run"
tmp=$(mktemp -d "$LAB/run/tap.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=$left_out

account() { # NAME EXIT SECONDS
	local p f s
	read -r p f s <<<"$(awk -v rc="$2" -f "$LAB_DIR/tap.awk" "$work/$1.tap" 2>"$tmp/detail")"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%s %s: %s passed, %s failed, %s skipped (%s s)\n' \
		"$([ "$f" = 0 ] && echo PASS || echo FAIL)" "$set/$1 [$label]" "$p" "$f" "$s" "$3"
	cat "$tmp/detail"
}

while [ "${#scripts[@]}" -gt 0 ]; do
	current=''
	done_names=' '
	: >"$tmp/stray"
	rm -f "$tmp/rc"
	while IFS= read -r line; do
		case $line in
		'LAB-BEGIN '*)
			current=${line#LAB-BEGIN }
			: >"$work/$current.tap"
			since=$SECONDS
			;;
		'LAB-END '*)
			read -r _ name rc secs <<<"$line"
			current=''
			done_names+="$name "
			account "$name" "$rc" "$secs"
			;;
		*)
			if [ -n "$current" ]; then
				printf '%s\n' "$line" >>"$work/$current.tap"
			else
				printf '%s\n' "$line" >>"$tmp/stray"
			fi
			;;
		esac
	done < <(
		status=0
		"$LAB_DIR/vm.sh" "${vm_opts[@]}" -k "$k" -t "$limit" -o "$tmp/last" \
			"$LAB_DIR/guest/run-tests.sh" "${scripts[@]}" || status=$?
		echo "$status" >"$tmp/rc"
	)
	vm_rc=$(cat "$tmp/rc" 2>/dev/null || echo 125)
	cp -f "$tmp/last/"*.dmesg "$work/" 2>/dev/null || true

	rest=()
	for f in "${scripts[@]}"; do
		name=$(basename "$f" .sh)
		[[ $done_names == *" $name "* ]] || rest+=("$f")
	done
	if [ -n "$current" ]; then
		# The guest ended while this script ran.
		account "$current" 126 $((SECONDS - since))
		echo "    the guest ended while $current ran (status $vm_rc)"
		again=()
		for f in "${rest[@]}"; do
			[ "$(basename "$f" .sh)" = "$current" ] || again+=("$f")
		done
		scripts=("${again[@]}")
		continue
	fi
	scripts=()
	if [ "${#rest[@]}" -gt 0 ]; then
		failed=$((failed + ${#rest[@]}))
		echo "FAIL $set [$label]: not run because the guest ended (status $vm_rc): ${rest[*]##*/}"
		cat "$tmp/stray"
	elif [ "$vm_rc" != 0 ] && [ "$failed" = 0 ]; then
		failed=$((failed + 1))
		echo "FAIL $set [$label]: guest ended with status $vm_rc"
	fi
done

[ -z "$counts" ] || echo "$passed $failed $skipped" >"$counts"
echo "$set [$label]: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
