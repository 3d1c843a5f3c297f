// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs as users of profiles: which profiles apply, and how a change of a profile
 * reaches the QPs that use it (MRC 1.0 §11.6, §14).
 */
#include <linux/sched.h>
#include <net/ipv6.h>

#include "mrc_ctl_priv.h"

/*
 * Take both locks, because the responder picks EVs for its feedback. Bottom halves stay
 * disabled until mrc_ctl_qp_run().
 */
static void mrc_ctl_qp_lock(struct mrc_qp *qp)
	__acquires(&qp->rx.lock) __acquires(&qp->tx.lock)
{
	spin_lock_bh(&qp->rx.lock);
	spin_lock(&qp->tx.lock);
}

/* Send all packets that may be sent now and unlock @qp. */
static void mrc_ctl_qp_run(struct mrc_qp *qp)
	__releases(&qp->rx.lock) __releases(&qp->tx.lock)
{
	spin_unlock(&qp->rx.lock);
	if (mrc_qp_sends(qp)) {
		mrc_qp_hold(qp);
		mrc_req_run(qp, true);
		mrc_qp_put(qp);
	} else {
		spin_unlock_bh(&qp->tx.lock);
	}
}

void mrc_ctl_publish_set(struct mrc_ctl_evp *evp)
{
	struct mrc_set *set = evp->set, *old;
	struct mrc_qp *qp;

	list_for_each_entry(qp, &evp->users, ev_node) {
		refcount_inc(&set->ref);
		mrc_ctl_qp_lock(qp);
		old = qp->flow.set;
		WRITE_ONCE(qp->flow.set, set);
		/*
		 * A QP on its way to RTR compares its set after it has created its
		 * paths.
		 */
		if (qp->paths_on)
			mrc_paths_update(&qp->paths, &set->set, mrc_now());
		mrc_ctl_qp_run(qp);
		mrc_set_put(old);
		cond_resched();	/* many QPs, up to MRC_EV_MAX EVs each */
	}
}

void mrc_ctl_publish_cc(struct mrc_ctl_ccp *ccp)
{
	struct mrc_qp *qp;

	list_for_each_entry(qp, &ccp->users, cc_node) {
		mrc_ctl_qp_lock(qp);
		qp->nscc = ccp->p.nscc;
		if (qp->tx.on) {
			qp->tx.eng->cc_cfg.now = mrc_now();
			mrc_cc_reconfigure(&qp->tx.eng->cc, &qp->tx.eng->cc_cfg);
		}
		mrc_ctl_qp_run(qp);
		cond_resched();
	}
}

void mrc_ctl_bad_evs(struct mrc_ctl_evp *evp, unsigned long *bad)
{
	struct mrc_qp *qp;
	u32 i, n;

	list_for_each_entry(qp, &evp->users, ev_node) {
		spin_lock_bh(&qp->tx.lock);
		n = qp->paths_on ? min(mrc_paths_count(&qp->paths), evp->p.n_ev) : 0;
		for (i = 0; i < n; i++)
			if (mrc_paths_state(&qp->paths, i) ==
			    MRC_EV_ASSUMED_BAD)
				__set_bit(i, bad);
		spin_unlock_bh(&qp->tx.lock);
		cond_resched();
	}
}

/* The default profiles with the longest prefix that matches @addr, NULL: there are none. */
static const struct mrc_abi_default *
mrc_ctl_default_for(const struct mrc_ctl *ctl, const struct in6_addr *addr)
{
	const struct mrc_abi_default *best = NULL;
	u32 i;

	for (i = 0; i < ctl->n_def; i++) {
		const struct mrc_abi_default *def = &ctl->def[i];
		struct in6_addr prefix;

		if (!mrc_ctl_default_profiles(def))
			continue;
		memcpy(&prefix, def->prefix, sizeof(prefix));
		if (ipv6_prefix_equal(addr, &prefix, def->prefix_len) &&
		    (!best || def->prefix_len > best->prefix_len))
			best = def;
	}
	return best;
}

