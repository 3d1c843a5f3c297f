// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcconform: the command line. */
#include <algorithm>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "run.hpp"
#include "target.hpp"

namespace mrcconform
{
namespace
{
struct Args {
	TargetOptions target;
	RunOptions run;
	std::string listen, connect;
	std::string api = "verbs", library;
	std::vector<std::string> addresses;
	std::string source, outer_source;
	std::vector<std::string> sids;
	bool list_json = false, strict = false;
};

using Command = int (*)(Args &);

constexpr const char *default_library = "libmrc.so.1";

/* Opened before the run, so that a wrong name costs no run. */
std::ofstream output(const std::string &file)
{
	std::ofstream out;

	if (file.empty())
		return out;
	out.open(file);
	if (!out)
		fail_errno(file, errno);
	return out;
}

void finish(std::ofstream &out, const std::string &file)
{
	out.flush();
	if (!out)
		throw RunError(file + ": write error");
}

int do_target(Args &a)
{
	if (!a.listen.empty())
		a.target.listen = HostPort::parse(a.listen);
	if (a.api == "mrc")
		a.target.libmrc =
			a.library.empty() ? default_library : a.library;
	else if (!a.library.empty())
		throw UsageError("--library is for --api mrc");
	run_target(a.target);
	return exit_ok;
}

Address parse_v6(const std::string &text)
{
	const Address a = Address::parse(text);

	if (!a.v6())
		throw UsageError("'" + text + "' is no IPv6 address");
	return a;
}

/* After the addresses. */
void parse_planes(Args &a)
{
	Planes &p = a.run.planes;
	const size_t planes = std::max<size_t>(p.netdevs.size(), 1);

	for (const std::string &s : a.sids)
		p.sids.push_back(parse_v6(s));
	if (p.sids.size() > 1 && p.sids.size() != planes)
		throw UsageError(fmt::format(
			"--srv6 is given {} times; once, or once for each of "
			"the {} netdevs of --interface",
			p.sids.size(), planes));
	if (!p.sids.empty())
		for (const Address &at : a.run.addresses)
			if (!at.v6())
				throw UsageError(fmt::format(
					"with --srv6 addresses are IPv6; {} is "
					"not",
					at.text()));
	if (a.outer_source.empty())
		return;
	if (p.sids.empty())
		throw UsageError("--srv6-source is for --srv6");
	p.outer_source = parse_v6(a.outer_source);
}

int do_run(Args &a)
{
	a.run.target = HostPort::parse(a.connect);
	for (const std::string &s : a.addresses)
		a.run.addresses.push_back(Address::parse(s));
	if (!a.source.empty())
		a.run.source = Address::parse(a.source);
	parse_planes(a);
	if ((a.run.mtu & (a.run.mtu - 1)) ||
	    (a.run.max_mtu & (a.run.max_mtu - 1)))
		throw UsageError("path MTUs are 256, 512, 1024, 2048 and 4096");

	/* A pattern that matches nothing is an error before any file. */
	chosen_cases(a.run.patterns);

	std::ofstream json = output(a.run.json), junit = output(a.run.junit);
	std::vector<Result> results;
	std::exception_ptr stopped;

	try {
		run_cases(a.run, results);
	} catch (const RunError &) {
		/* The reports have the cases that were run. */
		stopped = std::current_exception();
	}
	print_summary(std::cout, results);
	if (json.is_open()) {
		print_json(json, results);
		finish(json, a.run.json);
	}
	if (junit.is_open()) {
		print_junit(junit, results);
		finish(junit, a.run.junit);
	}
	if (stopped)
		std::rethrow_exception(stopped);
	return status_of(results, a.strict);
}

int do_list(Args &a)
{
	const auto cases = chosen_cases(a.run.patterns);

	if (a.list_json)
		print_list_json(std::cout, cases);
	else
		print_list(std::cout, cases);
	return exit_ok;
}

CLI::App *add(CLI::App &app, Command &chosen, Command run, const char *name,
	      const char *help)
{
	CLI::App *sub = app.add_subcommand(name, help);

	sub->final_callback([&chosen, run] { chosen = run; });
	return sub;
}

void add_commands(CLI::App &app, Args &a, Command &chosen)
{
	CLI::App *s = add(app, chosen, do_target, "target",
			  "serve a tester, on the host under test");

	s->add_option("-l,--listen", a.listen,
		      fmt::format("ADDRESS:PORT for testers, 127.0.0.1:{} by "
				  "default; :PORT is all addresses",
				  default_port));
	s->add_option("-d,--device", a.target.device,
		      "the RDMA device; by default whichever has the address");
	s->add_option("--api", a.api,
		      "the library that makes queue pairs: verbs (libibverbs) "
		      "or mrc (libMRC)")
		->check(CLI::IsMember({"verbs", "mrc"}))
		->capture_default_str();
	s->add_option("--library", a.library,
		      fmt::format("the file of libMRC, by default {}",
				  default_library));
	s->add_flag("--once", a.target.once, "end after one tester");

	s = add(app, chosen, do_run, "run", "test a target, from another host");
	s->add_option("-t,--target", a.connect, "HOST:PORT of the target")
		->required();
	s->add_option("-a,--address", a.addresses,
		      "an address of the RDMA device, IPv4 or IPv6; can be "
		      "given more than once")
		->required()
		->take_all();
	s->add_option("-s,--source", a.source,
		      "the address of this host, by default that of the route");
	s->add_option("-i,--interface", a.run.planes.netdevs,
		      "a netdev of this host in a plane of the target; given "
		      "once for each plane, in the order of the target's ports")
		->take_all();
	s->add_option("--srv6", a.sids,
		      "send all packets in SRv6 to this address, which leads "
		      "to the target; once, or once for each --interface")
		->take_all();
	s->add_option("--srv6-source", a.outer_source,
		      "the outer source address, by default that of the route");
	s->add_option("-c,--case", a.run.patterns,
		      "cases that match this pattern, or all of a part: "
		      "wire.icrc; can be given more than once");
	s->add_option("-p,--port", a.run.port, "UDP port of MRC")
		->check(CLI::Range(1, 65535))
		->capture_default_str();
	s->add_option("-w,--window", a.run.window,
		      "PSNs in the target's window, 128 times its MPR")
		->check(CLI::Range(128, 32640))
		->capture_default_str();
	s->add_option("--mtu", a.run.mtu, "path MTU of most cases")
		->check(CLI::Range(256, 4096))
		->capture_default_str();
	s->add_option("--max-mtu", a.run.max_mtu, "the largest path MTU")
		->check(CLI::Range(256, 4096))
		->capture_default_str();
	s->add_option("--patience", a.run.patience,
		      "limit of each wait, in seconds")
		->check(CLI::Range(1, 600))
		->capture_default_str();
	s->add_option("--dscp-data", a.run.dscp.data, "codepoint of data")
		->check(CLI::Range(0, 63))
		->capture_default_str();
	s->add_option("--dscp-control", a.run.dscp.control,
		      "codepoint of control packets")
		->check(CLI::Range(0, 63))
		->capture_default_str();
	s->add_option("--dscp-trimmed", a.run.dscp.trimmed,
		      "codepoint of trimmed packets")
		->check(CLI::Range(0, 63))
		->capture_default_str();
	s->add_option("--dscp-trimmed-lasthop", a.run.dscp.trimmed_lasthop,
		      "the same, trimmed on the last hop")
		->check(CLI::Range(0, 63))
		->capture_default_str();
	s->add_flag_callback(
		"--no-trimming", [&a] { a.run.trimming = false; },
		"the target does not answer trimmed packets: skip these cases");
	s->add_option("--json", a.run.json, "a file for the results as JSON");
	s->add_option("--junit", a.run.junit,
		      "a file for the results as JUnit's XML");
	s->add_option("--pcap", a.run.pcap,
		      "a capture file for all packets, sent and received");
	s->add_flag("--strict", a.strict, "a SHOULD counts as a MUST");
	s->add_flag("-v,--verbose", a.run.verbose,
		    "show the packets of cases that pass, too");

	s = add(app, chosen, do_list, "list", "show the cases");
	s->add_flag("-j,--json", a.list_json, "as JSON");
	s->add_option("pattern", a.run.patterns, "as -c of \"run\"");
}

int run_command(int argc, char **argv)
{
	CLI::App app("Tests whether an endpoint does what MRC 1.0 says, by raw "
		     "packets from a second host. mrcconform(1) has the "
		     "details.",
		     "mrcconform");
	Args a;
	Command chosen = nullptr;

	app.require_subcommand(1);
	add_commands(app, a, chosen);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &e) {
		return app.exit(e) == 0 ? exit_ok : exit_usage;
	}
	return chosen(a);
}
} // namespace
} // namespace mrcconform

int main(int argc, char **argv)
{
	/* A reader that ends early is an error of a write. */
	signal(SIGPIPE, SIG_IGN);
	try {
		return mrcconform::run_command(argc, argv);
	} catch (const mrcconform::UsageError &e) {
		std::cerr << "mrcconform: " << e.what() << '\n';
		return mrcconform::exit_usage;
	} catch (const std::exception &e) {
		std::cerr << "mrcconform: " << e.what() << '\n';
		return mrcconform::exit_system;
	}
}
