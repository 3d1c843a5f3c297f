// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sets of EVs: releasing them. */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "mrc_net.h"

static void mrc_set_free(struct rcu_head *rcu)
{
	struct mrc_set *set = container_of(rcu, struct mrc_set, rcu);

	mrc_srv6_detach(set);
	kvfree(set);
}

void mrc_set_put(struct mrc_set *set)
{
	if (set && refcount_dec_and_test(&set->ref))
		call_rcu(&set->rcu, mrc_set_free);
}
