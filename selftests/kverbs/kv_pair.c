// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections, buffers and work requests for the tests. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "kv.h"

/* The first address of port 1 that is good for RoCE v2 over IPv4. */
static int kv_find_gid(struct kv_end *end)
{
	int i;

	for (i = 0; i < 64; i++) {
		const struct ib_gid_attr *attr;
		bool ok;

		attr = rdma_get_gid_attr(end->dev, 1, i);
		if (IS_ERR(attr))
			continue;
		ok = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		     ipv6_addr_v4mapped((const struct in6_addr *)&attr->gid);
		if (ok) {
			end->gid = attr->gid;
			end->gid_index = i;
		}
		rdma_put_gid_attr(attr);
		if (ok)
			return 0;
	}
	return -EADDRNOTAVAIL;
}

static int kv_end_open(struct kv_end *end, struct ib_device *dev)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = KV_DEPTH,
			.max_recv_wr = KV_DEPTH,
			.max_send_sge = KV_PAGES,
			.max_recv_sge = KV_PAGES,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	end->dev = dev;
	KV_OK(kv_find_gid(end));
	end->pd = ib_alloc_pd(dev, 0);
	KV_OK(PTR_ERR_OR_ZERO(end->pd));
	end->cq = ib_alloc_cq(dev, NULL, 2 * KV_DEPTH + 2, 0, IB_POLL_DIRECT);
	KV_OK(PTR_ERR_OR_ZERO(end->cq));
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ib_create_qp(end->pd, &init);
	KV_OK(PTR_ERR_OR_ZERO(end->qp));
	return 0;
}

static void kv_end_close(struct kv_end *end)
{
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
}

int kv_connect(struct kv_end *end, const struct kv_end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = KV_ALL,
	};

	KV_OK(ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS));

	attr = (struct ib_qp_attr){
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 100,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE,
	};
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&peer->gid, 0,
			end->gid_index, 64, 0);
	KV_OK(ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER));

	attr = (struct ib_qp_attr){
		.qp_state = IB_QPS_RTS,
		.sq_psn = 100,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	KV_OK(ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN |
			   IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			   IB_QP_MAX_QP_RD_ATOMIC));
	return 0;
}

static int kv_buf_get(struct kv_buf *buf, struct kv_end *end)
{
	int i, at;

	memset(buf, 0, sizeof(*buf));
	buf->end = end;
	sg_init_table(buf->sg, KV_PAGES);
	for (i = 0; i < KV_PAGES; i++) {
		/* Neighbours that are not neighbours in memory. */
		at = (i * 3) % KV_PAGES;
		buf->page[at] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KV_TRUE(buf->page[at]);
	}
	for (i = 0; i < KV_PAGES; i++) {
		u64 dma = ib_dma_map_page(end->dev, buf->page[i], 0, PAGE_SIZE,
					  DMA_BIDIRECTIONAL);

		KV_OK(ib_dma_mapping_error(end->dev, dma));
		buf->dma[i] = dma;
		sg_set_page(&buf->sg[i], buf->page[i], PAGE_SIZE, 0);
		sg_dma_address(&buf->sg[i]) = buf->dma[i];
		sg_dma_len(&buf->sg[i]) = PAGE_SIZE;
	}
	return 0;
}

static void kv_buf_put(struct kv_buf *buf)
{
	int i;

	for (i = 0; buf->end && i < KV_PAGES; i++) {
		if (buf->dma[i])
			ib_dma_unmap_page(buf->end->dev, buf->dma[i], PAGE_SIZE,
					  DMA_BIDIRECTIONAL);
		if (buf->page[i])
			__free_page(buf->page[i]);
	}
}

int kv_pair_open(struct kv_pair *p, struct ib_device *a, struct ib_device *b)
{
	memset(p, 0, sizeof(*p));
	if (kv_end_open(&p->a, a) || kv_end_open(&p->b, b) ||
	    kv_buf_get(&p->src, &p->a) || kv_buf_get(&p->dst, &p->b) ||
	    kv_connect(&p->a, &p->b) || kv_connect(&p->b, &p->a))
		return -1;
	return 0;
}

void kv_pair_close(struct kv_pair *p)
{
	/* Queue pairs first: nobody uses the memory then. */
	if (!IS_ERR_OR_NULL(p->a.qp))
		ib_destroy_qp(p->a.qp);
	if (!IS_ERR_OR_NULL(p->b.qp))
		ib_destroy_qp(p->b.qp);
	if (!IS_ERR_OR_NULL(p->mr))
		ib_dereg_mr(p->mr);
	if (!IS_ERR_OR_NULL(p->foreign))
		ib_dereg_mr(p->foreign);
	if (!IS_ERR_OR_NULL(p->pd))
		ib_dealloc_pd(p->pd);
	kv_buf_put(&p->src);
	kv_buf_put(&p->dst);
	kv_end_close(&p->a);
	kv_end_close(&p->b);
}

u8 *kv_buf_at(const struct kv_buf *buf, u32 off)
{
	return page_address(buf->page[off >> PAGE_SHIFT]) + offset_in_page(off);
}

static u8 kv_pattern(u32 off, u8 seed)
{
	return (off * 7 + (off >> 8) + seed) | 1;
}

void kv_buf_fill(struct kv_buf *buf, u8 seed)
{
	u32 i;

	for (i = 0; i < KV_PAGES * PAGE_SIZE; i++)
		*kv_buf_at(buf, i) = kv_pattern(i, seed);
}

