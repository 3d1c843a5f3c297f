// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sizes, offsets, types and values that programs compiled for the MRC API
 * 1.0.1 have built in, on 64-bit machines with the usual ABI. Compiled as C and
 * as C++, never run. With CTL_BEFORE_1_0_1 what an older program has.
 */
#include <stddef.h>

#include <mrc_ctl.h>

#ifdef __cplusplus
#include <type_traits>
#define SAME_TYPE(a, b) std::is_same<a, b>::value
#define TYPE_OF(t, m) decltype(reinterpret_cast<t *>(0)->m)
#define IS_SIGNED(t) std::is_signed<std::underlying_type<t>::type>::value
#else
#include <assert.h>
#define SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)
#define TYPE_OF(t, m) __typeof__(((t *)0)->m)
#define IS_SIGNED(t) SAME_TYPE(t, int)
#endif

#define SIZE(t, size, align)                                      \
	static_assert(sizeof(t) == (size), "size of " #t);        \
	static_assert(__alignof__(t) == (align), "alignment of " #t)
#define GROUP(t, m, offset, size)                                          \
	static_assert(__builtin_offsetof(t, m) == (offset), #t "." #m);    \
	static_assert(sizeof(((t *)0)->m) == (size), "size of " #t "." #m)
#define MEMBER(t, m, offset, ...)                                       \
	static_assert(__builtin_offsetof(t, m) == (offset), #t "." #m); \
	static_assert(SAME_TYPE(TYPE_OF(t, m), __VA_ARGS__),            \
		      "type of " #t "." #m)
#define VALUE(name, value) static_assert((long long)(name) == (value), #name)
#define ENUM(t, is_signed)                                     \
	static_assert(sizeof(t) == 4, "size of " #t);          \
	static_assert(IS_SIGNED(t) == (is_signed), "sign of " #t)

#define BIT31 (-2147483648LL)

/* --- mrc.h ---------------------------------------------------------------- */

VALUE(MRC_MAX_VENDOR_CFG_SIZE, 128);

ENUM(enum mrc_protocol_version, 0);
VALUE(MRC_PROTOCOL_VERSION_0, 0);
VALUE(MRC_PROTOCOL_VERSION_1, 1);

ENUM(enum mrc_device_cap, 0);
VALUE(MRC_DEVICE_CAP_TRIM_NACK, 1);
VALUE(MRC_DEVICE_CAP_DYNAMIC_MPR, 2);
VALUE(MRC_DEVICE_CAP_SVC_TIME, 4);

ENUM(enum mrc_qp_hint_attr_mask, 1);
VALUE(MRC_QP_HINT_NUM_QPS_PER_PEER, 1);
VALUE(MRC_QP_HINT_NUM_SEND_PEERS, 2);
VALUE(MRC_QP_HINT_NUM_REMOTE_RECV_PEERS, 4);
VALUE(MRC_QP_HINT_VENDOR_CFG, BIT31);

ENUM(enum mrc_qp_attr_mask, 1);
VALUE(MRC_QP_MAX_WIMM, 0x1);
VALUE(MRC_QP_MAX_WIMM_DEST, 0x2);
VALUE(MRC_QP_MPR, 0x4);
VALUE(MRC_QP_MPR_DEST, 0x8);
VALUE(MRC_QP_TIMEOUT, 0x10);
VALUE(MRC_QP_EV_PROFILE_ID, 0x20);
VALUE(MRC_QP_CC_PROFILE_ID, 0x40);
VALUE(MRC_QP_HINT, 0x80);
VALUE(MRC_QP_RETRY_CNT, 0x100);
VALUE(MRC_QP_CAP, 0x200);
VALUE(MRC_QP_VENDOR_CFG, BIT31);

ENUM(enum mrc_qp_cap, 0);
VALUE(MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED, 1);
VALUE(MRC_QP_CAP_DYNAMIC_MPR, 2);
VALUE(MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED, 4);

SIZE(struct mrc_device_attr, 20, 4);
MEMBER(struct mrc_device_attr, mrc_protocol_version, 0, uint32_t);
GROUP(struct mrc_device_attr, wimm_attr, 4, 4);
MEMBER(struct mrc_device_attr, wimm_attr.max_wimm, 4, uint16_t);
MEMBER(struct mrc_device_attr, wimm_attr.max_wimm_dest, 6, uint16_t);
GROUP(struct mrc_device_attr, mpr_attr, 8, 2);
MEMBER(struct mrc_device_attr, mpr_attr.max_mpr, 8, uint8_t);
MEMBER(struct mrc_device_attr, mpr_attr.mpr_resolution, 9, uint8_t);
GROUP(struct mrc_device_attr, qp_attr, 12, 4);
MEMBER(struct mrc_device_attr, qp_attr.max_qp_hint, 12, uint32_t);
MEMBER(struct mrc_device_attr, cap, 16, uint32_t);

SIZE(struct mrc_context_attr, 8, 4);
MEMBER(struct mrc_context_attr, mrc_api_version_used, 0, uint32_t);
MEMBER(struct mrc_context_attr, mrc_vendor_api_version_used, 4, uint32_t);

SIZE(struct mrc_qp_hint_attr, 140, 4);
MEMBER(struct mrc_qp_hint_attr, num_qps_per_peer, 0, int);
MEMBER(struct mrc_qp_hint_attr, num_send_peers, 4, int);
MEMBER(struct mrc_qp_hint_attr, num_remote_recv_peers, 8, int);
MEMBER(struct mrc_qp_hint_attr, vendor_cfg, 12, uint8_t[128]);

SIZE(struct mrc_qp_hint_init_attr, 140, 4);
MEMBER(struct mrc_qp_hint_init_attr, attr, 0, struct mrc_qp_hint_attr);

SIZE(struct mrc_qp_init_attr, 72, 8);
MEMBER(struct mrc_qp_init_attr, qp_context, 0, void *);
MEMBER(struct mrc_qp_init_attr, send_cq, 8, struct mrc_cq *);
MEMBER(struct mrc_qp_init_attr, recv_cq, 16, struct mrc_cq *);
MEMBER(struct mrc_qp_init_attr, cap, 24, struct ibv_qp_cap);
MEMBER(struct mrc_qp_init_attr, cap.max_send_wr, 24, uint32_t);
MEMBER(struct mrc_qp_init_attr, cap.max_recv_wr, 28, uint32_t);
MEMBER(struct mrc_qp_init_attr, cap.max_send_sge, 32, uint32_t);
MEMBER(struct mrc_qp_init_attr, cap.max_recv_sge, 36, uint32_t);
MEMBER(struct mrc_qp_init_attr, cap.max_inline_data, 40, uint32_t);
MEMBER(struct mrc_qp_init_attr, sq_sig_all, 44, int);
MEMBER(struct mrc_qp_init_attr, pd, 48, struct ibv_pd *);
MEMBER(struct mrc_qp_init_attr, send_ops_flags, 56, uint64_t);
MEMBER(struct mrc_qp_init_attr, protocol_version, 64,
       enum mrc_protocol_version);

SIZE(struct mrc_qp_attr, 176, 8);
GROUP(struct mrc_qp_attr, mpr, 0, 2);
MEMBER(struct mrc_qp_attr, mpr.mpr, 0, uint8_t);
MEMBER(struct mrc_qp_attr, mpr.mpr_dest, 1, uint8_t);
GROUP(struct mrc_qp_attr, wimm, 2, 4);
MEMBER(struct mrc_qp_attr, wimm.max_wimm, 2, uint16_t);
MEMBER(struct mrc_qp_attr, wimm.max_wimm_dest, 4, uint16_t);
MEMBER(struct mrc_qp_attr, timeout, 6, uint8_t);
GROUP(struct mrc_qp_attr, profile, 8, 16);
MEMBER(struct mrc_qp_attr, profile.ev_profile_id, 8, uint64_t);
MEMBER(struct mrc_qp_attr, profile.cc_profile_id, 16, uint64_t);
GROUP(struct mrc_qp_attr, retry, 24, 2);
MEMBER(struct mrc_qp_attr, retry.linear_cnt, 24, uint8_t);
MEMBER(struct mrc_qp_attr, retry.exp_cnt, 25, uint8_t);
MEMBER(struct mrc_qp_attr, qp_hint, 32, struct mrc_qp_hint *);
MEMBER(struct mrc_qp_attr, cap, 40, uint32_t);
MEMBER(struct mrc_qp_attr, vendor_cfg, 44, uint8_t[128]);

SIZE(struct mrc_async_event, 16, 8);
GROUP(struct mrc_async_event, element, 0, 8);
MEMBER(struct mrc_async_event, element.cq, 0, struct mrc_cq *);
MEMBER(struct mrc_async_event, element.qp, 0, struct mrc_qp *);
MEMBER(struct mrc_async_event, element.port_num, 0, int);
MEMBER(struct mrc_async_event, event_type, 8, enum ibv_event_type);

/* --- mrc_ctl.h ------------------------------------------------------------ */

VALUE(MRC_CTL_MAX_VENDOR_CFG_SIZE, 128);
VALUE(MRC_CTL_EV_MAX_BYTES, 32);

ENUM(enum mrc_ctl_protocol_version, 0);
VALUE(MRC_CTL_PROTOCOL_VERSION_0, 0);
VALUE(MRC_CTL_PROTOCOL_VERSION_1, 1);

ENUM(enum mrc_ctl_profile_state, 0);
VALUE(MRC_CTL_PROFILE_INIT, 0);
VALUE(MRC_CTL_PROFILE_OFFLINE, 1);
VALUE(MRC_CTL_PROFILE_ONLINE, 2);

ENUM(enum mrc_ctl_attr_opt, 0);
VALUE(MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE, 0x1);
VALUE(MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE, 0x2);
VALUE(MRC_CTL_OPT_CAP_EV_EVENT, 0x4);
VALUE(MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE, 0x8);
VALUE(MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT, 0x10);
VALUE(MRC_CTL_OPT_CAP_EP_OP_EV_PROBE, 0x20);

SIZE(struct mrc_ctl_device_attr, 72, 8);
MEMBER(struct mrc_ctl_device_attr, mrc_ctl_protocol_version, 0, uint32_t);
GROUP(struct mrc_ctl_device_attr, ev, 4, 40);
MEMBER(struct mrc_ctl_device_attr, ev.ev_max_fmt_profiles, 4, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_max_profiles, 8, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_max_count, 12, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_free_count, 16, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_max_count_profile, 20, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_count_align, 24, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_max_width, 28, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_fmt_mode_mask, 32, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_mode_mask, 36, uint32_t);
MEMBER(struct mrc_ctl_device_attr, ev.ev_op_max_entries, 40, uint32_t);
GROUP(struct mrc_ctl_device_attr, cc, 48, 16);
MEMBER(struct mrc_ctl_device_attr, cc.cc_max_profiles, 48, uint32_t);
MEMBER(struct mrc_ctl_device_attr, cc.algorithms, 56, const char **);
MEMBER(struct mrc_ctl_device_attr, phy_port_mask, 64, uint32_t);
MEMBER(struct mrc_ctl_device_attr, opt_attr, 68, uint32_t);

ENUM(enum mrc_ctl_port_admin_state, 0);
VALUE(MRC_CTL_PORT_ADMIN_DISABLED, 0);
VALUE(MRC_CTL_PORT_ADMIN_ENABLED, 1);

ENUM(enum mrc_ctl_port_attr_mask, 0);
VALUE(MRC_CTL_PORT_ADMIN_STATE, 1);

SIZE(struct mrc_ctl_port_attr, 4, 4);
MEMBER(struct mrc_ctl_port_attr, port_admin_state, 0,
       enum mrc_ctl_port_admin_state);

ENUM(enum mrc_ctl_ev_fmt_mode, 0);
VALUE(MRC_CTL_EV_FMT_MODE_STEV, 1);
VALUE(MRC_CTL_EV_FMT_MODE_SRV6, 2);
VALUE(MRC_CTL_EV_FMT_MODE_UDP, 4);

ENUM(enum mrc_ctl_ev_fmt_op, 0);
VALUE(MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, 0);
VALUE(MRC_CTL_EV_FMT_OP_QUERY_FIELDS, 1);

ENUM(enum mrc_ctl_ev_fmt_profile_attr_mask, 1);
VALUE(MRC_CTL_EV_FMT_PROFILE_STATE, 1);
VALUE(MRC_CTL_EV_FMT_PROFILE_CUR_STATE, 2);
VALUE(MRC_CTL_EV_FMT_PROFILE_MODE, 4);
VALUE(MRC_CTL_EV_FMT_PROFILE_OP, 8);
VALUE(MRC_CTL_EV_FMT_VENDOR_CFG, BIT31);

SIZE(struct mrc_ctl_ev_fmt_field, 1, 1);
MEMBER(struct mrc_ctl_ev_fmt_field, width, 0, uint8_t);

SIZE(struct mrc_ctl_ev_fmt_profile_attr, 168, 8);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, profile_state, 0,
       enum mrc_ctl_profile_state);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, cur_profile_state, 4,
       enum mrc_ctl_profile_state);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, ev_fmt_mode, 8,
       enum mrc_ctl_ev_fmt_mode);
GROUP(struct mrc_ctl_ev_fmt_profile_attr, ev_fmt_op, 16, 24);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, ev_fmt_op.op, 16,
       enum mrc_ctl_ev_fmt_op);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, ev_fmt_op.fmt_fields, 24,
       struct mrc_ctl_ev_fmt_field *);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, ev_fmt_op.fmt_field_count, 32, int);
MEMBER(struct mrc_ctl_ev_fmt_profile_attr, vendor_cfg, 40, uint8_t[128]);

SIZE(mrc_ctl_ev_t, 32, 1);
SIZE(struct mrc_ctl_ev, 33, 1);
MEMBER(struct mrc_ctl_ev, val, 0, uint8_t[32]);
MEMBER(struct mrc_ctl_ev, port, 32, uint8_t);

ENUM(enum mrc_ctl_ev_state, 1);
VALUE(MRC_CTL_EV_GOOD, 1);
VALUE(MRC_CTL_EV_ASSUMED_BAD, 2);
VALUE(MRC_CTL_EV_DENIED, 4);
VALUE(MRC_CTL_EV_UNKNOWN, BIT31);

ENUM(enum mrc_ctl_ev_mode, 0);
VALUE(MRC_CTL_EV_MODE_AUTO, 1);
VALUE(MRC_CTL_EV_MODE_EXP, 2);
VALUE(MRC_CTL_EV_MODE_GEN, 4);

ENUM(enum mrc_ctl_ev_op, 0);
VALUE(MRC_CTL_EV_OP_REPLACE_EV, 0);
VALUE(MRC_CTL_EV_OP_MODIFY_EV_STATE, 1);
VALUE(MRC_CTL_EV_OP_QUERY_EV_STATE, 2);
VALUE(MRC_CTL_EV_OP_QUERY_EV_ARRAY, 3);

ENUM(enum mrc_ctl_ev_fields_op, 0);
VALUE(MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, 0);
VALUE(MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, 1);

ENUM(enum mrc_ctl_ev_profile_attr_mask, 1);
VALUE(MRC_CTL_EV_PROFILE_STATE, 0x1);
VALUE(MRC_CTL_EV_PROFILE_CUR_STATE, 0x2);
VALUE(MRC_CTL_EV_PROFILE_MODE, 0x4);
VALUE(MRC_CTL_EV_PROFILE_FMT_ID, 0x8);
VALUE(MRC_CTL_EV_PROFILE_COUNT, 0x10);
VALUE(MRC_CTL_EV_PROFILE_MIN_ACTIVE, 0x20);
VALUE(MRC_CTL_EV_PROFILE_EVENT_MASK, 0x40);
VALUE(MRC_CTL_EV_PROFILE_EV_OP, 0x80);
VALUE(MRC_CTL_EV_PROFILE_EV_FIELDS_OP, 0x100);
VALUE(MRC_CTL_EV_PROFILE_VENDOR_CFG, BIT31);

SIZE(struct mrc_ctl_ev_field, 20, 4);
MEMBER(struct mrc_ctl_ev_field, width, 0, uint32_t);
MEMBER(struct mrc_ctl_ev_field, init_val, 4, uint32_t);
MEMBER(struct mrc_ctl_ev_field, min_val, 8, uint32_t);
MEMBER(struct mrc_ctl_ev_field, max_val, 12, uint32_t);
MEMBER(struct mrc_ctl_ev_field, mask, 16, uint32_t);

ENUM(enum mrc_ctl_ev_op_flags, 0);
VALUE(MRC_CTL_EV_OP_F_ALL_COPIES, 1);

SIZE(struct mrc_ctl_ev_op_entry, 76, 4);
MEMBER(struct mrc_ctl_ev_op_entry, ev, 0, struct mrc_ctl_ev);
MEMBER(struct mrc_ctl_ev_op_entry, ev_new, 33, struct mrc_ctl_ev);
MEMBER(struct mrc_ctl_ev_op_entry, state, 68, enum mrc_ctl_ev_state);
MEMBER(struct mrc_ctl_ev_op_entry, flags, 72, uint32_t);

SIZE(struct mrc_ctl_ev_profile_attr, 216, 8);
MEMBER(struct mrc_ctl_ev_profile_attr, profile_state, 0,
       enum mrc_ctl_profile_state);
MEMBER(struct mrc_ctl_ev_profile_attr, cur_profile_state, 4,
       enum mrc_ctl_profile_state);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_mode, 8, enum mrc_ctl_ev_mode);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_fmt_profile_id, 16, uint64_t);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_count, 24, uint32_t);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_min_active, 28, uint32_t);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_event_mask, 32, int);
