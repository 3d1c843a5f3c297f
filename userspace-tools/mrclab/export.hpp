/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: a fabric as files for other systems. The functions only make text.
 * Addresses are those of address.hpp in every format.
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
struct ExportFile {
	std::string path; /* relative, with / */
	std::string text;
	bool executable = false;
};

using ExportFiles = std::vector<ExportFile>;

struct ExportOptions {
	/* Container images: one with FRR 10.3 or later, one for the hosts. */
	std::string switch_image = "frrouting/frr:10.3.1";
	std::string host_image = "debian:trixie";
};

/*
 * Formats that share a path write the same text to it, so that all can be
 * written to one directory.
 */
ExportFiles export_sonic(const Topology &t, const ExportOptions &o);
ExportFiles export_frr(const Topology &t, const ExportOptions &o);
ExportFiles export_containerlab(const Topology &t, const ExportOptions &o);
ExportFiles export_linux(const Topology &t, const ExportOptions &o);
ExportFiles export_profiles(const Topology &t, const ExportOptions &o);

struct Exporter {
	std::string_view name;
	std::string_view help; /* one line */
	ExportFiles (*files)(const Topology &t, const ExportOptions &o);
};

const std::vector<Exporter> &exporters();

/*
 * Throws UsageError for an unknown format, or if the file does not have what
 * the format is about; FileError if the fabric has more nodes than addresses.
 */
ExportFiles export_fabric(std::string_view format, const Topology &t,
			  const ExportOptions &o = {});
} // namespace mrclab
