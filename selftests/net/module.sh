#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Loading and unloading the module: refused while it is in use, clean afterwards,
# repeated, and with devices present. Also module parameters.
# timeout: 200
. "$(dirname "$0")/lib.sh"

loaded() { [ -d /sys/module/mrc ]; }
not_loaded() { ! loaded; }

refused_in_use() {
	verify_start --duration 1000 --size 4096
	wait_for 30 verify_running
	refuse 'in use|resource temporarily|busy' rmmod mrc
	loaded || fail "the module is gone"
	verify_running || fail "the traffic is gone"
	stop_all
	# The last context is closed a moment after its process ends.
	topo_down
	wait_for 30 rmmod mrc
	not_loaded || fail "still loaded"
}

# Devices alone do not hold the module; only an open device does.
unload_with_devices() {
	modprobe mrc
	topo_up 2
	wait_for 30 rmmod mrc
	[ -z "$(rdma_devices)" ] || fail "devices are left: $(rdma_devices)"
	! in_a ss -Hlun 'sport = :4791' | grep -q . || fail "a socket is left"
	topo_down
}

reload() {
	local n
	modprobe mrc
	rmmod mrc
	memory_before "$WORK/before"
	for n in $(seq 20); do
		modprobe mrc
		rmmod mrc
	done
	expect_memory_back "$WORK/before" 15 512
}

works_again() {
	modprobe mrc
	topo_up 2
	ctr_mark
	verify --op mixed --size 1,4097,65536 --iters 30
	topo_down
}

other_port() {
	rmmod mrc
	modprobe mrc udp_port=4971
	topo_up 1
	in_a ss -Hlun 'sport = :4971' | grep -q . || fail "not on port 4971"
	! in_a ss -Hlun 'sport = :4791' | grep -q . || fail "rxe cannot have port 4791"
	ctr_mark
	verify --op mixed --size 1,4097,65536 --iters 30
	topo_down
	rmmod mrc
	modprobe mrc
}

# Which CRC-32 function was chosen, and how long each takes, if the kernel can print
# it. Then hosts exchange packets with it.
crc() {
	local says=()
	[ ! -e /proc/dynamic_debug/control ] || says=(dyndbg='file mrc_compat_crc.c +p')
	rmmod mrc
	dmesg -C
	modprobe mrc "${says[@]}"
	dmesg | sed -n 's/.*mrc: CRC-32/figure: CRC-32/p' | tee "$WORK/crc"
	[ ${#says[@]} = 0 ] ||
		grep -q -E 'CRC-32 (of the kernel|by (crc32_le|hash|tables))$' "$WORK/crc" ||
		fail "nothing was chosen: $(dmesg | tail)"
	topo_up 1
	ctr_mark
	verify --op mixed --size 1,60,255,1025,4097,65536 --iters 10
	ctr_take
	expect mrca rx_drop_icrc == 0
	expect mrcb rx_drop_icrc == 0
	topo_down
	rmmod mrc
	modprobe mrc
}

topo 2
subtest "rmmod refused while a program uses the device" refused_in_use
subtest "rmmod with idle devices removes them" unload_with_devices
subtest "20 loads and unloads leave no memory behind" reload
subtest "works after it all" works_again
subtest "another UDP port by parameter" other_port
subtest "the CRC-32 that is fastest here" crc
tap_end
