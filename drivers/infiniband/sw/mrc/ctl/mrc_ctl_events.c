// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV events (MRC 1.0 §11.7): file descriptors from which a controller reads state
 * changes of the EVs of profiles.
 *
 * A queue is a ring with one consumer at a time (readers take turns). Producers are
 * serialized by ctl->queue_lock. When the ring is full, events are dropped and counted.
 */
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/wait.h>

#define UVERBS_MODULE_NAME mrc
#include <rdma/uverbs_named_ioctl.h>

#include "mrc_ctl_priv.h"

/**
 * struct mrc_ev_queue - an event queue
 * @uobj: the RDMA core's part, must be first
 * @list: in ctl->queues, under ctl->queue_lock
 * @ctl: with a reference
 * @ring: of @depth entries
 * @depth: power of two
 * @head: next entry to be written; of the producers
 * @drops: events lost since the last one in @ring; of the producers
 * @tail: next entry to be read, under @reader
 * @reader: serializes readers, and excludes them while the queue is destroyed
 * @wait: readers and pollers
 * @dead: the device is gone; under @reader, like @ring
 */
struct mrc_ev_queue {
	struct ib_uobject uobj;
	struct list_head list;
	struct mrc_ctl *ctl;
	struct mrc_abi_ev_event *ring;
	u32 depth;
	u32 head;
	u32 drops;
	u32 tail;
	struct mutex reader;	/* see above */
	wait_queue_head_t wait;
	bool dead;
};

static u32 mrc_ev_queue_ready(const struct mrc_ev_queue *q)
{
	/* Loads head before the entries: pairs with mrc_ev_queue_put(). */
	return smp_load_acquire(&q->head) - READ_ONCE(q->tail);
}

static void mrc_ev_queue_put(struct mrc_ev_queue *q,
			     const struct mrc_abi_ev_event *ev)
{
	struct mrc_abi_ev_event *entry;

	/* The reader has copied the entries: pairs with mrc_ev_queue_copy(). */
	if (q->head - smp_load_acquire(&q->tail) >= q->depth) {
		if (q->drops != U32_MAX)
			q->drops++;
		return;
	}
	entry = &q->ring[q->head & (q->depth - 1)];
	*entry = *ev;
	entry->drop_count = q->drops;
	q->drops = 0;
	/* Stores the entry before head: pairs with mrc_ev_queue_ready(). */
	smp_store_release(&q->head, q->head + 1);
	wake_up_interruptible_poll(&q->wait, EPOLLIN | EPOLLRDNORM);
}

/* Copies of one EV change state together; only the first one reports the event. */
static bool mrc_ev_is_copy(const struct mrc_evset *set, u16 ev)
{
	u16 i;

	for (i = set->ev[ev].next; i != ev; i = set->ev[i].next)
		if (i < ev)
			return true;
	return false;
}

void mrc_ctl_ev_event(struct mrc_qp *qp, const struct mrc_paths *paths, u16 ev,
		      u8 to)
{
	struct mrc_ctl *ctl = qp->base.dev->ctl;
	struct mrc_abi_ev_event event = {};
	const struct mrc_set *set;
	struct mrc_ev_queue *q;
	u32 state;

	lockdep_assert_held(&qp->tx.lock);
	state = to == MRC_EV_GOOD ? MRC_EVP_GOOD :
		to == MRC_EV_ASSUMED_BAD ? MRC_EVP_ASSUMED_BAD : 0;
	if (!qp->flow.set || !paths->cfg.set || !(qp->flow.set->event_mask & state))
		return;
	set = container_of(paths->cfg.set, struct mrc_set, set);
	if (ev >= set->set.n || mrc_ev_is_copy(&set->set, ev))
		return;
	event.profile_id = set->profile_id;
	memcpy(event.ev.val, set->val[ev].val, sizeof(event.ev.val));
	event.ev.port = set->val[ev].port;
	event.state = state;
	spin_lock(&ctl->queue_lock);
	list_for_each_entry(q, &ctl->queues, list)
		mrc_ev_queue_put(q, &event);
	spin_unlock(&ctl->queue_lock);
}

static ssize_t mrc_ev_queue_copy(struct mrc_ev_queue *q, char __user *buf,
				 size_t n)
{
	const size_t size = sizeof(*q->ring);
	size_t done;
	u32 tail = q->tail;

	n = min_t(size_t, n, mrc_ev_queue_ready(q));
	for (done = 0; done < n; done++, tail++)
		if (copy_to_user(buf + done * size,
				 &q->ring[tail & (q->depth - 1)], size))
			break;
	if (n && !done)
		return -EFAULT;
	/* The entries have been copied: pairs with mrc_ev_queue_put(). */
	smp_store_release(&q->tail, tail);
	return done * size;
}

