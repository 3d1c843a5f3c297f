/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: queues of a SONiC switch: classes, ECN, trimming. */
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "export_parts.hpp"

namespace mrclab
{
/* The name of a port: EthernetN, N in steps of 4. */
std::string sonic_port(const NodePort &port);

/* Adds the tables to @db. What the fabric's file does not say is left out. */
void add_sonic_qos(const Topology &t, const Node &node,
		   nlohmann::ordered_json &db);
} // namespace mrclab
