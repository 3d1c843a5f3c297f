// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "commands.hpp"

#include <ostream>

#include "error.hpp"

namespace mrcctl
{
namespace
{
constexpr Command table[] = {
	{"dev", "show", "", "limits and capabilities", dev_show},
	{"dev", "set", "extension on|off | num_evs N | mpr N | cwnd BYTES | cc NAME",
	 "attributes of new queue pairs", dev_set},
	{"port", "show", "[PORT]", "ports, with counters if one is named",
	 port_show},
	{"port", "set", "PORT enable|disable", "administrative state",
	 port_set},
	{"fmt", "show", "[ID]", "EV formats", fmt_show},
	{"fmt", "add",
	 "ID mode udp|stev|srv6 fields WIDTH[,WIDTH]... [state STATE]",
	 "make an EV format", fmt_add},
	{"fmt", "set", "ID [mode MODE] [fields WIDTHS] [state STATE]",
	 "change an EV format", fmt_set},
	{"fmt", "del", "ID", "forget an EV format", fmt_del},
	{"ev", "show", "[ID]", "EV profiles, with all EVs if one is named",
	 ev_show},
	{"ev", "add",
	 "ID mode auto|explicit|generated [fmt ID] [count N] [evs EVS]\n"
	 "    [fields FIELD[,FIELD]...] [min_active N] [events EVENTS] "
	 "[state STATE]",
	 "make an EV profile", ev_add},
	{"ev", "set",
	 "ID [mode MODE] [fmt ID] [count N] [fields FIELDS] [min_active N]\n"
	 "    [events EVENTS] [state STATE]",
	 "change an EV profile", ev_set},
	{"ev", "del", "ID", "forget an EV profile", ev_del},
	{"ev", "deny", "ID EVS", "keep queue pairs from these EVs", ev_deny},
	{"ev", "allow", "ID EVS", "let queue pairs use them again", ev_allow},
	{"ev", "replace", "ID OLD NEW [OLD NEW]...", "exchange EVs",
	 ev_replace},
	{"cc", "show", "[ID]", "CC profiles", cc_show},
	{"cc", "add",
	 "ID algorithm NAME|off [PARAMETER VALUE]... [state STATE]",
	 "make a CC profile", cc_add},
	{"cc", "set",
	 "ID [algorithm NAME|off] [PARAMETER VALUE]... [state STATE]",
	 "change a CC profile", cc_set},
	{"cc", "del", "ID", "forget a CC profile", cc_del},
	{"default", "show", "", "profiles and UDP ports by address of the peer",
	 default_show},
	{"default", "set", "PREFIX [ev ID] [cc ID] [udp_port N]",
	 "set or replace one",
	 default_set},
	{"default", "del", "PREFIX", "remove one", default_del},
	{"tc", "show", "", "codepoints of the traffic classes", tc_show},
	{"tc", "set", "[CLASS DSCP]... [trimming on|off]", "change them",
	 tc_set},
	{"limit", "show", "", "how many objects programs have, and may have",
	 limit_show},
	{"limit", "set", "KIND N [KIND N]...", "limit them", limit_set},
	{"probe", "ev",
	 "src ADDR dst ADDR evs EVS [fmt MODE] [tc N] [timeout TIME]",
	 "ask the peer over these EVs, as they are on the wire", probe_ev},
	{"probe", "status",
	 "src ADDR dst ADDR evs EVS ports PORTS [fmt MODE] [tc N]\n"
	 "    [timeout TIME]",
	 "tell the peer which ports are up", probe_status},
	{"qp", "show", "[QPN]", "queue pairs, with all EVs if one is named",
	 qp_show},
	{"monitor", "", "[ev|state]", "events and changes as they come",
	 monitor},
	{"top", "", "", "ports and queue pairs, again and again", top},
	{"load", "", "FILE|-", "make the profiles that a JSON file defines",
	 load},
	{"save", "", "", "all profiles as such a file", save},
	{"doctor", "", "[DEVICE] [--peer ADDRESS...]",
	 "what is wrong with this host, and what mends it", nullptr, diagnose,
	 exit_doctor_usage},
	{"show-gids", "", "[DEVICE]", "GIDs with index, address and netdev",
	 nullptr, show_gids},
	{"plane", "show", "[NETDEV]", "what \"plane add\" has changed", nullptr,
	 plane_show},
	{"plane", "add",
	 "NETDEV [mtu N] [addr ADDRESS]...\n"
	 "    [route PREFIX [via ROUTER] [metric N]]... [--dry-run]",
	 "MTU, addresses, routes and sysctls of a plane", nullptr, plane_add},
	{"plane", "del", "NETDEV [--dry-run]", "take that back", nullptr,
	 plane_del},
	{"links", "up", "[FILE]",
	 "make the devices of /etc/mrc/links.d, or of a file", nullptr,
	 links_up},
	{"links", "join", "[FILE]",
	 "give them the netdevs that have come since", nullptr, links_join},
	{"links", "down", "[FILE]", "remove them", nullptr, links_down},
	{"links", "check", "[FILE]", "read the files, change nothing", nullptr,
	 links_check},
	{"links", "units", "DIRECTORY", "what systemd needs for \"join\"",
	 nullptr, links_units},
	{"metrics", "", "[FILE]", "figures of all devices for Prometheus",
	 nullptr, metrics},
	{"serve", "", "[listen ADDRESS[:PORT]] [health FILE]",
	 "a web page of what the devices do", nullptr, serve},
};
} // namespace

std::span<const Command> commands()
{
	return table;
}

void HostContext::print(std::string_view text) const
{
	env.out << text;
	env.out.flush();
}

void HostContext::print_json(const Json &j) const
{
	print(dumped(j, opt.pretty ? 4 : -1));
}

void Context::print_json(const Json &j) const
{
	print_text(dumped(j, opt.pretty ? 4 : -1));
}

void Context::print_text(std::string_view text) const
{
	env.out << text;
	env.out.flush();
}
} // namespace mrcctl
