# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Runs mrc_devfuzz on the two hosts, and an administrator who meanwhile takes planes, devices
# and namespaces away and has consumers in the kernel. Sourced after lib.sh and lib_faults.sh.

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

# A consumer in the kernel (selftests/kverbs) uses both devices. Its tests may fail.
kernel_consumer() {
	[ ! -d /sys/module/mrc_kverbs ] || return 0
	if ! modprobe mrc_kverbs dev=mrca peer=mrcb misuse=0 2>>"$WORK/consumer"; then
		nap 0.1
		return 0
	fi
	cat /sys/module/mrc_kverbs/parameters/result >>"$WORK/consumer"
	modprobe -r mrc_kverbs
}

kernel_consumer_gone() { [ ! -d /sys/module/mrc_kverbs ] || modprobe -r mrc_kverbs; }

consumer_tests() {
	echo "kernel consumer: tests passed $(grep -c '^ok' "$WORK/consumer")," \
		"failed $(grep -c '^not ok' "$WORK/consumer")"
}

# A namespace with a device and programs that use it, all of which end at once.
namespace_ends() { # SEED
	local programs
	ip netns add hostf
	ip -n hostf link add df0 type dummy
	ip -n hostf addr add 10.9.0.1/24 dev df0
	ip -n hostf link set df0 up
	if ! ip netns exec hostf rdma link add mrcf type mrc netdev df0; then
		ip netns del hostf
		return 0
	fi
	mrc_devfuzz --seed "$1" --programs 2 --lives 1 hostf:mrcf:df0 &
	programs=$!
	nap "0.$((RANDOM % 10))"
	ip netns del hostf
	nap "0.0$((RANDOM % 10))"
	kill_tree $programs
	echo ended >>"$WORK/namespaces"
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
		case $((RANDOM % 10)) in
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
		8)
			kernel_consumer &
			;;
		9)
			namespace_ends $RANDOM
			;;
		esac
		nap "0.$((RANDOM % 3))$((RANDOM % 10))"
	done >/dev/null 2>&1
}

# fuzz_administered SEED OPTIONS...: both.
fuzz_administered() {
	local pid rc=0
	: >"$WORK/consumer"
	: >"$WORK/namespaces"
	administer "$1" &
	pid=$!
	bg_pids+=("$pid")
	(fuzz "$@") || rc=$?
	kill_tree "$pid"
	[ ! -e /run/netns/hostf ] || ip netns del hostf
	wait_for 120 kernel_consumer_gone
	echo "figure: # administrator: namespaces ended $(grep -c . "$WORK/namespaces")," \
		"$(consumer_tests)"
	return "$rc"
}

# fuzz_beside_consumer SEED OPTIONS...: programs harm no consumer in the kernel, with which
# they share the devices.
fuzz_beside_consumer() {
	local pid rc=0
	: >"$WORK/consumer"
	rm -f "$WORK/enough"
	until [ -e "$WORK/enough" ]; do kernel_consumer; done &
	pid=$!
	bg_pids+=("$pid")
	wait_for 60 test -d /sys/module/mrc_kverbs || fail "$(cat "$WORK/consumer")"
	(fuzz "$@") || rc=$?
	touch "$WORK/enough"
	finished "$pid" 120 || rc=$?
	echo "figure: # administrator: $(consumer_tests)"
	grep -q '^1\.\.' "$WORK/consumer" || fail "the consumer in the kernel did not get to the end"
	! grep -q '^not ok' "$WORK/consumer" || fail "$(cat "$WORK/consumer")"
	return "$rc"
}
