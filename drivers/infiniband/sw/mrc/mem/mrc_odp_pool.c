// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The workers of a device. A page that never comes occupies a worker, so devices do not
 * share them: the programs of one device do not stop those of another.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

/**
 * struct mrc_odp_pool - the workers that fetch pages for a device
 * @ref: one for the device, and one for each struct mrc_odp. Those may outlive the
 *	device
 * @wq: its work queue
 * @free: destroys @wq, which no work item of @wq could do
 */
struct mrc_odp_pool {
	refcount_t ref;
	struct workqueue_struct *wq;
	struct work_struct free;
};

/* Pools that are not freed yet. */
static atomic_t mrc_odp_pools = ATOMIC_INIT(0);

static struct workqueue_struct *mrc_odp_free_wq;

static void mrc_odp_pool_free(struct work_struct *work)
{
	struct mrc_odp_pool *pool = container_of(work, struct mrc_odp_pool, free);

	destroy_workqueue(pool->wq);
	kfree(pool);
	if (atomic_dec_and_test(&mrc_odp_pools))
		wake_up_var(&mrc_odp_pools);
}

static struct mrc_odp_pool *mrc_odp_pool_create(void)
{
	struct mrc_odp_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return NULL;
	refcount_set(&pool->ref, 1);
	INIT_WORK(&pool->free, mrc_odp_pool_free);
	/*
	 * High priority, to run before QPs that ask for the same pages again and again.
	 * Many work items, because some may have to wait for programs.
	 */
	pool->wq = alloc_workqueue("mrc_odp", WQ_UNBOUND | WQ_HIGHPRI, MRC_ODP_POOL);
	if (!pool->wq) {
		kfree(pool);
		return NULL;
	}
	atomic_inc(&mrc_odp_pools);
	return pool;
}

struct mrc_odp_pool *mrc_odp_pool_get(struct mrc_odp_dev *odev)
{
	struct mrc_odp_pool *pool = READ_ONCE(odev->pool), *other;

	if (!pool) {
		pool = mrc_odp_pool_create();
		if (!pool)
			return ERR_PTR(-ENOMEM);
		other = cmpxchg(&odev->pool, NULL, pool);
		if (other) {
			mrc_odp_pool_put(pool);
			pool = other;
		}
	}
	refcount_inc(&pool->ref);
	return pool;
}

void mrc_odp_pool_put(struct mrc_odp_pool *pool)
{
	if (pool && refcount_dec_and_test(&pool->ref))
		queue_work(mrc_odp_free_wq, &pool->free);
}

void mrc_odp_pool_queue(struct mrc_odp_pool *pool, struct work_struct *work)
{
	queue_work(pool->wq, work);
}

void mrc_odp_dev_exit(struct mrc_odp_dev *odev)
{
	mrc_odp_pool_put(odev->pool);
}

int mrc_odp_init(void)
{
	mrc_odp_free_wq = alloc_workqueue("mrc_odp_free", WQ_UNBOUND, 0);
	return mrc_odp_free_wq ? 0 : -ENOMEM;
}

void mrc_odp_exit(void)
{
	wait_var_event(&mrc_odp_pools, !atomic_read(&mrc_odp_pools));
	destroy_workqueue(mrc_odp_free_wq);
}

#endif
