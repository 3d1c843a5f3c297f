// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "timeline.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "error.hpp"
#include "text.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t max_flaps = 10000;
constexpr std::size_t max_faults = 20000;

/* What the lines that have been read say. */
struct Steps {
	uint64_t end = 0;
	std::map<uint64_t, Step> all;
	std::size_t faults = 0;
	int line = 0; /* that is being read */
};

/* A second fault of the same moment joins the first one. */
void add(Steps &steps, uint64_t at, const std::vector<std::string> &fault,
	 const std::string &text)
{
	Step &s = steps.all[at];

	if (steps.faults++ == max_faults)
		throw UsageError(fmt::format("there are more than {} faults",
					     max_faults));
	s.at = at;
	s.faults.push_back(fault);
	s.lines.push_back(steps.line);
	if (!text.empty())
		s.text += (s.text.empty() ? "" : ", ") + text;
}

void check_time(uint64_t at, uint64_t end)
{
	if (at >= end)
		throw UsageError(fmt::format("{} is after the drill's end",
					     show_time(at)));
}

/* TARGET flap PERIOD DOWN TIMES */
void add_flaps(Steps &steps, uint64_t at, const std::vector<std::string> &words,
	       const std::string &text)
{
	if (words.size() != 5)
		throw UsageError("it is \"TARGET flap PERIOD DOWN TIMES\"");

	const uint64_t period = parse_time(words[2]),
		       down = parse_time(words[3]),
		       times = parse_count(words[4], 1, max_flaps);

	if (down == 0 || down >= period)
		throw UsageError("the time down is shorter than the period and "
				 "not 0");
	for (uint64_t n = 0; n < times; n++) {
		check_time(at + n * period + down, steps.end);
		add(steps, at + n * period, {words[0], "down"},
		    n == 0 ? text : "");
		add(steps, at + n * period + down, {words[0], "up"}, "");
	}
}

void add_line(Steps &steps, uint64_t at, const YAML::Node &node)
{
	const std::string line = YamlFile::word(node);
	const std::vector<std::string> words = words_of(line);

	steps.line = YamlFile::line(node);
	check_time(at, steps.end);
	if (words.size() > 1 && words[1] == "flap")
		add_flaps(steps, at, words, line);
	else
		add(steps, at, words, line);
}
} // namespace

void read_timeline(const YamlFile &yaml, const YAML::Node &node, uint64_t end,
		   std::vector<Step> &steps)
{
	Steps read;

	read.end = end;
	yaml.each(node, "timeline",
		  [&](const YAML::Node &key, const YAML::Node &v) {
			  const uint64_t at = parse_time(YamlFile::word(key));

			  if (!v.IsSequence())
				  return add_line(read, at, v);
			  yaml.list(v, "the faults of a moment",
				    [&](const YAML::Node &e) {
					    add_line(read, at, e);
				    });
		  });
	for (auto &[at, step] : read.all)
		steps.push_back(std::move(step));
}
} // namespace mrclab
