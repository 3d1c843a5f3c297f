// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: modules, rights, devices and peers. */
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

bool any_here(const SeenDevice &d)
{
	return std::any_of(d.ports.begin(), d.ports.end(),
			   [](const SeenPort &p) { return p.here; });
}

void read_peers(Host &host, Backend *dev, const SeenDevice &d, uint32_t num_evs,
		const std::vector<std::string> &peers, const Probing &how,
		Snapshot &s)
{
	if (!any_here(d))
		return;
	for (const std::string &peer : peers) {
		const std::size_t from = s.paths.size();

		read_paths(host, d, peer, s.paths);
		const std::span<SeenPath> paths =
			std::span(s.paths).subspan(from);

		probe_peer(dev, d, peer, num_evs, how, paths, s.silences);
		for (SeenPath &path : paths)
			for (const SeenPort &p : d.ports)
				if (p.num == path.port)
					read_neighbour(host, p.netdev, path);
	}
}

/* The word in brackets holds: "none [integrity] confidentiality". */
std::string lockdown(Host &host)
{
	const std::string s = line_of(host, "/sys/kernel/security/lockdown");
	const std::size_t from = s.find('['), to = s.find(']');

	if (from == std::string::npos || to == std::string::npos || to < from)
		return "";
	return s.substr(from + 1, to - from - 1);
}

void read_signatures(Host &host, Snapshot &s)
{
	const std::string lock = lockdown(host);

	if (lock == "integrity" || lock == "confidentiality")
		s.signatures_only = "lockdown: " + lock;
	else if (line_of(host, "/sys/module/module/parameters/sig_enforce") ==
		 "Y")
		s.signatures_only = "module.sig_enforce";
	s.unsigned_module = line_of(host, "/sys/module/mrc/taint").find('E') !=
			    std::string::npos;
	if (s.module || s.signatures_only.empty())
		return;
	const Host::Ran ran = host.run({"modinfo", "-F", "signer", "mrc"});

	s.module_file = ran.started && ran.status == 0;
	if (s.module_file)
		s.module_signer = printable(
			stripped(ran.out.substr(0, ran.out.find('\n'))));
}

void read_one(Host &host, System &system, SeenDevice d,
	      const std::vector<std::string> &peers, const Probing &how,
	      Snapshot &s)
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
	read_peers(host, dev.get(), d, num_evs, peers, how, s);
	s.devices.push_back(std::move(d));
}
} // namespace

Snapshot read_snapshot(Host &host, System &system, const std::string &wanted,
		       const std::vector<std::string> &peers,
		       const Probing &how)
{
	Snapshot s;

	s.wanted = wanted;
	s.module = !host.list("/sys/module/mrc").empty();
	s.uverbs_module = !host.list("/sys/class/infiniband_verbs").empty() ||
			  !host.list("/sys/module/ib_uverbs").empty();
	s.rxe = !host.list("/sys/module/rdma_rxe").empty();
	s.udp_port = number_of(host, "/sys/module/mrc/parameters/udp_port")
			     .value_or(s.udp_port);
	read_signatures(host, s);
	s.provider = names_provider(host);
	read_rights(host, s);
	for (const std::string &name : sysfs_mrc_devices(host))
		if (wanted.empty() || name == wanted)
			read_one(host, system, {.name = name}, peers, how, s);
	read_firewall(host, s);
	return s;
}
} // namespace mrcctl::doctor
