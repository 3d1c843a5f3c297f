// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "matrix_file.hpp"

#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "error.hpp"
#include "lines.hpp"

namespace mrcsim
{
namespace
{
constexpr u64 most_flows = u64{1} << 28;
constexpr u64 most_triggers = u64{1} << 28;
/* Starts are us, although the original parser calls them ps. */
constexpr u64 most_start = 1'000'000;

using Words = std::vector<std::string_view>;

struct TriggerLines {
	int used = 0; /* the first line that names it */
	int defined = 0;
	u64 fired_by = 0; /* flows */
	Trigger trigger;
};

struct MatrixReader {
	Lines in;
	u32 hosts;
	Traffic t{};
	std::map<u64, TriggerLines> triggers{};
	std::map<u64, Flow> connections{}; /* the first flow, by id */
	std::set<u64> ids{};
	bool has_nodes = false, has_count = false, has_triggers = false;
	u64 count = 0, trigger_count = 0;

	void header(const Words &w)
	{
		const std::string key = lower(w[0]);
		bool *seen = key == "nodes"	    ? &has_nodes
			     : key == "connections" ? &has_count
			     : key == "triggers"    ? &has_triggers
						    : nullptr;

		if (w.size() != 2)
			in.fail(fmt::format("\"{}\" is followed by one number",
					    w[0]));
		if (seen) {
			if (*seen)
				in.fail(fmt::format("\"{}\" twice", w[0]));
			*seen = true;
		}
		if (key == "nodes") {
			const u64 n = in.number(w[1], "the number of nodes", 1,
						1 << 20);

			if (n > hosts)
				in.fail(fmt::format("{} nodes; the fabric has "
						    "{} hosts",
						    n, hosts));
			hosts = static_cast<u32>(n);
		} else if (key == "connections") {
			count = in.number(w[1], "the number of connections", 0,
					  most_flows);
		} else if (key == "triggers") {
			trigger_count =
				in.number(w[1], "the number of triggers", 0,
					  most_triggers);
		} else { /* failures */
			if (in.number(w[1], "the number of failures", 0,
				      ~0ull) != 0)
				in.fail("failures are part of the scenario, "
					"not of the matrix");
		}
	}

	u32 host(std::string_view word)
	{
		return static_cast<u32>(
			in.number(word, "a host", 0, hosts - 1));
	}

	u32 trigger(std::string_view word)
	{
		const u64 id = in.number(word, "a trigger", 1, most_triggers);
		TriggerLines &l = triggers[id];

		if (!l.used)
			l.used = in.line();
		return static_cast<u32>(id);
	}

	void trigger_line(const Words &w)
	{
		if (w.size() < 4 || w[1] != "id")
			in.fail("a trigger is \"trigger id N oneshot\", "
				"\"... multishot\" or \"... barrier count M\"");

		TriggerLines &l = triggers[trigger(w[2])];

		if (l.defined)
			in.fail(fmt::format("trigger {} twice", w[2]));
		l.defined = in.line();
		if (w[3] == "oneshot" && w.size() == 4) {
			l.trigger.kind = Trigger::Kind::once;
		} else if (w[3] == "multishot" && w.size() == 4) {
			l.trigger.kind = Trigger::Kind::each;
		} else if (w[3] == "barrier" && w.size() == 6 &&
			   w[4] == "count") {
			l.trigger.kind = Trigger::Kind::barrier;
			l.trigger.count = static_cast<u32>(
				in.number(w[5], "the count", 1, most_flows));
		} else {
			in.fail(fmt::format("\"{}\" is none of oneshot, "
					    "multishot, barrier count M",
					    w[3]));
		}
	}

