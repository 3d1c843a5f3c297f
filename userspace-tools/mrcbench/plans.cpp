// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "plans.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "error.hpp"
#include "metrics.hpp"
#include "options.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::parse_number;
using mrcperf::parse_seconds;
using mrcperf::parse_size;
using mrcperf::UsageError;

constexpr std::array<std::pair<const char *, Kind>, 5> tests{{
	{"bw", Kind::bw},
	{"rate", Kind::rate},
	{"lat", Kind::lat},
	{"rtt", Kind::rtt},
	{"idle", Kind::idle},
}};
constexpr std::array<std::pair<const char *, Op>, 4> ops{{
	{"write", Op::write},
	{"write_imm", Op::write_imm},
	{"send", Op::send},
	{"read", Op::read},
}};
constexpr std::array<std::pair<const char *, Wait>, 3> waits{{
	{"event", Wait::event},
	{"yield", Wait::yield},
	{"poll", Wait::poll},
}};

template <typename Table, typename T>
const char *word_of(const Table &table, T value)
{
	for (const auto &[word, v] : table)
		if (v == value)
			return word;
	return "?";
}

template <typename T, typename Table>
T value_of(const Table &table, const std::string &key, const std::string &text)
{
	for (const auto &[word, v] : table)
		if (text == word)
			return v;
	std::string known;

	for (const auto &[word, v] : table)
		known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
	throw UsageError(
		fmt::format("{} is \"{}\", but can be {}", key, text, known));
}

