#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154
#
# The job of selftests/lab/devfuzz.sh, in a guest: rounds of mrc_devfuzz with one seed
# after the other. Each round has other programs, packets, an administrator, allocations
# that fail; the seed chooses. Ends at the first round that is not well.
#
# usage: rounds.sh SEED ROUNDS [mrc|rxe]
# With rxe, the programs use devices of rxe, without an administrator and without the calls of
# controllers: defects found in rxe show that the fuzzer finds real ones.
. "$(dirname "$0")/../net/lib.sh"
. "$NET_DIR/lib_faults.sh"
. "$NET_DIR/lib_devfuzz.sh"

guest=$NET_DIR/../lab/guest
# Data races between other parts of the kernel are not looked at.
trouble() {
	local bad
	bad=$(
		dmesg --notime | awk -v ours=1 -f "$guest/races.awk"
		dmesg --notime | awk -f "$guest/races.awk" |
			grep -E -f <(grep -v '^#' "$guest/kernel-trouble") | head -n 3
	)
	[ -n "$bad" ] || return 1
	dmesg | tail -n 120
	echo "$bad"
}

# Options by the seed.
mix() { # SEED
	local n=$1
	echo "--coverage $WORK/coverage"
	echo "--lives $((3 + n % 4)) --programs $((2 + n / 4 % 5)) --actions $((300 + n % 3 * 300))"
	[ $((n % 2)) = 0 ] || echo "--packets 3000"
	case $((n / 2 % 4)) in
	0) ;;
	1) echo "--kinds plain,wild" ;;
	2) echo "--kinds plain,control,wild" ;;
	3) echo "--kinds plain,faults" ;;
	esac
}

# Controllers, packets and calls without memory may harm the consumer. Without --kinds there
# are programs of all kinds.
beside_consumer() { # SEED OPTION...
	local run=fuzz
	[[ ! " $* " =~ \ --kinds\ plain,wild\  ]] || [[ " $* " =~ \ --packets\  ]] ||
		run=fuzz_beside_consumer
	"$run" "$@"
}

one_round() { # SEED
	local run=fuzz options
	read -r -a options < <(mix "$1" | tr '\n' ' ')
	case $(($1 / 8 % 3)) in
	1) run=fuzz_administered ;;
	2) run=beside_consumer ;;
	esac
	[ ! -d "$FAILSLAB" ] || faults_on all
	"$run" "$1" "${options[@]}"
	[ ! -d "$FAILSLAB" ] || faults_off
}

rxe_topo() {
	topo_down
	hosts_up
	plane_add 1 4500
	modprobe rdma_rxe
	in_a rdma link add rxea type rxe netdev pa1
	in_b rdma link add rxeb type rxe netdev pb1
	wait_for 30 gid_index rxea 1 "$A4"
	wait_for 30 gid_index rxeb 1 "$B4"
}

rxe_round() { # SEED
	local which=plain,wild packets=()
	[ $(($1 % 2)) = 0 ] || which=plain
	[ $(($1 / 2 % 2)) = 0 ] || packets=(--packets 3000)
	HOSTS_FUZZED=("hosta:rxea:pa1" "hostb:rxeb:pb1")
	fuzz "$1" --lives $((3 + $1 % 4)) --programs $((2 + $1 / 4 % 5)) --kinds $which \
		"${packets[@]}"
}

# The file systems of some guests' /out cannot be mapped.
[ ! -f /out/coverage ] || cp /out/coverage "$WORK/coverage"
seed=$1 driver=${3:-mrc} again=''
[ "$driver" = mrc ] || again=" D=$driver"
for ((n = 1; n <= $2; n++, seed++)); do
	round=one_round
	if [ "$driver" = rxe ]; then
		rxe_topo
		round=rxe_round
	else
		topo 2
	fi
	now_ms
	since=$now rc=0
	($round "$seed") >"$WORK/round" 2>&1 || rc=$?
	[ ! -f "$WORK/coverage" ] || cp "$WORK/coverage" /out/coverage
	now_ms
	if [ "$rc" != 0 ] || trouble; then
		cat "$WORK/round"
		echo "round $n of $2, seed $seed: NOT WELL (status $rc); once more: make devfuzz S=$seed R=1$again"
		tap_done=1
		exit 1
	fi
	echo "round $n of $2, seed $seed: well, $(((now - since) / 1000)) s;$(sed -n \
		's/^figure: # \(connected\|coverage:\|administrator:\)/ \1/p' "$WORK/round" | tr '\n' ';')"
done
sed -n 's/^# unreached: //p' "$WORK/fuzz" >/out/unreached
tap_done=1
