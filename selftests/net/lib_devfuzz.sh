# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Runs mrc_devfuzz on the two hosts, and an administrator who takes planes and devices
# away meanwhile. Sourced after lib.sh and lib_faults.sh.

HOSTS_FUZZED=("hosta:mrca:pa1,pa2" "hostb:mrcb:pb1,pb2")

# fuzz SEED OPTIONS...: the programs of this seed. A failure names the seed.
fuzz() {
	local seed=$1
	shift
	start "$WORK/fuzz" mrc_devfuzz --seed "$seed" --patience $((60 * ${LAB_TIME:-1})) "$@" \
		"${HOSTS_FUZZED[@]}"
	fuzzer=$started
	finished "$fuzzer" 600 || {
		tail -n 80 "$WORK/fuzz"
		fail "mrc_devfuzz --seed $seed $*"
	}
	grep -q '^mrc_devfuzz: OK' "$WORK/fuzz" || fail "no OK: $(tail -n 5 "$WORK/fuzz")"
	sed -n 's/^# programs: /figure: &/p; s/^# connected /figure: &/p; s/^# coverage: /figure: &/p' \
		"$WORK/fuzz"
}

# The same while allocations of the programs' calls may fail.
fuzz_without_memory() { # SEED OPTIONS...
	[ -d "$FAILSLAB" ] || skip "this kernel has no fault injection (make check-debug has it)"
	faults_on all
	fuzz "$@" || {
		faults_off
		return 1
	}
	faults_off
}

# administer SEED: changes what the devices stand on, until it is killed. Every step is
# taken back in the next ones, and every step may fail.
administer() {
	local h i other
	RANDOM=$1
	set +e
	while :; do
		h=a other=b
		[ $((RANDOM % 2)) = 0 ] || h=b other=a
		i=$((RANDOM % PLANES + 1))
		case $((RANDOM % 8)) in
		0 | 1)
			ip -n "host$h" link set "p$h$i" down
			nap "0.0$((RANDOM % 10))"
			ip -n "host$h" link set "p$h$i" up
			plane_routes "$i"
			;;
		2)
			ip netns exec "host$h" rdma link del "mrc$h"
			nap "0.$((RANDOM % 4))"
			for i in $(seq "$PLANES"); do
				link_add "$h" "$i"
			done
			;;
		3)
			ip -n "host$h" link del "p$h$i"
			plane_add "$i" 4500
			link_add a "$i"
			link_add b "$i"
			;;
		4)
			ip -n "host$h" link set "p$h$i" mtu $((1280 + RANDOM % 4000))
			;;
		5)
			ip -n "host$h" link set "p$h$i" mtu 4500
			;;
		6)
			ip -n "host$h" addr del "$(own "$h" 4)/32" dev "p$h$i"
			nap "0.0$((RANDOM % 10))"
			ip -n "host$h" addr add "$(own "$h" 4)/32" dev "p$h$i"
			plane_routes "$i"
			;;
		7)
			ip -n "host$h" neigh flush dev "p$h$i"
			ip -n "host$other" route flush dev "p$other$i"
			plane_routes "$i"
			;;
		esac
		nap "0.$((RANDOM % 3))$((RANDOM % 10))"
	done >/dev/null 2>&1
}

# fuzz_administered SEED OPTIONS...: both.
fuzz_administered() {
	local pid rc=0
	administer "$1" &
	pid=$!
	bg_pids+=("$pid")
	(fuzz "$@") || rc=$?
	# shellcheck disable=SC2046 # a list of numbers
	kill -9 $(descendants "$pid") "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	return "$rc"
}
