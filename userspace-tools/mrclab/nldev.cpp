// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "nldev.hpp"

#include <system_error>

#include <fmt/format.h>
#include <rdma/rdma_netlink.h>

#include "error.hpp"
#include "netns.hpp"

namespace mrclab
{
Nldev::Nldev(const std::string &netns, const std::string &device)
{
	try {
		in_netns(netns, [this] { socket_.emplace(); });

		const auto index = socket_->index_of(device);

		if (!index)
			throw SystemError(fmt::format("{} has no device {}",
						      netns, device));
		index_ = *index;
	} catch (const std::system_error &e) {
		throw SystemError("RDMA netlink", e.code().value());
	}
}

void Nldev::ask(uint16_t command, bool dump, rdma_netlink::Numbers numbers,
		const rdma_netlink::UseAttr &use) const
{
	numbers.insert(numbers.begin(), {RDMA_NLDEV_ATTR_DEV_INDEX, index_});
	try {
		socket_->ask(command, dump, numbers,
			     [&use](rdma_netlink::Bytes attrs) {
				     rdma_netlink::each_attr(attrs, use);
			     });
	} catch (const std::system_error &e) {
		throw SystemError("RDMA netlink", e.code().value());
	}
}
} // namespace mrclab
