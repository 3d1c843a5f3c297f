/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl: the functions of a device that the commands need. The program's
 * implementation asks the kernel; tests have their own. All functions throw
 * DeviceError.
 */
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"

namespace mrcctl
{
class EventSource
{
public:
	virtual ~EventSource() = default;

	/* Events that are present or come within @ms; none is no error. */
	virtual std::vector<EvEvent> wait(int ms) = 0;
};

class Backend
{
public:
	virtual ~Backend() = default;

	virtual Device device() = 0;
	/* Applies to queue pairs that are made from now on. */
	virtual void change(const DeviceChange &c) = 0;

	/* Ports with their state, without counters. */
	virtual std::vector<Port> ports() = 0;
	virtual std::vector<Counter> counters(uint32_t port) = 0;
	virtual void enable_port(uint32_t port, bool enabled) = 0;

	virtual TrafficClasses traffic_classes() = 0;
	virtual void set_traffic_classes(const TrafficClasses &tc) = 0;

	virtual Limits limits() = 0;
	/* All or none. */
	virtual void set_limits(const LimitChange &c) = 0;

	virtual std::vector<Default> defaults() = 0;
	/* If it is empty, removes the default. */
	virtual void set_default(const Default &d) = 0;

	virtual State fmt_state(uint64_t id) = 0;
	virtual State ev_state(uint64_t id) = 0;
	virtual State cc_state(uint64_t id) = 0;
	/* The profile must not be in INIT. */
	virtual Fmt fmt(uint64_t id) = 0;
	virtual EvProfile ev(uint64_t id) = 0;
	virtual CcProfile cc(uint64_t id) = 0;
	/* One system call each: it takes effect completely or not at all. */
	virtual void change(const FmtChange &c) = 0;
	virtual void change(const EvChange &c) = 0;
	virtual void change(const CcChange &c) = 0;
	/* Stops at the first edit that fails. Either all replace, or none does.
	 */
	virtual void edit(uint64_t ev_profile,
			  const std::vector<EvEdit> &edits) = 0;

	struct EpResult {
		std::vector<EpResponse> responses;
		bool timed_out = false;
	};
	virtual EpResult endpoint(const EpRequest &r) = 0;
	virtual std::unique_ptr<EventSource> events(uint32_t depth) = 0;

	/* RC queue pairs, and all details of one; no value: it was destroyed.
	 */
	virtual std::vector<QpName> qps() = 0;
	virtual std::optional<Qp> qp(const QpName &name) = 0;
};

class System
{
public:
	virtual ~System() = default;

	/* Names of devices that do MRC. */
	virtual std::vector<std::string> devices() = 0;
	virtual std::unique_ptr<Backend> open(const std::string &name) = 0;
};
} // namespace mrcctl
