# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Runs the traffic programs on the two hosts: mrc_verify, which checks every byte, and
# stock perftest. Sourced by lib.sh. The two ends talk to each other over the
# management link, so impairments of the planes do not affect their control
# connection.

# Prefixes of the programs on host A and on host B, for example env NAME=VALUE.
with_a=() with_b=()

# The last output of the two sides, for the report of a failure.
last_words() { # CLIENT-STATUS SERVER-STATUS COMMAND
	echo "--- client (status $1): $3"
	tail -n 25 "$WORK/client"
	echo "--- server (status $2)"
	tail -n 25 "$WORK/server"
}

# Measures the machine's pauses until pauses_end, which puts what stood_still.py prints in
# $pause: with "longest" the longest one in ms, without it the seconds that were lost.
pauses_begin() { # [longest]
	start "$WORK/still" python3 "$NET_DIR/stood_still.py" "$@"
	still=$started
	wait_for 30 grep -q ready "$WORK/still"
}
pauses_end() {
	kill "$still"
	finished "$still" 30 || fail "$(cat "$WORK/still")"
	pause=$(tail -n 1 "$WORK/still")
}

# verify [-6] [-r] [-t SECONDS] OPTIONS...: one mrc_verify session, verified on both
# sides. -6 uses the IPv6 addresses; -r sends from B to A; -t limits the total time
# (default 120). The output of the two sides is in $WORK/client and $WORK/server.
verify() {
	verify_start "$@"
	verify_finish
}

# The same in two steps, for tests that act in between.
verify_start() {
	local gid_a=$A4 gid_b=$B4 client=a server=b to=$MGMT_B
	verify_limit=120
	while :; do
		case $1 in
		-6) gid_a=$A6 gid_b=$B6 ;;
		-r) client=b server=a to=$MGMT_A ;;
		-t) verify_limit=$2 && shift ;;
		*) break ;;
		esac
		shift
	done
	local -n cgid=gid_$client sgid=gid_$server
	local -n cwith=with_$client swith=with_$server
	rm -f "$WORK/server" "$WORK/client"
	start "$WORK/server" ip netns exec "host$server" timeout "$(((verify_limit + 20) * ${LAB_TIME:-1}))" \
		"${swith[@]}" mrc_verify -d "mrc$server" --gid "$sgid"
	verify_server=$started
	start "$WORK/client" ip netns exec "host$client" timeout "$(((verify_limit + 20) * ${LAB_TIME:-1}))" \
		"${cwith[@]}" mrc_verify -d "mrc$client" --gid "$cgid" "$@" "$to"
	verify_client=$started
	verify_args=$*
}

verify_finish() {
	local crc=0 src=0
	finished "$verify_client" "$verify_limit" || crc=$?
	finished "$verify_server" 30 || src=$?
	if [ "$crc" != 0 ] || [ "$src" != 0 ]; then
		last_words "$crc" "$src" "mrc_verify $verify_args"
		[ "$crc" != 77 ] || [ "$src" = 124 ] ||
			skip "$(sed -n 's/^mrc_verify: SKIP: //p' "$WORK/client")"
		fail "mrc_verify $verify_args"
	fi
	grep -q '^mrc_verify: OK' "$WORK/client" || fail "no OK from the client"
	grep -q '^mrc_verify: OK' "$WORK/server" || fail "no OK from the server"
}

# Ends a session of --duration 1000 as if its time were over. Messages in flight
# complete and are verified.
verify_stop() {
	kill -INT "$verify_client"
	verify_finish
}

# The same. After ctr_take, no queue pair may have had an error.
verify_stop_well() {
	verify_stop
	ctr_quiet 20
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
}

# A figure of the last output line, for example: verified client msgs
verified() { # client|server NAME
	sed -n "s/^mrc_verify: OK.* $2=\([0-9.]*\).*/\1/p" "$WORK/$1"
}

# Whether both ends of a time-limited session are moving data.
verify_running() {
	grep -q '^t=[0-9]' "$WORK/client"
}

listening() { # NETNS PORT
	ip netns exec "$1" ss -Hltn "sport = :$2" | grep -q LISTEN
}

# perftest TOOL OPTIONS...: stock perftest, server on B, client on A. Output:
# $WORK/client and $WORK/server.
perftest() {
	local crc=0 src=0
	perftest_start "$@"
	finished "$perftest_client" "${PERFTEST_LIMIT:-100}" || crc=$?
	finished "$perftest_server" 20 || src=$?
	if [ "$crc" != 0 ] || [ "$src" != 0 ]; then
		last_words "$crc" "$src" "$*"
		fail "$*"
	fi
	if grep -i -E 'completion with error|failed status|Unexpected' "$WORK/client" "$WORK/server"; then
		fail "$* reports an error"
	fi
}

