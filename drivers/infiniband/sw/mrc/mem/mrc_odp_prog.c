// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The share of a program. A page may never come, because a program can serve the faults
 * of its own memory. The region then occupies a worker, perhaps for ever. So only a few
 * regions of a program are fetched at a time. They take turns.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

/**
 * struct mrc_odp_prog - a program with paged regions, of all devices
 * @node: in mrc_odp_progs
 * @mm: its address space. Not referenced: each region's struct ib_umem_odp does that
 * @regions: its users; under mrc_odp_progs_lock
 * @lock: (bh) protects the members below; work is queued under it
 * @busy: regions whose work items are queued or run, at most MRC_ODP_WORKERS
 * @ready: regions that wait, the one whose turn is next first
 */
struct mrc_odp_prog {
	struct list_head node;
	const struct mm_struct *mm;
	u32 regions;
	spinlock_t lock;	/* only the work queue's locks inside */
	u32 busy;
	struct list_head ready;
};

static LIST_HEAD(mrc_odp_progs);
static DEFINE_MUTEX(mrc_odp_progs_lock);

/* The entry of the calling program, or NULL. Under mrc_odp_progs_lock. */
static struct mrc_odp_prog *mrc_odp_prog_find(void)
{
	struct mrc_odp_prog *prog;

	list_for_each_entry(prog, &mrc_odp_progs, node) {
		if (prog->mm == current->mm)
			return prog;
	}
	return NULL;
}

struct mrc_odp_prog *mrc_odp_prog_get(void)
{
	struct mrc_odp_prog *prog, *new;

	/* Without the mutex: if the memory cgroup is full, this takes its time. */
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&mrc_odp_progs_lock);
	prog = mrc_odp_prog_find();
	if (!prog) {
		prog = new;
		new = NULL;
		prog->mm = current->mm;
		spin_lock_init(&prog->lock);
		INIT_LIST_HEAD(&prog->ready);
		list_add(&prog->node, &mrc_odp_progs);
	}
	prog->regions++;
	mutex_unlock(&mrc_odp_progs_lock);
	kfree(new);
	return prog;
}

void mrc_odp_prog_put(struct mrc_odp_prog *prog)
{
	if (!prog)
		return;
	mutex_lock(&mrc_odp_progs_lock);
	if (!--prog->regions) {
		list_del(&prog->node);
		kfree(prog);
	}
	mutex_unlock(&mrc_odp_progs_lock);
}

void mrc_odp_start(struct mrc_odp *odp)
{
	struct mrc_odp_prog *prog = odp->prog;

	spin_lock_bh(&prog->lock);
	/* Without regions nobody needs the pages, and mrc_odp_forget() was called. */
	if (!odp->fetching && atomic_read(&odp->regions)) {
		odp->fetching = true;
		/* Safe: the caller has a reference. */
		refcount_inc(&odp->ref);
		if (prog->busy < MRC_ODP_WORKERS) {
			prog->busy++;
			mrc_odp_pool_queue(odp->pool, &odp->work);
		} else {
			list_add_tail(&odp->node, &prog->ready);
		}
	}
	spin_unlock_bh(&prog->lock);
}

bool mrc_odp_finish(struct mrc_odp *odp)
{
	struct mrc_odp_prog *prog = odp->prog;
	struct mrc_odp *next;
	bool finished;

	spin_lock_bh(&prog->lock);
	/* @n_want is raised before mrc_odp_start() takes this lock. */
	finished = !READ_ONCE(odp->n_want) || !atomic_read(&odp->regions);
	if (finished)
		odp->fetching = false;
	else
		list_add_tail(&odp->node, &prog->ready);
	next = list_first_entry_or_null(&prog->ready, struct mrc_odp, node);
	if (next) {
		list_del_init(&next->node);
		mrc_odp_pool_queue(next->pool, &next->work);
	} else {
		prog->busy--;
	}
	spin_unlock_bh(&prog->lock);
	return finished;
}

bool mrc_odp_forget(struct mrc_odp *odp)
{
	bool waited;

	spin_lock_bh(&odp->prog->lock);
	waited = !list_empty(&odp->node);
	if (waited) {
		list_del_init(&odp->node);
		odp->fetching = false;
	}
	spin_unlock_bh(&odp->prog->lock);
	return waited;
}

#endif
