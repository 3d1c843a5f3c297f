// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_traffic.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <fmt/format.h>

#include "error.hpp"
#include "text.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
constexpr std::size_t max_flows = 1000;
constexpr std::size_t max_programs = 2000;
constexpr std::size_t max_command = 16384;
/* With fewer there is no 99 %; with more no drill ends. */
constexpr uint64_t min_count = 10, max_count = 1000000;

Ending parse_ending(const std::string &w)
{
	if (w == "kill")
		return Ending::kill;
	if (w == "wait")
		return Ending::wait;
	if (w == "interrupt")
		return Ending::interrupt;
	throw UsageError(
		fmt::format("\"{}\" is none of kill, wait, interrupt", w));
}

std::string parse_program(const std::string &w)
{
	if (!is_stream_program(w))
		throw UsageError(
			fmt::format("\"{}\" is none of {}; other programs are "
				    "run by \"command\"",
				    w, stream_programs()));
	return w;
}

uint64_t parse_message(const std::string &w)
{
	const uint64_t size = parse_size(w);

	if (size == 0)
		throw UsageError("a message has at least one byte");
	return size;
}

std::vector<std::string> parse_command(const std::string &w)
{
	std::vector<std::string> words = words_of(w);

	if (words.empty() || w.size() > max_command)
		throw UsageError(fmt::format("a command has 1 to {} bytes",
					     max_command));
	return words;
}

class EntryReader
{
public:
	EntryReader(const YamlFile &yaml, const YAML::Node &key) : yaml_(yaml)
	{
		e_.name =
			parse_name(YamlFile::word(key), 16, "name of traffic");
		e_.line = YamlFile::line(key);
		for (const char *taken :
		     {"total", "flows", "planes", "plane", "evs"})
			if (e_.name == taken)
				fail("this name has a meaning already");
	}

	TrafficEntry read(const YAML::Node &node);

private:
	/* @use has the key's word. */
	template <typename Use>
	YamlFile::Key key(std::string_view name, Use use)
	{
		return {name, [this, name, use](const YAML::Node &v) {
				keys_.insert(name);
				use(YamlFile::word(v));
			}};
	}
	YamlFile::Key words(std::string_view name, std::vector<std::string> &to)
	{
		return {name, [this, name, &to](const YAML::Node &v) {
				keys_.insert(name);
				to = yaml_.words(v, std::string(name));
			}};
	}
	/* Is there one of these keys? */
	bool has(std::initializer_list<std::string_view> keys) const
	{
		return std::any_of(keys.begin(), keys.end(),
				   [this](std::string_view k) {
					   return keys_.contains(k);
				   });
	}
	void check() const;
	void check_program() const;
	[[noreturn]] void fail(const std::string &why) const
	{
		throw FileError(yaml_.file(), e_.line,
				fmt::format("traffic {}: {}", e_.name, why));
	}

	const YamlFile &yaml_;
	TrafficEntry e_;
	std::set<std::string_view> keys_; /* that the entry has */
};

TrafficEntry EntryReader::read(const YAML::Node &node)
{
	Stream &s = e_.stream;

	yaml_.map(
		node, "traffic " + e_.name,
		{key("program",
		     [&s](const std::string &w) {
			     s.program = parse_program(w);
		     }),
		 words("from", e_.from),
		 words("to", e_.to),
		 words("among", e_.among),
		 key("qps",
		     [&s](const std::string &w) {
			     s.qps = static_cast<uint32_t>(
				     parse_count(w, 1, 10000));
		     }),
		 key("size",
		     [&s](const std::string &w) { s.size = parse_message(w); }),
		 key("count",
		     [&s](const std::string &w) {
			     s.count = parse_count(w, min_count, max_count);
		     }),
		 {"both_ways",
		  [this, &s](const YAML::Node &v) {
			  keys_.insert("both_ways");
			  s.both_ways = YamlFile::truth(v);
		  }},
		 key("options",
		     [&s](const std::string &w) {
			     s.options = parse_command(w);
		     }),
		 {"command",
		  [this](const YAML::Node &v) {
			  e_.command =
				  v.IsSequence()
					  ? yaml_.words(v, "command")
					  : parse_command(YamlFile::word(v));
		  }},
		 words("hosts", e_.hosts),
		 key("end",
		     [this](const std::string &w) {
			     e_.ending = parse_ending(w);
		     }),
		 key("start", [this](const std::string &w) {
			 e_.start = parse_time(w);
		 })});
	check();
	return e_;
}

void EntryReader::check() const
{
	if (e_.stream.program.empty() == e_.command.empty())
		fail("either \"program\" or \"command\" is needed");
	if (e_.command.empty())
		check_program();
	else if (e_.hosts.empty() || has({"from", "to", "among", "qps", "size",
					  "count", "both_ways", "options"}))
		fail("a command needs \"hosts\"; what else it needs is in its "
		     "words");
}

