// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues that change their size. */
#include <linux/slab.h>

#include "kv.h"

enum {
	KV_RECVS	= 400,	/* more than are moved in one go */
	KV_BURST	= 40,	/* less than KV_DEPTH */
};

/**
 * struct kv_srq - what the tests have besides the connection
 * @srq: of b.qp
 * @rx: receives, in the order in which they are posted
 * @tx: messages under way
 * @sent: how many have been sent
 */
struct kv_srq {
	struct ib_srq *srq;
	struct kv_wc rx[KV_RECVS];
	struct kv_wc tx[KV_BURST];
	int sent;
};

/* The end @b gets another queue pair, which takes its receives from the SRQ. */
static int kv_srq_connect(struct kv_pair *p, struct kv_srq *s)
{
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	struct ib_qp_init_attr init = {
		.send_cq = p->b.cq,
		.recv_cq = p->b.cq,
		.srq = s->srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IB_QPT_RC,
	};

	KV_OK(ib_destroy_qp(p->b.qp));
	p->b.qp = ib_create_qp(p->b.pd, &init);
	KV_OK(PTR_ERR_OR_ZERO(p->b.qp));
	KV_OK(ib_modify_qp(p->a.qp, &reset, IB_QP_STATE));
	KV_OK(kv_connect(&p->a, &p->b));
	return kv_connect(&p->b, &p->a);
}

static int kv_srq_post(struct kv_srq *s, int from, int to)
{
	for (; from < to; from++) {
		struct ib_recv_wr wr = { .wr_cqe = kv_cqe(&s->rx[from]) };

		KV_OK(ib_post_srq_recv(s->srq, &wr, NULL));
	}
	return 0;
}

/* Messages on their way while the size becomes @max_wr. */
static int kv_srq_resize(struct kv_pair *p, struct kv_srq *s, u32 max_wr)
{
	struct ib_srq_attr attr = { .max_wr = max_wr };
	int i;

	for (i = 0; i < KV_BURST; i++)
		KV_OK(kv_post(&p->a, IB_WR_SEND, &s->tx[i], NULL, 0, 0, 0));
	KV_OK(ib_modify_srq(s->srq, &attr, IB_SRQ_MAX_WR));
	for (i = 0; i < KV_BURST; i++) {
		KV_OK(kv_wait(&p->a, &s->tx[i]));
		KV_OK(s->tx[i].wc.status);
		KV_OK(kv_wait(&p->b, &s->rx[s->sent]));
		KV_OK(s->rx[s->sent].wc.status);
		/* One message, one receive: the oldest. */
		KV_TRUE(s->sent == KV_RECVS - 1 || i < KV_BURST - 1 ||
			!s->rx[s->sent + 1].done);
		s->sent++;
	}
	KV_OK(ib_query_srq(s->srq, &attr));
	KV_TRUE(attr.max_wr >= max_wr);
	return 0;
}

static int kv_srq_sizes(struct kv_pair *p, struct kv_srq *s)
{
	struct ib_srq_attr attr = { .max_wr = 64 };
	int ret, posted = KV_RECVS / 2;

	KV_OK(kv_srq_post(s, 0, posted));
	KV_OK(kv_srq_resize(p, s, 2048));
	KV_OK(kv_srq_resize(p, s, 1024));
	/* Not all that wait would fit: nothing changes. */
	ret = ib_modify_srq(s->srq, &attr, IB_SRQ_MAX_WR);
	KV_OK(ret == -EINVAL ? 0 : ret ?: -EOVERFLOW);
	KV_OK(kv_srq_post(s, posted, KV_RECVS));
	KV_OK(kv_srq_resize(p, s, 4096));
	KV_OK(kv_srq_resize(p, s, 512));
	while (s->sent < KV_RECVS) {
		KV_OK(kv_do(&p->a, IB_WR_SEND, NULL, 0, 0, 0));
		KV_OK(kv_wait(&p->b, &s->rx[s->sent]));
		KV_OK(s->rx[s->sent++].wc.status);
	}
	return 0;
}

static int kv_srq_resized(struct kv_pair *p)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = 256, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct kv_srq *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	KV_OK(s ? 0 : -ENOMEM);
	s->srq = ib_create_srq(p->b.pd, &init);
	ret = IS_ERR(s->srq) ? kv_failed(__FILE__, __LINE__, "ib_create_srq",
					 PTR_ERR(s->srq)) :
			       kv_srq_connect(p, s) ?: kv_srq_sizes(p, s);
	/* In this order: the receives are in use until then. */
	if (!IS_ERR_OR_NULL(p->b.qp))
		ib_destroy_qp(p->b.qp);
	p->b.qp = NULL;
	if (!IS_ERR(s->srq))
		ib_destroy_srq(s->srq);
	kfree(s);
	return ret;
}

const struct kv_test kv_srq_tests[] = {
	{ "a shared receive queue of other sizes under way", kv_srq_resized },
	{ }
};
