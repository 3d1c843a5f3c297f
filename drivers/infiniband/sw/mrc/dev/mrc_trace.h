/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of the data path: events/mrc/ in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mrc

#if !defined(MRC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MRC_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "core/mrc_core.h"

#define mrc_show_opcode(op) __print_symbolic(op,	\
	{ MRC_OP_WRITE_FIRST, "WRITE_FIRST" },		\
	{ MRC_OP_WRITE_MIDDLE, "WRITE_MIDDLE" },	\
	{ MRC_OP_WRITE_LAST, "WRITE_LAST" },		\
	{ MRC_OP_WRITE_LAST_IMM, "WRITE_LAST_IMM" },	\
	{ MRC_OP_WRITE_ONLY, "WRITE_ONLY" },		\
	{ MRC_OP_WRITE_ONLY_IMM, "WRITE_ONLY_IMM" },	\
	{ MRC_OP_ACK, "ACK" },				\
	{ MRC_OP_ENDPOINT_REQ, "ENDPOINT_REQ" },	\
	{ MRC_OP_ENDPOINT_RESP, "ENDPOINT_RESP" },	\
	{ MRC_OP_SACK, "SACK" },			\
	{ MRC_OP_NACK, "NACK" },			\
	{ MRC_OP_PROBE, "PROBE" })

#define mrc_show_ev_state(s) __print_symbolic(s,	\
	{ MRC_EV_GOOD, "GOOD" },			\
	{ MRC_EV_DENIED, "DENIED" },			\
	{ MRC_EV_SKIP, "SKIP" },			\
	{ MRC_EV_ASSUMED_BAD, "ASSUMED_BAD" })

#define mrc_show_cause(c) __print_symbolic(c,		\
	{ MRC_LOSS_SACK, "SACK" },			\
	{ MRC_LOSS_PROBE, "PROBE" },			\
	{ MRC_LOSS_NACK, "NACK" },			\
	{ MRC_LOSS_TIMEOUT, "TIMEOUT" })

#define mrc_show_qp_state(s) __print_symbolic(s,	\
	{ IB_QPS_RESET, "RESET" },			\
	{ IB_QPS_INIT, "INIT" },			\
	{ IB_QPS_RTR, "RTR" },				\
	{ IB_QPS_RTS, "RTS" },				\
	{ IB_QPS_ERR, "ERR" })

DECLARE_EVENT_CLASS(mrc_packet,
	TP_PROTO(u32 qpn, const struct mrc_hdr *hdr, u8 port, u32 entropy,
		 u32 len),
	TP_ARGS(qpn, hdr, port, entropy, len),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, dqp)
		__field(u32, psn)
		__field(u32, entropy)
		__field(u32, len)
		__field(u8, opcode)
		__field(u8, port)
		__field(u8, a)
		__field(u8, rtx)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->dqp = hdr->dqp;
		__entry->psn = hdr->psn;
		__entry->entropy = entropy;
		__entry->len = len;
		__entry->opcode = hdr->opcode;
		__entry->port = port;
		__entry->a = hdr->a;
		__entry->rtx = hdr->rtx;
	),
	TP_printk("qpn=0x%06x dqp=0x%06x %s psn=0x%06x port=%u entropy=0x%08x len=%u a=%u rtx=%u",
		  __entry->qpn, __entry->dqp, mrc_show_opcode(__entry->opcode),
		  __entry->psn, __entry->port, __entry->entropy, __entry->len,
		  __entry->a, __entry->rtx)
);

/* A packet was built; len = payload bytes. */
DEFINE_EVENT(mrc_packet, mrc_send,
	TP_PROTO(u32 qpn, const struct mrc_hdr *hdr, u8 port, u32 entropy,
		 u32 len),
	TP_ARGS(qpn, hdr, port, entropy, len));

/* A packet passed all checks up to the QP; len = UDP payload bytes. */
DEFINE_EVENT(mrc_packet, mrc_receive,
	TP_PROTO(u32 qpn, const struct mrc_hdr *hdr, u8 port, u32 entropy,
		 u32 len),
	TP_ARGS(qpn, hdr, port, entropy, len));

TRACE_EVENT(mrc_sack,
	TP_PROTO(u32 qpn, const struct mrc_hdr *hdr, u8 port),
	TP_ARGS(qpn, hdr, port),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, cack)
		__field(s32, ack_off)
		__field(s32, sack_off)
		__field(u64, bitmap)
		__field(u32, entropy)
		__field(u16, probe_id)
		__field(u16, ooo)
		__field(u8, m)
		__field(u8, pr)
		__field(u8, port)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->cack = hdr->seth.cack_psn;
		__entry->ack_off = hdr->seth.ack_psn_offset;
		__entry->sack_off = hdr->seth.sack_offset;
		__entry->bitmap = hdr->seth.bitmap;
		__entry->entropy = hdr->seth.entropy;
		__entry->probe_id = hdr->seth.probe_id;
		__entry->ooo = hdr->seth.ooo_count;
		__entry->m = hdr->seth.m;
		__entry->pr = hdr->seth.pr;
		__entry->port = port;
	),
	TP_printk("qpn=0x%06x cack=0x%06x ack_off=%d sack_off=%d bitmap=0x%016llx ooo=%u entropy=0x%08x m=%u pr=%u probe_id=%u port=%u",
		  __entry->qpn, __entry->cack, __entry->ack_off,
		  __entry->sack_off, __entry->bitmap, __entry->ooo,
		  __entry->entropy, __entry->m, __entry->pr,
		  __entry->probe_id, __entry->port)
);

TRACE_EVENT(mrc_loss,
	TP_PROTO(u32 qpn, u32 psn, int ev, u8 cause),
	TP_ARGS(qpn, psn, ev, cause),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(int, ev)
		__field(u8, cause)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = psn;
		__entry->ev = ev;
		__entry->cause = cause;
	),
	TP_printk("qpn=0x%06x psn=0x%06x ev=%d cause=%s", __entry->qpn,
		  __entry->psn, __entry->ev, mrc_show_cause(__entry->cause))
);

TRACE_EVENT(mrc_ev_state,
	TP_PROTO(u32 qpn, u16 ev, u8 port, u32 entropy, u8 from, u8 to),
	TP_ARGS(qpn, ev, port, entropy, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, entropy)
		__field(u16, ev)
		__field(u8, port)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->entropy = entropy;
		__entry->ev = ev;
		__entry->port = port;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qpn=0x%06x ev=%u port=%u entropy=0x%08x %s->%s",
		  __entry->qpn, __entry->ev, __entry->port, __entry->entropy,
		  mrc_show_ev_state(__entry->from),
		  mrc_show_ev_state(__entry->to))
);

TRACE_EVENT(mrc_qp_state,
	TP_PROTO(u32 qpn, u8 from, u8 to),
	TP_ARGS(qpn, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qpn=0x%06x %s->%s", __entry->qpn,
		  mrc_show_qp_state(__entry->from),
		  mrc_show_qp_state(__entry->to))
);

#endif /* MRC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE mrc_trace
#include <trace/define_trace.h>
