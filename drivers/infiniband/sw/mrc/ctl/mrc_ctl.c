// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Profiles of a device: storage, versions of EV sets, defaults (MRC 1.0 §11.3;
 * the rules are the engine's, core/mrc_profile.h).
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/ipv6.h>

#include "mrc_ctl_priv.h"

int mrc_ctl_create(struct mrc_dev *dev)
{
	struct mrc_ctl *ctl = kzalloc(sizeof(*ctl), GFP_KERNEL);

	if (!ctl)
		return -ENOMEM;
	refcount_set(&ctl->ref, 1);
	mutex_init(&ctl->lock);
	spin_lock_init(&ctl->queue_lock);
	INIT_LIST_HEAD(&ctl->queues);
	dev->ctl = ctl;
	return 0;
}

struct mrc_ctl *mrc_ctl_get(struct mrc_ctl *ctl)
{
	refcount_inc(&ctl->ref);
	return ctl;
}

static void mrc_ctl_free_evp(struct mrc_ctl_evp *evp)
{
	if (!evp)
		return;
	mrc_set_put(evp->set);
	kvfree(evp->p.ev);
	kfree(evp);
}

void mrc_ctl_put(struct mrc_ctl *ctl)
{
	unsigned int i;

	if (!refcount_dec_and_test(&ctl->ref))
		return;
	for (i = 0; i < MRC_CTL_EVPS; i++)
		mrc_ctl_free_evp(ctl->evp[i]);
	for (i = 0; i < MRC_CTL_FMTS; i++)
		kfree(ctl->fmt[i]);
	for (i = 0; i < MRC_CTL_CCPS; i++)
		kfree(ctl->ccp[i]);
	mrc_dports_put(ctl->dports);
	mutex_destroy(&ctl->lock);
	kfree(ctl);
}

void mrc_ctl_destroy(struct mrc_dev *dev)
{
	if (dev->ctl)
		mrc_ctl_put(dev->ctl);
	dev->ctl = NULL;
}

/* Packets in outer headers are received while an SRv6 profile is online. */
static void mrc_ctl_tell_srv6(struct mrc_dev *dev)
{
	struct mrc_ctl *ctl = dev->ctl;
	const struct mrc_ctl_evp *evp;
	bool on = false;
	unsigned int i;

	lockdep_assert_held(&ctl->lock);
	for (i = 0; i < MRC_CTL_EVPS && !on; i++) {
		evp = ctl->evp[i];
		on = evp && evp->set && evp->set->set.mode == MRC_EV_FMT_SRV6;
	}
	mrc_sock_srv6(dev, on);
}

void mrc_ctl_share(struct mrc_dev *dev, struct mrc_ctl *ctl)
{
	mrc_ctl_put(dev->ctl);
	dev->ctl = mrc_ctl_get(ctl);
	mutex_lock(&ctl->lock);
	mrc_ctl_tell_srv6(dev);
	mrc_dports_publish(dev, ctl->dports);
	mutex_unlock(&ctl->lock);
}

/* --- EV formats ------------------------------------------------------------- */

int mrc_ctl_fmt(struct mrc_dev *dev, u64 id, struct mrc_fmt_req *r, bool modify)
{
	static const struct mrc_fmt_profile init;
	struct mrc_ctl *ctl = dev->ctl;
	struct mrc_fmt_profile *p;
	int ret;

	if (id >= MRC_CTL_FMTS)
		return -EINVAL;
	mutex_lock(&ctl->lock);
	p = ctl->fmt[id];
	if (!modify) {
		ret = mrc_fmt_query(p ?: &init, r);
		goto out;
	}
	if (!p)
		p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p) {
		ret = -ENOMEM;
		goto out;
	}
	ret = mrc_fmt_modify(p, r);
	if (p->state == MRC_PROFILE_INIT) {
		kfree(p);
		p = NULL;
	}
	ctl->fmt[id] = p;
out:
	mutex_unlock(&ctl->lock);
	return ret;
}

/* --- EV profiles ------------------------------------------------------------- */

static struct mrc_fmt_profile *mrc_ctl_fmt_of(void *ctx, u64 id)
{
	struct mrc_ctl *ctl = ctx;

	return id < MRC_CTL_FMTS ? ctl->fmt[id] : NULL;
}