/* EV profile @id if it is ONLINE and fits the IP version, else NULL. */
static struct mrc_ctl_evp *mrc_ctl_evp_for(const struct mrc_ctl *ctl, u64 id,
					   bool ipv6)
{
	struct mrc_ctl_evp *evp = id < MRC_CTL_EVPS ? ctl->evp[id] : NULL;

	if (!evp || evp->p.state != MRC_PROFILE_ONLINE ||
	    (evp->set && !mrc_evset_fits(&evp->set->set, ipv6)))
		return NULL;
	return evp;
}

static struct mrc_ctl_ccp *mrc_ctl_ccp_for(const struct mrc_ctl *ctl, u64 id)
{
	struct mrc_ctl_ccp *ccp = id < MRC_CTL_CCPS ? ctl->ccp[id] : NULL;

	return ccp && ccp->p.state == MRC_PROFILE_ONLINE ? ccp : NULL;
}

static void mrc_ctl_use_evp(struct mrc_qp *qp, struct mrc_ctl_evp *evp, u64 id)
{
	list_add_tail(&qp->ev_node, &evp->users);
	evp->p.users++;
	qp->evp = evp;
	qp->ev_id = id;
	if (evp->set) {
		refcount_inc(&evp->set->ref);
		WRITE_ONCE(qp->flow.set, evp->set);
	} else {
		qp->auto_evs = evp->p.count;
		qp->auto_min = evp->p.min_active;
	}
}

static void mrc_ctl_use_ccp(struct mrc_qp *qp, struct mrc_ctl_ccp *ccp, u64 id)
{
	list_add_tail(&qp->cc_node, &ccp->users);
	ccp->p.users++;
	qp->ccp = ccp;
	qp->cc_id = id;
	qp->cc_ops = ccp->p.ops;
	qp->nscc = ccp->p.nscc;
}

static int mrc_ctl_check_profiles(struct mrc_dev *dev,
				  const struct mrc_abi_qp_attr *in)
{
	struct mrc_ctl *ctl = dev->ctl;
	bool ok = true;

	/* Do not wait for the lock of a controller if no profile is named. */
	if (!(in->mask & (MRC_ABI_QP_EV_PROFILE | MRC_ABI_QP_CC_PROFILE)))
		return 0;
	mutex_lock(&ctl->lock);
	if (in->mask & MRC_ABI_QP_EV_PROFILE &&
	    in->ev_profile != MRC_ABI_PROFILE_NONE)
		ok = mrc_ctl_evp_for(ctl, in->ev_profile, true);
	if (ok && in->mask & MRC_ABI_QP_CC_PROFILE &&
	    in->cc_profile != MRC_ABI_PROFILE_NONE)
		ok = mrc_ctl_ccp_for(ctl, in->cc_profile);
	mutex_unlock(&ctl->lock);
	return ok ? 0 : -EINVAL;
}

/*
 * An answer channel uses the same profiles as its QP, even if the IDs name other
 * profiles by now. It is not counted as a user, because its QP is. Under the mutex of
 * both.
 */
static void mrc_ctl_bind_ans(struct mrc_qp *ans)
{
	const struct mrc_qp *qp = ans->ans_of;
	struct mrc_ctl *ctl = ans->base.dev->ctl;

	mutex_lock(&ctl->lock);
	ans->ev_id = qp->ev_id;
	ans->cc_id = qp->cc_id;
	ans->auto_evs = qp->auto_evs;
	ans->auto_min = qp->auto_min;
	ans->cc_ops = qp->cc_ops;
	ans->nscc = qp->nscc;
	ans->evp = qp->evp;
	if (ans->evp)
		list_add_tail(&ans->ev_node, &ans->evp->users);
	ans->ccp = qp->ccp;
	if (ans->ccp)
		list_add_tail(&ans->cc_node, &ans->ccp->users);
	if (qp->flow.set)
		refcount_inc(&qp->flow.set->ref);
	WRITE_ONCE(ans->flow.set, qp->flow.set);
	mutex_unlock(&ctl->lock);
}

