// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC for controllers: calls of the kernel, devices, ports, versions.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>

#include "lib_ctl.h"

int lib_ctl_errno(int err)
{
	switch (err) {
	case EPROTONOSUPPORT:	/* a kernel without the method */
	case ENOTTY:
		return EOPNOTSUPP;
	case EFAULT:		/* an invalid array pointer */
		return EINVAL;
	case ENODEV:
		return EIO;
	default:
		return err;
	}
}

int lib_ctl_call(struct mrc_context *ctx, uint16_t object, uint16_t method,
		 void *io, size_t size, const struct lib_ctl_array *array,
		 unsigned int n)
{
	DECLARE_COMMAND_BUFFER(cmd, object, method, 8);
	const struct lib_ctl_array *end = array + n;

	fill_attr_in(cmd, MRC_ABI_ATTR_IN, io, size);
	fill_attr_out(cmd, MRC_ABI_ATTR_OUT, io, size);
	for (; array < end; array++) {
		if (!array->size)
			continue;
		if (array->in)
			fill_attr_in(cmd, array->attr, array->in, array->size);
		else
			fill_attr_out(cmd, array->attr, array->out,
				      array->size);
	}
	return lib_ctl_errno(execute_ioctl(ctx->vctx, cmd));
}

int lib_ctl_device(struct ibv_context *vctx, struct mrc_abi_device *dev)
{
	DECLARE_COMMAND_BUFFER(cmd, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QUERY, 1);

	memset(dev, 0, sizeof(*dev));
	fill_attr_out_ptr(cmd, MRC_ABI_ATTR_OUT, dev);
	return lib_ctl_errno(execute_ioctl(vctx, cmd));
}

/* --- names of algorithms -------------------------------------------------- */

/**
 * struct algorithm_list - names of the algorithms of a device
 * @next: another list
 * @n: number of algorithms
 * @name: in the order of the device
 * @list: pointers to the names, as returned to programs; NULL at the end
 *
 * Programs keep pointers to names for an unknown time, and the query needs no MRC
 * context with which the names could be freed. So the lists are never freed. There are
 * few of them: devices of one kernel module have equal lists.
 */
struct algorithm_list {
	struct algorithm_list *next;
	uint32_t n;
	char name[MRC_ABI_CC_NAMES][MRC_ABI_CC_NAME];
	const char *list[MRC_ABI_CC_NAMES + 1];
};

static struct algorithm_list *algorithm_lists;
static pthread_mutex_t algorithm_lock = PTHREAD_MUTEX_INITIALIZER;

static struct algorithm_list *
algorithm_list_new(const struct mrc_abi_device *dev, uint32_t n)
{
	struct algorithm_list *l = calloc(1, sizeof(*l));
	uint32_t i;

	if (!l)
		return NULL;
	l->n = n;
	for (i = 0; i < n; i++) {
		memcpy(l->name[i], dev->algorithm[i], sizeof(l->name[i]));
		l->name[i][sizeof(l->name[i]) - 1] = 0;
		l->list[i] = l->name[i];
	}
	l->next = algorithm_lists;
	algorithm_lists = l;
	return l;
}

static const char **algorithms_of(const struct mrc_abi_device *dev)
{
	uint32_t n = dev->n_algorithms;
	struct algorithm_list *l;

	if (n > MRC_ABI_CC_NAMES)
		n = MRC_ABI_CC_NAMES;
	pthread_mutex_lock(&algorithm_lock);
	for (l = algorithm_lists; l; l = l->next)
		if (l->n == n &&
		    !memcmp(l->name, dev->algorithm, n * sizeof(l->name[0])))
			break;
	if (!l)
		l = algorithm_list_new(dev, n);
	pthread_mutex_unlock(&algorithm_lock);
	return l ? l->list : NULL;
}

int lib_ctl_algorithm(struct mrc_context *ctx, const char *name,
		      const char **algorithm)
{
	const char **list;

	*algorithm = NULL;
	if (!*name)
		return 0;
	list = algorithms_of(&ctx->dev);
	if (!list)
		return ENOMEM;
	for (; *list; list++)
		if (!strcmp(*list, name))
			*algorithm = *list;
	return *algorithm ? 0 : EIO;
}

/* --- devices -------------------------------------------------------------- */

