// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcsim: the command line. */
#include <algorithm>
#include <csignal>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "../common/gnuplot.hpp"
#include "error.hpp"
#include "files.hpp"
#include "html_report.hpp"
#include "runner.hpp"
#include "units.hpp"

namespace mrcsim
{
namespace
{
using mrclab::UsageError;

struct Args {
	std::string scenario, json, csv, report;
	std::vector<std::string> columns;
	std::vector<u64> seeds;
	u32 jobs = 0, threads = 1;
	std::string memory;
	bool quiet = false;
};

Scenario scenario_of(const Args &a)
{
	Scenario s = read_scenario(a.scenario);

	if (!a.columns.empty()) {
		s.columns.clear();
		for (const std::string &w : a.columns)
			s.columns.push_back(column_of(w));
	}
	if (!a.seeds.empty())
		s.seeds = a.seeds;
	return s;
}

void write_output(const std::string &file, const std::string &text)
{
	if (file == "-")
		std::cout << text << std::flush;
	else
		mrclab::replace_text(file, text);
}

void write_report(const std::string &file, const Scenario &s,
		  const std::vector<RunResult> &runs)
{
	std::vector<std::string> pictures;

	try {
		for (const Figure &f : figures_of(runs))
			pictures.push_back(gnuplot::draw(plot_of(f),
							 gnuplot::Format::svg));
	} catch (const gnuplot::Error &e) {
		throw mrclab::SystemError(e.what());
	}
	write_output(file, html_of(s, runs, pictures));
}

int do_run(const Args &a)
{
	const Scenario s = scenario_of(a);
	const bool line = !a.quiet && isatty(STDERR_FILENO);
	RunOptions o;

	o.threads = a.threads;
	o.jobs = a.jobs ? a.jobs
			: std::max(std::thread::hardware_concurrency() /
					   a.threads,
				   1u);
	o.rows = !a.csv.empty() || !a.report.empty();
	if (!a.memory.empty())
		o.memory = mrclab::parse_count(a.memory, 1, 1 << 24) << 20;
	if (line)
		o.progress = [](const std::string &text) {
			std::cerr << "\r\x1b[K" << text << std::flush;
		};

	const std::vector<RunResult> runs = run_scenario(s, o);
	bool failed = false;

	if (line)
		std::cerr << "\r\x1b[K";
	if (!a.json.empty()) {
		nlohmann::ordered_json j = {{"name", s.name}};

		j["runs"] = nlohmann::ordered_json::array();
		for (const RunResult &r : runs)
			j["runs"].push_back(json_of(r));
		write_output(a.json, j.dump(2) + "\n");
	}
	if (!a.csv.empty())
		write_output(a.csv, csv_of(runs));
	if (!a.report.empty())
		write_report(a.report, s, runs);
	for (const RunResult &r : runs) {
		if (!a.quiet && a.json != "-" && a.csv != "-" &&
		    a.report != "-")
			std::cout << text_of(r);
		if (!r.wrong.empty())
			throw mrclab::SystemError("packets went astray: " +
						  r.wrong);
		failed |= r.totals.failed > 0 ||
			  (!s.settings.end && r.totals.finished < r.flows);
	}
	return failed ? mrclab::exit_unmet : mrclab::exit_ok;
}

int do_plan(const Args &a)
{
	std::cout << plan_text(scenario_of(a));
	return mrclab::exit_ok;
}

using Command = int (*)(const Args &);

CLI::App *add(CLI::App &app, Command &chosen, Command run, const char *name,
	      const char *help)
{
	CLI::App *sub = app.add_subcommand(name, help);

	sub->final_callback([&chosen, run] { chosen = run; });
	return sub;
}

void add_scenario(CLI::App *s, Args &a)
{
	s->add_option("scenario", a.scenario,
		      "the scenario's file, see mrcsim-scenario(5)")
		->required();
	s->add_option("-c,--columns", a.columns,
		      "mrc, ecmp, oblivious, roce, instead of those of the file")
		->delimiter(',')
		->allow_extra_args(false);
	s->add_option("-s,--seeds", a.seeds,
		      "numbers, instead of those of the file")
		->delimiter(',')
		->allow_extra_args(false);
}

int run_command(int argc, char **argv)
{
	CLI::App app(
		"Simulates fabrics packet by packet, with the driver's own "
		"transport engine. mrcsim(1) has the details.",
		"mrcsim");
	Args a;
	Command chosen = nullptr;

	app.require_subcommand(1);

	CLI::App *s = add(app, chosen, do_run, "run", "simulate a scenario");

	add_scenario(s, a);
	s->add_option("-j,--jobs", a.jobs,
		      "runs at the same time; as many as there are "
		      "processors for by default")
		->check(CLI::Range(1, 1024));
	s->add_option("-t,--threads", a.threads,
		      "threads of each run, 1 by default")
		->check(CLI::Range(1, 1024));
	s->add_option("-o,--json", a.json,
		      "a file for the results; - is standard output");
	s->add_option("-f,--csv", a.csv,
		      "a file with a line for each flow; - is standard output");
	s->add_option("-r,--report", a.report,
		      "a file for a page with tables and pictures, which needs "
		      "gnuplot; - is standard output");
	s->add_option("-m,--memory", a.memory,
		      "MiB that may be used; what is available by default");
	s->add_flag("-q,--quiet", a.quiet, "no progress and no summary");

	s = add(app, chosen, do_plan, "plan",
		"show what follows from a scenario, and simulate nothing");
	add_scenario(s, a);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &e) {
		return app.exit(e) == 0 ? mrclab::exit_ok : mrclab::exit_usage;
	}
	return chosen(a);
}
} // namespace
} // namespace mrcsim

int main(int argc, char **argv)
{
	/* A reader that ends early is an error of a write. */
	signal(SIGPIPE, SIG_IGN);
	try {
		return mrcsim::run_command(argc, argv);
	} catch (const mrclab::UsageError &e) {
		std::cerr << "mrcsim: " << e.what() << '\n';
		return mrclab::exit_usage;
	} catch (const std::bad_alloc &) {
		std::cerr << "mrcsim: there is not enough memory\n";
		return mrclab::exit_system;
	} catch (const std::exception &e) {
		std::cerr << "mrcsim: " << e.what() << '\n';
		return mrclab::exit_system;
	}
}
