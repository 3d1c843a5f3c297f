/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which NIC a device uses, near which processors that is, and which GID to take: found
 * out as libraries for collectives do it, by the links and files of sysfs.
 *
 * usage: mrc_nearby [PREFIX]
 *   a line for each active port of the devices whose names begin with PREFIX (mrc):
 *   "DEVICE PORT path=... subsystem=... numa=... vendor=... cpus=... nic=... gid=..."
 *   nic: the path with zeros for slot digits and function, under which ports and virtual
 *   functions of a NIC count as one; gid: index of the first RoCE v2 GID of IPv4
 * exit status: 0; 1 when something that such a library cannot do without is not there
 */
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include <infiniband/verbs.h>

#include "../common/say.hpp"

namespace
{

std::string resolved(const std::string &path)
{
	std::array<char, PATH_MAX> buf{};

	return realpath(path.c_str(), buf.data()) ? buf.data() : "";
}

/* The only line of a file, "-" if it cannot be read: some are not for every bus. */
std::string line_of(const std::string &path)
{
	std::ifstream in(path);
	std::string line;

	return std::getline(in, line) ? line : "-";
}

std::string base_name(const std::string &path)
{
	return path.substr(path.rfind('/') + 1);
}

/* 0000:3b:02.1 becomes 0000:3b:00.0. */
std::string without_function(std::string path)
{
	if (path.size() < 4)
		fail("'%s' is no path of a device", path.c_str());
	path[path.size() - 1] = '0';
	path[path.size() - 3] = '0';
	path[path.size() - 4] = '0';
	return path;
}

/* Empty entries of the table have no type: reading that is an error. */
int gid_index(ibv_context *ctx, const std::string &port_dir, uint8_t port, int entries)
{
	static const std::array<uint8_t, 12> v4_prefix{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	for (int i = 0; i < entries; i++) {
		ibv_gid gid{};

		if (line_of(port_dir + "/gid_attrs/types/" + std::to_string(i)) != "RoCE v2")
			continue;
		if (ibv_query_gid(ctx, port, i, &gid))
			fail("GID %d of port %u: %s", i, port, std::strerror(errno));
		if (!std::memcmp(gid.raw, v4_prefix.data(), v4_prefix.size()))
			return i;
	}
	return -1;
}

void show_port(ibv_context *ctx, const std::string &name, uint8_t port)
{
	const std::string dir = "/sys/class/infiniband/" + name;
	ibv_port_attr attr{};

	if (ibv_query_port(ctx, port, &attr))
		fail("%s/%u cannot be queried", name.c_str(), port);
	if (attr.state != IBV_PORT_ACTIVE)
		return;

	const std::string path = resolved(dir + "/device");
	if (path.empty())
		fail("%s/device leads nowhere: %s", dir.c_str(), std::strerror(errno));
	const std::string subsystem = resolved(path + "/subsystem");
	if (subsystem.empty())
		fail("%s is of no subsystem", path.c_str());
	const int gid = gid_index(ctx, dir + "/ports/" + std::to_string(port), port,
				  attr.gid_tbl_len);
	say("%s %u path=%s subsystem=%s numa=%s vendor=%s cpus=%s nic=%s gid=%d", name.c_str(),
	    port, path.c_str(), base_name(subsystem).c_str(), line_of(path + "/numa_node").c_str(),
	    line_of(path + "/vendor").c_str(), line_of(path + "/local_cpulist").c_str(),
	    without_function(path).c_str(), gid);
}

void show_device(ibv_device *dev)
{
	const std::string name = ibv_get_device_name(dev);
	const std::unique_ptr<ibv_context, decltype(&ibv_close_device)> ctx(ibv_open_device(dev),
									    ibv_close_device);
	ibv_device_attr attr{};

	if (!ctx)
		fail("%s cannot be opened: %s", name.c_str(), std::strerror(errno));
	if (ibv_query_device(ctx.get(), &attr))
		fail("%s cannot be queried", name.c_str());
	for (int port = 1; port <= attr.phys_port_cnt; port++)
		show_port(ctx.get(), name, static_cast<uint8_t>(port));
}

} // namespace

int main(int argc, char **argv)
try {
	const std::string prefix = argc > 1 ? argv[1] : "mrc";
	int n = 0, shown = 0;
	const std::unique_ptr<ibv_device *, decltype(&ibv_free_device_list)> list(
		ibv_get_device_list(&n), ibv_free_device_list);

	if (!list)
		fail("no list of devices: %s", std::strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!std::string(ibv_get_device_name(list.get()[i])).starts_with(prefix))
			continue;
		show_device(list.get()[i]);
		shown++;
	}
	if (!shown)
		fail("no device %s...", prefix.c_str());
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "mrc_nearby: %s\n", e.what());
	return 1;
}
