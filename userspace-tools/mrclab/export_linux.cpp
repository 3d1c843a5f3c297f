// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A script for each node that makes a machine what mrclab makes a network
 * namespace. Hardware addresses of neighbours are set, not resolved, so the
 * netdevs get the addresses that the other nodes expect.
 */
#include "export.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "address.hpp"
#include "export_parts.hpp"
#include "ip_commands.hpp"
#include "tc_commands.hpp"
#include "text.hpp"

namespace mrclab
{
namespace
{
/* The management network of machines is not mrclab's. */
std::string without_mgmt(const std::string &commands)
{
	std::string out;

	for (const std::string &line : lines_of(commands)) {
		const std::vector<std::string> words = words_of(line);

		if (std::find(words.begin(), words.end(), "mgmt") ==
		    words.end())
			out += line + "\n";
	}
	return out;
}

std::string batch(const char *program, const std::string &lines)
{
	return fmt::format("{} -batch - <<'END'\n{}END\n", program, lines);
}

/* Ends before anything changes if a netdev is missing. */
std::string look_for(const std::vector<std::string> &netdevs)
{
	return fmt::format(
		"for dev in {}; do\n"
		"	[ -e /sys/class/net/$dev ] || {{\n"
		"		echo \"$0: no netdev $dev: rename those "
		"of the machine\" >&2\n"
		"		exit 1\n"
		"	}}\n"
		"done\n",
		fmt::join(netdevs, " "));
}

std::string netdevs_script(const Topology &t,
			   const std::vector<NodePort> &ports)
{
	std::string lines;

	/* Many drivers change the address only of a netdev that is down. */
	for (const NodePort &p : ports)
		lines += fmt::format("link set {0} down\n"
				     "link set {0} mtu {1} address {2}\n",
				     p.netdev, t.fabric().mtu, mac(t, p.sent));
	return batch("ip", lines);
}

/* tc(8) cannot pass options to these queues: they are the module's parameters
 * of the moment.
 */
std::string parameters(const SwitchPort &port)
{
	return fmt::format("param ecn_min {}\n"
			   "param ecn_max {}\n"
			   "param trim_bytes {}\n"
			   "param trim_len {}\n"
			   "param data_limit {}\n",
			   port.ecn_min, port.ecn_max, port.trim_bytes,
			   port.trim_len, port.data_limit);
}

std::string queues_script(const Topology &t, const std::vector<NodePort> &ports)
{
	std::optional<SwitchPort> last;
	std::string plain, marking;

	for (const NodePort &p : ports) {
		const Queues q = queues_of(p.netdev, t.props(p.sent),
					   t.last_hop(p.sent));

		plain += q.commands;
		if (!q.port)
			continue;
		if (q.port != last)
			marking += parameters(*q.port);
		last = q.port;
		marking += "tc " + q.port_command;
	}
	if (!plain.empty())
		plain = batch("tc", plain);
	if (!marking.empty())
		marking = "\n"
			  "# Queues that mark and trim are made with the "
			  "module's parameters.\n"
			  "modprobe sch_mrcsw\n"
			  "param() { # NAME VALUE\n"
			  "	echo \"$2\" >\"/sys/module/sch_mrcsw/"
			  "parameters/$1\"\n"
			  "}\n" +
			  marking;
	return plain + marking;
}

std::string setup(const Topology &t, const Node &node)
{
	const std::vector<NodePort> ports = node_ports(t, node);
	const bool usid = node.kind != Kind::host && t.fabric().srv6();
	std::vector<std::string> names;

	for (const NodePort &p : ports)
		names.push_back(p.netdev);

	std::string s = script_head(t, node, "makes this machine that node");

	s += look_for(names);
	s += sysctl_script(node.kind, names) + "\n";
	s += netdevs_script(t, ports);
	if (usid)
		s += "[ -e /sys/class/net/usid ] || ip link add name usid type "
		     "dummy\n";
	s += batch("ip", without_mgmt(node_commands(t, node)));
	s += fmt::format("\n"
			 "# Queues, in place of those that are there.\n"
			 "for dev in {}; do\n"
			 "	tc qdisc del dev $dev root 2>/dev/null || :\n"
			 "done\n",
			 fmt::join(names, " "));
	return s + queues_script(t, ports);
}
} // namespace

ExportFiles export_linux(const Topology &t, const ExportOptions &)
{
	ExportFiles files;

	for (const Node &n : t.nodes())
		files.push_back({n.name + "/setup.sh", setup(t, n), true});
	return files;
}
} // namespace mrclab
