/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: what the collector knows, for people and for programs. Pure. */
#pragma once

#include <string>

#include "collector_state.hpp"

namespace mrcmap
{
/* One line: "p1l1:s2+ lossy 1.2%, both directions". */
std::string finding_line(const mrclab::Topology &t, const Finding &f);
/* One line with its time, of a change. */
std::string change_line(const mrclab::Topology &t, const Change &c);

std::string text_of(const mrclab::Topology &t, const Snapshot &s);
std::string json_of(const mrclab::Topology &t, const Snapshot &s);
/* The history alone, an array. */
std::string history_json(const mrclab::Topology &t, const Snapshot &s);
/* Text format of Prometheus. */
std::string prometheus_of(const mrclab::Topology &t, const Snapshot &s);
/* For dot of Graphviz, coloured by health. */
std::string dot_of(const mrclab::Topology &t, const Snapshot &s);
} // namespace mrcmap
