// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cli.hpp"

#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "error.hpp"
#include "options.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::parse_number;
using mrcperf::UsageError;

constexpr const char *version = "1.0";

/* The values of options as text. They are parsed after all options are known.
 */
struct Raw {
	std::vector<std::string> places;
	std::string port, sessions;
	bool version = false;
};

void add_plan(CLI::App &sub, Cli &cli)
{
	sub.add_option("PLAN", cli.plan, "plan; none: one section by --set");
	sub.add_option("--set", cli.set, "KEY=VALUE that wins over the plan")
		->take_all()
		->allow_extra_args(false);
	sub.add_option("--only", cli.only, "a section to run, instead of all")
		->take_all()
		->allow_extra_args(false);
}

void add_places(CLI::App &sub, Raw &raw)
{
	sub.add_option("-c,--column", raw.places,
		       "COLUMN=DEVICE[/ADDRESS] or tcp[=ADDRESS]")
		->take_all()
		->allow_extra_args(false);
	sub.add_option("-p,--port", raw.port, "TCP port, default 18710");
}
} // namespace

Place parse_place(const std::string &text)
{
	const size_t is = text.find('=');
	Place p;

	p.column = text.substr(0, is);
	if (!is_column(p.column))
		throw UsageError(fmt::format(
			"\"{}\" is no column: mrc, rxe, tcp, tcp-offload",
			p.column));
	const std::string what =
		is == std::string::npos ? "" : text.substr(is + 1);

	if (p.tcp()) {
		p.address = what;
		return p;
	}
	const size_t slash = what.find('/');

	p.device = what.substr(0, slash);
	if (slash != std::string::npos)
		p.address = what.substr(slash + 1);
	/* The name becomes a part of file names. */
	if (p.device.empty() || p.device[0] == '.')
		throw UsageError(fmt::format(
			"column {} needs a device: {}=DEVICE", p.column,
			p.column));
	return p;
}

std::optional<Cli> parse_cli(const std::vector<std::string> &args,
			     std::ostream &out)
{
	CLI::App app{"Measures mrc, rxe and TCP side by side.", "mrcbench"};
	Cli cli;
	Raw raw;

	app.add_flag("-V,--version", raw.version, "Print the version and exit");
	app.require_subcommand(0, 1);
	CLI::App *run = app.add_subcommand("run", "measure what a plan says");
	CLI::App *check =
		app.add_subcommand("check", "say what a plan would measure");
	CLI::App *serve =
		app.add_subcommand("serve", "be the other end of run --to");

	add_plan(*run, cli);
	add_plan(*check, cli);
	run->add_option("-o,--output", cli.output,
			"directory for results, default mrcbench-PLAN");
	run->add_flag("--strict", cli.strict,
		      "exit with 3 if a goal is not met");
	run->add_option("--to", cli.to,
			"server that serves; default: hosts of its own");
	add_places(*run, raw);
	add_places(*serve, raw);
	serve->add_option("--bind", cli.bind, "address to listen on");
	serve->add_option("--sessions", raw.sessions,
			  "measurements to serve, default without end");
	app.footer("See mrcbench(1).");
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
		out << "mrcbench " << version << '\n';
		return std::nullopt;
	}
	if (app.get_subcommands().empty())
		throw UsageError("run, check or serve?");
	cli.command = serve->parsed()	? Command::serve
		      : check->parsed() ? Command::check
					: Command::run;
	for (const std::string &p : raw.places)
		cli.places.push_back(parse_place(p));
	if (!raw.port.empty())
		cli.port = static_cast<uint16_t>(
			parse_number("--port", raw.port, 1, 65535));
	if (!raw.sessions.empty())
		cli.sessions = static_cast<uint32_t>(
			parse_number("--sessions", raw.sessions, 0, 1000000));
	if (cli.command == Command::serve && cli.places.empty())
		throw UsageError("serve needs a --column");
	if (cli.command == Command::run && cli.to.empty() !=
						   cli.places.empty())
		throw UsageError("--to and --column belong together");
	return cli;
}
} // namespace mrcbench
