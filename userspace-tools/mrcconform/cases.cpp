// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cases.hpp"

#include <algorithm>
#include <set>

#include <fnmatch.h>

namespace mrcconform
{
std::vector<const Case *> all_cases()
{
	std::vector<const Case *> list;

	for (const auto part :
	     {wire_cases(), write_cases(), imm_cases(), sack_cases(),
	      ack_cases(), trim_cases(), endpoint_cases(), req_cases(),
	      req_loss_cases(), srv6_cases(), planes_cases()})
		for (const Case &c : part)
			list.push_back(&c);
	return list;
}

std::vector<const Case *> chosen_cases(const std::vector<std::string> &patterns)
{
	const auto all = all_cases();
	std::set<const Case *> chosen;
	std::vector<const Case *> list;

	for (const std::string &p : patterns) {
		bool known = false;

		for (const Case *c : all) {
			const std::string name(c->name);

			if (fnmatch(p.c_str(), name.c_str(), 0) &&
			    !name.starts_with(p + "."))
				continue;
			known = true;
			chosen.insert(c);
		}
		if (!known)
			throw UsageError("no case matches '" + p + "'");
	}
	std::ranges::copy_if(all, std::back_inserter(list), [&](const Case *c) {
		return patterns.empty() || chosen.contains(c);
	});
	return list;
}

const char *level_name(Level level)
{
	return level == Level::must ? "MUST" : "SHOULD";
}
} // namespace mrcconform
