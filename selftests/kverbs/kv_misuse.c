// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What must be refused. Each refusal costs the connection, so each test has
 * one of its own, and afterwards nothing was written.
 */
#include "kv.h"

/* @a writes @len bytes by @key, in vain. */
static int kv_no_write(struct kv_pair *p, u64 va, u32 len, u32 key)
{
	kv_buf_fill(&p->src, 9);
	KV_OK(kv_do(&p->a, IB_WR_RDMA_WRITE, &p->src, len, va, key) -
	      IB_WC_REM_ACCESS_ERR);
	KV_TRUE(kv_buf_zero(&p->dst));
	return 0;
}

static int kv_unregistered(struct kv_pair *p)
{
	KV_OK(kv_mr(p, 0));
	return kv_no_write(p, p->mr->iova, 8, p->mr->rkey);
}

static int kv_after_inv(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL));
	KV_OK(kv_inv(&p->b, p->mr->rkey));
	return kv_no_write(p, p->mr->iova, 8, p->mr->rkey);
}

static int kv_after_send_inv(struct kv_pair *p)
{
	struct kv_wc rx;

	KV_OK(kv_mr(p, KV_ALL));
	KV_OK(kv_post_recv(&p->b, &rx, NULL));
	KV_OK(kv_do(&p->a, IB_WR_SEND_WITH_INV, NULL, 0, 0, p->mr->rkey));
	KV_OK(kv_wait(&p->b, &rx));
	KV_OK(rx.wc.status);
	return kv_no_write(p, p->mr->iova, 8, p->mr->rkey);
}

static int kv_old_key(struct kv_pair *p)
{
	u32 old;

	KV_OK(kv_mr(p, KV_ALL));
	old = p->mr->rkey;
	KV_OK(kv_inv(&p->b, old));
	ib_update_fast_reg_key(p->mr, old + 1);
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL));
	return kv_no_write(p, p->mr->iova, 8, old);
}

static int kv_behind(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL));
	return kv_no_write(p, p->mr->iova + p->mr->length - 7, 8, p->mr->rkey);
}

static int kv_before(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL));
	return kv_no_write(p, p->mr->iova - 1, 8, p->mr->rkey);
}

static int kv_read_only(struct kv_pair *p)
{
	KV_OK(kv_mr(p, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ));
	return kv_no_write(p, p->mr->iova, 8, p->mr->rkey);
}

static int kv_write_only(struct kv_pair *p)
{
	KV_OK(kv_mr(p, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE));
	KV_OK(kv_do(&p->a, IB_WR_RDMA_READ, &p->src, 8, p->mr->iova,
		    p->mr->rkey) - IB_WC_REM_ACCESS_ERR);
	return 0;
}

static int kv_no_atomic(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL & ~IB_ACCESS_REMOTE_ATOMIC));
	KV_OK(kv_do(&p->a, IB_WR_ATOMIC_FETCH_AND_ADD, &p->src, 8,
		    p->mr->iova, p->mr->rkey) - IB_WC_REM_ACCESS_ERR);
	KV_TRUE(kv_buf_zero(&p->dst));
	return 0;
}

/* The key of all memory is for this side alone. */
static int kv_dma_key(struct kv_pair *p)
{
	return kv_no_write(p, p->dst.dma[0], 8, p->b.pd->local_dma_lkey);
}

static int kv_reg_twice(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL));
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL) - IB_WC_MW_BIND_ERR);
	return 0;
}

static int kv_reg_access(struct kv_pair *p)
{
	KV_OK(kv_mr(p, 0));
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, IB_ACCESS_REMOTE_WRITE) -
	      IB_WC_MW_BIND_ERR);
	return 0;
}

/* Without a list of pages. */
static int kv_reg_nothing(struct kv_pair *p)
{
	p->mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG, KV_PAGES);
	KV_OK(PTR_ERR_OR_ZERO(p->mr));
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL) - IB_WC_MW_BIND_ERR);
	return 0;
}

/* The length of the region exceeds its pages. */
static int kv_reg_long(struct kv_pair *p)
{
	KV_OK(kv_mr(p, 0));
	p->mr->length++;
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL) - IB_WC_MW_BIND_ERR);
	return 0;
}

static int kv_reg_foreign(struct kv_pair *p)
{
	KV_OK(kv_foreign(p));
	KV_OK(kv_reg(&p->b, p->foreign, p->foreign->rkey, KV_ALL) -
	      IB_WC_MW_BIND_ERR);
	return 0;
}

static int kv_inv_foreign(struct kv_pair *p)
{
	KV_OK(kv_foreign(p));
	KV_OK(kv_inv(&p->b, p->foreign->rkey) - IB_WC_MW_BIND_ERR);
	return 0;
}

static int kv_inv_unknown(struct kv_pair *p)
{
	KV_OK(kv_inv(&p->b, 0x12) - IB_WC_MW_BIND_ERR);
	return 0;
}

static int kv_inv_dma(struct kv_pair *p)
{
	KV_OK(kv_inv(&p->b, p->b.pd->local_dma_lkey) - IB_WC_MW_BIND_ERR);
	return 0;
}

/* The peer invalidates what it must not: neither side gets away with it. */
static int kv_no_send_inv(struct kv_pair *p, u32 key)
{
	struct kv_wc rx;
	int st;

	KV_OK(kv_post_recv(&p->b, &rx, NULL));
	st = kv_do(&p->a, IB_WR_SEND_WITH_INV, NULL, 0, 0, key);
	KV_TRUE(st == IB_WC_REM_ACCESS_ERR || st == IB_WC_REM_OP_ERR ||
		st == IB_WC_REM_INV_REQ_ERR);
	KV_OK(kv_wait(&p->b, &rx));
	KV_TRUE(rx.wc.status != IB_WC_SUCCESS);
	return 0;
}

static int kv_send_inv_dma(struct kv_pair *p)
{
	return kv_no_send_inv(p, p->b.pd->local_dma_lkey);
}

static int kv_send_inv_unknown(struct kv_pair *p)
{
	return kv_no_send_inv(p, 0x34);
}

static int kv_send_inv_foreign(struct kv_pair *p)
{
	KV_OK(kv_foreign(p));
	return kv_no_send_inv(p, p->foreign->rkey);
}

const struct kv_test kv_misuse_tests[] = {
	{ "key of a region that is not registered", kv_unregistered },
	{ "key after LOCAL_INV", kv_after_inv },
	{ "key after SEND_WITH_INV", kv_after_send_inv },
	{ "key of the registration before", kv_old_key },
	{ "a byte behind the region", kv_behind },
	{ "a byte before the region", kv_before },
	{ "WRITE without permission", kv_read_only },
	{ "READ without permission", kv_write_only },
	{ "FETCH_ADD without permission", kv_no_atomic },
	{ "the local DMA key from afar", kv_dma_key },
	{ "REG_MR of what is registered", kv_reg_twice },
	{ "REG_MR for remote but not local write", kv_reg_access },
	{ "REG_MR of no pages", kv_reg_nothing },
	{ "REG_MR of more than the pages", kv_reg_long },
	{ "REG_MR of another domain's region", kv_reg_foreign },
	{ "LOCAL_INV of another domain's region", kv_inv_foreign },
	{ "LOCAL_INV of an unknown key", kv_inv_unknown },
	{ "LOCAL_INV of the local DMA key", kv_inv_dma },
	{ "SEND_WITH_INV of the local DMA key", kv_send_inv_dma },
	{ "SEND_WITH_INV of an unknown key", kv_send_inv_unknown },
	{ "SEND_WITH_INV of another domain's region", kv_send_inv_foreign },
	{ }
};
