// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report_summary.hpp"

#include <fmt/format.h>

namespace mrclab
{
namespace
{
std::string lines_of_run(const DrillRun &run, const std::string &head)
{
	std::string out;

	for (const FlowEnd &f : run.flows)
		if (!f.ok)
			out += fmt::format("{}{} failed: {}\n", head, f.name,
					   f.why);
	for (const Latency &l : run.latencies)
		out += fmt::format("{}{}: latency at least {:.4g}us, typical "
				   "{:.4g}us, 99 % {:.4g}us, 99.9 % {:.4g}us\n",
				   head, l.name, l.min, l.typical, l.p99,
				   l.p999);
	for (const Gap &g : run.gaps)
		out += fmt::format(
			"{}{}: longest time without a byte {:.4g}ms\n", head,
			g.name, g.ms);
	for (const Verdict &v : run.verdicts)
		out += fmt::format("{}{}: {:.4g}{} (wanted {:.4g}{}){}\n", head,
				   v.text, v.got, v.unit, v.wanted, v.unit,
				   v.ok || run.devices != "mrc" ? ""
								: " NOT MET");
	return out;
}
} // namespace

std::string summary_of(const DrillResult &result)
{
	std::string out;

	for (const DrillRun &run : result.runs)
		out += lines_of_run(run, fmt::format("{} ({}): ", result.name,
						 run.devices));
	return out;
}
} // namespace mrclab