std::string trimmed(const std::string &text)
{
	const size_t from = text.find_first_not_of(" \t\r");

	if (from == std::string::npos)
		return "";
	return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

/* The value of netem_back that means "the same as netem". */
constexpr const char *same_netem = "same";

std::vector<std::string> split(const std::string &text, char at)
{
	std::vector<std::string> parts;
	std::istringstream in(text);
	std::string part;

	while (std::getline(in, part, at))
		if (!trimmed(part).empty())
			parts.push_back(trimmed(part));
	return parts;
}

/* Values of netem contain blanks; values of other keys are single words. */
std::vector<std::string> values_of(const std::string &key,
				   const std::string &text)
{
	const bool words = key != "netem" && key != "netem_back";

	return split(text, words ? ' ' : '|');
}

uint32_t mtu_of(const std::string &text)
{
	const auto mtu =
		static_cast<uint32_t>(parse_number("mtu", text, 256, 4096));

	if (mtu & (mtu - 1))
		throw UsageError("mtu is 256, 512, 1024, 2048 or 4096");
	return mtu;
}

/* The words become arguments of a command and must not inject others. */
std::string netem_of(const std::string &key, const std::string &text)
{
	if (text == "none")
		return "";
	if (text == same_netem && key == "netem_back")
		return same_netem;
	if (text.empty() ||
	    text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.% ") !=
		    std::string::npos)
		throw UsageError(fmt::format("{}: \"{}\" is not for netem", key,
					     text));
	return text;
}

std::string cc_of(const std::string &text)
{
	if (text.empty() ||
	    text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") !=
		    std::string::npos)
		throw UsageError(fmt::format("cc: \"{}\" is no name", text));
	return text;
}

/* The point of @section that an operand names; @own is the goal's point. */
std::string label_of(const Section &section, const std::string &at,
		     const Point &own, bool own_section)
{
	if (at.empty() && (section.axes.empty() || own_section))
		return section.axes.empty() ? "" : own.label();
	for (const Point &p : section.points)
		if (p.label() == at)
			return at;
	throw UsageError(fmt::format(
		"section {} has no point [{}]; it has {}", section.name, at,
		section.points.empty() ? "none"
				       : "[" + section.points[0].label() +
						 "] and so on"));
}

/* COLUMN[@SECTION]['['LABEL']'] */
Operand parse_operand(const Plan &plan, const Section &own, const Point &point,
		      const std::string &text)
{
	const size_t bracket = text.find('[');
	std::string name = text.substr(0, bracket);
	std::string at;
	Operand o;

	if (bracket != std::string::npos) {
		if (text.back() != ']')
			throw UsageError(fmt::format("\"{}\": no ]", text));
		at = text.substr(bracket + 1, text.size() - bracket - 2);
	}
	const size_t sign = name.find('@');

	o.section = own.name;
	if (sign != std::string::npos) {
		o.section = name.substr(sign + 1);
		name = name.substr(0, sign);
	}
	o.column = name;
	const Section &section = plan.section(o.section);

	if (std::find(section.columns.begin(), section.columns.end(), name) ==
	    section.columns.end())
		throw UsageError(fmt::format("section {} has no column \"{}\"",
					     o.section, name));
	o.label = label_of(section, at, point, &section == &own);
	return o;
}

const Metric &metric_of(const std::string &name)
{
	const Metric *m = find_metric(name);

	if (!m)
		throw UsageError(
			fmt::format("there is no metric \"{}\"", name));
	return *m;
}

/* For "lat_p50 mrc@b[8]" returns "mrc@b[8]" and sets @word to the first word.
 */
std::string after_word(const std::string &text, std::string &word)
{
	const size_t space = text.find(' ');

	word = text.substr(0, space);
	return space == std::string::npos ? "" : trimmed(text.substr(space));
}

double number_of(const std::string &text)
{
	return parse_seconds("goal", text, 0, 1e12);
}

/* NUMBER | [NUMBER] METRIC OPERAND */
void add_term(const Plan &plan, const Section &own, const Point &point, Goal &g,
	      const std::string &text)
{
	Term t;
	std::string rest = after_word(text, t.metric);

	if (rest.empty()) {
		g.limit += number_of(text);
		return;
	}
	if (!find_metric(t.metric)) {
		t.factor = number_of(t.metric);
		rest = after_word(rest, t.metric);
	}
	if (std::string(metric_of(t.metric).unit) != metric_of(g.metric).unit)
		throw UsageError(fmt::format("{} and {} have different units",
					     g.metric, t.metric));
	if (g.ratio)
		throw UsageError(fmt::format(
			"\"{}\": a ratio is compared with a number", text));
	t.of = parse_operand(plan, own, point, rest);
	g.terms.push_back(std::move(t));
}

/* METRIC OPERAND [/ OPERAND] >= TERM [+ TERM]... */
Goal parse_goal(const Plan &plan, const Section &own, const Point &point,
		const std::string &text)
{
	Goal g;
	size_t sign = text.find(">=");

	g.at_least = sign != std::string::npos;
	if (!g.at_least)
		sign = text.find("<=");
	if (sign == std::string::npos)
		throw UsageError(fmt::format(
			"goal \"{}\" has neither >= nor <=", text));
	const std::string rest =
		after_word(trimmed(text.substr(0, sign)), g.metric);

	if (rest.empty())
		throw UsageError(fmt::format("goal \"{}\" names no column",
					     text));
	metric_of(g.metric);
	const size_t slash = rest.find(" / ");

	g.ratio = slash != std::string::npos;
	g.value = parse_operand(plan, own, point,
				trimmed(rest.substr(0, slash)));
	if (g.ratio)
		g.base = parse_operand(plan, own, point,
				       trimmed(rest.substr(slash + 3)));
	for (size_t at = sign + 1; at != std::string::npos;) {
		const size_t from = at + 1;

		at = text.find('+', from);
		add_term(plan, own, point, g,
			 trimmed(text.substr(from, at - from)));
	}
	g.text = fmt::format("{}: {}", own.name, text);
	if (!own.axes.empty() && text.find('[') == std::string::npos)
		g.text += fmt::format(" [{}]", point.label());
	return g;
}

/* If an operand names no point, there is one goal for each point. */
void add_goals(const Plan &plan, Section &section, const std::string &text)
{
	const bool each = !section.axes.empty() &&
			  text.find('[') == std::string::npos;

	for (const Point &p : section.points) {
		section.goals.push_back(parse_goal(plan, section, p, text));
		if (!each)
			break;
	}
}

void add_points(Section &section, const Shape &shape, size_t axis,
		std::vector<std::string> &at)
{
	if (axis == section.axes.size()) {
		section.points.push_back({at, shape});
		Shape &s = section.points.back().shape;

		if (s.netem_back == same_netem)
			s.netem_back = s.netem;
		return;
	}
	for (const std::string &value : section.axes[axis].values) {
		Shape s = shape;

		set_key(s, section.axes[axis].key, value);
		at.push_back(value);
		add_points(section, s, axis + 1, at);
		at.pop_back();
	}
}

/* A section that is being parsed. */
struct Draft {
	std::string name;
	int line = 0;
	std::vector<std::pair<std::string, std::string>> keys;
	std::vector<std::pair<std::string, int>> goals;
};

void put_key(std::vector<std::pair<std::string, std::string>> &keys,
	     const std::string &key, const std::string &value)
{
	for (auto &[k, v] : keys)
		if (k == key) {
			v = value;
			return;
		}
	keys.emplace_back(key, value);
}

std::vector<std::string> columns_of(const std::string &text)
{
	std::vector<std::string> columns = split(text, ' ');

	if (columns.empty())
		throw UsageError("no columns");
	for (const std::string &c : columns)
		if (!is_column(c))
			throw UsageError(fmt::format(
				"\"{}\" is no column: mrc, rxe, tcp, "
				"tcp-offload",
				c));
	return columns;
}

void check_shape(const Section &section, const Shape &s)
{
	if ((s.test == Kind::lat) && s.op == Op::write && s.wait == Wait::event)
		throw UsageError(fmt::format(
			"section {}: a WRITE wakes nobody at the other end: "
			"say wait = yield or poll, or op = write_imm or send",
			section.name));
	if (s.test == Kind::lat && s.op == Op::read)
		throw UsageError(fmt::format(
			"section {}: a READ has no ping-pong: say test = rtt",
			section.name));
	if (s.list > s.depth)
		throw UsageError(fmt::format(
			"section {}: list is longer than depth", section.name));
}

Section finish(const Draft &draft)
{
	Section s;
	Shape shape;

	s.name = draft.name;
	s.title = draft.name;
	s.columns = {"mrc", "rxe", "tcp"};
	for (const auto &[key, value] : draft.keys) {
		if (key == "title")
			s.title = value;
		else if (key == "columns")
			s.columns = columns_of(value);
		else if (key == "metrics")
			s.metrics = split(value, ' ');
		else if (const auto values = values_of(key, value);
			 values.size() > 1)
			s.axes.push_back({key, values});
		else
			set_key(shape, key, value);
	}
	for (const std::string &m : s.metrics)
		metric_of(m);
	if (s.axes.size() > 2)
		throw UsageError(fmt::format(
			"section {}: more than two keys have several values",
			s.name));
	std::vector<std::string> at;

	add_points(s, shape, 0, at);
	for (const Point &p : s.points)
		check_shape(s, p.shape);
	if (s.metrics.empty())
		s.metrics = usual_metrics(s.points.front().shape.test);
	return s;
}

class Parser
{
public:
	Parser(std::string name, const std::vector<std::string> &overrides)
		: overrides_(overrides)
	{
		plan_.name = std::move(name);
		plan_.title = plan_.name;
	}

	Plan parse(const std::string &text)
	{
		std::istringstream in(text);
		std::string line;

		while (std::getline(in, line)) {
			line_++;
			at_line([&] { take(trimmed(line)); });
		}
		if (drafts_.empty())
			drafts_.push_back({"measure", line_, defaults_, {}});
		at_line([&] { override_all(); });
		for (const Draft &d : drafts_) {
			line_ = d.line;
			at_line([&] { plan_.sections.push_back(finish(d)); });
		}
		/* Goals may refer to later sections. */
		for (size_t i = 0; i < drafts_.size(); i++)
			for (const auto &goal : drafts_[i].goals) {
				line_ = goal.second;
				at_line([&] {
					add_goals(plan_, plan_.sections[i],
						  goal.first);
				});
			}
		return std::move(plan_);
	}

private:
	template <typename F> void at_line(F &&f) const
	{
		try {
			f();
		} catch (const UsageError &e) {
			throw UsageError(fmt::format("{}:{}: {}", plan_.name,
						     line_, e.what()));
		}
	}

	void take(const std::string &line)
	{
		if (line.empty() || line[0] == '#')
			return;
		if (line[0] == '[') {
			open(line);
			return;
		}
		const size_t is = line.find('=');

		if (is == std::string::npos)
			throw UsageError(
				fmt::format("\"{}\" is no KEY = VALUE", line));
		const std::string key = trimmed(line.substr(0, is));
		const std::string value = trimmed(line.substr(is + 1));

		if (value.empty())
			throw UsageError(fmt::format("{} has no value", key));
		if (drafts_.empty())
			general(key, value);
		else if (key == "goal")
			drafts_.back().goals.emplace_back(value, line_);
		else
			put_key(drafts_.back().keys, key, value);
	}

	void general(const std::string &key, const std::string &value)
	{
		if (key == "title")
			plan_.title = value;
		else if (key == "repeat")
			plan_.repeat = static_cast<unsigned int>(
				parse_number(key, value, 1, 1000));
		else if (key == "goal")
			throw UsageError("a goal belongs to a section");
		else
			put_key(defaults_, key, value);
	}

	void open(const std::string &line)
	{
		const std::string name =
			line.back() == ']' ? line.substr(1, line.size() - 2)
					   : "";

		if (name.empty() ||
		    name.find_first_not_of(
			    "abcdefghijklmnopqrstuvwxyz0123456789-_") !=
			    std::string::npos)
			throw UsageError(fmt::format(
				"\"{}\" is no [name] of a section", line));
		for (const Draft &d : drafts_)
			if (d.name == name)
				throw UsageError(fmt::format(
					"there are two sections {}", name));
		drafts_.push_back({name, line_, defaults_, {}});
	}

	void override_all()
	{
		for (const std::string &o : overrides_) {
			const size_t is = o.find('=');

			if (is == std::string::npos)
				throw UsageError(fmt::format(
					"\"{}\" is no KEY=VALUE", o));
			const std::string key = o.substr(0, is);
			const std::string value = o.substr(is + 1);

			if (key == "repeat")
				general(key, value);
			else
				for (Draft &d : drafts_)
					put_key(d.keys, key, value);
		}
	}

	const std::vector<std::string> &overrides_;
	Plan plan_;
	int line_ = 0;
	std::vector<std::pair<std::string, std::string>> defaults_;
	std::vector<Draft> drafts_;
};
} // namespace

