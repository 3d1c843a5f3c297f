# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Sourced by every script of this directory: TAP output, bounded waiting, background
# processes that never outlive their subtest, and clean-up. The topology is in
# lib_topo.sh, counters and memory in lib_count.sh, running the traffic programs in
# lib_run.sh. Scripts that need a fabric of switches also source lib_fabric.sh.
#
# Use:
#	. "$(dirname "$0")/lib.sh"
#	some_test() { ...; }           # fails by a failing command or fail()
#	subtest "what must hold" some_test ARGS...
#	tap_end
#
# A subtest runs in a subshell under `set -e`. Its output becomes TAP comments. Its
# variables are local to it. The topology is in the kernel, so all subtests share it. A
# call of skip() ends a subtest with a reason.
set -euo pipefail
shopt -s inherit_errexit

if [ "$(id -u)" != 0 ]; then
	echo "Bail out! needs root (these scripts run in the lab's guest)"
	exit 1
fi

NET_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=$(mktemp -d /tmp/mrc-net.XXXXXX)

tap_count=0
tap_bad=0
tap_done=''
bg_pids=()

# --- time ---------------------------------------------------------------------

# Milliseconds, in $now. Starts no process: under emulation a fork takes longer than
# the intervals to be measured.
now_ms() {
	now=$((${EPOCHREALTIME/[.,]/} / 1000))
}

# Waits for a while. Starts no process either: nothing ever comes from this pipe.
mkfifo "$WORK/never"
exec {never}<>"$WORK/never"
nap() { # SECONDS
	read -r -t "$1" -u "$never" || true
}

# wait_for SECONDS COMMAND...: polls until COMMAND succeeds. On failure it prints what
# it waited for. The limit ends a test that hangs; it does not judge how long an
# operation takes. Half a minute is a short limit on a shared machine. On a kernel
# that is slow by design, LAB_TIME is the factor by which limits are longer.
wait_for() {
	local limit=$1 end now
	shift
	now_ms
	end=$((now + limit * ${LAB_TIME:-1} * 1000))
	until "$@" >/dev/null 2>&1; do
		now_ms
		if [ "$now" -ge "$end" ]; then
			echo "not within $((limit * ${LAB_TIME:-1})) s: $*"
			return 1
		fi
		nap 0.05
	done
}

# Whether COMMAND prints the same output again after that many seconds.
same_after() { # SECONDS COMMAND...
	local was seconds=$1
	shift
	was=$("$@")
	nap "$seconds"
	[ "$("$@")" = "$was" ]
}

# --- results ------------------------------------------------------------------

fail() {
	echo "FAIL: $*"
	exit 1
}

skip() {
	echo "$*" >"$WORK/skip"
	exit 4
}

# check A OP B WHAT...: integer comparison that says what it compared.
check() {
	local a=$1 op=$2 b=$3 ok=''
	shift 3
	case $op in
	==) [ "$a" -eq "$b" ] && ok=1 ;;
	!=) [ "$a" -ne "$b" ] && ok=1 ;;
	'<') [ "$a" -lt "$b" ] && ok=1 ;;
	'<=') [ "$a" -le "$b" ] && ok=1 ;;
	'>') [ "$a" -gt "$b" ] && ok=1 ;;
	'>=') [ "$a" -ge "$b" ] && ok=1 ;;
	*) fail "check: unknown operator $op" ;;
	esac
	[ -n "$ok" ] || fail "$*: $a, expected $op $b"
}

# refuse REGEX COMMAND...: COMMAND must fail, and its output must match REGEX.
refuse() {
	local regex=$1 out
	shift
	if out=$("$@" 2>&1); then
		fail "succeeded but must not: $*"
	fi
	grep -q -i -E -- "$regex" <<<"$out" ||
		fail "'$*' failed as it must, but without /$regex/: $out"
}

comment() { sed 's/^/# /'; }

