// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "abi.hpp"

#include <array>
#include <cstring>

#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

namespace
{
constexpr std::size_t max_attrs = 3;

/* A call as the kernel takes it: the header, attributes behind it. */
class Command
{
public:
	Command(uint16_t object, uint16_t method)
	{
		hdr()->object_id = object;
		hdr()->method_id = method;
		hdr()->driver_id = MRC_RDMA_DRIVER_ID;
		hdr()->length = sizeof(ib_uverbs_ioctl_hdr);
	}

	ib_uverbs_attr &add(uint16_t id, std::size_t len, uint64_t data)
	{
		ib_uverbs_attr &a = hdr()->attrs[hdr()->num_attrs++];

		a.attr_id = id;
		a.flags = UVERBS_ATTR_F_MANDATORY;
		a.len = static_cast<uint16_t>(len);
		a.data = data;
		hdr()->length =
			static_cast<uint16_t>(hdr()->length + sizeof(a));
		return a;
	}

	int run(int fd)
	{
		return ioctl(fd, RDMA_VERBS_IOCTL, buf_.data()) ? errno : 0;
	}

private:
	ib_uverbs_ioctl_hdr *hdr()
	{
		return reinterpret_cast<ib_uverbs_ioctl_hdr *>(buf_.data());
	}

	alignas(8) std::array<
		std::byte, sizeof(ib_uverbs_ioctl_hdr) +
				   max_attrs * sizeof(ib_uverbs_attr)> buf_{};
};

/* Data of up to 8 bytes travels in the attribute itself. */
uint64_t in_data(std::span<const std::byte> in)
{
	uint64_t v = 0;

	if (in.size() > sizeof(v))
		return reinterpret_cast<uintptr_t>(in.data());
	std::memcpy(&v, in.data(), in.size());
	return v;
}
} // namespace

const char *errno_name(int err)
{
	switch (err) {
	case EPERM:
		return "EPERM";
	case ENOENT:
		return "ENOENT";
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
	     std::span<std::byte> out, std::optional<Handle> handle) const
{
	Command cmd(object, method);

	if (handle)
		cmd.add(MRC_ABI_ATTR_HANDLE, 0, handle->id);
	if (!in.empty())
		cmd.add(MRC_ABI_ATTR_IN, in.size(), in_data(in));
	if (!out.empty())
		cmd.add(MRC_ABI_ATTR_OUT, out.size(),
			reinterpret_cast<uintptr_t>(out.data()));
	return cmd.run(ctx_->cmd_fd);
}

int Dev::modify_qp(const ib_uverbs_modify_qp &core,
		   std::span<const std::byte> data) const
{
	const auto in = std::as_bytes(std::span(&core, 1));
	Command cmd(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);

	cmd.add(UVERBS_ATTR_CORE_IN, in.size(), in_data(in));
	cmd.add(UVERBS_ATTR_WRITE_CMD, sizeof(uint64_t),
		IB_USER_VERBS_CMD_MODIFY_QP);
	if (!data.empty())
		cmd.add(UVERBS_ATTR_UHW_IN, data.size(), in_data(data));
	return cmd.run(ctx_->cmd_fd);
}

int Dev::events(uint32_t depth) const
{
	const mrc_abi_ev_events in{.depth = depth, .reserved = 0};
	Command cmd(MRC_ABI_OBJECT_EV_EVENTS, MRC_ABI_EV_EVENTS_CREATE);
	const ib_uverbs_attr &fd = cmd.add(MRC_ABI_ATTR_HANDLE, 0, 0);

	cmd.add(MRC_ABI_ATTR_IN, sizeof(in),
		in_data(std::as_bytes(std::span(&in, 1))));
	const int err = cmd.run(ctx_->cmd_fd);

	return err ? -err : static_cast<int>(fd.data_s64);
}

mrc_abi_device Dev::query() const
{
	mrc_abi_device d{};

	must(get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QUERY, d), "query device");
	return d;
}
