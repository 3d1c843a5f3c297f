// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues. The kernel writes entries to a ring, which programs map and poll
 * without system calls. For consumers in the kernel the ring is not mapped.
 */
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "mrc_queue.h"
#include "compat/mrc_compat_cq.h"

/* Maximum number of entries processed with interrupts disabled. */
#define MRC_CQ_BATCH	64

static void mrc_cq_publish(struct mrc_cq *cq)
{
	/* Write the entry before the counter. Pairs with the acquire of the program. */
	smp_store_release(&cq->ring.hdr->prod, cq->ring.idx);
}

/* Number of entries not polled yet. A value above depth means an invalid counter. */
static u32 mrc_cq_used(const struct mrc_cq *cq)
{
	/* Pairs with the release of the program after it has read an entry. */
	return cq->ring.idx - smp_load_acquire(&cq->ring.hdr->cons);
}

static void mrc_cq_overflow(struct mrc_cq *cq)
{
	struct ib_event ev = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&ev, cq->ib.cq_context);
}

/* IBV_WC_WITH_INV of enum ibv_wc_flags, which differs from the kernel's value. */
#define MRC_USER_WC_WITH_INV	BIT(3)

/* Convert the flags to those of libibverbs. Not for consumers in the kernel. */
static void mrc_cqe_to_user(struct mrc_cqe *cqe)
{
	if (cqe->wc_flags & IB_WC_WITH_INVALIDATE) {
		cqe->wc_flags &= ~IB_WC_WITH_INVALIDATE;
		cqe->wc_flags |= MRC_USER_WC_WITH_INV;
	}
}

/* Does the CQ belong to a consumer in the kernel, which polls by mrc_poll_cq()? */
static bool mrc_cq_in_kernel(const struct mrc_cq *cq)
{
	return !cq->ring.entry;
}

int mrc_cq_post(struct mrc_cq *cq, struct ib_qp *ibqp, struct mrc_cqe *cqe,
		bool solicited, u8 port)
{
	struct mrc_dev *dev = to_mdev(cq->ib.device);
	bool notify = false;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (unlikely(cq->dead)) {
		spin_unlock_irqrestore(&cq->lock, flags);
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_CQ_OVERFLOW, 1);
		return -ENOSPC;
	}
	if (unlikely(mrc_cq_used(cq) >= cq->ring.depth)) {
		cq->dead = true;
		spin_unlock_irqrestore(&cq->lock, flags);
		mrc_ctr_add(&dev->ctr, port, MRC_CTR_CQ_OVERFLOW, 1);
		mrc_cq_overflow(cq);
		return -ENOSPC;
	}
	cqe->timestamp = ktime_get_raw_ns();
	if (mrc_cq_in_kernel(cq)) {
		cqe->reserved2 = (uintptr_t)ibqp;
	} else {
		cqe->reserved = 0;
		cqe->reserved2 = 0;
		mrc_cqe_to_user(cqe);
	}
	*(struct mrc_cqe *)mrc_ring_entry(&cq->ring, cq->ring.idx) = *cqe;
	cq->ring.idx++;
	mrc_cq_publish(cq);
	if (cq->notify == IB_CQ_NEXT_COMP ||
	    (cq->notify == IB_CQ_SOLICITED && solicited)) {
		cq->notify = 0;
		notify = true;
	}
	spin_unlock_irqrestore(&cq->lock, flags);

	/* The QP of the caller has a reference to the CQ, so the CQ stays valid. */
	if (notify)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	return 0;
}

static void mrc_cq_init(struct mrc_cq *cq)
{
	spin_lock_init(&cq->lock);
	spin_lock_init(&cq->poll_lock);
	mutex_init(&cq->resize);
}

int mrc_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct mrc_cq *cq = to_mcq(ibcq);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MRC_MAX_CQE)
		return -EINVAL;
	mrc_cq_init(cq);
	ret = mrc_ring_alloc(&cq->ring, NULL, attr->cqe,
			     sizeof(struct mrc_cqe), NULL);
	if (!ret)
		ibcq->cqe = cq->ring.depth;
	return ret;
}

int mrc_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct mrc_create_cq_resp resp = {};
	struct mrc_create_cq_req req = {};
	struct mrc_dev *dev = to_mdev(ibcq->device);
	struct mrc_cq *cq = to_mcq(ibcq);
	int ret;

	/* Every entry has a timestamp, whether requested or not. */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MRC_MAX_CQE ||
	    attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;
	ret = mrc_udata_in(udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.comp_mask || req.reserved || udata->outlen < sizeof(resp))
		return -EINVAL;

	ret = mrc_count(dev, MRC_COUNT_CQ);
	if (ret)
		return ret;
	mrc_cq_init(cq);
	ret = mrc_ring_alloc(&cq->ring, attrs->context, attr->cqe,
			     sizeof(struct mrc_cqe), &resp.cq);
	if (ret)
		goto err_count;
	ret = mrc_udata_out(udata, &resp, sizeof(resp));
	if (ret)
		goto err_ring;
	ibcq->cqe = cq->ring.depth;
	return 0;

