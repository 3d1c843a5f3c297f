// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "health_file.hpp"

#include <system_error>

#include <fmt/format.h>

#include "error.hpp"
#include "json.hpp"

namespace mrcctl
{
namespace
{
/* What mrcmap writes has five levels. Deep nesting would need much stack. */
constexpr int max_depth = 16;

/* Throws std::exception with what is wrong. */
Json health_of(const std::string &text)
{
	if (text.size() >= Host::max_file)
		throw UsageError(fmt::format("the file has {} MiB or more",
					     Host::max_file >> 20));
	Json j = Json::parse(text, [](int depth, Json::parse_event_t, Json &) {
		if (depth > max_depth)
			throw UsageError("the JSON is nested too deeply");
		return true;
	});

	if (!j.is_object() || !j.contains("fabric") || !j.contains("links") ||
	    !j["links"].is_array() || !j.contains("findings") ||
	    !j["findings"].is_array())
		throw UsageError("this is not the state of mrcmap's collector");
	return j;
}

std::string answer_of(const std::string &path, const Host::File &f)
{
	Json j = {{"file", path.empty() ? Json(nullptr) : Json(path)},
		  {"error", nullptr},
		  {"health", nullptr}};

	if (path.empty())
		return dumped(j);
	if (f.err) {
		j["error"] =
			path + ": " + std::generic_category().message(f.err);
		return dumped(j);
	}
	try {
		j["health"] = health_of(f.text);
	} catch (const Json::exception &) {
		j["error"] = path + ": this is no JSON";
	} catch (const UsageError &e) {
		j["error"] = fmt::format("{}: {}", path, e.what());
	}
	return dumped(j);
}
} // namespace

std::shared_ptr<const std::string> HealthFile::json()
{
	const std::lock_guard<std::mutex> held(lock_);
	const uint64_t now = clock_.mono_ns();

	if (json_ && now - read_ns_ < interval_ns_)
		return json_;
	read_ns_ = now;
	Host::File f;

	if (!path_.empty())
		f = host_.read(path_);
	if (!json_ || f.err != last_.err || f.text != last_.text) {
		json_ = std::make_shared<std::string>(answer_of(path_, f));
		last_ = std::move(f);
	}
	return json_;
}
} // namespace mrcctl
