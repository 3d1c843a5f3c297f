// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_file.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "address.hpp"
#include "drill_musts.hpp"
#include "drill_series.hpp"
#include "drill_traffic.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "fault.hpp"
#include "profiles.hpp"
#include "timeline.hpp"
#include "units.hpp"
#include "yaml.hpp"

namespace mrclab
{
namespace
{
constexpr uint64_t ms = 1000000;
/* To read all counters takes some of this time. */
constexpr uint64_t min_sample = 10 * ms;
constexpr uint64_t max_sample = 10000 * ms;
constexpr uint64_t max_samples = 100000;
/* EVs are counted from rings, which must not be full before they are read. */
constexpr uint64_t max_ev_sample = 200 * ms;
constexpr std::size_t max_musts = 1000;

Window parse_window(const std::string &w)
{
	const std::size_t dots = w.find("..");

	if (dots == std::string::npos)
		throw UsageError(
			fmt::format("\"{}\" is no time like \"1s..3s\"", w));

	const Window window{parse_time(w.substr(0, dots)),
			    parse_time(w.substr(dots + 2))};

	if (window.from >= window.to)
		throw UsageError(
			fmt::format("\"{}\" ends before it begins", w));
	return window;
}

/*
 * The same fabric with devices of rxe, which have no profiles, in whatever
 * style of YAML it is.
 */
std::string with_rxe(const std::string &text)
{
	YAML::Node root = YAML::Load(text);

	root["devices"] = "rxe";
	root.remove("profiles");
	return YAML::Dump(root);
}

using MaybeNode = std::optional<YAML::Node>;

class Reader
{
public:
	Reader(std::string_view text, const std::string &file,
	       const ReadText &read)
		: yaml_(text, file), read_(read)
	{
		d_.file = file;
	}

	Drill drill();

private:
	YamlFile::Key text(std::string_view key, std::string &to)
	{
		return {key,
			[&to](const YAML::Node &v) { to = YamlFile::word(v); }};
	}
	YamlFile::Key time(std::string_view key, uint64_t &to)
	{
		return {key, [&to](const YAML::Node &v) {
				to = parse_time(YamlFile::word(v));
			}};
	}
	YamlFile::Key node(std::string_view key, MaybeNode &to)
	{
		return {key, [&to](const YAML::Node &v) { to.emplace(v); }};
	}
	YamlFile::Key fabric(MaybeNode &to);
	void top();
	void paper(const YAML::Node &node);
	void show(const YAML::Node &node);
	void must(const YAML::Node &node);
	void check_times() const;
	Topology stage(Devices devices, const MaybeNode &fabric,
		       const MaybeNode &timeline);
	void read_faults(Stage &s, const Topology &t,
			 const YAML::Node &timeline) const;
	void check_names(const Topology &t) const;
	int line_of(const char *key) const;
	[[noreturn]] void fail(int line, const std::string &why) const
	{
		throw FileError(d_.file, line, why);
	}

