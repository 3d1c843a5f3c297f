// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "error.hpp"
#include "run.hpp"

namespace
{
using namespace mrcbench;
using mrcperf::RunError;

enum Exit { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_goals = 3 };

Plan plan_of(const Cli &cli)
{
	std::string text, name = "measure";

	if (!cli.plan.empty()) {
		text = file_text(cli.plan);
		if (text.empty())
			throw RunError(fmt::format("{} cannot be read",
						   cli.plan));
		name = std::filesystem::path(cli.plan).stem();
	}
	Plan plan = parse_plan(name, text, cli.set);

	for (const std::string &s : cli.only)
		plan.section(s); /* throws if it does not exist */
	/* Goals of sections that were not selected are ignored. */
	for (Section &s : plan.sections)
		if (!cli.only.empty() &&
		    std::find(cli.only.begin(), cli.only.end(), s.name) ==
			    cli.only.end())
			s.goals.clear();
	return plan;
}

Exit check(const Cli &cli)
{
	const Plan plan = plan_of(cli);
	double seconds = 0;
	size_t all = 0;

	for (const Section &s : plan.sections) {
		std::cout << fmt::format("{}: {}\n", s.name, s.title);
		for (const Point &p : s.points) {
			std::cout << fmt::format("  [{}]", p.label());
			for (const std::string &c : s.columns)
				std::cout << ' ' << c;
			std::cout << '\n';
			all += s.columns.size();
			seconds += static_cast<double>(s.columns.size()) *
				   p.shape.seconds * (1 + warm_share);
		}
		for (const Goal &g : s.goals)
			std::cout << fmt::format("  goal {}\n", g.text);
	}
	std::cout << fmt::format(
		"{} measurements, {} times, {:.0f} s at least\n", all,
		plan.repeat, seconds * plan.repeat);
	return exit_ok;
}

Exit run(const Cli &cli)
{
	const Plan plan = plan_of(cli);
	const std::string directory =
		cli.output.empty() ? "mrcbench-" + plan.name : cli.output;

	catch_signals();
	const Machine machine = this_machine();
	const Results results = run_plan(plan, cli, machine, std::cerr);

	write_all(directory, results, machine, std::cerr);
	write_text(std::cout, results, machine);
	std::cout << fmt::format("\nresults are in {}\n", directory);
	bool any = false, met = true;

	for (const Sample &s : results.samples())
		any |= s.error.empty();
	for (const Outcome &o : results.outcomes())
		met &= o.met;
	if (!any) {
		std::cerr << "mrcbench: nothing could be measured\n";
		return exit_failed;
	}
	return cli.strict && !met ? exit_goals : exit_ok;
}
} // namespace

int main(int argc, char **argv)
{
	try {
		const auto cli = parse_cli({argv + 1, argv + argc}, std::cout);

		if (!cli)
			return exit_ok;
		switch (cli->command) {
		case Command::check:
			return check(*cli);
		case Command::serve:
			serve_all(*cli, std::cerr);
			return exit_ok;
		case Command::run:
			break;
		}
		return run(*cli);
	} catch (const mrcperf::UsageError &e) {
		std::cerr << "mrcbench: " << e.what()
			  << "\nTry mrcbench --help.\n";
		return exit_usage;
	} catch (const std::exception &e) {
		std::cerr << "mrcbench: " << e.what() << '\n';
		return exit_failed;
	}
}
