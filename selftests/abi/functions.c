// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions of the MRC API 1.0.1, declared a second time: a compiler accepts
 * it only if the declarations agree. Compiled as C and as C++ (where it is a
 * matter of C linkage too), never run. The list of exported names that the
 * library must have is taken from here.
 */
#include <mrc_ctl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- mrc.h ---------------------------------------------------------------- */
int mrc_query_device_ex(struct ibv_context *, struct mrc_context *,
			struct mrc_device_attr *, int *);
int mrc_query_device(struct ibv_context *, struct mrc_device_attr *, int *);
void mrc_query_version(uint32_t *, uint32_t *, uint32_t *, uint32_t *);
struct mrc_context *mrc_create_context(struct ibv_context *,
				       struct mrc_context_attr *);
int mrc_destroy_context(struct mrc_context *);
int mrc_create_comp_channel(struct mrc_context *, struct mrc_comp_channel **);
int mrc_get_comp_channel_fd(struct mrc_comp_channel *, int *);
int mrc_destroy_comp_channel(struct mrc_comp_channel *);
struct mrc_cq *mrc_create_cq(struct mrc_context *, int, void *,
			     struct mrc_comp_channel *, int);
int mrc_poll_cq(struct mrc_cq *, int, struct ibv_wc *);
int mrc_destroy_cq(struct mrc_cq *);
struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *,
				       struct mrc_qp_hint_init_attr *);
int mrc_destroy_qp_hint(struct mrc_qp_hint *);
int mrc_query_qp_hint(struct mrc_qp_hint *, struct mrc_qp_hint_attr *, int);
int mrc_modify_qp_hint(struct mrc_qp_hint *, struct mrc_qp_hint_attr *, int);
struct mrc_qp *mrc_create_qp(struct mrc_context *, struct mrc_qp_init_attr *);
int mrc_destroy_qp(struct mrc_qp *);
int mrc_query_qp(struct mrc_qp *, struct ibv_qp_attr *, int,
		 struct mrc_qp_attr *, int, struct mrc_qp_init_attr *);
int mrc_modify_qp(struct mrc_qp *, struct ibv_qp_attr *, int,
		  struct mrc_qp_attr *, int);
int mrc_get_qpn(struct mrc_qp *, uint32_t *);
int mrc_post_recv(struct mrc_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
int mrc_post_send(struct mrc_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
int mrc_get_async_event(struct mrc_context *, struct mrc_async_event *);
void mrc_ack_async_event(struct mrc_async_event *);
int mrc_req_notify_cq(struct mrc_cq *, int);
int mrc_get_cq_event(struct mrc_comp_channel *, struct mrc_cq **, void **);
void mrc_ack_cq_events(struct mrc_cq *, unsigned int);

/* --- mrc_ctl.h ------------------------------------------------------------ */
int mrc_ctl_query_device_ex(struct ibv_context *, struct mrc_context *,
			    struct mrc_ctl_device_attr *, int *);
int mrc_ctl_query_device(struct ibv_context *, struct mrc_ctl_device_attr *);
void mrc_ctl_query_version(uint32_t *, uint32_t *, uint32_t *, uint32_t *);
int mrc_ctl_query_port(struct mrc_context *, uint8_t,
		       struct mrc_ctl_port_attr *, int);
int mrc_ctl_modify_port(struct mrc_context *, uint8_t,
			struct mrc_ctl_port_attr *, int);
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *, uint64_t,
				  struct mrc_ctl_ev_fmt_profile_attr *, int);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *, uint64_t,
				 struct mrc_ctl_ev_fmt_profile_attr *, int);
int mrc_ctl_modify_ev_profile(struct mrc_context *, uint64_t,
			      struct mrc_ctl_ev_profile_attr *, int);
int mrc_ctl_query_ev_profile(struct mrc_context *, uint64_t,
			     struct mrc_ctl_ev_profile_attr *, int);
int mrc_ctl_modify_cc_profile(struct mrc_context *, uint64_t,
			      struct mrc_ctl_cc_profile_attr *, int);
int mrc_ctl_query_cc_profile(struct mrc_context *, uint64_t,
			     struct mrc_ctl_cc_profile_attr *, int);
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *, int, void *,
					  struct mrc_comp_channel *, int);
int mrc_ctl_poll_ev_event(struct mrc_cq *, int, struct mrc_ctl_ev_event *);
int mrc_ctl_ep_batch_send_wait(struct mrc_context *, uint8_t,
			       enum mrc_ctl_ep_op_type, struct mrc_ctl_ep_req *,
			       int, uint32_t, struct mrc_ctl_ep_rsp *, int *);

#ifdef __cplusplus
}
#endif
