/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What calls of the kernel are called in reports, by which they are told apart.
 */
#pragma once

#include <array>
#include <cstddef>

#include "sweep.hpp"

namespace faults
{
using Name = std::array<char, name_size>;

/* A method of uverbs, @arg as ioctl() gets it. */
Name uverbs_name(const void *arg);

/* A command of rdma_cm, as write() gets it. */
Name cm_name(const void *buf, std::size_t len);

/* A netlink message of @protocol; an empty name for one that is nobody's here.
 */
Name netlink_name(int protocol, const void *buf, std::size_t len);
} // namespace faults
