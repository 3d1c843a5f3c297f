// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transport ACKs are delayed until the end of a burst.
 *
 * The UDP socket gets packets one by one and does not know which packet is the last of
 * a receive round. BH work that is queued meanwhile runs after the receive softirq has
 * delivered all packets of the round and before the next round. This work sends the
 * pending transport ACKs. For a burst of small messages only the newest ACK is sent; the
 * peer needs no other (MRC 1.0 §8.6). All other feedback is sent immediately by
 * mrc_resp_run().
 */
#include <linux/llist.h>
#include <linux/percpu.h>

#include "compat/mrc_compat_bh.h"
#include "mrc_qp_priv.h"

/**
 * struct mrc_delayed_ack - delayed transport ACKs of a CPU
 * @qps: QPs with a pending ACK, linked by rx.delayed_ack_node, with a reference to each
 * @work: sends the ACKs
 */
struct mrc_delayed_ack {
	struct llist_head qps;
	struct mrc_bh_work work;
};

static DEFINE_PER_CPU(struct mrc_delayed_ack, mrc_delayed_acks);

void mrc_delayed_ack_wait(struct mrc_qp *qp)
{
	struct mrc_delayed_ack *b = this_cpu_ptr(&mrc_delayed_acks);

	lockdep_assert_held(&qp->rx.lock);
	if (mrc_qp_has_todo(qp, MRC_TODO_DELAYED_ACK))
		return;
	mrc_qp_set_todo(qp, MRC_TODO_DELAYED_ACK);
	mrc_qp_hold(qp);
	if (llist_add(&qp->rx.delayed_ack_node, &b->qps))
		mrc_bh_queue(&b->work);
}

static void mrc_delayed_ack_qp_end(struct mrc_qp *qp)
{
	struct sk_buff_head list;
	u64 now;

	__skb_queue_head_init(&list);
	spin_lock_bh(&qp->rx.lock);
	now = mrc_now();
	/* From here on the QP may be added to a list again. */
	mrc_qp_take_todo(qp, MRC_TODO_DELAYED_ACK);
	/* Also in ERROR: the messages were executed, and no later ACK will follow. */
	if (qp->rx.on) {
		mrc_resp_feedback(qp, &list, now);
		if (qp->base.state != IB_QPS_ERR)
			mrc_rev_probe(qp, &list, now);
	}
	spin_unlock_bh(&qp->rx.lock);
	mrc_qp_xmit(qp, &list);
}

static void mrc_delayed_ack_end(struct mrc_delayed_ack *b)
{
	struct llist_node *first = llist_del_all(&b->qps);
	struct mrc_qp *qp, *next;

	first = llist_reverse_order(first);
	llist_for_each_entry_safe(qp, next, first, rx.delayed_ack_node) {
		mrc_delayed_ack_qp_end(qp);
		mrc_qp_put(qp);
	}
}

static void mrc_delayed_ack_run(struct mrc_bh_work *work)
{
	mrc_delayed_ack_end(container_of(work, struct mrc_delayed_ack, work));
}

void mrc_delayed_ack_flush(void)
{
	struct mrc_delayed_ack *b = raw_cpu_ptr(&mrc_delayed_acks);

	if (!llist_empty(&b->qps))
		mrc_delayed_ack_end(b);
}

void mrc_delayed_ack_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct mrc_delayed_ack *b = per_cpu_ptr(&mrc_delayed_acks, cpu);

		init_llist_head(&b->qps);
		mrc_bh_init(&b->work, mrc_delayed_ack_run);
	}
}

void mrc_delayed_ack_exit(void)
{
	int cpu;

	/*
	 * The QPs were freed after the work dropped its references. The work itself may
	 * still be finishing.
	 */
	for_each_possible_cpu(cpu)
		mrc_bh_end(&per_cpu_ptr(&mrc_delayed_acks, cpu)->work);
}
