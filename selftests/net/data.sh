#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Data arrives complete, for all special message sizes, over 1, 2 and 4 planes, with
# IPv4 and IPv6, at two path MTUs that stand for small and large netdev MTUs. On a
# lossless network no packet is sent twice, and every plane carries the same share.
# timeout: 900
# races
. "$(dirname "$0")/lib.sh"

SIZES=0,1,4095,4096,4097,65536,8388605

# With a retry timer of 17 s nothing times out when the host pauses the guest, so the
# counters of the lossless tests can be checked exactly.
EXACT=(--timeout 22)

# A machine that pauses for longer may process packets of one plane much later than those of
# others. A processor that is busy with programs makes another one wait for 6 ms.
PAUSE=10	# ms

# strict: no packet was taken for lost. Without strict (long messages), or if the machine
# paused, a processor of the guest that is held up by its host may reorder packets by more
# than the loss threshold. Then every retransmission arrives twice, because no packet is
# really lost. The last packet of a message is retransmitted in any case when its ACK is
# late.
lossless_counters() { # [strict]
	local c again
	ctr_quiet
	ctr_take
	for c in loss_nack loss_timeout retry_timeouts tx_nack tx_nak tx_errors \
		qp_errors ${1:+loss_inferred loss_probe}; do
		expect mrca "$c" == 0
		expect mrcb "$c" == 0
	done
	again=$(ctr mrca tx_rtx_pkts)
	if [ $# -gt 0 ]; then
		expect mrca rtx_last_psn == "$again"
	else
		check $((again * 50)) '<=' "$(ctr mrca tx_data_pkts)" \
			"50 x sent again"
	fi
	expect mrcb rx_duplicate == "$again"
	expect mrcb rx_psn_out_of_window == 0
	expect mrcb rx_data_pkts == $(($(ctr mrca tx_data_pkts) - again))
	expect mrca rx_sack == "$(ctr mrcb tx_sack)"
	# The last ACK of a QP that ends is repeated, perhaps after its peer has
	# ended.
	check $(($(ctr mrca rx_ack) + $(ctr mrca rx_drop_unknown_qp) +
		$(ctr mrca rx_drop_qp_state))) '==' "$(ctr mrcb tx_ack)" \
		"ACKs of B that reached A"
	expect mrcb tx_sack '>' 0
	expect mrcb tx_ack '>' 0
}

all_sizes() { # [-6] OPTIONS...
	ctr_mark
	verify "$@" "${EXACT[@]}" --size "$SIZES" --iters 7
	lossless_counters
	expect mrcb rx_data_bytes == $((0 + 1 + 4095 + 4096 + 4097 + 65536 + 8388605))
	expect_equal_share mrca tx_data_pkts 3
	expect_equal_share mrcb rx_data_pkts 3
}

one_size() { # SIZE ITERS
	pauses_begin longest
	ctr_mark
	verify "${EXACT[@]}" --size "$1" --iters "$2" --op mixed
	pauses_end
	echo "figure: longest pause $pause ms"
	if [ "$pause" -lt "$PAUSE" ]; then
		lossless_counters strict
	else
		lossless_counters
	fi
}

packets_exact() {
	local npkt
	# 40 messages of one size with a known packet count: ceil(size/4096).
	ctr_mark
	verify "${EXACT[@]}" --size 20481 --iters 40
	ctr_quiet
	ctr_take
	expect mrca tx_rtx_pkts == "$(ctr mrca rtx_last_psn)"
	npkt=$(($(ctr mrca tx_data_pkts) - $(ctr mrca tx_rtx_pkts)))
	check "$npkt" == $((40 * 6)) "data packets for 40 messages of 20481 bytes"
	# The last packet of each message has one byte.
	expect mrca tx_data_bytes == $((40 * 20481 + $(ctr mrca tx_rtx_pkts)))
}

active_mtu() { # DEV PORT BYTES
	ibv_devinfo -d "$1" -i "$2" | grep -q "active_mtu:.*$3 "
}

for planes in 1 2 4; do
	topo "$planes" 4500
	subtest "$planes planes IPv4, all sizes, WRITE" all_sizes --op write
	subtest "$planes planes IPv6, all sizes, WRITE_IMM" all_sizes -6 --op write_imm
done
subtest "both directions at once" all_sizes --op mixed --bidir
subtest "odd addresses and offsets" all_sizes --op mixed --unaligned
subtest "packet and byte counts are exact" packets_exact
for size in 0 1 4095 4096 4097; do
	subtest "4 planes, messages of $size bytes" one_size "$size" 200
done

topo 2 1500
subtest "netdev MTU 1500: active MTU 1024" active_mtu mrca 1 1024
subtest "2 planes IPv4, path MTU 1024, all sizes" all_sizes --op mixed
subtest "2 planes IPv6, path MTU 1024, all sizes" all_sizes -6 --op mixed
subtest "2 planes, path MTU 256" all_sizes --op write --mtu 256
tap_end