subtest() { # NAME COMMAND...
	local name=$1 log=$WORK/subtest.log rc since now
	shift
	tap_count=$((tap_count + 1))
	rm -f "$WORK/skip"
	now_ms
	since=$now
	set +e
	(
		bg_pids=()
		trap stop_all EXIT
		set -e
		"$@"
	) >"$log" 2>&1
	rc=$?
	set -e
	now_ms
	echo "# $name: $(((now - since + 500) / 1000)) s"
	case $rc in
	0)
		# Keep the figures that a passing subtest measured.
		grep '^figure:' "$log" | comment || true
		echo "ok $tap_count - $name"
		;;
	4)
		if [ -s "$WORK/skip" ]; then
			echo "ok $tap_count - $name # SKIP $(cat "$WORK/skip")"
		else
			comment <"$log"
			echo "not ok $tap_count - $name"
			tap_bad=$((tap_bad + 1))
		fi
		;;
	*)
		echo "# ended with status $rc; its output:"
		tail -n 60 "$log" | comment
		{ declare -F ctr_report >/dev/null && ctr_report; } 2>/dev/null |
			comment || true
		dmesg | tail -n 8 | comment
		echo "not ok $tap_count - $name"
		tap_bad=$((tap_bad + 1))
		;;
	esac
}

# Must be the last command of a script.
tap_end() {
	tap_done=1
	echo "1..$tap_count"
	[ "$tap_bad" = 0 ]
}

# Skips a whole script that cannot run here, with a reason.
tap_skip_all() {
	tap_done=1
	echo "1..0 # SKIP $*"
	exit 4
}

# --- background processes -----------------------------------------------------

# start LOGFILE COMMAND...: runs COMMAND in the background until the subtest ends.
# Sets $started to the process id. COMMAND must be a program: for a shell function the
# id would be that of a shell around the program.
start() {
	local log=$1
	shift
	# Empty the log now and not in the child: its old contents must not be read as
	# output of COMMAND.
	: >"$log"
	"$@" >"$log" 2>&1 </dev/null &
	started=$!
	bg_pids+=("$started")
}

# finished PID SECONDS: waits for a started process and returns its status. A process
# that does not end in time is killed and counts as status 124.
finished() {
	local pid=$1 limit=$2
	if ! wait_for "$limit" process_gone "$pid"; then
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		return 124
	fi
	wait "$pid"
}

# A process that has ended but was not waited for is a zombie.
process_gone() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } == Z* ]]
}

descendants() {
	local child
	local children=''
	{ read -r children <"/proc/$1/task/$1/children"; } 2>/dev/null || true
	for child in $children; do
		descendants "$child"
		echo "$child"
	done
}

# kill_tree PID: ends a process in the background, and what it has started. They are stopped
# first, so that none of them starts another one meanwhile.
kill_tree() {
	# shellcheck disable=SC2046 # a list of numbers
	kill -STOP $(descendants "$1") "$1" 2>/dev/null || true
	# shellcheck disable=SC2046
	kill -9 $(descendants "$1") "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

stop_all() {
	local pid
	for pid in ${bg_pids[@]+"${bg_pids[@]}"}; do
		kill_tree "$pid"
	done
	bg_pids=()
}

# --- clean-up -----------------------------------------------------------------

script_exit() {
	local rc=$?
	set +e
	stop_all
	declare -F fabric_down >/dev/null && fabric_down
	declare -F topo_down >/dev/null && topo_down
	rm -rf "$WORK"
	if [ -z "$tap_done" ]; then
		echo "Bail out! the script itself stopped (status $rc)"
	fi
}
trap script_exit EXIT
trap 'exit 130' INT TERM

. "$NET_DIR/lib_topo.sh"
. "$NET_DIR/lib_count.sh"
. "$NET_DIR/lib_run.sh"

if ! modprobe mrc; then
	echo "Bail out! the module mrc does not load"
	tap_done=1
	exit 1
fi
