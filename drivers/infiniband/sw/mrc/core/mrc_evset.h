/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The EVs of a profile as QPs use them: immutable once built, shared by all QPs
 * of the profile. When a controller changes the profile, a new version is built, and
 * mrc_paths_update() moves each QP to the new version.
 *
 * Data per QP (states, probes) is in struct mrc_paths under the same index.
 */
#ifndef MRC_EVSET_H
#define MRC_EVSET_H

#include "mrc_base.h"
#include "mrc_evfmt.h"

MRC_C_BEGIN

/**
 * struct mrc_evset_ev - one EV
 * @entropy: entropy on the wire, §11.2. UDP: the value (16 bits), flow label 0. STEV:
 *	the value, upper half in the flow label. SRv6: made from the index alone, so
 *	that copies have different entropies; the UDP source port is unique within the
 *	set and in 0xC000..0xFFFF, the flow label is not 0
 * @port: 1-based local port
 * @denied: by the controller, §11.6
 * @next: index of the next entry with the same value and port, circular; its own index
 *	if there is none. A controller lists an EV several times to give it more
 *	weight; such copies change state together
 */
struct mrc_evset_ev {
	u32 entropy;
	u8 port;
	bool denied;
	u16 next;
};

/**
 * struct mrc_evset - all EVs of a profile
 * @n: entries, 1..MRC_EV_MAX
 * @mode: enum mrc_ev_fmt_mode
 * @srh: the outer header has an SRH with one segment (SRv6)
 * @min_active: ev_min_active, 0 = no bound (§11.6)
 * @hash_mask: see @hash
 * @ev: array of @n
 * @hash: open-addressed, entropy -> index (the lowest of several copies),
 *	0xFFFF = empty
 * @addr: SRv6: expanded values, address and segment; else NULL
 */
struct mrc_evset {
	u16 n;
	u8 mode;
	bool srh;
	u16 min_active;
	u16 hash_mask;
	struct mrc_evset_ev *ev;
	u16 *hash;
	u8 (*addr)[MRC_EV_BYTES];
};

/* An entry as mrc_evset_init() takes it. */
struct mrc_evset_src {
	u8 val[MRC_EV_BYTES];	/* expanded */
	u8 port;
	bool denied;
};

/* Bytes for a set of @n EVs of @mode; 0 if @mode is unknown or @n not 1..MRC_EV_MAX. */
size_t mrc_evset_mem(u32 n, u8 mode);

/**
 * mrc_evset_init - build a set
 * @set: result
 * @n: entries
 * @mode: enum mrc_ev_fmt_mode
 * @srh: see struct mrc_evset
 * @min_active: see struct mrc_evset
 * @src: the entries
 * @seed: unpredictable; the same for all versions of one profile, so that the
 *	entropy of an unchanged entry stays the same
 * @mem: mrc_evset_mem() bytes, 8-aligned, owned by the caller
 *
 * An EV is a value and a port. With UDP and STEV, feedback names only the value, so each
 * value may be used on one port only. With SRv6 the same value may be used on several
 * ports.
 *
 * Return: 0 or -EINVAL: @n, @mode or @min_active out of range, a port out of range (0 is
 * an unpopulated entry), or two different EVs that look the same on the wire.
 */
int mrc_evset_init(struct mrc_evset *set, u32 n, u8 mode, bool srh,
		   u16 min_active, const struct mrc_evset_src *src, u64 seed,
		   void *mem);

/*
 * Lowest index of @entropy or -1. Without @ipv6 only the source port is on the
 * wire and is compared.
 */
int mrc_evset_find(const struct mrc_evset *set, u32 entropy, bool ipv6);

/*
 * Can a QP of this address family use the set? STEV needs IPv6. SRv6 carries both
 * families, because its outer header has an address family of its own.
 */
bool mrc_evset_fits(const struct mrc_evset *set, bool ipv6);

MRC_C_END

#endif /* MRC_EVSET_H */
