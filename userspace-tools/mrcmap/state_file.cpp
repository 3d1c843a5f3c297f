// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "state_file.hpp"

#include <nlohmann/json.hpp>

#include "error.hpp"

namespace mrcmap
{
namespace
{
using Json = nlohmann::ordered_json;

constexpr int version = 1;

const char *key(Form form)
{
	switch (form) {
	case Form::json:
		return "state";
	case Form::prometheus:
		return "prometheus";
	case Form::dot:
		return "dot";
	case Form::history:
		return "history";
	default:
		return "text";
	}
}
} // namespace

const char *const state_path = "/run/mrcmap/state.json";

std::string state_text(const mrclab::Topology &t, const Snapshot &s)
{
	Json j;

	j["mrcmap"] = version;
	j["fabric"] = t.fabric().name;
	j["wall_ms"] = s.wall;
	j["findings"] = s.alarms.size();
	j[key(Form::text)] = text_of(t, s);
	j[key(Form::prometheus)] = prometheus_of(t, s);
	j[key(Form::dot)] = dot_of(t, s);

	std::string out = j.dump(1, ' ', false, Json::error_handler_t::replace);

	/* These are JSON already. */
	out.resize(out.rfind('\n'));
	for (const auto &[name, text] :
	     {std::pair(key(Form::json), json_of(t, s)),
	      std::pair(key(Form::history), history_json(t, s))}) {
		out += ",\n \"";
		out += name;
		out += "\": ";
		out += text;
	}
	return out + "\n}\n";
}

Shown shown(const std::string &file, const std::string &text, Form form)
{
	Shown out;

	try {
		const Json j = Json::parse(text);

		if (j.at("mrcmap") != version)
			throw mrclab::SystemError(
				file + " is of another version of mrcmap");
		j.at("findings").get_to(out.findings);
		j.at("wall_ms").get_to(out.wall);

		const Json &what = j.at(key(form));

		out.text = what.is_string() ? what.get<std::string>()
					    : what.dump(2) + "\n";
	} catch (const Json::exception &e) {
		throw mrclab::SystemError(file + ": " + e.what());
	}
	return out;
}
} // namespace mrcmap
