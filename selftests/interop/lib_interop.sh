# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Suites that nobody here wrote, run on rxe and on mrc in one boot. rxe is the
# yardstick: what passes there has to pass on mrc. A suite is a list of cases:
#
#	. "$(dirname "$0")/lib_interop.sh"
#	case_run() { ... }		# runs case $1 on the devices that are up
#	cases() { echo "name ..."; }	# one name a line
#	interop SUITE
#
# A case that fails or skips on mrc needs a line "SUITE CASE REASON" in the file
# expected-skips, and one that fails must not have passed on rxe; everything else
# is a failure. A case skips by itself where the device says that it lacks what
# the case is about.
#
# Where a case runs: two ends, at_a COMMAND and at_b COMMAND, with devices DEV_A
# and DEV_B, addresses IP_A and IP_B on them (IP6_* on mrc), indices of these
# addresses GIDX_A and GIDX_B, and MG_B for programs' own TCP conversation. rxe
# has one plane in the initial namespace, mrc four between two namespaces, or
# where the suite sets TOPOLOGY=init, four in the initial one as well: drivers
# that make their ids there find no other device.
#
# In the environment: INTEROP_LOSS=1, the planes of mrc lose 1 % (less in cases
# that say so and why) and reorder 10 %, rxe's do not; INTEROP_SHORT=1, about one
# case of each program; INTEROP_KINDS, "rxe mrc" or one of them.
INTEROP_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$INTEROP_DIR/../net/lib.sh"
. "$INTEROP_DIR/../net/lib_rxe.sh"
. "$INTEROP_DIR/../net/lib_init.sh"

TOPOLOGY=hosts
INTEROP_PLANES=${INTEROP_PLANES:-4}
INTEROP_LOSS=${INTEROP_LOSS:-}
read -r -a KINDS <<<"${INTEROP_KINDS:-rxe mrc}"

# choose NAME... -- NAME...: the cases of a suite, one a line; only those before
# the -- where time is short.
choose() {
	while [ "$#" -gt 0 ]; do
		if [ "$1" != -- ]; then
			echo "$1"
		elif [ -n "${INTEROP_SHORT:-}" ]; then
			return
		fi
		shift
	done
}

at_a() { "${AT_A[@]}" "$@"; }
at_b() { "${AT_B[@]}" "$@"; }

device_up() { # rxe|mrc
	KIND=$1
	case $KIND in
	rxe)
		rxe_up
		AT_A=(env) AT_B=(env)
		DEV_A=rxea DEV_B=rxeb
		IP_A=198.51.100.1 IP_B=198.51.100.2 MG_B=127.0.0.1
		;;
	mrc)
		DEV_A=mrca DEV_B=mrcb
		IP_A=$A4 IP_B=$B4 IP6_A=$A6 IP6_B=$B6
		case $TOPOLOGY in
		init)
			init_up "$INTEROP_PLANES"
			AT_A=(env) AT_B=(env) MG_B=127.0.0.1
			;;
		*)
			topo_up "$INTEROP_PLANES"
			AT_A=(ip netns exec "$HOST_A") AT_B=(ip netns exec "$HOST_B")
			MG_B=$MGMT_B
			;;
		esac
		;;
	esac
	GIDX_A=$(gid_index "$DEV_A" 1 "$IP_A")
	GIDX_B=$(gid_index "$DEV_B" 1 "$IP_B")
}

# gids_v6: GIDX6_A and GIDX6_B, indices of GIDs that are IPv6 addresses: those of
# the hosts on mrc, link-local ones on rxe, which has no others.
gids_v6() {
	if [ "$KIND" = rxe ]; then
		wait_for 30 link_local ra
		wait_for 30 link_local rb
		GIDX6_A=$(gid_index "$DEV_A" 1 "$(link_local ra)")
		GIDX6_B=$(gid_index "$DEV_B" 1 "$(link_local rb)")
	else
		GIDX6_A=$(gid_index "$DEV_A" 1 "$IP6_A")
		GIDX6_B=$(gid_index "$DEV_B" 1 "$IP6_B")
	fi
}

# link_local NETDEV: its link-local address, once it may be used.
link_local() {
	ip -6 -o addr show dev "$1" scope link -tentative | grep -o 'fe80:[0-9a-f:]*'
}

