// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cli.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"
#include "text.hpp"

namespace mrcctl
{
namespace
{
struct Chosen {
	const Command *command = nullptr;
	std::vector<std::string> words;
};

/* The values of options as text. They are parsed after all options are known.
 */
struct Raw {
	bool json = false;
	bool pretty = false;
	std::string device;
	std::string batch;
	std::string count;
	std::string interval;
	std::string timeout;
	std::vector<std::string> peers;
	bool dry_run = false;
};

constexpr uint64_t second = 1000000000;
constexpr uint64_t day = 86400 * second;

void add_command(CLI::App &sub, const Command &cmd, Chosen &chosen)
{
	sub.require_subcommand(0, 1);
	sub.fallthrough();
	sub.add_option("words", chosen.words,
		       std::string(cmd.words.empty() ? "none" : cmd.words));
	sub.final_callback([&chosen, &cmd, &sub] {
		/* Called for an object and for its command; only the command
		 * counts.
		 */
		if (sub.get_subcommands().empty())
			chosen.command = &cmd;
	});
}

void add_watch_options(CLI::App &sub, Raw &raw, bool count, bool timeout)
{
	if (count)
		sub.add_option("-n,--count", raw.count,
			       "stop after so many lines or views");
	sub.add_option("-i,--interval", raw.interval,
		       "time between two looks, default 1s");
	if (timeout)
		sub.add_option("-t,--timeout", raw.timeout,
			       "stop after this time");
}

/*
 * A subcommand for each object, and below it one for each of its commands. Each
 * level allows one subcommand, so that no later word is taken for one.
 */
void add_commands(CLI::App &app, Chosen &chosen, Raw &raw)
{
	std::map<std::string, CLI::App *> objects;

	for (const Command &cmd : commands()) {
		const std::string object(cmd.object);
		CLI::App *o = objects[object];

		if (cmd.name.empty()) {
			o = app.add_subcommand(object, std::string(cmd.help));
			add_command(*o, cmd, chosen);
			if (object == "monitor" || object == "top")
				add_watch_options(*o, raw, true,
						  object == "monitor");
			if (object == "serve")
				add_watch_options(*o, raw, false, true);
			if (object == "doctor")
				o->add_option("--peer", raw.peers,
					      "addresses of hosts to probe");
			continue;
		}
		if (!o) {
			o = app.add_subcommand(
				object, cmd.name == "show"
						? "show or change, see below"
						: std::string(cmd.help));
			objects[object] = o;
			if (object == "plane")
				o->add_flag("--dry-run", raw.dry_run,
					    "print the commands only");
			o->fallthrough();
			o->require_subcommand(0, 1);
			/* Without a command, show the objects. */
			if (cmd.name == "show")
				o->final_callback([&chosen, &cmd, o] {
					if (o->get_subcommands().empty())
						chosen.command = &cmd;
				});
			else
				o->require_subcommand(1);
		}
		add_command(*o->add_subcommand(std::string(cmd.name),
					       std::string(cmd.help)),
			    cmd, chosen);
	}
}

uint64_t interval_of(const std::string &s)
{
	const uint64_t ns = parse_time(s, second, day);

	if (ns < second / 100)
		throw UsageError("the interval is at least 10ms");
	return ns;
}

Options options_of(const Raw &raw)
{
	Options o;

	o.pretty = raw.pretty;
	o.json = raw.json || raw.pretty;
	if (!raw.count.empty())
		o.count = parse_number(raw.count);
	if (!raw.interval.empty())
		o.interval_ns = interval_of(raw.interval);
	if (!raw.timeout.empty())
		o.timeout_ns = parse_time(raw.timeout, second, 3650 * day);
	o.peers = raw.peers;
	o.dry_run = raw.dry_run;
	return o;
}

/* Streams always print one line per event. */
bool is_stream(const Command &cmd)
{
	return cmd.object == "monitor" || cmd.object == "top";
}

std::string pick_device(System &system, const std::string &wanted)
{
	const std::vector<std::string> all = system.devices();

	if (!wanted.empty()) {
		if (std::find(all.begin(), all.end(), wanted) == all.end())
			throw DeviceError(
				fmt::format("no MRC device {}", wanted));
		return wanted;
	}
	if (all.empty())
		throw DeviceError("no MRC device");
	if (all.size() > 1)
		throw UsageError(
			fmt::format("several devices, choose one with -d: {}",
				    fmt::join(all, ", ")));
	return all[0];
}

/* "dev show" lists all devices unless one is named. */
void show_devices(const Options &opt, Env &env)
{
	std::vector<Device> list;

	for (const std::string &name : env.system.devices())
		list.push_back(env.system.open(name)->device());
	if (opt.json)
		env.out << dumped(json_of(list), opt.pretty ? 4 : -1);
	else
		for (const Device &d : list)
			env.out << text_of(d);
}

/* The device of a run. The first command that needs it opens it. */
class Target
{
public:
	Target(System &system, std::string name)
		: system_(system), name_(std::move(name))
	{
	}

	bool named() const { return !name_.empty(); }
	const std::string &name() const { return name_; }

