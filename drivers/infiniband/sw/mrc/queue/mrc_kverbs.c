// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Consumers in the kernel. Their work requests are converted to ring entries like those
 * of programs, so that both use the same data path.
 */
#include <linux/slab.h>

#include "mrc_queue.h"
#include "net/mrc_net.h"

enum {
	MRC_KICK_SEND,
	MRC_KICK_RECV,
};

static struct workqueue_struct *mrc_kern_wq;

static void mrc_kern_work(struct work_struct *work)
{
	struct mrc_kern *kern = container_of(work, struct mrc_kern, work);

	if (test_and_clear_bit(MRC_KICK_RECV, &kern->kick))
		mrc_doorbell_recv(kern->ibqp);
	if (test_and_clear_bit(MRC_KICK_SEND, &kern->kick))
		mrc_doorbell_send(kern->ibqp);
}

static void mrc_kern_kick(struct mrc_kern *kern, int what)
{
	set_bit(what, &kern->kick);
	queue_work(mrc_kern_wq, &kern->work);
}

struct mrc_kern *mrc_kern_alloc(struct ib_qp *ibqp)
{
	struct mrc_kern *kern = kzalloc(sizeof(*kern), GFP_KERNEL);

	if (!kern)
		return NULL;
	kern->ibqp = ibqp;
	spin_lock_init(&kern->sq_lock);
	spin_lock_init(&kern->rq_lock);
	INIT_WORK(&kern->work, mrc_kern_work);
	return kern;
}

void mrc_kern_stop(struct mrc_kern *kern)
{
	if (kern)
		cancel_work_sync(&kern->work);
}

/* Is the ring full? The kernel, which consumes the ring, stores cons. */
static bool mrc_kern_full(const struct mrc_ring *ring)
{
	/* Pairs with mrc_ring_consumed(). */
	u32 cons = smp_load_acquire(&ring->hdr->cons);

	return ring->hdr->prod - cons >= ring->depth;
}

static void mrc_kern_publish(struct mrc_ring *ring)
{
	/* Write the entry before the counter. Pairs with mrc_ring_pending(). */
	smp_store_release(&ring->hdr->prod, ring->hdr->prod + 1);
}

static void mrc_kern_put_sges(void *to, const struct ib_sge *sge, int n)
{
	struct mrc_sge *out = to;
	int i;

	for (i = 0; i < n; i++)
		out[i] = (struct mrc_sge){
			.addr = sge[i].addr,
			.length = sge[i].length,
			.lkey = sge[i].lkey,
		};
}

/* Copy inline data. The addresses are kernel virtual addresses; keys are ignored. */
static int mrc_kern_put_inline(void *to, u32 room, const struct ib_sge *sge,
			       int n)
{
	u32 len = 0;
	int i;

	for (i = 0; i < n; i++) {
		if (sge[i].length > room - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge[i].addr, sge[i].length);
		len += sge[i].length;
	}
	return len;
}

/* Fill in the members that depend on the operation. 0 or -EINVAL. */
static int mrc_kern_put_op(struct mrc_send_wqe *e, const struct ib_send_wr *wr,
			   enum ib_qp_type type)
{
	if (type == IB_QPT_UD || type == IB_QPT_GSI) {
		const struct ib_ud_wr *ud = ud_wr(wr);

		if (wr->opcode != IB_WR_SEND &&
		    wr->opcode != IB_WR_SEND_WITH_IMM)
			return -EINVAL;
		e->remote_addr = mrc_ah_num(ud->ah) |
				 (u64)ud->remote_qpn << 32;
		e->rkey = ud->remote_qkey;
		return 0;
	}
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		e->remote_addr = rdma_wr(wr)->remote_addr;
		e->rkey = rdma_wr(wr)->rkey;
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		e->remote_addr = atomic_wr(wr)->remote_addr;
		e->rkey = atomic_wr(wr)->rkey;
		e->compare_add = atomic_wr(wr)->compare_add;
		e->swap = atomic_wr(wr)->swap;
		return 0;
	case IB_WR_REG_MR:
		/*
		 * Identify the region by its key, not by a pointer: the region may be
		 * freed before the work request is executed.
		 */
		if ((reg_wr(wr)->mr->lkey ^ reg_wr(wr)->key) >> 8)
			return -EINVAL;
		e->rkey = reg_wr(wr)->key;
		e->swap = reg_wr(wr)->access;
		return 0;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		return 0;
	default:
		return -EINVAL;
	}
}