err_ring:
	mrc_ring_free(&cq->ring);
err_count:
	mrc_uncount(dev, MRC_COUNT_CQ);
	return ret;
}

/*
 * Move the waiting entries to the start of @ring, and use @ring from now on. The lock is
 * held only while the last few entries are copied. Until then new completions are still
 * written to the old ring. The program must not poll the old ring during the resize;
 * otherwise it gets entries twice. ib_core allows concurrent calls. The mutex serialises
 * them, because a second caller would free the ring that the first one copies from.
 */
static int mrc_cq_switch(struct mrc_cq *cq, struct mrc_ring *ring)
{
	u32 first, n, done = 0;
	int ret = -EINVAL;

	mutex_lock(&cq->resize);
	spin_lock_irq(&cq->lock);
	n = mrc_cq_used(cq);
	first = cq->ring.idx - n;
	if (n > cq->ring.depth)
		goto out;
	for (;;) {
		n = cq->ring.idx - first;
		if (cq->dead || n > ring->depth)
			goto out;
		n -= done;
		if (n <= MRC_CQ_BATCH)
			break;
		spin_unlock_irq(&cq->lock);
		mrc_ring_copy(ring, done, &cq->ring, first + done, n);
		done += n;
		spin_lock_irq(&cq->lock);
	}
	mrc_ring_copy(ring, done, &cq->ring, first + done, n);
	ring->idx = done + n;
	swap(cq->ring, *ring);
	mrc_cq_publish(cq);
	cq->ib.cqe = cq->ring.depth;
	ret = 0;
out:
	spin_unlock_irq(&cq->lock);
	mutex_unlock(&cq->resize);
	return ret;
}

int mrc_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe,
		       struct ib_udata *udata)
{
	struct ib_ucontext *uctx =
		rdma_udata_to_uverbs_attr_bundle(udata)->context;
	struct mrc_resize_cq_resp resp = {};
	struct mrc_cq *cq = to_mcq(ibcq);
	struct mrc_ring ring = {};
	int ret;

	if (!cqe || cqe > MRC_MAX_CQE || udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = mrc_udata_in(udata, NULL, 0);
	if (ret)
		return ret;
	ret = mrc_ring_alloc(&ring, uctx, cqe, sizeof(struct mrc_cqe),
			     &resp.cq);
	if (ret)
		return ret;
	/* Before the switch, because nothing may fail after it. */
	ret = mrc_udata_out(udata, &resp, sizeof(resp));
	if (!ret)
		ret = mrc_cq_switch(cq, &ring);
	/* Free the new ring on failure, else the old one, which may still be mapped. */
	mrc_ring_free(&ring);
	return ret;
}

static int mrc_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mrc_cq *cq = to_mcq(ibcq);
	struct mrc_ring ring;

	/* No QP uses the CQ any more, but netlink may still query it. */
	spin_lock_irq(&cq->lock);
	ring = cq->ring;
	memset(&cq->ring, 0, sizeof(cq->ring));
	spin_unlock_irq(&cq->lock);
	if (ring.entry)		/* CQs of consumers in the kernel are not counted */
		mrc_uncount(to_mdev(ibcq->device), MRC_COUNT_CQ);
	mrc_ring_free(&ring);
	mutex_destroy(&cq->resize);
	return 0;
}

static void mrc_cqe_to_wc(const struct mrc_cqe *cqe, struct ib_wc *wc)
{
	*wc = (struct ib_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp = (struct ib_qp *)(uintptr_t)cqe->reserved2,
		.src_qp = cqe->src_qp,
		.wc_flags = cqe->wc_flags,
	};
	if (cqe->wc_flags & IB_WC_WITH_INVALIDATE)
		wc->ex.invalidate_rkey = cqe->imm_data;
	else
		wc->ex.imm_data = (__force __be32)cqe->imm_data;
	wc->port_num = cqe->reserved & 0xffff;
	wc->vlan_id = cqe->reserved >> 16;	/* with IB_WC_WITH_VLAN */
	if (cqe->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE)
		wc->network_hdr_type = cqe->sl == MRC_CQE_SL_IPV6 ?
				       RDMA_NETWORK_IPV6 : RDMA_NETWORK_IPV4;
}

