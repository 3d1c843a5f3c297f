/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * User/kernel ABI of the MRC soft RDMA device.
 *
 * Rules: every struct is padded to 8 bytes with named reserved fields, which must be
 * zero on input. New fields are appended and announced in comp_mask. Each side accepts
 * shorter and longer structs of the other.
 */
#ifndef MRC_ABI_USER_H
#define MRC_ABI_USER_H

#include <linux/types.h>

/*
 * Greater than INT_MAX on purpose. A libibverbs that knows no provider for the driver
 * ID looks at the PCI ID of the device's parent, which is a NIC. It would use the NIC's
 * provider if that supports this ABI version, and some support all versions up to
 * INT_MAX.
 *
 * A library with another version is refused when it opens the device. The first version
 * passed arrays of the control interface by pointers in its structs.
 */
#define MRC_UVERBS_ABI_VERSION	0x80000002U

/* Private driver ID ("MRC"), far from the IDs in the kernel's enum rdma_driver_id. */
#define MRC_RDMA_DRIVER_ID	0x4d5243

enum {
	MRC_MAX_SGE		= 32,
	MRC_MAX_INLINE		= 1024,
	MRC_MAX_QP_WR		= 16384,
	MRC_MAX_CQE		= 1 << 16,
	MRC_MAX_SRQ_WR		= 16384,
};

/*
 * Rings shared by mmap: a header of MRC_RING_HDR_SIZE bytes, then depth (a
 * power of two) entries of a fixed stride given in the create response.
 * prod and cons are free-running 32-bit counters; entry = counter & (depth-1);
 * prod - cons <= depth. The producer writes the entry, then stores prod with
 * release order; the consumer loads prod with acquire order.
 *
 * Send queue: the program produces. The kernel copies entries at the doorbell (an empty
 * ibv post_send command) and advances cons when the work request has completed. Receive
 * queue: the program produces, the kernel consumes. The doorbell is an empty post_recv
 * command, needed only while MRC_RING_F_KICK is set in flags. Shared receive queue:
 * like a receive queue, without a doorbell. Completion queue: the kernel produces, the
 * program consumes.
 *
 * The kernel trusts no value in a ring: it keeps its own copy of the counter that it
 * owns, and checks everything that it reads.
 */
struct mrc_ring_hdr {
	__u32 depth;		/* informative, written once by the kernel */
	__u32 stride;
	__u32 flags;		/* MRC_RING_F_*, written by the kernel */
	__u32 reserved0[13];
	__u32 prod;
	__u32 reserved1[15];
	__u32 cons;
	__u32 reserved2[31];
};

#define MRC_RING_HDR_SIZE	256

enum mrc_ring_flags {
	/*
	 * The kernel wants a doorbell after each post (the QP is in ERROR and is being
	 * flushed). The program checks this flag after it has stored prod and executed
	 * a full barrier.
	 */
	MRC_RING_F_KICK		= 1 << 0,
};

struct mrc_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/*
 * Send work queue entry: this header, then num_sge struct mrc_sge or, with
 * IBV_SEND_INLINE, inline_len bytes. The stride is fixed per QP.
 *
 * Fields that an operation uses; unused fields must be zero:
 *
 * WRITE, WRITE_WITH_IMM: rkey, remote_addr; imm_data
 * SEND, SEND_WITH_IMM, SEND_WITH_INV: imm_data
 * READ: rkey, remote_addr; the SGEs are the destination of the data
 * CMP_AND_SWP: rkey, remote_addr, compare_add, swap; one SGE of 8 bytes for
 *	the old value
 * FETCH_AND_ADD: the same without swap; compare_add is added
 * ATOMIC_WRITE: rkey, remote_addr; one SGE of 8 bytes. With IBV_SEND_INLINE
 *	instead the 8 bytes in swap, in memory order; this does not need
 *	inline data of the QP, and inline_len is 0
 * FLUSH: rkey, remote_addr, compare_add = length, swap = MRC_FLUSH_*; no SGE
 * LOCAL_INV: imm_data = key; no SGE
 * BIND_MW: imm_data = any present or past key of the window (the upper 24 bits
 *	identify the window), rkey = the new key,
 *	remote_addr = address, compare_add = length (0: the window becomes
 *	invalid), swap = lkey of the region | (u64)access << 32, enum
 *	ibv_access_flags; no SGE
 *
 * Unreliable connections have WRITE, WRITE_WITH_IMM, SEND and SEND_WITH_IMM.
 * Datagram QPs have SEND and SEND_WITH_IMM: remote_addr = number of the AH
 * (mrc_create_ah_resp) | (u64)remote QPN << 32, rkey = Q_Key.
 */
struct mrc_send_wqe {
	__aligned_u64 wr_id;
	__u32 opcode;		/* enum ibv_wr_opcode */
	__u32 send_flags;	/* enum ibv_send_flags */
	__u32 num_sge;
	__u32 inline_len;
	__u32 imm_data;		/* network order, or key to invalidate */
	__u32 rkey;
	__aligned_u64 remote_addr;
	__aligned_u64 compare_add;
	__aligned_u64 swap;
	__aligned_u64 reserved;
};

/* struct mrc_send_wqe.swap of IBV_WR_FLUSH */
enum mrc_flush {
	MRC_FLUSH_GLOBAL	= 1 << 0,	/* IBV_FLUSH_GLOBAL */
	MRC_FLUSH_PERSISTENT	= 1 << 1,	/* IBV_FLUSH_PERSISTENT */
	MRC_FLUSH_MR		= 1 << 4,	/* the whole region, any range */
};