static int mrc_kern_put_send(struct mrc_kern *kern, struct mrc_send_wqe *e,
			     const struct ib_send_wr *wr)
{
	int ret;

	if (wr->num_sge < 0 || wr->num_sge > kern->max_send_sge)
		return -EINVAL;
	*e = (struct mrc_send_wqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
	};
	if (wr->opcode == IB_WR_SEND_WITH_INV ||
	    wr->opcode == IB_WR_LOCAL_INV)
		e->imm_data = wr->ex.invalidate_rkey;
	else if (wr->opcode == IB_WR_SEND_WITH_IMM ||
		 wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		e->imm_data = (__force u32)wr->ex.imm_data;
	ret = mrc_kern_put_op(e, wr, kern->ibqp->qp_type);
	if (ret)
		return ret;
	if (wr->send_flags & IB_SEND_INLINE) {
		ret = mrc_kern_put_inline(e + 1, kern->max_inline, wr->sg_list,
					  wr->num_sge);
		if (ret < 0)
			return ret;
		e->inline_len = ret;
		return 0;
	}
	e->num_sge = wr->num_sge;
	mrc_kern_put_sges(e + 1, wr->sg_list, wr->num_sge);
	return 0;
}

int mrc_kern_post_send(struct mrc_kern *kern, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct mrc_ring *ring = kern->sq;
	unsigned long flags;
	int ret = 0;

	if (mrc_qp_state(kern->ibqp) < IB_QPS_RTS) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&kern->sq_lock, flags);
	for (; wr; wr = wr->next) {
		ret = mrc_kern_full(ring) ? -ENOMEM :
		      mrc_kern_put_send(kern,
					mrc_ring_entry(ring, ring->hdr->prod),
					wr);
		if (ret)
			break;
		mrc_kern_publish(ring);
	}
	spin_unlock_irqrestore(&kern->sq_lock, flags);
	if (ret)
		*bad = wr;
	mrc_kern_kick(kern, MRC_KICK_SEND);
	return ret;
}

static int mrc_kern_put_recv(struct mrc_kern *kern, struct mrc_recv_wqe *e,
			     const struct ib_recv_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > kern->max_recv_sge)
		return -EINVAL;
	*e = (struct mrc_recv_wqe){
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	mrc_kern_put_sges(e + 1, wr->sg_list, wr->num_sge);
	return 0;
}

int mrc_kern_post_recv(struct mrc_kern *kern, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct mrc_ring *ring = kern->rq;
	unsigned long flags;
	int ret = 0;

	if (!ring->depth || kern->ibqp->srq ||
	    mrc_qp_state(kern->ibqp) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&kern->rq_lock, flags);
	for (; wr; wr = wr->next) {
		ret = mrc_kern_full(ring) ? -ENOMEM :
		      mrc_kern_put_recv(kern,
					mrc_ring_entry(ring, ring->hdr->prod),
					wr);
		if (ret)
			break;
		mrc_kern_publish(ring);
	}
	spin_unlock_irqrestore(&kern->rq_lock, flags);
	if (ret)
		*bad = wr;
	/* Pairs with the barrier in mrc_qp_request_kick(). Programs do the same. */
	smp_mb();
	if (READ_ONCE(ring->hdr->flags) & MRC_RING_F_KICK)
		mrc_kern_kick(kern, MRC_KICK_RECV);
	return ret;
}

int mrc_kern_init(void)
{
	mrc_kern_wq = alloc_workqueue("mrc_kern", WQ_HIGHPRI | WQ_MEM_RECLAIM |
				      WQ_UNBOUND, 0);
	return mrc_kern_wq ? 0 : -ENOMEM;
}

void mrc_kern_exit(void)
{
	destroy_workqueue(mrc_kern_wq);
}
