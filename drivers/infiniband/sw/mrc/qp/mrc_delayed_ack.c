// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transport ACKs are delayed until the end of a burst.
 *
 * The UDP socket gets packets one by one and does not know which packet is the last of
 * a receive round. A NAPI instance that is scheduled during the round is polled after the
 * instances that deliver the packets: in the same softirq, before Linux 6.4 in the next
 * one. It sends the pending transport ACKs. BH work would need a softirq of its own. For a
 * burst of small messages only the newest ACK is sent; the peer needs no other (MRC 1.0
 * §8.6). All other feedback is sent immediately by mrc_resp_run().
 */
#include <linux/llist.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>

#include "compat/mrc_compat_dummy.h"
#include "mrc_qp_priv.h"

/**
 * struct mrc_delayed_ack - delayed transport ACKs of a CPU
 * @qps: QPs with a pending ACK, linked by rx.delayed_ack_node, with a reference to each
 * @napi: sends the ACKs
 */
struct mrc_delayed_ack {
	struct llist_head qps;
	struct napi_struct napi;
};

/* The owner of the NAPI instances. */
static struct net_device *mrc_delayed_ack_owner;
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
		napi_schedule(&b->napi);
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

/* ACKs do not count against the budget of the receive softirq. */
static int mrc_delayed_ack_poll(struct napi_struct *napi, int budget)
{
	mrc_delayed_ack_end(container_of(napi, struct mrc_delayed_ack, napi));
	/* Polls again if a QP was added meanwhile. */
	napi_complete_done(napi, 0);
	return 0;
}

void mrc_delayed_ack_flush(void)
{
	struct mrc_delayed_ack *b = raw_cpu_ptr(&mrc_delayed_acks);

	if (!llist_empty(&b->qps))
		mrc_delayed_ack_end(b);
}

int mrc_delayed_ack_init(void)
{
	int cpu;

	mrc_delayed_ack_owner = mrc_dummy_alloc();
	if (!mrc_delayed_ack_owner)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct mrc_delayed_ack *b = per_cpu_ptr(&mrc_delayed_acks, cpu);

		init_llist_head(&b->qps);
		/* It receives nothing, so busy polling it would be useless. */
		set_bit(NAPI_STATE_NO_BUSY_POLL, &b->napi.state);
		netif_napi_add(mrc_delayed_ack_owner, &b->napi,
			       mrc_delayed_ack_poll);
		napi_enable(&b->napi);
	}
	return 0;
}

void mrc_delayed_ack_exit(void)
{
	int cpu;

	/*
	 * The QPs were freed after the poll function dropped its references. The
	 * function itself may still be finishing.
	 */
	for_each_possible_cpu(cpu) {
		struct mrc_delayed_ack *b = per_cpu_ptr(&mrc_delayed_acks, cpu);

		napi_disable(&b->napi);
		__netif_napi_del(&b->napi);
	}
	/* Readers of the owner's list of instances. */
	synchronize_net();
	mrc_dummy_free(mrc_delayed_ack_owner);
}