device_down() {
	case $KIND in
	rxe) rxe_down ;;
	mrc)
		init_down
		topo_down
		;;
	esac
}

# All planes of mrc reorder, and what else the arguments of netem say.
impair() { # [NETEM]
	local i h
	for h in a b; do
		for ((i = 1; i <= INTEROP_PLANES; i++)); do
			# shellcheck disable=SC2086 # a list of arguments
			"at_$h" tc qdisc replace dev "p$h$i" root \
				netem delay 2ms reorder 90% ${1:-}
		done
	done
}

# A case whose program counts on every datagram, which UD does not promise:
# nothing is lost, reordering stays. Nor does UC, to which that is a loss too.
datagrams() {
	[ "$KIND" != mrc ] || [ -z "$INTEROP_LOSS" ] || impair
}

# A case whose program does not wait for its connection to be established, and
# stands still for ever when the message that says so, RTU, is lost: then a
# server's rdma_disconnect() sends nothing. Datagrams to QP 1 only get reordered.
whole_cm() {
	local i h band
	[ "$KIND" = mrc ] && [ -n "$INTEROP_LOSS" ] || return 0
	in_order
	for h in a b; do
		for ((i = 1; i <= INTEROP_PLANES; i++)); do
			"at_$h" tc qdisc add dev "p$h$i" root handle 1: prio bands 2 \
				priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
			for band in 1 2; do
				# shellcheck disable=SC2046 # a list of arguments
				"at_$h" tc qdisc add dev "p$h$i" parent "1:$band" netem delay 2ms \
					reorder 90% $([ "$band" = 2 ] || echo loss 1%)
			done
			# The BTH's destination follows 28 bytes of IP and UDP, and 5 of its own.
			"at_$h" tc filter add dev "p$h$i" parent 1: protocol ip u32 \
				match ip protocol 17 0xff match ip dport 4791 0xffff \
				match u32 1 0xffffff at 32 flowid 1:2
		done
	done
}

in_order() {
	local i h
	[ "$KIND" = mrc ] && [ -n "$INTEROP_LOSS" ] || return 0
	for h in a b; do
		for ((i = 1; i <= INTEROP_PLANES; i++)); do
			"at_$h" tc qdisc del dev "p$h$i" root
		done
	done
}

# Part of the clean-up of a script that stops half way (lib.sh).
fabric_down() { rxe_down; }

# Every case starts with this.
lossy() {
	[ "$KIND" != mrc ] || [ -z "$INTEROP_LOSS" ] || impair "loss 1%"
}

# pair LIMIT SERVER... -- CLIENT...: the server at B until PAIR_READY succeeds,
# then the client at A; both must succeed. Their output is in $WORK/server and
# $WORK/client.
PAIR_READY=(tcp_listens 18515)
pair() {
	local limit=$1 server=() crc=0 src=0 spid
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	rm -f "$WORK/server" "$WORK/client"
	start "$WORK/server" "${AT_B[@]}" "${server[@]}"
	spid=$started
	wait_for 30 "${PAIR_READY[@]}" || {
		cat "$WORK/server"
		fail "the server is not ready"
	}
	start "$WORK/client" "${AT_A[@]}" "$@"
	finished "$started" "$limit" || crc=$?
	[ "$crc" = 0 ] || kill "$spid" 2>/dev/null || true
	finished "$spid" 30 || src=$?
	if [ "$crc" != 0 ] || [ "$src" != 0 ]; then
		last_words "$crc" "$src" "$*"
		fail "$*"
	fi
}

tcp_listens() { at_b ss -Hltn "sport = :$1" | grep -q LISTEN; }
# A server that listens everywhere has an object on each device, one after the
# other.
cm_listens() { at_b rdma resource show cm_id link "$DEV_B" | grep -q LISTEN; }

# group_joined PATTERN...: lines of what B's netdevs have joined, any of them.
group_joined() { at_b ip maddr show | grep -q -i -E "$(IFS='|' && echo "$*")"; }

