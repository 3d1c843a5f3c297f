// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "uverbs.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>

#include <rdma/mrc-abi.h>
#include <sys/ioctl.h>

namespace uverbs
{
Command::Command(uint16_t object, uint16_t method)
{
	hdr().object_id = object;
	hdr().method_id = method;
	hdr().driver_id = MRC_RDMA_DRIVER_ID;
	hdr().length = sizeof(ib_uverbs_ioctl_hdr);
}

ib_uverbs_attr &Command::add(uint16_t id, std::size_t len, uint64_t data)
{
	assert(hdr().num_attrs < max_attrs && len <= UINT16_MAX);
	ib_uverbs_attr &a = hdr().attrs[hdr().num_attrs++];

	a.attr_id = id;
	a.flags = UVERBS_ATTR_F_MANDATORY;
	a.len = static_cast<uint16_t>(len);
	a.data = data;
	hdr().length = static_cast<uint16_t>(hdr().length + sizeof(a));
	return a;
}

/* Up to 8 bytes are stored in the attribute itself. */
void Command::add_in(uint16_t id, std::span<const std::byte> in)
{
	uint64_t data = 0;

	if (in.empty())
		return;
	if (in.size() > sizeof(data))
		data = reinterpret_cast<uintptr_t>(in.data());
	else
		std::memcpy(&data, in.data(), in.size());
	add(id, in.size(), data);
}

void Command::add_out(uint16_t id, std::span<std::byte> out)
{
	if (!out.empty())
		add(id, out.size(), reinterpret_cast<uintptr_t>(out.data()));
}

int Command::run(int fd)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, buf_.data()) ? errno : 0;
}

ib_uverbs_ioctl_hdr &Command::hdr()
{
	return *reinterpret_cast<ib_uverbs_ioctl_hdr *>(buf_.data());
}
} // namespace uverbs
