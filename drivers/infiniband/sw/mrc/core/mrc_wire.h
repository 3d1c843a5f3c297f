/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets of MRC 1.0 and of plain RoCE v2: opcodes, parsed headers, parse, build, ICRC.
 *
 * One table (mrc_opcode.c) lists for every opcode the headers that follow the BTH.
 * Parser and builder both walk this table, so they cannot disagree.
 */
#ifndef MRC_WIRE_H
#define MRC_WIRE_H

#include "mrc_base.h"

MRC_C_BEGIN

#define MRC_UDP_DPORT		4791	/* default, MRC 1.0 §2.2, OP-1 */
#define MRC_UDP_DPORT_ALT	4971	/* printed in MRC 1.0 §7.5.5.2 */
#define MRC_PKEY_DEFAULT	0xFFFF
#define MRC_QPN_ENDPOINT	2	/* endpoint operations, §12 */
#define MRC_QPN_FIRST		3	/* 0, 1 and 2 are reserved, §3 */
#define MRC_ICRC_LEN		4
#define MRC_UDP_HLEN		8
#define MRC_HDR_MAX		52	/* BTH METH TSETH RETH OPETH; SETH is 48 */
#define MRC_NOMINAL_EXTRA	40	/* nominal size = UDP length + 40, §7.1 */
#define MRC_TS_SHIFT		7	/* TSETH unit is 128 ns, §4.3 */
#define MRC_TS_FTYPE		1	/* the only timestamp format, §4.3 */
#define MRC_MAX_MSG		(1u << 31)	/* §7.5 */
#define MRC_EXT_VERSION		1	/* Documentation/extension.md */

/*
 * MRC 1.0 §3. The extension (Documentation/extension.md) uses codes
 * that MRC 1.0 leaves free: 0xC0 | the RC opcode if that code is free.
 */
enum mrc_opcode {
	MRC_OP_SEND_FIRST	= 0xC0,
	MRC_OP_SEND_MIDDLE	= 0xC1,
	MRC_OP_SEND_LAST	= 0xC2,
	MRC_OP_SEND_LAST_IMM	= 0xC3,
	MRC_OP_SEND_ONLY	= 0xC4,
	MRC_OP_SEND_ONLY_IMM	= 0xC5,
	MRC_OP_WRITE_FIRST	= 0xC6,
	MRC_OP_WRITE_MIDDLE	= 0xC7,
	MRC_OP_WRITE_LAST	= 0xC8,
	MRC_OP_WRITE_LAST_IMM	= 0xC9,
	MRC_OP_WRITE_ONLY	= 0xCA,
	MRC_OP_WRITE_ONLY_IMM	= 0xCB,
	MRC_OP_READ_REQ		= 0xCC,
	MRC_OP_READ_RESP_FIRST	= 0xCD,
	MRC_OP_READ_RESP_MIDDLE	= 0xCE,
	MRC_OP_READ_RESP_LAST	= 0xCF,
	MRC_OP_READ_RESP_ONLY	= 0xD0,
	MRC_OP_ACK		= 0xD1,
	MRC_OP_ATOMIC_RESP	= 0xD2,
	MRC_OP_CMP_SWAP		= 0xD3,
	MRC_OP_FETCH_ADD	= 0xD4,
	MRC_OP_FLUSH		= 0xD5,
	MRC_OP_SEND_LAST_INV	= 0xD6,
	MRC_OP_SEND_ONLY_INV	= 0xD7,
	MRC_OP_ENDPOINT_REQ	= 0xD8,
	MRC_OP_ENDPOINT_RESP	= 0xD9,
	MRC_OP_ATOMIC_WRITE	= 0xDA,
	MRC_OP_SACK		= 0xDC,
	MRC_OP_NACK		= 0xDD,
	MRC_OP_PROBE		= 0xDE,
};

/* Plain RoCE v2, InfiniBand volume 1, §9.2: unreliable connections and datagrams. */
enum mrc_roce_opcode {
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
	MRC_UD_SEND		= 0x64,
	MRC_UD_SEND_IMM		= 0x65,
};

/* The transport that an opcode belongs to: its upper three bits. */
static inline bool mrc_uc_opcode(u8 opcode)
{
	return opcode >> 5 == 1;
}

static inline bool mrc_ud_opcode(u8 opcode)
{
	return opcode >> 5 == 3;
}

