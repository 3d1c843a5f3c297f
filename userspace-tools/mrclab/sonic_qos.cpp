// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Three queues on every port:
 *
 *	0	what must not be trimmed, and all other traffic
 *	3	what may be trimmed
 *	6	control and trimmed packets, always first
 *
 * Trimming belongs to the buffer profile of a queue, not to a codepoint, so
 * packets that must not be trimmed need a queue of their own. Packets are
 * marked on the ports between switches only: a full port to a host is the
 * host's own matter, and its packets are trimmed.
 *
 * The thresholds in bytes need buffer profiles with static_th, and a static
 * pool.
 */
#include "sonic_qos.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tc_commands.hpp"

namespace mrclab
{
namespace
{
using Json = nlohmann::ordered_json;

/* Codepoints as the module sch_mrcsw has them. */
constexpr int dscp_no_trim = 0;
constexpr int dscp_trimmable = 4;
constexpr int dscp_trimmable_retx = 8;
constexpr int dscp_trimmed = 12;
constexpr int dscp_trimmed_lasthop = 16;
constexpr int dscp_control = 46;

/* Traffic classes. But for tc_trimmed, the queue has the same number. */
constexpr int tc_other = 0;
constexpr int tc_trimmable = 3;
constexpr int tc_trimmed = 5; /* packets that this switch has trimmed */
constexpr int tc_control = 6;

/* Headers of a trimmed packet: Ethernet, IPv6, UDP, BTH, METH, TSETH. SONiC's
 * documents do not say whether "size" counts Ethernet's; with it both hold.
 */
constexpr uint64_t ethernet = 14;
constexpr uint64_t ipv6 = 40;
constexpr uint64_t through_tseth = 8 + 12 + 4 + 4;

constexpr const char *map_name = "mrc";
constexpr const char *pool_name = "mrc";

std::string number(uint64_t n)
{
	return fmt::format("{}", n);
}

std::string at_queue(const std::string &port, int queue)
{
	return fmt::format("{}|{}", port, queue);
}

bool trims(const LinkProps &p)
{
	return p.trim.value_or(0) != 0;
}

void add_classes(Json &db)
{
	const auto map = [](Json &table,
			    std::initializer_list<std::pair<int, int>> all) {
		for (const auto &[from, to] : all)
			table[number(from)] = number(to);
	};

	map(db["DSCP_TO_TC_MAP"][map_name],
	    {{dscp_no_trim, tc_other},
	     {dscp_trimmable, tc_trimmable},
	     {dscp_trimmable_retx, tc_trimmable},
	     /* Not tc_trimmed: they keep their codepoint to the end. */
	     {dscp_trimmed, tc_control},
	     {dscp_trimmed_lasthop, tc_control},
	     {dscp_control, tc_control}});
	map(db["TC_TO_QUEUE_MAP"][map_name], {{tc_other, tc_other},
					      {tc_trimmable, tc_trimmable},
					      {tc_trimmed, tc_control},
					      {tc_control, tc_control}});
	db["SCHEDULER"]["mrc_other"] = {{"type", "DWRR"}, {"weight", "10"}};
	db["SCHEDULER"]["mrc_trimmable"] = {{"type", "DWRR"}, {"weight", "90"}};
	db["SCHEDULER"]["mrc_control"] = {{"type", "STRICT"}};
}

/* Which sorts of ports trim. */
struct Trimming {
	bool fabric = false;
	bool hosts = false;
	uint64_t size = 0;

