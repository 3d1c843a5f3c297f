// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The list of devices, and helpers that all layers need.
 */
#include <linux/mutex.h>
#include <linux/rtnetlink.h>

#include "mrc_dev.h"

DEFINE_SPINLOCK(mrc_devs_lock);
static LIST_HEAD(mrc_devs);

struct mrc_dev *mrc_dev_by_ndev(const struct net_device *ndev, u8 *num)
{
	struct mrc_dev *dev, *found = NULL;

	ASSERT_RTNL();
	rcu_read_lock();
	spin_lock_bh(&mrc_devs_lock);
	list_for_each_entry(dev, &mrc_devs, list) {
		*num = mrc_dev_port_of(dev, ndev);
		if (*num) {
			get_device(&dev->ib.dev);
			found = dev;
			break;
		}
	}
	spin_unlock_bh(&mrc_devs_lock);
	rcu_read_unlock();
	return found;
}

struct mrc_dev *mrc_dev_by_name(const char *name, const struct net *net)
{
	struct mrc_dev *dev, *found = NULL;

	spin_lock_bh(&mrc_devs_lock);
	list_for_each_entry(dev, &mrc_devs, list) {
		if (!strcmp(dev->ib.name, name) &&
		    rdma_dev_access_netns(&dev->ib, net) &&
		    ib_device_try_get(&dev->ib)) {
			found = dev;
			break;
		}
	}
	spin_unlock_bh(&mrc_devs_lock);
	return found;
}

void mrc_dev_list(struct mrc_dev *dev)
{
	spin_lock_bh(&mrc_devs_lock);
	list_add_tail(&dev->list, &mrc_devs);
	spin_unlock_bh(&mrc_devs_lock);
}

void mrc_dev_delist(struct mrc_dev *dev)
{
	spin_lock_bh(&mrc_devs_lock);
	list_del(&dev->list);
	spin_unlock_bh(&mrc_devs_lock);
}

void mrc_devs_unregister(struct net *net)
{
	struct mrc_dev *dev, *found;

	do {
		found = NULL;
		spin_lock_bh(&mrc_devs_lock);
		list_for_each_entry(dev, &mrc_devs, list) {
			if (!net || net_eq(dev->net, net)) {
				get_device(&dev->ib.dev);
				found = dev;
				break;
			}
		}
		spin_unlock_bh(&mrc_devs_lock);
		if (found) {
			/* Waits if another thread is unregistering it. */
			ib_unregister_device(&found->ib);
			put_device(&found->ib.dev);
		}
	} while (found);
}

void mrc_dev_changed(struct mrc_dev *dev)
{
	static DEFINE_MUTEX(lock);
	struct ib_device_attr attr;

	mutex_lock(&lock);
	if (!dev->ib.ops.query_device(&dev->ib, &attr, NULL))
		dev->ib.attrs = attr;
	mutex_unlock(&lock);
}

void mrc_ext_switch(struct mrc_dev *dev, bool on)
{
	WRITE_ONCE(dev->ext, on);
	mrc_dev_changed(dev);
}

int mrc_udata_in(struct ib_udata *udata, void *req, size_t size)
{
	size_t len;

	if (!udata)	/* called by the core itself */
		return 0;
	len = min(size, udata->inlen);
	if (udata->inlen > size &&
	    !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return -EOPNOTSUPP;
	if (len && ib_copy_from_udata(req, udata, len))
		return -EFAULT;
	return 0;
}

int mrc_udata_out(struct ib_udata *udata, void *resp, size_t size)
{
	size_t len = min(size, udata->outlen);

	if (len && ib_copy_to_udata(udata, resp, len))
		return -EFAULT;
	return 0;
}