perftest_start() { # TOOL OPTIONS...
	perftest_between "$HOST_A" mrca "$A4" "$HOST_B" mrcb "$B4" "$MGMT_B" "$@"
}

# The same between any two hosts:
# FROM is NETNS DEV ADDRESS, TO is NETNS DEV ADDRESS MANAGEMENT-ADDRESS.
perftest_between() { # FROM... TO... TOOL OPTIONS...
	local from=$1 fdev=$2 to=$4 tdev=$5 mgmt=$7 tool=$8 ga gb
	ga=$(gid_index "$2" 1 "$3")
	gb=$(gid_index "$5" 1 "$6")
	shift 8
	rm -f "$WORK/server" "$WORK/client"
	start "$WORK/server" ip netns exec "$to" "${with_b[@]}" "$tool" -F -d "$tdev" -x "$gb" "$@"
	perftest_server=$started
	wait_for 30 listening "$to" 18515 || {
		cat "$WORK/server"
		fail "$tool: the server does not listen"
	}
	start "$WORK/client" ip netns exec "$from" "${with_a[@]}" "$tool" -F -d "$fdev" -x "$ga" "$@" "$mgmt"
	perftest_client=$started
}

# Field N of the line of message size SIZE in the client's report.
perftest_field() { # SIZE N
	awk -v size="$1" -v n="$2" '$1 == size { v = $n } END { print v }' "$WORK/client"
}

# Numbers the results that a Python program printed (standard input). PREFIX goes
# before their names.
adopt() { # [PREFIX]
	local line prefix=${1:-}
	while IFS= read -r line; do
		case $line in
		'ok '*)
			tap_count=$((tap_count + 1))
			echo "ok $tap_count - $prefix${line#ok }"
			;;
		'not ok '*)
			tap_count=$((tap_count + 1))
			tap_bad=$((tap_bad + 1))
			echo "not ok $tap_count - $prefix${line#not ok }"
			;;
		*) echo "# ${line#\# }" ;;
		esac
	done
}

# Runs a program that prints results, as adopt() takes them. A program that prints no
# result, or the reason why it stopped, has failed.
adopt_run() { # PREFIX COMMAND...
	local prefix=$1
	shift
	"$@" >"$WORK/adopted" 2>&1 || true
	grep -q -E '^(not )?ok ' "$WORK/adopted" || echo "not ok $*: no result" >>"$WORK/adopted"
	! grep -q -E '^(lib)?mrc_ctl: ' "$WORK/adopted" ||
		echo "not ok $*: stopped" >>"$WORK/adopted"
	adopt "$prefix" <"$WORK/adopted"
}

# by_hand WHAT PREFIX LEAST PROGRAM [ARG...]: host A sends hand-made packets to B
# (mrc_target.py). The results of PROGRAM become results of this script, with PREFIX
# before their names. One more result says that at least LEAST of WHAT were tried.
by_hand() {
	local what=$1 prefix=$2 least=$3 rc=0
	shift 3
	in_a timeout $((600 * ${LAB_TIME:-1})) python3 "$NET_DIR/$1" "$(mac hostb pb1)" "$B4" "$A4" "$B6" "$A6" \
		"${@:2}" >"$WORK/by_hand" 2>&1 || rc=$?
	adopt "$prefix" <"$WORK/by_hand"
	subtest "all $what were tried" tried "$least" "$rc"
}

# A program that stops early has tried fewer packets than it should.
tried() { # LEAST STATUS
	check "$(grep -c -E '^(not )?ok ' "$WORK/by_hand")" '>=' "$1" "packets made by hand"
	check "$2" == 0 "status of the program"
}

# A controller: runs mrcctl on that host's device.
ctl() { # a|b WORDS...
	ip netns exec "host$1" mrcctl -d "mrc$1" "${@:2}"
}

# A driver detail of each RC queue pair of mrca, lines "QPN VALUE".
qp_details() { # NAME
	in_a rdma -j -dd resource show qp link mrca | sed 's/},{/\n/g' | sed -n \
		"s/.*\"lqpn\":\([0-9]*\),.*\"type\":\"RC\".*\"drv_$1\":\([0-9]*\).*/\1 \2/p" | sort -u
}

