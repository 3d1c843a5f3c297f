// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: the words of faults, those of mrclab as far as links have them. */
#include <algorithm>

#include <fmt/format.h>
#include <fnmatch.h>

#include "error.hpp"
#include "scenario.hpp"
#include "units.hpp"

namespace mrcsim
{
using mrclab::UsageError;

namespace
{
/* Patterns look at every link, so large fabrics have none. */
constexpr u64 most_pattern_links = u64{1} << 22;

/* The node that sends, of NODE:NETDEV. */
std::string_view sender_of(std::string_view name)
{
	return name.substr(0, name.find(':'));
}

std::vector<u32> find_links(const Shape &s, const std::string &word)
{
	const bool both = word.ends_with("+");
	const std::string name = word.substr(0, word.size() - both);
	const bool pattern = name.find_first_of("*?[") != std::string::npos;
	const bool node = !pattern && name.find(':') == std::string::npos;
	std::vector<u32> found;

	if (pattern || node) {
		if (s.links() > most_pattern_links)
			throw UsageError(fmt::format(
				"\"{}\": a fabric of {} links needs the name "
				"of one",
				word, s.links()));
		for (u32 id = 0; id < s.links(); id++) {
			const std::string is = s.name(id);

			if (node ? sender_of(is) == name
				 : fnmatch(name.c_str(), is.c_str(), 0) == 0)
				found.push_back(id);
		}
	} else {
		found = s.named(name);
	}
	if (found.empty())
		throw UsageError(fmt::format("\"{}\" is no link and no node of "
					     "the fabric",
					     name));
	/* Nothing reaches a node that is down. */
	if (both || node)
		for (std::size_t i = found.size(); i-- > 0;)
			found.push_back(s.reverse(found[i]));
	std::sort(found.begin(), found.end());
	found.erase(std::unique(found.begin(), found.end()), found.end());
	return found;
}
} // namespace

Fault parse_fault(const Shape &shape, const std::vector<std::string> &w, u64 at)
{
	Fault f;

	if (w.size() < 2)
		throw UsageError("a fault is TARGET down, up, clear, loss "
				 "PERCENT, or rate RATE");
	f.at = at;
	f.links = find_links(shape, w[0]);
	if (w.size() == 2 && w[1] == "down") {
		f.kind = Fault::Kind::down;
	} else if (w.size() == 2 && w[1] == "up") {
		f.kind = Fault::Kind::up;
	} else if (w.size() == 2 && w[1] == "drop") {
		f.kind = Fault::Kind::loss;
		f.loss = 1;
	} else if (w.size() == 2 && w[1] == "clear") {
		f.kind = Fault::Kind::restore;
	} else if (w.size() == 3 && w[1] == "loss") {
		f.kind = Fault::Kind::loss;
		f.loss = mrclab::parse_percent(w[2]);
	} else if (w.size() == 3 && w[1] == "rate") {
		f.kind = Fault::Kind::rate;
		f.rate = w[2].ends_with("%")
				 ? static_cast<u64>(
					   mrclab::parse_percent(w[2]) *
					   static_cast<double>(
						   shape.of(shape.kind_of(
								    f.links[0]))
							   .rate))
				 : mrclab::parse_rate(w[2]);
		if (f.rate < 1'000'000)
			throw UsageError("a link of less than 1 Mbit/s");
	} else {
		throw UsageError(fmt::format("\"{}\" is no fault; down, up, "
					     "drop, clear, loss PERCENT and "
					     "rate RATE are",
					     w[1]));
	}
	return f;
}
} // namespace mrcsim