void EntryReader::check_program() const
{
	const bool latency = is_latency_program(e_.stream.program);
	const bool pairs = !e_.from.empty() && !e_.to.empty();

	if (has({"hosts", "end"}) || (e_.among.empty() && !pairs) ||
	    (!e_.among.empty() && has({"from", "to"})))
		fail("a program needs \"from\" and \"to\", or \"among\", and "
		     "has no \"hosts\" and no \"end\"");
	if (pairs && e_.to.size() != 1 && e_.to.size() != e_.from.size())
		fail("\"to\" is one host, or as many as \"from\"");
	if (!e_.among.empty() && has({"both_ways"}))
		fail("with \"among\", data goes both ways already");
	if (latency && has({"among", "qps", "both_ways"}))
		fail(fmt::format("{} has no \"among\", no \"qps\" and no "
				 "\"both_ways\"",
				 e_.stream.program));
	if (!latency && has({"count"}))
		fail("\"count\" is of programs that measure latency");
}

std::vector<uint32_t> host_numbers(const Topology &t,
				   const std::vector<std::string> &names)
{
	std::vector<uint32_t> all;

	for (const std::string &name : names) {
		const Node &n = t.node(name);

		if (n.kind != Kind::host)
			throw UsageError(fmt::format(
				"\"{}\" is a switch; programs run on hosts",
				name));
		all.push_back(n.number);
	}
	return all;
}

class FlowMaker
{
public:
	explicit FlowMaker(const Topology &t) : t_(t) {}

	void add(const TrafficEntry &e);
	std::vector<Flow> flows;

private:
	void add_flow(Flow flow, uint64_t start);
	void add_among(const TrafficEntry &e);
	void add_pairs(const TrafficEntry &e);

	const Topology &t_;
	std::size_t programs_ = 0;
	uint32_t streams_ = 0; /* each has a port */
};

void FlowMaker::add_flow(Flow flow, uint64_t start)
{
	programs_ += flow.servers.size() + flow.clients.size();
	if (flows.size() == max_flows || programs_ > max_programs)
		throw UsageError(fmt::format(
			"there are more than {} flows, or more than {} "
			"programs",
			max_flows, max_programs));
	streams_ += static_cast<uint32_t>(flow.servers.size());
	flow.start = start;
	flows.push_back(std::move(flow));
}

/* Each host of the list receives from all others. */
void FlowMaker::add_among(const TrafficEntry &e)
{
	const auto hosts = host_numbers(t_, e.among);

	if (hosts.size() < 2)
		throw UsageError("\"among\" has at least two hosts");
	if (std::set(hosts.begin(), hosts.end()).size() != hosts.size())
		throw UsageError("a host is in \"among\" twice");
	for (std::size_t i = 0; i < hosts.size(); i++) {
		std::vector<uint32_t> others = hosts;

		others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
		add_flow(streams_flow(e.stream,
				      fmt::format("{} {}", e.name, i + 1),
				      others, hosts[i], streams_),
			 e.start);
	}
}

void FlowMaker::add_pairs(const TrafficEntry &e)
{
	const auto from = host_numbers(t_, e.from), to = host_numbers(t_, e.to);

	for (std::size_t i = 0; i < from.size(); i++)
		add_flow(stream_flow(
				 e.stream,
				 from.size() == 1
					 ? e.name
					 : fmt::format("{} {}", e.name, i + 1),
				 from[i], to[to.size() == 1 ? 0 : i], streams_),
			 e.start);
}

void FlowMaker::add(const TrafficEntry &e)
{
	if (!e.command.empty())
		add_flow(command_flow(e.command, e.name,
				      host_numbers(t_, e.hosts), e.ending),
			 e.start);
	else if (!e.among.empty())
		add_among(e);
	else
		add_pairs(e);
}
} // namespace

std::vector<TrafficEntry> read_traffic(const YamlFile &yaml,
				       const YAML::Node &node)
{
	std::vector<TrafficEntry> all;

	yaml.each(node, "traffic",
		  [&](const YAML::Node &key, const YAML::Node &v) {
			  if (all.size() == max_flows)
				  yaml.fail(key, fmt::format("there are more "
							     "than {} flows",
							     max_flows));
			  all.push_back(EntryReader(yaml, key).read(v));
		  });
	if (all.empty())
		yaml.fail(node, "there is no traffic");
	return all;
}

std::vector<Flow> make_flows(const YamlFile &yaml, const Topology &t,
			     const std::vector<TrafficEntry> &traffic)
{
	FlowMaker maker(t);

	for (const TrafficEntry &e : traffic) {
		try {
			maker.add(e);
		} catch (const UsageError &err) {
			throw FileError(yaml.file(), e.line,
					fmt::format("traffic {}: {}", e.name,
						    err.what()));
		}
	}
	try {
		choose_counted(maker.flows);
	} catch (const UsageError &e) {
		throw FileError(yaml.file(), traffic[0].line, e.what());
	}
	return maker.flows;
}
} // namespace mrclab
