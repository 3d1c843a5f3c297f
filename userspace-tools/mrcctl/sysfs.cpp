// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sysfs.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>

namespace mrcctl
{
namespace
{
std::filesystem::path port_dir(const std::string &device, uint32_t port)
{
	return fmt::format("/sys/class/infiniband/{}/ports/{}", device, port);
}

/* Returns "" if there is no such file or if reading is refused, as for invalid
 * GIDs.
 */
std::string line_of(const std::filesystem::path &path)
{
	std::ifstream f(path);
	std::string line;

	std::getline(f, line);
	return line;
}

std::vector<std::filesystem::path> entries(const std::filesystem::path &dir,
					   std::error_code &err)
{
	std::vector<std::filesystem::path> out;

	for (std::filesystem::directory_iterator it(dir, err), end;
	     !err && it != end; it.increment(err))
		out.push_back(it->path());
	return out;
}
} // namespace

/* "4: ACTIVE" */
std::string sysfs_port_state(const std::string &device, uint32_t port)
{
	const std::string s = line_of(port_dir(device, port) / "state");
	const std::size_t at = s.find(": ");

	return at == std::string::npos ? s : s.substr(at + 2);
}

/* All GIDs of a port belong to the same netdev. */
std::string sysfs_netdev(const std::string &device, uint32_t port)
{
	std::error_code err;

	for (const auto &p :
	     entries(port_dir(device, port) / "gid_attrs/ndevs", err))
		if (std::string name = line_of(p); !name.empty())
			return name;
	return "";
}
} // namespace mrcctl
