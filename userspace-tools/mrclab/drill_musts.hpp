/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: the part of a drill's file that is named "must". */
#pragma once

#include "drill.hpp"
#include "topology.hpp"
#include "yaml.hpp"

namespace mrclab
{
/*
 * These throw FileError for whatever is wrong. Requirements are read before the
 * time of the drill may be known: those without an end end with UINT64_MAX.
 */
Must read_must(const YamlFile &yaml, const YAML::Node &node);
/* Whether the requirement's time and its samples lie in the drill. */
void check_must_times(const Drill &d, const Must &m);
/* Whether there is what the requirement names. */
void check_must_names(const Drill &d, const Topology &t, const Must &m);
} // namespace mrclab
