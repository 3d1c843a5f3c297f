// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Copying between packets and memory that was found by key. */
#include <linux/highmem.h>
#include <linux/skbuff.h>

#include "mrc_mr.h"

/*
 * Programs that use MRC poll memory for small records. When one word has changed, they
 * assume that the words before it are new too. So up to MRC_ORDERED bytes are stored in
 * ascending order; of a longer copy, only the last MRC_ORDERED_END bytes.
 */
enum {
	MRC_ORDERED	= 512,
	MRC_ORDERED_END	= 64,
};

/* The order in which the stores of a copy become visible. */
enum mrc_copy {
	MRC_COPY_ANY,
	MRC_COPY_ASCENDING,
};

/* One store of @n bytes: a power of two up to 8, @to is aligned to it. */
static void mrc_store(void *to, const u8 *from, u32 n)
{
	/* Pairs with the read barriers or ordered loads of the program. */
	smp_wmb();
	switch (n) {
	case 1:
		WRITE_ONCE(*(u8 *)to, *from);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)to, get_unaligned((const u16 *)from));
		break;
	case 4:
		WRITE_ONCE(*(u32 *)to, get_unaligned((const u32 *)from));
		break;
	default:
		WRITE_ONCE(*(u64 *)to, get_unaligned((const u64 *)from));
		break;
	}
}

/* Stores of 8 bytes where the alignment permits, smaller ones at the ends. */
static void mrc_store_ascending(u8 *to, const u8 *from, u32 len)
{
	while (len) {
		u32 n = 8;

		while (n > len || !IS_ALIGNED((unsigned long)to, n))
			n /= 2;
		mrc_store(to, from, n);
		to += n;
		from += n;
		len -= n;
	}
}

static int mrc_copy_ascending(u8 *to, const struct sk_buff *skb, int off,
			      u32 len)
{
	u8 buf[MRC_ORDERED_END];

	while (len) {
		u32 n = min_t(u32, len, sizeof(buf));
		const u8 *from = skb_header_pointer(skb, off, n, buf);

		if (!from)
			return -EFAULT;
		mrc_store_ascending(to, from, n);
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int mrc_mr_copy_part(struct mrc_mr *mr, u64 va,
			    const struct sk_buff *skb, int off, u32 len,
			    enum mrc_copy how)
{
	int ret = 0;

	while (len && !ret) {
		u32 poff, room;
		struct page *page = mrc_mr_page(mr, va, &poff, &room);
		void *p = kmap_local_page(page);

		room = min(room, len);
		if (how == MRC_COPY_ASCENDING)
			ret = mrc_copy_ascending(p + poff, skb, off, room);
		else
			ret = skb_copy_bits(skb, off, p + poff, room);
		kunmap_local(p);
		va += room;
		off += room;
		len -= room;
	}
	return ret;
}

int mrc_mr_copy_from_skb(struct mrc_mr *mr, u64 va, const struct sk_buff *skb,
			 int off, u32 len)
{
	u32 bulk = len > MRC_ORDERED ? len - MRC_ORDERED_END : 0;
	int ret;

	ret = mrc_mr_open(mr, va, len, true, 0);
	if (ret)
		return ret;
	ret = mrc_mr_copy_part(mr, va, skb, off, bulk, MRC_COPY_ANY);
	if (!ret)
		ret = mrc_mr_copy_part(mr, va + bulk, skb, off + bulk,
				       len - bulk, MRC_COPY_ASCENDING);
	mrc_mr_close(mr, len);
	return ret;
}