	bool any() const { return fabric || hosts; }
	/* Then the codepoint depends on the port. */
	bool both() const { return fabric && hosts; }
};

Trimming trimming_of(const Topology &t, const std::vector<NodePort> &ports)
{
	Trimming trim;

	trim.size = through_tseth + ipv6 * (t.fabric().srv6() ? 2 : 1);
	for (const NodePort &p : ports) {
		const LinkProps props = t.props(p.sent);

		if (!trims(props))
			continue;
		(p.to_host() ? trim.hosts : trim.fabric) = true;
		/* One size for the whole switch. */
		trim.size = std::max(trim.size, props.trim_len.value_or(
							SwitchPort().trim_len));
	}
	trim.size += ethernet;
	return trim;
}

void add_trimming(const Trimming &trim, Json &db)
{
	Json global;

	global["size"] = number(trim.size);
	if (trim.both()) {
		global["dscp_value"] = "from-tc";
		global["tc_value"] = number(tc_trimmed);
		db["TC_TO_DSCP_MAP"]["mrc_fabric"][number(tc_trimmed)] =
			number(dscp_trimmed);
		db["TC_TO_DSCP_MAP"]["mrc_host"][number(tc_trimmed)] =
			number(dscp_trimmed_lasthop);
	} else {
		global["dscp_value"] = number(trim.hosts ? dscp_trimmed_lasthop
							 : dscp_trimmed);
	}
	global["queue_index"] = number(tc_control);
	db["SWITCH_TRIMMING"]["GLOBAL"] = std::move(global);
}

/* A profile is named for what it does, so equal ports share it. Returns the
 * name, or nothing without marking.
 */
std::string wred(const LinkProps &p, Json &db)
{
	if (!p.mark_max.value_or(0))
		return {};
	const uint64_t min = p.mark_min.value_or(0);
	std::string name = fmt::format("mrc_{}_{}", min, *p.mark_max);

	db["WRED_PROFILE"][name] = {
		{"ecn", "ecn_all"},
		{"wred_green_enable", "true"},
		{"green_min_threshold", number(min)},
		{"green_max_threshold", number(*p.mark_max)},
		{"green_drop_probability", "100"}};
	return name;
}

/* A queue of at most @bytes, which count for the pool. */
void buffer(const std::string &queue, const char *action, uint64_t bytes,
	    uint64_t &pool, Json &db)
{
	const std::string name = fmt::format("mrc_{}_{}", action, bytes);

	db["BUFFER_PROFILE"][name] = {{"pool", pool_name},
				      {"size", "0"},
				      {"static_th", number(bytes)},
				      {"packet_discard_action", action}};
	db["BUFFER_QUEUE"][queue] = {{"profile", name}};
	pool += bytes;
}

void add_port(const NodePort &p, const LinkProps &props, const Trimming &trim,
	      uint64_t &pool, Json &db)
{
	const std::string port = sonic_port(p);
	const std::string other = at_queue(port, tc_other);
	const std::string trimmable = at_queue(port, tc_trimmable);
	const std::string mark = p.to_host() ? "" : wred(props, db);
	Json &maps = db["PORT_QOS_MAP"][port];

	maps["dscp_to_tc_map"] = map_name;
	maps["tc_to_queue_map"] = map_name;
	if (trim.both())
		maps["tc_to_dscp_map"] =
			p.to_host() ? "mrc_host" : "mrc_fabric";

	db["QUEUE"][other]["scheduler"] = "mrc_other";
	db["QUEUE"][trimmable]["scheduler"] = "mrc_trimmable";
	db["QUEUE"][at_queue(port, tc_control)]["scheduler"] = "mrc_control";
	if (!mark.empty())
		for (const std::string &q : {other, trimmable})
			db["QUEUE"][q]["wred_profile"] = mark;

	if (props.queue.value_or(0))
		buffer(other, "drop", *props.queue, pool, db);
	/* A queue as long as this trims or drops, so the smaller one counts. */
	if (trims(props))
		buffer(trimmable, "trim",
		       std::min(*props.trim, props.queue.value_or(*props.trim)),
		       pool, db);
	else if (props.queue.value_or(0))
		buffer(trimmable, "drop", *props.queue, pool, db);
}
} // namespace

std::string sonic_port(const NodePort &port)
{
	return fmt::format("Ethernet{}", 4 * port.place);
}

void add_sonic_qos(const Topology &t, const Node &node, Json &db)
{
	const std::vector<NodePort> ports = node_ports(t, node);
	const Trimming trim = trimming_of(t, ports);
	uint64_t pool = 0;

	add_classes(db);
	for (const NodePort &p : ports)
		add_port(p, t.props(p.sent), trim, pool, db);
	if (pool)
		db["BUFFER_POOL"][pool_name] = {{"mode", "static"},
						{"type", "egress"},
						{"size", number(pool)}};
	if (trim.any())
		add_trimming(trim, db);
}
} // namespace mrclab
