/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unreliable connections: how packets of RoCE v2 form messages. Their headers are in
 * the table of mrc_wire.h. MRC 1.0 has no unreliable connections. The rules are those
 * of the InfiniBand specification (volume 1, §9.7 for packets and §9.8.2 for the
 * service), so that other RoCE devices can be the peer.
 *
 * Nothing is acknowledged and nothing is retransmitted. A message arrives whole or not
 * at all: if one packet is missing, the message ends, and the packets that follow are
 * dropped until another message begins.
 */
#ifndef MRC_UC_H
#define MRC_UC_H

#include "mrc_wire.h"

MRC_C_BEGIN

#define MRC_UC_HDR_MAX		32	/* BTH, RETH, ImmDt */
#define MRC_UC_MAX_MSG		0x80000000u

/**
 * struct mrc_uc_tx - requester
 * @pmtu: payload bytes of a full packet
 * @psn: PSN of the next packet
 * @dqp: the peer's QP
 * @pkey: partition key of all packets
 * @active: a message is under way
 * @write: it is a write
 * @with_imm: it has an immediate
 * @se: solicited event
 * @len: bytes of the message
 * @off: bytes sent so far
 * @va: remote address of a write
 * @rkey: remote key of a write
 * @imm: immediate
 */
struct mrc_uc_tx {
	u32 pmtu;
	u32 psn;
	u32 dqp;
	u16 pkey;
	bool active;
	bool write;
	bool with_imm;
	bool se;
	u32 len;
	u32 off;
	u64 va;
	u32 rkey;
	__be32 imm;
};

/**
 * mrc_uc_tx_begin - begin a message
 * @tx: requester with @pmtu, @psn, @dqp and @pkey set. The members @write to @se and
 *	@len to @imm describe the message; @len is at most MRC_UC_MAX_MSG
 */
void mrc_uc_tx_begin(struct mrc_uc_tx *tx);

/**
 * mrc_uc_tx_next - the next packet of the message under way
 * @tx: requester
 * @h: headers of the packet with the pad; ->payload_len is the number of payload bytes
 * @off: offset of the payload in the message
 *
 * Return: false if no message is under way.
 */
bool mrc_uc_tx_next(struct mrc_uc_tx *tx, struct mrc_hdr *h, u32 *off);

/* Abort the message under way; its PSNs are not used again. */
void mrc_uc_tx_abort(struct mrc_uc_tx *tx);

/**
 * struct mrc_uc_rx - responder
 * @pmtu: payload bytes of a full packet
 * @psn: PSN expected next
 * @active: a message is under way
 * @write: it is a write
 * @off: bytes of the message received so far
 * @len: write: bytes of the message
 * @va: write: remote address
 * @rkey: write: remote key
 */
struct mrc_uc_rx {
	u32 pmtu;
	u32 psn;
	bool active;
	bool write;
	u32 off;
	u32 len;
	u64 va;
	u32 rkey;
};

/**
 * struct mrc_uc_in - what to do with a received packet
 * @broken: the message under way has ended without being complete
 * @drop: enum mrc_counter if the packet must be dropped, -1 = take it
 * @off: offset of the payload in the message
 */
struct mrc_uc_in {
	bool broken;
	int drop;
	u32 off;
};

/**
 * mrc_uc_rx_packet - handle a received packet
 * @rx: responder; @rx->va, @rx->rkey and @rx->len describe the write if a packet of a
 *	write is taken
 * @h: headers of the packet, UC opcode
 * @in: what to do with the packet
 *
 * A packet that begins a message is taken with any PSN, because after a loss the number
 * of lost packets is unknown. A packet that continues a message is taken if it has the
 * expected PSN and the message is of the same kind. All packets but the last are full.
 * The last packet is not empty unless it is also the first. The packets of a write must
 * have as many bytes as its RETH says.
 *
 * If the caller cannot place the payload, it calls mrc_uc_rx_abort(). Then the rest of
 * the message is dropped.
 */
void mrc_uc_rx_packet(struct mrc_uc_rx *rx, const struct mrc_hdr *h,
		      struct mrc_uc_in *in);

void mrc_uc_rx_abort(struct mrc_uc_rx *rx);

MRC_C_END

#endif /* MRC_UC_H */
