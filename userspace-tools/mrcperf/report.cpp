// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report.hpp"

#include <functional>
#include <iterator>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mrcperf
{
namespace
{
using Json = nlohmann::ordered_json;

struct LatencyField {
	const char *name;
	double Percentiles::*value;
};

constexpr LatencyField latency_fields[] = {
	{"min", &Percentiles::min},   {"p50", &Percentiles::p50},
	{"p90", &Percentiles::p90},   {"p99", &Percentiles::p99},
	{"p999", &Percentiles::p999}, {"max", &Percentiles::max},
	{"mean", &Percentiles::mean},
};

Summary over(const PointResult &result,
	     const std::function<double(const Run &)> &of)
{
	std::vector<double> values;

	values.reserve(result.runs.size());
	for (const Run &run : result.runs)
		values.push_back(of(run));
	return summarize(values);
}

Summary bandwidth(const PointResult &result)
{
	return over(result, &Run::bytes_per_second);
}

Summary rate(const PointResult &result)
{
	return over(result, &Run::messages_per_second);
}

Summary latency(const PointResult &result, double Percentiles::*value)
{
	return over(result, [value](const Run &run) {
		return run.latency.value_or(Percentiles{}).*value;
	});
}

uint64_t sum(const PointResult &result, uint64_t Run::*value)
{
	uint64_t s = 0;

	for (const Run &run : result.runs)
		s += run.*value;
	return s;
}

/* --- text ------------------------------------------------------------------
 */

class TextReport : public Report
{
public:
	explicit TextReport(std::ostream &out) : out_(out) {}

	void begin(const Options &o, const Setting &s) override
	{
		out_ << fmt::format(
			"# {} to {} at {}: {} queue pairs, {} in flight each, "
			"completion every {}, lists of {}, MTU {}\n",
			s.device, s.peer_device, o.server, o.qps, o.depth,
			o.signal, o.list, s.mtu);
		if (o.duration > 0)
			out_ << fmt::format("# {:g} s each", o.duration);
		else
			out_ << fmt::format("# {} messages of a queue pair",
					    o.iterations);
		out_ << fmt::format(
			", {} before that do not count{}{}\n", o.warmup,
			o.verify ? ", every byte checked" : "",
			o.events ? ", sleeping for completions" : "");
		if (o.repetitions > 1)
			out_ << fmt::format("# medians of {} repetitions; "
					    "spread: (max - min) / median\n",
					    o.repetitions);
		out_.flush();
	}

	void run(const Point &, const Run &) override {}

	void point(const PointResult &r) override
	{
		if (r.point.test != headed_) {
			heading(r.point.test);
			headed_ = r.point.test;
		}
		out_ << fmt::format("{:<6}{:<10}{:>10}{:>12}",
				    name_of(r.point.test), name_of(r.point.op),
				    r.point.size, sum(r, &Run::messages));
		if (r.point.test == Kind::lat)
			latencies(r);
		else
			out_ << fmt::format("{:>14.3f}{:>14.1f}{:>9.1f}",
					    bandwidth(r).median * 8 / 1e6,
					    rate(r).median,
					    bandwidth(r).spread);
		out_ << fmt::format("{:>10}{:>6}\n", sum(r, &Run::checked),
				    sum(r, &Run::bad));
		out_.flush();
	}

	void end(const Totals &t, const std::string &error) override
	{
		out_ << fmt::format(
			"# {} messages, {} bytes, {} checked, {} "
			"bad{}{}\n",
			t.messages, t.bytes, t.checked, t.bad,
			error.empty() ? "" : "; ended early: ", error);
	}

private:
	void heading(Kind test)
	{
		out_ << fmt::format("{:<6}{:<10}{:>10}{:>12}", "#test", "op",
				    "bytes", "messages");
		if (test == Kind::lat)
			out_ << fmt::format(
				"{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>9}",
				"min us", "p50 us", "p90 us", "p99 us",
				"p99.9 us", "max us", "spread%");
		else
			out_ << fmt::format("{:>14}{:>14}{:>9}", "Mb/s",
					    "messages/s", "spread%");
		out_ << fmt::format("{:>10}{:>6}\n", "checked", "bad");
	}

	void latencies(const PointResult &r)
	{
		for (const LatencyField &f : latency_fields)
			if (f.value != &Percentiles::mean)
				out_ << fmt::format("{:>11.2f}",
						    latency(r, f.value).median);
		out_ << fmt::format("{:>9.1f}",
				    latency(r, &Percentiles::p50).spread);
	}

	std::ostream &out_;
	std::optional<Kind> headed_;
};

/* --- CSV -------------------------------------------------------------------
 */

class CsvReport : public Report
{
public:
	explicit CsvReport(std::ostream &out) : out_(out) {}

	void begin(const Options &, const Setting &) override
	{
		std::vector<std::string> names{"kind",
					       "test",
					       "op",
					       "size",
					       "repetition",
					       "messages",
					       "bytes",
					       "seconds",
					       "bytes_per_second",
					       "messages_per_second"};

		for (const LatencyField &f : latency_fields)
			names.push_back(fmt::format("{}_us", f.name));
		names.insert(names.end(), {"checked", "bad"});
		line(names);
	}

	void run(const Point &p, const Run &r) override
	{
		std::vector<std::string> f = head("run", p);

		f.insert(f.end(),
			 {std::to_string(r.repetition),
			  std::to_string(r.messages), std::to_string(r.bytes),
			  number(r.seconds), number(r.bytes_per_second()),
			  number(r.messages_per_second())});
		for (const LatencyField &l : latency_fields)
			f.push_back(r.latency ? number((*r.latency).*l.value)
					      : "");
		f.insert(f.end(),
			 {std::to_string(r.checked), std::to_string(r.bad)});
		line(f);
	}

	void point(const PointResult &r) override
	{
		summary("median", r, &Summary::median);
		summary("spread", r, &Summary::spread);
	}

	void end(const Totals &, const std::string &) override {}

private:
	static std::string number(double v) { return fmt::format("{:.9g}", v); }

	static std::vector<std::string> head(const char *kind, const Point &p)
	{
		return {kind, name_of(p.test), name_of(p.op),
			std::to_string(p.size)};
	}

	/* The sums of all repetitions; speeds are summarised separately. */
	void summary(const char *kind, const PointResult &r,
		     double Summary::*value)
	{
		std::vector<std::string> f = head(kind, r.point);
		double seconds = 0;

		for (const Run &run : r.runs)
			seconds += run.seconds;
		f.insert(f.end(),
			 {"", std::to_string(sum(r, &Run::messages)),
			  std::to_string(sum(r, &Run::bytes)), number(seconds),
			  number(bandwidth(r).*value), number(rate(r).*value)});
		for (const LatencyField &l : latency_fields)
			f.push_back(r.point.test == Kind::lat
					    ? number(latency(r, l.value).*value)
					    : "");
		f.insert(f.end(), {std::to_string(sum(r, &Run::checked)),
				   std::to_string(sum(r, &Run::bad))});
		line(f);
	}

	void line(const std::vector<std::string> &fields)
	{
		const char *comma = "";

		for (const std::string &f : fields) {
			out_ << comma << csv_field(f);
			comma = ",";
		}
		out_ << '\n';
		out_.flush();
	}

	std::ostream &out_;
};

/* --- JSON ------------------------------------------------------------------
 */

template <typename T> Json or_null(const std::optional<T> &v)
{
	return v ? Json(*v) : Json();
}

Json json_of(const Percentiles &p)
{
	Json j = Json::object();

	for (const LatencyField &f : latency_fields)
		j[f.name] = p.*f.value;
	return j;
}

Json json_of(const Summary &s)
{
	return {{"median", s.median},
		{"min", s.min},
		{"max", s.max},
		{"spread_percent", s.spread}};
}

Json json_of(const Run &r)
{
	Json j = {{"repetition", r.repetition},
		  {"messages", r.messages},
		  {"bytes", r.bytes},
		  {"seconds", r.seconds},
		  {"bytes_per_second", r.bytes_per_second()},
		  {"messages_per_second", r.messages_per_second()}};

	if (r.latency)
		j["latency_us"] = json_of(*r.latency);
	j["checked"] = r.checked;
	j["bad"] = r.bad;
	return j;
}

Json json_of(const PointResult &r)
{
	Json runs = Json::array();
	Json summary = {{"bytes_per_second", json_of(bandwidth(r))},
			{"messages_per_second", json_of(rate(r))}};

	for (const Run &run : r.runs)
		runs.push_back(json_of(run));
	if (r.point.test == Kind::lat)
		for (const LatencyField &f : latency_fields)
			summary["latency_us"][f.name] =
				json_of(latency(r, f.value));
	return {{"test", name_of(r.point.test)},
		{"op", name_of(r.point.op)},
		{"size", r.point.size},
		{"runs", runs},
		{"summary", summary}};
}

Json parameters(const Options &o, const Setting &s)
{
	Json j = {{"device", s.device},
		  {"peer_device", s.peer_device},
		  {"server", o.server},
		  {"mtu", s.mtu},
		  {"queue_pairs", o.qps},
		  {"tx_depth", o.depth},
		  {"rx_depth", o.rx_depth},
		  {"signal", o.signal},
		  {"post_list", o.list},
		  {"inline", o.inline_size},
		  {"iterations", o.duration > 0 ? Json() : Json(o.iterations)},
		  {"duration", o.duration > 0 ? Json(o.duration) : Json()},
		  {"warmup", o.warmup},
		  {"repetitions", o.repetitions},
		  {"verify", o.verify},
		  {"events", o.events},
		  {"traffic_class", o.traffic_class},
		  {"timeout", or_null(o.timeout)},
		  {"retry", Json()},
		  {"ev_profile", or_null(o.ev_profile)},
		  {"cc_profile", or_null(o.cc_profile)}};

	if (o.retry)
		j["retry"] = {{"linear", o.retry->linear},
			      {"exponential", o.retry->exponential}};
	return j;
}

/*
 * One document, at the end. If a run ended early, it has the points that are
 * complete.
 */
class JsonReport : public Report
{
public:
	explicit JsonReport(std::ostream &out) : out_(out) {}

	void begin(const Options &o, const Setting &s) override
	{
		parameters_ = parameters(o, s);
	}

	void run(const Point &, const Run &) override {}

	void point(const PointResult &r) override
	{
		results_.push_back(json_of(r));
	}

	void end(const Totals &t, const std::string &error) override
	{
		const Json j = {{"mrcperf", report_schema},
				{"status", status(t, error)},
				{"error", error.empty() ? Json() : Json(error)},
				{"parameters", parameters_},
				{"results", results_},
				{"totals",
				 {{"messages", t.messages},
				  {"bytes", t.bytes},
				  {"checked", t.checked},
				  {"bad", t.bad}}}};

		out_ << j.dump(2, ' ', false, Json::error_handler_t::replace)
		     << '\n';
		out_.flush();
	}

private:
	static const char *status(const Totals &t, const std::string &error)
	{
		if (t.bad)
			return "bad data";
		return error.empty() ? "ok" : "failed";
	}

	std::ostream &out_;
	Json parameters_ = Json::object();
	Json results_ = Json::array();
};
} // namespace

std::unique_ptr<Report> make_report(Format format, std::ostream &out)
{
	switch (format) {
	case Format::csv:
		return std::make_unique<CsvReport>(out);
	case Format::json:
		return std::make_unique<JsonReport>(out);
	case Format::text:
		break;
	}
	return std::make_unique<TextReport>(out);
}

std::string csv_field(const std::string &text)
{
	std::string quoted = "\"";

	if (text.find_first_of(",\"\r\n") == std::string::npos)
		return text;
	for (char c : text) {
		if (c == '"')
			quoted += '"';
		quoted += c;
	}
	return quoted + '"';
}
} // namespace mrcperf