GROUP(struct mrc_ctl_ev_profile_attr, ev_op, 40, 24);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_op.op, 40, enum mrc_ctl_ev_op);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_op.entries, 48,
       struct mrc_ctl_ev_op_entry *);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_op.entry_count, 56, int);
GROUP(struct mrc_ctl_ev_profile_attr, ev_fields_op, 64, 24);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_fields_op.op, 64,
       enum mrc_ctl_ev_fields_op);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_fields_op.fields, 72,
       struct mrc_ctl_ev_field *);
MEMBER(struct mrc_ctl_ev_profile_attr, ev_fields_op.field_count, 80, int);
MEMBER(struct mrc_ctl_ev_profile_attr, vendor_cfg, 88, uint8_t[128]);

ENUM(enum mrc_ctl_cc_profile_attr_mask, 1);
VALUE(MRC_CTL_CC_PROFILE_STATE, 1);
VALUE(MRC_CTL_CC_PROFILE_CUR_STATE, 2);
VALUE(MRC_CTL_CC_PROFILE_ALGORITHM, 4);
VALUE(MRC_CTL_CC_PROFILE_CONFIG, 8);
VALUE(MRC_CTL_CC_PROFILE_VENDOR_CFG, BIT31);

SIZE(struct mrc_ctl_cc_profile_attr, 152, 8);
MEMBER(struct mrc_ctl_cc_profile_attr, profile_state, 0,
       enum mrc_ctl_profile_state);