u32 mrc_ctl_free_evs(struct mrc_dev *dev)
{
	u32 n;

	mutex_lock(&dev->ctl->lock);
	n = MRC_CTL_EVS - dev->ctl->n_ev;
	mutex_unlock(&dev->ctl->lock);
	return n;
}

/**
 * struct mrc_ctl_change - memory for a change to an EV profile, allocated before the
 * change so that it cannot fail afterwards
 * @ev: new array of EVs; after the change the old array, to be freed
 * @set: new version, or NULL
 * @set_mem: bytes of @set's own memory, 0 = no new version
 * @tmp: scratch memory for building it
 * @old_ev: copy of the EVs, to undo the change if this host cannot use the EVs of an
 *	SRv6 profile
 * @old_n: entries of @old_ev
 */
struct mrc_ctl_change {
	struct mrc_evp_ev *ev;
	struct mrc_set *set;
	size_t set_mem;
	struct mrc_evset_src *tmp;
	struct mrc_evp_ev *old_ev;
	u32 old_n;
};

static void mrc_ctl_change_end(struct mrc_ctl_change *c)
{
	kvfree(c->ev);
	kvfree(c->tmp);
	kvfree(c->old_ev);
	if (c->set)
		mrc_srv6_detach(c->set);
	kvfree(c->set);
}

static int mrc_ctl_change_begin(struct mrc_ctl_change *c,
				const struct mrc_ctl_evp *evp,
				const struct mrc_evp_req *r,
				const struct mrc_evp_env *env)
{
	u32 n = mrc_evp_count_after(&evp->p, r, env), n_new;
	size_t size;

	if (n > env->max_count)
		return -E2BIG;
	n_new = mrc_evp_array_after(&evp->p, r, env);
	if (n_new) {
		c->ev = kvcalloc(n_new, sizeof(*c->ev),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!c->ev)
			return -ENOMEM;
	}
	c->set_mem = mrc_evp_set_mem_after(&evp->p, r, env);
	if (!c->set_mem)
		return 0;

	size = ALIGN(sizeof(*c->set), 8) + ALIGN(c->set_mem, 8) +
	       n * sizeof(*c->set->val);
	c->set = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	c->tmp = kvcalloc(n, sizeof(*c->tmp), GFP_KERNEL | __GFP_NOWARN);
	c->old_n = evp->p.n_ev;
	if (c->old_n)
		c->old_ev = kvcalloc(c->old_n, sizeof(*c->old_ev),
				     GFP_KERNEL | __GFP_NOWARN);
	if (!c->set || !c->tmp || (c->old_n && !c->old_ev))
		return -ENOMEM;
	if (c->old_n)
		memcpy(c->old_ev, evp->p.ev, c->old_n * sizeof(*c->old_ev));
	return 0;
}

/* Build the new version in the memory allocated for it. */
static int mrc_ctl_build(struct mrc_ctl *ctl, u64 id,
			 const struct mrc_ctl_evp *evp,
			 struct mrc_ctl_change *c)
{
	void *mem = (void *)c->set + ALIGN(sizeof(*c->set), 8);
	struct mrc_set *set = c->set;
	u32 i;
	int ret;

	ret = mrc_evp_build(&evp->p, mrc_ctl_fmt_of(ctl, evp->p.fmt_id),
			    evp->seed, c->tmp, &set->set, mem);
	if (ret)
		return ret;
	refcount_set(&set->ref, 1);
	set->profile_id = id;
	set->event_mask = evp->p.event_mask;
	set->val = mem + ALIGN(c->set_mem, 8);
	for (i = 0; i < evp->p.n_ev; i++)
		set->val[i] = evp->p.ev[i].ev;
	return 0;
}

/* Undo a change to @evp that this host cannot use. */
static void mrc_ctl_undo(struct mrc_ctl_evp *evp, struct mrc_ctl_change *c,
			 const struct mrc_ev_profile *old,
			 struct mrc_fmt_profile *fmt, u32 fmt_users)
{
	if (evp->p.ev != old->ev)
		swap(evp->p.ev, c->ev);	/* take back the old array */
	evp->p = *old;
	if (c->old_n)
		memcpy(evp->p.ev, c->old_ev, c->old_n * sizeof(*c->old_ev));
	if (fmt)
		fmt->users = fmt_users;
}

