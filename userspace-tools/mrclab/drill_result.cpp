// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_result.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "error.hpp"

namespace mrclab
{
namespace
{
using Json = nlohmann::ordered_json;

/* Of the JSON's structure. A change that breaks readers increments it. */
constexpr int64_t version = 2;

/* JSON has no infinity and no NaN: the library would write null for them. */
double finite(double v, const std::string &what)
{
	if (!std::isfinite(v))
		throw SystemError(fmt::format("{} is not finite", what));
	return v;
}

Json json_of(const std::vector<double> &values, const std::string &what)
{
	Json j = Json::array();

	for (const double v : values)
		j.push_back(finite(v, what));
	return j;
}

Json json_of(const DrillRun &run)
{
	Json j = {{"devices", run.devices},
		  {"times", json_of(run.times, "a time")},
		  {"series", Json::array()},
		  {"events", Json::array()},
		  {"flows", Json::array()},
		  {"latencies", Json::array()},
		  {"gaps", Json::array()},
		  {"verdicts", Json::array()}};

	for (const Series &s : run.series)
		j["series"].push_back({{"name", s.name},
				       {"flow", s.flow},
				       {"values", json_of(s.values, s.name)}});
	for (const Event &e : run.events)
		j["events"].push_back({{"at", finite(e.at, e.text)},
				       {"text", e.text},
				       {"done", finite(e.done, e.text)}});
	for (const FlowEnd &f : run.flows)
		j["flows"].push_back(
			{{"name", f.name}, {"ok", f.ok}, {"why", f.why}});
	for (const Latency &l : run.latencies)
		j["latencies"].push_back(
			{{"name", l.name},
			 {"min", finite(l.min, l.name)},
			 {"typical", finite(l.typical, l.name)},
			 {"p99", finite(l.p99, l.name)},
			 {"p999", finite(l.p999, l.name)}});
	for (const Gap &g : run.gaps)
		j["gaps"].push_back(
			{{"name", g.name}, {"ms", finite(g.ms, g.name)}});
	for (const Verdict &v : run.verdicts)
		j["verdicts"].push_back({{"text", v.text},
					 {"wanted", finite(v.wanted, v.text)},
					 {"got", finite(v.got, v.text)},
					 {"unit", v.unit},
					 {"ok", v.ok}});
	return j;
}

/* A value of the file and where it is: "runs[0].times[3]". */
class Place
{
public:
	Place(const Json &json, const std::string &file, std::string where = "")
		: json_(json), file_(file), where_(std::move(where))
	{
	}

	[[noreturn]] void fail(const std::string &why) const
	{
		throw FileError(file_, 0,
				where_.empty() ? why : where_ + ": " + why);
	}

	/* Calls @use for each element of a list. */
	void list(const std::function<void(const Place &)> &use) const
	{
		std::size_t i = 0;

		if (!json_.is_array())
			fail("not a list");
		for (const Json &j : json_)
			use(Place(j, file_,
				  fmt::format("{}[{}]", where_, i++)));
	}

	/* A map that has exactly these members. */
	void map(const std::vector<std::string> &members) const
	{
		if (!json_.is_object())
			fail("not a map");
		for (const auto &[key, value] : json_.items())
			if (std::find(members.begin(), members.end(), key) ==
			    members.end())
				fail(fmt::format("\"{}\" is unknown", key));
		for (const std::string &m : members)
			if (!json_.contains(m))
				fail(fmt::format("\"{}\" is missing", m));
	}

	Place operator[](const std::string &member) const
	{
		return {json_.at(member), file_,
			where_.empty() ? member : where_ + "." + member};
	}

	std::string text() const
	{
		if (!json_.is_string())
			fail("not a string");
		return json_.get<std::string>();
	}

	double number() const
	{
		if (!json_.is_number())
			fail("not a number");
		return json_.get<double>();
	}

	bool truth() const
	{
		if (!json_.is_boolean())
			fail("neither true nor false");
		return json_.get<bool>();
	}

