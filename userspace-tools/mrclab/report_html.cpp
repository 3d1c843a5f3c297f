// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report_html.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "../common/html.hpp"
#include "report_rows.hpp"
#include "text.hpp"

namespace mrclab
{
using html::escaped;

namespace
{
/* Empty lines separate paragraphs. */
std::string paragraphs(const std::string &text)
{
	std::string out, paragraph;
	const auto end = [&] {
		if (!paragraph.empty())
			out += "<p>" + paragraph + "</p>\n";
		paragraph.clear();
	};

	for (const std::string &line : lines_of(text)) {
		if (line.find_first_not_of(" \t\r") == std::string::npos)
			end();
		else
			paragraph +=
				(paragraph.empty() ? "" : "\n") + escaped(line);
	}
	end();
	return out;
}

std::string met(bool ok)
{
	return ok ? "<td class=\"yes\">met</td>"
		  : "<td class=\"no\">NOT MET</td>";
}

/* Wanted, measured, met or not. */
std::string cells_of(const Row &row, bool other)
{
	return fmt::format("<td>{}</td><td>{}</td><td>{}</td>{}{}",
			   escaped(row.text), escaped(row.wanted),
			   escaped(row.got),
			   other ? "<td>" + escaped(row.other) + "</td>" : "",
			   met(row.ok));
}

std::string head_of(bool other)
{
	return fmt::format("<th>required</th><th>wanted</th><th>measured</th>"
			   "{}<th>met?</th>",
			   other ? "<th>RoCE</th>" : "");
}

std::string rows_of_table(const DrillResult &result, bool other)
{
	const std::vector<Row> rows = rows_of(result);
	std::string out;

	for (const Row &row : rows) {
		out += "<tr>";
		if (&row == rows.data())
			out += fmt::format(
				"<td rowspan=\"{0}\">{1}</td>"
				"<td rowspan=\"{0}\"><a href=\"#{2}\">{3}</a>"
				"</td><td rowspan=\"{0}\">{4}</td>",
				rows.size(), escaped(result.figure),
				escaped(result.name), escaped(result.title),
				escaped(result.published));
		out += cells_of(row, other) + "</tr>\n";
	}
	return out;
}

std::string table_of(const std::vector<DrillResult> &results)
{
	const bool other = has_other(results);
	std::string out = "<table>\n<thead><tr><th>figure</th><th>drill</th>"
			  "<th>published</th>" +
			  head_of(other) + "</tr></thead>\n<tbody>\n";

	for (const DrillResult &r : results)
		out += rows_of_table(r, other);
	return out + "</tbody>\n</table>\n";
}

std::string picture_of(const DrillResult &result, const Pictures &pictures)
{
	const auto p = pictures.find(result.name);

	if (p == pictures.end())
		return "";
	return html::picture(p->second, result.name + "-", result.title);
}

std::string verdicts_of(const DrillResult &result)
{
	const bool other = has_other({result});
	std::string out = "<table>\n<thead><tr>" + head_of(other) +
			  "</tr></thead>\n<tbody>\n";

	for (const Row &row : rows_of(result))
		out += "<tr>" + cells_of(row, other) + "</tr>\n";
	return out + "</tbody>\n</table>\n";
}

/* Runs that have latencies. */
std::vector<const DrillRun *> runs_with_latencies(const DrillResult &result)
{
	std::vector<const DrillRun *> all;

	for (const DrillRun &run : result.runs)
		if (!run.latencies.empty())
			all.push_back(&run);
	return all;
}

/* What a run has of a flow; empty if its program has failed. */
std::string latency_cells(const DrillRun &run, const std::string &flow)
{
	std::string out;

	for (const Latency &l : run.latencies)
		if (l.name == flow)
			for (const double us :
			     {l.min, l.typical, l.p99, l.p999})
				out += "<td>" + figure_of(us, "us") + "</td>";
	return out.empty() ? "<td></td><td></td><td></td><td></td>" : out;
}

/* A line for each flow, with the runs side by side. */
std::string latencies_of(const DrillResult &result)
{
	const auto runs = runs_with_latencies(result);
	std::vector<std::string> flows;
	std::string out = "<h3>Latency</h3>\n<table>\n<thead><tr><th>traffic"
			  "</th>";

	if (runs.empty())
		return "";
	for (const DrillRun *run : runs) {
		for (const char *what : {"min", "typical", "99 %", "99.9 %"})
			out += fmt::format(
				"<th>{}, {}</th>",
				run->devices == "mrc" ? "MRC" : "RoCE", what);
		for (const Latency &l : run->latencies)
			if (std::find(flows.begin(), flows.end(), l.name) ==
			    flows.end())
				flows.push_back(l.name);
	}
	out += "</tr></thead>\n<tbody>\n";
	for (const std::string &flow : flows) {
		out += "<tr><td>" + escaped(flow) + "</td>";
		for (const DrillRun *run : runs)
			out += latency_cells(*run, flow);
		out += "</tr>\n";
	}
	return out + "</tbody>\n</table>\n";
}

/* How long the flow was silent at most, if that was measured. */
std::string gap_of(const DrillRun &run, const std::string &flow)
{
	for (const Gap &g : run.gaps)
		if (g.name == flow)
			return "; longest time without a byte " +
			       figure_of(g.ms, "ms");
	return "";
}

std::string list_of_flows(const DrillResult &result)
{
	std::string out;

	for (const DrillRun &run : result.runs)
		for (const FlowEnd &f : run.flows) {
			out += fmt::format("<p>{}, {}: {}{}</p>\n",
					   escaped(run.devices),
					   escaped(f.name),
					   f.ok ? "all programs have succeeded"
						: "a program has failed",
					   gap_of(run, f.name));
			if (!f.ok && !f.why.empty())
				out += html::preformatted(f.why);
		}
	return out;
}

std::string link(const std::string &file)
{
	return fmt::format("<a href=\"{0}\">{0}</a>", escaped(file));
}

std::string links_of(const DrillResult &result)
{
	std::string out = "<p>Files: " + link(file_name(result, "json"));

	for (const DrillRun &run : result.runs) {
		out += ", " + link(csv_name(result, run));
		if (!run.latencies.empty())
			out += ", " + link(latency_csv_name(result, run));
	}
	return out + ", " + link(file_name(result, "svg")) + ", " +
	       link(file_name(result, "png")) + "</p>\n";
}

/* A figure has a number; others say what they are. */
std::string where_of(const std::string &figure)
{
	if (figure.empty())
		return "";
	return (figure[0] >= '0' && figure[0] <= '9' ? " as figure " : " as ") +
	       escaped(figure);
}

std::string section_of(const DrillResult &r, const Pictures &pictures)
{
	std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n",
				      escaped(r.name), escaped(r.title));