static int mrc_ctl_evp_change(struct mrc_dev *dev, u64 id,
			      struct mrc_ctl_evp *evp, struct mrc_evp_req *r,
			      const struct mrc_evp_env *env)
{
	struct mrc_ev_profile *old = kmemdup(&evp->p, sizeof(*old), GFP_KERNEL);
	struct mrc_ctl *ctl = dev->ctl;
	struct mrc_ctl_change c = {};
	struct mrc_fmt_profile *fmt;
	u32 fmt_users = 0;
	int ret, err;

	if (!old)
		return -ENOMEM;
	ret = mrc_ctl_change_begin(&c, evp, r, env);
	if (ret)
		goto out;
	fmt = mrc_ctl_fmt_of(ctl, r->mask & MRC_EVP_FMT_ID ? r->fmt_id :
							     evp->p.fmt_id);
	if (fmt)
		fmt_users = fmt->users;

	ret = mrc_evp_modify(&evp->p, r, env, &c.ev);
	/* If a batch fails, the operations before the failing one stay in effect. */
	if (evp->p.state == MRC_PROFILE_ONLINE && c.set_mem &&
	    (!ret || old->state == MRC_PROFILE_ONLINE)) {
		err = mrc_ctl_build(ctl, id, evp, &c);
		if (!err && c.set->set.mode == MRC_EV_FMT_SRV6)
			err = mrc_srv6_check(dev, &c.set->set);
		if (!err)
			err = mrc_srv6_attach(c.set);
		if (err) {
			mrc_ctl_undo(evp, &c, old, fmt, fmt_users);
			ret = err;
			goto out;
		}
		mrc_set_put(evp->set);
		evp->set = c.set;
		c.set = NULL;
		mrc_ctl_publish_set(evp);
	}
	if (evp->set && evp->p.state != MRC_PROFILE_ONLINE) {
		mrc_set_put(evp->set);
		evp->set = NULL;
	}
	ctl->n_ev = ctl->n_ev - old->n_ev + evp->p.n_ev;
out:
	mrc_ctl_change_end(&c);
	kfree(old);
	return ret;
}

static bool mrc_ctl_evp_wants_bad(const struct mrc_evp_req *r)
{
	return r->mask & MRC_EVP_EV_OP &&
	       (r->ev_op == MRC_EVP_OP_QUERY_EV_STATE ||
		r->ev_op == MRC_EVP_OP_QUERY_EV_ARRAY);
}

int mrc_ctl_evp(struct mrc_dev *dev, u64 id, struct mrc_evp_req *r, bool modify)
{
	struct mrc_ctl *ctl = dev->ctl;
	struct mrc_evp_env env = {
		.fmt = mrc_ctl_fmt_of,
		.ctx = ctl,
		.ports = GENMASK(dev->n_ports, 1),
		.max_count = MRC_EV_MAX,
		.max_entries = MRC_CTL_BATCH,
		.modify_online = true,
	};
	unsigned long *bad = NULL;
	struct mrc_ctl_evp *evp;
	int ret = -ENOMEM;

	if (id >= MRC_CTL_EVPS)
		return -EINVAL;
	mutex_lock(&ctl->lock);
	env.free_count = MRC_CTL_EVS - ctl->n_ev;
	evp = ctl->evp[id];
	if (!evp) {
		evp = kzalloc(sizeof(*evp), GFP_KERNEL_ACCOUNT);
		if (!evp)
			goto out;
		evp->seed = get_random_u64();
		INIT_LIST_HEAD(&evp->users);
	}
	env.seed = evp->seed;
	if (mrc_ctl_evp_wants_bad(r) && evp->set) {
		bad = bitmap_zalloc(evp->p.n_ev, GFP_KERNEL);
		if (!bad)
			goto out_evp;
		mrc_ctl_bad_evs(evp, bad);
		env.bad = bad;
	}
	if (modify)
		ret = mrc_ctl_evp_change(dev, id, evp, r, &env);
	else
		ret = mrc_evp_query(&evp->p, r, &env);
	bitmap_free(bad);
out_evp:
	if (evp->p.state == MRC_PROFILE_INIT) {
		mrc_ctl_free_evp(evp);
		evp = NULL;
	}
	ctl->evp[id] = evp;
	if (modify)
		mrc_ctl_tell_srv6(dev);
out:
	mutex_unlock(&ctl->lock);
	return ret;
}

/* --- CC profiles ------------------------------------------------------------- */

