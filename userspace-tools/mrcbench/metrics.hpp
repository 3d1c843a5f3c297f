/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: the figures of measurements, and their names. */
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plans.hpp"

namespace mrcbench
{
struct Metric {
	const char *name;  /* in plans, CSV and JSON */
	const char *title; /* in charts and tables */
	const char *unit;
	int digits; /* after the decimal point, in tables */
};

/* In the order of the CSV's columns. */
std::span<const Metric> metrics();
/* Returns nullptr if there is no metric of that name. */
const Metric *find_metric(const std::string &name);
/* The metrics that a section shows by default. */
std::vector<std::string> usual_metrics(Kind test);
} // namespace mrcbench