bool kv_buf_is(const struct kv_buf *buf, u32 off, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (*kv_buf_at(buf, off + i) != kv_pattern(i, seed))
			return false;
	return true;
}

bool kv_buf_zero(const struct kv_buf *buf)
{
	int i;

	for (i = 0; i < KV_PAGES; i++)
		if (memchr_inv(page_address(buf->page[i]), 0, PAGE_SIZE))
			return false;
	return true;
}

static void kv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_wc *w = container_of(wc->wr_cqe, struct kv_wc, cqe);

	w->wc = *wc;
	w->done = true;
}

struct ib_cqe *kv_cqe(struct kv_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->cqe.done = kv_done;
	return &wc->cqe;
}

int kv_wait(struct kv_end *end, struct kv_wc *wc)
{
	unsigned long limit = jiffies + msecs_to_jiffies(KV_WAIT_MS);

	for (;;) {
		ib_process_cq_direct(end->cq, -1);
		if (wc->done)
			return 0;
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		usleep_range(50, 200);
	}
}

/* One SGE per page. */
static int kv_sges(const struct kv_buf *buf, u32 len, struct ib_sge *sge)
{
	int n = 0;

	if (!buf)
		return 0;
	for (; len; n++) {
		sge[n].addr = buf->dma[n];
		sge[n].length = min_t(u32, len, PAGE_SIZE);
		sge[n].lkey = buf->end->pd->local_dma_lkey;
		len -= sge[n].length;
	}
	return n;
}

int kv_post(struct kv_end *end, enum ib_wr_opcode op, struct kv_wc *wc,
	    const struct kv_buf *buf, u32 len, u64 remote, u32 key)
{
	struct ib_sge sge[KV_PAGES];
	struct ib_atomic_wr atomic = { .remote_addr = remote, .rkey = key };
	struct ib_rdma_wr rdma = { .remote_addr = remote, .rkey = key };
	struct ib_send_wr *wr = &rdma.wr;

	if (op == IB_WR_ATOMIC_FETCH_AND_ADD) {
		atomic.compare_add = 1;
		wr = &atomic.wr;
	}
	wr->wr_cqe = kv_cqe(wc);
	wr->opcode = op;
	wr->sg_list = sge;
	wr->num_sge = kv_sges(buf, len, sge);
	if (op == IB_WR_SEND_WITH_INV)
		wr->ex.invalidate_rkey = key;
	return ib_post_send(end->qp, wr, NULL);
}

int kv_post_recv(struct kv_end *end, struct kv_wc *wc,
		 const struct kv_buf *buf)
{
	struct ib_sge sge[KV_PAGES];
	struct ib_recv_wr wr = {
		.wr_cqe = kv_cqe(wc),
		.sg_list = sge,
		.num_sge = kv_sges(buf, KV_PAGES * PAGE_SIZE, sge),
	};

	return ib_post_recv(end->qp, &wr, NULL);
}

int kv_post_reg(struct kv_end *end, struct kv_wc *wc, struct ib_mr *mr,
		u32 key, int access)
{
	struct ib_reg_wr wr = {
		.wr.wr_cqe = kv_cqe(wc),
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.key = key,
		.access = access,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

int kv_post_inv(struct kv_end *end, struct kv_wc *wc, u32 key)
{
	struct ib_send_wr wr = {
		.wr_cqe = kv_cqe(wc),
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = key,
	};

	return ib_post_send(end->qp, &wr, NULL);
}

int kv_do(struct kv_end *end, enum ib_wr_opcode op, const struct kv_buf *buf,
	  u32 len, u64 remote, u32 key)
{
	struct kv_wc wc;
	int ret;

	ret = kv_post(end, op, &wc, buf, len, remote, key);
	return ret ?: kv_wait(end, &wc) ?: wc.wc.status;
}

int kv_reg(struct kv_end *end, struct ib_mr *mr, u32 key, int access)
{
	struct kv_wc wc;
	int ret;

	ret = kv_post_reg(end, &wc, mr, key, access) ?: kv_wait(end, &wc);
	if (!ret && !wc.wc.status && wc.wc.opcode != IB_WC_REG_MR)
		return -EPROTO;
	return ret ?: wc.wc.status;
}

int kv_inv(struct kv_end *end, u32 key)
{
	struct kv_wc wc;
	int ret;

	ret = kv_post_inv(end, &wc, key) ?: kv_wait(end, &wc);
	if (!ret && !wc.wc.status && wc.wc.opcode != IB_WC_LOCAL_INV)
		return -EPROTO;
	return ret ?: wc.wc.status;
}

int kv_mr(struct kv_pair *p, int access)
{
	p->mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG, KV_PAGES);
	KV_OK(PTR_ERR_OR_ZERO(p->mr));
	KV_OK(ib_map_mr_sg(p->mr, p->dst.sg, KV_PAGES, NULL, PAGE_SIZE) -
	      KV_PAGES);
	if (access)
		KV_OK(kv_reg(&p->b, p->mr, p->mr->rkey, access));
	return 0;
}

int kv_foreign(struct kv_pair *p)
{
	p->pd = ib_alloc_pd(p->b.dev, 0);
	KV_OK(PTR_ERR_OR_ZERO(p->pd));
	p->foreign = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, KV_PAGES);
	KV_OK(PTR_ERR_OR_ZERO(p->foreign));
	KV_OK(ib_map_mr_sg(p->foreign, p->dst.sg, KV_PAGES, NULL, PAGE_SIZE) -
	      KV_PAGES);
	return 0;
}
