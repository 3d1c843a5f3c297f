// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_musts.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "drill_series.hpp"
#include "error.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
/* "7/8": that many parts of so many. */
void parse_part(const std::string &w, Must &m)
{
	const std::size_t slash = w.find('/');

	if (slash == std::string::npos)
		throw UsageError(
			fmt::format("\"{}\" is no part like \"7/8\"", w));
	m.part =
		static_cast<uint32_t>(parse_count(w.substr(0, slash), 1, 4096));
	m.parts = static_cast<uint32_t>(
		parse_count(w.substr(slash + 1), 1, 4096));
	if (m.part > m.parts)
		throw UsageError(fmt::format("\"{}\" is more than all", w));
}

/* Jain's index, from 0 to 1. */
double parse_index(const std::string &w)
{
	const bool decimal = w.starts_with("0.") || w.starts_with("1.") ||
			     w == "0" || w == "1";
	const char *const end = w.data() + w.size();
	double index = 0;
	const auto r =
		std::from_chars(w.data(), end, index, std::chars_format::fixed);

	if (!decimal || r.ec != std::errc() || r.ptr != end || index > 1)
		throw UsageError(
			fmt::format("\"{}\" is no index like \"0.99\"", w));
	return index;
}

class MustReader
{
public:
	explicit MustReader(const YamlFile &yaml) : yaml_(yaml) {}

	Must read(const YAML::Node &node);

private:
	YamlFile::Key share(std::string_view key, Must::Kind kind);
	YamlFile::Key most(std::string_view key, Must::Kind kind);
	YamlFile::Key time(std::string_view key, uint64_t &to, bool &there);
	void check() const;
	void check_latency() const;
	[[noreturn]] void fail(const std::string &why) const
	{
		throw FileError(yaml_.file(), m_.line, why);
	}

	const YamlFile &yaml_;
	Must m_;
	int kinds_ = 0;
	bool from_ = false, to_ = false, within_ = false;
	bool part_ = false;    /* "of" is one, and no flow */
	bool percent_ = false; /* of another latency */
};

YamlFile::Key MustReader::share(std::string_view key, Must::Kind kind)
{
	return {key, [this, kind](const YAML::Node &v) {
			const std::string w = YamlFile::word(v);

			m_.kind = kind;
			m_.share = kind == Must::Kind::fair ? parse_index(w)
							    : parse_percent(w);
			kinds_++;
		}};
}

/* A time that is not exceeded; for latencies also a percentage. */
YamlFile::Key MustReader::most(std::string_view key, Must::Kind kind)
{
	return {key, [this, kind](const YAML::Node &v) {
			const std::string w = YamlFile::word(v);

			m_.kind = kind;
			percent_ = m_.of_latency() && w.ends_with('%');
			if (percent_)
				m_.share = parse_ratio(w);
			else
				m_.within = parse_time(w);
			kinds_++;
		}};
}

YamlFile::Key MustReader::time(std::string_view key, uint64_t &to, bool &there)
{
	return {key, [&to, &there](const YAML::Node &v) {
			to = parse_time(YamlFile::word(v));
			there = true;
		}};
}

Must MustReader::read(const YAML::Node &node)
{
	uint64_t within_time = 0;

	m_.line = YamlFile::line(node);
	yaml_.map(
		node, "a requirement",
		{{"what",
		  [this](const YAML::Node &v) { m_.what = YamlFile::word(v); }},
		 time("from", m_.during.from, from_),
		 time("to", m_.during.to, to_),
		 share("worst", Must::Kind::worst),
		 share("mean", Must::Kind::mean),
		 share("fair", Must::Kind::fair),
		 share("reaches", Must::Kind::reaches),
		 time("within", within_time, within_),
		 most("gap", Must::Kind::gap),
		 most("typical", Must::Kind::typical),
		 most("p99", Must::Kind::p99),
		 {"against",
		  [this](const YAML::Node &v) {
			  m_.rate = parse_rate(YamlFile::word(v));
		  }},
		 {"of", [this](const YAML::Node &v) {
			  const std::string w = YamlFile::word(v);

			  /* Names begin with a letter, parts with a digit. */
			  part_ = w.empty() || w[0] < 'a' || w[0] > 'z';
			  if (part_)
				  parse_part(w, m_);
			  else
				  m_.of = w;
		  }}});
	within_ &= within_time != 0;
	check();
	if (within_)
		m_.within = within_time;
	if (!to_)
		m_.during.to = UINT64_MAX;
	return m_;
}

