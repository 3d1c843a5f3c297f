// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libMRC for controllers: EV profiles.
 */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib_ctl.h"

enum {
	/* The kernel's limits are lower; an EV has at most that many bits. */
	MAX_ENTRIES = LIB_CTL_ARRAY_MAX(sizeof(struct mrc_abi_ev_entry)),
	MAX_FIELDS = 8 * MRC_ABI_EV_BYTES,
};

/**
 * struct ev_arrays - the arrays of a call in the kernel's format
 * @entry: for EV operations, else NULL
 * @ev_new: for operations that replace EVs, else NULL
 * @n_entry: elements of @entry and of @ev_new
 * @n_field: elements of @field
 */
struct ev_arrays {
	struct mrc_abi_ev_entry *entry;
	struct mrc_abi_ev *ev_new;
	uint32_t n_entry;
	uint32_t n_field;
	struct mrc_abi_ev_field field[MAX_FIELDS];
};

static bool queries_array(const struct mrc_ctl_ev_profile_attr *attr)
{
	return attr->ev_op.op == MRC_CTL_EV_OP_QUERY_EV_ARRAY;
}

static bool queries_fields(const struct mrc_ctl_ev_profile_attr *attr)
{
	return attr->ev_fields_op.op == MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS;
}

static void ev_in(struct mrc_abi_ev *to, const struct mrc_ctl_ev *from)
{
	memcpy(to->val, from->val, sizeof(to->val));
	to->port = from->port;
}

/* Members that the operation does not use are not read: they may be uninitialized. */
static void entry_in(struct mrc_abi_ev_entry *to,
		     const struct mrc_ctl_ev_op_entry *from, uint32_t op)
{
	ev_in(&to->ev, &from->ev);
	if (op == MRC_CTL_EV_OP_QUERY_EV_STATE)
		return;
	to->state = from->state;
	to->flags = from->flags;
}

static int entries_in(struct ev_arrays *a, struct mrc_abi_evp *io,
		      const struct mrc_ctl_ev_profile_attr *attr)
{
	uint32_t i, n = attr->ev_op.entry_count;

	if (!lib_ctl_array_ok(attr->ev_op.entries, attr->ev_op.entry_count))
		return EINVAL;
	if (n > MAX_ENTRIES) {
		if (!queries_array(attr))
			return E2BIG;
		n = MAX_ENTRIES;
	}
	a->entry = calloc(n + 1, sizeof(*a->entry));
	if (!a->entry)
		return ENOMEM;
	a->n_entry = n;
	for (i = 0; !queries_array(attr) && i < n; i++)
		entry_in(&a->entry[i], &attr->ev_op.entries[i], attr->ev_op.op);
	io->ev_op = attr->ev_op.op;
	if (attr->ev_op.op != MRC_CTL_EV_OP_REPLACE_EV)
		return 0;
	a->ev_new = calloc(n + 1, sizeof(*a->ev_new));
	if (!a->ev_new)
		return ENOMEM;
	for (i = 0; i < n; i++)
		ev_in(&a->ev_new[i], &attr->ev_op.entries[i].ev_new);
	return 0;
}

static int fields_in(struct ev_arrays *a, struct mrc_abi_evp *io,
		     const struct mrc_ctl_ev_profile_attr *attr)
{
	const struct mrc_ctl_ev_field *f = attr->ev_fields_op.fields;
	uint32_t i, n = attr->ev_fields_op.field_count;

	if (!lib_ctl_array_ok(f, attr->ev_fields_op.field_count))
		return EINVAL;
	if (n > MAX_FIELDS) {
		if (!queries_fields(attr))
			return E2BIG;
		n = MAX_FIELDS;
	}
	a->n_field = n;
	for (i = 0; !queries_fields(attr) && i < n; i++)
		a->field[i] = (struct mrc_abi_ev_field){
			.width = f[i].width,
			.init_val = f[i].init_val,
			.min_val = f[i].min_val,
			.max_val = f[i].max_val,
			.mask = f[i].mask,
		};
	io->fields_op = attr->ev_fields_op.op;
	return 0;
}

