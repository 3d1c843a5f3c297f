/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl metrics: figures of devices in the text format of Prometheus. */
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model.hpp"

namespace mrcctl
{
/* A part that could not be read, and the error. "all": not even opened. */
struct MissingPart {
	std::string part;
	std::string error;
};

/* What one device gives. A part without value could not be read. */
struct MetricsOfDevice {
	std::string name;
	std::optional<Device> device;
	std::optional<std::vector<Port>> ports; /* with counters */
	std::optional<std::vector<QpName>> qp_names;
	std::optional<std::vector<Qp>> qps;
	std::optional<std::vector<EvProfile>> ev_profiles;
	std::vector<MissingPart> missing;
};

/* The value of a label, between the quotes. */
std::string label_value(const std::string &text);

/*
 * All families, each with HELP and TYPE, in a fixed order. Names and labels
 * stay as they are from release to release.
 */
std::string metrics_of(const std::vector<MetricsOfDevice> &devices);
} // namespace mrcctl
