// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "results.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "chart.hpp"
#include "metrics.hpp"
#include "report.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::csv_field;
using mrcperf::summarize;
using mrcperf::Summary;
using Json = nlohmann::ordered_json;

Json json_of(const Summary &s)
{
	return {{"median", s.median},
		{"min", s.min},
		{"max", s.max},
		{"spread_percent", s.spread}};
}

Json json_of(const Shape &s)
{
	return {{"test", name_of(s.test)},
		{"op", name_of(s.op)},
		{"size", s.size},
		{"qps", s.qps},
		{"planes", s.planes},
		{"mtu", s.mtu},
		{"evs", s.evs},
		{"cc", s.cc},
		{"depth", s.depth},
		{"list", s.list},
		{"inline", s.inline_size},
		{"timeout", s.timeout},
		{"wait", name_of(s.wait)},
		{"seconds", s.seconds},
		{"netem", s.netem},
		{"netem_back", s.netem_back}};
}

const Point *point_of(const Plan &plan, const Sample &s)
{
	for (const Point &p : plan.section(s.section).points)
		if (p.label() == s.label)
			return &p;
	return nullptr;
}

std::string figure(double value, int digits)
{
	return fmt::format("{:.{}f}", value, digits);
}

std::string with_spread(const Summary &s, int digits)
{
	return fmt::format("{} ({} .. {})", figure(s.median, digits),
			   figure(s.min, digits), figure(s.max, digits));
}
} // namespace

void Results::add(Sample sample)
{
	samples_.push_back(std::move(sample));
}

bool Results::has(const std::string &section) const
{
	return std::any_of(samples_.begin(), samples_.end(),
			   [&](const Sample &s) {
				   return s.section == section;
			   });
}

void Results::each(const std::string &section, const std::string &label,
		   const std::string &column, const Each &f) const
{
	for (const Sample &s : samples_)
		if (s.section == section && s.label == label &&
		    s.column == column)
			f(s);
}

std::optional<Summary> Results::summary(const std::string &section,
					const std::string &label,
					const std::string &column,
					const std::string &metric) const
{
	std::vector<double> values;

	each(section, label, column, [&](const Sample &s) {
		const auto v = s.values.find(metric);

		if (s.error.empty() && v != s.values.end())
			values.push_back(v->second);
	});
	if (values.empty())
		return std::nullopt;
	return summarize(std::move(values));
}

std::string Results::failures(const std::string &section,
			      const std::string &label,
			      const std::string &column) const
{
	std::string why;
	unsigned int failed = 0, all = 0;

	each(section, label, column, [&](const Sample &s) {
		all++;
		if (s.error.empty())
			return;
		failed++;
		why = s.error;
	});
	return failed ? fmt::format("{} of {} failed: {}", failed, all, why)
		      : "";
}

Results::ByRepetition Results::figures(const Operand &of,
				       const std::string &metric) const
{
	ByRepetition out;

	each(of.section, of.label, of.column, [&](const Sample &s) {
		const auto v = s.values.find(metric);

		if (s.error.empty() && v != s.values.end())
			out[s.repetition] = v->second;
	});
	return out;
}

std::vector<double> Results::values(const Goal &goal) const
{
	const ByRepetition base =
		goal.ratio ? figures(goal.base, goal.metric) : ByRepetition();
	std::vector<ByRepetition> terms;
	std::vector<double> out;

	for (const Term &t : goal.terms)
		terms.push_back(figures(t.of, t.metric));
	/* The sum of the limit's terms in a repetition, if all were measured.
	 */
	const auto sum = [&](unsigned int repetition) -> std::optional<double> {
		double all = 0;

		for (size_t i = 0; i < terms.size(); i++) {
			const auto v = terms[i].find(repetition);

			if (v == terms[i].end())
				return std::nullopt;
			all += goal.terms[i].factor * v->second;
		}
		return all;
	};

	each(goal.value.section, goal.value.label, goal.value.column,
	     [&](const Sample &s) {
		     const auto v = s.values.find(goal.metric);
		     /* A sample that failed counts as 0. */
		     const double value =
			     s.error.empty() && v != s.values.end() ? v->second
								    : 0;

		     if (!s.error.empty() && !goal.at_least)
			     return;
		     if (!goal.ratio) {
			     if (const auto less = sum(s.repetition))
				     out.push_back(value - *less);
		     } else if (const auto b = base.find(s.repetition);
				b != base.end() && b->second > 0) {
			     out.push_back(value / b->second);
		     }
	     });
	return out;
}