# The EVs that "ev show ID" prints (standard input), one line "INDEX EV STATE" each.
evs_shown() {
	awk '$1 ~ /^[0-9]+$/ && NF == 3 { print $1, $2, $3 }'
}

# Those of "qp show QPN", one line "PORT ENTROPY STATE" each.
qp_evs_shown() {
	awk '$1 ~ /^[0-9]+$/ && $3 == "port" { print $4, $2, $5 }'
}

# Whether "monitor ev" has its event queue open, which is a file of the device.
hears_events() { # PID
	local fd
	for fd in $(descendants "$1") "$1"; do
		! readlink "/proc/$fd/fd/"* 2>/dev/null | grep -q 'anon_inode:.*mrcevents' || return 0
	done
	return 1
}

# The answers in the JSON of "probe" (standard input), one line "EV PORT NANOSECONDS"
# each.
answers() {
	sed 's/},{/\n/g' |
		sed -n 's/.*"ev":"\([^"]*\)","answered":true,"port":\([0-9]*\),"rtt_ns":\([0-9]*\),.*/\1 \2 \3/p'
}

# The prefix that runs a program without privileges.
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

mac() { # NETNS DEV
	ip -n "$1" -j link show dev "$2" | sed -n 's/.*"address":"\([0-9a-f:]*\)".*/\1/p'
}

# Sets $uctx_refused, the prefix for a program whose context an ioctl call is going to
# refuse. ib_uverbs then leaks the reference of an RDMA object to the program. The
# leaked memory bears the name of the program that started it, here uctx-refused, so
# that "# kmemleak-ok: comm "uctx-refused"" in a script tolerates this leak alone.
refused_by_core() {
	cp "$(command -v bash)" "$WORK/uctx-refused"
	# shellcheck disable=SC2016,SC2034 # expanded there, used by scripts
	uctx_refused=("$WORK/uctx-refused" -c '"$@"; exit $?' -)
}

# --- figures ------------------------------------------------------------------

# Subtests are separate processes. keep saves a figure for other subtests.
keep() { echo "$1 $2" >>"$WORK/results"; } # NAME VALUE
result() { awk -v n="$1" '$1 == n { v = $2 } END { print v }' "$WORK/results"; }

# measure SECONDS [DEV]: sets $measured to the goodput in kbit/s that DEV (default
# mrcb) receives. It is the median of intervals of one second, so that a short pause
# of the machine does not spoil it. Afterwards counters can be compared over the whole
# time.
measure() {
	local from now bytes windows=() n hw dev=${2:-mrcb}
	ctr_mark
	hw_now "$dev" rx_data_bytes
	now_ms
	for n in $(seq "$1"); do
		from=$now bytes=$hw
		sleep 1
		hw_now "$dev" rx_data_bytes
		now_ms
		windows+=($(((hw - bytes) * 8 / (now - from))))
	done
	ctr_take
	measured=$(median "${windows[@]}")
}

median() { # NUMBER...
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

# steady_bw OPTIONS...: starts a long ib_write_bw and waits until data flows. perftest
# takes each option only once, so the timeout (-u) is a variable.
STEADY_TIMEOUT=17		# 537 ms
steady_bw() {
	local from
	from=$(ctr_now mrcb rx_data_pkts)
	perftest_start ib_write_bw -s 65536 -D 1000 -u "$STEADY_TIMEOUT" "$@"
	wait_for 30 ctr_at_least mrcb rx_data_pkts $((from + 200))
}

# The bandwidth test runs until it is killed.
steady_bw_end() {
	kill -9 "$perftest_client" "$perftest_server" 2>/dev/null || true
	wait "$perftest_client" "$perftest_server" 2>/dev/null || true
	wait_for 30 no_qps
}

# No pipe here: if the reader of a pipe ends early, the pipe fails, which would read
# as "no QPs".
no_qps() {
	[[ $(rdma resource show qp) != *'type RC'* ]]
}

# A rate for a shaped plane in kbit/s. N planes together need less than half of what
# this machine can move, and the rate is no higher than needed.
pick_rate() { # CAPACITY_KBIT N
	local rate=$(($1 * 45 / 100 / $2))
	[ "$rate" -le 24000 ] || rate=24000
	echo "$rate"
}

percent() { # A B: A of B in percent, one digit
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b ? a * 100 / b : 0 }'
}

mbit() { awk -v k="$1" 'BEGIN { printf "%.2f", k / 1000 }'; }
