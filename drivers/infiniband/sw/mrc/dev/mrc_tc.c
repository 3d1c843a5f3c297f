// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic classes, MRC 1.0 §15. */
#include "mrc_dev.h"

static const struct mrc_dscp_map mrc_tc_default = {	/* OP-33 */
	.dscp = {
		[MRC_DSCP_NO_TRIM] = 0,
		[MRC_DSCP_TRIMMABLE] = 4,
		[MRC_DSCP_TRIMMABLE_RETX] = 8,
		[MRC_DSCP_TRIMMED] = 12,
		[MRC_DSCP_TRIMMED_LASTHOP] = 16,
		[MRC_DSCP_CONTROL] = 46,
	},
};

/* Serializes writers of all maps, so that two of them cannot mix their values. */
static DEFINE_MUTEX(mrc_tc_mutex);

void mrc_tc_init(struct mrc_dev *dev)
{
	dev->tc = mrc_tc_default;
}

int mrc_tc_set(struct mrc_dev *dev, const struct mrc_dscp_map *map)
{
	unsigned int i;
	u64 seen = 0;

	for (i = 0; i < MRC_DSCP_NAMES; i++) {
		if (map->dscp[i] > 63 || seen & BIT_ULL(map->dscp[i]))
			return -EINVAL;
		seen |= BIT_ULL(map->dscp[i]);
	}
	mutex_lock(&mrc_tc_mutex);
	for (i = 0; i < MRC_DSCP_NAMES; i++)
		WRITE_ONCE(dev->tc.dscp[i], map->dscp[i]);
	WRITE_ONCE(dev->tc.trimming, map->trimming);
	mutex_unlock(&mrc_tc_mutex);
	return 0;
}

void mrc_tc_get(struct mrc_dev *dev, struct mrc_dscp_map *map)
{
	mutex_lock(&mrc_tc_mutex);
	*map = dev->tc;
	mutex_unlock(&mrc_tc_mutex);
}

u8 mrc_tc_tx(const struct mrc_dscp_map *map, u8 tc)
{
	enum mrc_dscp_name name = MRC_DSCP_NO_TRIM;

	switch (tc) {
	case MRC_TC_CONTROL:
		name = MRC_DSCP_CONTROL;
		break;
	case MRC_TC_TRIMMABLE:
		if (READ_ONCE(map->trimming))
			name = MRC_DSCP_TRIMMABLE;
		break;
	case MRC_TC_TRIMMABLE_RETX:
		if (READ_ONCE(map->trimming))
			name = MRC_DSCP_TRIMMABLE_RETX;
		break;
	}
	return mrc_tc_dscp(map, name);
}

u8 mrc_tc_trim(const struct mrc_dscp_map *map, u8 dscp)
{
	if (dscp == mrc_tc_dscp(map, MRC_DSCP_TRIMMED))
		return MRC_TRIM_TRIMMED;
	if (dscp == mrc_tc_dscp(map, MRC_DSCP_TRIMMED_LASTHOP))
		return MRC_TRIM_LASTHOP;
	return MRC_TRIM_NONE;
}
