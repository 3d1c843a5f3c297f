// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues whose consumer asks for notifications in interrupts, as
 * ib_req_notify_cq() allows.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>

#include "kv.h"

#define KV_INTERRUPTS	HZ	/* how long, jiffies */

/* @armed: how often a notification was asked for in a hard interrupt. */
struct kv_irq {
	struct irq_work work;
	struct ib_cq *cq;
	unsigned int armed;
	int ret;
};

static void kv_ignore(struct ib_cq *cq, void *context)
{
}

static void kv_arm(struct irq_work *work)
{
	struct kv_irq *k = container_of(work, struct kv_irq, work);

	k->ret = k->ret ?: ib_req_notify_cq(k->cq, IB_CQ_NEXT_COMP);
	if (in_hardirq())
		k->armed++;
}

/* Whoever shows the queue meanwhile takes the same lock. */
static int kv_interrupts(struct kv_pair *p)
{
	const struct ib_cq_init_attr attr = { .cqe = KV_DEPTH };
	struct kv_irq k = {};
	unsigned long end;

	k.cq = ib_create_cq(p->a.dev, kv_ignore, NULL, NULL, &attr);
	if (IS_ERR(k.cq))
		return kv_failed(__FILE__, __LINE__, "ib_create_cq", PTR_ERR(k.cq));
	k.work = IRQ_WORK_INIT_HARD(kv_arm);
	end = jiffies + KV_INTERRUPTS;
	do {
		irq_work_queue(&k.work);
		irq_work_sync(&k.work);
		usleep_range(50, 100);
	} while (time_before(jiffies, end));
	ib_destroy_cq(k.cq);
	KV_OK(k.ret);
	KV_TRUE(k.armed);
	return 0;
}

const struct kv_test kv_cq_tests[] = {
	{ "notifications asked for in interrupts", kv_interrupts },
	{ }
};