/* Properties of an opcode and the headers it carries after the BTH. */
enum mrc_op_flags {
	MRC_OPF_METH	= 1 << 0,	/* METH, and TSETH when BTH.ts is set */
	MRC_OPF_RETH	= 1 << 1,
	MRC_OPF_IMM	= 1 << 2,
	MRC_OPF_AETH	= 1 << 3,
	MRC_OPF_SETH	= 1 << 4,	/* SETH + CC_STATE */
	MRC_OPF_NETH	= 1 << 5,
	MRC_OPF_PETH	= 1 << 6,
	MRC_OPF_ERTH	= 1 << 7,
	MRC_OPF_EETH	= 1 << 8,
	MRC_OPF_DATA	= 1 << 9,	/* consumes a PSN, may carry payload */
	MRC_OPF_FIRST	= 1 << 10,	/* FIRST or ONLY */
	MRC_OPF_LAST	= 1 << 11,	/* LAST or ONLY */
	MRC_OPF_CONTROL	= 1 << 12,	/* control traffic class, no payload */
	MRC_OPF_TO_REQ	= 1 << 13,	/* addressed to the requester role */
	MRC_OPF_TO_RESP	= 1 << 14,	/* addressed to the responder role */
	MRC_OPF_ENDPOINT = 1 << 15,	/* addressed to the node (QPN 2) */
	/* the extension */
	MRC_OPF_EXT	= 1 << 16,	/* not MRC 1.0 */
	MRC_OPF_SEND	= 1 << 17,	/* payload goes to a receive WQE */
	MRC_OPF_INV	= 1 << 18,	/* RETH.rkey is to be invalidated */
	MRC_OPF_REQUEST	= 1 << 19,	/* READ, atomics, FLUSH: has an answer */
	MRC_OPF_OPERAND	= 1 << 20,	/* OPETH follows RETH */
	MRC_OPF_ANSWER	= 1 << 21,	/* on the answer channel */
	/* plain RoCE v2 */
	MRC_OPF_ROCE	= 1 << 22,	/* UC or UD */
	MRC_OPF_DETH	= 1 << 23,	/* UD */
};

/**
 * struct mrc_op_info - one row of the opcode table
 * @name: spec name, NULL for opcodes that are not defined
 * @flags: MRC_OPF_*
 * @hdr_len: bytes of BTH and extended headers, without TSETH
 */
struct mrc_op_info {
	const char *name;
	u32 flags;
	u8 hdr_len;
};

#define MRC_OP_CLASS		0xC0	/* of all opcodes of MRC */
#define MRC_OP_CLASS_MASK	0xE0

/* The rows of all opcodes of MRC; use mrc_op_info(). */
extern const struct mrc_op_info mrc_op_table[32];
extern const struct mrc_op_info mrc_op_undefined;

/*
 * Row of @opcode; never NULL. Opcodes of plain RoCE v2 are undefined here, because an
 * MRC queue pair does not know them.
 */
static inline const struct mrc_op_info *mrc_op_info(u8 opcode)
{
	if ((opcode & MRC_OP_CLASS_MASK) != MRC_OP_CLASS)
		return &mrc_op_undefined;
	return &mrc_op_table[opcode & ~MRC_OP_CLASS_MASK];
}

/* The same for opcodes of plain RoCE v2; those of MRC are undefined here. */
const struct mrc_op_info *mrc_roce_op_info(u8 opcode);

/* AETH syndromes, §4.11 */
enum mrc_syndrome {
	MRC_SYN_ACK		= 0x1F,
	MRC_SYN_NAK_SEQ		= 0x60,
	MRC_SYN_NAK_INV_REQ	= 0x61,
	MRC_SYN_NAK_ACCESS	= 0x62,
	MRC_SYN_NAK_REM_OP	= 0x63,
};

/* NACK reasons, §8.4 */
enum mrc_nack_reason {
	MRC_NACK_TRIMMED	= 0x01,
	MRC_NACK_TRIMMED_LASTHOP = 0x02,
	MRC_NACK_NO_BITMAP	= 0x06,
	MRC_NACK_NO_PKT_BUFFER	= 0x07,
	MRC_NACK_NO_RESOURCE	= 0x0A,
	MRC_NACK_PSN_OOR_WINDOW	= 0x0B,
	MRC_NACK_UNEXP_EVENT	= 0x19,
};

/* Extension: NETH.vendor_info of a NO_RESOURCE NACK for lack of a receive. */
#define MRC_RNR_VALID		0x80
#define MRC_RNR_PAGE		0x40	/* reason: memory is being fetched */
#define MRC_RNR_CODE		0x1F	/* RNR timer code of the IB spec */

/* SETH.m, §4.6 */
enum mrc_seth_m {
	MRC_M_NONE		= 0,
	MRC_M_SKIP_ONCE		= 1,
	MRC_M_ALWAYS_SKIP	= 2,
};

