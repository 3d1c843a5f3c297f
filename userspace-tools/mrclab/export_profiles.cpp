// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "export.hpp"

#include <fmt/format.h>

#include "error.hpp"
#include "profiles.hpp"

namespace mrclab
{
ExportFiles export_profiles(const Topology &t, const ExportOptions &)
{
	const Fabric &f = t.fabric();
	ExportFiles files;

	if (!f.profiles.evs && f.profiles.cc.empty())
		throw UsageError(fmt::format(
			"{}: \"profiles\" has neither evs nor cc, so there is "
			"nothing to export",
			f.file));
	for (uint32_t h = 1; h <= f.all_hosts(); h++) {
		const std::string path = t.host(h).name + "/profiles";

		files.push_back(
			{path,
			 fmt::format("# Fabric {}, host {}: mrcctl -d {}{} "
				     "-b {}\n",
				     f.name, h, f.device, h, path) +
				 profile_commands(t, h)});
	}
	return files;
}
} // namespace mrclab
