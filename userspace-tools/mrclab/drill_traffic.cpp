// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_traffic.hpp"

#include <fmt/format.h>

#include "error.hpp"
#include "timeline.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
constexpr std::size_t max_flows = 1000;
constexpr std::size_t max_programs = 2000;
constexpr std::size_t max_command = 16384;

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
		for (const char *taken : {"total", "flows", "planes", "plane"})
			if (e_.name == taken)
				fail("this name has a meaning already");
	}

	TrafficEntry read(const YAML::Node &node);

private:
	/* @use has the key's word. @stream: not for commands. */
	template <typename Use>
	YamlFile::Key key(std::string_view name, bool stream, Use use)
	{
		return {name, [this, stream, use](const YAML::Node &v) {
				has_stream_key_ |= stream;
				use(YamlFile::word(v));
			}};
	}
	YamlFile::Key words(std::string_view name, std::vector<std::string> &to)
	{
		return {name, [this, name, &to](const YAML::Node &v) {
				to = yaml_.words(v, std::string(name));
			}};
	}
	void check() const;
	[[noreturn]] void fail(const std::string &why) const
	{
		throw FileError(yaml_.file(), e_.line,
				fmt::format("traffic {}: {}", e_.name, why));
	}

	const YamlFile &yaml_;
	TrafficEntry e_;
	bool has_ending_ = false, has_stream_key_ = false;
};

TrafficEntry EntryReader::read(const YAML::Node &node)
{
	Stream &s = e_.stream;

	yaml_.map(
		node, "traffic " + e_.name,
		{key("program", true,
		     [&s](const std::string &w) {
			     s.program = parse_program(w);
		     }),
		 words("from", e_.from),
		 words("to", e_.to),
		 key("qps", true,
		     [&s](const std::string &w) {
			     s.qps = static_cast<uint32_t>(
				     parse_count(w, 1, 10000));
		     }),
		 key("size", true,
		     [&s](const std::string &w) { s.size = parse_message(w); }),
		 {"both_ways",
		  [this, &s](const YAML::Node &v) {
			  has_stream_key_ = true;
			  s.both_ways = YamlFile::truth(v);
		  }},
		 key("options", true,
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
		 key("end", false,
		     [this](const std::string &w) {
			     e_.ending = parse_ending(w);
			     has_ending_ = true;
		     }),
		 key("start", false, [this](const std::string &w) {
			 e_.start = parse_time(w);
		 })});
	check();
	return e_;
}

void EntryReader::check() const
{
	if (e_.stream.program.empty() == e_.command.empty())
		fail("either \"program\" or \"command\" is needed");
	if (e_.command.empty()) {
		if (e_.from.empty() || e_.to.empty() || !e_.hosts.empty() ||
		    has_ending_)
			fail("a program needs \"from\" and \"to\", and has no "
			     "\"hosts\" and no \"end\"");
		if (e_.to.size() != 1 && e_.to.size() != e_.from.size())
			fail("\"to\" is one host, or as many as \"from\"");
	} else if (e_.hosts.empty() || !e_.from.empty() || !e_.to.empty() ||
		   has_stream_key_) {
		fail("a command needs \"hosts\"; what else it needs is in its "
		     "words");
	}
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

	const Topology &t_;
	std::size_t programs_ = 0;
};

void FlowMaker::add_flow(Flow flow, uint64_t start)
{
	programs_ += flow.servers.size() + flow.clients.size();
	if (flows.size() == max_flows || programs_ > max_programs)
		throw UsageError(fmt::format(
			"there are more than {} flows, or more than {} "
			"programs",
			max_flows, max_programs));
	flow.start = start;
	flows.push_back(std::move(flow));
}

void FlowMaker::add(const TrafficEntry &e)
{
	if (!e.command.empty())
		return add_flow(command_flow(e.command, e.name,
					     host_numbers(t_, e.hosts),
					     e.ending),
				e.start);

	const auto from = host_numbers(t_, e.from), to = host_numbers(t_, e.to);

	for (std::size_t i = 0; i < from.size(); i++)
		add_flow(stream_flow(
				 e.stream,
				 from.size() == 1
					 ? e.name
					 : fmt::format("{} {}", e.name, i + 1),
				 from[i], to[to.size() == 1 ? 0 : i],
				 static_cast<uint32_t>(flows.size())),
			 e.start);
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
