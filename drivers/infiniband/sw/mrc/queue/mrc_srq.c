// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues. The program or a consumer in the kernel writes entries to the
 * ring, and all QPs of the SRQ consume them.
 *
 * The messages of one QP need their receives in order (METH.rqmsn), but packets of a
 * later message may arrive before those of an earlier one. Then the QP takes entries for
 * both messages. Otherwise the earlier message could find the queue empty while the later
 * one waits for it.
 *
 * Peers decide how far ahead a message is, and when the messages before it arrive, if
 * ever. So entries are shared by these rules. A QP always gets an entry for its oldest
 * message if the queue has one. It may hold n > 1 entries only if at least n entries
 * remain in the queue for each QP that holds any, itself included. With N QPs whose peers
 * never finish their messages, at least one part in N + 1 of the entries stays available.
 * A message that would need more entries, or more than MRC_SRQ_AHEAD, is refused and must
 * be sent again when it is the oldest.
 */
#include <linux/slab.h>

#include "mrc_queue.h"

/* Maximum number of entries that a QP has taken and not used, a power of two. */
#define MRC_SRQ_AHEAD	128

/* Maximum number of entries moved with interrupts disabled when the size changes. */
#define MRC_SRQ_BATCH	64

static void mrc_srq_report(struct mrc_srq *srq, enum ib_event_type event)
{
	struct ib_event ev = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = event,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&ev, srq->ib.srq_context);
}

int mrc_srq_attach(struct mrc_srq *srq, struct mrc_ring *ring)
{
	/* The size of an entry does not change when the SRQ is resized. */
	return mrc_ring_alloc(ring, NULL, MRC_SRQ_AHEAD, srq->ring.stride,
			      NULL);
}

/* May a QP that holds @have entries hold @n, if @left then remain in the queue? */
static bool mrc_srq_fair(const struct mrc_srq *srq, u32 have, u32 n, u32 left)
{
	u32 holders = atomic_read(&srq->holders) + !have;

	return n == 1 || left / n >= holders;
}

int mrc_srq_take(struct mrc_srq *srq, struct mrc_ring *to, u32 n)
{
	u32 prod = to->hdr->prod;
	u32 have = prod - to->idx, want;
	bool low = false, bad = false;
	unsigned long flags;
	int left;

	spin_lock_irqsave(&srq->lock, flags);
	left = srq->dead ? -EINVAL : mrc_ring_pending(&srq->ring);
	if (left < 0) {
		bad = !srq->dead;
		srq->dead = true;
		spin_unlock_irqrestore(&srq->lock, flags);
		if (bad)
			mrc_srq_report(srq, IB_EVENT_SRQ_ERR);
		return -EINVAL;
	}
	want = n - have;
	if (want > (u32)left) {
		spin_unlock_irqrestore(&srq->lock, flags);
		return have;
	}
	left -= want;
	if (n > to->depth || !mrc_srq_fair(srq, have, n, left)) {
		spin_unlock_irqrestore(&srq->lock, flags);
		return -EBUSY;
	}
	if (!have)
		atomic_inc(&srq->holders);
	/* Entries of the program are read only here; later accesses use the copy. */
	mrc_ring_copy(to, prod, &srq->ring, srq->ring.idx, want);
	srq->ring.idx += want;
	mrc_ring_consumed(&srq->ring);
	low = left < srq->limit;
	if (low)
		srq->limit = 0;
	spin_unlock_irqrestore(&srq->lock, flags);
	WRITE_ONCE(to->hdr->prod, prod + want);

	if (low)
		mrc_srq_report(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return n;
}

void mrc_srq_used(struct mrc_srq *srq, const struct mrc_ring *ring)
{
	if (srq && ring->hdr->prod == ring->idx)
		atomic_dec(&srq->holders);
}

void mrc_srq_reset_qp(struct mrc_srq *srq, struct mrc_ring *ring)
{
	if (srq && ring->hdr->prod != ring->idx)
		atomic_dec(&srq->holders);
	mrc_ring_rewind(ring);
}

static int mrc_srq_check_attr(const struct ib_srq_attr *attr)
{
	if (!attr->max_wr || attr->max_wr > MRC_MAX_SRQ_WR ||
	    attr->srq_limit > attr->max_wr)
		return -EINVAL;
	return 0;
}

static int mrc_srq_check_udata(struct ib_udata *udata)
{
	struct mrc_create_srq_req req = {};
	int ret = mrc_udata_in(udata, &req, sizeof(req));

	if (ret)
		return ret;
	if (req.comp_mask || req.reserved ||
	    (udata && udata->outlen < sizeof(struct mrc_create_srq_resp)))
		return -EINVAL;
	return 0;
}

/* NULL for a consumer in the kernel. */
static struct ib_ucontext *mrc_srq_uctx(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_uverbs_attr_bundle(udata)->context : NULL;
}

static int mrc_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			  struct ib_udata *udata)
{
	static atomic_t number;
	struct mrc_dev *dev = to_mdev(ibsrq->device);
	struct mrc_create_srq_resp resp = {};
	struct mrc_srq *srq = to_msrq(ibsrq);
	u32 max_sge = max(init->attr.max_sge, 1u);
	int ret;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	ret = mrc_srq_check_attr(&init->attr);
	if (ret || max_sge > MRC_MAX_SGE)
		return -EINVAL;
	ret = mrc_srq_check_udata(udata);
	if (ret)
		return ret;

	ret = mrc_count(dev, MRC_COUNT_SRQ);
	if (ret)
		return ret;
	spin_lock_init(&srq->lock);
	mutex_init(&srq->resize);
	srq->max_sge = max_sge;
	srq->limit = init->attr.srq_limit;
	ret = mrc_ring_alloc(&srq->ring, mrc_srq_uctx(udata), init->attr.max_wr,
			     sizeof(struct mrc_recv_wqe) +
				     max_sge * sizeof(struct mrc_sge),
			     &resp.srq);
	if (ret)
		goto err_count;
	resp.srq_num = atomic_inc_return(&number);
	if (udata) {
		ret = mrc_udata_out(udata, &resp, sizeof(resp));
		if (ret)
			goto err_ring;
	}
	init->attr.max_wr = srq->ring.depth;
	init->attr.max_sge = max_sge;
	return 0;

err_ring:
	mrc_ring_free(&srq->ring);
err_count:
	mrc_uncount(dev, MRC_COUNT_SRQ);
	return ret;
}

