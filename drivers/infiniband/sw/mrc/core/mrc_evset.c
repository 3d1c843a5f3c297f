// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The EVs of a profile as its QPs use them.
 */
#include "mrc_evset.h"
#include "mrc_ev.h"

#define SPORT_FIRST	0xC000u
#define SPORTS		0x4000u
#define EMPTY		0xFFFFu

/* At most half full. */
static u32 hash_size(u32 n)
{
	u32 size = 2;

	while (size < 2 * n)
		size *= 2;
	return size;
}

size_t mrc_evset_mem(u32 n, u8 mode)
{
	size_t size;

	if (!n || n > MRC_EV_MAX || !mrc_ev_fmt_limit(mode))
		return 0;
	size = n * sizeof(struct mrc_evset_ev) + hash_size(n) * sizeof(u16);
	if (mode == MRC_EV_FMT_SRV6)
		size += (size_t)n * MRC_EV_BYTES;
	return size;
}

static u32 slot_of(const struct mrc_evset *set, u32 key)
{
	return key * 0x9E3779B1u >> 16 & set->hash_mask;
}

/*
 * In UDP and SRv6 sets the UDP source port alone is unique, and an IPv4 packet carries
 * nothing else. In STEV sets it is not unique, so the key is the whole entropy.
 */
static u32 entropy_slot(const struct mrc_evset *set, u32 entropy)
{
	return slot_of(set, set->mode == MRC_EV_FMT_STEV ? entropy :
							   entropy & 0xFFFF);
}

int mrc_evset_find(const struct mrc_evset *set, u32 entropy, bool ipv6)
{
	u32 slot = entropy_slot(set, entropy);
	u32 other;

	if (!mrc_evset_fits(set, ipv6))
		return -1;
	for (; set->hash[slot] != EMPTY; slot = (slot + 1) & set->hash_mask) {
		other = set->ev[set->hash[slot]].entropy;
		if (other == entropy || (!ipv6 && (u16)other == (u16)entropy))
			return set->hash[slot];
	}
	return -1;
}

bool mrc_evset_fits(const struct mrc_evset *set, bool ipv6)
{
	return ipv6 || set->mode != MRC_EV_FMT_STEV;
}

/* Insert @i after @head into the ring of copies. */
static void link_copy(struct mrc_evset *set, u32 head, u32 i)
{
	set->ev[i].next = set->ev[head].next;
	set->ev[head].next = (u16)i;
}

/* UDP and STEV: the value is the entropy. */
static int init_plain(struct mrc_evset *set, const struct mrc_evset_src *src)
{
	struct mrc_evset_ev *ev;
	u32 i, shift = set->mode == MRC_EV_FMT_UDP ? 16 : 0;
	int first;

	for (i = 0; i < set->n; i++) {
		u32 slot;

		ev = &set->ev[i];
		ev->entropy = get_unaligned_be32(src[i].val) >> shift;
		/* true compares the whole entropy; in UDP sets the flow label is 0. */
		first = mrc_evset_find(set, ev->entropy, true);
		if (first >= 0) {
			if (set->ev[first].port != ev->port)
				return -EINVAL;
			link_copy(set, (u32)first, i);
			continue;
		}
		slot = entropy_slot(set, ev->entropy);
		while (set->hash[slot] != EMPTY)
			slot = (slot + 1) & set->hash_mask;
		set->hash[slot] = (u16)i;
	}
	return 0;
}

static u32 addr_key(const struct mrc_evset_src *src)
{
	u64 h = src->port;
	u32 i;

	for (i = 0; i < MRC_EV_BYTES; i += 8)
		h = mrc_ev_mix(h ^ get_unaligned_be64(src->val + i));
	return (u32)h;
}

/* Find copies. The hash table serves as scratch memory for this. */
static void link_addrs(struct mrc_evset *set, const struct mrc_evset_src *src)
{
	u32 i, slot, head;

	for (i = 0; i < set->n; i++) {
		slot = slot_of(set, addr_key(&src[i]));
		for (; set->hash[slot] != EMPTY;
		     slot = (slot + 1) & set->hash_mask) {
			head = set->hash[slot];
			if (src[head].port == src[i].port &&
			    !memcmp(src[head].val, src[i].val, MRC_EV_BYTES))
				break;
		}
		if (set->hash[slot] != EMPTY)
			link_copy(set, set->hash[slot], i);
		else
			set->hash[slot] = (u16)i;
	}
}

/*
 * SRv6: the entropy is an id of the index. It depends on nothing else but the seed, so
 * it does not change when other entries change.
 */
static void init_srv6(struct mrc_evset *set, const struct mrc_evset_src *src,
		      u64 seed)
{
	size_t hash_bytes = hash_size(set->n) * sizeof(*set->hash);
	u32 i, slot, label;

	link_addrs(set, src);
	memset(set->hash, 0xFF, hash_bytes);
	for (i = 0; i < set->n; i++) {
		memcpy(set->addr[i], src[i].val, MRC_EV_BYTES);
		/* A flow label of 0 would mean "not labelled" to switches. */
		label = (u32)mrc_ev_mix(seed ^ (u64)i << 32) & 0xFFFF;
		label = label ? label : 1;
		set->ev[i].entropy = label << 16 | SPORT_FIRST |
				     mrc_ev_permute(i, SPORTS, seed);
		slot = entropy_slot(set, set->ev[i].entropy);
		while (set->hash[slot] != EMPTY)
			slot = (slot + 1) & set->hash_mask;
		set->hash[slot] = (u16)i;
	}
}

int mrc_evset_init(struct mrc_evset *set, u32 n, u8 mode, bool srh,
		   u16 min_active, const struct mrc_evset_src *src, u64 seed,
		   void *mem)
{
	u32 i;

	if (!mrc_evset_mem(n, mode) || min_active > n ||
	    (srh && mode != MRC_EV_FMT_SRV6))
		return -EINVAL;
	memset(set, 0, sizeof(*set));
	set->n = (u16)n;
	set->mode = mode;
	set->srh = srh;
	set->min_active = min_active;
	set->hash_mask = (u16)(hash_size(n) - 1);
	set->ev = mem;
	set->hash = (u16 *)(set->ev + n);
	memset(set->hash, 0xFF, hash_size(n) * sizeof(*set->hash));
	if (mode == MRC_EV_FMT_SRV6)
		set->addr = (u8 (*)[MRC_EV_BYTES])(set->hash + hash_size(n));

	for (i = 0; i < n; i++) {
		if (!src[i].port || src[i].port > MRC_MAX_PORTS)
			return -EINVAL;
		set->ev[i].port = src[i].port;
		set->ev[i].denied = src[i].denied;
		set->ev[i].next = (u16)i;
	}
	if (mode != MRC_EV_FMT_SRV6)
		return init_plain(set, src);
	init_srv6(set, src, seed);
	return 0;
}