/* ERTH.op, §4.9 */
enum mrc_endpoint_op {
	MRC_EPOP_PORT_STATUS	= 0,
	MRC_EPOP_EV_PROBE	= 1,
};

/* §4.4; imm is §4.5 */
struct mrc_reth {
	u64 va;
	u32 rkey;
	u32 dmalen;
	__be32 imm;
};

/* Extension: operands of atomic operations; FLUSH has its flags in @swap. */
struct mrc_opeth {
	u64 swap;		/* or the value to write */
	u64 compare;		/* or the value to add */
};

/* Header of a datagram, InfiniBand volume 1, §9.3.2 */
struct mrc_deth {
	u32 qkey;
	u32 sqpn;		/* 24 bits */
};

/* §4.11 */
struct mrc_aeth {
	u8 syndrome;
	u32 msn;		/* 24 bits; see struct mrc_hdr, @recvs */
};

/* SETH + CC_STATE, §4.6 */
struct mrc_seth {
	u8 m;
	bool pr;
	s16 ack_psn_offset;	/* pr = 0 */
	u16 probe_id;		/* pr = 1 (same wire bytes) */
	u32 entropy;
	u16 spdcid;
	u16 dpdcid;
	u32 cack_psn;
	u8 cc_type;
	u8 mpr;
	s16 sack_offset;
	u64 bitmap;		/* bit i: PSN cack + sack_offset + i received */
	u16 ooo_count;
	bool restore_cwnd;
	u8 rcv_cwnd_pen;
	u32 rcvd_bytes;		/* 24 bits, 256-byte units */
};

/* §4.7 */
struct mrc_neth {
	u8 reason;
	u8 vendor;
	u32 entropy;
	u16 spdcid;
	u16 dpdcid;
	u32 nack_psn;
	u8 cc_type;
};

/* §4.8 */
struct mrc_peth {
	u8 vendor;
	u16 probe_id;
	u16 spdcid;
	u16 dpdcid;
};

/* §4.9 and §4.10 */
struct mrc_ereth {
	u8 op;
	u8 vendor;
	u32 port_mask;
};

/**
 * struct mrc_hdr - a packet's headers in host byte order
 * @opcode: enum mrc_opcode or enum mrc_roce_opcode
 * @tver: BTH.tver, 0 on the wire
 * @pad: pad bytes after the payload, 0..3
 * @se: solicited event
 * @a: acknowledge request
 * @rtx: retransmission, or its echo in a SACK
 * @ts: TSETH present (data packets only)
 * @ans: packet of the answer channel (extension); reserved in MRC 1.0
 * @recvs: ACKNOWLEDGE: ->aeth.msn is the rqmsn of the first message for which no
 *	receive is posted (extension); reserved in MRC 1.0
 * @pkey: partition key
 * @dqp: destination QPN, 24 bits
 * @psn: BTH.psn, 24 bits; the request id of endpoint operations
 * @rqmsn: METH.rqmsn (data packets)
 * @msn: METH.msn (data packets)
 * @tstamp: tx_timestamp of TSETH/PETH/ERTH, or the echo in SETH/NETH/EETH
 * @tsr: timestamp resolution bit
 * @ftype: timestamp format; MRC_TS_FTYPE when @tstamp is valid (TSETH, PETH,
 *	ERTH only)
 * @reth: data packets, and packets of plain RoCE v2 with MRC_OPF_RETH; @reth.imm is
 *	valid in all packets with MRC_OPF_IMM
 * @opeth: data packets with MRC_OPF_OPERAND
 * @deth: datagrams
 * @aeth: ACKNOWLEDGE
 * @seth: RELIABILITY_SACK
 * @neth: RELIABILITY_NACK
 * @peth: RELIABILITY_PROBE_REQ
 * @epop: ENDPOINT_REQUEST and ENDPOINT_RESPONSE
 * @hdr_len: bytes of BTH and extended headers (set by parse and by build)
 * @payload_len: payload bytes without pad (set by parse)
 */
struct mrc_hdr {
	u8 opcode;
	u8 tver;
	u8 pad;
	bool se;
	bool a;
	bool rtx;
	bool ts;
	bool ans;
	bool recvs;
	u16 pkey;
	u32 dqp;
	u32 psn;
	u16 rqmsn;
	u16 msn;
	u16 tstamp;
	bool tsr;
	u8 ftype;
	union {
		struct {
			struct mrc_reth reth;
			union {
				struct mrc_opeth opeth;
				struct mrc_deth deth;
			};
		};
		struct mrc_aeth aeth;
		struct mrc_seth seth;
		struct mrc_neth neth;
		struct mrc_peth peth;
		struct mrc_ereth epop;
	};
	u16 hdr_len;
	u32 payload_len;
};

