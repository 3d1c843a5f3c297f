// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "device_attr.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "../common/uverbs.hpp"
#include "error.hpp"
#include "verbs.hpp"

namespace mrcbench
{
using mrcperf::RunError;

DeviceAttr::DeviceAttr(std::string device, const Shape &shape,
		       std::function<void()> enter)
	: device_(std::move(device)), enter_(std::move(enter))
{
	mrc_abi_dev_attr want{};

	if (shape.evs) {
		want.mask |= MRC_ABI_DEV_ATTR_NUM_EVS;
		want.num_evs = shape.evs;
	}
	if (!shape.cc.empty()) {
		if (shape.cc.size() >= sizeof(want.cc))
			throw RunError(fmt::format("there is no algorithm {}",
						   shape.cc));
		want.mask |= MRC_ABI_DEV_ATTR_CC;
		shape.cc.copy(want.cc, sizeof(want.cc) - 1);
	}
	was_ = call({});
	was_.mask = want.mask;
	if (want.mask)
		call(want);
}

DeviceAttr::~DeviceAttr()
{
	if (!was_.mask)
		return;
	try {
		call(was_);
	} catch (const std::exception &) {
		/* The device was removed, and its attributes with it. */
	}
}

/* Uses a separate thread, which may enter a namespace permanently. */
mrc_abi_dev_attr DeviceAttr::call(const mrc_abi_dev_attr &attr) const
{
	mrc_abi_dev_attr io = attr;
	std::exception_ptr failed;
	std::thread caller([&] {
		try {
			enter_();
			const Handle<ibv_context, ibv_close_device> ctx(
				open_device(device_));
			uverbs::Command cmd(MRC_ABI_OBJECT_DEV,
					    MRC_ABI_DEV_ATTR);

			cmd.add_in(MRC_ABI_ATTR_IN, uverbs::bytes_in(io));
			cmd.add_out(MRC_ABI_ATTR_OUT, uverbs::bytes_out(io));
			if (const int err = cmd.run(ctx.get()->cmd_fd))
				mrcperf::fail_errno(
					"attributes of " + device_, err);
		} catch (...) {
			failed = std::current_exception();
		}
	});

	caller.join();
	if (failed)
		std::rethrow_exception(failed);
	return io;
}
} // namespace mrcbench
