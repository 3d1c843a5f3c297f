// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: the ways to the peers, plane by plane. */
#include <algorithm>

#include <fmt/format.h>

#include "findings.hpp"
#include "text.hpp"

namespace mrcctl::doctor
{
namespace
{
bool is_v6(const std::string &address)
{
	return address.find(':') != std::string::npos;
}

const SeenPort *port_of(const Snapshot &s, const SeenPath &path)
{
	for (const SeenDevice &d : s.devices)
		if (d.name == path.device)
			for (const SeenPort &p : d.ports)
				if (p.num == path.port)
					return &p;
	return nullptr;
}

Finding about(const SeenPath &path, const char *check, Level level)
{
	return {.level = level,
		.check = check,
		.device = path.device,
		.port = path.port,
		.peer = path.peer};
}

/* Planes need different metrics, so that the kernel keeps all routes. */
std::string route_command(const Snapshot &s, const SeenPath &path,
			  const SeenPort &p)
{
	const bool v6 = is_v6(path.peer);
	const bool routed = std::any_of(
		s.paths.begin(), s.paths.end(), [&](const SeenPath &o) {
			return o.device == path.device && o.peer == path.peer &&
			       o.route && !o.route->gateway.empty();
		});

	return fmt::format("ip {}route add {}/{}{} dev {} src {} metric {}",
			   v6 ? "-6 " : "", path.peer, v6 ? 128 : 32,
			   routed ? " via ROUTER" : "", shell_word(p.netdev),
			   path.own.empty() ? "OWN-ADDRESS" : path.own,
			   100 + path.port);
}

/* Returns whether packets can leave. */
bool check_route(const Snapshot &s, const SeenPath &path, const SeenPort &p,
		 Findings &out)
{
	Finding f = about(path, "route", Level::error);

	if (is_v6(path.peer) && p.sysctls.disable_ipv6.value_or(0)) {
		f.text = fmt::format("IPv6 is disabled on {}.", p.netdev);
		f.fix = fmt::format("sysctl -w net.ipv6.conf.{}.disable_ipv6=0",
				    sysctl_name(p.netdev));
		out.push_back(f);
		return false;
	}
	if (!path.route)
		return true;
	if (!path.route->there) {
		f.text = fmt::format("There is no route to {} through {}: the "
				     "plane is not used.",
				     path.peer, p.netdev);
		f.fix = route_command(s, path, p);
		out.push_back(f);
		return false;
	}
	if (path.route->mtu && p.mtu &&
	    active_mtu(*path.route->mtu) < active_mtu(*p.mtu)) {
		f.text = fmt::format("The route to {} through {} has MTU {}: "
				     "queue pairs with a path MTU of {} do not "
				     "use the plane.",
				     path.peer, p.netdev, *path.route->mtu,
				     active_mtu(*p.mtu));
		f.fix = fmt::format("ip {}route show to match {} dev {}; ip "
				    "{}route change ... mtu {}",
				    is_v6(path.peer) ? "-6 " : "", path.peer,
				    shell_word(p.netdev),
				    is_v6(path.peer) ? "-6 " : "", *p.mtu);
		out.push_back(f);
	}
	if (!path.route->prefsrc.empty() && !path.own.empty() &&
	    path.route->prefsrc != path.own) {
		f.level = Level::warning;
		f.text = fmt::format("The route to {} through {} has the "
				     "source address {}, the GID of all planes "
				     "is {}.",
				     path.peer, p.netdev, path.route->prefsrc,
				     path.own);
		f.fix = route_command(s, path, p);
		f.fix.replace(f.fix.find("route add"), 9, "route replace");
		out.push_back(f);
	}
	return true;
}

/* Returns whether a neighbour is there, or may be. */
bool check_neigh(const SeenPath &path, const SeenPort &p, Findings &out)
{
	if (path.neigh != "FAILED" && path.neigh != "INCOMPLETE")
		return true;
	const std::string hop = path.route && !path.route->gateway.empty()
					? path.route->gateway
					: path.peer;
	Finding f = about(path, "neighbour", Level::error);

	f.text = fmt::format(
		"{} does not answer {} through {}: it is down, or "
		"the plane does not reach it.",
		hop, is_v6(hop) ? "neighbour solicitations" : "ARP requests",
		p.netdev);
	f.fix = fmt::format("on the peer: mrcctl doctor --peer {}",
			    path.own.empty() ? "OWN-ADDRESS" : path.own);
	out.push_back(f);
	return false;
}

const char *kind_of(FmtMode mode)
{
	switch (mode) {
	case FmtMode::srv6:
		return "SRv6 EVs";
	case FmtMode::stev:
		return "structured EVs";
	default:
		return "EVs";
	}
}

/* "" for source ports that doctor has made up. */
std::string silent_ones(const SeenPath &path)
{
	std::string list;

	for (const std::string &ev : path.silent)
		list += (list.empty() ? " Silent: " : ", ") + ev;
	if (list.empty())
		return "";
	return list + (path.probes - path.answers > path.silent.size() ? ", ..."
								       : ".");
}

/* What hides a peer that answers on no EV of any plane. */
const char *hidden_by(FmtMode mode)
{
	return mode == FmtMode::srv6
		       ? "it has no mrc device with this address, no SRv6 "
			 "profile that is ONLINE, another UDP port, or a "
			 "firewall, or switches lack a route for the uSIDs or "
			 "for answers, which have no outer header."
		       : "it has no mrc device with this address, another UDP "
			 "port, or a firewall.";
}

void check_probes(const SeenPath &path, const SeenPort &p, bool all_silent,
		  Findings &out)
{
	Finding f = about(path, "probe", Level::ok);
	const char *const evs = kind_of(path.mode);
	const std::string there =
		fmt::format("on the peer: mrcctl doctor --peer {}",
			    path.own.empty() ? "OWN-ADDRESS" : path.own);

	if (!path.probes)
		return;
	if (path.answers == path.probes) {
		f.text = fmt::format("{} answers on all {} {} through {}, rtt "
				     "{}.",
				     path.peer, path.probes, evs, p.netdev,
				     show_time(path.rtt_ns));
	} else if (path.answers) {
		f.level = Level::warning;
		f.text = fmt::format("{} answers on {} of {} {} through {}: "
				     "some paths of the plane lose packets.{}",
				     path.peer, path.answers, path.probes, evs,
				     p.netdev, silent_ones(path));
		f.fix = there;
	} else if (all_silent) {
		f.level = Level::error;
		f.text = fmt::format("{} answers on none of {} {} through {}, "
				     "nor through another plane: {}",
				     path.peer, path.probes, evs, p.netdev,
				     hidden_by(path.mode));
		f.fix = there;
	} else {
		f.level = Level::error;
		f.text = fmt::format("{} answers on none of {} {} through {}: "
				     "the plane is cut, or the peer's port or "
				     "route is missing there.",
				     path.peer, path.probes, evs, p.netdev);
		f.fix = there;
	}
	out.push_back(f);
	if (path.unprobed) {
		f.level = Level::note;
		f.text = fmt::format("{} more {} through {} were not probed "
				     "within {} s.",
				     path.unprobed, evs, p.netdev,
				     probe_seconds);
		f.fix = "";
		out.push_back(f);
	}
}

void check_silence(const SeenSilence &n, Findings &out)
{
	out.push_back(
		{.level = n.privilege ? Level::note : Level::error,
		 .check = "probe",
		 .device = n.device,
		 .peer = n.peer,
		 .text = fmt::format("{} was not probed: {}.", n.peer, n.why),
		 .fix = n.privilege ? fmt::format("sudo mrcctl doctor {} "
						  "--peer {}",
						  shell_word(n.device), n.peer)
				    : fmt::format("mrcctl show-gids {}",
						  shell_word(n.device))});
}
} // namespace

void check_peers(const Snapshot &s, Findings &out)
{
	for (const SeenPath &path : s.paths) {
		const SeenPort *p = port_of(s, path);
		const auto answered = [&](const SeenPath &o) {
			return o.device == path.device && o.peer == path.peer &&
			       o.answers;
		};

		/* What a port that is down lacks is not what to mend first. */
		if (!p || p->state != "ACTIVE")
			continue;
		if (check_route(s, path, *p, out) && check_neigh(path, *p, out))
			check_probes(path, *p,
				     std::none_of(s.paths.begin(),
						  s.paths.end(), answered),
				     out);
	}
	for (const SeenSilence &n : s.silences)
		check_silence(n, out);
}
} // namespace mrcctl::doctor
