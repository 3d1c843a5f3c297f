/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl: devices of this machine. Uses libMRC where it has a function, and the
 * kernel's own interfaces for the rest: traffic classes, defaults, queue pairs
 * of other programs, counters.
 */
#pragma once

#include <mrc_ctl.h>

#include "backend.hpp"

namespace mrcctl
{
class Kernel : public System
{
public:
	std::vector<std::string> devices() override;
	std::unique_ptr<Backend> open(const std::string &name) override;
};

class KernelDevice : public Backend
{
public:
	explicit KernelDevice(std::string name);
	KernelDevice(const KernelDevice &) = delete;
	KernelDevice &operator=(const KernelDevice &) = delete;
	~KernelDevice() override;

	Device device() override;
	void change(const DeviceChange &c) override;
	std::vector<Port> ports() override;
	std::vector<Counter> counters(uint32_t port) override;
	void enable_port(uint32_t port, bool enabled) override;
	TrafficClasses traffic_classes() override;
	void set_traffic_classes(const TrafficClasses &tc) override;
	Limits limits() override;
	void set_limits(const LimitChange &c) override;
	std::vector<Default> defaults() override;
	void set_default(const Default &d) override;
	EpResult endpoint(const EpRequest &r) override;
	std::unique_ptr<EventSource> events(uint32_t depth) override;
	std::vector<QpName> qps() override;
	std::optional<Qp> qp(const QpName &name) override;

	State fmt_state(uint64_t id) override;
	State ev_state(uint64_t id) override;
	State cc_state(uint64_t id) override;
	Fmt fmt(uint64_t id) override;
	EvProfile ev(uint64_t id) override;
	CcProfile cc(uint64_t id) override;
	void change(const FmtChange &c) override;
	void change(const EvChange &c) override;
	void change(const CcChange &c) override;
	void edit(uint64_t ev_profile,
		  const std::vector<EvEdit> &edits) override;

private:
	void query_ev(uint64_t id, mrc_ctl_ev_profile_attr &a, int mask);

	std::string name_;
	ibv_context *ctx_ = nullptr;
	mrc_context *mrc_ = nullptr;
};
} // namespace mrcctl
