/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands of libmrc_ctl. Tests print their results, see check.hpp; true if
 * all is well. @args is what follows the command's name.
 */
#pragma once

#include <string>
#include <vector>

#include "api.hpp"

using Args = std::vector<std::string>;

/* Rules of requests, no traffic. */
bool test_device(const Device &dev, const Args &args);
bool test_ports(const Device &dev, const Args &args);
bool test_formats(const Device &dev, const Args &args);
bool test_profiles(const Device &dev, const Args &args);
bool test_batches(const Device &dev, const Args &args);
bool test_fields(const Device &dev, const Args &args);
bool test_cc(const Device &dev, const Args &args);

/* With queue pairs between the device and the one that @args names. */
bool test_busy(const Device &dev, const Args &args);
bool test_events(const Device &dev, const Args &args);
bool test_vectors(const Device &dev, const Args &args);

/* Endpoint operations: what the script does to the network is in @args. */
bool test_probes(const Device &dev, const Args &args);

/* Who may do what. */
bool test_refused(const Device &dev, const Args &args);
bool test_allowed(const Device &dev, const Args &args);

/* Processes of their own, for libmrc_procs.sh. */
bool run_traffic(const Device &dev, const Args &args);
bool run_controller(const Device &dev, const Args &args);
