// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "flow.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
constexpr uint32_t first_port = 18515;
constexpr uint32_t last_port = 65535;

/* They end when they are killed; nobody reads their own figures. */
constexpr const char *for_ever = "100000";

/* As verbs programs of clusters set it: 0.5 s. A queue can last 100 ms. */
constexpr const char *qp_timeout = "17";

using Words = std::vector<std::string>;

/* What all programs of perftest are told. */
Words perftest(const Stream &s, uint16_t port, const Words &more)
{
	Words w = {s.program, "-F",
		   "-d",      "{device}",
		   "-x",      "{gid}",
		   "-p",      std::to_string(port),
		   "-s",      std::to_string(s.size)};

	w.insert(w.end(), more.begin(), more.end());
	w.emplace_back("-u");
	w.emplace_back(qp_timeout);
	return w;
}

Words perftest_words(const Stream &s, uint16_t port)
{
	Words w = perftest(s, port,
			   {"-q", std::to_string(s.qps), "-D", for_ever});

	if (s.both_ways)
		w.emplace_back("-b");
	return w;
}

/* They end after so many exchanges. */
Words latency_words(const Stream &s, uint16_t port)
{
	return perftest(s, port, {"-n", std::to_string(s.count)});
}

Words mrcperf_words(const Stream &, uint16_t port)
{
	return {"mrcperf", "-d", "{device}",	      "-x",
		"{gid}",   "-p", std::to_string(port)};
}

Words mrcperf_client(const Stream &s)
{
	return {"-T", "bw",
		"-s", std::to_string(s.size),
		"-q", std::to_string(s.qps),
		"-D", for_ever};
}

Words nothing(const Stream &)
{
	return {};
}

/* The client has the same words, those of @client, and the server's address. */
struct Program {
	const char *name;
	Words (*words)(const Stream &, uint16_t port);
	Words (*client)(const Stream &);
	bool both_ways;
	bool reads;   /* data goes to the client */
	bool latency; /* it measures latency and ends by itself */
};

constexpr Program programs[] = {
	{"ib_write_bw", perftest_words, nothing, true, false, false},
	{"ib_read_bw", perftest_words, nothing, true, true, false},
	{"ib_send_bw", perftest_words, nothing, true, false, false},
	{"mrcperf", mrcperf_words, mrcperf_client, false, false, false},
	{"ib_write_lat", latency_words, nothing, false, false, true},
	{"ib_read_lat", latency_words, nothing, false, true, true},
	{"ib_send_lat", latency_words, nothing, false, false, true},
};

/* As perftest has it for both kinds. */
constexpr uint64_t bandwidth_size = 65536, latency_size = 2;

const Program *find(std::string_view name)
{
	const auto *const p =
		std::find_if(std::begin(programs), std::end(programs),
			     [&](const Program &q) { return q.name == name; });

	return p == std::end(programs) ? nullptr : p;
}

/* "mgmt:3" is "mgmt" and 3; without a number 0. */
std::pair<std::string, uint32_t> split_name(const std::string &name)
{
	const std::size_t colon = name.find(':');
	uint32_t n = 0;

	if (colon == std::string::npos)
		return {name, 0};

	const char *const end = name.data() + name.size();
	const auto r = std::from_chars(name.data() + colon + 1, end, n);

	if (r.ec != std::errc() || r.ptr != end)
		n = UINT32_MAX;
	return {name.substr(0, colon), n};
}

/* A placeholder that depends on the list has a value; others stay. */
std::string value_of(const std::string &name, std::size_t rank,
		     const std::vector<uint32_t> &hosts)
{
	const auto [what, n] = split_name(name);

	if (name == "rank")
		return std::to_string(rank);
	if (name == "ranks")
		return std::to_string(hosts.size());
	if (name == "device" || name == "gid" || name == "mgmt" ||
	    name == "address")
		return "{" + name + "}";
	if ((what == "mgmt" || what == "address") && n >= 1 &&
	    n <= hosts.size())
		return fmt::format("{{{}:{}}}", what, hosts[n - 1]);
	throw UsageError(fmt::format(
		"there is no {{{}}}; there are {{device}}, {{gid}}, "
		"{{address}}, {{mgmt}}, {{rank}}, {{ranks}}, and {{address:N}} "
		"and {{mgmt:N}} with N from 1 to {}",
		name, hosts.size()));
}

/* The word for the host that is in the list at @rank. */
std::string of_list(const std::string &word, std::size_t rank,
		    const std::vector<uint32_t> &hosts)
{
	return filled(word, [&](const std::string &name) {
		return value_of(name, rank, hosts);
	});
}

/* Of perftest: -m N, -mN, --mtu N, --mtu=N. */
bool sets_mtu(const std::vector<std::string> &options)
{
	return std::any_of(
		options.begin(), options.end(), [](const std::string &o) {
			return o.starts_with("-m") || o.starts_with("--mtu");
		});
}
} // namespace

std::string stream_programs()
{
	std::string all;

	for (const Program &p : programs)
		all += fmt::format("{}{}", all.empty() ? "" : ", ", p.name);
	return all;
}

