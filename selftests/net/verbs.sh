#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The common verbs, each with its data verified.
# timeout: 240
# races
. "$(dirname "$0")/lib.sh"

# Nothing is lost, and a guest that its host pauses must not use up its retries.
run() { # mrc_verify OPTIONS...
	ctr_mark
	verify "$@" --timeout 18
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca cq_overflow == 0
	expect mrcb cq_overflow == 0
}

caps() {
	local out
	out=$(ibv_devinfo -v -d mrca)
	grep -q 'transport:.*InfiniBand' <<<"$out" || fail "transport: $out"
	grep -q 'link_layer:.*Ethernet' <<<"$out" || fail "link layer: $out"
	grep -q 'phys_port_cnt:[[:space:]]*2$' <<<"$out" || fail "ports: $out"
	grep -q 'atomic_cap:.*ATOMIC_GLOB' <<<"$out" || fail "atomic_cap: $out"
	grep -q 'max_qp_rd_atom:[[:space:]]*[1-9]' <<<"$out" || fail "READs: $out"
	grep -q 'max_srq:[[:space:]]*[1-9]' <<<"$out" || fail "no SRQs: $out"
	grep -q 'max_qp_wr:[[:space:]]*[1-9]' <<<"$out" || fail "max_qp_wr: $out"
}

strict_caps() {
	local out
	extension off
	out=$(ibv_devinfo -v -d mrca)
	extension on
	grep -q 'atomic_cap:.*ATOMIC_NONE' <<<"$out" || fail "atomics: $out"
	grep -q 'max_qp_rd_atom:[[:space:]]*0$' <<<"$out" || fail "READs: $out"
}

topo 2
subtest "device attributes are honest" caps
subtest "device attributes of MRC 1.0 are honest" strict_caps
subtest "objects: limits, refusals, order of destruction, queries" \
	run -t 120 --error-test objects
subtest "inline data, source overwritten after the post" \
	run --inline --size 0,1,64,200,512 --iters 300 --op mixed
subtest "gather lists of 1 to 30 pieces" run --sges 30 --size 30,4097,65536 --iters 100
subtest "gather lists, odd offsets" run --sges 7 --unaligned --size 7,4097,70001 --iters 100
subtest "every 16th signalled" run --unsignalled 16 --depth 64 --size 1,4097 --iters 500
subtest "sq_sig_all" run --sig-all --size 1,4097 --iters 200
subtest "posted as lists" run --post-list 16 --depth 64 --size 1,4097,20000 --iters 320
subtest "ibv_wr_* interface" run --ex --size 0,1,4097,65536 --iters 200 --op mixed
subtest "ibv_wr_* interface: batches, inline, gather" \
	run --ex --post-list 8 --inline --sges 3 --size 3,100,5000 --iters 320 --op mixed
subtest "extended CQ with timestamps" run --cq-ex --size 1,4097 --iters 300 --op mixed
subtest "extended CQ and ibv_wr_*" run --cq-ex --ex --size 1,4097 --iters 300 --op mixed
subtest "completion events" run --events --size 1,4097,65536 --iters 300 --op mixed
subtest "CQs resized under traffic" run --resize-cq --size 1,4097 --iters 1000 --op mixed
subtest "32 QPs" run --qps 32 --size 1,4097,20000 --iters 30 --op mixed
subtest "8 QPs in both directions" run --qps 8 --bidir --size 1,4097,20000 --iters 50 --op mixed
subtest "deep queue of small messages" run --depth 1000 --size 1,64 --iters 5000
subtest "everything together" run --ex --cq-ex --events --post-list 4 --unsignalled 4 \
	--sges 3 --unaligned --qps 4 --bidir --depth 32 --size 3,4097,70001 --iters 64 --op mixed
tap_end