static int query_device(struct ibv_context *context,
			struct mrc_ctl_device_attr *attr)
{
	struct mrc_abi_device dev;
	const char **algorithms;
	int err;

	err = lib_ctl_device(context, &dev);
	if (err)
		return err;
	algorithms = algorithms_of(&dev);
	if (!algorithms)
		return ENOMEM;
	*attr = (struct mrc_ctl_device_attr){
		.mrc_ctl_protocol_version = dev.ctl_protocol_version,
		.ev = {
			.ev_max_fmt_profiles = dev.ev_max_fmt_profiles,
			.ev_max_profiles = dev.ev_max_profiles,
			.ev_max_count = dev.ev_max_count,
			.ev_free_count = dev.ev_free_count,
			.ev_max_count_profile = dev.ev_max_count_profile,
			.ev_count_align = dev.ev_count_align,
			.ev_max_width = dev.ev_max_width,
			.ev_fmt_mode_mask = dev.ev_fmt_mode_mask,
			.ev_mode_mask = dev.ev_mode_mask,
			.ev_op_max_entries = dev.ev_op_max_entries,
		},
		.cc = {
			.cc_max_profiles = dev.cc_max_profiles,
			.algorithms = algorithms,
		},
		.phy_port_mask = dev.phy_port_mask,
		.opt_attr = dev.opt,
	};
	return 0;
}

/*
 * A device without MRC is no error. @mcontext would give the size of the caller's
 * struct, but all versions so far have the same struct.
 */
int mrc_ctl_query_device_ex(struct ibv_context *context,
			    struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr,
			    int *supported)
{
	int err;

	if (!context || !ctl_attr || !supported ||
	    (mcontext && mcontext->vctx != context))
		return mrc_lib_err(EINVAL);
	*supported = 0;
	if (!mrc_lib_is_mrc(context))
		return 0;
	err = query_device(context, ctl_attr);
	/* A kernel module without the control interface: no MRC, which is no error. */
	if (err == EOPNOTSUPP)
		return 0;
	if (err)
		return mrc_lib_err(err);
	*supported = 1;
	return 0;
}

int mrc_ctl_query_device(struct ibv_context *context,
			 struct mrc_ctl_device_attr *ctl_attr)
{
	int err;

	if (!context || !ctl_attr)
		return mrc_lib_err(EINVAL);
	if (!mrc_lib_is_mrc(context))
		return mrc_lib_err(ENOTSUP);
	err = query_device(context, ctl_attr);
	return err ? mrc_lib_err(err) : 0;
}

void mrc_ctl_query_version(uint32_t *current_version,
			   uint32_t *last_supported_version,
			   uint32_t *vendor_version,
			   uint32_t *last_supported_vendor_version)
{
	mrc_lib_tell(current_version, MRC_CTL_API_CURRENT_VERSION);
	mrc_lib_tell(last_supported_version,
		     MRC_CTL_API_LAST_SUPPORTED_VERSION);
	mrc_lib_tell(vendor_version, MRC_CTL_VENDOR_API_CURRENT_VERSION);
	mrc_lib_tell(last_supported_vendor_version,
		     MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION);
}

/* --- ports ---------------------------------------------------------------- */

/* The kernel's call changes the attributes in its mask and returns all of them. */
static int port(struct mrc_context *ctx, uint8_t num,
		struct mrc_ctl_port_attr *attr, uint32_t mask, bool modify)
{
	struct mrc_abi_port io = { .port = num };
	int err;

	if (!ctx || (mask && !attr) ||
	    mask & ~(uint32_t)MRC_CTL_PORT_ADMIN_STATE)
		return EINVAL;
	if (modify && mask & MRC_CTL_PORT_ADMIN_STATE) {
		io.mask = MRC_ABI_PORT_ADMIN_STATE;
		io.admin_state = attr->port_admin_state;
	}
	err = lib_ctl_call(ctx, MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, &io,
			   sizeof(io), NULL, 0);
	if (!err && !modify && mask & MRC_CTL_PORT_ADMIN_STATE)
		attr->port_admin_state = io.admin_state;
	return err;
}

int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask)
{
	int err = port(context, port_num, attr, attr_mask, false);

	return err ? mrc_lib_err(err) : 0;
}

int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask)
{
	int err = port(context, port_num, attr, attr_mask, true);

	return err ? mrc_lib_err(err) : 0;
}