struct mrc_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	/* num_sge struct mrc_sge follow */
};

/* struct mrc_cqe.vendor_err */
enum mrc_vendor_err {
	/*
	 * With REM_INV_REQ_ERR: the peer refused an immediate. It had no receive, or as
	 * many immediates outstanding as it accepts.
	 */
	MRC_VENDOR_ERR_IMM	= 1,
};

/*
 * Datagrams: the first MRC_GRH_BYTES of a receive's memory are reserved for the GRH, or
 * for the IPv4 header in the last 20 of these bytes. They count in byte_len.
 */
#define MRC_GRH_BYTES	40

/*
 * struct mrc_cqe.sl of a received datagram: the IP version of its header. Ethernet has
 * no service level, and several other RoCE devices report the version here. Programs
 * use it to find the addresses in the GRH.
 */
enum mrc_cqe_sl {
	MRC_CQE_SL_IPV6		= 1,
	MRC_CQE_SL_IPV4		= 2,
};

struct mrc_cqe {
	__aligned_u64 wr_id;
	__u32 status;		/* enum ibv_wc_status */
	__u32 opcode;		/* enum ibv_wc_opcode */
	__u32 vendor_err;	/* enum mrc_vendor_err, 0 = none */
	__u32 byte_len;
	__u32 imm_data;		/* network order, or key with IBV_WC_WITH_INV */
	__u32 qp_num;
	__u32 src_qp;
	__u32 wc_flags;		/* enum ibv_wc_flags */
	__aligned_u64 timestamp;	/* ns, ktime_get_raw_ns() */
	__u32 sl;		/* enum mrc_cqe_sl, else 0 */
	__u32 reserved;
	__aligned_u64 reserved2;
};

struct mrc_mmap_info {
	__aligned_u64 offset;	/* for mmap(2) on the context's fd */
	__u32 size;		/* bytes, a multiple of the page size */
	__u32 depth;		/* entries */
	__u32 stride;		/* bytes per entry */
	__u32 reserved;
};

struct mrc_alloc_ucontext_req {
	__u32 comp_mask;
	__u32 reserved;
};

struct mrc_alloc_ucontext_resp {
	__u32 comp_mask;
	__u32 max_inline;
	__u32 max_sge;
	__u32 max_qp_wr;
	__aligned_u64 features;	/* MRC_FEATURE_* */
};

/* struct mrc_alloc_ucontext_resp.features */
enum mrc_features {
	MRC_FEATURE_WRITE	= 1 << 0,	/* WRITE and WRITE_IMM */
	MRC_FEATURE_EXT		= 1 << 1,	/* SEND, READ, atomics ... */
	MRC_FEATURE_STRICT_QP	= 1 << 2,	/* MRC_QP_F_STRICT */
	MRC_FEATURE_UD		= 1 << 3,	/* datagram QPs, AH numbers */
	MRC_FEATURE_SRQ		= 1 << 4,	/* shared receive queues */
	MRC_FEATURE_MW		= 1 << 5,	/* memory windows */
	MRC_FEATURE_UC		= 1 << 6,	/* unreliable connections */
};

struct mrc_create_cq_req {
	__u32 comp_mask;
	__u32 reserved;
};

struct mrc_create_cq_resp {
	__u32 comp_mask;
	__u32 reserved;
	struct mrc_mmap_info cq;
};

/*
 * After a resize the unpolled entries are at the start of the new ring, oldest first,
 * with cons = 0.
 */
struct mrc_resize_cq_resp {
	__u32 comp_mask;
	__u32 reserved;
	struct mrc_mmap_info cq;
};

/* struct mrc_create_qp_req.flags; others must be 0 */
enum mrc_qp_flags {
	/*
	 * MRC 1.0 only: the QP posts and accepts only WRITE and WRITE_IMM. Needs
	 * MRC_FEATURE_STRICT_QP.
	 */
	MRC_QP_F_STRICT		= 1 << 0,
};

struct mrc_create_qp_req {
	__u32 comp_mask;
	__u32 flags;		/* MRC_QP_F_* */
};

struct mrc_create_qp_resp {
	__u32 comp_mask;
	__u32 max_inline;
	struct mrc_mmap_info sq;
	struct mrc_mmap_info rq;	/* size 0: no receive queue, or SRQ */
};

struct mrc_create_srq_req {
	__u32 comp_mask;
	__u32 reserved;
};

struct mrc_create_srq_resp {
	__u32 comp_mask;
	__u32 srq_num;
	struct mrc_mmap_info srq;
};

/*
 * The command that modifies an SRQ has no response. With IBV_SRQ_MAX_WR the kernel
 * writes a struct mrc_modify_srq_resp to resp_addr. The unconsumed entries are in the
 * new ring, oldest first, from cons to prod. The program must not post entries
 * meanwhile.
 */
struct mrc_modify_srq_req {
	__u32 comp_mask;
	__u32 resp_size;	/* bytes at resp_addr, at least the size of the struct */
	__aligned_u64 resp_addr;
};

struct mrc_modify_srq_resp {
	__u32 comp_mask;
	__u32 reserved;
	struct mrc_mmap_info srq;
};

struct mrc_create_ah_resp {
	__u32 comp_mask;
	__u32 ah_num;		/* number in the device; 0: none, the kernel has no UD */
};

#endif /* MRC_ABI_USER_H */