static int mrc_ctl_bind_qp(struct mrc_qp *qp)
{
	u64 ev = MRC_ABI_PROFILE_NONE, cc = MRC_ABI_PROFILE_NONE;
	const struct mrc_abi_qp_attr *attr = &qp->attr.mrc;
	struct mrc_ctl *ctl = qp->base.dev->ctl;
	const struct mrc_abi_default *def;
	struct mrc_ctl_evp *evp = NULL;
	struct mrc_ctl_ccp *ccp = NULL;

	if (qp->ans_of) {
		mrc_ctl_bind_ans(qp);
		return 0;
	}
	if (attr->mask & MRC_ABI_QP_EV_PROFILE)
		ev = attr->ev_profile;
	if (attr->mask & MRC_ABI_QP_CC_PROFILE)
		cc = attr->cc_profile;

	mutex_lock(&ctl->lock);
	def = mrc_ctl_default_for(ctl, &qp->flow.daddr);
	if (def && ev == MRC_ABI_PROFILE_NONE)
		ev = def->ev_profile;
	if (def && cc == MRC_ABI_PROFILE_NONE)
		cc = def->cc_profile;

	if (ev != MRC_ABI_PROFILE_NONE)
		evp = mrc_ctl_evp_for(ctl, ev, qp->flow.ipv6);
	if (cc != MRC_ABI_PROFILE_NONE)
		ccp = mrc_ctl_ccp_for(ctl, cc);
	if ((ev != MRC_ABI_PROFILE_NONE && !evp) ||
	    (cc != MRC_ABI_PROFILE_NONE && !ccp)) {
		mutex_unlock(&ctl->lock);
		pr_notice_ratelimited("%s: %s profile %llu of a QP to %pI6c is not online or does not fit\n",
				      qp->base.dev->ib.name,
				      ev != MRC_ABI_PROFILE_NONE && !evp ?
					      "EV" : "CC",
				      ev != MRC_ABI_PROFILE_NONE && !evp ?
					      ev : cc, &qp->flow.daddr);
		return -EINVAL;
	}

	qp->ev_id = MRC_ABI_PROFILE_NONE;
	qp->cc_id = MRC_ABI_PROFILE_NONE;
	qp->auto_evs = 0;
	qp->auto_min = 0;
	qp->cc_ops = READ_ONCE(qp->base.dev->attr.cc);
	memset(&qp->nscc, 0, sizeof(qp->nscc));
	if (evp)
		mrc_ctl_use_evp(qp, evp, ev);
	if (ccp)
		mrc_ctl_use_ccp(qp, ccp, cc);
	mutex_unlock(&ctl->lock);
	return 0;
}

static void mrc_ctl_unbind_qp(struct mrc_qp *qp)
{
	struct mrc_ctl *ctl = qp->base.dev->ctl;
	struct mrc_set *set;

	mutex_lock(&ctl->lock);
	if (qp->evp) {
		list_del(&qp->ev_node);
		qp->evp->p.users -= !qp->ans_of;
		qp->evp = NULL;
	}
	if (qp->ccp) {
		list_del(&qp->cc_node);
		qp->ccp->p.users -= !qp->ans_of;
		qp->ccp = NULL;
	}
	mrc_ctl_qp_lock(qp);
	set = qp->flow.set;
	WRITE_ONCE(qp->flow.set, NULL);
	spin_unlock(&qp->tx.lock);
	spin_unlock_bh(&qp->rx.lock);
	mutex_unlock(&ctl->lock);
	mrc_set_put(set);
}

const struct mrc_profile_ops mrc_ctl_profile_ops = {
	.check = mrc_ctl_check_profiles,
	.bind = mrc_ctl_bind_qp,
	.unbind = mrc_ctl_unbind_qp,
	.event = mrc_ctl_ev_event,
};
