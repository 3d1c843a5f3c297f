// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sampler.hpp"

#include <algorithm>

#include "figures.hpp"

namespace mrcctl
{
namespace
{
/* A mean over a longer time is no rate of this moment. */
constexpr uint64_t longest_in_intervals = 5;

Sample for_rates(const MetricsOfDevice &m, uint64_t mono_ns)
{
	return {.mono_ns = mono_ns,
		.ports = m.ports.value_or(std::vector<Port>{}),
		.qps = m.qps.value_or(std::vector<Qp>{})};
}

const SampledDevice *find(const SampleOfAll *s, const std::string &name)
{
	if (!s)
		return nullptr;
	const auto found = std::find_if(
		s->devices.begin(), s->devices.end(),
		[&](const SampledDevice &d) { return d.figures.name == name; });

	return found == s->devices.end() ? nullptr : &*found;
}
} // namespace

std::shared_ptr<const SampleOfAll> Sampler::get()
{
	const std::lock_guard<std::mutex> held(lock_);
	const uint64_t now = clock_.mono_ns();

	if (!last_ || now - last_->mono_ns >= interval_ns_)
		last_ = take(now);
	return last_;
}

uint64_t Sampler::next_in_ns(const SampleOfAll &s) const
{
	const uint64_t age = clock_.mono_ns() - s.mono_ns;

	return interval_ns_ - std::min(age, interval_ns_);
}

std::shared_ptr<const SampleOfAll> Sampler::take(uint64_t now)
{
	const SampleOfAll *before = last_.get();
	auto s = std::make_shared<SampleOfAll>();

	s->number = before ? before->number + 1 : 1;
	if (before &&
	    now - before->mono_ns > longest_in_intervals * interval_ns_)
		before = nullptr;
	s->mono_ns = now;
	s->wall_us = clock_.wall_us();
	for (const std::string &name : system_.devices()) {
		if (!device_.empty() && device_ != name)
			continue;
		SampledDevice d;

		d.figures = figures_of(system_, name);
		const Sample after = for_rates(d.figures, now);
		const SampledDevice *old = find(before, name);

		if (old)
			d.rates_over_ns = now - before->mono_ns;
		d.frame = frame(old ? for_rates(old->figures, before->mono_ns)
				    : after,
				after, s->wall_us);
		s->devices.push_back(std::move(d));
	}
	return s;
}
} // namespace mrcctl
