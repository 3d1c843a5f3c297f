// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/device/faux.h>

struct faux_device *probe(const struct attribute_group **groups);
struct faux_device *probe(const struct attribute_group **groups)
{
	return faux_device_create_with_groups("probe", NULL, NULL, groups);
}
