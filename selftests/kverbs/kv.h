/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A kernel consumer that tries out what consumers in the kernel use, and what
 * they must not get away with. Nothing in it knows which driver it runs on.
 */
#ifndef KV_H
#define KV_H

#undef pr_fmt
#define pr_fmt(fmt) "mrc_kverbs: " fmt

#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

enum {
	KV_DEPTH	= 64,	/* of queues */
	KV_PAGES	= 8,	/* of a buffer */
	KV_WAIT_MS	= 20000,
};

/* Every access that there is; REG_MR knows no others. */
#define KV_ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct kv_end - one end of a connection
 * @dev: device
 * @gid_index: of @gid, a RoCE v2 GID of port 1
 * @gid: address
 * @pd: protection domain
 * @cq: of both queues, polled by the test
 * @qp: queue pair
 */
struct kv_end {
	struct ib_device *dev;
	int gid_index;
	union ib_gid gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

/* What a work request completes. */
struct kv_wc {
	struct ib_cqe cqe;
	bool done;
	struct ib_wc wc;
};

/**
 * struct kv_buf - memory at one end
 * @end: whose
 * @page: KV_PAGES pages that lie in no order
 * @dma: address of each for work requests
 * @sg: list of all of them
 */
struct kv_buf {
	struct kv_end *end;
	struct page *page[KV_PAGES];
	u64 dma[KV_PAGES];
	struct scatterlist sg[KV_PAGES];
};

/**
 * struct kv_pair - two connected ends, for one test
 * @a: begins what the test does
 * @b: the other
 * @src: memory of @a
 * @dst: memory of @b
 * @mr: region of all of @dst, for tests that want one
 * @pd: another protection domain of @b, likewise
 * @foreign: a region there
 */
struct kv_pair {
	struct kv_end a;
	struct kv_end b;
	struct kv_buf src;
	struct kv_buf dst;
	struct ib_mr *mr;
	struct ib_pd *pd;
	struct ib_mr *foreign;
};

/* One test; 0, or -1 when it said what is wrong. */
struct kv_test {
	const char *name;
	int (*run)(struct kv_pair *p);
};

extern const struct kv_test kv_memory_tests[];	/* the last has no name */
extern const struct kv_test kv_srq_tests[];
extern const struct kv_test kv_cq_tests[];
extern const struct kv_test kv_misuse_tests[];

/* kv_main.c: what goes wrong, for the log and the result. Always -1. */
int kv_failed(const char *file, int line, const char *what, long long got);

/* The enclosing function fails unless @cond. */
#define KV_TRUE(cond) do {						\
	if (!(cond))							\
		return kv_failed(__FILE__, __LINE__, #cond, 0);		\
} while (0)

/* ... unless @expr is 0; otherwise its value is told. */
#define KV_OK(expr) do {						\
	long long _got = (expr);					\
	if (_got)							\
		return kv_failed(__FILE__, __LINE__, #expr, _got);	\
} while (0)

/* kv_pair.c ----------------------------------------------------------------*/

/* Both ends with everything, in RTS; close: also of one that is half open. */
int kv_pair_open(struct kv_pair *p, struct ib_device *a, struct ib_device *b);
void kv_pair_close(struct kv_pair *p);

/* From RESET to RTS. */
int kv_connect(struct kv_end *end, const struct kv_end *peer);

/* Fill a buffer with what @seed says; compare @len bytes at @off with that. */
void kv_buf_fill(struct kv_buf *buf, u8 seed);
bool kv_buf_is(const struct kv_buf *buf, u32 off, u32 len, u8 seed);
bool kv_buf_zero(const struct kv_buf *buf);

/* The byte at @off, and the 8 bytes. */
u8 *kv_buf_at(const struct kv_buf *buf, u32 off);

/* For a work request that @wc is to say the end of. */
struct ib_cqe *kv_cqe(struct kv_wc *wc);

/* Wait for the completion of what is posted with @wc. 0 or -ETIMEDOUT. */
int kv_wait(struct kv_end *end, struct kv_wc *wc);

/*
 * Post at one end: a list of one SGE per page of @buf (NULL: nothing), up to
 * @len bytes from its start. 0 or -errno.
 */
int kv_post(struct kv_end *end, enum ib_wr_opcode op, struct kv_wc *wc,
	    const struct kv_buf *buf, u32 len, u64 remote, u32 key);
int kv_post_recv(struct kv_end *end, struct kv_wc *wc,
		 const struct kv_buf *buf);
int kv_post_reg(struct kv_end *end, struct kv_wc *wc, struct ib_mr *mr,
		u32 key, int access);
int kv_post_inv(struct kv_end *end, struct kv_wc *wc, u32 key);

/* Post and wait; the status of the completion, or -errno. */
int kv_do(struct kv_end *end, enum ib_wr_opcode op, const struct kv_buf *buf,
	  u32 len, u64 remote, u32 key);
int kv_reg(struct kv_end *end, struct ib_mr *mr, u32 key, int access);
int kv_inv(struct kv_end *end, u32 key);

/*
 * Make p->mr: mapped, and registered with @access unless that is 0; p->pd and
 * p->foreign. 0 or -1.
 */
int kv_mr(struct kv_pair *p, int access);
int kv_foreign(struct kv_pair *p);

#endif /* KV_H */