std::vector<Outcome> Results::outcomes() const
{
	std::vector<Outcome> all;

	for (const Section &section : plan_.sections)
		for (const Goal &goal : section.goals) {
			std::vector<double> v = values(goal);
			Outcome o;

			o.goal = &goal;
			if (!v.empty()) {
				o.value = summarize(std::move(v));
				o.met = goal.at_least
						? o.value->median >= goal.limit
						: o.value->median <= goal.limit;
			}
			all.push_back(o);
		}
	return all;
}

void write_csv(std::ostream &out, const Results &results)
{
	out << "plan,section,point,column,repetition,test,op,size,qps,planes,"
	       "mtu,evs,depth,wait,netem";
	for (const Metric &m : metrics())
		out << ',' << m.name;
	out << ",error\n";
	for (const Sample &s : results.samples()) {
		const Point *p = point_of(results.plan(), s);

		if (!p)
			continue;
		const Shape &shape = p->shape;

		out << fmt::format(
			"{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
			csv_field(results.plan().name), csv_field(s.section),
			csv_field(s.label), s.column, s.repetition + 1,
			name_of(shape.test), name_of(shape.op), shape.size,
			shape.qps, shape.planes, shape.mtu, shape.evs,
			shape.depth, name_of(shape.wait),
			csv_field(shape.netem));
		for (const Metric &m : metrics()) {
			const auto v = s.values.find(m.name);

			out << ',';
			if (v != s.values.end())
				out << fmt::format("{:.6g}", v->second);
		}
		out << ',' << csv_field(s.error) << '\n';
	}
}

namespace
{
Json column_json(const Results &results, const Section &section,
		 const std::string &label, const std::string &column)
{
	Json j;

	j["column"] = column;
	j["summary"] = Json::object();
	for (const Metric &m : metrics())
		if (const auto s = results.summary(section.name, label, column,
						   m.name))
			j["summary"][m.name] = json_of(*s);
	j["samples"] = Json::array();
	for (const Sample &s : results.samples()) {
		if (s.section != section.name || s.label != label ||
		    s.column != column)
			continue;
		Json one;

		one["repetition"] = s.repetition + 1;
		if (!s.error.empty())
			one["error"] = s.error;
		for (const auto &[name, value] : s.values)
			one[name] = value;
		j["samples"].push_back(std::move(one));
	}
	return j;
}

Json section_json(const Results &results, const Section &section)
{
	Json j;

	j["name"] = section.name;
	j["title"] = section.title;
	j["points"] = Json::array();
	for (const Point &p : section.points) {
		Json point;

		point["label"] = p.label();
		point["shape"] = json_of(p.shape);
		point["columns"] = Json::array();
		for (const std::string &c : section.columns)
			point["columns"].push_back(column_json(
				results, section, p.label(), c));
		j["points"].push_back(std::move(point));
	}
	return j;
}
} // namespace

void write_json(std::ostream &out, const Results &results,
		const Machine &machine)
{
	Json j;

	j["schema"] = result_schema;
	j["plan"] = results.plan().name;
	j["title"] = results.plan().title;
	j["machine"] = {{"when", machine.when},
			{"kernel", machine.kernel},
			{"processor", machine.processor},
			{"processors", machine.processors},
			{"idle_busy", machine.idle_busy},
			{"driver", machine.driver}};
	j["sections"] = Json::array();
	for (const Section &s : results.plan().sections)
		j["sections"].push_back(section_json(results, s));
	j["goals"] = Json::array();
	for (const Outcome &o : results.outcomes()) {
		Json goal;

		goal["goal"] = o.goal->text;
		goal["measured"] = o.value.has_value();
		if (o.value)
			goal["value"] = json_of(*o.value);
		goal["met"] = o.met;
		j["goals"].push_back(std::move(goal));
	}
	out << j.dump(1, '\t', false, Json::error_handler_t::replace) << '\n';
}

