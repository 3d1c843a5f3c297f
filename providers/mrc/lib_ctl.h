/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Controller functions of libMRC: shared declarations. The functions translate between
 * the structs of mrc_ctl.h and those of the kernel's control interface. The kernel
 * implements states, rules and permissions, so that controllers with and without this
 * library see the same behaviour.
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
 * @in: input for the kernel, or NULL
 * @out: output of the kernel, if @in is NULL
 * @size: bytes, at most UINT16_MAX; if 0 the array is left out of the call
 */
struct lib_ctl_array {
	uint16_t attr;
	const void *in;
	void *out;
	size_t size;
};

/* Maximum number of elements of @size bytes in an array. */
#define LIB_CTL_ARRAY_MAX(size)	(UINT16_MAX / (size))

/*
 * Call a method that takes a struct and returns it, @io of @size bytes, with @n arrays.
 * Returns 0 or an errno value of the controller API. The kernel fills @io also if it
 * fails with E2BIG or ETIMEDOUT.
 */
int lib_ctl_call(struct mrc_context *ctx, uint16_t object, uint16_t method,
		 void *io, size_t size, const struct lib_ctl_array *array,
		 unsigned int n);

/* Limits and capabilities of a device; 0 or an errno value. */
int lib_ctl_device(struct ibv_context *vctx, struct mrc_abi_device *dev);

/* Translate an errno value of the kernel to one of the controller API. */
int lib_ctl_errno(int err);

/*
 * Find the name of an algorithm among those of the device. The memory of the result is
 * never freed. "" means no congestion control and gives NULL. Returns 0 or an errno
 * value.
 */
int lib_ctl_algorithm(struct mrc_context *ctx, const char *name,
		      const char **algorithm);

/*
 * Is a program's array valid? @n: number of entries that the program gives. Negative
 * numbers must be checked here, because the kernel's sizes are unsigned.
 */
static inline int lib_ctl_array_ok(const void *array, int n)
{
	return n >= 0 && (array || !n);
}

#endif /* LIB_CTL_H */
