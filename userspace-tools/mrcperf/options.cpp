// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "error.hpp"
#include "plan.hpp"

namespace mrcperf
{
namespace
{
constexpr const char *version = "1.0";

/* The values of options as text. They are parsed after all options are known.
 */
struct Raw {
	std::string server, device, ib_port, gid_index, port, bind, sessions;
	std::string ev_profile, cc_profile, connect_timeout;
	std::string tests, ops, sizes, iterations, duration, warmup;
	std::string repetitions, qps, depth, rx_depth, signal, list;
	std::string inline_size, mtu, traffic_class, timeout, retry, stall;
	std::string format, output;
	bool all = false;
	bool verify = false;
	bool events = false;
	bool json = false;
	bool csv = false;
	bool version = false;
};

std::vector<std::string> split(const std::string &text)
{
	std::vector<std::string> words;
	size_t from = 0;

	for (;;) {
		const size_t comma = text.find(',', from);

		words.push_back(text.substr(from, comma - from));
		if (comma == std::string::npos)
			return words;
		from = comma + 1;
	}
}

template <typename T> void add_once(std::vector<T> &list, T value)
{
	if (std::find(list.begin(), list.end(), value) == list.end())
		list.push_back(value);
}

std::vector<Kind> parse_tests(const std::string &text)
{
	std::vector<Kind> tests;

	for (const std::string &word : split(text)) {
		if (word == "all") {
			for (Kind t : {Kind::bw, Kind::rate, Kind::lat})
				add_once(tests, t);
			continue;
		}
		if (word == "bw")
			add_once(tests, Kind::bw);
		else if (word == "rate")
			add_once(tests, Kind::rate);
		else if (word == "lat")
			add_once(tests, Kind::lat);
		else
			throw UsageError(fmt::format(
				"\"{}\" is no test: bw, rate, lat, all", word));
	}
	return tests;
}

std::vector<Op> parse_ops(const std::string &text)
{
	std::vector<Op> ops;

	for (const std::string &word : split(text)) {
		if (word == "write")
			add_once(ops, Op::write);
		else if (word == "write_imm")
			add_once(ops, Op::write_imm);
		else
			throw UsageError(fmt::format(
				"\"{}\" is no operation: write, write_imm",
				word));
	}
	return ops;
}

std::vector<uint64_t> parse_sizes(const std::string &text)
{
	std::vector<uint64_t> sizes;

	for (const std::string &word : split(text)) {
		const size_t dash = word.find('-');

		if (dash == std::string::npos) {
			add_once(sizes,
				 parse_size("--size", word, 1, max_size));
			continue;
		}
		const uint64_t from =
			parse_size("--size", word.substr(0, dash), 1, max_size);
		const uint64_t to = parse_size("--size", word.substr(dash + 1),
					       from, max_size);

		for (uint64_t size : sweep(from, to))
			add_once(sizes, size);
	}
	return sizes;
}

Retry parse_retry(const std::string &text)
{
	const std::vector<std::string> words = split(text);
	Retry retry{};

	if (words.size() != 2)
		throw UsageError("--retry takes LINEAR,EXPONENTIAL");
	retry.linear =
		static_cast<uint8_t>(parse_number("--retry", words[0], 0, 7));
	retry.exponential =
		static_cast<uint8_t>(parse_number("--retry", words[1], 0, 25));
	return retry;
}

uint32_t parse_mtu(const std::string &text)
{
	const auto mtu =
		static_cast<uint32_t>(parse_number("--mtu", text, 256, 4096));

	if (mtu & (mtu - 1))
		throw UsageError("--mtu is 256, 512, 1024, 2048 or 4096");
	return mtu;
}

Format parse_format(const Raw &raw)
{
	if (raw.json + raw.csv + !raw.format.empty() > 1)
		throw UsageError("--format, --json and --csv: choose one");
	if (raw.json || raw.format == "json")
		return Format::json;
	if (raw.csv || raw.format == "csv")
		return Format::csv;
	if (raw.format.empty() || raw.format == "text")
		return Format::text;
	throw UsageError(fmt::format("\"{}\" is no format: text, csv, json",
				     raw.format));
}

template <typename T>
void set_number(T &value, const char *name, const std::string &text,
		uint64_t min, uint64_t max)
{
	if (!text.empty())
		value = static_cast<T>(parse_number(name, text, min, max));
}

template <typename T>
void set_number(std::optional<T> &value, const char *name,
		const std::string &text, uint64_t max)
{
	if (!text.empty())
		value = static_cast<T>(parse_number(name, text, 0, max));
}

void set_seconds(double &value, const char *name, const std::string &text,
		 double min, double max)
{
	if (!text.empty())
		value = parse_seconds(name, text, min, max);
}

void local_of(const Raw &raw, Options &o)
{
	constexpr uint64_t any = std::numeric_limits<uint64_t>::max();

	o.server = raw.server;
	o.device = raw.device;
	o.bind = raw.bind;
	set_number(o.ib_port, "--ib-port", raw.ib_port, 1, 254);
	set_number(o.gid_index, "--gid-index", raw.gid_index, 255);
	set_number(o.port, "--port", raw.port, 1, 65535);
	set_number(o.sessions, "--sessions", raw.sessions, 0, 1000000);
	set_number(o.ev_profile, "--ev-profile", raw.ev_profile, any);
	set_number(o.cc_profile, "--cc-profile", raw.cc_profile, any);
	set_seconds(o.connect_timeout, "--connect-timeout", raw.connect_timeout,
		    0, 3600);
}

void amounts_of(const Raw &raw, Options &o)
{
	if (!raw.iterations.empty() && !raw.duration.empty())
		throw UsageError("--iters and --duration: choose one");
	if (!raw.sizes.empty() && raw.all)
		throw UsageError("--size and --all: choose one");
	if (!raw.tests.empty())
		o.tests = parse_tests(raw.tests);
	if (!raw.ops.empty())
		o.ops = parse_ops(raw.ops);
	if (!raw.sizes.empty())
		o.sizes = parse_sizes(raw.sizes);
	else if (raw.all)
		o.sizes = sweep(2, 8u << 20);
	set_number(o.iterations, "--iters", raw.iterations, 1, max_iterations);
	set_seconds(o.duration, "--duration", raw.duration, 0.001, 86400);
	set_number(o.warmup, "--warmup", raw.warmup, 0, max_iterations);
	set_number(o.repetitions, "--repeat", raw.repetitions, 1, 1000);
}

void queues_of(const Raw &raw, Options &o)
{
	set_number(o.qps, "--qps", raw.qps, 1, max_qps);
	set_number(o.depth, "--tx-depth", raw.depth, 1, max_depth);
	o.rx_depth = 2 * o.depth;
	set_number(o.rx_depth, "--rx-depth", raw.rx_depth, 1, max_rx_depth);
	o.signal = std::min(o.signal, o.depth);
	set_number(o.signal, "--signal", raw.signal, 1, o.depth);
	set_number(o.list, "--post-list", raw.list, 1, max_list);
	set_number(o.inline_size, "--inline", raw.inline_size, 0, max_inline);
	if (o.list > o.depth)
		throw UsageError("--post-list is longer than --tx-depth");
	if (o.list > o.rx_depth)
		throw UsageError("--post-list is longer than --rx-depth");
}

void check_memory(const Options &o)
{
	const uint64_t need = Layout(o.qps, largest_size(o)).total();

	if (need > max_memory)
		throw UsageError(fmt::format(
			"{} queue pairs and messages of {} bytes need {} MiB, "
			"the limit is {} MiB",
			o.qps, largest_size(o), need >> 20, max_memory >> 20));
	if (std::find(o.tests.begin(), o.tests.end(), Kind::lat) !=
		    o.tests.end() &&
	    !(o.duration > 0) && o.iterations * o.qps > max_samples)
		throw UsageError(fmt::format("more than {} latencies in a run",
					     max_samples));
}

Options options_of(const Raw &raw)
{
	Options o;

	local_of(raw, o);
	amounts_of(raw, o);
	queues_of(raw, o);
	if (!raw.mtu.empty())
		o.mtu = parse_mtu(raw.mtu);
	set_number(o.traffic_class, "--tclass", raw.traffic_class, 0, 255);
	set_number(o.timeout, "--timeout", raw.timeout, 24);
	if (!raw.retry.empty())
		o.retry = parse_retry(raw.retry);
	set_seconds(o.stall, "--stall", raw.stall, 0.1, 3600);
	o.verify = raw.verify;
	o.events = raw.events;
	o.format = parse_format(raw);
	o.output = raw.output;
	check_memory(o);
	return o;
}

using OptionList = std::vector<CLI::Option *>;

void add_local(CLI::App &app, Raw &raw, OptionList &server)
{
	const char *group = "On each side";

	auto add = [&](const char *names, std::string &value,
		       const char *help) {
		return app.add_option(names, value, help)->group(group);
	};

	add("-d,--dev", raw.device, "device, if there are several");
	add("-i,--ib-port", raw.ib_port, "port of the addresses, default 1");
	add("-x,--gid-index", raw.gid_index,
	    "GID; default: the first of RoCE v2, IPv4 before IPv6");
	add("-p,--port", raw.port, "TCP port, default 18700");
	add("--ev-profile", raw.ev_profile, "EV profile of the queue pairs");
	add("--cc-profile", raw.cc_profile, "CC profile of the queue pairs");
	group = "Server";
	server.push_back(
		add("--bind", raw.bind, "address to listen on, default all"));
	server.push_back(add("--sessions", raw.sessions,
			     "clients to serve, 0 without end, default 1"));
}

void add_what(CLI::App &app, Raw &raw, OptionList &client)
{
	auto add = [&](const char *names, std::string &value,
		       const char *help) {
		client.push_back(app.add_option(names, value, help)
					 ->group("What to measure (client)"));
	};
	auto flag = [&](const char *names, bool &value, const char *help) {
		client.push_back(app.add_flag(names, value, help)
					 ->group("What to measure (client)"));
	};

	add("-T,--test", raw.tests, "bw, rate, lat or all; a list, default bw");
	add("--op", raw.ops, "write or write_imm; a list, default write");
	add("-s,--size", raw.sizes,
	    "sizes, a list of SIZE and FROM-TO (powers of 2)");
	flag("-a,--all", raw.all, "sizes from 2 to 8M");
	add("-n,--iters", raw.iterations,
	    "messages of a queue pair, default 1000");
	add("-D,--duration", raw.duration, "seconds of each run, instead");
	add("-w,--warmup", raw.warmup,
	    "messages that do not count, before each run, default 16");
	add("-R,--repeat", raw.repetitions, "repetitions, default 1");
	flag("--verify", raw.verify, "check every byte that arrives");
}

void add_how(CLI::App &app, Raw &raw, OptionList &client)
{
	auto add = [&](const char *names, std::string &value,
		       const char *help) {
		client.push_back(app.add_option(names, value, help)
					 ->group("How to measure (client)"));
	};

	add("-q,--qps", raw.qps, "queue pairs, default 1");
	add("-t,--tx-depth", raw.depth,
	    "messages in flight on a queue pair, default 128");
	add("-r,--rx-depth", raw.rx_depth,
	    "receives of a queue pair, default twice --tx-depth");
	add("-Q,--signal", raw.signal,
	    "messages for a completion, default 16 at most");
	add("-l,--post-list", raw.list, "messages posted at once, default 1");
	add("-I,--inline", raw.inline_size,
	    "messages up to this size inline, default none");
	add("-m,--mtu", raw.mtu, "path MTU, default the largest possible");
	add("--tclass", raw.traffic_class, "traffic class, default 0");
	add("-u,--timeout", raw.timeout,
	    "timeout, 1.024 us to the power of 2, default the library's");
	add("--retry", raw.retry,
	    "LINEAR,EXPONENTIAL retries, default the library's");
	client.push_back(app.add_flag("-e,--events", raw.events,
				      "sleep for completions, do not poll")
				 ->group("How to measure (client)"));
	add("--stall", raw.stall,
	    "seconds without progress that end a run, default 30");
	add("--connect-timeout", raw.connect_timeout,
	    "seconds to wait for the server, default 10");
}

void add_output(CLI::App &app, Raw &raw, OptionList &client)
{
	const char *group = "Output (client)";

	client.push_back(app.add_option("-f,--format", raw.format,
					"text, csv or json, default text")
				 ->group(group));
	client.push_back(
		app.add_flag("-j,--json", raw.json, "JSON")->group(group));
	client.push_back(app.add_flag("--csv", raw.csv, "CSV")->group(group));
	client.push_back(app.add_option("-o,--output", raw.output,
					"file, default standard output")
				 ->group(group));
}

/* Options that only apply to the other side are errors. */
void check_side(const OptionList &wrong, const char *side)
{
	for (const CLI::Option *option : wrong)
		if (option->count())
			throw UsageError(fmt::format("{} is for the {}",
						     option->get_name(), side));
}
} // namespace

const char *name_of(Kind test)
{
	switch (test) {
	case Kind::bw:
		return "bw";
	case Kind::rate:
		return "rate";
	case Kind::lat:
		return "lat";
	}
	return "?";
}

const char *name_of(Op op)
{
	return op == Op::write ? "write" : "write_imm";
}

uint64_t parse_number(const std::string &what, const std::string &text,
		      uint64_t min, uint64_t max)
{
	const bool hex = text.size() > 2 && text[0] == '0' &&
			 (text[1] == 'x' || text[1] == 'X');
	const char *from = text.data() + (hex ? 2 : 0);
	const char *end = text.data() + text.size();
	uint64_t value = 0;
	const auto r = std::from_chars(from, end, value, hex ? 16 : 10);

	if (r.ec == std::errc::invalid_argument || r.ptr != end)
		throw UsageError(
			fmt::format("{}: \"{}\" is no number", what, text));
	if (r.ec != std::errc() || value < min || value > max)
		throw UsageError(fmt::format("{}: {} is not within {} to {}",
					     what, text, min, max));
	return value;
}

uint64_t parse_size(const std::string &what, const std::string &text,
		    uint64_t min, uint64_t max)
{
	static constexpr std::string_view units = "KMG";
	const size_t unit =
		text.empty() ? std::string::npos : units.find(text.back());
	const unsigned int shift =
		unit == std::string::npos ? 0 : 10 * (unsigned(unit) + 1);
	const uint64_t value = parse_number(
		what, shift ? text.substr(0, text.size() - 1) : text, 0,
		std::numeric_limits<uint64_t>::max() >> shift);

	if (value << shift < min || value << shift > max)
		throw UsageError(fmt::format("{}: {} is not within {} to {}",
					     what, text, min, max));
	return value << shift;
}

double parse_seconds(const std::string &what, const std::string &text,
		     double min, double max)
{
	const char *end = text.data() + text.size();
	double value = 0;
	const auto r = std::from_chars(text.data(), end, value,
				       std::chars_format::fixed);

	if (r.ec == std::errc::invalid_argument || r.ptr != end ||
	    std::isnan(value))
		throw UsageError(
			fmt::format("{}: \"{}\" is no number", what, text));
	if (r.ec != std::errc() || value < min || value > max)
		throw UsageError(fmt::format("{}: {} is not within {} to {}",
					     what, text, min, max));
	return value;
}

std::optional<Options> parse_options(const std::vector<std::string> &args,
				     std::ostream &out)
{
	CLI::App app{"Measures MRC devices: bandwidth, message rate, latency.\n"
		     "Without SERVER it is one.",
		     "mrcperf"};
	OptionList server_only;
	OptionList client_only;
	Raw raw;

	app.add_option("SERVER", raw.server, "name or address of the server");
	app.add_flag("-V,--version", raw.version, "Print the version and exit");
	add_local(app, raw, server_only);
	add_what(app, raw, client_only);
	add_how(app, raw, client_only);
	add_output(app, raw, client_only);
	app.footer("Sizes may end in K, M or G. See mrcperf(1).");
	try {
		/* CLI11 expects the arguments in reverse order. */
		app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
	} catch (const CLI::CallForHelp &) {
		out << app.help();
		return std::nullopt;
	} catch (const CLI::ParseError &e) {
		throw UsageError(e.what());
	}
	if (raw.version) {
		out << "mrcperf " << version << '\n';
		return std::nullopt;
	}
	if (raw.server.empty())
		check_side(client_only, "client");
	else
		check_side(server_only, "server");
	return options_of(raw);
}
} // namespace mrcperf
