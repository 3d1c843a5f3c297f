# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Failing allocations (selftests/faults): one after the other in the calls of a
# program, or a part of all in interrupts. Sourced by the scripts failslab*.sh, after
# lib.sh.

FAILSLAB=/sys/kernel/debug/failslab
PAGEFAIL=/sys/kernel/debug/fail_page_alloc
SWEEP=$WORK/sweep

# Skips the script, with a reason, if the kernel has no fault injection. Sourced
# before any subtest.
faults_needed() {
	if [ ! -d "$FAILSLAB" ] || [ ! -w /proc/self/fail-nth ]; then
		tap_skip_all "this kernel has no fault injection (CONFIG_FAILSLAB; make check-debug has it)"
	fi
}

# Caches of the kernel's own checkers. Without memory for its records a checker stops,
# or continues with less, and then it hides later errors. Tracing complains by a
# WARN() when it has no memory for the fields of a module's tracepoints.
watchers='kmemleak_object|kmemleak_scan_area|debug_objects_cache|ftrace_event_field'

# Selects the allocations that may fail: all of the slab, or with "atomic" those that
# may not wait. Every call lists the caches again, because modules add caches.
faults_on() { # all|atomic
	local f name
	for f in /sys/kernel/slab/*/failslab; do
		name=${f%/failslab}
		name=${name##*/}
		[[ $name =~ ^($watchers)$ ]] || echo 1 >"$f"
	done
	echo 0 >"$FAILSLAB/verbose"
	echo Y >"$FAILSLAB/cache-filter"
	case $1 in
	all) echo N >"$FAILSLAB/ignore-gfp-wait" ;;
	atomic) echo Y >"$FAILSLAB/ignore-gfp-wait" ;;
	esac
}

# The same for pages, except for pages of programs.
faults_pages_on() {
	echo 0 >"$PAGEFAIL/verbose"
	echo 0 >"$PAGEFAIL/min-order"
	echo N >"$PAGEFAIL/ignore-gfp-wait"
	echo Y >"$PAGEFAIL/ignore-gfp-highmem"
}

faults_off() {
	echo 0 >"$FAILSLAB/probability"
	echo Y >"$FAILSLAB/ignore-gfp-wait"
	echo N >"$FAILSLAB/cache-filter"
	[ ! -d "$PAGEFAIL" ] || echo Y >"$PAGEFAIL/ignore-gfp-wait"
}

# The objects that programs have of every device. Objects of the kernel itself do not
# change.
objects() { rdma resource show; }
objects_are() { [ "$(objects)" = "$1" ]; }

# swept KIND...: all calls in the report must be swept, and these kinds must be among
# them. ODD holds KIND=ERRNO entries: errors other than ENOMEM that code outside the
# driver returns for a lack of memory.
ODD=()
swept() {
	local kind line odd all=''
	mrc_faults report "$SWEEP" >"$WORK/report" || all=1
	sed 's/^/figure: /' "$WORK/report"
	[ -z "$all" ] || fail "not swept: $(grep ': not-swept' "$WORK/report" | cut -d: -f1 | paste -sd,)"
	for kind in "$@"; do
		grep -q "^$kind: swept" "$WORK/report" || fail "no call of the kind '$kind'"
	done
	grep -E 'odd [1-9]' "$WORK/report" >"$WORK/odd" || true
	while read -r line; do
		odd=${line%%:*}=${line##* }
		[[ " ${ODD[*]-} " == *" $odd "* ]] ||
			fail "a lack of memory became something else: $line"
	done <"$WORK/odd"
	grep -q -E 'refused [1-9]' "$WORK/report" || fail "nothing was refused"
}

# The prefix that runs programs, usually in host A.
below_in=(in_a)
below() { # LABEL COMMAND...
	"${below_in[@]}" mrc_faults run "$SWEEP" "$@"
}

# sweep LABEL ROUNDS KIND[,KIND...] COMMAND...: runs a program in host A again and
# again until all of its calls are swept. Its result must be the usual one each time.
sweep() {
	local label=$1 rounds=$2 before rc kinds n
	IFS=, read -r -a kinds <<<"$3"
	shift 3
	rm -f "$SWEEP"
	before=$(objects)
	for ((n = 1; n <= rounds; n++)); do
		rc=0
		below "$label" "$@" >"$WORK/swept.out" 2>&1 || rc=$?
		if [ "$rc" != 0 ] || grep '^not ok' "$WORK/swept.out"; then
			tail -n 30 "$WORK/swept.out"
			mrc_faults report "$SWEEP" || true
			fail "round $n of $*: status $rc"
		fi
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	swept "${kinds[@]}"
	wait_for 10 objects_are "$before"
}

# The same for a session of mrc_verify; both ends run with failing allocations.
sweep_verify() { # LABEL ROUNDS KINDS OPTIONS...
	local label=$1 rounds=$2 before kinds n
	IFS=, read -r -a kinds <<<"$3"
	shift 3
	rm -f "$SWEEP"
	before=$(objects)
	with_a=(mrc_faults run "$SWEEP" "$label")
	with_b=("${with_a[@]}")
	for ((n = 1; n <= rounds; n++)); do
		verify -t 120 "$@"
		! mrc_faults report "$SWEEP" >/dev/null || break
	done
	with_a=() with_b=()
	swept "${kinds[@]}"
	wait_for 10 objects_are "$before"
}
