// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * IDs of endpoint requests (MRC 1.0 §12). Batches of a controller, port status updates
 * and probes of reverse paths share the IDs of the device.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "mrc_dev.h"

int mrc_req_id_alloc(struct mrc_dev *dev)
{
	struct mrc_req_ids *r = dev->req_ids;
	int id;

	spin_lock_bh(&r->lock);
	id = mrc_ep_id_get(&r->ids, mrc_now());
	spin_unlock_bh(&r->lock);
	return id;
}

void mrc_req_id_free(struct mrc_dev *dev, u16 id)
{
	struct mrc_req_ids *r = dev->req_ids;

	spin_lock_bh(&r->lock);
	mrc_ep_id_put(&r->ids, id, mrc_now());
	spin_unlock_bh(&r->lock);
}

int mrc_req_id_alloc_short(struct mrc_dev *dev)
{
	struct mrc_req_ids *r = dev->req_ids;
	u64 now = mrc_now();
	int id;

	spin_lock_bh(&r->lock);
	id = mrc_ep_id_get(&r->ids, now);
	if (id >= 0)
		mrc_ep_id_put(&r->ids, id, now);
	spin_unlock_bh(&r->lock);
	return id;
}

int mrc_req_ids_create(struct mrc_dev *dev)
{
	struct mrc_req_ids *r = kvzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	spin_lock_init(&r->lock);
	mrc_ep_ids_init(&r->ids, get_random_u32());
	dev->req_ids = r;
	return 0;
}

void mrc_req_ids_destroy(struct mrc_dev *dev)
{
	kvfree(dev->req_ids);
	dev->req_ids = NULL;
}
