// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What consumers in the kernel do with memory. */
#include <linux/slab.h>

#include "kv.h"

#define KV_ALL_BYTES	(KV_PAGES * (u32)PAGE_SIZE)

static int kv_send(struct kv_pair *p)
{
	u32 len = 3 * PAGE_SIZE + 5;
	struct kv_wc rx;

	kv_buf_fill(&p->src, 1);
	KV_OK(kv_post_recv(&p->b, &rx, &p->dst));
	KV_OK(kv_do(&p->a, IB_WR_SEND, &p->src, len, 0, 0));
	KV_OK(kv_wait(&p->b, &rx));
	KV_OK(rx.wc.status);
	KV_TRUE(rx.wc.opcode == IB_WC_RECV && rx.wc.byte_len == len);
	KV_TRUE(kv_buf_is(&p->dst, 0, len, 1));
	KV_TRUE(!*kv_buf_at(&p->dst, len));
	return 0;
}

static int kv_write(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL));
	kv_buf_fill(&p->src, 2);
	KV_OK(kv_do(&p->a, IB_WR_RDMA_WRITE, &p->src, KV_ALL_BYTES,
		    p->mr->iova, p->mr->rkey));
	KV_TRUE(kv_buf_is(&p->dst, 0, KV_ALL_BYTES, 2));
	return 0;
}

static int kv_read(struct kv_pair *p)
{
	KV_OK(kv_mr(p, IB_ACCESS_REMOTE_READ));
	kv_buf_fill(&p->dst, 3);
	KV_OK(kv_do(&p->a, IB_WR_RDMA_READ, &p->src, KV_ALL_BYTES,
		    p->mr->iova, p->mr->rkey));
	KV_TRUE(kv_buf_is(&p->src, 0, KV_ALL_BYTES, 3));
	return 0;
}

static int kv_atomic(struct kv_pair *p)
{
	u64 *word = (u64 *)kv_buf_at(&p->dst, 2 * PAGE_SIZE - 8);

	KV_OK(kv_mr(p, KV_ALL));
	*word = 41;
	KV_OK(kv_do(&p->a, IB_WR_ATOMIC_FETCH_AND_ADD, &p->src, 8,
		    p->mr->iova + 2 * PAGE_SIZE - 8, p->mr->rkey));
	KV_TRUE(*word == 42 && *(u64 *)kv_buf_at(&p->src, 0) == 41);
	return 0;
}

/* Pages from the middle of one to the middle of another. */
static int kv_middle(struct kv_pair *p)
{
	u32 skip = 100, len = KV_ALL_BYTES - 300;
	unsigned int off = skip;

	p->mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG, KV_PAGES);
	KV_OK(PTR_ERR_OR_ZERO(p->mr));
	sg_dma_len(&p->dst.sg[KV_PAGES - 1]) = PAGE_SIZE - 200;
	KV_OK(ib_map_mr_sg(p->mr, p->dst.sg, KV_PAGES, &off, PAGE_SIZE) -
	      KV_PAGES);
	KV_TRUE(p->mr->length == len);
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL));
	kv_buf_fill(&p->src, 0);
	KV_OK(kv_do(&p->a, IB_WR_RDMA_WRITE, &p->src, len, p->mr->iova,
		    p->mr->rkey));
	KV_TRUE(!memcmp(kv_buf_at(&p->dst, skip), kv_buf_at(&p->src, 0), 1000));
	KV_TRUE(!*kv_buf_at(&p->dst, skip - 1));
	KV_TRUE(*kv_buf_at(&p->dst, skip + len - 1) ==
		*kv_buf_at(&p->src, len - 1));
	KV_TRUE(!*kv_buf_at(&p->dst, skip + len));
	return 0;
}

/* Pages of the region that are larger than those of the kernel. */
static int kv_large_pages(struct kv_pair *p)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO, 4);
	u32 size = PAGE_SIZE << 4, i, len = KV_ALL_BYTES;
	struct scatterlist sg;
	u8 *va;
	int ret;

	KV_OK(page ? 0 : -ENOMEM);
	va = page_address(page);
	p->mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG, 1);
	KV_OK(PTR_ERR_OR_ZERO(p->mr));
	sg_init_table(&sg, 1);
	sg_set_page(&sg, page, size, 0);
	sg_dma_address(&sg) = (uintptr_t)va;
	sg_dma_len(&sg) = size;
	ret = ib_map_mr_sg(p->mr, &sg, 1, NULL, size) - 1;
	kv_buf_fill(&p->src, 5);
	ret = ret ?: kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL);
	ret = ret ?: kv_do(&p->a, IB_WR_RDMA_WRITE, &p->src, len,
			   p->mr->iova + size - len, p->mr->rkey);
	for (i = 0; !ret && i < len; i++)
		if (va[size - len + i] != *kv_buf_at(&p->src, i))
			ret = -EBADMSG;
	/* Nobody may use the pages when they are free. */
	ret = ret ?: kv_inv(&p->b, p->mr->rkey);
	__free_pages(page, 4);
	KV_OK(ret);
	return 0;
}

