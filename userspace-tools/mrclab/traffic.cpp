// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "traffic.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "address.hpp"
#include "counters.hpp"
#include "devices.hpp"
#include "error.hpp"
#include "flow.hpp"
#include "interrupt.hpp"
#include "ip_commands.hpp"
#include "netns.hpp"
#include "perftest.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
using namespace std::chrono_literals;

/* Emulated machines need many seconds to start a program. */
constexpr auto start_timeout = 60s;
constexpr auto end_timeout = 60s;

bool listens(const std::string &netns, uint16_t port)
{
	bool found = false;

	in_netns(netns, [&] {
		for (const char *file : {"/proc/thread-self/net/tcp",
					 "/proc/thread-self/net/tcp6"}) {
			std::ifstream in(file);
			const std::string text(
				std::istreambuf_iterator<char>(in), {});

			found |= has_listener(text, port);
		}
	});
	return found;
}

} // namespace

Traffic::Traffic(const Drill &d, const Stage &s, const Topology &t,
		 const std::string &dir)
	: drill_(d), topology_(t),
	  prefix_(fmt::format("{}/{}.{}", dir, d.name,
			      s.devices == Devices::mrc ? "mrc" : "rxe")),
	  flows_(d.flows.size())
{
}

Words Traffic::words(const Job &job) const
{
	const Fabric &f = topology_.fabric();
	Words all = {"ip", "netns", "exec",
		     netns_of(f, topology_.host(job.host))};
	const auto value = [&](const std::string &name) -> std::string {
		const std::size_t colon = name.find(':');
		const auto host = colon == std::string::npos
					  ? job.host
					  : static_cast<uint32_t>(parse_count(
						    name.substr(colon + 1), 1,
						    f.all_hosts()));

		if (name == "device")
			return device_of(f, job.host);
		if (name == "gid")
			return std::to_string(gid_index(topology_, job.host));
		return name.starts_with("mgmt") ? mgmt4(host)
						: host6(topology_, host);
	};

	for (const std::string &w : job.words)
		all.push_back(filled(w, value));
	return all;
}

/* @job is a part of the names of its logs, like "server.h3". */
std::unique_ptr<Program> Traffic::start(std::size_t flow, const Words &command,
					const std::string &job) const
{
	std::string name = drill_.flows[flow].name;

	std::replace(name.begin(), name.end(), ' ', '.');
	auto program = std::make_unique<Program>(
		command, fmt::format("{}.{}.{}", prefix_, name, job));
	ahead_.leave(program->pid());
	return program;
}

/*
 * To look up a GID takes longer than to start a program, so all command lines
 * are made before the first one is needed.
 */
void Traffic::make_words()
{
	for (std::size_t f = 0; f < flows_.size(); f++)
		for (const Job &job : drill_.flows[f].clients)
			flows_[f].commands.push_back(words(job));
}

void Traffic::start_servers()
{
	make_words();
	for (std::size_t f = 0; f < flows_.size(); f++) {
		const std::vector<Job> &jobs = drill_.flows[f].servers;
		const std::vector<std::string> names = job_names(jobs);

		for (std::size_t i = 0; i < jobs.size(); i++)
			flows_[f].servers.push_back(
				start(f, words(jobs[i]), "server." + names[i]));
	}
	for (std::size_t f = 0; f < flows_.size(); f++) {
		for (const Job &job : drill_.flows[f].servers) {
			const auto end = Clock::now() + start_timeout;
			const std::string netns = netns_of(
				topology_.fabric(), topology_.host(job.host));

			while (!listens(netns, job.port)) {
				check_running(f);
				if (Clock::now() > end)
					throw SystemError(fmt::format(
						"{} does not listen",
						job.words[0]));
				sleep_or_interrupt(poll_interval);
			}
		}
	}
}

void Traffic::start_clients(std::size_t flow)
{
	const std::vector<std::string> names =
		job_names(drill_.flows[flow].clients);

	for (std::size_t i = 0; i < names.size(); i++)
		flows_[flow].clients.push_back(start(
			flow, flows_[flow].commands[i], "client." + names[i]));
}

std::vector<pid_t> Traffic::pids(std::size_t flow) const
{
	std::vector<pid_t> all;

	flows_[flow].each([&all](const Program &p) { all.push_back(p.pid()); });
	return all;
}

void Traffic::check_running(std::size_t flow) const
{
	flows_[flow].each([&](Program &p) {
		if (p.status())
			throw SystemError(fmt::format(
				"traffic {} has ended with status {}: {}",
				drill_.flows[flow].name, *p.status(),
				p.last_words()));
	});
}

FlowEnd Traffic::end_of(std::size_t flow, Clock::time_point latest) const
{
	const Ending ending = drill_.flows[flow].ending;
	const RunningFlow &running = flows_[flow];
	FlowEnd end{drill_.flows[flow].name, true, ""};
	const auto failed = [&end](const std::string &how, const Program &p) {
		if (end.ok)
			end.why = fmt::format("{}: {}", how, p.last_words());
		end.ok = false;
	};

	if (ending == Ending::interrupt && !running.clients.empty())
		running.clients.front()->signal(SIGINT);
	running.each([&](Program &p) {
		if (ending == Ending::kill) {
			if (p.status())
				failed(fmt::format("ended with status {}",
						   *p.status()),
				       p);
		} else if (!p.wait(latest - Clock::now())) {
			failed("does not end", p);
		} else if (*p.status() != 0) {
			failed(fmt::format("ended with status {}", *p.status()),
			       p);
		}
	});
	return end;
}

/* A program that has not said what it has measured has failed. */
void Traffic::take_latency(std::size_t flow, TrafficEnd &to) const
{
	/* perftest prints some dozens of lines. */
	constexpr std::size_t most = 1 << 16;
	FlowEnd &end = to.flows.back();

	if (!end.ok || flows_[flow].clients.empty())
		return;
	try {
		to.latencies.push_back(parse_latency(
			flows_[flow].clients.front()->output(most), end.name));
	} catch (const UsageError &e) {
		end.ok = false;
		end.why = e.what();
	}
}

TrafficEnd Traffic::end()
{
	const auto latest = Clock::now() + end_timeout;
	TrafficEnd ends;

	for (std::size_t f = 0; f < flows_.size(); f++) {
		ends.flows.push_back(end_of(f, latest));
		if (drill_.flows[f].latency)
			take_latency(f, ends);
	}
	flows_.clear();
	return ends;
}
} // namespace mrclab
