// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcmap: the command line. */
#include <csignal>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "address.hpp"
#include "agent.hpp"
#include "clock.hpp"
#include "collector.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "interrupt.hpp"
#include "ip_commands.hpp"
#include "plan_text.hpp"
#include "state_file.hpp"
#include "units.hpp"
#include "yaml.hpp"

namespace mrcmap
{
namespace
{
using mrclab::Topology;
using mrclab::UsageError;

/* "show -c" has found something. */
constexpr int exit_findings = 3;
/* Older states are said to be old. */
constexpr int64_t fresh_ms = 10'000;
constexpr const char *default_listen = "127.0.0.1:48621";

/* What the command line says; a command uses the members that it has. */
struct Args {
	std::string fabric, host, key, state;
	Config config;
	AgentOptions agent;
	CollectorOptions collector;
	bool json = false, prometheus = false, dot = false, history = false,
	     check = false;
};

Topology read_topology(const Args &a)
{
	const mrclab::Fabric f = mrclab::read_fabric(a.fabric);

	mrclab::check_addresses(f);
	check_config(a.config);
	return Topology(f);
}

/* "h3" or "3" */
uint32_t host_number(const Topology &t, const std::string &word)
{
	const std::string name =
		word.find_first_not_of("0123456789") == std::string::npos
			? "h" + word
			: word;
	const mrclab::Node &n = t.node(name);

	if (n.kind != mrclab::Kind::host)
		throw UsageError(word + " is no host");
	return n.number;
}

/* Whoever can read it can make probes that agents believe. */
Key read_key(const std::string &file)
{
	struct stat st {
	};

	if (stat(file.c_str(), &st) == 0 && (st.st_mode & S_IROTH))
		throw UsageError(file + " can be read by everybody");
	return parse_key(mrclab::read_text(file));
}

int do_agent(Args &a)
{
	const Topology t = read_topology(a);

	a.agent.host = host_number(t, a.host);
	if (a.agent.collector.empty() && a.agent.file.empty())
		throw UsageError("where do reports go? -c or -o says so");
	if (!a.key.empty())
		a.agent.key = read_key(a.key);
	if (a.agent.deny && a.agent.collector.empty())
		throw UsageError("lists of what to deny come from a collector, "
				 "which -c names");
	if (a.agent.device.empty())
		a.agent.device = mrclab::device_of(t.fabric(), a.agent.host);
	run_agent(t, a.config, a.agent);
	return mrclab::exit_ok;
}

int do_collector(Args &a)
{
	const Topology t = read_topology(a);

	if (a.collector.listen.empty() && a.collector.files.empty())
		a.collector.listen = default_listen;
	run_collector(t, a.config, a.collector);
	return mrclab::exit_ok;
}

int do_plan(Args &a)
{
	const Topology t = read_topology(a);
	const Plan plan(t, a.config);
	std::optional<uint32_t> host;

	if (!a.host.empty())
		host = host_number(t, a.host);
	std::cout << (a.json ? plan_json(t, plan, host)
			     : plan_text(t, plan, host));
	return mrclab::exit_ok;
}

Form form_of(const Args &a)
{
	if (a.json)
		return Form::json;
	if (a.prometheus)
		return Form::prometheus;
	if (a.dot)
		return Form::dot;
	return a.history ? Form::history : Form::text;
}

int do_show(Args &a)
{
	const Shown s = shown(a.state, mrclab::read_text(a.state), form_of(a));
	const int64_t age = wall_ms() - s.wall;

	std::cout << s.text << std::flush;
	if (age > fresh_ms)
		std::cerr << fmt::format(
			"mrcmap: {} is {} s old: the collector "
			"does not run\n",
			a.state, age / 1000);
	return a.check && s.findings ? exit_findings : mrclab::exit_ok;
}

using Command = int (*)(Args &);

CLI::App *add(CLI::App &app, Command &chosen, Command run, const char *name,
	      const char *help)
{
	CLI::App *sub = app.add_subcommand(name, help);

	sub->final_callback([&chosen, run] { chosen = run; });
	return sub;
}

void add_fabric(CLI::App *s, Args &a)
{
	s->add_option("-f,--fabric", a.fabric,
		      "the fabric's file, see mrclab-fabric(5)")
		->required();
}

/* Every member of Config. */
void add_settings(CLI::App *s, Args &a)
{
	for (const Setting &setting : settings())
		s->add_option_function<std::string>(
			 "--" + setting.name,
			 [&a, name = setting.name](const std::string &value) {
				 set_config(a.config, name, value);
			 },
			 fmt::format("{}; {}", setting.help, setting.range))
			->default_str(get_config(a.config, setting.name))
			->group("Settings");
}

void add_commands(CLI::App &app, Args &a, Command &chosen)
{
	CLI::App *s = add(app, chosen, do_agent, "agent",
			  "probe the fabric from a host, and report");

	add_fabric(s, a);
	s->add_option("-H,--host", a.host, "which host this is: h3")
		->required();
	s->add_option("-c,--collector", a.agent.collector,
		      "ADDRESS:PORT of the collector");
	s->add_option("-o,--output", a.agent.file,
		      "a file for the reports; - is standard output");
	s->add_option("-n,--netdev", a.agent.netdevs,
		      "the netdevs of the planes; p1,p2,... by default")
		->delimiter(',');
	s->add_option("-k,--key", a.key,
		      "a file with 32 hexadecimal digits, the same for all "
		      "agents: others cannot forge probes");
	s->add_flag("-d,--deny", a.agent.deny,
		    "keep queue pairs from paths that the collector denies");
	s->add_option("--device", a.agent.device,
		      "the RDMA device of --deny; mrcN on host N by default");
	add_settings(s, a);

	s = add(app, chosen, do_collector, "collector",
		"find faults from what agents report");
	add_fabric(s, a);
	s->add_option("-l,--listen", a.collector.listen,
		      fmt::format("ADDRESS:PORT for agents, {} by default; "
				  ":PORT is all addresses",
				  default_listen));
	s->add_option("-F,--follow", a.collector.files,
		      "files that agents write by -o");
	s->add_option("-s,--state", a.collector.state,
		      "file for \"mrcmap show\", written every second");
	s->add_option("-m,--metrics", a.collector.metrics,
		      "file for Prometheus' node_exporter: NAME.prom")
		/* OPTIONS of the unit may name another one. */
		->take_last();
	s->add_option("--history-file", a.collector.history,
		      "file to which changes are appended, a JSON object "
		      "a line");
	s->add_flag("-d,--deny", a.collector.deny,
		    "tell agents which paths to deny");
	add_settings(s, a);

	s = add(app, chosen, do_show, "show", "show what the collector knows");
	s->add_option("-s,--state", a.state, "the file of \"collector -s\"")
		->default_str(state_path);
	a.state = state_path;

	CLI::Option_group *forms = s->add_option_group("Forms");

	forms->add_flag("-j,--json", a.json, "as JSON");
	forms->add_flag("-p,--prometheus", a.prometheus, "as metrics");
	forms->add_flag("-g,--dot", a.dot, "a picture for dot(1)");
	forms->add_flag("-y,--history", a.history, "what changed, as JSON");
	forms->require_option(0, 1);
	s->add_flag("-c,--check", a.check, "end with 3 if something is wrong");

	s = add(app, chosen, do_plan, "plan", "show the paths of all probes");
	add_fabric(s, a);
	s->add_option("-H,--host", a.host, "just those of a host");
	s->add_flag("-j,--json", a.json, "as JSON");
	add_settings(s, a);
}

int run_command(int argc, char **argv)
{
	CLI::App app("Path health of a fabric: agents on the hosts probe every "
		     "link, a collector says what is wrong. mrcmap(8) has the "
		     "details.",
		     "mrcmap");
	Args a;
	Command chosen = nullptr;

	app.require_subcommand(1);
	add_commands(app, a, chosen);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &e) {
		return app.exit(e) == 0 ? mrclab::exit_ok : mrclab::exit_usage;
	}
	return chosen(a);
}
} // namespace
} // namespace mrcmap

int main(int argc, char **argv)
{
	/* A reader that ends early is an error of a write. */
	signal(SIGPIPE, SIG_IGN);
	try {
		return mrcmap::run_command(argc, argv);
	} catch (const mrclab::Interrupted &) {
		/* That is how agents and collectors end. */
		return mrclab::exit_ok;
	} catch (const mrclab::UsageError &e) {
		std::cerr << "mrcmap: " << e.what() << '\n';
		return mrclab::exit_usage;
	} catch (const std::exception &e) {
		std::cerr << "mrcmap: " << e.what() << '\n';
		return mrclab::exit_system;
	}
}
