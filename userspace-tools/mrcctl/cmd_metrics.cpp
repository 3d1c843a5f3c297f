// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* metrics: reads the figures of devices and prints them, or replaces a file. */
#include <fmt/format.h>

#include "commands.hpp"
#include "error.hpp"
#include "figures.hpp"

namespace mrcctl
{
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
