// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fault_commands.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "address.hpp"
#include "ip_commands.hpp"

namespace mrclab
{
namespace
{
/*
 * Queues that can be changed in place, so that queued packets are kept. A
 * change of netem leaves alone what its words do not name.
 */
bool same_shape(const Queues &a, const Queues &b)
{
	const auto kinds = [](const Queues &q) {
		std::string all;

		for (const char *word :
		     {" netem ", " tbf ", " delay ", " corrupt ", " reorder "})
			if (q.commands.find(word) != std::string::npos)
				all += word;
		return all;
	};

	return kinds(a) == kinds(b) && a.port == b.port;
}

std::string change(std::string commands)
{
	const std::string add = "qdisc add ";

	for (std::size_t at = commands.find(add); at != std::string::npos;
	     at = commands.find(add, at))
		commands.replace(at, add.size(), "qdisc change ");
	return commands;
}

void queue_commands(const Topology &t, Direction d, const Queues &from,
		    const Queues &to, FaultCommands &out)
{
	const End &end = t.from(d);
	const std::string &node = t.nodes()[end.node].name;

	if (from.commands == to.commands && from.port == to.port)
		return;
	if (!from.commands.empty() && same_shape(from, to)) {
		out.tc[node] += change(to.commands);
		return;
	}
	if (!from.commands.empty())
		out.tc[node] +=
			fmt::format("qdisc del dev {} root\n", end.netdev);
	out.tc[node] += to.commands;
	if (to.port)
		out.ports.push_back({node, *to.port, to.port_command});
}

/* The kernel takes 32 for a filter. */
constexpr int max_actions = 12;

/*
 * Actions that drop a share of the packets. One action drops one of N packets,
 * at most every second one, so other shares take more than one of them.
 */
std::string drop_actions(double share)
{
	double pass = 1;
	std::string actions;

	for (int i = 0; i < max_actions; i++) {
		const double left = 1 - (1 - share) / pass;
		const double n = std::ceil(1 / left - 1e-9);

		if (left < 1e-6 || n > 10000)
			break;
		if (n <= 1)
			return " action drop";
		actions += fmt::format(
			" action pipe random netrand drop {:.0f}", n);
		pass *= 1 - 1 / n;
	}
	return actions.empty() ? " action pipe random netrand drop 10000"
			       : actions;
}

/* Packets are told by their destination at the first T0, where all uSIDs of
 * the path are still there.
 */
void path_commands(const Topology &t, const Faults &from, const Faults &to,
		   FaultCommands &out)
{
	using Port = std::pair<uint32_t, uint32_t>; /* host and plane */
	std::map<Port, std::string> filters;
	std::set<Port> old;

	if (from.paths() == to.paths())
		return;
	for (const auto &[p, share] : from.paths())
		old.insert({p.a, p.plane});
	for (const auto &[p, share] : to.paths())
		filters[{p.a, p.plane}] += fmt::format(
			"filter add dev {0} ingress protocol ipv6 pref 1 "
			"flower dst_ip {1}/128{2}\n",
			t.host(p.a).name, usid_path(t, p.a, p.t1, p.b),
			drop_actions(share));
	const auto node = [&t](const Port &port) {
		return t.t0(port.second, t.t0_of(port.first)).name;
	};

	for (const Port &port : old)
		out.tc[node(port)] += fmt::format("qdisc del dev {} clsact\n",
						  t.host(port.first).name);
	for (const auto &[port, lines] : filters)
		out.tc[node(port)] += fmt::format("qdisc add dev {} clsact\n",
						  t.host(port.first).name) +
				      lines;
}

void down_commands(const Topology &t, const Faults &from, const Faults &to,
		   FaultCommands &out)
{
	const std::set<Direction> was = from.down(t), is = to.down(t);
	std::map<uint32_t, std::set<Direction>> restored; /* by node */

	for (const Direction d : is) {
		const End &end = t.from(d);

		if (!was.contains(d))
			out.ip[t.nodes()[end.node].name] +=
				fmt::format("link set {} down\n", end.netdev);
	}
	/* The other end, which loses only its carrier, is set up again too. */
	for (const Direction d : was)
		if (!is.contains(d)) {
			restored[t.from(d).node].insert(d);
			restored[t.to(d).node].insert({d.link, !d.up});
		}
	for (const auto &[n, ports] : restored)
		out.ip[t.nodes()[n].name] +=
			restore_commands(t, t.nodes()[n], ports, is);
}

Queues queues(const Topology &t, const Faults &f, Direction d)
{
	return queues_of(t.from(d).netdev, f.props(t, d), t.last_hop(d));
}
} // namespace

FaultCommands first_commands(const Topology &t)
{
	FaultCommands out;

	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false})
			queue_commands(t, {l, up}, {}, queues(t, {}, {l, up}),
				       out);
	return out;
}

FaultCommands change_commands(const Topology &t, const Faults &from,
			      const Faults &to)
{
	FaultCommands out;

	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false})
			queue_commands(t, {l, up}, queues(t, from, {l, up}),
				       queues(t, to, {l, up}), out);
	path_commands(t, from, to, out);
	down_commands(t, from, to, out);
	return out;
}
std::map<std::string, std::string> wipe_commands(const Topology &t)
{
	std::map<std::string, std::string> all;

	for (const Node &n : t.nodes())
		for (const Direction d : t.sent_by(n)) {
			const std::string &dev = t.from(d).netdev;

			all[n.name] += fmt::format("qdisc del dev {} root\n"
						   "qdisc del dev {} clsact\n",
						   dev, dev);
		}
	return all;
}

FaultCommands rebuild_commands(const Topology &t, const Faults &to)
{
	FaultCommands out;

	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false})
			queue_commands(t, {l, up}, {}, queues(t, to, {l, up}),
				       out);
	path_commands(t, {}, to, out);
	for (const Direction d : to.down(t)) {
		const End &end = t.from(d);

		out.ip[t.nodes()[end.node].name] +=
			fmt::format("link set {} down\n", end.netdev);
	}
	for (const Node &n : t.nodes())
		out.ip[n.name] += node_commands(t, n, to.down(t));
	return out;
}
} // namespace mrclab
