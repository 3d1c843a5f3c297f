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
#include "mpi_peers.hpp"
#include "runner.hpp"
#include "units.hpp"
#include "yaml.hpp"

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
	std::string trace, pcap, pcap_link;
	std::vector<u32> trace_flows;
	std::string part;
	std::vector<std::string> results;
	bool quiet = false, mpi = false;
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

/* True if a file goes to standard output: then no summary is printed there. */
bool to_standard_output(const Args &a)
{
	for (const std::string *file :
	     {&a.json, &a.csv, &a.report, &a.trace, &a.pcap})
		if (*file == "-")
			return true;
	return false;
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

/* What @a wants to be recorded. Throws UsageError. */
Watch watch_of(const Args &a, const Scenario &s)
{
	Watch w;

	if (a.trace.empty() && a.pcap.empty())
		return w;
	if (s.columns.size() != 1 || s.seeds.size() != 1)
		throw UsageError("a trace or capture is of one run: choose a "
				 "column (-c) and a seed (-s)");
	if (is_roce(s.columns.front()))
		throw UsageError("roce is a model without packets of MRC: "
				 "nothing to trace or capture");
	if (!a.trace.empty())
		w.qps = connections_of(s.traffic(s.seeds.front()),
				       a.trace_flows);
	if (!a.pcap.empty()) {
		w.links = s.shape.named(a.pcap_link);
		if (w.links.empty())
			throw UsageError(fmt::format("\"{}\" is no link of "
						     "the fabric; one is "
						     "named like h1:p1",
						     a.pcap_link));
	}
	return w;
}

/* "K/N" of a job array. */
void read_part(const std::string &text, RunOptions &o)
{
	const std::size_t slash = text.find('/');

	if (slash == std::string::npos)
		throw UsageError(fmt::format("\"{}\" is not like 3/10, the "
					     "third of ten parts",
					     text));
	o.parts = static_cast<u32>(mrclab::parse_count(
		std::string_view(text).substr(slash + 1), 1, 1 << 20));
	o.part = static_cast<u32>(mrclab::parse_count(
		std::string_view(text).substr(0, slash), 1, o.parts));
}

int do_run(const Args &a)
{
	const std::unique_ptr<Peers> peers =
		a.mpi ? mpi_peers() : std::unique_ptr<Peers>();
	const bool first = !peers || !peers->rank();
	Scenario s = scenario_of(a);
	const bool line = !a.quiet && first && isatty(STDERR_FILENO);
	RunOptions o;

	o.peers = peers.get();
	if (!a.part.empty())
		read_part(a.part, o);
	o.threads = a.threads;
	if (peers && a.jobs > 1)
		throw UsageError("processes make one run after the other: "
				 "--mpi and several jobs");
	o.jobs = peers    ? 1
		 : a.jobs ? a.jobs
			  : std::max(std::thread::hardware_concurrency() /
					   a.threads,
				   1u);
	o.rows = !a.csv.empty() || !a.report.empty();
	if (!a.memory.empty())
		o.memory = mrclab::parse_count(a.memory, 1, 1 << 24) << 20;
	s.settings.watch = watch_of(a, s);
	if (line)
		o.progress = [](const std::string &text) {
			std::cerr << "\r\x1b[K" << text << std::flush;
		};

	std::vector<RunResult> runs = run_scenario(s, o);
	bool failed = false;

	if (line)
		std::cerr << "\r\x1b[K";
	if (!first)
		return mrclab::exit_ok;
	if (!a.json.empty())
		write_output(a.json, json_of_runs(s, o, runs).dump(2) + "\n");
	if (!a.csv.empty())
		write_output(a.csv, csv_of(runs));
	if (!a.report.empty())
		write_report(a.report, s, runs);
	if (!a.trace.empty())
		write_output(a.trace, trace_text(std::move(runs.front().trace)));
	if (!a.pcap.empty())
		write_output(a.pcap, pcap_of(std::move(runs.front().captured)));
	for (const RunResult &r : runs) {
		if (!a.quiet && !to_standard_output(a))
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

int do_merge(const Args &a)
{
	std::vector<std::pair<std::string, std::string>> files;

	for (const std::string &name : a.results)
		files.emplace_back(name, mrclab::read_text_up_to(
						 std::size_t{1} << 32, name));
	write_output(a.json.empty() ? "-" : a.json,
		     merged(files).dump(2) + "\n");
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
		      "mrc, ecmp, oblivious, roce, roce-pfc, instead of those of "
		      "the file")
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
	CLI::Option *trace = s->add_option(
		"--trace", a.trace,
		"a file for what happened to queue pairs, as tracefs shows it "
		"of the driver; - is standard output");
	s->add_option("--trace-flows", a.trace_flows,
		      "numbers of flows whose queue pairs are traced; 1 by "
		      "default")
		->needs(trace)
		->delimiter(',')
		->allow_extra_args(false);
	CLI::Option *pcap = s->add_option(
		"--pcap", a.pcap,
		"a file for the packets at the end of a link, as of tcpdump; - "
		"is standard output");
	pcap->needs(s->add_option("--pcap-link", a.pcap_link,
				  "which link, named like h1:p1 or p1l1:s1")
			    ->needs(pcap));
	s->add_option("-m,--memory", a.memory,
		      "MiB that may be used; what is available by default");
	s->add_option("--part", a.part,
		      "K/N: only every N-th run from number K on, for tasks of "
		      "a job array");
	s->add_flag("--mpi", a.mpi,
		    "the processes that mpirun has started simulate each run "
		    "together");
	s->add_flag("-q,--quiet", a.quiet, "no progress and no summary");

	s = add(app, chosen, do_plan, "plan",
		"show what follows from a scenario, and simulate nothing");
	add_scenario(s, a);

	s = add(app, chosen, do_merge, "merge",
		"put the JSON of all parts of a job array together");
	s->add_option("results", a.results, "their files")->required();
	s->add_option("-o,--json", a.json,
		      "a file for it; standard output by default");
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &e) {
		return app.exit(e) == 0 ? mrclab::exit_ok : mrclab::exit_usage;
	}
	return chosen(a);
}

/* Other processes may wait for this one. */
int failed(const char *what, int status)
{
	std::cerr << "mrcsim: " << what << '\n';
	mpi_abort(status);
	return status;
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
		return mrcsim::failed(e.what(), mrclab::exit_usage);
	} catch (const std::bad_alloc &) {
		return mrcsim::failed("there is not enough memory",
			      mrclab::exit_system);
	} catch (const std::exception &e) {
		return mrcsim::failed(e.what(), mrclab::exit_system);
	}
}