void MustReader::check() const
{
	const bool reaches = m_.kind == Must::Kind::reaches;
	const bool none =
		m_.kind == Must::Kind::fair || m_.kind == Must::Kind::gap;

	if (m_.what.empty())
		fail("a requirement needs \"what\", the name of a series");
	if (kinds_ != 1)
		fail("a requirement has one of worst, mean, fair, reaches, "
		     "gap, typical, p99");
	if (reaches != within_)
		fail("\"reaches\" and \"within\" belong together");
	if (reaches && to_)
		fail("\"reaches\" has \"within\", and no \"to\"");
	if (none && (part_ || m_.rate))
		fail("\"of\" and \"against\" are not for \"fair\" and \"gap\"");
	if (m_.of_latency())
		check_latency();
	else if (!m_.of.empty())
		fail(fmt::format("of: \"{}\" is no part like \"7/8\"", m_.of));
}

void MustReader::check_latency() const
{
	if (from_ || to_ || m_.rate || part_)
		fail("a latency has no \"from\", \"to\" and \"against\"; "
		     "\"of\" "
		     "is another flow");
	if (percent_ != !m_.of.empty())
		fail("a latency in percent is one \"of\" another flow");
}

/* Is there an interval between two samples that lies in the window? */
bool has_sample(const Drill &d, const Window &w)
{
	const uint64_t first = (w.from + d.sample - 1) / d.sample;

	return (first + 1) * d.sample <= std::min(w.to, d.time);
}

/* A flow that begins later has nothing in the baseline, or a part of it. */
void check_must_baseline(const Drill &d, const Must &m)
{
	const bool compares = m.kind == Must::Kind::worst ||
			      m.kind == Must::Kind::mean ||
			      m.kind == Must::Kind::reaches;

	if (!compares || m.rate)
		return;
	for (const Flow &f : d.flows)
		if (f.start > d.baseline.from && is_flow(f.name, m.what))
			throw UsageError(fmt::format(
				"flow {} starts at {}, after the baseline "
				"begins; compare it with a rate, by "
				"\"against\"",
				f.name, show_time(f.start)));
}
} // namespace

Must read_must(const YamlFile &yaml, const YAML::Node &node)
{
	return MustReader(yaml).read(node);
}

void check_must_times(const Drill &d, const Must &m)
{
	const bool reaches = m.kind == Must::Kind::reaches;
	const bool gap = m.kind == Must::Kind::gap;
	const auto fail = [&](const char *why) {
		throw FileError(d.file, m.line, why);
	};

	if (m.of_latency())
		return;
	if (m.during.from >= m.during.to || m.during.to > d.time ||
	    (reaches && m.within > d.time - m.during.from))
		fail("the requirement's time is not within the drill");
	if (!reaches && !has_sample(d, m.during))
		fail("no sample lies in the requirement's time");
	if (reaches && m.within < d.sample)
		fail("\"within\" is shorter than a sample");
	if (gap && m.within < d.sample)
		fail("\"gap\" is shorter than a sample");
	if (m.kind != Must::Kind::fair && !gap && !m.rate &&
	    !has_sample(d, d.baseline))
		fail("the requirement compares with a \"baseline\", which is "
		     "missing or has no sample");
}

void check_must_names(const Drill &d, const Topology &t, const Must &m)
{
	try {
		if (!m.of_latency()) {
			check_series(t, d.flows, m.what);
			return check_must_baseline(d, m);
		}
		check_latency(d.flows, m.what);
		if (m.of.empty())
			return;
		check_latency(d.flows, m.of);
		if (latency_names(d.flows, m.of).size() > 1)
			throw UsageError(fmt::format(
				"\"{}\" are several flows; \"of\" is one",
				m.of));
	} catch (const UsageError &e) {
		throw FileError(d.file, m.line, e.what());
	}
}
} // namespace mrclab