const char *name_of(Kind test)
{
	return word_of(tests, test);
}

const char *name_of(Op op)
{
	return word_of(ops, op);
}

const char *name_of(Wait wait)
{
	return word_of(waits, wait);
}

bool is_column(const std::string &name)
{
	return name == "mrc" || name == "rxe" || name == "tcp" ||
	       name == "tcp-offload";
}

void set_key(Shape &s, const std::string &key, const std::string &value)
{
	const auto number = [&](uint64_t min, uint64_t max) {
		return static_cast<uint32_t>(
			parse_number(key, value, min, max));
	};

	if (key == "test")
		s.test = value_of<Kind>(tests, key, value);
	else if (key == "op")
		s.op = value_of<Op>(ops, key, value);
	else if (key == "wait")
		s.wait = value_of<Wait>(waits, key, value);
	else if (key == "size")
		s.size = parse_size(key, value, 1, 1u << 30);
	else if (key == "qps")
		s.qps = number(1, 4096);
	else if (key == "planes")
		s.planes = number(1, 8);
	else if (key == "mtu")
		s.mtu = mtu_of(value);
	else if (key == "evs")
		s.evs = number(0, 4096);
	else if (key == "depth")
		s.depth = number(1, 8192);
	else if (key == "list")
		s.list = number(1, 1024);
	else if (key == "inline")
		s.inline_size = number(0, 4096);
	else if (key == "timeout")
		s.timeout = number(0, 31);
	else if (key == "seconds")
		s.seconds = parse_seconds(key, value, 0.01, 3600);
	else if (key == "netem")
		s.netem = netem_of(key, value);
	else if (key == "netem_back")
		s.netem_back = netem_of(key, value);
	else if (key == "cc")
		s.cc = cc_of(value);
	else
		throw UsageError(fmt::format("there is no key \"{}\"", key));
}

std::string Point::label() const
{
	std::string l;

	for (const std::string &value : at)
		l += fmt::format("{}{}", l.empty() ? "" : "/", value);
	return l;
}

const Section &Plan::section(const std::string &wanted) const
{
	for (const Section &s : sections)
		if (s.name == wanted)
			return s;
	throw UsageError(fmt::format("there is no section \"{}\"", wanted));
}

Plan parse_plan(const std::string &name, const std::string &text,
		const std::vector<std::string> &overrides)
{
	return Parser(name, overrides).parse(text);
}
} // namespace mrcbench
