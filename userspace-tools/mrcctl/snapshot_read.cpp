// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: modules, rights, devices and probes. */
#include "snapshot_read.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "error.hpp"
#include "profile.hpp"
#include "words.hpp"

namespace mrcctl::doctor
{
namespace
{
constexpr uint64_t probe_timeout_ns = 1000000000;
/* Of each port, if no profile lists EVs. */
constexpr uint32_t most_probes = 16;
constexpr uint32_t first_source_port = 0xc000;

/* The line of a file that begins with @key, behind it. */
std::string value_in(const std::string &text, const std::string &key)
{
	std::istringstream in(text);
	std::string line;

	while (std::getline(in, line))
		if (line.starts_with(key))
			return line.substr(key.size());
	return "";
}

void read_rights(Host &host, Snapshot &s)
{
	constexpr unsigned int net_admin = 12, ipc_lock = 14;
	const std::string caps = stripped(
		value_in(host.read("/proc/self/status").text, "CapEff:"));
	std::istringstream limits(value_in(host.read("/proc/self/limits").text,
					   "Max locked memory"));
	std::string soft;

	try {
		const uint64_t mask = parse_number("0x" + caps);

		s.net_admin = (mask >> net_admin & 1) != 0;
		s.ipc_lock = (mask >> ipc_lock & 1) != 0;
	} catch (const UsageError &) {
		/* Without /proc nothing is known of rights. */
	}
	if (!(limits >> soft))
		return;
	try {
		s.memlock_known = true;
		if (soft != "unlimited")
			s.memlock = parse_number(soft);
	} catch (const UsageError &) {
		s.memlock_known = false;
	}
}

bool names_provider(Host &host)
{
	const std::string dir = "/etc/libibverbs.d";

	for (const std::string &name : host.list(dir)) {
		if (!name.ends_with(".driver"))
			continue;
		std::istringstream in(host.read(dir + "/" + name).text);
		std::string driver, path;

		while (in >> driver >> path) {
			/* "driver mrc", or a path that ends in /libmrc. */
			const std::size_t slash = path.rfind('/');

			if (driver == "driver" &&
			    (path == "mrc" ||
			     (slash != std::string::npos &&
			      path.substr(slash + 1) == "libmrc")))
				return true;
		}
	}
	return false;
}

bool has_uverbs(Host &host, const std::string &device)
{
	const std::string dir = "/sys/class/infiniband_verbs";
	const std::vector<std::string> files = host.list("/dev/infiniband");

	for (const std::string &name : host.list(dir))
		if (line_of(host, dir + "/" + name + "/ibdev") == device)
			return std::find(files.begin(), files.end(), name) !=
			       files.end();
	return false;
}

void count_ev(SeenEvs &n, EvState state)
{
	if (state == EvState::denied)
		n.denied++;
	else if (state == EvState::assumed_bad)
		n.assumed_bad++;
	else
		n.good++;
}

std::vector<SeenPortEvs> by_port(const std::map<uint32_t, SeenEvs> &map)
{
	std::vector<SeenPortEvs> out;

	for (const auto &[port, evs] : map)
		out.push_back({port, evs});
	return out;
}

void read_evs(Backend &dev, SeenDevice &d)
{
	std::map<uint32_t, SeenEvs> of_qps;

	for (const EvProfile &p : all_of(dev).ev_profiles) {
		std::map<uint32_t, SeenEvs> n;

		for (const EvEntry &e : p.evs)
			count_ev(n[e.ev.port], e.state);
		d.profiles.push_back({p.id, by_port(n)});
	}
	for (const QpName &name : dev.qps()) {
		const std::optional<Qp> q = dev.qp(name);

		d.qps++;
		d.qps_in_error += name.state == "ERR";
		if (!q)
			continue;
		for (const QpEv &e : q->evs) {
			SeenEvs &n = of_qps[e.port];

			n.good += e.state == 0;
			n.denied += e.state == 1;
			n.skip += e.state == 2;
			n.assumed_bad += e.state == 3;
		}
	}
	d.qp_evs = by_port(of_qps);
}

void read_peer_udp_ports(Backend &dev, SeenDevice &d)
{
	std::set<uint64_t> ports;

	for (const Default &x : dev.defaults())
		if (x.udp_port)
			ports.insert(x.udp_port);
	d.peer_udp_ports.assign(ports.begin(), ports.end());
}

/* @num_evs: how many EVs queue pairs of this device have. */
void read_device(Backend &dev, SeenDevice &d, uint32_t &num_evs)
{
	const Device attr = dev.device();

	d.extension = attr.extension;
	if (attr.qp)
		num_evs = attr.qp->num_evs;
	for (const Port &seen : dev.ports())
		for (SeenPort &p : d.ports)
			if (p.num == seen.num)
				p.enabled = seen.enabled;
	try {
		read_peer_udp_ports(dev, d);
		read_evs(dev, d);
	} catch (const DeviceError &e) {
		d.ev_error = e.what();
	}
}

bool holds(const Prefix &prefix, const std::array<uint8_t, 16> &addr)
{
	for (uint32_t bit = 0; bit < std::min(prefix.len, 128u); bit++) {
		const auto shift = static_cast<unsigned int>(7 - bit % 8);

		if ((prefix.addr[bit / 8] ^ addr[bit / 8]) >> shift & 1)
			return false;
	}
	return true;
}

/*
 * The EVs that queue pairs to this peer have, if they are UDP source ports that
 * a profile lists; else source ports like those that the device makes.
 */
std::vector<Ev> evs_to(Backend &dev, const SeenDevice &d,
		       const std::array<uint8_t, 16> &peer, uint32_t num_evs)
{
	std::optional<Default> best;
	std::vector<Ev> out;

	for (const Default &x : dev.defaults())
		if (x.ev_profile != no_profile && holds(x.prefix, peer) &&
		    (!best || best->prefix.len < x.prefix.len))
			best = x;
	if (best && dev.ev_state(best->ev_profile) != State::init) {
		const EvProfile p = dev.ev(best->ev_profile);
		const bool udp =
			p.fmt && dev.fmt_state(*p.fmt) != State::init &&
			dev.fmt(*p.fmt).mode == FmtMode::udp &&
			dev.fmt(*p.fmt).fields == std::vector<uint8_t>{16};

		for (const EvEntry &e : p.evs)
			if (udp && e.state != EvState::denied)
				out.push_back(e.ev);
	}
	if (!out.empty())
		return out;
	const uint32_t each = std::clamp<uint32_t>(
		num_evs / static_cast<uint32_t>(d.ports.size()), 1,
		most_probes);

	for (const SeenPort &p : d.ports)
		for (uint32_t i = 0; i < each; i++) {
			Ev ev;

			ev.val[0] = static_cast<uint8_t>(
				(first_source_port + i) >> 8);
			ev.val[1] = static_cast<uint8_t>(i);
			ev.port = static_cast<uint8_t>(p.num);
			out.push_back(ev);
		}
	return out;
}

void count_answers(const EpRequest &r, const Backend::EpResult &result,
		   std::span<SeenPath> paths)
{
	for (SeenPath &path : paths)
		path.probes = static_cast<uint32_t>(std::count_if(
			r.evs.begin(), r.evs.end(),
			[&](const Ev &ev) { return ev.port == path.port; }));
	for (const EpResponse &a : result.responses)
		for (SeenPath &path : paths) {
			if (a.request >= r.evs.size() ||
			    r.evs[a.request].port != path.port)
				continue;
			path.answers++;
			if (!path.rtt_ns || a.rtt_ns < path.rtt_ns)
				path.rtt_ns = a.rtt_ns;
		}
}

void probe(Backend *dev, const SeenDevice &d, const std::string &peer,
	   uint32_t num_evs, std::span<SeenPath> paths, Snapshot &s)
{
	SeenSilence n{.device = d.name, .peer = peer};
	EpRequest r;

	if (!dev) {
		n.why = "the device cannot be opened";
		s.silences.push_back(n);
		return;
	}
	r.dst = parse_address(peer);
	const auto own =
		std::find_if(paths.begin(), paths.end(),
			     [](const SeenPath &p) { return !p.own.empty(); });

	if (own == paths.end()) {
		n.why = fmt::format("the device has no {} address",
				    is_ipv4(r.dst) ? "IPv4" : "IPv6");
		s.silences.push_back(n);
		return;
	}
	try {
		r.src = parse_address(own->own);
		r.timeout_ns = probe_timeout_ns;
		r.evs = evs_to(*dev, d, r.dst, num_evs);
		count_answers(r, dev->endpoint(r), paths);
	} catch (const DeviceError &e) {
		n.why = e.what();
		n.privilege = e.err == EPERM || e.err == EACCES;
		s.silences.push_back(n);
	}
}

bool any_here(const SeenDevice &d)
{
	return std::any_of(d.ports.begin(), d.ports.end(),
			   [](const SeenPort &p) { return p.here; });
}

void read_peers(Host &host, Backend *dev, const SeenDevice &d, uint32_t num_evs,
		const std::vector<std::string> &peers, Snapshot &s)
{
	if (!any_here(d))
		return;
	for (const std::string &peer : peers) {
		const std::size_t from = s.paths.size();

		read_paths(host, d, peer, s.paths);
		const std::span<SeenPath> paths =
			std::span(s.paths).subspan(from);

		probe(dev, d, peer, num_evs, paths, s);
		for (SeenPath &path : paths)
			for (const SeenPort &p : d.ports)
				if (p.num == path.port)
					read_neighbour(host, p.netdev, path);
	}
}

void read_one(Host &host, System &system, SeenDevice d,
	      const std::vector<std::string> &peers, Snapshot &s)
{
	std::unique_ptr<Backend> dev;
	uint32_t num_evs = 64;

	for (const uint32_t num : sysfs_ports(host, d.name))
		d.ports.push_back({.num = num});
	read_ports(host, d);
	d.uverbs = has_uverbs(host, d.name);
	try {
		dev = system.open(d.name);
		read_device(*dev, d, num_evs);
	} catch (const std::exception &e) {
		d.open_error = e.what();
		dev = nullptr;
	}
	read_peers(host, dev.get(), d, num_evs, peers, s);
	s.devices.push_back(std::move(d));
}
} // namespace

Snapshot read_snapshot(Host &host, System &system, const std::string &wanted,
		       const std::vector<std::string> &peers)
{
	Snapshot s;

	s.wanted = wanted;
	s.module = !host.list("/sys/module/mrc").empty();
	s.uverbs_module = !host.list("/sys/class/infiniband_verbs").empty() ||
			  !host.list("/sys/module/ib_uverbs").empty();
	s.rxe = !host.list("/sys/module/rdma_rxe").empty();
	s.udp_port = number_of(host, "/sys/module/mrc/parameters/udp_port")
			     .value_or(s.udp_port);
	s.provider = names_provider(host);
	read_rights(host, s);
	for (const std::string &name : sysfs_mrc_devices(host))
		if (wanted.empty() || name == wanted)
			read_one(host, system, {.name = name}, peers, s);
	read_firewall(host, s);
	return s;
}
} // namespace mrcctl::doctor
