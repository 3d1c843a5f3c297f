/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One counter for each protocol event, per port. The list is the single
 * source of the enum, of the names in "rdma statistic" and of the tests.
 * Append only. Names must be short, because all of them must fit in one netlink
 * message: mrc_stats.c checks this.
 */
#ifndef MRC_COUNTERS_H
#define MRC_COUNTERS_H

#define MRC_COUNTER_LIST(X)						\
	/* sending */							\
	X(TX_DATA, "tx_data_pkts")		/* data, rtx included */ \
	X(TX_DATA_BYTES, "tx_data_bytes")	/* payload bytes */	\
	X(TX_RTX, "tx_rtx_pkts")		/* retransmissions */	\
	X(TX_SACK, "tx_sack")						\
	X(TX_NACK, "tx_nack")						\
	X(TX_ACK, "tx_ack")						\
	X(TX_NAK, "tx_nak")						\
	X(TX_PROBE, "tx_probe")						\
	X(TX_ENDPOINT_REQ, "tx_endpoint_req")				\
	X(TX_ENDPOINT_RESP, "tx_endpoint_resp")				\
	X(TX_ERROR, "tx_errors")	/* no memory, no route, device */ \
	/* receiving */							\
	X(RX_DATA, "rx_data_pkts")		/* accepted, new */	\
	X(RX_DATA_BYTES, "rx_data_bytes")	/* payload placed */	\
	X(RX_DUP, "rx_duplicate")		/* §7.3 */		\
	X(RX_OOO, "rx_out_of_order")	/* new, not cack + 1 */		\
	X(RX_OOR, "rx_psn_out_of_window")	/* §7.2 */		\
	X(RX_CE, "rx_ce_marked")					\
	X(RX_TRIMMED, "rx_trimmed")					\
	X(RX_SACK, "rx_sack")						\
	X(RX_NACK, "rx_nack")						\
	X(RX_ACK, "rx_ack")						\
	X(RX_NAK, "rx_nak")						\
	X(RX_PROBE, "rx_probe")						\
	X(RX_PROBE_REPLY, "rx_probe_reply")				\
	X(RX_ENDPOINT_REQ, "rx_endpoint_req")				\
	X(RX_ENDPOINT_RESP, "rx_endpoint_resp")				\
	X(RX_WIMM, "rx_write_imm")		/* delivered to a CQ */	\
	/* dropped on receipt */					\
	X(DROP_SHORT, "rx_drop_short")					\
	X(DROP_LENGTH, "rx_drop_length")				\
	X(DROP_TVER, "rx_drop_tver")					\
	X(DROP_OPCODE, "rx_drop_opcode")				\
	X(DROP_ICRC, "rx_drop_icrc")					\
	X(DROP_PKEY, "rx_drop_pkey")					\
	X(DROP_QPN, "rx_drop_unknown_qp")				\
	X(DROP_ADDR, "rx_drop_address")		/* not the QP's peer */	\
	X(DROP_STATE, "rx_drop_qp_state")				\
	X(DROP_STALE, "rx_drop_unsent_psn")	/* ack of unsent, §10 */ \
	X(DROP_ENDPOINT, "rx_drop_endpoint")	/* rate limit, bad op */ \
	/* recovery */							\
	X(LOSS_SACK, "loss_inferred")		/* §9.3 */		\
	X(LOSS_PROBE, "loss_probe")		/* §9.5 */		\
	X(LOSS_NACK, "loss_nack")		/* §8.4 */		\
	X(LOSS_TIMEOUT, "loss_timeout")		/* packets timed out */	\
	X(RTO, "retry_timeouts")		/* timer expiries, §9.4 */ \
	X(RTX_LAST_PSN, "rtx_last_psn")		/* transport ACK lost */ \
	X(SPURIOUS_RTX, "rtx_spurious")	/* first copy arrived */	\
	X(RETRY_EXC, "retry_exceeded")					\
	/* stalls of the send loop */					\
	X(STALL_MPR, "stall_mpr")					\
	X(STALL_CWND, "stall_cwnd")					\
	X(STALL_WIMM, "stall_write_imm")				\
	X(STALL_NO_EV, "stall_no_ev")					\
	/* entropy values, §11.6 */					\
	X(EV_SKIP, "ev_to_skip")					\
	X(EV_BAD, "ev_to_assumed_bad")					\
	X(EV_GOOD, "ev_to_good")		/* resurrected */	\
	X(EV_DENIED, "ev_to_denied")					\
	/* errors, §10 */						\
	X(ERR_INV_REQ, "resp_invalid_request")				\
	X(ERR_ACCESS, "resp_access_error")				\
	X(ERR_REM_OP, "resp_op_error")					\
	X(ERR_NO_RECV, "resp_no_receive")	/* IMM without a RWQE */ \
	X(ERR_WIMM_LIMIT, "resp_imm_limit")				\
	X(CQ_OVERFLOW, "cq_overflow")					\
	X(QP_ERROR, "qp_errors")					\
	X(PORT_DOWN, "port_down_events")				\
	X(PORT_UP, "port_up_events")					\
	/* NACKs received, by what they ask for, §8.4 */		\
	X(NACK_TRIMMED, "rx_nack_trimmed")	/* both trim reasons */	\
	X(NACK_SHORTAGE, "rx_nack_shortage")	/* NO_*, reserved */	\
	X(NACK_WINDOW, "rx_nack_window")				\
	X(NACK_FATAL, "rx_nack_fatal")					\
	X(RX_REFUSED, "rx_refused")		/* by a NACK NO_* */	\
	X(RX_PENALTY, "rx_penalty")	/* SACKs, §13.6 */		\
	X(MPR_CHANGE, "mpr_changes")		/* adopted, §5.2 */	\
	X(TRAIN_LIMIT, "probe_sack_limited")	/* §9.5, one map only */	\
	/* SRv6: packets in an outer header, §16 */			\
	X(TX_SRV6, "tx_srv6")						\
	X(RX_SRV6, "rx_srv6")		/* for a QP or the node */	\
	X(DROP_SRV6, "rx_drop_srv6")	/* bad IP header inside */	\
	/* endpoint operations and reverse paths, §12, §11.8 */		\
	X(TX_PORT_STATUS, "tx_port_status")	/* updates */		\
	X(RX_PORT_STATUS, "rx_port_status")	/* acted upon */	\
	X(PORT_STATUS_REFUSED, "rx_port_status_refused") /* or disproved */ \
	X(PORT_STATUS_OK, "port_status_ok")				\
	X(EP_TIMEOUT, "endpoint_timeouts")	/* of batches */	\
	X(TX_REV_PROBE, "tx_rev_probe")					\
	X(REV_CONFIRMED, "rev_path_ok")					\
	X(REV_LATE, "rev_probe_late")					\
	/* the extension, requester */					\
	X(TX_REQUEST, "tx_requests")	/* READ, atomics, FLUSH */	\
	X(STALL_RD, "stall_rd_atomic")					\
	X(STALL_FENCE, "stall_fence")					\
	X(NACK_RNR, "rx_nack_rnr")	/* no receive posted */		\
	X(RNR_EXC, "rnr_exceeded")					\
	X(NACK_PAGE, "rx_nack_page")	/* peer fetches memory */	\
	X(TX_PAGE, "tx_page_wait")	/* put back for memory */	\
	/* the extension, responder */					\
	X(RX_SEND, "rx_send")		/* delivered to a CQ */		\
	X(RX_REQUEST, "rx_requests")	/* of the peer, executed */	\
	X(RESP_RNR, "resp_rnr")		/* refused: no receive posted */ \
	X(RESP_PAGE, "resp_page")	/* refused: memory is fetched */ \
	/* datagrams, in packets of RoCE v2 */				\
	X(TX_UD, "tx_ud_pkts")						\
	X(RX_UD, "rx_ud_pkts")		/* each QP of a group */	\
	X(DROP_QKEY, "rx_drop_qkey")					\
	X(UD_NO_RECV, "rx_ud_no_receive")				\
	X(UD_PAGE, "rx_ud_page_wait")	/* kept until fetched */	\
	/* unreliable connections, in packets of RoCE v2 */		\
	X(TX_UC, "tx_uc_pkts")						\
	X(RX_UC, "rx_uc_pkts")		/* accepted */			\
	X(RX_UC_MSG, "rx_uc_msgs")	/* complete */			\
	X(UC_BROKEN, "rx_uc_broken")	/* messages ended by a gap */	\
	X(UC_SEQ, "rx_drop_uc_sequence")	/* continue no message */	\
	X(UC_NO_RECV, "rx_uc_no_receive")				\
	X(UC_ACCESS, "rx_uc_access")	/* writes not allowed */

enum mrc_counter {
#define X(id, name) MRC_CTR_##id,
	MRC_COUNTER_LIST(X)
#undef X
	MRC_CTR_MAX
};

/*
 * The storage belongs to the environment: per-CPU in the kernel, a plain
 * array elsewhere. mrc_base.h provides
 *	struct mrc_counters;
 *	void mrc_ctr_add(struct mrc_counters *c, unsigned int port,
 *			 enum mrc_counter id, u64 n);
 * @c may be NULL; @port is 1-based, values outside the device's ports are
 * counted on port 1.
 */

#endif /* MRC_COUNTERS_H */