static void entries_out(const struct ev_arrays *a, const struct mrc_abi_evp *io,
			struct mrc_ctl_ev_profile_attr *attr)
{
	struct mrc_ctl_ev_op_entry *to = attr->ev_op.entries;
	uint32_t i, n = io->n_entries;

	if (queries_array(attr))
		attr->ev_op.entry_count = n;
	else if (attr->ev_op.op != MRC_CTL_EV_OP_QUERY_EV_STATE)
		return;
	for (i = 0; i < n && i < a->n_entry; i++) {
		if (queries_array(attr)) {
			memcpy(to[i].ev.val, a->entry[i].ev.val,
			       sizeof(to[i].ev.val));
			to[i].ev.port = a->entry[i].ev.port;
		}
		to[i].state = a->entry[i].state;
	}
}

static void fields_out(const struct ev_arrays *a, const struct mrc_abi_evp *io,
		       struct mrc_ctl_ev_profile_attr *attr)
{
	struct mrc_ctl_ev_field *to = attr->ev_fields_op.fields;
	uint32_t i;

	if (!queries_fields(attr))
		return;
	attr->ev_fields_op.field_count = io->n_fields;
	for (i = 0; i < io->n_fields && i < a->n_field; i++)
		to[i] = (struct mrc_ctl_ev_field){
			.width = a->field[i].width,
			.init_val = a->field[i].init_val,
			.min_val = a->field[i].min_val,
			.max_val = a->field[i].max_val,
			.mask = a->field[i].mask,
		};
}

/*
 * On E2BIG, return the number of elements that a query needs, as told by the kernel. If
 * E2BIG has another cause, leave the counts unchanged.
 */
static void counts_out(const struct ev_arrays *a, const struct mrc_abi_evp *io,
		       struct mrc_ctl_ev_profile_attr *attr, uint32_t mask)
{
	if (mask & MRC_CTL_EV_PROFILE_EV_OP && queries_array(attr) &&
	    io->n_entries > a->n_entry)
		attr->ev_op.entry_count = io->n_entries;
	if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP && queries_fields(attr) &&
	    io->n_fields > a->n_field)
		attr->ev_fields_op.field_count = io->n_fields;
}

static void values_in(struct mrc_abi_evp *io,
		      const struct mrc_ctl_ev_profile_attr *attr, uint32_t mask)
{
	if (mask & MRC_CTL_EV_PROFILE_STATE)
		io->state = attr->profile_state;
	if (mask & MRC_CTL_EV_PROFILE_CUR_STATE)
		io->cur_state = attr->cur_profile_state;
	if (mask & MRC_CTL_EV_PROFILE_MODE)
		io->mode = attr->ev_mode;
	if (mask & MRC_CTL_EV_PROFILE_FMT_ID)
		io->fmt_id = attr->ev_fmt_profile_id;
	if (mask & MRC_CTL_EV_PROFILE_COUNT)
		io->count = attr->ev_count;
	if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE)
		io->min_active = attr->ev_min_active;
	if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK)
		io->event_mask = attr->ev_event_mask;
	if (mask & (uint32_t)MRC_CTL_EV_PROFILE_VENDOR_CFG)
		memcpy(io->vendor_cfg, attr->vendor_cfg,
		       sizeof(io->vendor_cfg));
}

