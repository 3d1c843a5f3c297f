/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl: the model as JSON, and definitions of profiles from JSON. The output
 * for a profile also defines it: definitions() reads what json_of() writes.
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "model.hpp"

namespace mrcctl
{
using Json = nlohmann::ordered_json;

/*
 * One line, or with @indent many. Bytes that are no UTF-8 are replaced: programs choose
 * their names.
 */
std::string dumped(const Json &j, int indent = -1);

Json json_of(const Device &d);
Json json_of(const Port &p);
Json json_of(const TrafficClasses &tc);
Json json_of(const Limits &l);
Json json_of(const Default &d);
Json json_of(const Fmt &f);
Json json_of(const EvProfile &p);
Json json_of(const CcProfile &p);
Json json_of(const Qp &q);
Json json_without_evs(const Qp &q);
Json json_of(const QpEv &e);
Json json_of(const EvEvent &e);

template <typename T> Json json_of(const std::vector<T> &list)
{
	Json out = Json::array();

	for (const T &t : list)
		out.push_back(json_of(t));
	return out;
}

/* The contents of a file; see mrcctl(8), FILES. Profiles in INIT are left out.
 */
struct Definitions {
	std::vector<Fmt> formats;
	std::vector<EvProfile> ev_profiles;
	std::vector<CcProfile> cc_profiles;
	std::vector<Default> defaults;
};

Json json_of(const Definitions &d);
/* Throws UsageError with the place of the error. */
Definitions definitions(std::string_view text);
} // namespace mrcctl
