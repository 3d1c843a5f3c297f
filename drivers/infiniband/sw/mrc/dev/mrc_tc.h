/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Traffic classes: DSCP codepoints of a device, MRC 1.0 §15. The values depend on the
 * deployment and must be the same on all its hosts.
 */
#ifndef MRC_TC_H
#define MRC_TC_H

#include <linux/compiler.h>
#include <linux/types.h>

struct mrc_dev;

enum mrc_dscp_name {
	MRC_DSCP_NO_TRIM,
	MRC_DSCP_TRIMMABLE,
	MRC_DSCP_TRIMMABLE_RETX,
	MRC_DSCP_TRIMMED,
	MRC_DSCP_TRIMMED_LASTHOP,
	MRC_DSCP_CONTROL,
	MRC_DSCP_NAMES
};

/**
 * struct mrc_dscp_map - codepoints of a device
 * @dscp: 0..63, indexed by enum mrc_dscp_name, all different
 * @trimming: the fabric trims: data is sent TRIMMABLE if the peer answers trimmed
 *	packets, else NO_TRIM
 *
 * The packet path reads each field of a device's map without a lock. While a controller
 * changes the map, a packet may be sent or classified by the old or the new version.
 */
struct mrc_dscp_map {
	u8 dscp[MRC_DSCP_NAMES];
	bool trimming;
};

void mrc_tc_init(struct mrc_dev *dev);		/* OP-33, trimming off */
/* 0 or -EINVAL: out of range or not distinct. May sleep. */
int mrc_tc_set(struct mrc_dev *dev, const struct mrc_dscp_map *map);
void mrc_tc_get(struct mrc_dev *dev, struct mrc_dscp_map *map);

static inline u8 mrc_tc_dscp(const struct mrc_dscp_map *map,
			     enum mrc_dscp_name name)
{
	return READ_ONCE(map->dscp[name]);
}

/* Codepoint for a packet of class @tc, enum mrc_tc. */
u8 mrc_tc_tx(const struct mrc_dscp_map *map, u8 tc);

/* enum mrc_trim of a packet that arrived with @dscp, MRC 1.0 §8.5. */
u8 mrc_tc_trim(const struct mrc_dscp_map *map, u8 dscp);

#endif /* MRC_TC_H */
