/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: queue pairs of a device, through libMRC. */
#pragma once

#include <memory>

#include <infiniband/verbs.h>
#include <mrc.h>

#include "endpoint.hpp"
#include "options.hpp"

namespace mrcperf
{
/* An open device with the options of this side. */
class Device
{
public:
	/* Throws RunError if there is no device that supports MRC. */
	explicit Device(const Options &options);
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;
	~Device();

	const std::string &name() const { return name_; }
	std::unique_ptr<Endpoint> make(const Setup &setup) const;

private:
	void open();
	void choose_gid();

	const Options &options_;
	std::string name_;
	ibv_context *verbs_ = nullptr;
	mrc_context *mrc_ = nullptr;
	ibv_port_attr port_{};
	uint8_t gid_index_ = 0;
	union ibv_gid gid_ {
	};
};
} // namespace mrcperf