	std::vector<double> numbers() const
	{
		std::vector<double> all;

		list([&](const Place &p) { all.push_back(p.number()); });
		return all;
	}

private:
	const Json &json_;
	const std::string &file_;
	std::string where_;
};

Series series_of(const Place &at, std::size_t times)
{
	Series s;

	at.map({"name", "flow", "values"});
	s.name = at["name"].text();
	s.flow = at["flow"].truth();
	s.values = at["values"].numbers();
	if (s.values.size() != times)
		at["values"].fail(fmt::format("{} values for {} times",
					      s.values.size(), times));
	return s;
}

Event event_of(const Place &at)
{
	at.map({"at", "text", "done"});
	return {at["at"].number(), at["text"].text(), at["done"].number()};
}

FlowEnd flow_of(const Place &at)
{
	at.map({"name", "ok", "why"});
	return {at["name"].text(), at["ok"].truth(), at["why"].text()};
}

Latency latency_of(const Place &at)
{
	at.map({"name", "min", "typical", "p99", "p999"});
	return {at["name"].text(), at["min"].number(), at["typical"].number(),
		at["p99"].number(), at["p999"].number()};
}

Gap gap_of(const Place &at)
{
	at.map({"name", "ms"});
	return {at["name"].text(), at["ms"].number()};
}

Verdict verdict_of(const Place &at)
{
	at.map({"text", "wanted", "got", "unit", "ok"});
	return {at["text"].text(), at["wanted"].number(), at["got"].number(),
		at["unit"].text(), at["ok"].truth()};
}

/*
 * Latencies have different names and ascend from the least to 99.9 %. No figure
 * is negative.
 */
void check_latencies(const Place &at, const DrillRun &run)
{
	std::set<std::string> names;

	for (const Latency &l : run.latencies) {
		if (l.name.empty() || !names.insert(l.name).second)
			at["latencies"].fail(fmt::format(
				"the name \"{}\" is empty or there twice",
				l.name));
		if (l.min < 0 || l.typical < l.min || l.p99 < l.typical ||
		    l.p999 < l.p99)
			at["latencies"].fail(fmt::format(
				"the figures of \"{}\" do not ascend", l.name));
	}
	for (const Gap &g : run.gaps)
		if (g.ms < 0)
			at["gaps"].fail(fmt::format("that of \"{}\" is below 0",
						    g.name));
}

/* Pictures and CSV need names, and times that go on. */
void check_run(const Place &at, const DrillRun &run)
{
	std::set<std::string> names;

	if (run.devices != "mrc" && run.devices != "rxe")
		at["devices"].fail("neither \"mrc\" nor \"rxe\"");
	for (std::size_t i = 0; i < run.times.size(); i++)
		if (run.times[i] <= (i ? run.times[i - 1] : 0))
			at["times"].fail(fmt::format(
				"number {} is not after the one before it",
				i + 1));
	for (const Series &s : run.series)
		if (s.name.empty() || !names.insert(s.name).second)
			at["series"].fail(fmt::format(
				"the name \"{}\" is empty or there twice",
				s.name));
}

DrillRun run_of(const Place &at)
{
	DrillRun r;

	at.map({"devices", "times", "series", "events", "flows", "latencies",
		"gaps", "verdicts"});
	r.devices = at["devices"].text();
	r.times = at["times"].numbers();
	at["series"].list([&](const Place &p) {
		r.series.push_back(series_of(p, r.times.size()));
	});
	at["events"].list(
		[&](const Place &p) { r.events.push_back(event_of(p)); });
	at["flows"].list(
		[&](const Place &p) { r.flows.push_back(flow_of(p)); });
	at["latencies"].list(
		[&](const Place &p) { r.latencies.push_back(latency_of(p)); });
	at["gaps"].list([&](const Place &p) { r.gaps.push_back(gap_of(p)); });
	at["verdicts"].list(
		[&](const Place &p) { r.verdicts.push_back(verdict_of(p)); });
	check_run(at, r);
	check_latencies(at, r);
	return r;
}

/* The drill's name becomes a part of paths. */
bool is_file_name(const std::string &name)
{
	return !name.empty() && name.size() <= 100 && name[0] != '.' &&
	       name[0] != '-' &&
	       std::all_of(name.begin(), name.end(), [](unsigned char c) {
		       return c < 0x80 && (std::isalnum(c) || c == '.' ||
					   c == '-' || c == '_');
	       });
}

DrillResult result_of(const Place &top)
{
	DrillResult r;
	std::set<std::string> devices;

	top.map({"version", "name", "title", "figure", "published", "about",
		 "fabric", "kernel", "date", "shown", "runs"});
	if (top["version"].number() != version)
		top["version"].fail(fmt::format("only {} is known", version));
	r.name = top["name"].text();
	if (!is_file_name(r.name))
		top["name"].fail("a file's name of letters, digits, \".\", "
				 "\"-\" and \"_\" is needed");
	r.title = top["title"].text();
	r.figure = top["figure"].text();
	r.published = top["published"].text();
	r.about = top["about"].text();
	r.fabric = top["fabric"].text();
	r.kernel = top["kernel"].text();
	r.date = top["date"].text();
	top["shown"].list([&](const Place &p) { r.shown.push_back(p.text()); });
	top["runs"].list([&](const Place &p) {
		r.runs.push_back(run_of(p));
		if (!devices.insert(r.runs.back().devices).second)
			p["devices"].fail("there twice");
	});
	return r;
}

/* A field of CSV, see RFC 4180. */
std::string csv_field(const std::string &text)
{
	std::string out = "\"";

	if (text.find_first_of(",\"\r\n") == std::string::npos)
		return text;
	for (const char c : text)
		out += c == '"' ? "\"\"" : std::string(1, c);
	return out + "\"";
}

/*
 * Puts the elements of lists of numbers, each of which has a line of its own in
 * @json, into lines of some length. Only these lines begin with a digit or -.
 */
std::string with_rows(const std::string &json)
{
	constexpr std::size_t row = 80;
	std::istringstream in(json);
	std::string out, line;
	std::size_t begin = 0; /* of the last line */
	bool numbers = false;

	while (std::getline(in, line)) {
		const std::string word = line.substr(
			std::min(line.find_first_not_of('\t'), line.size()));
		const bool number =
			!word.empty() && (word[0] == '-' || isdigit(word[0]));

		if (number && numbers &&
		    out.size() + word.size() < begin + row) {
			out += " " + word;
			continue;
		}
		begin = out.size() + 1;
		out += (out.empty() ? "" : "\n") + line;
		numbers = number;
	}
	return out + "\n";
}

int line_at(std::string_view text, std::size_t byte)
{
	const auto end = text.begin() + static_cast<std::ptrdiff_t>(
						std::min(byte, text.size()));

	return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}
} // namespace

std::string json_of(const DrillResult &result)
{
	Json j = {{"version", version},
		  {"name", result.name},
		  {"title", result.title},
		  {"figure", result.figure},
		  {"published", result.published},
		  {"about", result.about},
		  {"fabric", result.fabric},
		  {"kernel", result.kernel},
		  {"date", result.date},
		  {"shown", result.shown},
		  {"runs", Json::array()}};

	for (const DrillRun &r : result.runs)
		j["runs"].push_back(json_of(r));
	/* What programs have said need not be UTF-8. */
	return with_rows(
		j.dump(1, '\t', false, Json::error_handler_t::replace));
}

DrillResult parse_result(std::string_view text, const std::string &file)
{
	Json j;

	if (text.size() > max_result)
		throw FileError(
			file, 0,
			fmt::format("is longer than {} bytes", max_result));
	try {
		j = Json::parse(text);
	} catch (const Json::parse_error &e) {
		throw FileError(file, line_at(text, e.byte), "no JSON");
	} catch (const Json::exception &) {
		throw FileError(file, 0, "no JSON: a number is out of range");
	}
	return result_of(Place(j, file));
}

std::string csv_of(const DrillRun &run)
{
	std::string out = "s";

	for (const Series &s : run.series)
		out += "," + csv_field(s.name);
	out += "\n";
	for (std::size_t i = 0; i < run.times.size(); i++) {
		out += fmt::format("{}", run.times[i]);
		for (const Series &s : run.series)
			out += fmt::format(",{}", s.values.at(i));
		out += "\n";
	}
	return out;
}

std::string latency_csv_of(const DrillRun &run)
{
	std::string out = "name,min us,typical us,99 % us,99.9 % us\n";

	for (const Latency &l : run.latencies)
		out += fmt::format("{},{},{},{},{}\n", csv_field(l.name), l.min,
				   l.typical, l.p99, l.p999);
	return out;
}

bool passed(const DrillResult &result)
{
	const auto ok = [](const auto &v) { return v.ok; };
	bool any = false;

	for (const DrillRun &r : result.runs) {
		if (r.devices != "mrc")
			continue;
		any = true;
		if (!std::all_of(r.flows.begin(), r.flows.end(), ok) ||
		    !std::all_of(r.verdicts.begin(), r.verdicts.end(), ok))
			return false;
	}
	return any;
}
} // namespace mrclab
