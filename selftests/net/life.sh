#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Long life: connections, processes, links, ports, namespaces and the module come and go,
# and afterwards the kernel's memory is back where it was. LIFE_CYCLES is how often each of
# them does (100, fewer on slow machines), LIFE_MINUTES how long traffic runs at the end (1).
# `make life` has thousands and hours. LIFE_CASES names the cases to run (all): connections,
# processes, links, ports, namespaces, traffic, modules.
#
# Tolerance: no slab cache may have grown by one object in five cycles, at least 20 and at
# most 200 objects. Slab, per-CPU and vmalloc memory together may not have grown
# by more than 2 MB. The first tenth of the cycles fills the caches and is not measured.
# long
# timeout: 1200
. "$(dirname "$0")/lib.sh"

CYCLES=${LIFE_CYCLES:-$((100 / ${LAB_TIME:-1} < 40 ? 40 : 100 / ${LAB_TIME:-1}))}
MINUTES=${LIFE_MINUTES:-1}
ALL_CASES="connections processes links ports namespaces traffic modules"
CASES=${LIFE_CASES:-$ALL_CASES}

# flat N COMMAND...: runs COMMAND with a number of cycles, then with N, and compares the
# memory after the two.
flat() {
	local n=$1 most=$(($1 / 5))
	shift
	[ "$most" -le 200 ] || most=200
	[ "$most" -ge 20 ] || most=20
	"$@" $((n < 50 ? 5 : n / 10))
	ctr_quiet 30
	memory_before "$WORK/before"
	"$@" "$n"
	ctr_quiet 30
	expect_memory_back "$WORK/before" "$most" 2048
}

connections() { # destroy|kill CYCLES
	mrc_life mrca "$(gid_index mrca 1 "$A4")" mrcb "$(gid_index mrcb 1 "$B4")" "$1" "$2" "$2" \
		>"$WORK/life" 2>&1 || fail "$(tail -n 20 "$WORK/life")"
	comment <"$WORK/life"
	wait_for 60 no_qps || fail "$(rdma resource show qp)"
}

# Traffic of the hosts while something else comes and goes.
beside_begin() {
	ctr_mark
	verify_start -t 100000 --duration 100000 --op mixed --size 1,4097,65536 --qps 2 --timeout 18
	wait_for 60 verify_running
}
beside_end() { verify_stop_well; }

# life_hears TEXT: the next line of the program.
life_hears() {
	local line
	read -rt 120 -u "${life[0]}" line && [ "$line" = "$1" ] ||
		fail "$1: ${line:-nothing}; $(cat "$WORK/life")"
}

# A device that carries data both ways is deleted. Its second plane has no routes. Other
# devices carry data meanwhile.
links() { # CYCLES
	local n pid to life life_PID
	beside_begin
	ip -n "$HOST_A" link add lx0 mtu 4500 type veth peer name lx1 netns "$HOST_B"
	ip -n "$HOST_A" addr add 10.9.0.1/24 dev lx0
	ip -n "$HOST_A" link set lx0 up
	ip -n "$HOST_B" addr add 10.9.0.2/24 dev lx1
	ip -n "$HOST_B" link set lx1 mtu 4500 up
	ip -n "$HOST_A" link add lx2 type dummy
	ip -n "$HOST_A" link set lx2 up
	in_b rdma link add mrcy type mrc netdev lx1
	in_a rdma link add mrcx type mrc netdev lx0
	wait_for 30 gid_index mrcx 1 10.9.0.1
	wait_for 30 gid_index mrcy 1 10.9.0.2
	coproc life { mrc_life mrcx "$(gid_index mrcx 1 10.9.0.1)" mrcy \
		"$(gid_index mrcy 1 10.9.0.2)" delete "$1" 0 2>"$WORK/life"; }
	pid=$life_PID to=${life[1]}
	for ((n = 0; n < $1; n++)); do
		[ "$n" = 0 ] || in_a rdma link add mrcx type mrc netdev lx0
		in_a rdma link add mrcx type mrc netdev lx2
		wait_for 30 gid_index mrcx 1 10.9.0.1
		echo >&"$to"
		life_hears carries
		in_a rdma link del mrcx
		life_hears ended
	done
	exec {to}>&-
	wait "$pid" || fail "$(cat "$WORK/life")"
	rdma link del mrcy
	ip -n "$HOST_A" link del lx0
	ip -n "$HOST_A" link del lx2
	beside_end
}

