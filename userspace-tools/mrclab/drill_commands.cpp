// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "drill_commands.hpp"

#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "drill_file.hpp"
#include "drill_run.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "files.hpp"
#include "graph.hpp"
#include "interrupt.hpp"
#include "report.hpp"
#include "report_summary.hpp"
#include "units.hpp"
#include "yaml.hpp"

namespace mrclab
{
namespace
{
std::vector<Drill> read_drills(const std::vector<std::string> &files)
{
	std::vector<Drill> all;
	std::set<std::string> names;

	for (const std::string &f : files) {
		all.push_back(read_drill(f));
		if (!names.insert(all.back().name).second)
			throw FileError(f, 0,
					fmt::format("there are two drills {}",
						    all.back().name));
	}
	return all;
}

void make_dir(const std::string &dir)
{
	std::error_code err;

	std::filesystem::create_directories(dir, err);
	if (err)
		throw SystemError(dir, err.value());
}
} // namespace

int drill_command(const std::vector<std::string> &files, const std::string &dir,
		  bool mrc_only, const Progress &progress)
{
	std::vector<Drill> drills = read_drills(files);
	std::vector<DrillResult> results;
	int status = exit_ok;

	make_dir(dir);
	catch_interrupts();
	for (Drill &d : drills) {
		DrillResult result;

		if (mrc_only)
			d.stages.resize(1);
		try {
			run_drill(result, d, dir, progress);
		} catch (const SystemError &e) {
			if (drills.size() == 1 && result.runs.empty())
				throw;
			std::cerr << fmt::format("mrclab: {}: {}\n", d.name,
						 e.what());
			status = exit_system;
			if (result.runs.empty())
				continue;
		}
		results.push_back(std::move(result));
		std::cout << summary_of(results.back()) << std::flush;
		if (!passed(results.back()) && status == exit_ok)
			status = exit_unmet;
		/* It is kept, whatever happens to the next ones. */
		write_text(fmt::format("{}/{}.json", dir, d.name),
			   json_of(results.back()));
	}
	write_report(results, dir);
	progress(fmt::format("the report is {}/report.html", dir));
	return status;
}

int check_drills(const std::vector<std::string> &files)
{
	for (const Drill &d : read_drills(files)) {
		const Stage &s = d.stages[0];
		const Fabric f = parse_fabric(s.fabric_text, s.fabric_file);

		std::cout << fmt::format(
			"{}: {}, {} flows on {}{}\n", d.name, show_time(d.time),
			d.flows.size(), f.name,
			d.stages.size() > 1 ? ", and with rxe" : "");
	}
	return exit_ok;
}

int report_command(const std::vector<std::string> &files,
		   const std::string &dir)
{
	std::vector<DrillResult> results;
	std::set<std::string> names;

	for (const std::string &f : files) {
		results.push_back(parse_result(read_text_up_to(max_result, f), f));
		if (!names.insert(results.back().name).second)
			throw FileError(f, 0,
					fmt::format("there are two results of "
						    "drill {}",
						    results.back().name));
	}
	make_dir(dir);
	write_report(results, dir);
	return exit_ok;
}

int graph_command(const std::string &file)
{
	std::cout << dot_of(Topology(read_fabric(file)), Faults());
	return exit_ok;
}
} // namespace mrclab
