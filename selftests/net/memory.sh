#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The measurement of kernel memory, by which other scripts prove that nothing leaked,
# is correct: it counts single objects, finds a few objects that are held, and does
# not report growth because a processor began a new slab.
# timeout: 300

. "$(dirname "$0")/lib.sh"

# Holds N watches of an epoll instance. Each is an object of eventpoll_epi.
hold() { # N
	start "$WORK/held" python3 -c '
import os, select, signal, sys
e = select.epoll()
pipes = [os.pipe() for _ in range(int(sys.argv[1]))]
for r, _ in pipes:
    e.register(r, select.EPOLLIN)
print("HELD", flush=True)
signal.pause()' "$1"
	wait_for 30 grep -q HELD "$WORK/held"
}

release() {
	kill "$started"
	finished "$started" 30 || true
}

objects() { # CACHE
	memory_take >"$WORK/look"
	awk -v c="$1" '$1 == c { print $2; found = 1 } END { exit !found }' "$WORK/look"
}

epoll_objects_are() { [ "$(objects eventpoll_epi)" = "$1" ]; }

# A slab of these objects has 32. The measure must be exact within a slab and across
# slabs.
one_by_one() {
	local n before
	[ -d /sys/kernel/slab/eventpoll_epi ] && [ ! -L /sys/kernel/slab/eventpoll_epi ] ||
		skip "caches are merged here: boot with slab_nomerge"
	before=$(objects eventpoll_epi)
	for n in 1 7 31 32 33 100; do
		hold "$n"
		check "$(objects eventpoll_epi)" == $((before + n)) "objects with $n watches"
		release
		wait_for 30 epoll_objects_are "$before"
	done
}

found() {
	[ ! -L /sys/kernel/slab/eventpoll_epi ] ||
		skip "caches are merged here: boot with slab_nomerge"
	memory_before "$WORK/before"
	hold 10
	rm -f "$WORK/memory.now"
	memory_grown "$WORK/before" 10 4096 >"$WORK/grown"
	grep -q '^eventpoll_epi grew by 10 objects' "$WORK/grown" ||
		fail "not found: $(cat "$WORK/grown")"
	release
	expect_memory_back "$WORK/before" 10 512
}

# While nothing runs, measurements of caches that everybody uses must not differ by
# whole slabs. The measurements themselves open files, of 192 bytes each, and start
# programs.
no_whole_slabs() {
	local n
	for n in $(seq 8); do
		memory_take >"$WORK/look.$n"
	done
	awk '$1 !~ /^kmalloc-(96|192|256)$/ { next }
		!($1 in least) || $2 < least[$1] { least[$1] = $2 }
		!($1 in most) || $2 > most[$1] { most[$1] = $2 }
		END {
			for (c in most) {
				print "figure: " c " between " least[c] " and " most[c]
				seen++
			}
			exit !seen
		}' "$WORK"/look.[1-8]
	memory_before "$WORK/before"
	for n in $(seq 30); do
		cat /proc/self/status >/dev/null
	done
	expect_memory_back "$WORK/before" 10 512
}

subtest "objects are counted one by one" one_by_one
subtest "ten objects that somebody holds are found" found
subtest "programs that end leave nothing" no_whole_slabs
tap_end
