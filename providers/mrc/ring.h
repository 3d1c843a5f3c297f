/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with the kernel. rdma/mrc-abi.h defines their layout and memory order.
 */
#ifndef MRC_RING_H
#define MRC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/mrc-abi.h>

/**
 * struct mrc_ring - user side of a shared ring
 * @hdr: mapped header, followed by the entries; NULL: there is no ring
 * @size: bytes mapped
 * @depth: entries, a power of two
 * @stride: bytes per entry
 * @idx: private copy of the counter that this side advances (prod of a work queue, cons
 *	of a completion queue), so that a stray write to the mapping cannot confuse the
 *	provider
 */
struct mrc_ring {
	struct mrc_ring_hdr *hdr;
	size_t size;
	uint32_t depth;
	uint32_t stride;
	uint32_t idx;
};

/*
 * Map the ring that @info describes. @stride: minimum size of an entry, bytes. Returns
 * 0 or an errno; EPROTO if the kernel's response does not describe a valid ring, for
 * example because it was not filled in.
 */
int mrc_ring_map(struct mrc_ring *ring, int cmd_fd,
		 const struct mrc_mmap_info *info, size_t stride);
void mrc_ring_unmap(struct mrc_ring *ring);

static inline void *mrc_ring_entry(const struct mrc_ring *ring, uint32_t idx)
{
	return (char *)ring->hdr + MRC_RING_HDR_SIZE +
	       (size_t)(idx & (ring->depth - 1)) * ring->stride;
}

static inline uint32_t mrc_load_acquire(const uint32_t *p)
{
	return atomic_load_explicit((_Atomic(uint32_t) *)p,
				    memory_order_acquire);
}

static inline void mrc_store_release(uint32_t *p, uint32_t v)
{
	atomic_store_explicit((_Atomic(uint32_t) *)p, v, memory_order_release);
}

/*
 * Work queues: is there no room at @idx? The kernel's counter is read with acquire
 * order, so that an entry is written only after the kernel has finished reading it.
 */
static inline bool mrc_ring_full(const struct mrc_ring *ring, uint32_t idx)
{
	return idx - mrc_load_acquire(&ring->hdr->cons) >= ring->depth;
}

/* Completion queues: is there no entry at @idx? */
static inline bool mrc_ring_empty(const struct mrc_ring *ring, uint32_t idx)
{
	return idx == mrc_load_acquire(&ring->hdr->prod);
}

/* Work queues: hand everything before @idx to the kernel. */
static inline void mrc_ring_produce(struct mrc_ring *ring, uint32_t idx)
{
	ring->idx = idx;
	mrc_store_release(&ring->hdr->prod, idx);
}

/* Completion queues: return the entries before the ring's index to the kernel. */
static inline void mrc_ring_consume(struct mrc_ring *ring)
{
	mrc_store_release(&ring->hdr->cons, ring->idx);
}

#endif /* MRC_RING_H */
