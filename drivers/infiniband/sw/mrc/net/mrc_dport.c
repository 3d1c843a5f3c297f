// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The UDP ports to which a device sends, by destination, see mrc_net.h. */
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "mrc_net.h"

/**
 * struct mrc_dports - ports for destinations; the longest prefix decides
 * @ref: one for each device that uses it, and one for the controller's side
 * @rcu: delayed free
 * @n: entries
 * @e: prefix, its length in bits, and the port
 */
struct mrc_dports {
	refcount_t ref;
	struct rcu_head rcu;
	u32 n;
	struct {
		struct in6_addr prefix;
		u8 len;
		__be16 port;
	} e[];
};

struct mrc_dports *mrc_dports_alloc(u32 room)
{
	struct mrc_dports *d = kzalloc(struct_size(d, e, room), GFP_KERNEL);

	if (d)
		refcount_set(&d->ref, 1);
	return d;
}

void mrc_dports_put(struct mrc_dports *d)
{
	if (d && refcount_dec_and_test(&d->ref))
		kfree_rcu(d, rcu);
}

void mrc_dports_add(struct mrc_dports *d, const struct in6_addr *prefix, u8 len,
		    u16 port)
{
	d->e[d->n].prefix = *prefix;
	d->e[d->n].len = len;
	d->e[d->n].port = htons(port);
	d->n++;
}

void mrc_dports_publish(struct mrc_dev *dev, struct mrc_dports *d)
{
	if (d)
		refcount_inc(&d->ref);
	/* The caller is the only writer. */
	mrc_dports_put(rcu_replace_pointer(dev->dports, d, true));
}

__be16 mrc_dport(const struct mrc_dev *dev, const struct in6_addr *daddr)
{
	__be16 port = mrc_udp_ports[0];
	const struct mrc_dports *d;
	int best = -1;
	u32 i;

	rcu_read_lock();
	d = rcu_dereference(dev->dports);
	for (i = 0; d && i < d->n; i++) {
		if (d->e[i].len <= best ||
		    !ipv6_prefix_equal(daddr, &d->e[i].prefix, d->e[i].len))
			continue;
		best = d->e[i].len;
		port = d->e[i].port;
	}
	rcu_read_unlock();
	return port;
}