	Backend &get()
	{
		if (!dev_)
			dev_ = system_.open(pick_device(system_, name_));
		return *dev_;
	}

private:
	System &system_;
	const std::string name_;
	std::unique_ptr<Backend> dev_;
};

int execute(const Chosen &chosen, const Raw &raw, Env &env, Target &target)
{
	Options opt = options_of(raw);
	Words words(chosen.words);

	if (is_stream(*chosen.command))
		opt.pretty = false;
	if (chosen.command->run_on_host)
		return chosen.command->run_on_host(
			HostContext{env, opt, target.name()}, words);
	if (chosen.command->run == dev_show && !target.named() &&
	    words.empty()) {
		show_devices(opt, env);
		return exit_ok;
	}
	Context c{env, opt, target.get()};

	chosen.command->run(c, words);
	return exit_ok;
}

std::string usage(const Command &cmd)
{
	return fmt::format("usage: mrcctl {}{}{}{}{}", cmd.object,
			   cmd.name.empty() ? "" : " ", cmd.name,
			   cmd.words.empty() ? "" : " ", cmd.words);
}

std::string all_usages()
{
	std::string s = "Commands:\n";

	for (const Command &cmd : commands())
		s += "  " + usage(cmd).substr(7) + "\n";
	return s + "See mrcctl(8).";
}

/* @where is the place in a batch, or empty. */
int run_chosen(const Chosen &chosen, const Raw &raw, Env &env, Target &target,
	       const std::string &where)
{
	int status = exit_ok;

	try {
		status = execute(chosen, raw, env, target);
	} catch (const UsageError &e) {
		env.err << "mrcctl: " << where << e.what() << '\n'
			<< usage(*chosen.command) << '\n';
		return chosen.command->usage_status;
	} catch (const std::exception &e) {
		env.err << "mrcctl: " << where << e.what() << '\n';
		return exit_device;
	}
	env.out.flush();
	if (!env.out) {
		env.err << "mrcctl: standard output: write error\n";
		return exit_device;
	}
	return status;
}

/* The exit status of wrong words: that of the command, once it is known. */
int usage_status(const CLI::App &app)
{
	for (const Command &cmd : commands())
		if (cmd.usage_status != exit_usage &&
		    app.got_subcommand(std::string(cmd.object)))
			return cmd.usage_status;
	return exit_usage;
}

/* An exit status if @args are wrong or ask for help. */
std::optional<int> parse(CLI::App &app, const std::vector<std::string> &args,
			 Env &env, const std::string &where)
{
	try {
		/* CLI11 expects the arguments in reverse order. */
		app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
	} catch (const CLI::ParseError &e) {
		if (!e.get_exit_code())
			return app.exit(e, env.out, env.err);
		env.err << "mrcctl: " << where << e.what() << '\n';
		return usage_status(app);
	}
	return {};
}

/* A command and its own options; those of the program hold for all lines. */
int run_line(const std::vector<std::string> &words, const Raw &of_run, Env &env,
	     Target &target, const std::string &where)
{
	CLI::App app{"A line of a batch.", "mrcctl"};
	Chosen chosen;
	Raw raw;

	raw.json = of_run.json;
	raw.pretty = of_run.pretty;
	app.require_subcommand(1);
	add_commands(app, chosen, raw);
	if (const std::optional<int> status = parse(app, words, env, where))
		return *status;
	return run_chosen(chosen, raw, env, target, where);
}

/* Until a line fails. Each is run before the next one is read. */
int run_batch(std::istream &in, const Raw &raw, Env &env)
{
	Target target(env.system, raw.device);
	std::string text, word;

	for (unsigned n = 1; std::getline(in, text); n++) {
		std::istringstream blanks(text);
		std::vector<std::string> words;

		while (blanks >> word)
			words.push_back(word);
		if (words.empty() || words[0][0] == '#')
			continue;
		const int status =
			run_line(words, raw, env, target,
				 fmt::format("{}:{}: ", raw.batch, n));

		if (status)
			return status;
	}
	if (!in.bad())
		return exit_ok;
	/* A directory can be opened, but not read. */
	env.err << "mrcctl: " << raw.batch << ": read error\n";
	return exit_device;
}

int run_batch(const Raw &raw, Env &env)
{
	if (raw.batch == "-")
		return run_batch(env.in, raw, env);
	errno = 0;
	std::ifstream file(raw.batch);

	if (file)
		return run_batch(file, raw, env);
	env.err << "mrcctl: "
		<< DeviceError(raw.batch, errno ? errno : EIO).what() << '\n';
	return exit_device;
}
} // namespace

int run(const std::vector<std::string> &args, Env &env)
{
	CLI::App app{"Configures and watches MRC devices.", "mrcctl"};
	Chosen chosen;
	Raw raw;

	app.add_flag("-j,--json", raw.json, "JSON instead of text");
	app.add_flag("-p,--pretty", raw.pretty, "JSON with line breaks");
	app.add_option("-d,--device", raw.device,
		       "device, if there are several");
	app.add_option_function<std::string>(
		"-b,--batch",
		[&](const std::string &file) {
			raw.batch = file;
			app.require_subcommand(0, 1);
		},
		"run the commands in this file, one a line");
	app.footer(all_usages);
	app.require_subcommand(1);
	add_commands(app, chosen, raw);
	if (const std::optional<int> status = parse(app, args, env, ""))
		return *status;
	if (raw.batch.empty()) {
		Target target(env.system, raw.device);

		return run_chosen(chosen, raw, env, target, "");
	}
	if (!chosen.command)
		return run_batch(raw, env);
	env.err << "mrcctl: a command and a file of commands\n";
	return exit_usage;
}
} // namespace mrcctl
