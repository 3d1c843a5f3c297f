// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "hw_counter.hpp"

#include <cerrno>
#include <optional>

#include <rdma/rdma_netlink.h>

#include "error.hpp"

namespace mrclab
{
using namespace rdma_netlink;

namespace
{
/* An entry of the list of counters, if it is that of this name. */
std::optional<uint64_t> value_of(Bytes entry, const std::string &name)
{
	std::optional<uint64_t> value;
	bool named = false;

	each_attr(entry, [&](uint16_t type, Bytes v) {
		if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
			named = string_of(v) == name;
		if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
			value = u64_of(v);
	});
	return named ? value : std::nullopt;
}
} // namespace

uint64_t HwCounter::read() const
{
	uint64_t sum = 0;

	for (uint32_t port = 1; port <= ports_; port++) {
		bool found = false;

		nldev_.ask(RDMA_NLDEV_CMD_STAT_GET, false,
			   {{RDMA_NLDEV_ATTR_PORT_INDEX, port}},
			   [&](uint16_t type, Bytes counters) {
				   if (type != RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
					   return;
				   each_attr(counters, [&](uint16_t,
							   Bytes entry) {
					   const auto v =
						   value_of(entry, name_);

					   sum += v.value_or(0);
					   found |= v.has_value();
				   });
			   });
		if (!found)
			throw SystemError("the counter " + name_ +
						  " of an RDMA device",
					  ENOENT);
	}
	return sum;
}
} // namespace mrclab
