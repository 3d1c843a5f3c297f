// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrclab: the command line. */
#include <csignal>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "address.hpp"
#include "drill_commands.hpp"
#include "error.hpp"
#include "export.hpp"
#include "fabric_file.hpp"
#include "files.hpp"
#include "interrupt.hpp"
#include "ip_commands.hpp"
#include "lab.hpp"
#include "process.hpp"
#include "profiles.hpp"
#include "sampler.hpp"
#include "status.hpp"
#include "text.hpp"
#include "units.hpp"
#include "yaml.hpp"

namespace mrclab
{
namespace
{
/* What the command line says; a command uses the members that it has. */
struct Args {
	std::string fabric; /* -f */
	std::string file;
	std::string format;
	std::string dir = "drills";
	std::string node; /* or link, or target */
	std::string period, downtime, times;
	std::string batch;
	std::vector<std::string> words;
	ExportOptions images;
	bool all = false, json = false, stats = false, quiet = false,
	     check = false, mrc_only = false;
};

Progress progress_of(const Args &a)
{
	if (a.quiet)
		return [](const std::string &) {};
	return [](const std::string &step) {
		std::cerr << "mrclab: " << step << '\n';
	};
}

int check(const Args &a)
{
	const Fabric f = read_fabric(a.file);

	check_addresses(f);
	check_profiles(f);
	std::cout << summary(f) << '\n';
	return exit_ok;
}

int do_up(const Args &a)
{
	const auto since = std::chrono::steady_clock::now();
	const std::string text = read_text(a.file);

	catch_interrupts();

	up(a.file, text, progress_of(a));

	const std::chrono::duration<double> took =
		std::chrono::steady_clock::now() - since;
	const Up u = find_up(parse_fabric(text, a.file).name);

	std::cout << text_of(u.topology, u.faults);
	if (!a.quiet)
		std::cerr << fmt::format("mrclab: {} is up after {:.1f} s\n",
					 u.state.name, took.count());
	return exit_ok;
}

/* One that cannot be removed does not keep the others. */
int do_down(const Args &a)
{
	std::vector<std::string> names = a.words;
	int status = exit_ok;

	if (a.all)
		names = fabric_names();
	else if (names.empty())
		names.push_back(one_name(""));
	catch_interrupts();
	for (const std::string &name : names) {
		try {
			down(name, progress_of(a));
		} catch (const std::exception &e) {
			if (names.size() == 1)
				throw;
			std::cerr << "mrclab: " << e.what() << '\n';
			status = exit_system;
		}
	}
	return status;
}

/* Why a fabric is not complete. */
std::string unfinished(const std::string &name)
{
	return is_locked() ? "is being made or removed"
			   : fmt::format("half-made; \"mrclab down {}\" "
					 "removes it",
					 name);
}

int status(const Args &a)
{
	std::vector<std::string> names = a.words;
	nlohmann::ordered_json list = nlohmann::ordered_json::array();

	if (names.empty())
		names = fabric_names();
	for (const std::string &name : names) {
		const State s = load_state(name);

		if (!s.complete) {
			if (a.json)
				list.push_back(
					{{"name", name}, {"complete", false}});
			else
				std::cout << name << ": " << unfinished(name)
					  << '\n';
			continue;
		}
		const Up u = find_up(name);
		std::map<Direction, Counters> counters;

		if (a.stats || a.json)
			counters = Sampler(u.topology).sample();
		if (a.json)
			list.push_back(json_of(u.topology, u.faults, counters));
		else
			std::cout << text_of(u.topology, u.faults)
				  << text_of(u.topology, counters);
	}
	if (a.json)
		std::cout << list.dump(2) << '\n';
	return exit_ok;
}

std::string netns_of_node(const Up &u, const std::string &name)
{
	return netns_of(u.topology.fabric(), u.topology.node(name));
}

int exec(const Args &a)
{
	const Up u = find_up(one_name(a.fabric));
	Words command = {"ip", "netns", "exec", netns_of_node(u, a.node)};

	if (a.words.empty())
		throw UsageError("which program?");
	command.insert(command.end(), a.words.begin(), a.words.end());
	become(command);
}

int shell(const Args &a)
{
	const Up u = find_up(one_name(a.fabric));
	const char *program = getenv("SHELL");

	become({"ip", "netns", "exec", netns_of_node(u, a.node),
		program && *program ? program : "/bin/sh"});
}

/* A direction, or with + both directions of a link. */
int capture(const Args &a)
{
	const Up u = find_up(one_name(a.fabric));
	const bool both = a.node.ends_with("+");
	const Direction d = u.topology.direction(
		std::string_view(a.node).substr(0, a.node.size() - both));
	const End &end = u.topology.from(d);
	Words command = {
		"ip",
		"netns",
		"exec",
		netns_of(u.topology.fabric(), u.topology.nodes()[end.node]),
		"tcpdump",
		"-i",
		end.netdev};

	if (!both)
		command.insert(command.end(), {"-Q", "out"});
	command.insert(command.end(), a.words.begin(), a.words.end());
	become(command);
}

/* Lines of a batch, without empty ones. */
struct Batches {
	std::vector<std::vector<std::string>> words;
	std::vector<std::string> places; /* FILE:LINE */
};

Batches read_batch(const std::string &file)
{
	const bool in = file == "-";
	const std::string text =
		in ? std::string(std::istreambuf_iterator<char>(std::cin), {})
		   : read_text(file);
	Batches all;
	int n = 0;

	if (text.size() > YamlFile::max_size)
		throw FileError(file, 0,
				fmt::format("is longer than {} bytes",
					    YamlFile::max_size));
	for (const std::string &line : lines_of(text)) {
		std::vector<std::string> words =
			words_of(line.substr(0, line.find('#')));

		n++;
		if (words.empty())
			continue;
		all.words.push_back(std::move(words));
		all.places.push_back(fmt::format("{}:{}", file, n));
	}
	return all;
}

int fault(const Args &a)
{
	const std::string name = one_name(a.fabric);

	if (!a.batch.empty()) {
		const Batches b = read_batch(a.batch);

		change_faults(name, b.words, b.places);
	} else if (!a.words.empty()) {
		change_faults(name, {a.words});
	} else {
		const Up u = find_up(name);

		std::cout << fault_lines(u.topology, u.faults);
	}
	return exit_ok;
}

/* Goes down and up until it has done so often enough, or is interrupted. */
int flap(const Args &a)
{
	const std::string name = one_name(a.fabric);
	const std::chrono::nanoseconds period(parse_time(a.period)),
		downtime(parse_time(a.downtime));
	const uint64_t times =
		a.times.empty() ? 0 : parse_count(a.times, 1, 1000000);

	if (downtime.count() == 0 || downtime >= period)
		throw UsageError("the time down is shorter than the period and "
				 "not 0");
	catch_interrupts();
	try {
		for (uint64_t n = 0; !times || n < times; n++) {
			change_faults(name, {{a.node, "down"}});
			sleep_or_interrupt(downtime);
			change_faults(name, {{a.node, "up"}});
			sleep_or_interrupt(period - downtime);
		}
	} catch (const Interrupted &) {
		change_faults(name, {{a.node, "up"}});
	} catch (const std::exception &) {
		change_faults(name, {{a.node, "up"}});
		throw;
	}
	return exit_ok;
}

/* Several formats can go into one directory. Other files are never replaced. */
int do_export(const Args &a)
{
	namespace fs = std::filesystem;
	const Fabric fabric = read_fabric(a.file);

	check_addresses(fabric);

	const Topology t(fabric);
	const ExportFiles files = export_fabric(a.format, t, a.images);
	std::error_code err;

	for (const ExportFile &f : files) {
		const fs::path path = fs::path(a.dir) / f.path;

		if (fs::exists(path, err) && read_text(path) != f.text)
			throw UsageError(path.string() +
					 " exists and is another file");
	}
	for (const ExportFile &f : files) {
		const fs::path path = fs::path(a.dir) / f.path;

		fs::create_directories(path.parent_path(), err);
		if (err)
			throw SystemError(path.parent_path(), err.value());
		write_text(path, f.text);
		if (f.executable)
			fs::permissions(path, fs::perms(0755), err);
	}
	std::cout << fmt::format("{} files in {}\n", files.size(), a.dir);
	return exit_ok;
}

int drill(const Args &a)
{
	if (a.check)
		return check_drills(a.words);
	return drill_command(a.words, a.dir, a.mrc_only, progress_of(a));
}

int report(const Args &a)
{
	return report_command(a.words, a.dir);
}

int graph(const Args &a)
{
	return graph_command(a.file);
}

std::string format_help()
{
	std::string s;

	for (const Exporter &e : exporters())
		s += fmt::format("{}{} ({})", s.empty() ? "" : ", ", e.name,
				 e.help);
	return s;
}

using Command = int (*)(const Args &);

CLI::App *add(CLI::App &app, Command &chosen, Command run, const char *name,
	      const char *help)
{
	CLI::App *sub = app.add_subcommand(name, help);

	sub->final_callback([&chosen, run] { chosen = run; });
	return sub;
}

void add_fabric_option(CLI::App *sub, Args &a)
{
	sub->add_option("-f,--fabric", a.fabric,
			"the fabric, if more than one is up");
}

void add_drill_commands(CLI::App &app, Args &a, Command &chosen)
{
	CLI::App *s = add(app, chosen, drill, "drill",
			  "run traffic and faults on a fabric, and report");

	s->add_option("FILE", a.words, "drills, see mrclab-drill(5)")
		->required();
	s->add_option("-o,--output", a.dir, "directory of the results")
		->default_str("drills");
	s->add_flag("-c,--check", a.check, "just read the files");
	s->add_flag("-m,--mrc-only", a.mrc_only, "no runs with rxe");
	s->add_flag("-q,--quiet", a.quiet, "no progress");

	s = add(app, chosen, report, "report",
		"make a report of results of drills");
	s->add_option("FILE", a.words, "results, NAME.json")->required();
	s->add_option("-o,--output", a.dir, "directory of the report")
		->default_str("drills");

	s = add(app, chosen, graph, "graph",
		"write a picture of a fabric for dot(1)");
	s->add_option("FILE", a.file, "the fabric file")->required();
}

void add_commands(CLI::App &app, Args &a, Command &chosen)
{
	CLI::App *s = add(app, chosen, check, "check",
			  "read a fabric file and say what it describes");

	s->add_option("FILE", a.file, "the fabric file")->required();

	s = add(app, chosen, do_up, "up", "make a fabric");
	s->add_option("FILE", a.file, "the fabric file")->required();
	s->add_flag("-q,--quiet", a.quiet, "no progress");

	s = add(app, chosen, do_down, "down",
		"end a fabric's processes and remove it");
	s->add_option("NAME", a.words, "fabrics; the only one by default")
		->excludes(s->add_flag("-a,--all", a.all, "all fabrics"));
	s->add_flag("-q,--quiet", a.quiet, "no progress");

	s = add(app, chosen, status, "status", "show fabrics that are up");
	s->add_option("NAME", a.words, "fabrics; all by default");
	s->add_flag("-s,--stats", a.stats, "also what links have carried");
	s->add_flag("-j,--json", a.json, "as JSON, with the links");

	s = add(app, chosen, exec, "exec", "run a program in a node");
	add_fabric_option(s, a);
	s->add_option("NODE", a.node, "h1, p1l1, p1s1, ...")->required();
	s->prefix_command();
	s->parse_complete_callback([&a, s] { a.words = s->remaining(); });

	s = add(app, chosen, shell, "shell", "run $SHELL in a node");
	add_fabric_option(s, a);
	s->add_option("NODE", a.node, "h1, p1l1, p1s1, ...")->required();

	s = add(app, chosen, capture, "capture",
		"run tcpdump on a link: \"capture p1l1:s1 [OPTIONS]\"");
	add_fabric_option(s, a);
	s->add_option("LINK", a.node,
		      "what its end sends; with + both directions")
		->required();
	s->prefix_command();
	s->parse_complete_callback([&a, s] { a.words = s->remaining(); });

	s = add(app, chosen, fault, "fault",
		"make something wrong, or right again; show what is wrong");
	add_fabric_option(s, a);
	CLI::Option *batch = s->add_option(
		"-b,--batch", a.batch,
		"a file with the words of a fault in each line; - is "
		"standard input");
	s->add_option("WORDS", a.words,
		      "like: p1l1:s1+ down | p1s1 drop | p1l*:s1 loss 1% | "
		      "path h1 h3 plane 1 t1 2 loss 20% | TARGET clear | "
		      "clear")
		->excludes(batch);

	s = add(app, chosen, flap, "flap",
		"take something down again and again, until interrupted");
	add_fabric_option(s, a);
	s->add_option("TARGET", a.node, "as for fault")->required();
	s->add_option("PERIOD", a.period, "from down to down, like 2s")
		->required();
	s->add_option("DOWN", a.downtime, "of it down, like 200ms")->required();
	s->add_option("TIMES", a.times, "how often");

	add_drill_commands(app, a, chosen);

	s = add(app, chosen, do_export, "export",
		"write configurations for other systems");
	s->add_option("FORMAT", a.format, format_help())->required();
	s->add_option("FILE", a.file, "the fabric file")->required();
	s->add_option("DIR", a.dir, "where the files go")->required();
	s->add_option("--switch-image", a.images.switch_image,
		      "containerlab: image with FRR 10.3 or later")
		->capture_default_str();
	s->add_option("--host-image", a.images.host_image,
		      "containerlab: image of the hosts")
		->capture_default_str();
}

int run_command(int argc, char **argv)
{
	CLI::App app(
		"Fabrics of network namespaces for MRC: makes them, breaks "
		"them, removes them. mrclab(8) has the details, "
		"mrclab-fabric(5) the files.",
		"mrclab");
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
} // namespace mrclab

int main(int argc, char **argv)
{
	using namespace mrclab;

	/* A reader of the output that ends early is an error of a write. */
	signal(SIGPIPE, SIG_IGN);
	try {
		return run_command(argc, argv);
	} catch (const Interrupted &e) {
		std::cerr << "mrclab: " << e.what() << '\n';
		return 128 + e.signal;
	} catch (const UsageError &e) {
		std::cerr << "mrclab: " << e.what() << '\n';
		return exit_usage;
	} catch (const std::exception &e) {
		std::cerr << "mrclab: " << e.what() << '\n';
		return exit_system;
	}
}