/*
 * Number of entries that must still be moved to @ring. *@done entries, starting at @base,
 * have been moved; it is increased if QPs have taken entries in the meantime. -EINVAL if
 * @ring has no room or a producer counter is invalid.
 */
static int mrc_srq_to_move(const struct mrc_srq *srq,
			   const struct mrc_ring *ring, u32 base, u32 *done)
{
	int n = srq->dead ? -EINVAL : mrc_ring_pending(&srq->ring);
	u32 prod = srq->ring.idx + n;

	lockdep_assert_held(&srq->lock);
	if (n < 0 || n > ring->depth)
		return -EINVAL;
	if ((s32)(srq->ring.idx - base - *done) > 0)
		*done = srq->ring.idx - base;
	n = prod - base - *done;
	return n < 0 ? -EINVAL : n;
}

/*
 * Move the waiting entries to @ring, and use @ring from now on. With @limit, also arm the
 * limit event. The lock is held only while the last few entries are copied. Until then
 * QPs take entries from the old ring; these count as consumed in the new ring. If the
 * producer keeps posting during the resize, the call finally fails with -EBUSY. The mutex
 * serialises callers, because a second caller would free the ring that the first one
 * copies from.
 */
static int mrc_srq_switch(struct mrc_srq *srq, struct mrc_ring *ring,
			  const u32 *limit)
{
	u32 base, done = 0;
	int n;

	if (limit && *limit > ring->depth)
		return -EINVAL;
	mutex_lock(&srq->resize);
	spin_lock_irq(&srq->lock);
	base = srq->ring.idx;
	for (;;) {
		n = mrc_srq_to_move(srq, ring, base, &done);
		if (n <= MRC_SRQ_BATCH || done > 2 * MRC_MAX_SRQ_WR)
			break;
		spin_unlock_irq(&srq->lock);
		mrc_ring_copy(ring, done, &srq->ring, base + done, n);
		done += n;
		spin_lock_irq(&srq->lock);
	}
	if (n > MRC_SRQ_BATCH)
		n = -EBUSY;
	if (n >= 0) {
		mrc_ring_copy(ring, done, &srq->ring, base + done, n);
		ring->idx = srq->ring.idx - base;
		WRITE_ONCE(ring->hdr->prod, done + n);
		mrc_ring_consumed(ring);
		swap(srq->ring, *ring);
		srq->limit = limit ? *limit : min(srq->limit, srq->ring.depth);
		n = 0;
	}
	spin_unlock_irq(&srq->lock);
	mutex_unlock(&srq->resize);
	return n;
}

