/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: GID tables of RDMA devices, as sysfs shows them. */
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host.hpp"
#include "json.hpp"

namespace mrcctl
{
struct Gid {
	std::string device{};
	uint32_t port = 0;
	uint32_t index = 0;
	std::array<uint8_t, 16> addr{};
	std::string type{}; /* "v1", "v2", or what sysfs says; "" = not known */
	std::string netdev{};
};

bool is_ipv4(const std::array<uint8_t, 16> &gid);
bool is_link_local(const std::array<uint8_t, 16> &gid);

/* "0000:...:ffff:0a01:0001"; an empty entry or other text gives no address. */
bool parse_gid(const std::string &text, std::array<uint8_t, 16> &addr);

/* RDMA devices whose hca_type is MRC. Needs no library and no privilege. */
std::vector<std::string> sysfs_mrc_devices(Host &host);
std::vector<uint32_t> sysfs_ports(Host &host, const std::string &device);
/* Entries in use, by index. */
std::vector<Gid> gids_of(Host &host, const std::string &device, uint32_t port);

std::string text_of(const std::vector<Gid> &gids);
Json json_of(const Gid &g);
} // namespace mrcctl
