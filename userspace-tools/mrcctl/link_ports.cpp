// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link_ports.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"
#include "json.hpp"

namespace mrcctl
{
namespace
{
constexpr const char *placeholder_prefix = "mrcvacant";

/*
 * Netdevs that hold the places of absent ones. The kernel gives a netdev the
 * first port that is vacant, or a new one. So the ports before it must have
 * netdevs, if only for a moment. A port whose netdev has gone is vacant, and
 * takes another one also while programs use the device.
 */
class Placeholders
{
public:
	Placeholders(Host &host, std::string address)
		: host_(host), address_(std::move(address))
	{
	}

	Placeholders(const Placeholders &) = delete;
	Placeholders &operator=(const Placeholders &) = delete;

	~Placeholders()
	{
		for (const std::string &name : names_)
			host_.run({"ip", "link", "del", name});
	}

	std::string add(std::size_t port)
	{
		std::string name =
			fmt::format("{}{}", placeholder_prefix, port);
		std::vector<std::string> command = {"ip", "link", "add", name};

		/* Of a run that was killed. */
		if (netdev_exists(host_, name))
			run_program(host_, {"ip", "link", "del", name});
		if (!address_.empty())
			command.insert(command.end(), {"address", address_});
		command.insert(command.end(), {"type", "dummy"});
		run_program(host_, command);
		names_.push_back(name);
		return name;
	}

private:
	Host &host_;
	std::string address_;
	std::vector<std::string> names_;
};

/*
 * The first netdev of a device gives it its GUID, which should not change with
 * each boot. The address is made of that of a netdev, and is a local one: its
 * second bit is set.
 */
std::string placeholder_address(Host &host, const LinkFile &f)
{
	for (const std::string &netdev : f.netdevs) {
		std::string mac =
			line_of(host, "/sys/class/net/" + netdev + "/address");
		constexpr std::string_view digits = "0123456789abcdef";

		if (mac.size() != 17 ||
		    mac.find_first_not_of("0123456789abcdef:") !=
			    std::string::npos)
			continue;
		const std::size_t digit = digits.find(mac[1]);

		if (digit == std::string_view::npos)
			continue;
		mac[1] = digits[digit & 2 ? digit ^ 4 : digit ^ 2];
		return mac;
	}
	return "";
}

/* The netdevs must be where the file says, or nowhere. */
void check_places(const LinkFile &f, const LinkPorts &now,
		  const std::vector<bool> &there)
{
	for (std::size_t i = 0; i < f.netdevs.size(); i++) {
		const auto at = now.find(i + 1);
		const auto fail = [&](const std::string &what) {
			throw DeviceError(
				at_line(f.path, f.netdev_lines[i], what));
		};

		for (const auto &[port, netdev] : now)
			if (netdev == f.netdevs[i] && port != i + 1)
				fail(fmt::format(
					"{} is port {} of {}, not port {}",
					netdev, port, f.name, i + 1));
		if (there[i] && at != now.end() && !at->second.empty() &&
		    at->second != f.netdevs[i])
			fail(fmt::format("{} is port {} of {}, where {} "
					 "belongs",
					 at->second, i + 1, f.name,
					 f.netdevs[i]));
	}
}

void rdma_add(Host &host, const std::string &device, const std::string &netdev)
{
	run_program(host, {"rdma", "link", "add", device, "type", "mrc",
			   "netdev", netdev});
}
} // namespace

void run_program(Host &host, const std::vector<std::string> &command)
{
	const Host::Ran ran = host.run(command);
	const bool rdma = command[0] == "rdma";

	if (!ran.started)
		throw DeviceError(fmt::format(
			"there is no program {} (iproute2)", command[0]));
	if (ran.status != 0)
		throw DeviceError(fmt::format(
			"{}: {}{}", fmt::join(command, " "),
			printable(ran.err.substr(0, ran.err.find('\n'))),
			rdma ? " (the kernel log says why)" : ""));
}

bool netdev_exists(Host &host, const std::string &netdev)
{
	return !host.list("/sys/class/net/" + netdev).empty();
}

LinkPorts link_ports(Host &host, const std::string &device)
{
	const Host::Ran ran = host.run({"rdma", "-j", "link", "show"});
	LinkPorts out;

	if (!ran.started)
		throw DeviceError("there is no program rdma (iproute2)");
	/* rdma(8) fails without the RDMA core, where there are no devices. */
	if (ran.status != 0 && host.list("/sys/module/ib_core").empty())
		return out;
	/* What is not known must not be taken for "there is no such device". */
	if (ran.status != 0)
		throw DeviceError(fmt::format(
			"rdma -j link show: {}",
			printable(ran.err.substr(0, ran.err.find('\n')))));
	const Json j =
		Json::parse(ran.out.empty() ? "[]" : ran.out, nullptr, false);

	if (!j.is_array())
		throw DeviceError("rdma -j link show: its output was not "
				  "understood");
	for (const Json &l : j) {
		if (!l.is_object() || l.value("ifname", Json()) != device ||
		    !l.contains("port") || !l["port"].is_number_unsigned())
			continue;
		std::string &netdev = out[l["port"].get<uint64_t>()];

		if (l.contains("netdev") && l["netdev"].is_string())
			netdev = l["netdev"].get<std::string>();
	}
	return out;
}

void remove_placeholders(Host &host, const std::string &device)
{
	for (const auto &[port, netdev] : link_ports(host, device))
		if (netdev.starts_with(placeholder_prefix))
			run_program(host, {"ip", "link", "del", netdev});
}

void add_link_ports(Host &host, const LinkFile &f)
{
	const LinkPorts now = link_ports(host, f.name);
	std::vector<bool> there;
	std::size_t last = 0; /* port that is to be added or to get a netdev */

	for (const std::string &netdev : f.netdevs)
		there.push_back(netdev_exists(host, netdev));
	check_places(f, now, there);
	if (std::find(there.begin(), there.end(), true) == there.end())
		return;

	const auto vacant = [&](std::size_t i) {
		const auto at = now.find(i + 1);

		return at == now.end() || at->second.empty();
	};

	for (std::size_t i = 0; i < f.netdevs.size(); i++)
		if (!now.contains(i + 1) || (vacant(i) && there[i]))
			last = i + 1;
	Placeholders absent(host, placeholder_address(host, f));

	for (std::size_t i = 0; i < last; i++)
		if (vacant(i))
			rdma_add(host, f.name,
				 there[i] ? f.netdevs[i] : absent.add(i + 1));
}
} // namespace mrcctl
