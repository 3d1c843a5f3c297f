/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Controller functions of libMRC: what their files share. They translate
 * between the structs of mrc_ctl.h and those of the kernel's control interface;
 * states, rules and permissions are the kernel's business, so that controllers
 * with and without this library see the same.
 */
#ifndef LIB_CTL_H
#define LIB_CTL_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/mrc-ctl-abi.h>

#include "lib_mrc.h"
#include "mrc_ctl.h"

/**
 * struct lib_ctl_array - an array of a call
 * @attr: enum mrc_abi_attrs
 * @in: what the kernel takes, or NULL
 * @out: what it fills, where @in is NULL
 * @size: bytes, at most UINT16_MAX; the call goes without it if 0
 */
struct lib_ctl_array {
	uint16_t attr;
	const void *in;
	void *out;
	size_t size;
};

/* Elements of @size bytes that an array has at most. */
#define LIB_CTL_ARRAY_MAX(size)	(UINT16_MAX / (size))

/*
 * A method that takes a struct and gives it back, @io of @size bytes, with @n
 * arrays. Returns 0 or an errno value that controllers expect. The kernel fills @io
 * also where it fails with E2BIG or ETIMEDOUT.
 */
int lib_ctl_call(struct mrc_context *ctx, uint16_t object, uint16_t method,
		 void *io, size_t size, const struct lib_ctl_array *array,
		 unsigned int n);

/* Limits and capabilities of a device; 0 or an errno value. */
int lib_ctl_device(struct ibv_context *vctx, struct mrc_abi_device *dev);

/* What errno the kernel's @err is in libMRC. */
int lib_ctl_errno(int err);

/*
 * The name of an algorithm that the device has, in memory that stays; NULL for
 * "", which is no congestion control. Returns 0 or an errno value.
 */
int lib_ctl_algorithm(struct mrc_context *ctx, const char *name,
		      const char **algorithm);

/*
 * Is an array that a program passes one? @n: entries it says there are. The
 * kernel has no idea of negative numbers.
 */
static inline int lib_ctl_array_ok(const void *array, int n)
{
	return n >= 0 && (array || !n);
}

#endif /* LIB_CTL_H */
