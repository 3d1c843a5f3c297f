// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Waiters for pages, see mrc_mem.h and mrc_odp_priv.h. */
#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

void mrc_odp_dev_init(struct mrc_odp_dev *odev)
{
	spin_lock_init(&odev->wait_lock);
	INIT_LIST_HEAD(&odev->waiters);
}

int mrc_odp_wait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w, u32 seq)
{
	int ret = 0;

	spin_lock_bh(&odev->wait_lock);
	if (!list_empty(&w->node))
		ret = -EALREADY;
	else if (odev->seq != seq)
		ret = -EAGAIN;
	else
		list_add_tail(&w->node, &odev->waiters);
	spin_unlock_bh(&odev->wait_lock);
	return ret;
}

bool mrc_odp_unwait(struct mrc_odp_dev *odev, struct mrc_odp_waiter *w)
{
	bool was;

	spin_lock_bh(&odev->wait_lock);
	was = !list_empty(&w->node);
	list_del_init(&w->node);
	spin_unlock_bh(&odev->wait_lock);
	return was;
}

void mrc_odp_wake(struct mrc_odp_dev *odev)
{
	struct mrc_odp_waiter *w;
	LIST_HEAD(list);

	spin_lock_bh(&odev->wait_lock);
	WRITE_ONCE(odev->seq, odev->seq + 1);
	list_splice_init(&odev->waiters, &list);
	/*
	 * Each waiter stays on a list until its turn, so that mrc_odp_unwait() works.
	 */
	while ((w = list_first_entry_or_null(&list, struct mrc_odp_waiter,
					     node))) {
		list_del_init(&w->node);
		spin_unlock_bh(&odev->wait_lock);
		w->wake(w);
		spin_lock_bh(&odev->wait_lock);
	}
	spin_unlock_bh(&odev->wait_lock);
}

#endif
