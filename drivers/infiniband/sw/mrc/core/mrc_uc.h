/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unreliable connections: packets of RoCE v2 and which of them make a message.
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

#include "mrc_base.h"

MRC_C_BEGIN

#define MRC_UC_BTH_LEN		12
#define MRC_UC_RETH_LEN		16
#define MRC_UC_IMM_LEN		4
#define MRC_UC_HDR_MAX		(MRC_UC_BTH_LEN + MRC_UC_RETH_LEN + \
				 MRC_UC_IMM_LEN)
#define MRC_UC_MAX_MSG		0x80000000u

enum mrc_uc_opcode {
	MRC_UC_SEND_FIRST	= 0x20,
	MRC_UC_SEND_MIDDLE	= 0x21,
	MRC_UC_SEND_LAST	= 0x22,
	MRC_UC_SEND_LAST_IMM	= 0x23,
	MRC_UC_SEND_ONLY	= 0x24,
	MRC_UC_SEND_ONLY_IMM	= 0x25,
	MRC_UC_WRITE_FIRST	= 0x26,
	MRC_UC_WRITE_MIDDLE	= 0x27,
	MRC_UC_WRITE_LAST	= 0x28,
	MRC_UC_WRITE_LAST_IMM	= 0x29,
	MRC_UC_WRITE_ONLY	= 0x2A,
	MRC_UC_WRITE_ONLY_IMM	= 0x2B,
};

/* Upper three bits: the transport that an opcode belongs to. */
static inline bool mrc_uc_opcode(u8 opcode)
{
	return opcode >> 5 == 1;
}

/**
 * struct mrc_uc_hdr - headers of a packet
 * @write: RDMA write, else SEND
 * @first: begins a message
 * @last: ends it
 * @with_imm: has @imm
 * @se: solicited event
 * @pad: bytes after the payload, 0..3
 * @hdr_len: bytes of all headers
 * @pkey: partition
 * @dqp: destination QP, 24 bits
 * @psn: 24 bits
 * @va: of a write that begins: where it goes
 * @rkey: likewise: its key
 * @dmalen: likewise: bytes of the message
 * @imm: the four bytes as they stand in the packet
 * @len: payload bytes
 */
struct mrc_uc_hdr {
	bool write;
	bool first;
	bool last;
	bool with_imm;
	bool se;
	u8 pad;
	u8 hdr_len;
	u16 pkey;
	u32 dqp;
	u32 psn;
	u64 va;
	u32 rkey;
	u32 dmalen;
	u8 imm[MRC_UC_IMM_LEN];
	u32 len;
};

/**
 * mrc_uc_parse - read the headers of a packet
 * @p: first byte after the UDP header
 * @avail: bytes that may be read at @p
 * @len: bytes behind the UDP header, ICRC included; may be more than @avail
 * @h: result
 *
 * Return: -1, or the counter (enum mrc_counter) of what is wrong with it: it
 * ends too early, another version, no opcode of this service.
 */
int mrc_uc_parse(const u8 *p, u32 avail, u32 len, struct mrc_uc_hdr *h);

/**
 * mrc_uc_build - write the headers of a packet
 * @h: all but @hdr_len, @pad and, where there are none, @va to @imm
 * @p: room for MRC_UC_HDR_MAX bytes
 *
 * Return: bytes written; the payload follows, then (-@h->len & 3) zeros.
 */
u32 mrc_uc_build(const struct mrc_uc_hdr *h, u8 *p);

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
 * @imm: immediate, as it stands in the packet
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
	u8 imm[MRC_UC_IMM_LEN];
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
 * @h: its headers
 * @off: where in the message its payload starts
 *
 * Return: false if no message is under way.
 */
bool mrc_uc_tx_next(struct mrc_uc_tx *tx, struct mrc_uc_hdr *h, u32 *off);

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
 * @h: its headers
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
void mrc_uc_rx_packet(struct mrc_uc_rx *rx, const struct mrc_uc_hdr *h,
		      struct mrc_uc_in *in);

void mrc_uc_rx_abort(struct mrc_uc_rx *rx);

MRC_C_END

#endif /* MRC_UC_H */