MEMBER(struct mrc_ctl_cc_profile_attr, cur_profile_state, 4,
       enum mrc_ctl_profile_state);
MEMBER(struct mrc_ctl_cc_profile_attr, algorithm, 8, const char *);
MEMBER(struct mrc_ctl_cc_profile_attr, cc_config, 16, const void *);
MEMBER(struct mrc_ctl_cc_profile_attr, vendor_cfg, 24, uint8_t[128]);

SIZE(struct mrc_ctl_cc_nscc_cfg, 52, 4);
MEMBER(struct mrc_ctl_cc_nscc_cfg, disable_qa, 0, uint8_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, adjust_bytes_threshold, 4, uint32_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, adjust_period_threshold, 8, uint32_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, base_rtt, 12, uint32_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, eta, 16, float);
MEMBER(struct mrc_ctl_cc_nscc_cfg, fi, 20, float);
MEMBER(struct mrc_ctl_cc_nscc_cfg, fi_scale, 24, float);
MEMBER(struct mrc_ctl_cc_nscc_cfg, gamma, 28, float);
MEMBER(struct mrc_ctl_cc_nscc_cfg, max_md_jump, 32, float);
MEMBER(struct mrc_ctl_cc_nscc_cfg, max_cwnd, 36, uint32_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, qa_gate, 40, uint8_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, qa_threshold, 44, uint32_t);
MEMBER(struct mrc_ctl_cc_nscc_cfg, target_delay, 48, uint32_t);