static void values_out(const struct mrc_abi_evp *io,
		       struct mrc_ctl_ev_profile_attr *attr, uint32_t mask)
{
	if (mask & MRC_CTL_EV_PROFILE_STATE)
		attr->profile_state = io->state;
	if (mask & MRC_CTL_EV_PROFILE_CUR_STATE)
		attr->cur_profile_state = io->cur_state;
	if (mask & MRC_CTL_EV_PROFILE_MODE)
		attr->ev_mode = io->mode;
	if (mask & MRC_CTL_EV_PROFILE_FMT_ID)
		attr->ev_fmt_profile_id = io->fmt_id;
	if (mask & MRC_CTL_EV_PROFILE_COUNT)
		attr->ev_count = io->count;
	if (mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE)
		attr->ev_min_active = io->min_active;
	if (mask & MRC_CTL_EV_PROFILE_EVENT_MASK)
		attr->ev_event_mask = io->event_mask;
	if (mask & (uint32_t)MRC_CTL_EV_PROFILE_VENDOR_CFG)
		memcpy(attr->vendor_cfg, io->vendor_cfg,
		       sizeof(attr->vendor_cfg));
}

/* Make the call with the input and output arrays of its operations. */
static int call(struct mrc_context *ctx, bool modify, struct mrc_abi_evp *io,
		struct ev_arrays *a, const struct mrc_ctl_ev_profile_attr *attr)
{
	struct lib_ctl_array array[4] = {
		{ .attr = MRC_ABI_ATTR_ARRAY_IN, .in = a->entry },
		{ .attr = MRC_ABI_ATTR_ARRAY_OUT, .out = a->entry },
		{ .attr = MRC_ABI_ATTR_SECOND_IN, .in = a->ev_new },
	};

	if (a->entry) {
		size_t size = a->n_entry * sizeof(*a->entry);

		if (!queries_array(attr))
			array[0].size = size;
		if (queries_array(attr) ||
		    attr->ev_op.op == MRC_CTL_EV_OP_QUERY_EV_STATE)
			array[1].size = size;
		if (a->ev_new)
			array[2].size = a->n_entry * sizeof(*a->ev_new);
	}
	array[3].size = a->n_field * sizeof(a->field[0]);
	if (array[3].size && queries_fields(attr)) {
		array[3].attr = MRC_ABI_ATTR_FIELDS_OUT;
		array[3].out = a->field;
	} else {
		array[3].attr = MRC_ABI_ATTR_FIELDS_IN;
		array[3].in = a->field;
	}
	return lib_ctl_call(ctx, MRC_ABI_OBJECT_EV_PROFILE,
			    modify ? MRC_ABI_EVP_MODIFY : MRC_ABI_EVP_QUERY,
			    io, sizeof(*io), array, 4);
}

static int ev(struct mrc_context *ctx, uint64_t id,
	      struct mrc_ctl_ev_profile_attr *attr, uint32_t mask, bool modify)
{
	struct mrc_abi_evp io = { .id = id, .mask = mask };
	struct ev_arrays a = {};
	int err = 0;

	if (!ctx || (mask && !attr))
		return EINVAL;
	if (modify)
		values_in(&io, attr, mask);
	if (mask & MRC_CTL_EV_PROFILE_EV_OP)
		err = entries_in(&a, &io, attr);
	if (!err && mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
		err = fields_in(&a, &io, attr);
	if (err)
		goto out;

	err = call(ctx, modify, &io, &a, attr);
	if (err == E2BIG)
		counts_out(&a, &io, attr, mask);
	if (err)
		goto out;
	if (mask & MRC_CTL_EV_PROFILE_EV_OP)
		entries_out(&a, &io, attr);
	if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
		fields_out(&a, &io, attr);
	if (!modify)
		values_out(&io, attr, mask);
out:
	free(a.entry);
	free(a.ev_new);
	return err;
}

int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx,
			      uint64_t ev_profile_id,
			      struct mrc_ctl_ev_profile_attr *attr,
			      int attr_mask)
{
	int err = ev(mrc_ctx, ev_profile_id, attr, attr_mask, true);

	return err ? mrc_lib_err(err) : 0;
}

int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx,
			     uint64_t ev_profile_id,
			     struct mrc_ctl_ev_profile_attr *attr,
			     int attr_mask)
{
	int err = ev(mrc_ctx, ev_profile_id, attr, attr_mask, false);

	return err ? mrc_lib_err(err) : 0;
}
