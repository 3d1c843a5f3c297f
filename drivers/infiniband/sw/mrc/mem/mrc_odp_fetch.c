// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests for pages of paged regions, and fetching them, see mrc_odp_priv.h. */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "mrc_odp_priv.h"

#ifdef CONFIG_INFINIBAND_MRC_ODP

/* Add a range to the requests; false if there is no room. Under the lock. */
static bool mrc_odp_add_range(struct mrc_odp *odp, unsigned long first,
			      unsigned long last, bool write, u32 who)
{
	u32 i;

	lockdep_assert_held(&odp->lock);
	for (i = 0; i < odp->n_want; i++) {
		struct mrc_odp_range *w = &odp->want[i];

		/* Ranges that overlap or touch are merged. */
		if (w->write != write || w->who != who || first > w->last + 1 ||
		    last + 1 < w->first)
			continue;
		w->first = min(w->first, first);
		w->last = max(w->last, last);
		return true;
	}
	if (i == MRC_ODP_RANGES)
		return false;
	odp->want[i] = (struct mrc_odp_range){
		.first = first,
		.last = last,
		.who = who,
		.write = write,
	};
	odp->n_want++;
	return true;
}

u64 mrc_odp_request(struct mrc_odp *odp, unsigned long first, unsigned long last,
		    bool write, u32 who)
{
	u64 since;

	spin_lock_bh(&odp->lock);
	mrc_odp_add_range(odp, first, last, write, who);
	if (!odp->since)
		odp->since = mrc_now();
	since = odp->since;
	spin_unlock_bh(&odp->lock);
	mrc_odp_start(odp);
	return since;
}

/* Take what is fetched in one turn off the requests. */
static bool mrc_odp_next_range(struct mrc_odp *odp, struct mrc_odp_range *w)
{
	struct mrc_odp_range *first = &odp->want[0];
	bool any;

	spin_lock_bh(&odp->lock);
	if (!atomic_read(&odp->regions))
		odp->n_want = 0;
	any = odp->n_want;
	if (any) {
		*w = *first;
		if (w->last - w->first < MRC_ODP_TURN) {
			odp->n_want--;
			memmove(first, first + 1, odp->n_want * sizeof(*first));
		} else {
			w->last = w->first + MRC_ODP_TURN - 1;
			first->first = w->last + 1;
		}
	}
	spin_unlock_bh(&odp->lock);
	return any;
}

/* If nothing is requested, nobody waits. */
static void mrc_odp_settle(struct mrc_odp *odp)
{
	spin_lock_bh(&odp->lock);
	if (!odp->n_want)
		odp->since = 0;
	spin_unlock_bh(&odp->lock);
}

/* Record that page @i could not be fetched. */
static void mrc_odp_fail(struct mrc_odp *odp, unsigned long i,
			 const struct mrc_odp_range *w)
{
	struct mrc_odp_range *f;

	if (!w->who)
		return;
	spin_lock_bh(&odp->lock);
	f = &odp->fail[(odp->fail_next + MRC_ODP_FAILS - 1) % MRC_ODP_FAILS];
	/* If this page follows the latest failure, extend that entry to save room. */
	if (!odp->n_fail || f->who != w->who || f->write != w->write ||
	    f->last + 1 != i) {
		f = &odp->fail[odp->fail_next];
		odp->fail_next = (odp->fail_next + 1) % MRC_ODP_FAILS;
		WRITE_ONCE(odp->n_fail,
			   min_t(u32, odp->n_fail + 1, MRC_ODP_FAILS));
		*f = *w;
		f->first = i;
	}
	f->last = i;
	f->at = jiffies;
	spin_unlock_bh(&odp->lock);
}

bool mrc_odp_failed(struct mrc_odp *odp, unsigned long first, unsigned long last,
		    bool write, u32 who)
{
	bool found = false;
	u32 i;

	if (!READ_ONCE(odp->n_fail))
		return false;
	spin_lock_bh(&odp->lock);
	for (i = 0; i < odp->n_fail; i++) {
		struct mrc_odp_range *f = &odp->fail[i];

		if (f->who != who || f->first > last || f->last < first ||
		    (f->write && !write))
			continue;
		found |= time_before(jiffies, f->at + HZ);
		f->who = 0;
	}
	spin_unlock_bh(&odp->lock);
	return found;
}

/* A page has arrived: restart the time that waiters measure from. */
static void mrc_odp_page_arrived(struct mrc_odp *odp)
{
	spin_lock_bh(&odp->lock);
	if (odp->since)
		odp->since = mrc_now();
	spin_unlock_bh(&odp->lock);
}

int mrc_odp_fetch(struct mrc_odp *odp, const struct mrc_odp_range *w, atomic64_t *count)
{
	unsigned long at = w->first, n, single = 0;
	int err = 0;
	long ret;

	while (at <= w->last && atomic_read(&odp->regions)) {
		n = single ? 1 : min(w->last - at + 1,
				     (unsigned long)MRC_ODP_CHUNK);
		ret = mrc_odp_map(odp, at, n, w->write, true);
		if (ret < 0 && n > 1) {
			single = n;
			continue;
		}
		/*
		 * -EBUSY and -EAGAIN are temporary: the QP that needs the page asks
		 * again.
		 */
		if (ret < 0 && ret != -EBUSY && ret != -EAGAIN)
			mrc_odp_fail(odp, at, w);
		if (ret < 0)
			err = ret;
		else
			atomic64_add(ret, count);
		/* The program was killed during advise_mr. */
		if (fatal_signal_pending(current))
			break;
		if (single)
			single--;
		at += n;
		mrc_odp_page_arrived(odp);
		mrc_odp_wake(&odp->dev->odp);
		cond_resched();
	}
	return err;
}

void mrc_odp_work(struct work_struct *work)
{
	struct mrc_odp *odp = container_of(work, struct mrc_odp, work);
	struct mrc_odp_range w;

	if (mrc_odp_next_range(odp, &w))
		mrc_odp_fetch(odp, &w, &odp->faults);
	mrc_odp_settle(odp);
	if (mrc_odp_finish(odp))
		mrc_odp_put(odp);
}

#endif