	out += fmt::format("<p>Fabric {}</p>\n", escaped(r.fabric));
	out += picture_of(r, pictures);
	if (!r.figure.empty() || !r.published.empty())
		out += fmt::format("<p>Published{}: {}</p>\n",
				   where_of(r.figure), escaped(r.published));
	out += verdicts_of(r) + latencies_of(r) + list_of_flows(r) +
	       paragraphs(r.about);
	out += fmt::format("<p>Linux {}, {}</p>\n", escaped(r.kernel),
			   escaped(r.date));
	return out + links_of(r) + "</section>\n";
}
} // namespace

std::string html_of(const std::vector<DrillResult> &results,
		    const Pictures &pictures)
{
	std::string out = "<p>" + score_of(results) + ".</p>\n";

	out += table_of(results);
	for (const DrillResult &r : results)
		out += section_of(r, pictures);
	return html::page("Drills of MRC", out);
}

std::string csv_name(const DrillResult &result, const DrillRun &run)
{
	return file_name(result, run.devices + ".csv");
}

std::string latency_csv_name(const DrillResult &result, const DrillRun &run)
{
	return file_name(result, run.devices + ".latency.csv");
}

std::string file_name(const DrillResult &result, const std::string &suffix)
{
	return result.name + "." + suffix;
}
} // namespace mrclab
