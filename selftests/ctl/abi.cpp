// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "abi.hpp"

#include <cstring>

const char *errno_name(int err)
{
	switch (err) {
	case EPERM:
		return "EPERM";
	case ENOENT:
		return "ENOENT";
	case EINTR:
		return "EINTR";
	case EIO:
		return "EIO";
	case E2BIG:
		return "E2BIG";
	case EAGAIN:
		return "EAGAIN";
	case ENOMEM:
		return "ENOMEM";
	case EACCES:
		return "EACCES";
	case EFAULT:
		return "EFAULT";
	case EBUSY:
		return "EBUSY";
	case ENODEV:
		return "ENODEV";
	case EINVAL:
		return "EINVAL";
	case ENOSPC:
		return "ENOSPC";
	case EMSGSIZE:
		return "EMSGSIZE";
	case EOPNOTSUPP:
		return "EOPNOTSUPP";
	case EPROTONOSUPPORT:
		return "EPROTONOSUPPORT";
	case EADDRNOTAVAIL:
		return "EADDRNOTAVAIL";
	case EAFNOSUPPORT:
		return "EAFNOSUPPORT";
	case ENETDOWN:
		return "ENETDOWN";
	case ENETUNREACH:
		return "ENETUNREACH";
	case ETIMEDOUT:
		return "ETIMEDOUT";
	default:
		return "E?";
	}
}

Refused::Refused(const std::string &what, int e)
	: std::runtime_error(what + ": " + errno_name(e) + " (" +
			     std::strerror(e) + ")"),
	  err(e)
{
}

void must(int err, const std::string &what)
{
	if (err)
		throw Refused(what, err);
}

Dev::Dev(const std::string &name)
{
	int n = 0;
	ibv_device **list = ibv_get_device_list(&n);

	ctx_ = nullptr;
	for (int i = 0; list && i < n; i++)
		if (name == ibv_get_device_name(list[i]))
			ctx_ = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!ctx_)
		throw Failure("no device " + name + ", or it cannot be opened");
}

Dev::~Dev()
{
	ibv_close_device(ctx_);
}

int Dev::raw(uint16_t object, uint16_t method, std::span<const std::byte> in,
	     std::span<std::byte> out, std::optional<Handle> handle,
	     const Arrays &arrays) const
{
	uverbs::Command cmd(object, method);

	if (handle)
		cmd.add(MRC_ABI_ATTR_HANDLE, 0, handle->id);
	cmd.add_in(MRC_ABI_ATTR_IN, in);
	cmd.add_out(MRC_ABI_ATTR_OUT, out);
	for (const Array &a : arrays) {
		cmd.add_in(a.attr, a.in);
		cmd.add_out(a.attr, a.out);
	}
	return cmd.run(ctx_->cmd_fd);
}

int Dev::modify_qp(const ib_uverbs_modify_qp &core,
		   std::span<const std::byte> data) const
{
	uverbs::Command cmd(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);

	cmd.add_in(UVERBS_ATTR_CORE_IN, uverbs::bytes_in(core));
	cmd.add(UVERBS_ATTR_WRITE_CMD, sizeof(uint64_t),
		IB_USER_VERBS_CMD_MODIFY_QP);
	cmd.add_in(UVERBS_ATTR_UHW_IN, data);
	return cmd.run(ctx_->cmd_fd);
}

int Dev::events(uint32_t depth) const
{
	const mrc_abi_ev_events in{.depth = depth, .reserved = 0};
	uverbs::Command cmd(MRC_ABI_OBJECT_EV_EVENTS, MRC_ABI_EV_EVENTS_CREATE);
	const ib_uverbs_attr &fd = cmd.add(MRC_ABI_ATTR_HANDLE, 0, 0);

	cmd.add_in(MRC_ABI_ATTR_IN, uverbs::bytes_in(in));
	const int err = cmd.run(ctx_->cmd_fd);

	return err ? -err : static_cast<int>(fd.data_s64);
}

mrc_abi_device Dev::query() const
{
	mrc_abi_device d{};

	must(get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QUERY, d), "query device");
	return d;
}
