// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "report.hpp"

#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mrcconform
{
namespace
{
using nlohmann::ordered_json;

/* Lines of the trace that a report shows. */
constexpr size_t shown_lines = 40;

std::string line_of(const TraceLine &t)
{
	return fmt::format("{:9.6f} {} {}", t.at, t.what, t.text);
}

/* The last lines of the trace. */
std::span<const TraceLine> tail(const Result &r)
{
	const std::span<const TraceLine> all(r.trace);

	return all.size() > shown_lines ? all.last(shown_lines) : all;
}

std::string details(const Result &r)
{
	std::string s =
		fmt::format("rule:     MRC 1.0 §{} ({}): {}\n", r.test->section,
			    level_name(r.test->level), r.test->rule);

	if (r.verdict != Verdict::passed)
		s += fmt::format("{} {}\n",
				 r.verdict == Verdict::failed	 ? "expected:"
				 : r.verdict == Verdict::skipped ? "reason:  "
								 : "error:   ",
				 r.text);
	if (r.trace.size() > shown_lines)
		s += fmt::format("          ({} lines before)\n",
				 r.trace.size() - shown_lines);
	for (const TraceLine &t : tail(r))
		s += fmt::format("{:9.6f} {} {}\n", t.at,
				 t.what == '>' ? "sent" : "came", t.text);
	return s;
}

const char *word(const Result &r)
{
	switch (r.verdict) {
	case Verdict::passed:
		return "PASS";
	case Verdict::skipped:
		return "SKIP";
	case Verdict::error:
		return "ERROR";
	default:
		return r.test->level == Level::must ? "FAIL" : "WARN";
	}
}

ordered_json json_of(const Case &c)
{
	return {{"name", c.name},
		{"section", fmt::format("MRC 1.0 §{}", c.section)},
		{"level", level_name(c.level)},
		{"rule", c.rule}};
}

ordered_json json_of(const Result &r)
{
	ordered_json j = json_of(*r.test);

	j["address"] = r.address;
	j["verdict"] = verdict_name(r.verdict);
	j["seconds"] = r.seconds;
	if (r.verdict == Verdict::passed)
		return j;
	j["text"] = r.text;
	j["trace"] = ordered_json::array();
	for (const TraceLine &t : tail(r))
		j["trace"].push_back(line_of(t));
	return j;
}
} // namespace

const char *verdict_name(Verdict v)
{
	switch (v) {
	case Verdict::passed:
		return "passed";
	case Verdict::failed:
		return "failed";
	case Verdict::skipped:
		return "skipped";
	default:
		return "error";
	}
}

Counts count(const std::vector<Result> &results)
{
	Counts c;

	for (const Result &r : results) {
		switch (r.verdict) {
		case Verdict::passed:
			c.passed++;
			break;
		case Verdict::failed:
			(r.test->level == Level::must ? c.failed_must
						      : c.failed_should)++;
			break;
		case Verdict::skipped:
			c.skipped++;
			break;
		case Verdict::error:
			c.errors++;
			break;
		}
	}
	return c;
}

int status_of(const std::vector<Result> &results, bool strict)
{
	const Counts c = count(results);

	if (c.failed_must || (strict && c.failed_should))
		return exit_failed;
	return c.errors ? exit_system : exit_ok;
}

void print_text(std::ostream &out, const Result &r, bool verbose)
{
	out << fmt::format("{:5} {} [{}]{}\n", word(r), r.test->name, r.address,
			   r.verdict == Verdict::skipped ? ": " + r.text : "");
	if (r.verdict == Verdict::failed || r.verdict == Verdict::error ||
	    verbose) {
		std::string s = details(r);

		/* Indented, so that results can be told from details. */
		for (size_t at = 0; at < s.size();) {
			const size_t end = s.find('\n', at);

			out << "      " << s.substr(at, end - at) << '\n';
			at = end + 1;
		}
	}
	out << std::flush;
}

void print_summary(std::ostream &out, const std::vector<Result> &results)
{
	const Counts c = count(results);

	out << fmt::format("{} passed, {} failed (MUST), {} failed (SHOULD), "
			   "{} skipped, {} errors\n",
			   c.passed, c.failed_must, c.failed_should, c.skipped,
			   c.errors);
}

void print_json(std::ostream &out, const std::vector<Result> &results)
{
	const Counts c = count(results);
	ordered_json j{{"mrcconform", 1},
		       {"passed", c.passed},
		       {"failed_must", c.failed_must},
		       {"failed_should", c.failed_should},
		       {"skipped", c.skipped},
		       {"errors", c.errors}};

	j["results"] = ordered_json::array();
	for (const Result &r : results)
		j["results"].push_back(json_of(r));
	out << j.dump(1, '\t') << '\n';
}

std::string xml_text(std::string_view s)
{
	std::string out;

	for (const char ch : s) {
		switch (ch) {
		case '&':
			out += "&amp;";
			break;
		case '<':
			out += "&lt;";
			break;
		case '>':
			out += "&gt;";
			break;
		case '"':
			out += "&quot;";
			break;
		default:
			/* XML has no other control characters. */
			if (static_cast<unsigned char>(ch) < ' ' &&
			    ch != '\n' && ch != '\t')
				out += '?';
			else
				out += ch;
		}
	}
	return out;
}

void print_junit(std::ostream &out, const std::vector<Result> &results)
{
	/* One suite for each address. */
	std::map<std::string, std::vector<const Result *>> suites;

	for (const Result &r : results)
		suites[r.address].push_back(&r);
	out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
	for (const auto &[address, list] : suites) {
		std::vector<Result> of_suite;
		double seconds = 0;

		for (const Result *r : list) {
			of_suite.push_back(*r);
			seconds += r->seconds;
		}
		const Counts c = count(of_suite);

		out << fmt::format(
			"<testsuite name=\"mrcconform {}\" tests=\"{}\" "
			"failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
			"time=\"{:.3f}\">\n",
			xml_text(address), list.size(),
			c.failed_must + c.failed_should, c.errors, c.skipped,
			seconds);
		for (const Result *r : list) {
			const std::string_view name = r->test->name;

			out << fmt::format(
				"<testcase classname=\"mrcconform.{}\" "
				"name=\"{}\" time=\"{:.3f}\">",
				xml_text(name.substr(0, name.find('.'))),
				xml_text(name), r->seconds);
			if (r->verdict == Verdict::skipped)
				out << fmt::format("<skipped message=\"{}\"/>",
						   xml_text(r->text));
			else if (r->verdict != Verdict::passed)
				out << fmt::format(
					"<{0} type=\"{1}\" message=\"{2}\">"
					"{3}</{0}>",
					r->verdict == Verdict::failed
						? "failure"
						: "error",
					level_name(r->test->level),
					xml_text(r->text),
					xml_text(details(*r)));
			out << "</testcase>\n";
		}
		out << "</testsuite>\n";
	}
	out << "</testsuites>\n";
}

void print_list(std::ostream &out, const std::vector<const Case *> &cases)
{
	for (const Case *c : cases)
		out << fmt::format("{:32} {:6} §{:5} {}\n", c->name,
				   level_name(c->level), c->section, c->rule);
}

void print_list_json(std::ostream &out, const std::vector<const Case *> &cases)
{
	ordered_json j = ordered_json::array();

	for (const Case *c : cases)
		j.push_back(json_of(*c));
	out << j.dump(1, '\t') << '\n';
}
} // namespace mrcconform