	void flow_line(const Words &w)
	{
		const std::size_t arrow = w[0].find("->");
		Flow f;
		u64 id = 0;
		bool message = false, size = false, start = false;
		std::set<std::string_view> seen;

		f.src = host(w[0].substr(0, arrow));
		f.dst = host(w[0].substr(arrow + 2));
		if (f.src == f.dst)
			in.fail(fmt::format("host {} sends to itself", f.src));
		for (std::size_t i = 1; i < w.size(); i++) {
			const std::string_view key = w[i];

			if (!seen.insert(key).second)
				in.fail(fmt::format("\"{}\" twice", key));
			if (key == "msg") {
				/* Its number is optional. */
				message = true;
				if (i + 1 < w.size() && w[i + 1][0] >= '0' &&
				    w[i + 1][0] <= '9')
					in.number(w[++i], "a message", 1,
						  most_flows);
				continue;
			}
			if (++i == w.size())
				in.fail(fmt::format("\"{}\" has no value",
						    key));
			if (key == "id") {
				id = in.number(w[i], "an id", 1, 0xffffffff);
			} else if (key == "start") {
				start = true;
				f.start = in.number(w[i], "the start in us", 0,
						    most_start) *
					  1'000'000;
			} else if (key == "trigger") {
				start = true;
				triggers[trigger(w[i])].trigger.flows.push_back(
					static_cast<u32>(t.flows.size()));
				f.start = not_yet;
			} else if (key == "size") {
				size = true;
				f.bytes = static_cast<u32>(
					in.number(w[i], "the size in bytes", 1,
						  most_bytes));
			} else if (key == "send_done_trigger") {
				f.sent_trigger = trigger(w[i]);
				triggers[f.sent_trigger].fired_by++;
			} else if (key == "recv_done_trigger") {
				f.received_trigger = trigger(w[i]);
				triggers[f.received_trigger].fired_by++;
			} else if (key == "prio") {
				in.number(w[i], "the priority", 0, 255);
			} else {
				in.fail(fmt::format(
					"a flow has no \"{}\"; its words are "
					"id, msg, start, trigger, size, "
					"send_done_trigger, "
					"recv_done_trigger, prio",
					key));
			}
		}
		if (!size)
			in.fail("a flow needs a size");
		if (!start)
			in.fail("a flow needs a start or a trigger");
		if (seen.contains("start") && seen.contains("trigger"))
			in.fail("a flow has a start or a trigger, not both");
		connect(f, id, message);
	}

	/* Messages with the same id share a connection. */
	void connect(Flow &f, u64 id, bool message)
	{
		f.id = static_cast<u32>(id);
		if (message && !id)
			in.fail("a message needs the id of its connection");
		const auto known = connections.find(id);

		if (message && known != connections.end()) {
			if (known->second.src != f.src ||
			    known->second.dst != f.dst)
				in.fail(fmt::format("connection {} has other "
						    "hosts",
						    id));
			f.connection = known->second.connection;
		} else {
			if (id && !ids.insert(id).second)
				in.fail(fmt::format("id {} twice", id));
			f.connection = t.connections++;
			if (message)
				connections[id] = f;
		}
		if (t.flows.size() == most_flows)
			in.fail(fmt::format("more than {} flows", most_flows));
		t.flows.push_back(f);
	}

	/* Numbers of triggers become indices. */
	void resolve(const std::string &file)
	{
		std::map<u64, u32> index;

		for (auto &[id, l] : triggers) {
			if (!l.defined)
				throw mrclab::FileError(
					file, l.used,
					fmt::format("there is no trigger {}",
						    id));
			if (!l.fired_by && !l.trigger.flows.empty())
				throw mrclab::FileError(
					file, l.defined,
					fmt::format("nothing fires trigger {}",
						    id));
			index[id] = static_cast<u32>(t.triggers.size());
			t.triggers.push_back(l.trigger);
		}
		for (Flow &f : t.flows)
			for (u32 *n : {&f.sent_trigger, &f.received_trigger})
				if (*n != no_trigger)
					*n = index[*n];
	}
};
} // namespace

Traffic parse_matrix(std::string_view text, const std::string &file, u32 hosts)
{
	MatrixReader r{Lines(text, file), hosts};
	Words w;

	while (r.in.next(w)) {
		const std::string first = lower(w[0]);

		if (w[0].find("->") != std::string_view::npos)
			r.flow_line(w);
		else if (first == "trigger")
			r.trigger_line(w);
		else if (first == "nodes" || first == "connections" ||
			 first == "triggers" || first == "failures")
			r.header(w);
		else if (first == "failure")
			r.in.fail("failures are part of the scenario, not of "
				  "the matrix");
		else
			r.in.fail(fmt::format("\"{}\" begins no line of a "
					      "connection matrix",
					      w[0]));
	}
	if (!r.has_nodes || !r.has_count)
		r.in.fail(fmt::format("there is no \"{}\"",
				      r.has_nodes ? "Connections" : "Nodes"));
	if (r.count != r.t.flows.size())
		r.in.fail(fmt::format("{} connections are announced, {} are "
				      "here: the file is not complete",
				      r.count, r.t.flows.size()));
	r.resolve(file);
	if (r.has_triggers && r.trigger_count != r.triggers.size())
		r.in.fail(fmt::format("{} triggers are announced, {} are here",
				      r.trigger_count, r.triggers.size()));
	if (r.t.flows.empty())
		r.in.fail("there are no flows");
	r.t.name = fmt::format("{} flows of {}", r.t.flows.size(), file);
	return r.t;
}

Traffic read_matrix(const std::string &file, u32 hosts)
{
	return parse_matrix(read_lines(file), file, hosts);
}
} // namespace mrcsim
