// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "devices.hpp"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "address.hpp"
#include "error.hpp"
#include "interrupt.hpp"
#include "ip_commands.hpp"
#include "netns.hpp"
#include "process.hpp"
#include "profiles.hpp"

namespace mrclab
{
namespace
{
using namespace std::chrono_literals;

/* Ports become active when the kernel has noticed the carrier, which can take
 * a second, and on emulated machines longer.
 */
constexpr auto port_timeout = 60s;

std::string netns_of_host(const Topology &t, uint32_t host)
{
	return netns_of(t.fabric(), t.host(host));
}

/* As in gids/ of sysfs: eight groups of four digits. */
std::string full(const std::string &address)
{
	in6_addr a{};
	std::string s;

	inet_pton(AF_INET6, address.c_str(), &a);
	for (int i = 0; i < 16; i += 2)
		s += fmt::format("{}{:02x}{:02x}", i ? ":" : "", a.s6_addr[i],
				 a.s6_addr[i + 1]);
	return s;
}

/* Prints "port N", the port's state and its GIDs. Empty entries of the table
 * cannot be read.
 */
constexpr const char *show_ports =
	"cd \"/sys/class/infiniband/$1/ports\" || exit 0\n"
	"for p in *; do\n"
	"	echo port $p\n"
	"	cat $p/state $p/gids/* 2>/dev/null\n"
	"done\n"
	"exit 0\n";

/*
 * Calls @work where the attribute @path of a host's device can be seen: a
 * device that all namespaces share has all of its attributes in the first one
 * only, others in their own only.
 */
void in_sysfs_with(const Topology &t, uint32_t host, const std::string &path,
		   const std::function<void()> &work)
{
	if (access(path.c_str(), R_OK) == 0)
		work();
	else
		in_sysfs_of(netns_of_host(t, host), work);
}

/* Ports of the host's device that are active and have its addresses. */
uint32_t ports_ready(const Topology &t, uint32_t host)
{
	const std::string six = full(host6(t, host));
	const std::string four = full("::ffff:" + host4(t, host));
	const Ended e =
		run({"ip", "netns", "exec", netns_of_host(t, host), "sh", "-c",
		     show_ports, "sh", device_of(t.fabric(), host)});
	std::istringstream lines(e.out);
	std::string line;
	uint32_t ready = 0;
	int has = 0;

	while (std::getline(lines, line)) {
		if (line.starts_with("port "))
			has = 0;
		else if (line.find("ACTIVE") != std::string::npos)
			has |= 1;
		else if (line == six)
			has |= 2;
		else if (line == four)
			has |= 4;
		if (has == 7) {
			ready++;
			has = 0;
		}
	}
	return ready;
}

/* What "rdma -j" prints; without objects it may print nothing. */
nlohmann::json json_list(const Ended &e, const char *what)
{
	if (e.status != 0)
		throw SystemError(fmt::format("{}: {}", what, e.err));
	nlohmann::json all = nlohmann::json::parse(e.out.empty() ? "[]" : e.out,
						   nullptr, false);

	if (!all.is_array())
		throw SystemError(
			fmt::format("{}: its output is no JSON", what));
	return all;
}

bool trims(const Topology &t)
{
	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false})
			if (t.props({l, up}).trim.value_or(0))
				return true;
	return false;
}

uint32_t ports_of(const Fabric &f)
{
	return f.devices == Devices::rxe ? 1 : f.planes;
}
} // namespace

std::vector<std::string> rdma_devices()
{
	std::vector<std::string> names;

	for (const auto &d : json_list(run({"rdma", "-j", "dev"}), "rdma dev"))
		names.push_back(d.value("ifname", ""));
	return names;
}

void make_devices(const Topology &t)
{
	const Fabric &f = t.fabric();
	const char *type = f.devices == Devices::rxe ? "rxe" : "mrc";
	const auto end = std::chrono::steady_clock::now() + port_timeout;

	for (uint32_t h = 1; h <= f.all_hosts(); h++) {
		std::string lines;

		for (uint32_t p = 1; p <= ports_of(f); p++)
			lines += fmt::format("link add {} type {} netdev p{}\n",
					     device_of(f, h), type, p);
		check_interrupt();
		run_batch({"ip", "netns", "exec", netns_of_host(t, h), "rdma",
			   "-b", "-"},
			  lines);
	}
	for (uint32_t h = 1; h <= f.all_hosts(); h++) {
		while (ports_ready(t, h) < ports_of(f)) {
			check_interrupt();
			if (std::chrono::steady_clock::now() > end)
				throw SystemError(fmt::format(
					"ports of {} in {} did not become "
					"active with all addresses: see \"ip "
					"netns exec {} rdma link\"",
					device_of(f, h), netns_of_host(t, h),
					netns_of_host(t, h)));
			std::this_thread::sleep_for(50ms);
		}
	}
}

void load_profiles(const Topology &t)
{
	const std::string trimming = trims(t) ? "tc set trimming on\n" : "";

	for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++) {
		check_interrupt();
		run_batch({"ip", "netns", "exec", netns_of_host(t, h), "mrcctl",
			   "-d", device_of(t.fabric(), h), "-b", "-"},
			  trimming + profile_commands(t, h));
	}
}

/* The kernel shows a port's netdev to those in the netdev's own namespace. */
bool is_device_of(const std::string &device, const std::string &netns)
{
	const Ended e =
		run({"ip", "netns", "exec", netns, "rdma", "-j", "link"});

	for (const auto &link : json_list(e, "rdma link"))
		if (link.value("ifname", "") == device &&
		    link.contains("netdev"))
			return true;
	return false;
}

void remove_device(const std::string &device, const std::string &netns)
{
	run_batch({"ip", "netns", "exec", netns, "rdma", "-b", "-"},
		  "link del " + device + "\n");
}

uint32_t gid_index(const Topology &t, uint32_t host)
{
	const std::string device = device_of(t.fabric(), host);
	const std::string dir =
		fmt::format("/sys/class/infiniband/{}/ports/1/gids/", device);
	const std::string wanted = full(host6(t, host));
	uint32_t index = 0;
	bool found = false;

	/* Empty entries of the table cannot be read, or are zeroes. */
	in_sysfs_with(t, host, dir, [&] {
		for (; !found &&
		       access((dir + std::to_string(index)).c_str(), F_OK) == 0;
		     index++) {
			std::ifstream in(dir + std::to_string(index));
			std::string gid;

			found = in >> gid && gid == wanted;
		}
	});
	if (!found)
		throw SystemError(
			fmt::format("{} has no GID {}", device, wanted));
	return index - 1;
}
} // namespace mrclab
