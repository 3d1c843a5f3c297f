/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program as a user of libmrc-dev writes it: both headers, the library, and libibverbs.
 * Needs no device. Prints the number of devices and the versions of both parts of the API.
 */
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>
#include <mrc.h>
#include <mrc_ctl.h>

int main(void)
{
	uint32_t app = 0, ctl = 0, since, vendor, vendor_since;
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	if (list)
		ibv_free_device_list(list);
	mrc_query_version(&app, &since, &vendor, &vendor_since);
	mrc_ctl_query_version(&ctl, &since, &vendor, &vendor_since);
	printf("%d devices, mrc %x, mrc_ctl %x\n", n, app, ctl);
	return app == 0 || ctl == 0;
}
