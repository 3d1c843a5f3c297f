// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "export.hpp"

#include <fmt/format.h>

#include "address.hpp"
#include "error.hpp"

namespace mrclab
{
const std::vector<Exporter> &exporters()
{
	static const std::vector<Exporter> all = {
		{"sonic", "config_db.json for each switch, ports.txt",
		 export_sonic},
		{"frr", "frr.conf for each switch, and what goes before it",
		 export_frr},
		{"containerlab", "topology.clab.yml with FRR as switches",
		 export_containerlab},
		{"linux", "setup.sh for each node: sysctl, ip and tc",
		 export_linux},
		{"profiles", "commands of mrcctl(8) for each host",
		 export_profiles},
	};

	return all;
}

ExportFiles export_fabric(std::string_view format, const Topology &t,
			  const ExportOptions &o)
{
	std::string names;

	check_addresses(t.fabric());
	for (const Exporter &e : exporters()) {
		if (e.name == format)
			return e.files(t, o);
		names += fmt::format("{}{}", names.empty() ? "" : ", ", e.name);
	}
	throw UsageError(
		fmt::format("\"{}\" is none of the formats {}", format, names));
}
} // namespace mrclab