	YamlFile yaml_;
	const ReadText &read_;
	Drill d_;
	std::vector<TrafficEntry> traffic_;
	MaybeNode timeline_, rxe_timeline_, fabric_, rxe_fabric_;
	std::vector<int> shown_lines_;
	bool with_rxe_ = false;
};

YamlFile::Key Reader::fabric(MaybeNode &to)
{
	return {"fabric", [&to](const YAML::Node &v) {
			if (YamlFile::word(v).empty())
				throw UsageError("it names a file");
			to.emplace(v);
		}};
}

void Reader::paper(const YAML::Node &node)
{
	yaml_.map(node, "paper",
		  {text("figure", d_.figure), text("values", d_.published)});
}

void Reader::show(const YAML::Node &node)
{
	d_.shown = yaml_.words(node, "show");
	for (std::size_t i = 0; i < d_.shown.size(); i++)
		shown_lines_.push_back(
			YamlFile::line(node.IsSequence() ? node[i] : node));
}

void Reader::must(const YAML::Node &node)
{
	if (d_.musts.size() == max_musts)
		yaml_.fail(node, fmt::format("there are more than {} "
					     "requirements",
					     max_musts));
	d_.musts.push_back(read_must(yaml_, node));
}

int Reader::line_of(const char *key) const
{
	const YAML::Node &root = yaml_.root();
	const YAML::Node n = root[key];

	return YamlFile::line(n.IsDefined() ? n : root);
}

void Reader::check_times() const
{
	if (d_.time == 0)
		fail(line_of("time"), "\"time\" is missing");
	if (d_.sample < min_sample || d_.sample > max_sample)
		fail(line_of("sample"),
		     fmt::format("\"sample\" is {} to {}",
				 show_time(min_sample), show_time(max_sample)));
	if (d_.time < d_.sample)
		fail(line_of("time"), "the drill is shorter than a sample");
	if (d_.time / d_.sample > max_samples)
		fail(line_of("sample"),
		     fmt::format("there are more than {} samples",
				 max_samples));
	if (d_.evs && d_.sample > max_ev_sample)
		fail(line_of("evs"),
		     fmt::format("with \"evs\" a \"sample\" is at most {}",
				 show_time(max_ev_sample)));
	if (d_.baseline.to > d_.time)
		fail(line_of("baseline"), "the baseline ends after the drill");
	for (const Must &m : d_.musts)
		check_must_times(d_, m);
	for (const TrafficEntry &e : traffic_)
		if (e.start >= d_.time)
			fail(e.line, fmt::format("traffic {} starts after the "
						 "end",
						 e.name));
	if (std::none_of(traffic_.begin(), traffic_.end(),
			 [](const TrafficEntry &e) { return e.start == 0; }))
		fail(traffic_[0].line, "no traffic starts at 0");
}

/* The timeline's faults, each of which must be possible on the fabric. */
void Reader::read_faults(Stage &s, const Topology &t,
			 const YAML::Node &timeline) const
{
	Faults faults;

	read_timeline(yaml_, timeline, d_.time, s.timeline);
	for (const Step &step : s.timeline) {
		for (std::size_t i = 0; i < step.faults.size(); i++) {
			try {
				faults.apply(t, step.faults[i]);
			} catch (const UsageError &e) {
				fail(step.lines[i],
				     fmt::format("\"{}\": {}",
						 fmt::join(step.faults[i], " "),
						 e.what()));
			}
		}
	}
}

/* Reads the fabric of a run, and what happens on it. */
Topology Reader::stage(Devices devices, const MaybeNode &fabric,
		       const MaybeNode &timeline)
{
	Stage s;

	s.devices = devices;
	s.fabric_file = std::filesystem::path(d_.file).replace_filename(
		YamlFile::word(*fabric));
	s.fabric_text = read_(s.fabric_file);

	const Fabric f = parse_fabric(s.fabric_text, s.fabric_file);

	if (f.line_of("devices"))
		throw FileError(s.fabric_file, f.line_of("devices"),
				"the fabric of a drill leaves out \"devices\": "
				"the drill says which");
	if (devices == Devices::rxe && !f.ecmp())
		throw FileError(s.fabric_file, f.line_of("forwarding"),
				"rxe needs a fabric that forwards by ecmp or "
				"srv6+ecmp");
	check_addresses(f);
	check_profiles(f);
	if (f.needs_evs() && !f.profiles.evs)
		throw FileError(s.fabric_file, f.line_of("profiles/evs"),
				"a drill's programs name no profiles, and srv6 "
				"without ecmp carries nothing without EVs");

	Topology t(f);

	if (timeline)
		read_faults(s, t, *timeline);
	if (devices == Devices::rxe)
		s.fabric_text = with_rxe(s.fabric_text);
	d_.stages.push_back(std::move(s));
	return t;
}

void Reader::check_names(const Topology &t) const
{
	for (std::size_t i = 0; i < d_.shown.size(); i++) {
		if (d_.shown[i] == "evs" && d_.evs)
			continue;
		try {
			if (d_.shown[i] == "evs")
				throw UsageError("there are no evs without "
						 "\"evs: on\"");
			check_series(t, d_.flows, d_.shown[i]);
		} catch (const UsageError &e) {
			fail(shown_lines_[i], e.what());
		}
	}
	for (const Must &m : d_.musts)
		check_must_names(d_, t, m);
}

void Reader::top()
{
	yaml_.map(yaml_.root(), "a drill",
		  {{"drill",
		    [this](const YAML::Node &v) {
			    d_.name = parse_name(YamlFile::word(v), 32, "name");
		    }},
		   text("title", d_.title),
		   text("about", d_.about),
		   {"paper", [this](const YAML::Node &v) { paper(v); }},
		   fabric(fabric_),
		   time("time", d_.time),
		   time("sample", d_.sample),
		   {"baseline",
		    [this](const YAML::Node &v) {
			    d_.baseline = parse_window(YamlFile::word(v));
		    }},
		   {"evs",
		    [this](const YAML::Node &v) { d_.evs = yaml_.truth(v); }},
		   {"traffic",
		    [this](const YAML::Node &v) {
			    traffic_ = read_traffic(yaml_, v);
		    }},
		   node("timeline", timeline_),
		   {"show", [this](const YAML::Node &v) { show(v); }},
		   {"must",
		    [this](const YAML::Node &v) {
			    yaml_.list(v, "must", [this](const YAML::Node &e) {
				    must(e);
			    });
		    }},
		   {"rxe", [this](const YAML::Node &v) {
			    with_rxe_ = true;
			    yaml_.map(v, "rxe",
				      {fabric(rxe_fabric_),
				       node("timeline", rxe_timeline_)});
		    }}});
	for (const auto &[key, missing] :
	     {std::pair("drill", d_.name.empty()),
	      std::pair("fabric", !fabric_.has_value()),
	      std::pair("traffic", traffic_.empty())})
		if (missing)
			yaml_.fail(yaml_.root(),
				   fmt::format("\"{}\" is missing", key));
}

Drill Reader::drill()
{
	top();
	for (Must &m : d_.musts)
		if (m.during.to == UINT64_MAX)
			m.during.to = d_.time;
	check_times();

	const Topology t = stage(Devices::mrc, fabric_, timeline_);

	d_.flows = make_flows(yaml_, t, traffic_);
	check_names(t);
	if (with_rxe_) {
		const Topology other =
			stage(Devices::rxe, rxe_fabric_ ? rxe_fabric_ : fabric_,
			      rxe_timeline_ ? rxe_timeline_ : timeline_);

		if (other.fabric().all_hosts() < t.fabric().all_hosts())
			throw FileError(d_.stages[1].fabric_file, 0,
					"the fabric for rxe has fewer hosts");
	}
	if (d_.title.empty())
		d_.title = d_.name;
	return d_;
}
} // namespace

Drill parse_drill(std::string_view text, const std::string &file,
		  const ReadText &read)
{
	return Reader(text, file, read).drill();
}

Drill read_drill(const std::string &file)
{
	return parse_drill(read_text(file), file, read_text);
}
} // namespace mrclab
