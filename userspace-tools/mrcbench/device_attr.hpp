/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: attributes of a device of mrc for the length of a measurement.
 */
#pragma once

#include <functional>
#include <string>

#include <linux/types.h>
#include <rdma/mrc-ctl-abi.h>

#include "plans.hpp"

namespace mrcbench
{
/* What a plan says of queue pairs' entropy values and congestion control. */
class DeviceAttr
{
public:
	/*
	 * @enter makes a thread see @device, one of another network namespace. Throws
	 * RunError, and nothing is changed then.
	 */
	DeviceAttr(std::string device, const Shape &shape,
		   std::function<void()> enter);
	DeviceAttr(const DeviceAttr &) = delete;
	DeviceAttr &operator=(const DeviceAttr &) = delete;
	/* As it was. */
	~DeviceAttr();

private:
	mrc_abi_dev_attr call(const mrc_abi_dev_attr &attr) const;

	std::string device_;
	std::function<void()> enter_;
	mrc_abi_dev_attr was_{};
};
} // namespace mrcbench
