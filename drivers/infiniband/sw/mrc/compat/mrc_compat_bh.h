/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work in a bottom half: on the processor that queues it, when the softirq that is
 * running there has come to its end. Before there were work items for that, a tasklet.
 */
#ifndef MRC_COMPAT_BH_H
#define MRC_COMPAT_BH_H

#include "mrc_config.h"

#ifdef HAVE_SYSTEM_BH_WQ
#include <linux/workqueue.h>

#define mrc_bh_work	work_struct

/* A macro: each work item has a lock class of its own. */
#define mrc_bh_init(work, fn)	INIT_WORK(work, fn)

static inline void mrc_bh_queue(struct mrc_bh_work *work)
{
	queue_work(system_bh_highpri_wq, work);
}

/* Waits until it does not run. Sleeps. */
static inline void mrc_bh_end(struct mrc_bh_work *work)
{
	cancel_work_sync(work);
}
#else
#include <linux/interrupt.h>

#define mrc_bh_work	tasklet_struct

static inline void mrc_bh_init(struct mrc_bh_work *work,
			       void (*fn)(struct mrc_bh_work *work))
{
	tasklet_setup(work, fn);
}

static inline void mrc_bh_queue(struct mrc_bh_work *work)
{
	tasklet_hi_schedule(work);
}

static inline void mrc_bh_end(struct mrc_bh_work *work)
{
	tasklet_kill(work);
}
#endif

#endif /* MRC_COMPAT_BH_H */