# Carrier of one plane. Traffic goes on over the other one.
ports() { # CYCLES
	local n
	beside_begin
	for ((n = 0; n < $1; n++)); do
		ip -n "$HOST_B" link set pb2 down
		wait_for 30 port_is mrca 2 DOWN
		ip -n "$HOST_B" link set pb2 up
		wait_for 30 port_is mrca 2 ACTIVE
	done
	plane_routes 2
	plane_ready 2
	beside_end
}

# A namespace ends with the device made in it.
namespaces() { # CYCLES
	local n
	beside_begin
	for ((n = 0; n < $1; n++)); do
		ip netns add life
		ip -n life link add lx0 type veth peer name lx1
		ip -n life link set lx0 up
		ip -n life link set lx1 up
		ip netns exec life rdma link add mrcx type mrc netdev lx0
		ip netns del life
		wait_for 30 device_gone mrcx
	done
	beside_end
}

modules() { # CYCLES
	local n
	for ((n = 0; n < $1; n++)); do
		modprobe mrc
		rdma link add mrcx type mrc netdev lx0
		rdma link del mrcx
		wait_for 30 rmmod mrc 2>/dev/null
	done
}

module_cycles() {
	ip link add lx0 type veth peer name lx1
	ip link set lx0 up
	ip link set lx1 up
	flat "$CYCLES" modules
	ip link del lx0
}

open_files() { # PID
	local pid n=0
	for pid in $(descendants "$1") "$1"; do
		n=$((n + $(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)))
	done
	echo $n
}

# Traffic of all kinds for LIFE_MINUTES minutes.
hours() {
	local n fds
	verify --iters 400 --op mixed --size 1,4097,65536 --qps 4 --bidir --events
	memory_before "$WORK/before"
	verify_start -t 1000000 --duration 1000000 --op mixed --size 1,4097,65536,1000000 --qps 4 --bidir \
		--events --timeout 18
	wait_for 60 verify_running
	fds=$(open_files "$verify_client")
	for ((n = 1; n <= MINUTES; n++)); do
		sleep 60
		process_gone "$verify_client" && break
		[ $((n % 10)) != 0 ] || echo "# $n of $MINUTES minutes"
	done
	check "$(open_files "$verify_client")" == "$fds" "open files of the client"
	verify_stop
	echo "figure: $(tail -n 1 "$WORK/client")"
	wait_for 60 no_qps
	ctr_quiet 30
	expect_memory_back "$WORK/before" 200 2048
}

# life NAME DESCRIPTION COMMAND...: a subtest, if its name is among the cases.
life() {
	[[ " $CASES " == *" $1 "* ]] || return 0
	subtest "${@:2}"
}

for name in $CASES; do
	[[ " $ALL_CASES " == *" $name "* ]] || fail "LIFE_CASES: there is no case '$name' in: $ALL_CASES"
done
topo 2
life connections "$CYCLES connections, made and destroyed" flat "$CYCLES" connections destroy
life processes "$CYCLES processes, killed" flat "$CYCLES" connections kill
life links "$CYCLES links, under traffic" flat "$CYCLES" links
life ports "$CYCLES times a port goes down and up, under traffic" flat "$CYCLES" ports
life namespaces "$CYCLES namespaces, beside traffic" flat "$CYCLES" namespaces
life traffic "$MINUTES minutes of traffic" hours
topo_down
wait_for 30 rmmod mrc 2>/dev/null
life modules "the module is loaded and unloaded $CYCLES times" module_cycles
tap_end