/*
 * As consumers do for every I/O: map for the next while the last is still
 * valid, then post the end of the one and the beginning of the other.
 */
static int kv_chain(struct kv_pair *p)
{
	struct kv_wc inv, reg;
	u32 old, i;
	u8 key = 0;

	KV_OK(kv_mr(p, KV_ALL));
	for (i = 0; i < 300; i++) {
		int first = i % KV_PAGES;

		old = p->mr->rkey;
		ib_update_fast_reg_key(p->mr, ++key);
		KV_OK(ib_map_mr_sg(p->mr, &p->dst.sg[first], 1, NULL,
				   PAGE_SIZE) - 1);
		KV_OK(kv_post_inv(&p->b, &inv, old));
		KV_OK(kv_post_reg(&p->b, &reg, p->mr, p->mr->rkey, KV_ALL));
		KV_OK(kv_wait(&p->b, &inv) ?: kv_wait(&p->b, &reg));
		KV_OK(inv.wc.status);
		KV_OK(reg.wc.status);
		*kv_buf_at(&p->src, 0) = i;
		KV_OK(kv_do(&p->a, IB_WR_RDMA_WRITE, &p->src, 1, p->mr->iova,
			    p->mr->rkey));
		KV_TRUE(*kv_buf_at(&p->dst, first * PAGE_SIZE) == (u8)i);
	}
	return 0;
}

static int kv_send_inv(struct kv_pair *p)
{
	struct kv_wc rx;
	int i;

	KV_OK(kv_mr(p, KV_ALL));
	for (i = 0; i < 20; i++) {
		KV_OK(kv_post_recv(&p->b, &rx, &p->dst));
		KV_OK(kv_do(&p->a, IB_WR_SEND_WITH_INV, &p->src, 10, 0,
			    p->mr->rkey));
		KV_OK(kv_wait(&p->b, &rx));
		KV_OK(rx.wc.status);
		KV_TRUE(rx.wc.wc_flags & IB_WC_WITH_INVALIDATE &&
			rx.wc.ex.invalidate_rkey == p->mr->rkey);
		/* It is free: it can be registered again. */
		ib_update_fast_reg_key(p->mr, i);
		KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL));
	}
	return 0;
}

/* An invalid key may be invalidated: nothing happens. */
static int kv_inv_twice(struct kv_pair *p)
{
	KV_OK(kv_mr(p, KV_ALL));
	KV_OK(kv_inv(&p->b, p->mr->rkey));
	KV_OK(kv_inv(&p->b, p->mr->rkey));
	KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, KV_ALL));
	return 0;
}

static int kv_limits(struct kv_pair *p)
{
	struct ib_mr *mr;

	mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG, KV_PAGES - 1);
	KV_OK(PTR_ERR_OR_ZERO(mr));
	p->mr = mr;
	/* As many as fit. */
	KV_OK(ib_map_mr_sg(mr, p->dst.sg, KV_PAGES, NULL, PAGE_SIZE) -
	      (KV_PAGES - 1));
	KV_TRUE(mr->length == (KV_PAGES - 1) * PAGE_SIZE);
	/* Up to a gap. */
	sg_dma_len(&p->dst.sg[2]) = PAGE_SIZE - 8;
	KV_OK(ib_map_mr_sg(mr, p->dst.sg, KV_PAGES, NULL, PAGE_SIZE) - 3);
	KV_TRUE(ib_map_mr_sg(mr, p->dst.sg, 1, NULL, PAGE_SIZE / 8) < 0);
	KV_TRUE(p->b.dev->attrs.max_fast_reg_page_list_len >= 256);
	mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG,
			 p->b.dev->attrs.max_fast_reg_page_list_len + 1);
	KV_TRUE(IS_ERR(mr));
	mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_SG_GAPS, 4);
	KV_TRUE(IS_ERR(mr));
	return 0;
}

static int kv_drain(struct kv_pair *p)
{
	struct kv_wc rx[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(rx); i++)
		KV_OK(kv_post_recv(&p->b, &rx[i], &p->dst));
	ib_drain_qp(p->b.qp);
	for (i = 0; i < ARRAY_SIZE(rx); i++)
		KV_TRUE(rx[i].done && rx[i].wc.status == IB_WC_WR_FLUSH_ERR);
	return 0;
}

