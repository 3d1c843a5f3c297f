// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings shared with user space: memory, mapping, and the validation of counters that
 * programs write (only here). Consumers in the kernel use the same rings without a
 * mapping, so that there is one data path.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mrc_queue.h"

/**
 * struct mrc_user_mmap - mmap entry and memory of a ring
 * @rdma: ib_core's part; the last reference to it frees this struct
 * @mem: memory of the ring; pages that are mapped stay until they are unmapped
 */
struct mrc_user_mmap {
	struct rdma_user_mmap_entry rdma;
	void *mem;
};

static void mrc_ring_setup(struct mrc_ring *ring, void *mem, u32 size,
			   u32 depth, u32 stride)
{
	ring->hdr = mem;
	ring->size = size;
	ring->depth = depth;
	ring->stride = stride;
	ring->idx = 0;
	ring->hdr->depth = depth;
	ring->hdr->stride = stride;
}

/* Unlike vmalloc_user(), charges the memory cgroup of the program. */
static void *mrc_ring_memory(u64 size)
{
	return __vmalloc(size, MRC_GFP_SIZED | __GFP_ZERO);
}

/*
 * Allocate a ring that is not mapped. For consumers in the kernel, and for the entries
 * that the QP of a program takes from an SRQ.
 */
static int mrc_ring_alloc_kernel(struct mrc_ring *ring, u32 size, u32 depth,
				 u32 stride)
{
	void *mem = mrc_ring_memory(size);

	if (!mem)
		return -ENOMEM;
	ring->entry = NULL;
	mrc_ring_setup(ring, mem, size, depth, stride);
	return 0;
}

int mrc_ring_alloc(struct mrc_ring *ring, struct ib_ucontext *uctx, u32 depth,
		   u32 stride, struct mrc_mmap_info *info)
{
	struct mrc_user_mmap *entry;
	u64 size;
	int ret;

	if (!depth || depth > MRC_MAX_CQE || !stride)
		return -EINVAL;
	depth = roundup_pow_of_two(depth);
	size = PAGE_ALIGN(MRC_RING_HDR_SIZE + (u64)depth * stride);
	if (size > INT_MAX)
		return -EINVAL;
	if (!uctx)
		return mrc_ring_alloc_kernel(ring, size, depth, stride);

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	entry->mem = mrc_ring_memory(size);
	if (!entry->mem) {
		ret = -ENOMEM;
		goto err_free;
	}
	ret = rdma_user_mmap_entry_insert(uctx, &entry->rdma, size);
	if (ret)
		goto err_mem;

	ring->entry = entry;
	mrc_ring_setup(ring, entry->mem, size, depth, stride);

	info->offset = rdma_user_mmap_get_offset(&entry->rdma);
	info->size = size;
	info->depth = depth;
	info->stride = stride;
	info->reserved = 0;
	return 0;

err_mem:
	vfree(entry->mem);
err_free:
	kfree(entry);
	return ret;
}

void mrc_ring_free(struct mrc_ring *ring)
{
	struct mrc_user_mmap *entry = ring->entry;
	void *mem = ring->hdr;

	memset(ring, 0, sizeof(*ring));
	if (entry)
		rdma_user_mmap_entry_remove(&entry->rdma);
	else
		vfree(mem);
}

void mrc_ring_copy(struct mrc_ring *to, u32 at, const struct mrc_ring *from,
		   u32 first, u32 n)
{
	while (n--)
		memcpy(mrc_ring_entry(to, at++), mrc_ring_entry(from, first++),
		       to->stride);
}

void mrc_ring_rewind(struct mrc_ring *ring)
{
	ring->idx = 0;
	if (!ring->hdr)
		return;
	WRITE_ONCE(ring->hdr->cons, 0);
	WRITE_ONCE(ring->hdr->flags, 0);
	/* Programs reset prod of their rings themselves. */
	if (!ring->entry)
		WRITE_ONCE(ring->hdr->prod, 0);
}

void mrc_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct mrc_user_mmap *entry = container_of(rdma, struct mrc_user_mmap,
						   rdma);

	/* Mappings hold references on the pages. */
	vfree(entry->mem);
	kfree(entry);
}

int mrc_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma;
	unsigned long off;
	int ret = 0;
	void *mem;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	/* Also checks that the mapping covers exactly the ring. */
	rdma = rdma_user_mmap_entry_get(uctx, vma);
	if (!rdma)
		return -EINVAL;
	mem = container_of(rdma, struct mrc_user_mmap, rdma)->mem;
	for (off = 0; !ret && off < vma->vm_end - vma->vm_start;
	     off += PAGE_SIZE)
		ret = vm_insert_page(vma, vma->vm_start + off,
				     vmalloc_to_page(mem + off));
	rdma_user_mmap_entry_put(rdma);
	return ret;
}

int mrc_ring_pending(const struct mrc_ring *ring)
{
	u32 n;

	/* Read the counter before the entries. Pairs with the release of the producer. */
	n = smp_load_acquire(&ring->hdr->prod) - ring->idx;
	return n <= ring->depth ? n : -EINVAL;
}