static int mrc_resize_srq(struct mrc_srq *srq, u32 max_wr, const u32 *limit,
			  struct ib_udata *udata)
{
	struct mrc_modify_srq_resp resp = {};
	struct mrc_modify_srq_req req = {};
	struct mrc_ring ring = {};
	int ret;

	ret = mrc_udata_in(udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.comp_mask || (udata && req.resp_size < sizeof(resp)))
		return -EINVAL;
	ret = mrc_ring_alloc(&ring, mrc_srq_uctx(udata), max_wr,
			     srq->ring.stride, &resp.srq);
	if (ret)
		return ret;
	/* Before the switch, because nothing may fail after it. */
	if (udata && copy_to_user(u64_to_user_ptr(req.resp_addr), &resp,
				  sizeof(resp)))
		ret = -EFAULT;
	if (!ret)
		ret = mrc_srq_switch(srq, &ring, limit);
	/* Free the new ring on failure, else the old one, which may still be mapped. */
	mrc_ring_free(&ring);
	return ret;
}

static int mrc_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct mrc_srq *srq = to_msrq(ibsrq);
	int ret = 0;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR) {
		if (!attr->max_wr || attr->max_wr > MRC_MAX_SRQ_WR)
			return -EINVAL;
		return mrc_resize_srq(srq, attr->max_wr,
				      mask & IB_SRQ_LIMIT ? &attr->srq_limit :
							    NULL, udata);
	}
	ret = mrc_udata_in(udata, NULL, 0);
	if (ret || !(mask & IB_SRQ_LIMIT))
		return ret;
	spin_lock_irq(&srq->lock);
	if (attr->srq_limit > srq->ring.depth)
		ret = -EINVAL;
	else
		srq->limit = attr->srq_limit;
	spin_unlock_irq(&srq->lock);
	return ret;
}

static int mrc_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct mrc_srq *srq = to_msrq(ibsrq);

	spin_lock_irq(&srq->lock);
	attr->max_wr = srq->ring.depth;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock_irq(&srq->lock);
	return 0;
}

static int mrc_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	/* The SRQ has no QPs any more: ib_core counts them. */
	mrc_ring_free(&to_msrq(ibsrq)->ring);
	mutex_destroy(&to_msrq(ibsrq)->resize);
	mrc_uncount(to_mdev(ibsrq->device), MRC_COUNT_SRQ);
	return 0;
}

/* For consumers in the kernel; programs write to their ring. */
static int mrc_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad_wr)
{
	struct mrc_srq *srq = to_msrq(ibsrq);
	unsigned long flags;
	int i, ret = 0;
	u32 prod;

	if (srq->ring.entry) {
		if (!wr)	/* a doorbell, which an SRQ does not need */
			return 0;
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}
	spin_lock_irqsave(&srq->lock, flags);
	prod = srq->ring.hdr->prod;
	for (; wr; wr = wr->next) {
		struct mrc_recv_wqe *e = mrc_ring_entry(&srq->ring, prod);
		struct mrc_sge *sge = (struct mrc_sge *)(e + 1);

		if (wr->num_sge < 0 || wr->num_sge > srq->max_sge)
			ret = -EINVAL;
		else if (prod - srq->ring.idx >= srq->ring.depth)
			ret = -ENOMEM;
		if (ret)
			break;
		e->wr_id = wr->wr_id;
		e->num_sge = wr->num_sge;
		e->reserved = 0;
		for (i = 0; i < wr->num_sge; i++) {
			sge[i].addr = wr->sg_list[i].addr;
			sge[i].length = wr->sg_list[i].length;
			sge[i].lkey = wr->sg_list[i].lkey;
		}
		prod++;
	}
	srq->ring.hdr->prod = prod;
	spin_unlock_irqrestore(&srq->lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}

const struct ib_device_ops mrc_srq_ops = {
	.create_srq = mrc_create_srq,
	.modify_srq = mrc_modify_srq,
	.query_srq = mrc_query_srq,
	.destroy_srq = mrc_destroy_srq,
	.post_srq_recv = mrc_post_srq_recv,
	INIT_RDMA_OBJ_SIZE(ib_srq, mrc_srq, ib),
};
