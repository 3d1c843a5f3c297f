#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Many QPs of one device share it evenly. The script computes Jain's index of the
# bytes that 16 equal QPs send, over planes without a limit, where the QPs share a
# processor, and over shaped planes; with each congestion control. None of 16 QPs
# stalls beside a busier program.
# long
# timeout: 1800
. "$(dirname "$0")/lib.sh"

QPS=16
PACKETS=${FAIR_PACKETS:-32000}	# per measurement: 125 messages of each QP

# Data packets that each QP of mrca has sent, by QPN.
sent() { qp_details tx_pkts; }

# Whether the QPs have sent enough packets, so that the windows at the beginning and
# at the end do not affect the result, however slow the kernel is. A QP that the machine
# has held up is behind at first: one that is treated fairly is not after five times as
# many packets.
enough() { # INDEX
	local total index
	sleep 1	# reading uses the processor that the QPs share
	sent >"$WORK/after"
	total=$(shares | awk '{ s += $1 } END { print s + 0 }')
	[ "$total" -ge "$PACKETS" ] || return 1
	read -r _ index _ <<<"$(shares | jain)"
	[ "$index" -ge "$1" ] || [ "$total" -ge $((5 * PACKETS)) ]
}

# Both files are sorted lines "QPN sent", before and after. Prints the packets of each
# QP.
shares() { join "$WORK/before" "$WORK/after" | awk '{ print $3 - $2 }'; }

# Jain's index of the packets, one number a line, in percent; then the smallest and
# the largest share in percent of the average.
jain() {
	awk '{ n++; s += $1; q += $1 * $1; if (n == 1 || $1 < lo) lo = $1; if ($1 > hi) hi = $1 }
	END { if (s == 0) exit 1
	      printf "%d %d %d %d\n", n, 100 * s * s / (n * q), 100 * lo * n / s, 100 * hi * n / s }'
}

under_way() { # N
	[ "$(sent | awk '$2 >= 20' | wc -l)" = "$1" ]
}

# fair WHAT INDEX: 16 QPs of one program must reach an index of at least INDEX
# percent.
fair() {
	local n index least most
	ctr_mark
	perftest_start ib_write_bw -q $QPS -s 65536 -t 32 -D 1000 -u 19
	wait_for 60 under_way $QPS || fail "not all of $QPS QPs send"
	sent >"$WORK/before"
	wait_for 400 enough "$2" || fail "fewer than $PACKETS packets in 400 s"
	steady_bw_end
	ctr_take
	read -r n index least most <<<"$(shares | jain)"
	echo "figure: $1: $n QPs, $(shares | awk '{ s += $1 } END { print s }') packets," \
		"Jain $index %, least $least %, most $most % of the average"
	check "$n" == $QPS "QPs"
	check "$index" '>=' "$2" "Jain's index in percent"
	check "$least" '>=' 30 "share of the least in percent of the average"
	expect mrca retry_exceeded == 0
}

both_shaped() {
	local i
	for i in 1 2; do
		shape a "$i" 40000
	done
	fair "$@"
}

# These planes mark nothing. There the window of NSCC follows the base RTT, which each queue
# pair measures by itself (Documentation/congestion.md). All get the same one, below any that is
# measured.
both_shaped_nscc() {
	ctl a -b - <<-END
		cc add 1 algorithm uet-1.0-nscc base_rtt 10000
		default set $B4/32 cc 1
		default set $B6/128 cc 1
	END
	both_shaped "$@"
	ctl a -b - <<-END
		default del $B4/32
		default del $B6/128
		cc del 1
	END
}

# A program with one QP, one message at a time, beside one with 16.
small_beside_many() {
	local now since
	steady_bw -q $QPS -t 64
	wait_for 60 under_way $QPS || fail "not all of $QPS QPs send"
	now_ms
	since=$now
	verify --iters 40 --size 4096 --depth 1 --op write
	now_ms
	echo "figure: a small program beside $QPS busy QPs: 40 messages, one at a time, in $((now - since)) ms"
	steady_bw_end
}

# veth delivers on the processor that sends. A queue pair would stay on the processor
# where it began and share it with the queue pairs that began there too. Receive
# packet steering to one processor makes all of them meet in one queue, so that the
# device shares the processor among them. The queue must hold the windows of all queue
# pairs; otherwise the test would measure which of them lose packets.
steer() { # MASK-OF-PROCESSORS|0 QUEUE-LENGTH
	local h i
	# With one processor there is one queue; kernels without SMP have no packet
	# steering.
	[ "$(nproc)" = 1 ] || for h in a b; do
		for i in 1 2; do
			ip netns exec "host$h" sh -c \
				"echo $1 >/sys/class/net/p$h$i/queues/rx-0/rps_cpus"
		done
	done
	sysctl -q -w net.core.netdev_max_backlog="$2"
}

topo 2
backlog=$(sysctl -n net.core.netdev_max_backlog)
for cc in vegas none uet-1.0-nscc; do
	ctl a dev set cc $cc
	ctl b dev set cc $cc
	steer 1 10000
	subtest "$cc: $QPS QPs share a processor" fair "$cc, unshaped" 95
	steer 0 "$backlog"
	shaped=both_shaped
	[ $cc != uet-1.0-nscc ] || shaped=both_shaped_nscc
	subtest "$cc: $QPS QPs share shaped planes" $shaped "$cc, shaped" 95
	for plane in 1 2; do
		unimpair a $plane
	done
	subtest "$cc: a small program beside $QPS busy QPs" small_beside_many
done
tap_end
