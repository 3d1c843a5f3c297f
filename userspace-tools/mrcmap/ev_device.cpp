// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ev_device.hpp"

#include <algorithm>
#include <cerrno>

#include "../mrcctl/error.hpp"
#include "../mrcctl/kernel.hpp"
#include "../mrcctl/names.hpp"
#include "../mrclab/error.hpp"

namespace mrcmap
{
namespace
{
constexpr uint32_t event_depth = 256;

/* What keeps queue pairs from the EVs that the list has, and from no others. */
std::vector<mrcctl::EvEdit> edits_of(const mrcctl::EvProfile &p,
				     const DenyList &list)
{
	std::vector<mrcctl::EvEdit> out;

	for (const mrcctl::EvEntry &e : p.evs) {
		const Denied d{static_cast<uint32_t>(p.id), e.ev.port,
			       e.ev.val[0]};
		const bool want =
			std::binary_search(list.evs.begin(), list.evs.end(), d);
		const bool is = e.state == mrcctl::EvState::denied;

		/* An EV can be there more than once. */
		if (want == is ||
		    std::any_of(out.begin(), out.end(),
				[&](const auto &o) { return o.old == e.ev; }))
			continue;
		out.push_back({.old = e.ev,
			       .with = {},
			       .state = want ? mrcctl::EvState::denied
					     : mrcctl::EvState::good,
			       .all_copies = true});
	}
	return out;
}
} // namespace

struct EvDevice::Device {
	std::unique_ptr<mrcctl::Backend> backend;
	std::unique_ptr<mrcctl::EventSource> events;
};

EvDevice::EvDevice(const mrclab::Topology &topology, uint32_t host,
		   std::string device)
	: t_(topology), host_(host), name_(std::move(device))
{
}

EvDevice::~EvDevice() = default;

EvDevice::Device &EvDevice::device()
{
	if (!device_) {
		auto d = std::make_unique<Device>();

		d->backend = mrcctl::Kernel().open(name_);
		try {
			d->events = d->backend->events(event_depth);
		} catch (const mrcctl::DeviceError &) {
			/* Older modules have none; denying works without. */
		}
		device_ = std::move(d);
	}
	return *device_;
}

std::size_t EvDevice::apply(const DenyList &list)
{
	std::size_t changed = 0;

	try {
		mrcctl::Backend &dev = *device().backend;

		for (uint32_t to = 1; to <= t_.fabric().all_hosts(); to++) {
			if (to == host_ ||
			    dev.ev_state(to) == mrcctl::State::init)
				continue;

			const std::vector<mrcctl::EvEdit> edits =
				edits_of(dev.ev(to), list);

			dev.edit(to, edits);
			changed += edits.size();
		}
	} catch (const mrcctl::DeviceError &e) {
		/* It may be another one, next time. */
		device_.reset();
		throw mrclab::SystemError(name_ + ": " + e.what());
	}
	return changed;
}

bool EvDevice::on_path(uint32_t destination, uint32_t plane, uint32_t t1) const
{
	const mrclab::Fabric &f = t_.fabric();

	return destination >= 1 && destination <= f.all_hosts() &&
	       destination != host_ && plane >= 1 && plane <= f.planes &&
	       t1 <= f.t1 &&
	       (t1 == 0) == (t_.t0_of(host_) == t_.t0_of(destination));
}

std::vector<EvEvent> EvDevice::events()
{
	std::vector<EvEvent> out;

	if (!device_ || !device_->events)
		return out;
	try {
		for (const mrcctl::EvEvent &e : device_->events->wait(0)) {
			const EvEvent event{
				.destination = static_cast<uint32_t>(
					std::min<uint64_t>(e.profile,
							   UINT32_MAX)),
				.plane = e.ev.port,
				.t1 = e.ev.val[0],
				.state = mrcctl::name_of(e.state)};

			if (on_path(event.destination, event.plane, event.t1))
				out.push_back(event);
		}
	} catch (const mrcctl::DeviceError &) {
		/* The device is gone; apply() will say so. */
		device_.reset();
	}
	return out;
}
} // namespace mrcmap
