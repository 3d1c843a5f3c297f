/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Schemas for editors, compared with parsers. */
#pragma once

#include <functional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace mrclab
{
using Json = nlohmann::json;
using Keys = std::set<std::string>;

Keys keys_of(const Json &object);

/* The words after @before in a message, which commas separate. */
Keys listed(const std::string &message, const std::string &before);

/* As far as the schema @s of a single word needs, which is a part of @schema.
 */
bool valid(const Json &schema, const Json &s, const Json &v);

/*
 * Whatever the parser takes the schema takes; the reverse but for ranges. The
 * words are random. @parse throws UsageError.
 */
void agree(const Json &schema, const std::string &what, const Json &s,
	   int words, const std::function<void(const std::string &)> &parse);
} // namespace mrclab
