// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transport ACKs that wait for the end of a burst.
 *
 * Packets come to the UDP socket one by one, and nobody says which is the last that
 * is there. But work in a bottom half runs when the receive softirq has handed over
 * all that it was going to, ahead of the next round of receiving, and sends what
 * responders still owe: of the ACKs for a burst of small messages the newest, which
 * is all that a peer needs (MRC 1.0 §8.6). What else they owe is sent at once, by
 * mrc_resp_run().
 */
#include <linux/llist.h>
#include <linux/percpu.h>

#include "compat/mrc_compat_bh.h"
#include "mrc_qp_priv.h"

/**
 * struct mrc_burst - what a processor has for the end of its burst
 * @qps: those that owe something, by rx.burst_node, with a reference to each
 * @work: sends it
 */
struct mrc_burst {
	struct llist_head qps;
	struct mrc_bh_work work;
};

static DEFINE_PER_CPU(struct mrc_burst, mrc_bursts);

void mrc_burst_wait(struct mrc_qp *qp)
{
	struct mrc_burst *b = this_cpu_ptr(&mrc_bursts);

	lockdep_assert_held(&qp->rx.lock);
	if (mrc_qp_has_todo(qp, MRC_TODO_ACK))
		return;
	mrc_qp_set_todo(qp, MRC_TODO_ACK);
	mrc_qp_hold(qp);
	if (llist_add(&qp->rx.burst_node, &b->qps))
		mrc_bh_queue(&b->work);
}

static void mrc_burst_qp_end(struct mrc_qp *qp)
{
	struct sk_buff_head list;
	u64 now;

	__skb_queue_head_init(&list);
	spin_lock_bh(&qp->rx.lock);
	now = mrc_now();
	/* From here on it may be in a list again. */
	mrc_qp_take_todo(qp, MRC_TODO_ACK);
	/* In ERROR, too: it was executed, and nobody else will say so. */
	if (qp->rx.on) {
		mrc_resp_feedback(qp, &list, now);
		if (qp->base.state != IB_QPS_ERR)
			mrc_rev_probe(qp, &list, now);
	}
	spin_unlock_bh(&qp->rx.lock);
	mrc_qp_xmit(qp, &list);
}

static void mrc_burst_end(struct mrc_burst *b)
{
	struct llist_node *first = llist_del_all(&b->qps);
	struct mrc_qp *qp, *next;

	first = llist_reverse_order(first);
	llist_for_each_entry_safe(qp, next, first, rx.burst_node) {
		mrc_burst_qp_end(qp);
		mrc_qp_put(qp);
	}
}

static void mrc_burst_run(struct mrc_bh_work *work)
{
	mrc_burst_end(container_of(work, struct mrc_burst, work));
}

void mrc_burst_flush(void)
{
	struct mrc_burst *b = raw_cpu_ptr(&mrc_bursts);

	if (!llist_empty(&b->qps))
		mrc_burst_end(b);
}

void mrc_burst_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct mrc_burst *b = per_cpu_ptr(&mrc_bursts, cpu);

		init_llist_head(&b->qps);
		mrc_bh_init(&b->work, mrc_burst_run);
	}
}

void mrc_burst_exit(void)
{
	int cpu;

	/* QPs had to wait for it; this is for the last steps of the work. */
	for_each_possible_cpu(cpu)
		mrc_bh_end(&per_cpu_ptr(&mrc_bursts, cpu)->work);
}
