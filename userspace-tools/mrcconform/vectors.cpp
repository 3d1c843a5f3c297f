// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "vectors.hpp"

#include <nlohmann/json.hpp>

#include "error.hpp"

namespace mrcconform
{
Vector parse_vector(const std::string &json)
{
	Vector v;

	try {
		const auto j = nlohmann::json::parse(json);

		v.name = j.at("name");
		v.section = j.at("section");
		v.what = j.at("what");
		v.frame = from_hex(j.at("frame").get<std::string>());
		if (j.contains("outer"))
			v.outer = j["outer"].at("bytes");
		if (v.frame.size() < 14 + v.outer + 20)
			throw FormatError("a frame without an IP header");
		v.src = Address::parse(j.at("src"));
		v.dst = Address::parse(j.at("dst"));
		for (const auto &[name, value] : j.at("fields").items())
			v.packet[field_named(name).id] = value;
		v.packet.payload = from_hex(j.at("payload").get<std::string>());
		if (j.contains("icrc_input")) {
			v.icrc_input =
				from_hex(j["icrc_input"].get<std::string>());
			v.icrc = j.at("icrc");
		}
	} catch (const nlohmann::json::exception &e) {
		throw FormatError(e.what());
	}
	return v;
}
} // namespace mrcconform