namespace
{
void print_table(std::ostream &out,
		 const std::vector<std::vector<std::string>> &rows)
{
	std::vector<size_t> width;

	for (const auto &row : rows)
		for (size_t i = 0; i < row.size(); i++) {
			if (width.size() <= i)
				width.push_back(0);
			width[i] = std::max(width[i], row[i].size());
		}
	for (const auto &row : rows) {
		std::string line = "  ";

		for (size_t i = 0; i < row.size(); i++)
			line += fmt::format("{:<{}}{}", row[i], width[i],
					    i + 1 < row.size() ? "  " : "");
		line.erase(line.find_last_not_of(' ') + 1);
		out << line << '\n';
	}
}

void print_metric(std::ostream &out, const Results &results,
		  const Section &section, const Metric &m)
{
	std::vector<std::vector<std::string>> rows;
	std::vector<std::string> head{section.axes.empty() ? "" : "point"};
	bool any = false;

	head.insert(head.end(), section.columns.begin(), section.columns.end());
	rows.push_back(std::move(head));
	for (const Point &p : section.points) {
		std::vector<std::string> row{p.label()};

		for (const std::string &c : section.columns) {
			const auto s = results.summary(section.name, p.label(),
						       c, m.name);

			any |= s.has_value();
			row.push_back(s ? with_spread(*s, m.digits) : "-");
		}
		rows.push_back(std::move(row));
	}
	if (!any)
		return;
	out << fmt::format("  {}{}\n", m.title,
			   *m.unit ? fmt::format(", {}", m.unit) : "");
	print_table(out, rows);
}

void print_failures(std::ostream &out, const Results &results,
		    const Section &section)
{
	for (const Point &p : section.points)
		for (const std::string &c : section.columns) {
			const std::string f = results.failures(section.name,
							       p.label(), c);

			if (!f.empty())
				out << fmt::format("  {} {}: {}\n", c,
						   p.label(), f);
		}
}
} // namespace

void write_text(std::ostream &out, const Results &results,
		const Machine &machine)
{
	const std::vector<Outcome> outcomes = results.outcomes();

	out << fmt::format("{}\n{}, Linux {}, {} x {}\n", results.plan().title,
			   machine.when, machine.kernel, machine.processors,
			   machine.processor);
	out << fmt::format("median (smallest .. largest) of {} repetitions\n",
			   results.plan().repeat);
	for (const Section &s : results.plan().sections) {
		if (!results.has(s.name))
			continue;
		out << fmt::format("\n{}: {}\n", s.name, s.title);
		for (const std::string &name : s.metrics)
			if (const Metric *m = find_metric(name))
				print_metric(out, results, s, *m);
		print_failures(out, results, s);
	}
	if (outcomes.empty())
		return;
	std::vector<std::vector<std::string>> rows{
		{"goal", "measured", "met?"}};
	size_t unmet = 0;

	for (const Outcome &o : outcomes) {
		rows.push_back({o.goal->text,
				o.value ? with_spread(*o.value, 3)
					: "not measured",
				o.met ? "met" : "NOT MET"});
		unmet += !o.met;
	}
	out << "\nGoals\n";
	print_table(out, rows);
	if (unmet)
		out << fmt::format("\n{} of {} goals are NOT MET\n", unmet,
				   outcomes.size());
	else
		out << fmt::format("\nall {} goals are met\n", outcomes.size());
}

std::optional<gnuplot::Plot> chart_of(const Results &results,
				      const Section &section,
				      const std::string &metric)
{
	const Metric *m = find_metric(metric);
	Chart chart;
	bool any = false;

	if (!m)
		return std::nullopt;
	chart.title = section.title;
	chart.y = fmt::format("{}{}", m->title,
			      *m->unit ? fmt::format(", {}", m->unit) : "");
	if (!section.axes.empty()) {
		chart.x = section.axes[0].key;
		chart.at = section.axes[0].values;
	} else {
		chart.at = {""};
	}
	const std::vector<std::string> second =
		section.axes.size() > 1 ? section.axes[1].values
					: std::vector<std::string>{""};

	for (const std::string &column : section.columns)
		for (const std::string &other : second) {
			Line line;

			line.name = column;
			if (!other.empty())
				line.name += fmt::format(
					", {} {}", section.axes[1].key, other);
			for (const std::string &x : chart.at) {
				const std::string label =
					other.empty()
						? x
						: fmt::format("{}/{}", x, other);
				const auto s = results.summary(
					section.name, label, column, metric);

				any |= s.has_value();
				line.marks.push_back(s);
			}
			chart.lines.push_back(std::move(line));
		}
	if (!any)
		return std::nullopt;
	return plot_of(chart);
}
} // namespace mrcbench