MEMBER(struct mrc_ctl_ev_event, profile_id, 0, uint64_t);
MEMBER(struct mrc_ctl_ev_event, ev, 8, struct mrc_ctl_ev);
MEMBER(struct mrc_ctl_ev_event, drop_count, 44, uint32_t);
#ifdef CTL_BEFORE_1_0_1
SIZE(struct mrc_ctl_ev_event, 48, 8);
#else
SIZE(struct mrc_ctl_ev_event, 56, 8);
MEMBER(struct mrc_ctl_ev_event, state, 48, enum mrc_ctl_ev_state);
#endif

ENUM(enum mrc_ctl_ep_op_type, 0);
VALUE(MRC_CTL_EP_OP_EV_PROBE, 0);
VALUE(MRC_CTL_EP_OP_PORT_STATUS_UPDATE, 1);

SIZE(struct mrc_ctl_ep_req, 88, 8);
MEMBER(struct mrc_ctl_ep_req, req_id, 0, uint16_t);
MEMBER(struct mrc_ctl_ep_req, sgid, 8, union ibv_gid);
MEMBER(struct mrc_ctl_ep_req, dgid, 24, union ibv_gid);
MEMBER(struct mrc_ctl_ep_req, ev_fmt_mode, 40, enum mrc_ctl_ev_fmt_mode);
MEMBER(struct mrc_ctl_ep_req, req_ev, 44, struct mrc_ctl_ev);
GROUP(struct mrc_ctl_ep_req, op, 80, 4);
MEMBER(struct mrc_ctl_ep_req, op.port_status_update.port_status, 80, uint32_t);

SIZE(struct mrc_ctl_ep_rsp, 12, 4);
MEMBER(struct mrc_ctl_ep_rsp, req_id, 0, uint16_t);
MEMBER(struct mrc_ctl_ep_rsp, port, 2, uint8_t);
MEMBER(struct mrc_ctl_ep_rsp, rtt, 4, unsigned int);
MEMBER(struct mrc_ctl_ep_rsp, adj_svc_time, 8, uint8_t);

/* An expression for one more EV, in either language. */
struct mrc_ctl_ev unpopulated(void);
struct mrc_ctl_ev unpopulated(void)
{
	return MRC_CTL_EV_UNPOPULATED;
}