/* Work of all kinds under way, and a key that ends meanwhile. */
static int kv_all_kinds(struct kv_pair *p, struct kv_wc *wc)
{
	static const enum ib_wr_opcode ops[] = {
		IB_WR_RDMA_WRITE, IB_WR_SEND, IB_WR_RDMA_READ,
		IB_WR_ATOMIC_FETCH_AND_ADD,
	};
	u32 i;

	KV_OK(kv_mr(p, KV_ALL));
	for (i = 0; i < KV_DEPTH / 4; i++)
		KV_OK(kv_post_recv(&p->b, wc++, &p->dst));
	for (i = 0; i < KV_DEPTH; i++) {
		enum ib_wr_opcode op = ops[i % ARRAY_SIZE(ops)];

		KV_OK(kv_post(&p->a, op, wc++, &p->src,
			      op == IB_WR_ATOMIC_FETCH_AND_ADD ? 8 :
								 KV_ALL_BYTES,
			      p->mr->iova, p->mr->rkey));
	}
	return kv_post_inv(&p->b, wc, p->mr->rkey);
}

/*
 * Queue pairs end in the middle of it, now the one first and now the other; the
 * memory that they used is freed at once.
 */
static int kv_destroyed(struct kv_pair *p)
{
	struct ib_device *a = p->a.dev, *b = p->b.dev;
	struct kv_wc *wc;
	int i, ret = 0;

	wc = kcalloc(2 * KV_DEPTH, sizeof(*wc), GFP_KERNEL);
	KV_TRUE(wc);
	for (i = 0; i < 40 && !ret; i++) {
		struct kv_end *first = i & 1 ? &p->a : &p->b;

		ret = kv_all_kinds(p, wc);
		/* After one more each time. */
		if (!ret)
			ret = kv_wait(&p->a, &wc[KV_DEPTH / 4 + i / 2]);
		ib_destroy_qp(first->qp);
		first->qp = NULL;
		kv_pair_close(p);
		ret = kv_pair_open(p, a, b) ?: ret;
	}
	kfree(wc);
	KV_OK(ret);
	return 0;
}

/* A message has arrived at @b, whose completion nobody has polled. */
static int kv_unpolled(struct kv_pair *p, struct kv_wc *rx)
{
	KV_OK(kv_post_recv(&p->b, rx, &p->dst));
	return kv_do(&p->a, IB_WR_SEND, &p->src, 100, 0, 0);
}

/* What its completions name may be freed as soon as a queue pair is gone. */
static int kv_gone(struct kv_pair *p)
{
	struct kv_wc rx;

	KV_OK(kv_unpolled(p, &rx));
	KV_OK(ib_destroy_qp(p->b.qp));
	p->b.qp = NULL;
	KV_OK(ib_process_cq_direct(p->b.cq, -1));
	KV_TRUE(!rx.done);
	return 0;
}

static int kv_reset(struct kv_pair *p)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct kv_wc rx;

	KV_OK(kv_unpolled(p, &rx));
	KV_OK(ib_modify_qp(p->b.qp, &attr, IB_QP_STATE));
	KV_OK(ib_process_cq_direct(p->b.cq, -1));
	KV_TRUE(!rx.done);
	return 0;
}

/* Completions of others stay. */
static int kv_other_gone(struct kv_pair *p)
{
	struct ib_qp_init_attr init = {
		.send_cq = p->b.cq,
		.recv_cq = p->b.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct kv_wc rx;
	struct ib_qp *qp;

	KV_OK(kv_unpolled(p, &rx));
	qp = ib_create_qp(p->b.pd, &init);
	KV_OK(PTR_ERR_OR_ZERO(qp));
	KV_OK(ib_destroy_qp(qp));
	KV_TRUE(ib_process_cq_direct(p->b.cq, -1) == 1);
	KV_TRUE(rx.done && !rx.wc.status);
	return 0;
}

const struct kv_test kv_memory_tests[] = {
	{ "SEND from and into memory by the local DMA key", kv_send },
	{ "WRITE to a fast registration of scattered pages", kv_write },
	{ "READ from a fast registration", kv_read },
	{ "FETCH_ADD in a fast registration", kv_atomic },
	{ "a registration that begins and ends within pages", kv_middle },
	{ "a registration of large pages", kv_large_pages },
	{ "300 times: invalidate, register, write", kv_chain },
	{ "SEND_WITH_INV ends a registration", kv_send_inv },
	{ "invalidation of what is invalid", kv_inv_twice },
	{ "limits of lists of pages", kv_limits },
	{ "draining flushes receives", kv_drain },
	{ "40 times: destroyed with work of all kinds posted", kv_destroyed },
	{ "completions of a queue pair that is gone", kv_gone },
	{ "completions of a queue pair that is reset", kv_reset },
	{ "completions beside a queue pair that is gone", kv_other_gone },
	{ }
};
