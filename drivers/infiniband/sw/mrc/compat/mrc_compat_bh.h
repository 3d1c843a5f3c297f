/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work in a bottom half. It runs on the processor that queues it, after the current
 * softirq has finished. Kernels without BH work items use a tasklet.
 */
#ifndef MRC_COMPAT_BH_H
#define MRC_COMPAT_BH_H

#include "mrc_config.h"

#ifdef HAVE_SYSTEM_BH_WQ
#include <linux/workqueue.h>

#define mrc_bh_work	work_struct

/* A macro, so that each work item has its own lock class. */
#define mrc_bh_init(work, fn)	INIT_WORK(work, fn)

static inline void mrc_bh_queue(struct mrc_bh_work *work)
{
	queue_work(system_bh_highpri_wq, work);
}

/* Cancel the work and wait until it is not running. Sleeps. */
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
