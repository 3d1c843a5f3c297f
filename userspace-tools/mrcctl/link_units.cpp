// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "link_units.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace mrcctl
{
namespace
{
bool is_plain_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '.';
}

/* As systemd-escape(1) does it; names of netdevs do not begin with a dot. */
std::string escaped(const std::string &name)
{
	std::string out;

	for (const char c : name)
		out += is_plain_char(c)
			       ? std::string(1, c)
			       : fmt::format("\\x{:02x}",
					     static_cast<unsigned char>(c));
	return out;
}
} // namespace

std::string unit_instance(const std::string &path)
{
	std::string name = path.substr(path.rfind('/') + 1);

	if (!name.ends_with(".conf"))
		return "";
	name.resize(name.size() - 5);
	return std::all_of(name.begin(), name.end(),
			   [](char c) {
				   return is_plain_char(c) || c == '-' ||
					  c == '@';
			   })
		       ? name
		       : "";
}

std::map<std::string, std::string> link_units(const LinkFile &f,
					      const std::string &instance)
{
	std::map<std::string, std::string> out;

	for (const std::string &netdev : f.netdevs) {
		const std::string device = escaped(netdev);
		/* One for each netdev, so that none is missed while the unit of
		 * another one runs. */
		const std::string join =
			fmt::format("mrc-join-{}-{}.service", instance, device);

		out[fmt::format(
			"sys-subsystem-net-devices-{}.device.d/50-mrc-{}.conf",
			device, instance)] =
			fmt::format("[Unit]\nWants={}\n", join);
		out[join] = fmt::format(
			"# Made by mrc-links-generator.\n"
			"[Unit]\n"
			"Description=Netdev {0} joins MRC device {1}\n"
			"Documentation=man:mrcctl(8)\n"
			"SourcePath={2}\n"
			"After=mrc-links@{3}.service\n"
			"[Service]\n"
			"Type=oneshot\n"
			"ExecStart=systemctl --no-block try-reload-or-restart "
			"mrc-links@{3}.service\n",
			netdev, f.name, f.path, instance);
	}
	return out;
}
} // namespace mrcctl
