// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "html_report.hpp"

#include <fmt/format.h>

#include "../common/html.hpp"
#include "runner.hpp"

namespace mrcsim
{
namespace
{
using html::escaped;

std::string us(double ps)
{
	return fmt::format("{:.2f}", ps / 1e6);
}

std::string row_of(const RunResult &r)
{
	const Spread &f = r.fct;
	const Totals &t = r.totals;
	std::string out = "<tr>";
	const auto cell = [&out](const std::string &text) {
		out += "<td>" + escaped(text) + "</td>";
	};
	const auto count = [&cell](u64 n) { cell(fmt::format("{}", n)); };

	cell(r.column);
	count(r.seed);
	cell(fmt::format("{} of {}", t.finished - t.failed, r.flows));
	for (const double ps :
	     {static_cast<double>(f.min), f.mean, static_cast<double>(f.p50),
	      static_cast<double>(f.p99), static_cast<double>(f.max)})
		cell(f.n ? us(ps) : "");
	cell(f.n ? fmt::format("{:.4f}", r.jain) : "");
	for (const u64 n :
	     {t.data, t.resent, t.control, r.links.marked, r.links.trimmed,
	      r.links.dropped, r.links.lost + r.links.cut})
		count(n);
	cell(fmt::format("{:016x}", r.digest));
	return out + "</tr>\n";
}

std::string table_of(const std::vector<RunResult> &runs)
{
	std::string out = "<table>\n<thead><tr>";

	for (const char *head :
	     {"column", "seed", "flows", "FCT min, us", "mean", "50 %", "99 %",
	      "max", "Jain", "data packets", "sent again", "control", "marked",
	      "trimmed", "dropped", "lost", "digest"})
		out += fmt::format("<th>{}</th>", head);
	out += "</tr></thead>\n<tbody>\n";
	for (const RunResult &r : runs)
		out += row_of(r);
	return out + "</tbody>\n</table>\n";
}
} // namespace

std::string html_of(const Scenario &s, const std::vector<RunResult> &runs,
		    const std::vector<std::string> &pictures)
{
	const std::vector<Figure> figures = figures_of(runs);
	std::string body = "<h2>Results</h2>\n" + table_of(runs);

	for (std::size_t n = 0; n < pictures.size(); n++)
		body += html::picture(pictures[n], fmt::format("f{}-", n),
				      figures[n].title);
	body += "<h2>Settings</h2>\n" + html::preformatted(plan_text(s));
	if (!s.text.empty())
		body += "<h2>Scenario</h2>\n" + html::preformatted(s.text);
	return html::page(s.name, body);
}
} // namespace mrcsim
