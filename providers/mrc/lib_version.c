// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: versions of the library. They need no device.
 */
#include <config.h>

#include "lib_mrc.h"

void mrc_query_version(uint32_t *current_version,
		       uint32_t *last_supported_version,
		       uint32_t *vendor_version,
		       uint32_t *last_supported_vendor_version)
{
	mrc_lib_tell(current_version, MRC_API_CURRENT_VERSION);
	mrc_lib_tell(last_supported_version, MRC_API_LAST_SUPPORTED_VERSION);
	mrc_lib_tell(vendor_version, MRC_VENDOR_API_CURRENT_VERSION);
	mrc_lib_tell(last_supported_vendor_version,
		     MRC_VENDOR_API_LAST_SUPPORTED_VERSION);
}
