/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Methods of the device's control interface as direct calls of the uverbs
 * ioctl, for methods that no library function covers. Shared by mrcctl, mrc_ctl
 * and mrc_verify.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <rdma/rdma_user_ioctl_cmds.h>

namespace uverbs
{
template <typename T> std::span<const std::byte> bytes_in(const T &t)
{
	return std::as_bytes(std::span(&t, 1));
}

template <typename T> std::span<std::byte> bytes_out(T &t)
{
	return std::as_writable_bytes(std::span(&t, 1));
}

/*
 * A call in the kernel's format: the header, followed by attributes. Memory
 * that attributes refer to must exist until run() returns.
 */
class Command
{
public:
	Command(uint16_t object, uint16_t method);

	/* Adds an attribute unchanged; the kernel may write to the returned
	 * one.
	 */
	ib_uverbs_attr &add(uint16_t id, std::size_t len, uint64_t data);

	/* An empty span adds no attribute. */
	void add_in(uint16_t id, std::span<const std::byte> in);
	void add_out(uint16_t id, std::span<std::byte> out);

	/* Returns 0 or an errno value. */
	int run(int fd);

private:
	static constexpr std::size_t max_attrs = 8;

	ib_uverbs_ioctl_hdr &hdr();

	alignas(8) std::array<
		std::byte, sizeof(ib_uverbs_ioctl_hdr) +
				   max_attrs * sizeof(ib_uverbs_attr)> buf_{};
};
} // namespace uverbs
