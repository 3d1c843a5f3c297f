/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unreliable connections: which packets of RoCE v2 make a message. Their headers are
 * in the table of mrc_wire.h.
 * MRC 1.0 has nothing of the kind; the rules are those of the InfiniBand
 * specification (volume 1, §9.7 for packets and §9.8.2 for the service), so that
 * other RoCE devices can be at the other end.
 *
 * Nothing is acknowledged and nothing is sent again. A message arrives whole or
 * it does not exist: one packet that is missing ends it, and what follows is
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
 * @psn: of the next packet
 * @dqp: the peer's QP
 * @pkey: of all packets
 * @active: a message is under way
 * @write: it is a write
 * @with_imm: it has an immediate
 * @se: it is solicited
 * @len: its bytes
 * @off: of them that have been sent
 * @va: where a write goes
 * @rkey: its key
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
 * @tx: with @pmtu, @psn, @dqp and @pkey; @write to @se and @len to @imm say
 *	what is to be sent, @len at most MRC_UC_MAX_MSG
 */
void mrc_uc_tx_begin(struct mrc_uc_tx *tx);

/**
 * mrc_uc_tx_next - the next packet of the message under way
 * @tx: requester
 * @h: its headers, with the pad and, in ->payload_len, the bytes of its payload
 * @off: where in the message its payload starts
 *
 * Return: false if no message is under way.
 */
bool mrc_uc_tx_next(struct mrc_uc_tx *tx, struct mrc_hdr *h, u32 *off);

/* The message under way cannot be continued; its PSNs are not used again. */
void mrc_uc_tx_abort(struct mrc_uc_tx *tx);

/**
 * struct mrc_uc_rx - responder
 * @pmtu: payload bytes of a full packet
 * @psn: expected next
 * @active: a message is under way
 * @write: it is a write
 * @off: bytes of it that have come
 * @len: of a write: bytes it will have
 * @va: likewise: where it goes
 * @rkey: likewise: its key
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
 * struct mrc_uc_in - what a packet is
 * @broken: a message that was under way has ended without being complete
 * @drop: do not take the packet: enum mrc_counter, -1 = take it
 * @off: where in the message its payload goes
 */
struct mrc_uc_in {
	bool broken;
	int drop;
	u32 off;
};

/**
 * mrc_uc_rx_packet - a packet has come
 * @rx: responder; @rx->va, @rx->rkey and @rx->len are those of a write whose
 *	packet is taken
 * @h: its headers, of UC
 * @in: what to do with it
 *
 * A packet that begins a message is taken whatever its PSN: after a loss nobody
 * knows how many there were. One that continues a message is taken if it has the
 * PSN that is expected and the message is of its kind. Lengths: full packets but
 * for the last, which is not empty unless it is the first as well; a write has
 * the bytes that it said.
 *
 * If the caller cannot place the payload, it says mrc_uc_rx_abort() and the rest
 * of the message is dropped.
 */
void mrc_uc_rx_packet(struct mrc_uc_rx *rx, const struct mrc_hdr *h,
		      struct mrc_uc_in *in);

void mrc_uc_rx_abort(struct mrc_uc_rx *rx);

MRC_C_END

#endif /* MRC_UC_H */