int mrc_ctl_ccp(struct mrc_dev *dev, u64 id, struct mrc_ccp_req *r, bool modify)
{
	struct mrc_ctl *ctl = dev->ctl;
	struct mrc_ctl_ccp *ccp;
	int ret = -ENOMEM;

	if (id >= MRC_CTL_CCPS)
		return -EINVAL;
	mutex_lock(&ctl->lock);
	ccp = ctl->ccp[id];
	if (!ccp) {
		ccp = kzalloc(sizeof(*ccp), GFP_KERNEL_ACCOUNT);
		if (!ccp)
			goto out;
		INIT_LIST_HEAD(&ccp->users);
	}
	if (modify) {
		ret = mrc_ccp_modify(&ccp->p, r, true);
		if (!ret && r->mask & MRC_CCP_CONFIG)
			mrc_ctl_publish_cc(ccp);
	} else {
		ret = mrc_ccp_query(&ccp->p, r);
	}
	if (ccp->p.state == MRC_PROFILE_INIT) {
		kfree(ccp);
		ccp = NULL;
	}
	ctl->ccp[id] = ccp;
out:
	mutex_unlock(&ctl->lock);
	return ret;
}

/* --- defaults ---------------------------------------------------------------- */

static bool mrc_ctl_prefix_ok(const struct mrc_abi_default *def)
{
	struct in6_addr addr, prefix;

	if (def->prefix_len > 128)
		return false;
	memcpy(&addr, def->prefix, sizeof(addr));
	ipv6_addr_prefix(&prefix, &addr, def->prefix_len);
	return ipv6_addr_equal(&addr, &prefix);
}

/* Make @dports, an empty table, the UDP ports of the defaults. */
static void mrc_ctl_set_dports(struct mrc_dev *dev, struct mrc_dports *dports)
{
	struct mrc_ctl *ctl = dev->ctl;
	struct in6_addr prefix;
	u32 i;

	lockdep_assert_held(&ctl->lock);
	for (i = 0; i < ctl->n_def; i++) {
		const struct mrc_abi_default *def = &ctl->def[i];

		if (!def->udp_port)
			continue;
		memcpy(&prefix, def->prefix, sizeof(prefix));
		mrc_dports_add(dports, &prefix, def->prefix_len, def->udp_port);
	}
	mrc_dports_put(ctl->dports);
	ctl->dports = dports;
	mrc_dports_publish(dev, dports);
}

int mrc_ctl_default_set(struct mrc_dev *dev, const struct mrc_abi_default *def)
{
	bool remove = !mrc_ctl_default_profiles(def) && !def->udp_port;
	struct mrc_ctl *ctl = dev->ctl;
	struct mrc_dports *dports;
	int ret = 0;
	u32 i;

	if (!mrc_ctl_prefix_ok(def) || def->udp_port > U16_MAX ||
	    (def->ev_profile != MRC_ABI_PROFILE_NONE &&
	     def->ev_profile >= MRC_CTL_EVPS) ||
	    (def->cc_profile != MRC_ABI_PROFILE_NONE &&
	     def->cc_profile >= MRC_CTL_CCPS))
		return -EINVAL;
	dports = mrc_dports_alloc(MRC_CTL_DEFAULTS);
	if (!dports)
		return -ENOMEM;
	mutex_lock(&ctl->lock);
	for (i = 0; i < ctl->n_def; i++)
		if (ctl->def[i].prefix_len == def->prefix_len &&
		    !memcmp(ctl->def[i].prefix, def->prefix,
			    sizeof(def->prefix)))
			break;
	if (remove && i == ctl->n_def)
		ret = -ENOENT;
	else if (remove)
		ctl->def[i] = ctl->def[--ctl->n_def];
	else if (i == MRC_CTL_DEFAULTS)
		ret = -ENOSPC;
	else
		ctl->def[i] = *def;
	if (!ret && !remove && i == ctl->n_def)
		ctl->n_def++;
	if (!ret)
		mrc_ctl_set_dports(dev, dports);
	else
		mrc_dports_put(dports);
	mutex_unlock(&ctl->lock);
	return ret;
}

u32 mrc_ctl_defaults_get(struct mrc_dev *dev, struct mrc_abi_default *def)
{
	struct mrc_ctl *ctl = dev->ctl;
	u32 n;

	mutex_lock(&ctl->lock);
	n = ctl->n_def;
	memcpy(def, ctl->def, n * sizeof(*def));
	mutex_unlock(&ctl->lock);
	return n;
}
