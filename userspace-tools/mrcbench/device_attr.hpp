/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: sets attributes of a device of mrc during a measurement. */
#pragma once

#include <functional>
#include <string>

#include <linux/types.h>
#include <rdma/mrc-ctl-abi.h>

#include "plans.hpp"

namespace mrcbench
{
/* Applies a plan's settings for entropy values and congestion control. */
class DeviceAttr
{
public:
	/*
	 * @enter makes a thread see @device, which may be in another network
	 * namespace. Throws RunError; then nothing is changed.
	 */
	DeviceAttr(std::string device, const Shape &shape,
		   std::function<void()> enter);
	DeviceAttr(const DeviceAttr &) = delete;
	DeviceAttr &operator=(const DeviceAttr &) = delete;
	/* Restores the old attributes. */
	~DeviceAttr();

private:
	mrc_abi_dev_attr call(const mrc_abi_dev_attr &attr) const;

	std::string device_;
	std::function<void()> enter_;
	mrc_abi_dev_attr was_{};
};
} // namespace mrcbench
