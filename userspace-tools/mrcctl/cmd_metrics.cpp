// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* metrics: reads the figures of devices and prints them, or replaces a file. */
#include <fmt/format.h>

#include "commands.hpp"
#include "error.hpp"
#include "metrics.hpp"
#include "profile.hpp"

namespace mrcctl
{
namespace
{
/* What @get returns; no value if the kernel refuses. */
template <typename Fn>
auto if_possible(Fn get) -> std::optional<decltype(get())>
{
	try {
		return get();
	} catch (const DeviceError &) {
		return {};
	}
}

std::vector<Port> ports_with_counters(Backend &dev)
{
	std::vector<Port> out = dev.ports();

	for (Port &p : out)
		p.counters = dev.counters(p.num);
	return out;
}

std::vector<Qp> queue_pairs_of(Backend &dev)
{
	std::vector<Qp> out;

	for (const QpName &name : dev.qps())
		if (std::optional<Qp> q = dev.qp(name))
			out.push_back(std::move(*q));
	return out;
}

MetricsOfDevice figures_of(System &system, const std::string &name)
{
	MetricsOfDevice m;

	m.name = name;
	/* A device may go away at any time. */
	const auto dev = if_possible([&] { return system.open(name); });

	if (!dev)
		return m;
	Backend &d = **dev;

	m.device = if_possible([&] { return d.device(); });
	m.ports = if_possible([&] { return ports_with_counters(d); });
	m.qp_names = if_possible([&] { return d.qps(); });
	m.qps = if_possible([&] { return queue_pairs_of(d); });
	m.ev_profiles = if_possible([&] { return all_of(d).ev_profiles; });
	return m;
}
} // namespace

int metrics(const HostContext &c, Words &w)
{
	std::vector<MetricsOfDevice> list;
	std::string file;

	if (!w.empty())
		file = w.next("FILE");
	w.done();
	if (c.opt.json)
		throw UsageError("metrics are text, there is no JSON");
	for (const std::string &name : c.env.system.devices())
		if (c.device.empty() || c.device == name)
			list.push_back(figures_of(c.env.system, name));
	if (!c.device.empty() && list.empty())
		throw DeviceError(fmt::format("no MRC device {}", c.device));
	if (file.empty() || file == "-") {
		c.print(metrics_of(list));
		return exit_ok;
	}
	/* At once: the node exporter must never read half of it. */
	if (const int err = c.env.host.replace(file, metrics_of(list)))
		throw DeviceError(file, err);
	return exit_ok;
}
} // namespace mrcctl
