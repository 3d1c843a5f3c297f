// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report_rows.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "../common/gnuplot_text.hpp"
#include "drill_series.hpp"

namespace mrclab
{
namespace
{
/* The figure, or why there is none, which judge() says at the text's end. */
std::string figure_of(const Verdict &v)
{
	for (const char *why :
	     {"nothing before", "never reached", "not measured", "no sample"})
		if (v.text.ends_with(std::string(", ") + why))
			return why;
	return mrclab::figure_of(v.got, v.unit);
}

/* Has a program failed of the flows that the requirement is about? */
bool has_failed(const DrillRun &run, const Verdict &v)
{
	const std::string what = v.text.substr(0, v.text.find_first_of(",:"));

	return std::any_of(run.flows.begin(), run.flows.end(),
			   [&what](const FlowEnd &f) {
				   return !f.ok && is_flow(f.name, what);
			   });
}

/*
 * What the runs with other devices have for the requirement of this number: a
 * run has a verdict for each. A program that has failed carries nothing, which
 * is no measurement of its device's speed.
 */
std::string other_of(const DrillResult &result, std::size_t number)
{
	for (const DrillRun &run : result.runs)
		if (run.devices != "mrc" && number < run.verdicts.size())
			return figure_of(run.verdicts[number]) +
			       (has_failed(run, run.verdicts[number])
					? ", failed"
					: "");
	return "";
}

/* What is not met shall not look as if it were, for want of a digit. */
Row row_of(const Verdict &v, const std::string &other)
{
	Row r{v.text, mrclab::figure_of(v.wanted, v.unit),
	      mrclab::figure_of(v.got, v.unit), other, v.ok};

	for (int more = 1; !v.ok && r.got == r.wanted && more < 6; more++)
		r.got = mrclab::figure_of(v.got, v.unit, more);
	return r;
}

void add_rows(std::vector<Row> &rows, const DrillResult &result,
	      const DrillRun &run)
{
	for (std::size_t i = 0; i < run.verdicts.size(); i++)
		rows.push_back(row_of(run.verdicts[i], other_of(result, i)));
	for (const FlowEnd &f : run.flows)
		if (!f.ok)
			rows.push_back({f.name + ": its programs succeed", "",
					"failed", "", false});
}
/* A cell of a table of Markdown: nothing in @text has a meaning there. */
std::string cell(const std::string &text)
{
	const std::string line = gnuplot::one_line(text);
	std::string out;

	for (std::size_t i = 0; i < line.size(); i++) {
		/* Between letters, _ has no meaning: ib_write_bw. */
		const bool inside =
			line[i] == '_' && i > 0 && i + 1 < line.size() &&
			std::isalnum(static_cast<unsigned char>(line[i - 1])) &&
			std::isalnum(static_cast<unsigned char>(line[i + 1]));

		if (!inside && std::strchr("\\`*_[]<>|~&", line[i]))
			out += '\\';
		out += line[i];
	}
	return out;
}
} // namespace

std::vector<Row> rows_of(const DrillResult &result)
{
	std::vector<Row> rows;

	for (const DrillRun &run : result.runs)
		if (run.devices == "mrc")
			add_rows(rows, result, run);
	if (rows.empty())
		rows.push_back(
			{"all programs succeed", "", "", "", passed(result)});
	return rows;
}

std::string figure_of(double value, const std::string &unit, int more)
{
	/* Indices of fairness are close to 1: their third digit counts. */
	const int digits = unit.empty() ? 3 : std::fabs(value) < 100 ? 1 : 0;
	std::string n = fmt::format("{:.{}f}", value, digits + more);

	if (n.find('.') != std::string::npos) {
		n.erase(n.find_last_not_of('0') + 1);
		if (n.back() == '.')
			n.pop_back();
	}
	return unit.empty() ? n : n + " " + unit;
}

bool has_other(const std::vector<DrillResult> &results)
{
	for (const DrillResult &r : results)
		for (const Row &row : rows_of(r))
			if (!row.other.empty())
				return true;
	return false;
}

std::string score_of(const std::vector<DrillResult> &results)
{
	std::size_t all = 0, met = 0;

	for (const DrillResult &r : results)
		for (const Row &row : rows_of(r)) {
			all++;
			met += row.ok;
		}
	return fmt::format("{} of {} requirements are met", met, all);
}

std::string markdown_of(const std::vector<DrillResult> &results)
{
	const bool other = has_other(results);
	std::string out =
		fmt::format("| figure | drill | published | required | wanted "
			    "| measured |{} met? |\n|---|---|---|---|---|---|{}"
			    "---|\n",
			    other ? " RoCE |" : "", other ? "---|" : "");

	for (const DrillResult &r : results) {
		bool first = true;

		for (const Row &row : rows_of(r)) {
			out += first ? fmt::format("| {} | {} | {} |",
						   cell(r.figure),
						   cell(r.title),
						   cell(r.published))
				     : "| | | |";
			out += fmt::format(" {} | {} | {} |", cell(row.text),
					   cell(row.wanted), cell(row.got));
			if (other)
				out += fmt::format(" {} |", cell(row.other));
			out += row.ok ? " met |\n" : " **not met** |\n";
			first = false;
		}
	}
	return out;
}
} // namespace mrclab
