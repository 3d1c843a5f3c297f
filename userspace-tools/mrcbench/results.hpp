/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: what came out, and whether it is what a plan asks for. */
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans.hpp"
#include "stats.hpp"

namespace mrcbench
{
/* A change of the JSON's structure that breaks readers adds one. */
constexpr int result_schema = 1;

/* One measurement of one column at one point. */
struct Sample {
	std::string section;
	std::string label; /* of the point */
	std::string column;
	unsigned int repetition = 0;		/* from 0 */
	std::map<std::string, double> values; /* by metric */
	std::string error;			/* why there are none */
};

/* What the figures were taken on; facts for who reads them later. */
struct Machine {
	std::string when; /* ISO 8601, UTC */
	std::string kernel;
	std::string processor;
	unsigned int processors = 0;
	double idle_busy = 0; /* busy share of an idle machine, 0 to 1 */
	std::string driver;   /* version of the mrc module, if it says one */
};

struct Outcome {
	const Goal *goal = nullptr;
	/* No value: a side of it was not measured. */
	std::optional<mrcperf::Summary> value;
	bool met = false;
};

class Results
{
public:
	explicit Results(const Plan &plan) : plan_(plan) {}

	void add(Sample sample);
	const std::vector<Sample> &samples() const { return samples_; }
	const Plan &plan() const { return plan_; }
	/* Was anything of it tried? */
	bool has(const std::string &section) const;

	/* Over repetitions; none if there is no such figure. */
	std::optional<mrcperf::Summary> summary(const std::string &section,
						const std::string &label,
						const std::string &column,
						const std::string &metric) const;
	/* "3 of 5 failed: the reason", "" without failures. */
	std::string failures(const std::string &section,
			     const std::string &label,
			     const std::string &column) const;
	/*
	 * A ratio is taken in each repetition, of what was measured next to
	 * each other, and is then a figure like others. So is what a value has
	 * beyond the measured terms of its limit.
	 */
	std::vector<Outcome> outcomes() const;

private:
	using Each = std::function<void(const Sample &)>;
	using ByRepetition = std::map<unsigned int, double>;

	void each(const std::string &section, const std::string &label,
		  const std::string &column, const Each &f) const;
	ByRepetition figures(const Operand &of,
			     const std::string &metric) const;
	std::vector<double> values(const Goal &goal) const;

	const Plan &plan_;
	std::vector<Sample> samples_;
};

/* A line for each sample. */
void write_csv(std::ostream &out, const Results &results);
/* Everything, with summaries and outcomes of goals. */
void write_json(std::ostream &out, const Results &results,
		const Machine &machine);
/* Tables of medians and spreads; then the goals. */
void write_text(std::ostream &out, const Results &results,
		const Machine &machine);
/* An SVG chart of one metric of a section; "" where nothing was measured. */
std::string chart_of(const Results &results, const Section &section,
		     const std::string &metric);
} // namespace mrcbench
