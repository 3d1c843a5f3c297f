// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lab.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "address.hpp"
#include "devices.hpp"
#include "ending.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "fault_commands.hpp"
#include "interrupt.hpp"
#include "ip_commands.hpp"
#include "netns.hpp"
#include "process.hpp"
#include "profiles.hpp"

namespace mrclab
{
namespace
{
/* A namespace takes about a megabyte of the kernel's memory. */
constexpr std::size_t max_netns = 1024;
constexpr auto carrier_timeout = std::chrono::seconds(60);

void need_root()
{
	if (geteuid() != 0)
		throw SystemError("mrclab makes network namespaces and devices "
				  "and must be run as root");
}

std::map<std::string, uint64_t> netns_names(const Topology &t)
{
	std::map<std::string, uint64_t> names;

	for (const Node &n : t.nodes())
		names[netns_of(t.fabric(), n)] = 0;
	names[mgmt_netns(t.fabric())] = 0;
	return names;
}

/* Checks all before anything is made. */
void check_free(const Topology &t, const State &s)
{
	const Fabric &f = t.fabric();

	if (has_state(f.name))
		throw UsageError(
			load_state(f.name).complete
				? fmt::format("fabric {} is up already", f.name)
				: fmt::format("fabric {} was left half-made; "
					      "\"mrclab down {}\" removes it",
					      f.name, f.name));
	if (s.netns.size() > max_netns)
		throw FileError(f.file, 0,
				fmt::format("the fabric needs {} network "
					    "namespaces; mrclab makes up to {}",
					    s.netns.size(), max_netns));
	for (const auto &[name, cookie] : s.netns)
		if (netns_exists(name))
			throw UsageError(fmt::format(
				"there is a network namespace {} that is not "
				"of this fabric; \"prefix\" in the file can "
				"give the fabric's other names",
				name));
	if (f.devices == Devices::none)
		return;
	for (const std::string &d : rdma_devices())
		if (s.devices.contains(d))
			throw UsageError(fmt::format(
				"there is an RDMA device {} that is not of "
				"this fabric; \"device\" in the file can give "
				"the fabric's other names",
				d));
}

void make_nodes(const Topology &t, State &s)
{
	const Fabric &f = t.fabric();
	std::vector<NewNetns> all;

	for (const Node &n : t.nodes())
		all.push_back({netns_of(f, n), node_sysctls(n.kind)});
	all.push_back({mgmt_netns(f), node_sysctls(Kind::host)});
	make_netns(all, [&s](const Cookies &made) {
		for (const auto &[name, cookie] : made)
			s.netns[name] = cookie;
		save_state(s);
		check_interrupt();
	});
}

Batch ip_batch(const Fabric &f, const std::string &node, std::string lines)
{
	return {{"ip", "-n", f.prefix + node, "-batch", "-"}, std::move(lines)};
}

Batch tc_batch(const Fabric &f, const std::string &node, std::string lines)
{
	return {{"tc", "-n", f.prefix + node, "-batch", "-"}, std::move(lines)};
}

void configure_nodes(const Topology &t)
{
	std::vector<Batch> batches;

	for (const Node &n : t.nodes())
		batches.push_back(
			ip_batch(t.fabric(), n.name, node_commands(t, n)));
	batches.push_back(ip_batch(t.fabric(), "mgmt", mgmt_commands(t)));
	run_batches(batches);
}

/* The kernel notices a carrier a moment after both ends are up. */
void wait_for_carriers(const Topology &t)
{
	const auto end = std::chrono::steady_clock::now() + carrier_timeout;

	for (const Node &n : t.nodes()) {
		in_netns(netns_of(t.fabric(), n), [&] {
			for (const Direction d : t.sent_by(n)) {
				while (!has_carrier(t.from(d).netdev)) {
					if (std::chrono::steady_clock::now() >
					    end)
						throw SystemError(fmt::format(
							"{} has no carrier",
							t.name(d)));
					std::this_thread::sleep_for(
						std::chrono::milliseconds(10));
				}
			}
		});
		check_interrupt();
	}
}

/* The parameters of sch_mrcsw that are its queues' options. */
class PortParams
{
public:
	/* Others make queues too: the parameters are put back. */
	PortParams()
	{
		for (const char *name : names)
			before_.push_back(read(name));
	}
	~PortParams()
	{
		for (std::size_t i = 0; i < before_.size(); i++)
			std::ofstream(path(names[i])) << before_[i];
	}
	PortParams(const PortParams &) = delete;
	PortParams &operator=(const PortParams &) = delete;

