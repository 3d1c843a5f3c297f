// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control: selection by name, and "none", a fixed window that only
 * bounds what a QP has in flight.
 */
#include "mrc_cc.h"
#include "mrc_req.h"

u32 mrc_cc_largest_window(const struct mrc_cc_cfg *cfg)
{
	if (!cfg->max_pkts || 0xFFFFFFFFu / cfg->max_pkts < cfg->mtu)
		return 0xFFFFFFFFu;
	return cfg->max_pkts * cfg->mtu;
}

u32 mrc_cc_fixed_window(const struct mrc_cc_cfg *cfg)
{
	const u32 most = mrc_cc_largest_window(cfg);
	u32 cwnd = cfg->window ? cfg->window : MRC_CC_FIXED_WINDOW;

	if (cwnd > most)
		cwnd = most;
	return cwnd > cfg->mtu ? cwnd : cfg->mtu;
}

bool mrc_cc_fits_window(const struct mrc_cc *cc, u64 inflight, u32 size)
{
	return !inflight || inflight + size <= cc->cwnd;
}

bool mrc_cc_window_closes(const struct mrc_cc *cc, u64 inflight)
{
	return cc->cwnd < cc->sack_threshold || inflight >= cc->cwnd ||
	       cc->cwnd - inflight < cc->mtu;
}

/* Also ->reconfigure: a new window for a running QP. */
static void none_init(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	cc->cwnd = mrc_cc_fixed_window(cfg);
}

static void none_on_send(struct mrc_cc *cc, u32 size, u64 now)
{
}

static void none_on_ack(struct mrc_cc *cc, const struct mrc_cc_ack *ack)
{
}

static void none_on_loss(struct mrc_cc *cc, u32 size, u64 now)
{
}

static void none_on_nack(struct mrc_cc *cc, u32 size, u8 reason, u64 rtt,
			 u64 now)
{
}

static void none_on_late(struct mrc_cc *cc, u32 size)
{
}

const struct mrc_cc_ops mrc_cc_none = {
	.name = "none",
	.init = none_init,
	.can_send = mrc_cc_fits_window,
	.on_send = none_on_send,
	.on_ack = none_on_ack,
	.on_loss = none_on_loss,
	.on_nack = none_on_nack,
	.ack_request = mrc_cc_window_closes,
	.on_late = none_on_late,
	.reconfigure = none_init,
};

static const struct mrc_cc_ops *const mrc_cc_all[] = {
#ifdef CONFIG_INFINIBAND_MRC_NSCC
	&mrc_cc_nscc,
#endif
#ifdef CONFIG_INFINIBAND_MRC_VEGAS
	&mrc_cc_vegas,
#endif
	&mrc_cc_none,
};

const struct mrc_cc_ops *mrc_cc_nth(size_t n)
{
	return n < ARRAY_SIZE(mrc_cc_all) ? mrc_cc_all[n] : NULL;
}

const struct mrc_cc_ops *mrc_cc_default(void)
{
#ifdef CONFIG_INFINIBAND_MRC_VEGAS
	return &mrc_cc_vegas;
#else
	return &mrc_cc_none;
#endif
}

const struct mrc_cc_ops *mrc_cc_find(const char *name)
{
	size_t i;

	if (!name)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(mrc_cc_all); i++) {
		if (!strcmp(mrc_cc_all[i]->name, name))
			return mrc_cc_all[i];
	}
	return NULL;
}

void mrc_cc_init(struct mrc_cc *cc, const struct mrc_cc_ops *ops,
		 const struct mrc_cc_cfg *cfg)
{
	memset(cc, 0, sizeof(*cc));
	cc->ops = ops ? ops : &mrc_cc_none;
	cc->mtu = cfg->mtu;
	cc->sack_threshold = MRC_SACK_THRESHOLD;
	cc->max_pkts = cfg->max_pkts;
	cc->ops->init(cc, cfg);
}

void mrc_cc_reconfigure(struct mrc_cc *cc, const struct mrc_cc_cfg *cfg)
{
	cc->max_pkts = cfg->max_pkts;
	cc->ops->reconfigure(cc, cfg);
}
