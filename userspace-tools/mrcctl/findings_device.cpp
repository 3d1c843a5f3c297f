// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: modules, the library, ports, EVs. */
#include <algorithm>

#include <fmt/format.h>

#include "findings.hpp"

namespace mrcctl::doctor
{
namespace
{
/* Programs register buffers of some MiB. */
constexpr uint64_t enough_memlock = 64ull << 20;

void check_modules(const Snapshot &s, Findings &out)
{
	Finding f{.check = "module"};

	if (!s.module) {
		f.level = Level::error;
		f.text = "The module mrc is not loaded.";
		f.fix = "modprobe mrc";
		out.push_back(f);
	} else {
		f.text = fmt::format("The module mrc is loaded, UDP port {}.",
				     s.udp_port);
		out.push_back(f);
	}
	if (s.module && !s.uverbs_module) {
		f.level = Level::error;
		f.text = "The module ib_uverbs is not loaded: programs cannot "
			 "open RDMA devices.";
		f.fix = "modprobe ib_uverbs";
		out.push_back(f);
	}
	if (s.rxe) {
		f.level = Level::note;
		f.text =
			"The module rdma_rxe is loaded. In a network namespace "
			"with an rxe device, mrc cannot have UDP port 4791.";
		f.fix = "rdma link del RXE-DEVICE; modprobe -r rdma_rxe";
		out.push_back(f);
	}
}

/* Secure Boot makes the kernel so. */
void check_signature(const Snapshot &s, Findings &out)
{
	Finding f{.check = "signature"};
	const std::string only = fmt::format(
		"This kernel loads only modules signed with a key that it "
		"knows ({})",
		s.signatures_only);

	if (s.module && s.signatures_only.empty() && s.unsigned_module) {
		f.text = "The module mrc is not signed with a key that the "
			 "kernel knows, which this kernel allows.";
	} else if (s.signatures_only.empty()) {
		return;
	} else if (s.module) {
		f.text = only + ". mrc is one of them.";
	} else if (!s.module_file) {
		f.level = Level::error;
		f.text = only + ", and there is no module mrc for it.";
		f.fix = "dkms autoinstall";
	} else if (s.module_signer.empty()) {
		f.level = Level::error;
		f.text = only + ". The module mrc has no signature. DKMS signs "
				"what it builds.";
		f.fix = "dkms build --force mrc/VERSION; "
			"dkms install --force mrc/VERSION";
	} else {
		f.level = Level::warning;
		f.text = fmt::format("{}. The key of mrc is \"{}\". If it is "
				     "not enrolled, loading fails with \"Key "
				     "was rejected by service\".",
				     only, s.module_signer);
		f.fix = "mokutil --import /var/lib/dkms/mok.pub; reboot, and "
			"there choose \"Enroll MOK\"";
	}
	out.push_back(f);
}

void check_presence(const Snapshot &s, Findings &out)
{
	Finding f{.level = Level::error, .check = "device"};

	if (!s.devices.empty())
		return;
	f.fix = fmt::format("{}rdma link add {} type mrc netdev NETDEV",
			    s.module ? "" : "modprobe mrc; ",
			    s.wanted.empty() ? "mrc0" : shell_word(s.wanted));
	f.text = s.wanted.empty()
			 ? "There is no mrc device."
			 : fmt::format("There is no mrc device {}.", s.wanted);
	out.push_back(f);
}

void check_provider(const Snapshot &s, Findings &out)
{
	Finding f{.check = "provider"};
	const bool works = !s.devices.empty() &&
			   std::all_of(s.devices.begin(), s.devices.end(),
				       [](const SeenDevice &d) {
					       return d.open_error.empty();
				       });

	/* rdma-core may have been built with another directory. */
	if (works && !s.provider)
		return;
	if (s.provider) {
		f.text = "/etc/libibverbs.d names the provider of mrc.";
	} else {
		f.level = Level::error;
		f.text = "No file in /etc/libibverbs.d names the provider of "
			 "mrc: programs do not see the device.";
		f.fix = "make install";
	}
	out.push_back(f);
}

void check_memlock(const Snapshot &s, Findings &out)
{
	Finding f{.check = "memlock"};

	if (!s.memlock_known)
		return;
	if (!s.memlock) {
		f.text = "The limit of locked memory is unlimited.";
	} else if (s.ipc_lock) {
		f.text = fmt::format(
			"The limit of locked memory ({} KiB) does not hold for "
			"this user, who has CAP_IPC_LOCK.",
			*s.memlock / 1024);
	} else if (*s.memlock < enough_memlock) {
		f.level = Level::warning;
		f.text = fmt::format(
			"Programs of this user may lock {} KiB of memory: "
			"larger memory regions fail with ENOMEM.",
			*s.memlock / 1024);
		f.fix = "echo '* - memlock unlimited' "
			">/etc/security/limits.d/rdma.conf, then log in again";
	} else {
		f.text = fmt::format(
			"Programs of this user may lock {} KiB of memory.",
			*s.memlock / 1024);
	}
	out.push_back(f);
}

void check_open(const Snapshot &s, const SeenDevice &d, Findings &out)
{
	Finding f{.check = "open", .device = d.name};

	if (d.open_error.empty()) {
		f.text = "Programs can open the device.";
		out.push_back(f);
		return;
	}
	f.level = Level::error;
	f.text =
		fmt::format("libMRC cannot open the device: {}.", d.open_error);
	if (!d.uverbs) {
		f.text += " There is no file /dev/infiniband/uverbsN for it.";
		f.fix = "modprobe ib_uverbs; udevadm trigger -s "
			"infiniband_verbs (in a container: pass the file on)";
	} else if (!s.provider) {
		f.fix = "make install";
	} else if (!d.name.starts_with("mrc")) {
		f.text += " The provider takes devices whose name begins with "
			  "mrc.";
		f.fix = fmt::format("rdma dev set {} name mrc0",
				    shell_word(d.name));
	} else {
		f.fix = "ls -l /dev/infiniband /etc/libibverbs.d; "
			"VERBS_LOG_LEVEL=1 ibv_devices";
	}
	out.push_back(f);
}

/* The first reason why a port is down. Returns whether there is none. */
bool port_finding(const SeenDevice &d, const SeenPort &p, Finding &f)
{
	if (p.netdev.empty() && p.state != "ACTIVE") {
		f.text = "The port has no netdev in this network namespace, "
			 "and is down.";
		f.fix = fmt::format("rdma link add {} type mrc netdev NETDEV",
				    shell_word(d.name));
	} else if (p.here && p.up == false) {
		f.text = fmt::format("{} is down. Its routes went with it: "
				     "look again when it is up.",
				     p.netdev);
		f.fix = fmt::format("ip link set {} up", shell_word(p.netdev));
	} else if (p.enabled == false) {
		f.text = "A controller has disabled the port.";
		f.fix = fmt::format("mrcctl -d {} port set {} enable",
				    shell_word(d.name), p.num);
	} else if (p.here && p.carrier == false) {
		f.text = fmt::format("{} has no carrier: no cable, or the "
				     "other end is down.",
				     p.netdev);
		f.fix = fmt::format("ethtool {}", shell_word(p.netdev));
	} else if (p.state != "ACTIVE") {
		f.text = fmt::format("The port is {}; {} may belong to a "
				     "bridge or a bond.",
				     p.state.empty() ? "of unknown state"
						     : p.state,
				     p.netdev);
		f.fix = fmt::format("ip -d link show {}", shell_word(p.netdev));
	} else {
		return true;
	}
	f.level = Level::error;
	return false;
}

void check_ports(const SeenDevice &d, Findings &out)
{
	std::string good, elsewhere;

	if (d.ports.empty())
		out.push_back({.level = Level::error,
			       .check = "port",
			       .device = d.name,
			       .text = "The device has no ports.",
			       .fix = fmt::format("rdma link add {} type mrc "
						  "netdev NETDEV",
						  shell_word(d.name))});
	for (const SeenPort &p : d.ports) {
		Finding f{.check = "port", .device = d.name, .port = p.num};

		if (!port_finding(d, p, f))
			out.push_back(f);
		else
			good += fmt::format(" {} ({})", p.num,
					    p.netdev.empty() ? "?" : p.netdev);
		if (!p.here && p.state == "ACTIVE")
			elsewhere += fmt::format(" {}", p.num);
	}
	if (!good.empty())
		out.push_back({.check = "port",
			       .device = d.name,
			       .text = fmt::format("ACTIVE ports:{}.", good)});
	if (!elsewhere.empty())
		out.push_back(
			{.level = Level::note,
			 .check = "namespace",
			 .device = d.name,
			 .text = fmt::format(
				 "The netdevs of ports{} are in another "
				 "network "
				 "namespace. Addresses, routes and rules there "
				 "were not looked at.",
				 elsewhere),
			 .fix = fmt::format("ip netns exec NAME mrcctl doctor "
					    "{}",
					    shell_word(d.name))});
}

void check_extension(const SeenDevice &d, Findings &out)
{
	if (!d.extension)
		return;
	if (*d.extension)
		out.push_back({.check = "extension",
			       .device = d.name,
			       .text = "The extension (SEND, READ, atomics, "
				       "UC) is on. Both ends must have it."});
	else
		out.push_back(
			{.level = Level::note,
			 .check = "extension",
			 .device = d.name,
			 .text = "The extension is off: SEND, READ, atomics "
				 "and "
				 "UC fail with EOPNOTSUPP. Both ends must have "
				 "the same setting.",
			 .fix = fmt::format("mrcctl -d {} dev set extension on",
					    shell_word(d.name))});
}

void check_port_evs(const SeenDevice &d, const std::string &whose,
		    const SeenPortEvs &p, Findings &out)
{
	Finding f{.check = "ev", .device = d.name, .port = p.port};

	if (!p.evs.all())
		return;
	if (p.evs.denied == p.evs.all()) {
		f.level = Level::warning;
		f.text = fmt::format("All {} EVs of {} are denied: the plane "
				     "carries none of their packets.",
				     p.evs.denied, whose);
		f.fix = fmt::format("mrcctl -d {} ev show, then mrcctl -d {} "
				    "ev allow ID EVS",
				    shell_word(d.name), shell_word(d.name));
	} else if (p.evs.assumed_bad + p.evs.denied == p.evs.all()) {
		f.level = Level::warning;
		f.text = fmt::format("All {} EVs of {} are assumed bad or "
				     "denied: the plane is cut on the way.",
				     p.evs.all(), whose);
		f.fix = fmt::format("mrcctl doctor {} --peer PEER",
				    shell_word(d.name));
	} else if (p.evs.assumed_bad) {
		f.level = Level::note;
		f.text = fmt::format("{} of {} EVs of {} are assumed bad: some "
				     "paths of the plane lose packets.",
				     p.evs.assumed_bad, p.evs.all(), whose);
		f.fix = fmt::format("mrcctl -d {} qp show", shell_word(d.name));
	} else {
		return;
	}
	out.push_back(f);
}

void check_evs(const SeenDevice &d, Findings &out)
{
	const std::size_t before = out.size();
	Finding f{.check = "ev", .device = d.name};

	if (!d.ev_error.empty()) {
		f.level = Level::note;
		f.text = fmt::format("The states of EVs were not looked at: "
				     "{}.",
				     d.ev_error);
		f.fix = fmt::format("sudo mrcctl doctor {}",
				    shell_word(d.name));
		out.push_back(f);
		return;
	}
	for (const SeenPortEvs &p : d.qp_evs)
		check_port_evs(d, "queue pairs", p, out);
	for (const SeenProfile &profile : d.profiles)
		for (const SeenPortEvs &p : profile.ports)
			check_port_evs(d,
				       fmt::format("EV profile {}", profile.id),
				       p, out);
	if (d.qps_in_error) {
		f.level = Level::note;
		f.text = fmt::format("{} of {} queue pairs are in ERROR. They "
				     "do not recover; their programs must "
				     "connect again.",
				     d.qps_in_error, d.qps);
		f.fix = fmt::format("rdma resource show qp link {}",
				    shell_word(d.name));
		out.push_back(f);
	}
	if (out.size() == before && d.open_error.empty()) {
		f.text = fmt::format("{} queue pairs, no EV is assumed bad.",
				     d.qps);
		out.push_back(f);
	}
}
} // namespace

void check_machine(const Snapshot &s, Findings &out)
{
	check_modules(s, out);
	check_signature(s, out);
	check_presence(s, out);
	check_provider(s, out);
	check_memlock(s, out);
	if (!s.net_admin)
		out.push_back({.level = Level::note,
			       .check = "privilege",
			       .text = "Without CAP_NET_ADMIN, EVs, firewall "
				       "and probes were not looked at.",
			       .fix = "sudo mrcctl doctor"});
}

void check_device(const Snapshot &s, const SeenDevice &d, Findings &out)
{
	check_open(s, d, out);
	check_ports(d, out);
	check_extension(d, out);
	check_evs(d, out);
}
} // namespace mrcctl::doctor