	void set(const SwitchPort &p)
	{
		write(names[0], p.ecn_min);
		write(names[1], p.ecn_max);
		write(names[2], p.trim_bytes);
		write(names[3], p.trim_len);
		write(names[4], p.data_limit);
	}

private:
	static constexpr const char *names[] = {
		"ecn_min", "ecn_max", "trim_bytes", "trim_len", "data_limit"};

	static std::string path(const char *name)
	{
		return std::string("/sys/module/sch_mrcsw/parameters/") + name;
	}

	static std::string read(const char *name)
	{
		std::string value;

		errno = 0;
		if (!std::getline(std::ifstream(path(name)), value))
			throw SystemError(path(name), errno ? errno : EIO);
		return value;
	}

	static void write(const char *name, uint64_t value)
	{
		errno = 0;

		std::ofstream out(path(name));

		out << value << std::flush;
		if (!out)
			throw SystemError(path(name), errno ? errno : EIO);
	}

	std::vector<std::string> before_;
};

/* Queues with the same parameters are made together. */
void make_ports(const Fabric &f, const std::vector<PortQueue> &ports)
{
	std::map<SwitchPort, std::map<std::string, std::string>> groups;

	if (ports.empty())
		return;
	if (access("/sys/module/sch_mrcsw", F_OK) != 0)
		run({"modprobe", "sch_mrcsw"});
	if (access("/sys/module/sch_mrcsw", F_OK) != 0)
		throw SystemError("marking and trimming need the kernel module "
				  "sch_mrcsw, which is not there");
	for (const PortQueue &p : ports)
		groups[p.port][p.node] += p.command;

	PortParams params;

	for (const auto &[port, nodes] : groups) {
		std::vector<Batch> batches;

		params.set(port);
		for (const auto &[node, lines] : nodes)
			batches.push_back(tc_batch(f, node, lines));
		run_batches(batches);
	}
}

void run_commands(const Fabric &f, const FaultCommands &c)
{
	std::vector<Batch> batches;

	for (const auto &[node, lines] : c.tc)
		batches.push_back(tc_batch(f, node, lines));
	for (const auto &[node, lines] : c.ip)
		batches.push_back(ip_batch(f, node, lines));
	run_batches(batches);
	make_ports(f, c.ports);
}

/* The recorded namespaces that are there, and not others of their names. */
std::vector<std::string> ours(const State &s)
{
	std::vector<std::string> names;

	for (const auto &[name, cookie] : s.netns)
		if (cookie && netns_cookie(name) == cookie)
			names.push_back(name);
	return names;
}

void remove_all(const State &s, const Progress &progress)
{
	const std::vector<std::string> names = ours(s);
	std::set<uint64_t> inodes;
	std::string lines;

	for (const std::string &name : names)
		inodes.insert(netns_inode(name));
	progress("ending the processes of the fabric");
	end_processes(inodes);
	progress(fmt::format("removing {} network namespaces", names.size()));
	for (const auto &[device, netns] : s.devices)
		if (std::find(names.begin(), names.end(), netns) !=
			    names.end() &&
		    is_device_of(device, netns))
			remove_device(device, netns);
	for (const std::string &name : ours(s))
		lines += "netns del " + name + "\n";
	run_batch({"ip", "-batch", "-"}, lines);
	for (const auto &[name, cookie] : s.netns)
		remove_empty_name(name);
	remove_state(s.name);
}

/* A fabric that cannot be finished. The first error is the one that counts. */
void give_up(const State &s, const Progress &progress)
{
	const InterruptsWait wait;

	try {
		remove_all(s, progress);
	} catch (const std::exception &e) {
		progress(fmt::format("{}; \"mrclab down {}\" removes the rest",
				     e.what(), s.name));
	}
}

/* After a change that was not finished nobody knows what the links have. */
void rebuild(const Topology &t, const Faults &to)
{
	for (const auto &[node, lines] : wipe_commands(t))
		run({"tc", "-force", "-n", t.fabric().prefix + node, "-batch",
		     "-"},
		    lines);
	run_commands(t.fabric(), rebuild_commands(t, to));
}
} // namespace

void up(const std::string &file, const std::string &text,
	const Progress &progress)
{
	const Fabric f = parse_fabric(text, file);

	check_addresses(f);
	check_profiles(f);
	need_root();
	check_mounts();

	const Topology t(f);
	State s;
	const Lock lock;

	s.name = f.name;
	s.file = file;
	s.text = text;
	s.netns = netns_names(t);
	if (f.devices != Devices::none)
		for (uint32_t h = 1; h <= f.all_hosts(); h++)
			s.devices[device_of(f, h)] = netns_of(f, t.host(h));
	check_free(t, s);
	try {
		save_state(s);
		progress(fmt::format("making {} network namespaces",
				     s.netns.size()));
		make_nodes(t, s);
		progress(fmt::format("making {} links", t.links().size()));
		run_batch({"ip", "-batch", "-"}, link_commands(t));
		check_interrupt();
		progress("setting addresses and routes");
		configure_nodes(t);
		wait_for_carriers(t);
		check_interrupt();
		progress("setting rates and queues");
		run_commands(f, first_commands(t));
		check_interrupt();
		if (f.devices != Devices::none) {
			progress(fmt::format("making {} RDMA devices",
					     s.devices.size()));
			make_devices(t);
		}
		if (f.devices == Devices::mrc) {
			progress("loading profiles");
			load_profiles(t);
		}
		check_interrupt();
		s.complete = true;
		save_state(s);
	} catch (const std::exception &) {
		give_up(s, progress);
		throw;
	}
}

void down(const std::string &name, const Progress &progress)
{
	need_root();
	const InterruptsWait wait;
	const Lock lock;

	remove_all(load_state(name), progress);
}

std::string one_name(const std::string &name)
{
	if (!name.empty())
		return name;

	const std::vector<std::string> up = fabric_names();

	if (up.empty())
		throw UsageError("no fabric is up");
	if (up.size() > 1)
		throw UsageError(fmt::format("which fabric? Up: {}",
					     fmt::join(up, ", ")));
	return up[0];
}

Up find_up(const std::string &name)
{
	State s = load_state(name);
	Topology t(parse_fabric(s.text, s.file));
	Faults f;

	if (!s.complete)
		throw UsageError(fmt::format("fabric {} is half-made; \"mrclab "
					     "down {}\" removes it",
					     name, name));
	for (const std::vector<std::string> &words : s.faults)
		f.apply(t, words);
	return {std::move(s), std::move(t), std::move(f)};
}

void change_faults(const std::string &name,
		   const std::vector<std::vector<std::string>> &words,
		   const std::vector<std::string> &places)
{
	need_root();
	const Lock lock;
	Up u = find_up(name);
	Faults to = u.faults;

	for (std::size_t i = 0; i < words.size(); i++) {
		try {
			to.apply(u.topology, words[i]);
		} catch (const UsageError &e) {
			if (i >= places.size())
				throw;
			throw UsageError(places[i] + ": " + e.what());
		}
	}

	const bool was_dirty = u.state.dirty;

	u.state.faults = to.words(u.topology);
	u.state.dirty = true;
	save_state(u.state);
	if (was_dirty)
		rebuild(u.topology, to);
	else
		run_commands(u.topology.fabric(),
			     change_commands(u.topology, u.faults, to));
	u.state.dirty = false;
	save_state(u.state);
}
} // namespace mrclab
