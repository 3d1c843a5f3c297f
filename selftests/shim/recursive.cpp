// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC as it would be if it made completion queues with the function of
 * libibverbs: under a verbs shim that is the shim's, and calls here again. With
 * this in the place of the library the shim must report it.
 */
#include <cerrno>

#include <mrc.h>

/* The real one, of the library that this is linked with, needs no context. */
static ibv_context *used;

extern "C" int mrc_query_device(ibv_context *context, mrc_device_attr *attr,
				int *supported)
{
	used = context;
	return mrc_query_device_ex(context, nullptr, attr, supported);
}

extern "C" mrc_cq *mrc_create_cq(mrc_context *, int cqe, void *cq_context,
				 mrc_comp_channel *, int comp_vector)
{
	ibv_cq *cq = ibv_create_cq(used, cqe, cq_context, nullptr, comp_vector);

	if (cq) {
		ibv_destroy_cq(cq);
		errno = EOPNOTSUPP;
	}
	return nullptr;
}
