/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: the results, and whether they meet the goals of a plan. */
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../common/gnuplot_text.hpp"
#include "plans.hpp"
#include "stats.hpp"

namespace mrcbench
{
/* Version of the JSON structure. A change that breaks readers increments it. */
constexpr int result_schema = 1;

/* One measurement of one column at one point. */
struct Sample {
	std::string section;
	std::string label; /* of the point */
	std::string column;
	unsigned int repetition = 0;		/* from 0 */
	std::map<std::string, double> values; /* by metric */
	std::string error;			/* why there are no values */
};

/* The machine of the measurements, for later readers. */
struct Machine {
	std::string when; /* ISO 8601, UTC */
	std::string kernel;
	std::string processor;
	unsigned int processors = 0;
	double idle_busy = 0; /* load of the idle machine, 0 to 1 */
	std::string driver;   /* version of the mrc module, if known */
};

struct Outcome {
	const Goal *goal = nullptr;
	/* no value: a side of the goal was not measured */
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
	/* Whether anything in the section was measured or failed. */
	bool has(const std::string &section) const;

	/* Over repetitions; no value if there is no such figure. */
	std::optional<mrcperf::Summary> summary(const std::string &section,
						const std::string &label,
						const std::string &column,
						const std::string &metric) const;
	/* "3 of 5 failed: the reason", "" without failures. */
	std::string failures(const std::string &section,
			     const std::string &label,
			     const std::string &column) const;
	/*
	 * A ratio is computed in each repetition, from values measured close to
	 * each other, and is then treated like other figures. The same applies
	 * to the excess of a value over the measured terms of its limit.
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

/* One line for each sample. */
void write_csv(std::ostream &out, const Results &results);
/* Everything, with summaries and outcomes of goals. */
void write_json(std::ostream &out, const Results &results,
		const Machine &machine);
/* Tables of medians and spreads; then the goals. */
void write_text(std::ostream &out, const Results &results,
		const Machine &machine);
/* A chart of one metric of a section; no value if nothing was measured. */
std::optional<gnuplot::Plot> chart_of(const Results &results,
				      const Section &section,
				      const std::string &metric);
} // namespace mrcbench
