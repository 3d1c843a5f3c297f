// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "gnuplot.hpp"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "process.hpp"

namespace gnuplot
{
namespace
{
std::string terminal(const Plot &plot, Format format)
{
	if (format == Format::svg)
		return fmt::format(
			"set terminal svg size {},{} noenhanced "
			"font 'sans-serif,12' background '#ffffff'\n",
			plot.width, plot.height);
	return fmt::format("set terminal pngcairo size {},{} noenhanced "
			   "font 'sans-serif,12' background '#ffffff' "
			   "fontscale 1.5 linewidth 2 pointscale 2\n",
			   plot.width * 2, plot.height * 2);
}

process::Ended run(const std::string &script)
{
	const char *other = std::getenv("GNUPLOT");

	try {
		/* Without the settings of this user and machine. */
		return process::run({other ? other : "gnuplot", "-d"}, script);
	} catch (const std::system_error &e) {
		if (e.code() == std::errc::no_such_file_or_directory)
			throw Missing("pictures need gnuplot, which is not "
				      "installed (package gnuplot-nox)");
		throw Error(e.what());
	}
}
/* XML does not allow ]]> in text; gnuplot leaves > as it is. */
std::string well_formed(std::string svg)
{
	for (std::size_t at = svg.find("]]>"); at != std::string::npos;
	     at = svg.find("]]>", at))
		svg.replace(at, 3, "]]&gt;");
	return svg;
}
} // namespace

std::string draw(const Plot &plot, Format format)
{
	const process::Ended e = run("set encoding utf8\n" +
				     terminal(plot, format) + plot.script);

	if (e.status != 0 || e.out.empty())
		throw Error(fmt::format("gnuplot ended with status {}: {}",
					e.status, process::trimmed(e.err)));
	return format == Format::svg ? well_formed(e.out) : e.out;
}
} // namespace gnuplot
