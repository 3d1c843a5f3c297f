// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "perftest.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "error.hpp"
#include "text.hpp"

namespace mrclab
{
namespace
{
using Columns = std::vector<std::string>;

/* Other options of perftest make other columns, or cycles of them. */
const Columns titles = {
	"#bytes",	    "#iterations", "t_min[usec]",     "t_max[usec]",
	"t_typical[usec]",  "t_avg[usec]", "t_stdev[usec]",   "99%",
	"percentile[usec]", "99.9%",	   "percentile[usec]"};

/* Of a row: a percentile's title is two words. */
enum Column { bytes, iterations, t_min, t_max, typical, avg, stdev, p99, p999 };
constexpr std::size_t columns = 9;

/* A day: what takes longer is no latency. */
constexpr double most_us = 86400e6;

/* What is shown of a line that is wrong. */
std::string shown(std::string_view line)
{
	constexpr std::size_t most = 100;

	return fmt::format("\"{}\"", line.substr(0, most));
}

uint64_t count_of(std::string_view word, std::string_view line)
{
	uint64_t n = 0;
	const char *const end = word.data() + word.size();
	const auto r = std::from_chars(word.data(), end, n);

	if (r.ec != std::errc() || r.ptr != end || n == 0)
		throw UsageError(
			fmt::format("no row of latencies: {}", shown(line)));
	return n;
}

double us_of(std::string_view word, std::string_view line)
{
	double us = 0;
	const char *const end = word.data() + word.size();
	const auto r =
		std::from_chars(word.data(), end, us, std::chars_format::fixed);

	/* "inf" is a processor whose frequency perftest does not know. */
	if (r.ec != std::errc() || r.ptr != end || !std::isfinite(us) ||
	    us < 0 || us > most_us)
		throw UsageError(
			fmt::format("no row of latencies: {}", shown(line)));
	return us;
}

Latency row_of(std::string_view line, const std::string &flow)
{
	const Columns words = words_of(line);
	double us[columns] = {};

	if (words.size() != columns)
		throw UsageError(
			fmt::format("no row of latencies: {}", shown(line)));
	for (const Column c : {bytes, iterations})
		count_of(words[c], line);
	for (std::size_t c = t_min; c < columns; c++)
		us[c] = us_of(words[c], line);
	if (us[typical] <= 0 || us[t_min] > us[typical] ||
	    us[typical] > us[p99] || us[p99] > us[p999] ||
	    us[p999] > us[t_max] || us[avg] < us[t_min] || us[avg] > us[t_max])
		throw UsageError(fmt::format("latencies that contradict each "
					     "other: {}",
					     shown(line)));
	return {flow, us[t_min], us[typical], us[p99], us[p999]};
}

/* The line of dashes behind the table. */
bool is_rule(const Columns &words)
{
	constexpr std::size_t least = 8;

	return words.size() == 1 && words[0].size() >= least &&
	       words[0].find_first_not_of('-') == std::string_view::npos;
}
} // namespace

Latency parse_latency(std::string_view output, const std::string &flow)
{
	Latency last;
	bool title = false, inside = false;

	for (const std::string &line : lines_of(output)) {
		const Columns words = words_of(line);

		if (!words.empty() && words[0] == titles[0]) {
			if (title)
				throw UsageError("two tables of latencies");
			if (words != titles)
				throw UsageError(fmt::format(
					"no table of latencies in us: {}",
					shown(line)));
			title = inside = true;
		} else if (inside && !words.empty()) {
			inside = !is_rule(words);
			if (inside)
				last = row_of(line, flow);
		}
	}
	if (!title)
		throw UsageError("no table of latencies");
	if (last.name.empty())
		throw UsageError("a table of latencies without a row");
	return last;
}
} // namespace mrclab
