/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: the figures that measurements give, and what they are called. */
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
	int digits; /* behind the point, in tables */
};

/* In the order of the CSV's columns. */
std::span<const Metric> metrics();
/* nullptr: there is none of that name. */
const Metric *find_metric(const std::string &name);
/* What a section shows that does not say. */
std::vector<std::string> usual_metrics(Kind test);
} // namespace mrcbench
