// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "address.hpp"
#include "fabric_file.hpp"
#include "ip_commands.hpp"

namespace mrclab
{
namespace
{
using Json = nlohmann::ordered_json;

const char *name_of(Forwarding f)
{
	switch (f) {
	case Forwarding::srv6:
		return "srv6";
	case Forwarding::ecmp:
		return "ecmp";
	default:
		return "srv6+ecmp";
	}
}

std::string count(uint32_t n, const char *what)
{
	return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

Json json_of(const Topology &t, const Node &n)
{
	const Fabric &f = t.fabric();
	Json j;

	j["name"] = n.name;
	j["netns"] = netns_of(f, n);
	j["kind"] = n.kind == Kind::host ? "host"
		    : n.kind == Kind::t0 ? "t0"
					 : "t1";
	if (n.plane)
		j["plane"] = n.plane;
	if (f.srv6())
		j["usid"] = usid_prefix(f, n);
	if (n.kind == Kind::host) {
		if (f.devices != Devices::none)
			j["device"] = device_of(f, n.number);
		j["ipv6"] = host6(t, n.number);
		j["ipv4"] = host4(t, n.number);
		j["management"] = mgmt4(n.number);
	}
	return j;
}
} // namespace

std::string summary(const Fabric &f)
{
	return fmt::format("{}: {}, {} T0 and {} T1 in each, {}, {}, mtu {}",
			   f.name, count(f.planes, "plane"), f.t0, f.t1,
			   count(f.all_hosts(), "host"), name_of(f.forwarding),
			   f.mtu);
}

std::string fault_lines(const Topology &t, const Faults &faults)
{
	std::string s;

	for (const auto &words : faults.words(t))
		s += fmt::format("{}\n", fmt::join(words, " "));
	return s;
}

std::string text_of(const Topology &t, const Faults &faults)
{
	const Fabric &f = t.fabric();
	std::string s = summary(f) + "\n";

	for (uint32_t h = 1; h <= f.all_hosts(); h++) {
		s += fmt::format("  {:<5} netns {}", t.host(h).name,
				 netns_of(f, t.host(h)));
		if (f.devices != Devices::none)
			s += fmt::format("  device {}", device_of(f, h));
		s += fmt::format("  {}  {}  management {}\n", host6(t, h),
				 host4(t, h), mgmt4(h));
	}
	for (const auto &words : faults.words(t))
		s += fmt::format("  fault {}\n", fmt::join(words, " "));
	return s;
}

std::string text_of(const Topology &t,
		    const std::map<Direction, Counters> &counters)
{
	std::string s;

	for (const auto &[d, c] : counters)
		s += fmt::format("  {:<12} sent {:>10} packets {:>14} bytes, "
				 "received {:>10} packets {:>14} bytes\n",
				 t.name(d), c.tx_packets, c.tx_bytes,
				 c.rx_packets, c.rx_bytes);
	return s;
}

Json json_of(const Topology &t, const Faults &faults,
	     const std::map<Direction, Counters> &counters)
{
	const Fabric &f = t.fabric();
	Json j;

	j["name"] = f.name;
	j["planes"] = f.planes;
	j["t0"] = f.t0;
	j["t1"] = f.t1;
	j["hosts"] = f.hosts;
	j["forwarding"] = name_of(f.forwarding);
	j["mtu"] = f.mtu;
	j["nodes"] = Json::array();
	for (const Node &n : t.nodes())
		j["nodes"].push_back(json_of(t, n));
	j["links"] = Json::array();
	for (const auto &[d, c] : counters) {
		Json l;

		l["name"] = t.name(d);
		l["from"] = t.nodes()[t.from(d).node].name;
		l["to"] = t.nodes()[t.to(d).node].name;
		for (const auto &[key, value] :
		     link_prop_words(faults.props(t, d)))
			l["settings"][key] = value;
		l["tx_packets"] = c.tx_packets;
		l["tx_bytes"] = c.tx_bytes;
		j["links"].push_back(l);
	}
	j["faults"] = faults.words(t);
	return j;
}
} // namespace mrclab