# Runs every case on the device; the verdict is the first word of
# $WORK/KIND/CASE (pass, fail, skip), a reason follows.
run_cases() { # rxe|mrc
	local name rc
	mkdir -p "$WORK/$1"
	while read -r name; do
		rm -f "$WORK/skip"
		lossy
		set +e
		(
			bg_pids=()
			trap stop_all EXIT
			set -e
			case_run "$name"
		) >"$WORK/case.log" 2>&1 </dev/null
		rc=$?
		set -e
		case $rc in
		0) echo pass ;;
		4) echo "skip $(cat "$WORK/skip" 2>/dev/null)" ;;
		*) echo "fail $({ grep -i -E 'fail|error' "$WORK/case.log" || tail -n 2 "$WORK/case.log"; } |
			head -n 2 | tr '\n' ' ' | cut -c1-200)" ;;
		esac >"$WORK/$1/$name"
		cp "$WORK/case.log" "$WORK/$1/$name.log"
		echo "# $1 $name: $(cat "$WORK/$1/$name")"
	done < <(cases)
}

verdict() { # KIND CASE
	local v=none
	[ ! -f "$WORK/$1/$2" ] || read -r v _ <"$WORK/$1/$2"
	echo "$v"
}

expected_reason() { # SUITE CASE
	awk -v s="$1" -v c="$2" '$1 == s && $2 == c {
		$1 = $2 = ""; sub(/^ +/, ""); print; exit }' "$INTEROP_DIR/expected-skips"
}

judge_case() { # SUITE CASE
	local rxe mrc reason
	rxe=$(verdict rxe "$2") mrc=$(verdict mrc "$2")
	tap_count=$((tap_count + 1))
	if [ "$mrc" = pass ] || [ "${KINDS[*]}" = rxe ]; then
		echo "ok $tap_count - $2 (rxe: $rxe, mrc: $mrc)"
		return
	fi
	reason=$(expected_reason "$1" "$2")
	if [ -n "$reason" ] && { [ "$rxe" != pass ] || [ "$mrc" = skip ]; }; then
		echo "ok $tap_count - $2 # SKIP rxe: $rxe, mrc: $mrc; $reason"
		return
	fi
	tail -n 25 "$WORK/mrc/$2.log" 2>/dev/null | comment
	echo "# mrc: $(cat "$WORK/mrc/$2" 2>/dev/null); rxe: $rxe"
	echo "not ok $tap_count - $2"
	tap_bad=$((tap_bad + 1))
}

interop() { # SUITE
	local kind name
	for kind in "${KINDS[@]}"; do
		device_up "$kind"
		run_cases "$kind"
		device_down
	done
	for kind in "${KINDS[@]}"; do
		echo "# $1 on $kind: $(find "$WORK/$kind" -type f ! -name '*.log' \
			-exec cut -d' ' -f1 {} \; | sort | uniq -c | xargs)"
	done
	while read -r name; do
		judge_case "$1" "$name"
	done < <(all_names)
	tap_end
}

# Cases of either device: suites that report many results find them as they run.
all_names() {
	find "${KINDS[@]/#/$WORK/}" -type f ! -name '*.log' -printf '%f\n' | sort -u
}

# Planes go down and come back, one after the other, until flap_stop.
flap_start() {
	flap >"$WORK/flap" 2>&1 </dev/null &
	flap_pid=$!
	bg_pids+=("$flap_pid")
}

flap() {
	local i
	set -e
	while :; do
		for i in 1 2 3; do
			at_a ip link set "pa$i" down
			sleep 0.5
			plane_back "$i"
			echo "$i"
			sleep 0.5
		done
	done
}

# The kernel drops a plane's routes and neighbours with the link.
plane_back() { # I
	at_a ip link set "pa$1" up
	route_commands a "$1" 4 | at_a ip -batch -
	route_commands b "$1" 4 | at_b ip -batch -
}

# What runs meanwhile goes on until this holds.
flapped() {
	[ "$KIND" != mrc ] || [ "$(wc -l <"$WORK/flap")" -ge 3 ]
}

flap_stop() {
	local i
	! process_gone "$flap_pid" || fail "$(cat "$WORK/flap")"
	kill "$flap_pid"
	wait "$flap_pid" 2>/dev/null || true
	flapped || fail "no plane was cut meanwhile"
	for i in 1 2 3; do
		plane_back "$i"
	done
}