static ssize_t mrc_ev_queue_read(struct file *filp, char __user *buf,
				 size_t count, loff_t *pos)
{
	struct mrc_ev_queue *q = container_of(filp->private_data,
					      struct mrc_ev_queue, uobj);
	size_t n = count / sizeof(*q->ring);
	ssize_t ret;

	if (!n)
		return -EINVAL;
	do {
		if (mutex_lock_interruptible(&q->reader))
			return -ERESTARTSYS;
		ret = q->dead ? -EIO : mrc_ev_queue_copy(q, buf, n);
		mutex_unlock(&q->reader);
		if (ret)
			return ret;
		if (filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
	} while (!wait_event_interruptible(q->wait, READ_ONCE(q->dead) ||
					   mrc_ev_queue_ready(q)));
	return -ERESTARTSYS;
}

static __poll_t mrc_ev_queue_poll(struct file *filp,
				  struct poll_table_struct *wait)
{
	struct mrc_ev_queue *q = container_of(filp->private_data,
					      struct mrc_ev_queue, uobj);

	poll_wait(filp, &q->wait, wait);
	if (READ_ONCE(q->dead))
		return EPOLLIN | EPOLLRDNORM | EPOLLERR;
	return mrc_ev_queue_ready(q) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations mrc_ev_queue_fops = {
	.owner = THIS_MODULE,
	.read = mrc_ev_queue_read,
	.poll = mrc_ev_queue_poll,
	.release = uverbs_uobject_fd_release,
};

/* The file was closed, or the device goes away; then the file may stay open. */
static void mrc_ev_queue_destroy(struct ib_uobject *uobj,
				 enum rdma_remove_reason why)
{
	struct mrc_ev_queue *q = container_of(uobj, struct mrc_ev_queue, uobj);

	spin_lock_bh(&q->ctl->queue_lock);
	list_del(&q->list);
	q->ctl->n_queues--;
	spin_unlock_bh(&q->ctl->queue_lock);

	mutex_lock(&q->reader);
	WRITE_ONCE(q->dead, true);
	kvfree(q->ring);
	q->ring = NULL;
	mutex_unlock(&q->reader);
	wake_up_interruptible_poll(&q->wait, EPOLLIN | EPOLLERR);
	mrc_ctl_put(q->ctl);
}

static int mrc_ctl_events_create(struct mrc_dev *dev, void *io,
				 struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MRC_ABI_ATTR_HANDLE);
	struct mrc_ev_queue *q = container_of(uobj, struct mrc_ev_queue, uobj);
	const struct mrc_abi_ev_events *req = io;
	struct mrc_ctl *ctl = dev->ctl;
	int ret = 0;

	if (!req->depth || req->depth > MRC_CTL_QUEUE_DEPTH || req->reserved)
		return -EINVAL;

	q->depth = roundup_pow_of_two(req->depth);
	q->ring = kvcalloc(q->depth, sizeof(*q->ring),
			   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!q->ring)
		return -ENOMEM;
	mutex_init(&q->reader);
	init_waitqueue_head(&q->wait);
	q->ctl = mrc_ctl_get(ctl);
	spin_lock_bh(&ctl->queue_lock);
	if (ctl->n_queues < MRC_CTL_QUEUES) {
		ctl->n_queues++;
		list_add_tail(&q->list, &ctl->queues);
	} else {
		ret = -ENOSPC;
	}
	spin_unlock_bh(&ctl->queue_lock);
	if (ret) {
		kvfree(q->ring);
		mrc_ctl_put(ctl);
	}
	return ret;
}

MRC_CTL_METHOD(MRC_ABI_EV_EVENTS_CREATE, MRC_CTL_ADMIN, struct mrc_abi_ev_events,
	       mrc_ctl_events_create,
	       UVERBS_ATTR_FD(MRC_ABI_ATTR_HANDLE, MRC_ABI_OBJECT_EV_EVENTS,
			      UVERBS_ACCESS_NEW, UA_MANDATORY),
	       MRC_CTL_IN(struct mrc_abi_ev_events, reserved));

DECLARE_UVERBS_NAMED_OBJECT(MRC_ABI_OBJECT_EV_EVENTS,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct mrc_ev_queue),
						 mrc_ev_queue_destroy,
						 &mrc_ev_queue_fops,
						 "[mrcevents]", O_RDONLY),
			    &UVERBS_METHOD(MRC_ABI_EV_EVENTS_CREATE));

const struct uapi_definition mrc_uapi_events_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MRC_ABI_OBJECT_EV_EVENTS),
	{},
};
