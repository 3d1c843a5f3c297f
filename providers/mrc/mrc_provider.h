/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects of the MRC provider and the functions that its files share. Names that
 * libibverbs calls or sees have the prefix mrc_v_, because the plain names belong to
 * the MRC API, which the same library implements (mrc.h).
 *
 * Locks: one spinlock per completion queue, send queue and (shared) receive queue. A
 * thread holds at most one of them. Exception: a change of the state of a queue pair
 * takes the lock of its send queue, then that of its receive queue. No lock is held
 * while a doorbell is rung, except the first doorbell of a send queue.
 */
#ifndef MRC_PROVIDER_H
#define MRC_PROVIDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>
#include <util/util.h>

#include "mrc_uabi.h"
#include "ring.h"

/* of the MRC API, see lib_mrc.h */
struct mrc_cq;
struct mrc_qp;

struct mrc_v_device {
	struct verbs_device vdev;
};

/**
 * struct mrc_v_context - an opened device
 * @vctx: libibverbs' part
 * @features: MRC_FEATURE_* of the kernel
 */
struct mrc_v_context {
	struct verbs_context vctx;
	uint64_t features;
};

/**
 * struct mrc_v_cq - completion queue
 * @vcq: libibverbs' part
 * @lock: protects everything below; held from start_poll to end_poll
 * @single_threaded: the program promised single threaded use; @lock is not taken
 * @ring: @ring.idx = cons
 * @cur: entry between start_poll and end_poll
 * @lib: MRC API object that wraps it, NULL if a verbs program created it
 */
struct mrc_v_cq {
	struct verbs_cq vcq;
	pthread_spinlock_t lock;
	bool single_threaded;
	struct mrc_ring ring;
	const struct mrc_cqe *cur;
	struct mrc_cq *lib;
};

/**
 * struct mrc_wq - send or receive queue
 * @lock: protects everything below
 * @ring: @ring.idx = prod; no ring if the QP has no such queue
 * @max_sge: scatter/gather entries per work request
 * @max_inline: bytes of inline data per work request
 */
struct mrc_wq {
	pthread_spinlock_t lock;
	struct mrc_ring ring;
	uint32_t max_sge;
	uint32_t max_inline;
};

/**
 * struct mrc_v_srq - shared receive queue
 * @vsrq: libibverbs' part
 * @rq: the queue
 */
struct mrc_v_srq {
	struct verbs_srq vsrq;
	struct mrc_wq rq;
};

/**
 * struct mrc_v_ah - address handle
 * @ah: libibverbs' part
 * @num: number by which work requests name it; 0: the kernel has no UD
 */
struct mrc_v_ah {
	struct ibv_ah ah;
	uint32_t num;
};

/**
 * struct mrc_v_qp - queue pair
 * @vqp: libibverbs' part
 * @ops: bit N: enum ibv_wr_opcode N can be posted
 * @sq: send queue
 * @rq: receive queue; none with an SRQ
 * @sq_started: a doorbell of @sq has succeeded since RESET; under its lock
 * @batch_idx: prod of the batch being built between wr_start and wr_complete
 * @batch_wqe: its latest entry, NULL before the first and after an error
 * @batch_err: first error of the batch, an errno
 * @lib: MRC API object that wraps it, NULL if a verbs program created it
 */
struct mrc_v_qp {
	struct verbs_qp vqp;
	uint32_t ops;
	struct mrc_wq sq;
	struct mrc_wq rq;
	bool sq_started;
	uint32_t batch_idx;
	struct mrc_send_wqe *batch_wqe;
	int batch_err;
	struct mrc_qp *lib;
};

static inline struct mrc_v_context *to_mctx(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct mrc_v_context, vctx.context);
}

static inline struct mrc_v_cq *to_mcq(struct ibv_cq *ibcq)
{
	return container_of(ibcq, struct mrc_v_cq, vcq.cq);
}

static inline struct mrc_v_cq *to_mcq_ex(struct ibv_cq_ex *ibcq)
{
	return container_of(ibcq, struct mrc_v_cq, vcq.cq_ex);
}

static inline struct mrc_v_qp *to_mqp(struct ibv_qp *ibqp)
{
	return container_of(ibqp, struct mrc_v_qp, vqp.qp);
}

static inline struct mrc_v_qp *to_mqp_ex(struct ibv_qp_ex *ibqp)
{
	return container_of(ibqp, struct mrc_v_qp, vqp.qp_ex);
}

static inline struct mrc_v_srq *to_msrq(struct ibv_srq *ibsrq)
{
	return container_of(ibsrq, struct mrc_v_srq, vsrq.srq);
}

static inline struct mrc_v_ah *to_mah(struct ibv_ah *ibah)
{
	return container_of(ibah, struct mrc_v_ah, ah);
}

/* mrc.c */
/* Is @context a context of this provider? It may be NULL. */
bool mrc_v_is_mrc(struct ibv_context *context);

/*
 * The kernel has refused @av with @err: write an explanation to the log of libibverbs
 * (VERBS_LOG_LEVEL). A GID index is valid only for the port that it was read from, and
 * the GID table of each port has empty entries.
 */
void mrc_v_explain_av(struct ibv_context *context, int err,
		      const struct ibv_ah_attr *av);

/*
 * The device was removed, and the kernel's object with it. A verbs program gets that
 * error, unless libibverbs is configured to hide it. An object of the MRC API (@lib) is
 * freed nevertheless, so that the objects that it uses can be destroyed.
 */
static inline bool mrc_v_gone(int err, const void *lib)
{
	return err == EIO && lib;
}

/* cq.c */
struct ibv_cq *mrc_v_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *mrc_v_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr);
int mrc_v_resize_cq(struct ibv_cq *ibcq, int cqe);
int mrc_v_destroy_cq(struct ibv_cq *ibcq);
int mrc_v_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc);
/*
 * Drop the unpolled entries of queue pair @qpn. It must produce no more entries, and
 * its QPN must not be in use again.
 */
void mrc_v_clean_cq(struct ibv_cq *ibcq, uint32_t qpn);

/* qp.c */
struct ibv_qp *mrc_v_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *mrc_v_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr);
/* The same for a queue pair with the operations of MRC 1.0 only. */
struct ibv_qp *mrc_v_create_qp_strict(struct ibv_context *context,
				      struct ibv_qp_init_attr_ex *attr);
int mrc_v_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);
int mrc_v_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask);
int mrc_v_destroy_qp(struct ibv_qp *ibqp);
/* Set the state, as libibverbs does after query and modify; safe while others post. */
void mrc_v_set_state(struct ibv_qp *ibqp, enum ibv_qp_state state);

/* post.c */
int mrc_v_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int mrc_v_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
int mrc_v_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);

/* post_ex.c */
void mrc_set_wr_ops(struct ibv_qp_ex *qpx, uint64_t send_ops);

/* mr.c */
struct ibv_mr *mrc_v_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
int mrc_v_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		    uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sges);
int mrc_v_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int mrc_v_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *mrc_v_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int mrc_v_dealloc_mw(struct ibv_mw *mw);

/* srq.c */
struct ibv_srq *mrc_v_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *mrc_v_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr);
int mrc_v_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int attr_mask);
int mrc_v_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int mrc_v_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);
int mrc_v_destroy_srq(struct ibv_srq *ibsrq);
int mrc_v_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);

#endif /* MRC_PROVIDER_H */
