// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report.hpp"

#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "../common/gnuplot.hpp"
#include "error.hpp"
#include "files.hpp"
#include "plot.hpp"
#include "report_html.hpp"
#include "report_rows.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

/* Names and numbers that a file cannot have are in no report either. */
void check(const std::vector<DrillResult> &results)
{
	std::set<std::string> names;

	for (const DrillResult &r : results) {
		parse_result(json_of(r), r.name);
		if (!names.insert(r.name).second)
			throw UsageError(fmt::format(
				"there are two results of \"{}\"", r.name));
	}
}

std::string draw(const DrillResult &result, gnuplot::Format format)
{
	try {
		return gnuplot::draw(plot_of(result), format);
	} catch (const gnuplot::Error &e) {
		throw SystemError(e.what());
	}
}

void write_result(const DrillResult &r, const fs::path &dir,
		  const std::string &svg)
{
	const std::string png = draw(r, gnuplot::Format::png);

	write_text(dir / file_name(r, "json"), json_of(r));
	for (const DrillRun &run : r.runs) {
		write_text(dir / csv_name(r, run), csv_of(run));
		if (!run.latencies.empty())
			write_text(dir / latency_csv_name(r, run),
				   latency_csv_of(run));
	}
	write_text(dir / file_name(r, "svg"), svg);
	write_text(dir / file_name(r, "png"), png);
}
} // namespace

void write_report(const std::vector<DrillResult> &results,
		  const std::string &dir)
{
	std::error_code err;
	Pictures pictures;

	check(results);
	for (const DrillResult &r : results)
		pictures[r.name] = draw(r, gnuplot::Format::svg);
	fs::create_directories(dir, err);
	if (err)
		throw SystemError(dir, err.value());
	for (const DrillResult &r : results)
		write_result(r, dir, pictures[r.name]);
	write_text(fs::path(dir) / "report.md", markdown_of(results));
	write_text(fs::path(dir) / "report.html", html_of(results, pictures));
}
} // namespace mrclab