static int mrc_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct mrc_cq *cq = to_mcq(ibcq);
	unsigned long flags;
	u32 prod, cons;
	int n;

	if (!mrc_cq_in_kernel(cq))
		return -EINVAL;
	spin_lock_irqsave(&cq->poll_lock, flags);
	/* Read the counter before the entries. Pairs with mrc_cq_publish(). */
	prod = smp_load_acquire(&cq->ring.hdr->prod);
	cons = cq->ring.hdr->cons;
	for (n = 0; n < num && cons != prod; cons++) {
		const struct mrc_cqe *cqe = mrc_ring_entry(&cq->ring, cons);

		if (cqe->reserved2) {	/* not removed by mrc_cq_clean() */
			mrc_cqe_to_wc(cqe, wc++);
			n++;
		}
	}
	/* Entries that were read may be overwritten. Pairs with mrc_cq_used(). */
	smp_store_release(&cq->ring.hdr->cons, cons);
	spin_unlock_irqrestore(&cq->poll_lock, flags);
	return n;
}

void mrc_cq_clean(struct mrc_cq *cq, const struct ib_qp *ibqp)
{
	unsigned long flags;
	u32 prod, at, n;

	if (!mrc_cq_in_kernel(cq))
		return;
	spin_lock_irqsave(&cq->poll_lock, flags);
	/* Later entries belong to other QPs. */
	prod = smp_load_acquire(&cq->ring.hdr->prod);
	at = cq->ring.hdr->cons;
	for (;;) {
		for (n = 0; n < MRC_CQ_BATCH && at != prod; n++, at++) {
			struct mrc_cqe *cqe = mrc_ring_entry(&cq->ring, at);

			if (cqe->reserved2 == (uintptr_t)ibqp)
				cqe->reserved2 = 0;
		}
		if (at == prod)
			break;
		spin_unlock_irqrestore(&cq->poll_lock, flags);
		spin_lock_irqsave(&cq->poll_lock, flags);
		/* The consumer may have polled meanwhile: do not touch polled entries. */
		if ((s32)(cq->ring.hdr->cons - prod) >= 0)
			break;
		if ((s32)(cq->ring.hdr->cons - at) > 0)
			at = cq->ring.hdr->cons;
	}
	spin_unlock_irqrestore(&cq->poll_lock, flags);
}

static int mrc_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct mrc_cq *cq = to_mcq(ibcq);
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	/* A request for any completion stays in force if one for solicited follows. */
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = flags & IB_CQ_SOLICITED_MASK;
	if (flags & IB_CQ_REPORT_MISSED_EVENTS && mrc_cq_used(cq))
		missed = 1;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static int mrc_fill_cq(struct sk_buff *msg, void *obj, bool all)
{
	struct mrc_cq *cq = obj;
	u32 depth, prod, cons;
	u8 notify;
	bool dead;

	spin_lock_irq(&cq->lock);
	if (!cq->ring.hdr) {	/* being destroyed */
		spin_unlock_irq(&cq->lock);
		return 0;
	}
	depth = cq->ring.depth;
	prod = cq->ring.idx;
	cons = READ_ONCE(cq->ring.hdr->cons);
	notify = cq->notify;
	dead = cq->dead;
	spin_unlock_irq(&cq->lock);

	if (rdma_nl_put_driver_u32(msg, "depth", depth) ||
	    (all && rdma_nl_put_driver_u32(msg, "prod", prod)) ||
	    rdma_nl_put_driver_u32(msg, "waiting", prod - cons) ||
	    rdma_nl_put_driver_string(msg, "armed",
				      notify == IB_CQ_NEXT_COMP ? "next" :
				      notify ? "solicited" : "no") ||
	    rdma_nl_put_driver_u32(msg, "overflowed", dead))
		return -EMSGSIZE;
	return 0;
}

static int mrc_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	return mrc_res_fill(msg, ibcq->device, mrc_fill_cq, to_mcq(ibcq));
}

const struct ib_device_ops mrc_cq_ops = {
#ifdef HAVE_CREATE_USER_CQ
	.create_cq = mrc_create_cq,
	.create_user_cq = mrc_create_user_cq,
	.resize_user_cq = mrc_resize_user_cq,
#else
	.create_cq = mrc_compat_create_cq,
	.resize_cq = mrc_compat_resize_cq,
#endif
	.destroy_cq = mrc_destroy_cq,
	.poll_cq = mrc_poll_cq,
	.req_notify_cq = mrc_req_notify_cq,
	.fill_res_cq_entry = mrc_fill_res_cq_entry,
	INIT_RDMA_OBJ_SIZE(ib_cq, mrc_cq, ib),
};
