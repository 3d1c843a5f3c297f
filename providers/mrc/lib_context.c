// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC: device query, contexts.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib_ctl.h"
#include "lib_mrc.h"
#include "mrc_provider.h"

bool mrc_lib_is_mrc(struct ibv_context *vctx)
{
	return mrc_v_is_mrc(vctx);
}

void mrc_lib_child_add(struct mrc_context *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	ctx->children++;
	pthread_mutex_unlock(&ctx->lock);
}

void mrc_lib_child_del(struct mrc_context *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	ctx->children--;
	pthread_mutex_unlock(&ctx->lock);
}

/* --- device --------------------------------------------------------------- */

/*
 * The attributes of versions 1.0.0 and 1.0.1, which are the same. Attributes that a
 * later version appends must go only to callers of that version.
 */
static void fill_device_attr(const struct mrc_abi_device *dev,
			     struct mrc_device_attr *attr)
{
	*attr = (struct mrc_device_attr){
		.mrc_protocol_version = dev->protocol_version,
		.wimm_attr = {
			.max_wimm = dev->max_wimm,
			.max_wimm_dest = dev->max_wimm_dest,
		},
		.mpr_attr = {
			.max_mpr = dev->max_mpr,
			.mpr_resolution = dev->mpr_resolution,
		},
		.qp_attr.max_qp_hint = dev->max_qp_hint,
		.cap = dev->cap,
	};
}

static int query_device(struct ibv_context *context,
			const struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported)
{
	struct mrc_abi_device dev;
	int err;

	if (!context || !attr || !supported ||
	    (mcontext && mcontext->vctx != context))
		return mrc_lib_err(EINVAL);
	*supported = 0;
	memset(attr, 0, sizeof(*attr));
	if (!mrc_lib_is_mrc(context))
		return 0;
	err = lib_ctl_device(context, &dev);
	/* A kernel module without the control interface: no MRC, which is no error. */
	if (err == EOPNOTSUPP)
		return 0;
	if (err)
		return mrc_lib_err(err);
	fill_device_attr(&dev, attr);
	*supported = 1;
	return 0;
}

int mrc_query_device_ex(struct ibv_context *context,
			struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported)
{
	return query_device(context, mcontext, attr, supported);
}

/* Does not call mrc_query_device_ex(), because a program may have replaced it. */
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr,
		     int *supported)
{
	return query_device(context, NULL, attr, supported);
}

/* --- contexts ------------------------------------------------------------- */

/*
 * The API version that a program was written for. Every version up to the current one
 * is accepted, even if it never existed: a program that passes an unrelated number
 * works too. The vendor version is not read: it does not matter here, and the member
 * does not exist before 1.0.1.
 */
static int context_version(const struct mrc_context_attr *attr,
			   uint32_t *version)
{
	uint32_t v = attr ? attr->mrc_api_version_used : 0;

	if (!v || v == UINT32_MAX)	/* MRC_API_VER_LATEST */
		v = MRC_API_CURRENT_VERSION;
	if (v > MRC_API_CURRENT_VERSION)
		return EOPNOTSUPP;
	*version = v;
	return 0;
}

static int open_async_fd(struct ibv_context *vctx, int *fd)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_ASYNC_EVENT,
			       UVERBS_METHOD_ASYNC_EVENT_ALLOC, 1);
	struct ib_uverbs_attr *handle;
	int err;

	handle = fill_attr_out_fd(cmd, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
				  0);
	err = execute_ioctl(vctx, cmd);
	if (!err)
		*fd = read_attr_fd(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
				   handle);
	return err;
}

struct mrc_context *mrc_create_context(struct ibv_context *vcontext,
				       struct mrc_context_attr *context_attr)
{
	struct mrc_context *ctx;
	int err;

	if (!vcontext) {
		errno = EINVAL;
		return NULL;
	}
	if (!mrc_lib_is_mrc(vcontext)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return NULL;
	ctx->vctx = vcontext;
	err = context_version(context_attr, &ctx->api_version);
	if (!err)
		err = lib_ctl_device(vcontext, &ctx->dev);
	if (!err)
		err = open_async_fd(vcontext, &ctx->async_fd);
	if (err) {
		free(ctx);
		errno = err;
		return NULL;
	}
	pthread_mutex_init(&ctx->lock, NULL);
	return ctx;
}

/* Does not use the verbs context, which may be closed already. */
int mrc_destroy_context(struct mrc_context *mrc_ctx)
{
	unsigned int children;

	if (!mrc_ctx)
		return mrc_lib_err(EINVAL);
	pthread_mutex_lock(&mrc_ctx->lock);
	children = mrc_ctx->children;
	pthread_mutex_unlock(&mrc_ctx->lock);
	if (children)
		return mrc_lib_err(EBUSY);
	mrc_lib_ctl_free(mrc_ctx->ctl);
	close(mrc_ctx->async_fd);
	pthread_mutex_destroy(&mrc_ctx->lock);
	free(mrc_ctx);
	return 0;
}

/*
 * Commands read descriptors and private data from the context and write nothing to it.
 * The mutex in the copy is not used.
 */
void mrc_lib_event_context(struct mrc_context *ctx, struct mrc_v_context *copy)
{
	memcpy(copy, to_mctx(ctx->vctx), sizeof(*copy));
	copy->vctx.context.async_fd = ctx->async_fd;
}
