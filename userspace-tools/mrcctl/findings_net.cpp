// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: GIDs, MTUs, settings of the network, firewall. */
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "findings.hpp"
#include "words.hpp"

namespace mrcctl::doctor
{
namespace
{
/* Holds the largest packets, also with the outer header of SRv6. */
constexpr uint64_t good_mtu = 4500;

std::string prefix_text(const std::array<uint8_t, 16> &addr)
{
	return fmt::format("{}/{}", show_address(addr),
			   is_ipv4(addr) ? 32 : 128);
}

/* Addresses of the device and the ports that have them. */
std::map<std::array<uint8_t, 16>, std::set<uint32_t>>
addresses(const SeenDevice &d)
{
	std::map<std::array<uint8_t, 16>, std::set<uint32_t>> out;

	for (const SeenPort &p : d.ports)
		for (const Gid &g : p.gids)
			if (!is_link_local(g.addr))
				out[g.addr].insert(p.num);
	return out;
}

const Gid *gid_of(const SeenPort &p, const std::string &address)
{
	for (const Gid &g : p.gids)
		if (show_address(g.addr) == address)
			return &g;
	return nullptr;
}

bool is_usable(const Gid &g)
{
	return !is_link_local(g.addr);
}

bool has_usable(const SeenPort &p)
{
	return std::any_of(p.gids.begin(), p.gids.end(), is_usable);
}

/* An address of another plane, which this one should have, with its length. */
std::string address_to_add(const SeenDevice &d)
{
	for (const SeenPort &p : d.ports)
		for (const Gid &g : p.gids)
			if (is_usable(g))
				return prefix_text(g.addr);
	return "ADDRESS/32";
}

void check_port_gids(const SeenDevice &d, const SeenPort &p, Findings &out)
{
	if (has_usable(p) || p.netdev.empty())
		return;
	out.push_back(
		{.level = Level::error,
		 .check = "gid",
		 .device = d.name,
		 .port = p.num,
		 .text = fmt::format(
			 "The port has no GID{}: {} has no address. "
			 "Connections need one.",
			 p.gids.empty() ? "" : " but a link-local one",
			 p.netdev),
		 .fix = fmt::format("ip addr add {} dev {}", address_to_add(d),
				    shell_word(p.netdev))});
}

bool has_family(const SeenPort &p, bool ipv4)
{
	return std::any_of(p.gids.begin(), p.gids.end(), [&](const Gid &g) {
		return is_ipv4(g.addr) == ipv4 && !is_link_local(g.addr);
	});
}

/*
 * An address that some planes have and others lack. One that a single plane has
 * may be its own, unless others have none of that family.
 */
void check_shared(const SeenDevice &d, Findings &out)
{
	for (const auto &[addr, ports] : addresses(d))
		for (const SeenPort &p : d.ports) {
			if (ports.contains(p.num) || !has_usable(p) ||
			    (ports.size() < 2 && has_family(p, is_ipv4(addr))))
				continue;
			out.push_back(
				{.level = Level::warning,
				 .check = "gid",
				 .device = d.name,
				 .port = p.num,
				 .text = fmt::format(
					 "{} lacks the address {} of the other "
					 "planes. Queue pairs may not use this "
					 "plane with it.",
					 p.netdev, show_address(addr)),
				 .fix = fmt::format("ip addr add {} dev {}",
						    prefix_text(addr),
						    shell_word(p.netdev))});
		}
}

/* Which index to use: that of the address that all planes have. */
void check_index(const SeenDevice &d, Findings &out)
{
	std::string address = common_address(d, true);
	std::string list;
	std::set<uint32_t> different;

	if (address.empty())
		address = common_address(d, false);
	if (address.empty()) {
		if (d.ports.size() > 1 && !addresses(d).empty())
			out.push_back(
				{.level = Level::error,
				 .check = "gid",
				 .device = d.name,
				 .text = "The planes have no address in "
					 "common. "
					 "A queue pair has one address, which "
					 "all of its planes need.",
				 .fix = "ip addr add ADDRESS/32 dev NETDEV, "
					"for "
					"each plane"});
		return;
	}
	for (const SeenPort &p : d.ports)
		if (const Gid *g = gid_of(p, address)) {
			list += fmt::format("{} {} of port {}",
					    list.empty() ? "" : ",", g->index,
					    p.num);
			different.insert(g->index);
		}
	out.push_back(
		{.level = different.size() > 1 ? Level::note : Level::ok,
		 .check = "gid",
		 .device = d.name,
		 .text = fmt::format(
			 "GID index for {}:{}. Empty entries give ENODATA "
			 "(No data available).",
			 address, list),
		 .fix = different.size() > 1
				? fmt::format("mrcctl show-gids {}",
					      shell_word(d.name))
				: ""});
}

void check_mtus(const SeenDevice &d, Findings &out)
{
	uint64_t most = 0, least = UINT64_MAX;

	for (const SeenPort &p : d.ports)
		if (p.mtu) {
			most = std::max(most, *p.mtu);
			least = std::min(least, *p.mtu);
		}
	if (!most)
		return;
	for (const SeenPort &p : d.ports) {
		if (!p.mtu)
			continue;
		const uint64_t mtu = active_mtu(*p.mtu);
		Finding f{.check = "mtu",
			  .device = d.name,
			  .port = p.num,
			  .fix = fmt::format("ip link set {} mtu {}",
					     shell_word(p.netdev),
					     std::max(most, good_mtu))};

		if (mtu < active_mtu(most)) {
			f.level = Level::error;
			f.text = fmt::format(
				"The MTU {} of {} leaves {} bytes of payload, "
				"other planes have {}. Queue pairs with that "
				"path MTU do not use this plane.",
				*p.mtu, p.netdev, mtu, active_mtu(most));
		} else if (mtu < 4096) {
			f.level = Level::warning;
			f.text = fmt::format(
				"The MTU {} of {} leaves {} bytes of payload. "
				"4300 or more are needed for 4096.",
				*p.mtu, p.netdev, mtu);
		} else if (*p.mtu != most) {
			f.level = Level::note;
			f.text = fmt::format(
				"The MTU of {} is {}, other planes have {}. "
				"The payload of packets is the same.",
				p.netdev, *p.mtu, most);
			f.fix = fmt::format("ip link set {} mtu {}",
					    shell_word(p.netdev), most);
		} else {
			continue;
		}
		out.push_back(f);
	}
	if (least == most && active_mtu(most) == 4096)
		out.push_back(
			{.check = "mtu",
			 .device = d.name,
			 .text = fmt::format("All planes have MTU {}.", most)});
}

/* Settings that break hosts with the same address on several netdevs. */
void check_sysctls(const SeenDevice &d, Findings &out)
{
	std::string strict, anybody, filtered;
	std::string fix;
	bool known = false;

	if (d.ports.size() < 2)
		return;
	for (const SeenPort &p : d.ports) {
		if (!p.here)
			continue;
		known |= p.sysctls.rp_filter.has_value();
		if (p.sysctls.rp_filter == 1)
			strict += " " + p.netdev;
		if (p.sysctls.arp_ignore == 0)
			anybody += " " + p.netdev;
		if (p.sysctls.arp_filter.value_or(0)) {
			filtered += " " + p.netdev;
			fix += fmt::format(" net.ipv4.conf.{}.arp_filter=0",
					   sysctl_name(p.netdev));
		}
	}
	if (!strict.empty())
		out.push_back(
			{.level = Level::error,
			 .check = "rp_filter",
			 .device = d.name,
			 .text = fmt::format(
				 "rp_filter is strict (1) on{}: Linux drops "
				 "what a peer sends through planes that are "
				 "not "
				 "the best route back.",
				 strict),
			 .fix = "sysctl -w net.ipv4.conf.all.rp_filter=2"});
	if (!filtered.empty())
		out.push_back(
			{.level = Level::error,
			 .check = "arp_filter",
			 .device = d.name,
			 .text = fmt::format(
				 "arp_filter is on for{}: Linux answers ARP on "
				 "the netdev of the best route only, so that "
				 "peers cannot resolve the other planes.",
				 filtered),
			 .fix = "sysctl -w net.ipv4.conf.all.arp_filter=0" +
				fix});
	if (!anybody.empty())
		out.push_back(
			{.level = Level::warning,
			 .check = "arp_ignore",
			 .device = d.name,
			 .text = fmt::format(
				 "arp_ignore is 0 on{}: each netdev answers "
				 "ARP "
				 "for the addresses of all. Where planes meet, "
				 "packets take the wrong one.",
				 anybody),
			 .fix = "sysctl -w net.ipv4.conf.all.arp_ignore=1"});
	if (known && strict.empty() && anybody.empty() && filtered.empty())
		out.push_back({.check = "sysctl",
			       .device = d.name,
			       .text = "rp_filter, arp_ignore and arp_filter "
				       "suit several planes."});
}

void check_vrfs(const SeenDevice &d, Findings &out)
{
	for (const SeenPort &p : d.ports)
		if (!p.vrf.empty() && p.sysctls.udp_l3mdev_accept == 0)
			out.push_back(
				{.level = Level::error,
				 .check = "vrf",
				 .device = d.name,
				 .port = p.num,
				 .text = fmt::format(
					 "{} is in the VRF {}, and the "
					 "device's UDP socket gets nothing "
					 "that comes through a VRF.",
					 p.netdev, p.vrf),
				 .fix = "sysctl -w "
					"net.ipv4.udp_l3mdev_accept=1"});
}

/* A name that "nft" takes without quotes. */
bool plain_name(const std::string &s)
{
	return !s.empty() && s == shell_word(s) &&
	       s.find_first_of(":@./") == std::string::npos;
}

/* A chain that stands in the way, and what it drops. */
struct Obstacle {
	uint32_t port = 0; /* of the device; the first one */
	Way way = Way::in;
	Passage chain;
	std::set<uint64_t> udp_ports;
};

/* A chain for all netdevs and several UDP ports is named once. */
std::vector<Obstacle> obstacles_of(const SeenDevice &d)
{
	std::vector<Obstacle> out;

	for (const SeenPort &p : d.ports)
		for (const SeenPassage &seen : p.passages) {
			const Passage &chain = seen.passage;

			if (chain.fate == Passage::Fate::passes)
				continue;
			auto it = std::find_if(
				out.begin(), out.end(), [&](const Obstacle &o) {
					return o.way == seen.way &&
					       o.chain == chain;
				});

			if (it == out.end())
				it = out.insert(it, {.port = p.num,
						     .way = seen.way,
						     .chain = chain,
						     .udp_ports = {}});
			it->udp_ports.insert(seen.udp_port);
		}
	return out;
}

/* "UDP port 4791", "UDP ports 4791 and 4971" */
std::string ports_text(const std::set<uint64_t> &ports)
{
	std::string list;

	for (const uint64_t port : ports)
		list += fmt::format("{}{}",
				    list.empty()	      ? ""
				    : port == *ports.rbegin() ? " and "
							      : ", ",
				    port);
	return fmt::format("UDP port{} {}", ports.size() > 1 ? "s" : "", list);
}

/* As nft has them in a rule. */
std::string ports_of_rule(const std::set<uint64_t> &ports)
{
	if (ports.size() == 1)
		return std::to_string(*ports.begin());
	return fmt::format("{{ {} }}", fmt::join(ports, ", "));
}

Finding finding_of(const Snapshot &s, const SeenDevice &d, const Obstacle &o)
{
	const bool drops = o.chain.fate == Passage::Fate::drops;
	/* Few peers send to the other port that devices receive on. */
	const bool used = o.way == Way::out || o.udp_ports.contains(s.udp_port);
	Finding f{.level = !used   ? Level::note
			   : drops ? Level::error
				   : Level::warning,
		  .check = "firewall",
		  .device = d.name,
		  .port = o.port};

	f.text = fmt::format(
		"The chain {} of table {} {} {} {} packets to "
		"{}.{}",
		printable(o.chain.chain, 32), printable(o.chain.family, 16),
		printable(o.chain.table, 32), drops ? "drops" : "may drop",
		o.way == Way::in ? "incoming" : "outgoing",
		ports_text(o.udp_ports),
		used ? "" : " Some peers may send to it.");
	if (plain_name(o.chain.family) && plain_name(o.chain.table) &&
	    plain_name(o.chain.chain))
		f.fix = fmt::format("nft insert rule {} {} {} udp dport {} "
				    "accept",
				    o.chain.family, o.chain.table,
				    o.chain.chain, ports_of_rule(o.udp_ports));
	else
		f.fix = "nft -a list ruleset";
	return f;
}

/* All ports that were looked at. */
std::set<uint64_t> udp_ports_of(const SeenDevice &d)
{
	std::set<uint64_t> out;

	for (const SeenPort &p : d.ports)
		for (const SeenPassage &seen : p.passages)
			out.insert(seen.udp_port);
	return out;
}

void check_firewall(const Snapshot &s, const SeenDevice &d, Findings &out)
{
	if (!s.firewall_error.empty()) {
		out.push_back(
			{.level = Level::note,
			 .check = "firewall",
			 .device = d.name,
			 .text = fmt::format("The firewall was not looked "
					     "at: {}.",
					     s.firewall_error),
			 .fix = s.net_admin
					? "nft list ruleset"
					: fmt::format("sudo mrcctl doctor {}",
						      shell_word(d.name))});
		return;
	}
	const std::vector<Obstacle> obstacles = obstacles_of(d);

	for (const Obstacle &o : obstacles)
		out.push_back(finding_of(s, d, o));
	if (s.legacy_iptables)
		out.push_back(
			{.level = Level::note,
			 .check = "firewall",
			 .device = d.name,
			 .text = "Legacy iptables has tables, which were "
				 "not looked at.",
			 .fix = fmt::format(
				 "iptables-legacy -I INPUT -p udp -m multiport "
				 "--dports {} -j ACCEPT",
				 fmt::join(udp_ports_received(s), ","))});
	else if (obstacles.empty())
		out.push_back(
			{.check = "firewall",
			 .device = d.name,
			 .text = fmt::format("No rule of nftables drops {}.",
					     ports_text(udp_ports_of(d)))});
}
} // namespace

void check_gids(const SeenDevice &d, Findings &out)
{
	for (const SeenPort &p : d.ports)
		check_port_gids(d, p, out);
	check_shared(d, out);
	check_index(d, out);
}

void check_network(const Snapshot &s, const SeenDevice &d, Findings &out)
{
	/* The settings of another namespace cannot be seen. */
	if (std::none_of(d.ports.begin(), d.ports.end(),
			 [](const SeenPort &p) { return p.here; }))
		return;
	check_mtus(d, out);
	check_sysctls(d, out);
	check_vrfs(d, out);
	check_firewall(s, d, out);
}
} // namespace mrcctl::doctor