/* Results of parsing and of the receive path; each has a counter. */
enum mrc_drop {
	MRC_DROP_NONE = 0,
	MRC_DROP_SHORT,		/* shorter than its headers, pad and ICRC */
	MRC_DROP_TVER,		/* transport version not 0 */
	MRC_DROP_OPCODE,	/* not an MRC 1.0 opcode; BTH was parsed */
	MRC_DROP_LENGTH,	/* control packet with payload, bad pad */
};

/**
 * mrc_hdr_parse - parse BTH and extended headers of MRC
 * @p: first byte after the UDP header
 * @avail: bytes that may be read at @p
 * @len: UDP payload length, ICRC included; @len >= @avail is allowed (the
 *	payload may be elsewhere), headers must lie within @avail
 * @h: result; with MRC_DROP_OPCODE just the BTH fields are valid
 *
 * Reserved fields are ignored (MRC 1.0 §4). Control packets must have exactly
 * their headers and the ICRC.
 *
 * Return: MRC_DROP_NONE or why the packet must be dropped.
 */
enum mrc_drop mrc_hdr_parse(const u8 *p, u32 avail, u32 len, struct mrc_hdr *h);

/**
 * mrc_roce_parse - parse BTH and extended headers of plain RoCE v2
 * @p: first byte after the UDP header
 * @avail: bytes that may be read at @p
 * @len: as for mrc_hdr_parse()
 * @h: result; of BTH byte 8 only ->a, because the bits of MRC are reserved in RoCE v2
 *
 * The length of the payload is checked by the service, see mrc_uc_rx_packet().
 *
 * Return: MRC_DROP_NONE or why the packet must be dropped. MRC_DROP_OPCODE: neither UC
 * nor UD.
 */
enum mrc_drop mrc_roce_parse(const u8 *p, u32 avail, u32 len, struct mrc_hdr *h);

/**
 * mrc_hdr_parse_trimmed - parse what is left of a trimmed data packet
 * @p: first byte after the UDP header
 * @avail: bytes received from there
 * @h: BTH, and METH and TSETH where they survived; ->ts is cleared when the
 *	timestamp did not survive
 *
 * Return: MRC_DROP_NONE or why the packet must be dropped (MRC 1.0 §8.5).
 */
enum mrc_drop mrc_hdr_parse_trimmed(const u8 *p, u32 avail, struct mrc_hdr *h);

/**
 * mrc_hdr_len - bytes that mrc_hdr_build() will write
 * @h: needs ->opcode and ->ts only
 *
 * Return: bytes.
 */
u32 mrc_hdr_len(const struct mrc_hdr *h);

/**
 * mrc_hdr_build - write BTH and extended headers
 * @h: headers; ->opcode is one of MRC or of plain RoCE v2
 * @p: destination
 * @room: bytes at @p
 *
 * Return: bytes written, 0 if @room is too small or the opcode is unknown.
 */
u32 mrc_hdr_build(const struct mrc_hdr *h, u8 *p, u32 room);

/**
 * mrc_icrc_start - ICRC over the masked IP, UDP and BTH headers
 * @ip: inner IP header, IPv4 (20 bytes, no options) or IPv6 (40 bytes),
 *	immediately followed in memory by UDP (8) and BTH (12)
 *
 * The version is read from the first nibble.
 *
 * Return: a running CRC register; continue with mrc_crc32() over everything from
 * after the BTH to the end of the pad, then mrc_icrc_finish() (MRC 1.0 §2.4).
 */
u32 mrc_icrc_start(const u8 *ip);

/* Final XOR; the result goes on the wire least significant byte first. */
static inline u32 mrc_icrc_finish(u32 crc)
{
	return ~crc;
}

/* The register after the eight 0xFF bytes, §2.4. */
#define MRC_ICRC_SEED	0xDEBB20E3u

/**
 * mrc_entropy_from_wire - 32-bit entropy of a received packet, §11.2
 * @sport: UDP source port, host order
 * @flow_label: IPv6 flow label (20 bits), 0 for IPv4
 *
 * Return: the entropy.
 */
static inline u32 mrc_entropy_from_wire(u16 sport, u32 flow_label)
{
	return (flow_label & 0xFFFF) << 16 | sport;
}

/* Nominal size of a data packet with @hdr_len header bytes, §7.1. */
static inline u32 mrc_nominal_size(u32 hdr_len, u32 payload)
{
	return MRC_UDP_HLEN + hdr_len + ((payload + 3) & ~3u) + MRC_ICRC_LEN +
	       MRC_NOMINAL_EXTRA;
}

MRC_C_END

#endif /* MRC_WIRE_H */