bool is_stream_program(std::string_view name)
{
	return find(name) != nullptr;
}

bool is_latency_program(std::string_view name)
{
	const Program *const p = find(name);

	return p && p->latency;
}

Flow stream_flow(const Stream &stream, const std::string &name, uint32_t from,
		 uint32_t to, uint32_t number)
{
	const Program *const p = find(stream.program);
	Stream s = stream;
	Flow f;

	if (!p)
		throw UsageError(fmt::format("\"{}\" is none of {}", s.program,
					     stream_programs()));
	if (number > last_port - first_port)
		throw UsageError("there are more streams than ports");
	if (s.both_ways && !p->both_ways)
		throw UsageError(fmt::format("{} sends one way", s.program));
	if (from == to)
		throw UsageError("a flow is between two hosts");
	if (!s.size)
		s.size = p->latency ? latency_size : bandwidth_size;

	const auto port = static_cast<uint16_t>(first_port + number);
	const std::vector<uint32_t> hosts = {from, to};
	const auto job = [&](std::size_t rank) {
		Job j{hosts[rank], p->words(s, port), 0};

		for (const std::string &w : s.options)
			j.words.push_back(of_list(w, rank, hosts));
		return j;
	};
	Job server = job(p->reads ? 0 : 1), client = job(p->reads ? 1 : 0);
	const Words more = p->client(s);

	server.port = port;
	client.words.insert(client.words.end(), more.begin(), more.end());
	client.words.push_back(fmt::format("{{mgmt:{}}}", server.host));
	f.name = name;
	f.servers = {server};
	f.clients = {client};
	if (p->latency) {
		f.ending = Ending::wait;
		f.latency = true;
		return f;
	}
	f.senders = {from};
	f.counted = {to};
	/*
	 * A receiver's queue pair does not see the data of READs, and of
	 * another MTU it is not known how many packets a message has.
	 */
	if (s.program != "ib_read_bw" && !sets_mtu(s.options))
		f.message = s.size;
	if (s.both_ways) {
		f.senders.push_back(to);
		f.counted.push_back(from);
	}
	return f;
}

Flow streams_flow(const Stream &s, const std::string &name,
		  const std::vector<uint32_t> &from, uint32_t to,
		  uint32_t number)
{
	Flow all;

	for (const uint32_t sender : from) {
		const Flow f = stream_flow(s, name, sender, to, number++);

		if (all.clients.empty()) {
			all = f;
			continue;
		}
		for (auto [more, of] : {std::pair(&f.servers, &all.servers),
					std::pair(&f.clients, &all.clients)})
			of->insert(of->end(), more->begin(), more->end());
		all.senders.push_back(sender);
	}
	return all;
}

std::vector<std::string> job_names(const std::vector<Job> &jobs)
{
	std::map<uint32_t, int> of_host;
	std::vector<std::string> names;

	for (const Job &j : jobs) {
		const int n = ++of_host[j.host];

		names.push_back(n == 1 ? fmt::format("h{}", j.host)
				       : fmt::format("h{}.{}", j.host, n));
	}
	return names;
}

Flow command_flow(const std::vector<std::string> &words,
		  const std::string &name, const std::vector<uint32_t> &hosts,
		  Ending ending)
{
	Flow f;

	f.name = name;
	f.ending = ending;
	f.senders = hosts;
	f.counted = hosts;
	for (std::size_t i = 0; i < hosts.size(); i++) {
		Job job{hosts[i], {}, 0};

		for (const std::string &w : words)
			job.words.push_back(of_list(w, i, hosts));
		f.clients.push_back(job);
	}
	return f;
}

void choose_counted(std::vector<Flow> &flows)
{
	std::map<uint32_t, int> receivers, senders;

	for (const Flow &f : flows) {
		for (const uint32_t h : f.counted)
			receivers[h]++;
		for (const uint32_t h : f.senders)
			senders[h]++;
	}
	for (Flow &f : flows) {
		const auto shared = [](std::map<uint32_t, int> &of,
				       uint32_t h) { return of[h] > 1; };

		if (std::none_of(
			    f.counted.begin(), f.counted.end(),
			    [&](uint32_t h) { return shared(receivers, h); }))
			continue;
		if (f.senders.size() > 1 || shared(senders, f.senders[0]))
			throw UsageError(fmt::format(
				"the goodput of \"{}\" cannot be told from "
				"that of other flows of its hosts: a flow "
				"needs a "
				"sender or a receiver of its own",
				f.name));
		f.counted = f.senders;
		f.by_sender = true;
	}
}

std::string
filled(const std::string &word,
       const std::function<std::string(const std::string &name)> &value)
{
	std::string out;
	std::size_t at = 0;

	for (;;) {
		const std::size_t open = word.find('{', at);
		const std::size_t close = word.find('}', open);

		if (open == std::string::npos || close == std::string::npos)
			return out + word.substr(at);
		out += word.substr(at, open - at);
		out += value(word.substr(open + 1, close - open - 1));
		at = close + 1;
	}
}
} // namespace mrclab
