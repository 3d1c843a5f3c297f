// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "gids.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "error.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
/* No table is longer; the bound is for a tree that is not the kernel's. */
constexpr std::size_t max_gids = 4096;

/* Names that are numbers up to @most, in their order. */
std::vector<uint32_t> numbers_in(Host &host, const std::string &dir,
				 uint32_t most)
{
	std::vector<uint32_t> out;

	for (const std::string &name : host.list(dir)) {
		const bool digits =
			!name.empty() && name.size() < 6 &&
			std::all_of(name.begin(), name.end(), [](char c) {
				return c >= '0' && c <= '9';
			});

		if (digits && std::stoul(name) <= most)
			out.push_back(static_cast<uint32_t>(std::stoul(name)));
	}
	std::sort(out.begin(), out.end());
	return out;
}

std::string sysfs_port_dir(const std::string &device, uint32_t port)
{
	return fmt::format("/sys/class/infiniband/{}/ports/{}", device, port);
}

/* "RoCE v2" is v2, as in the table of show_gids. */
std::string short_type(const std::string &type)
{
	if (type == "RoCE v2")
		return "v2";
	if (type == "IB/RoCE v1")
		return "v1";
	return type;
}

std::string ipv4_text(const std::array<uint8_t, 16> &gid)
{
	return is_ipv4(gid) ? show_address(gid) : "";
}

/* As sysfs and show_gids print it. */
std::string gid_text(const std::array<uint8_t, 16> &gid)
{
	std::string s;

	for (std::size_t i = 0; i < gid.size(); i += 2)
		s += fmt::format("{}{:02x}{:02x}", i ? ":" : "", gid[i],
				 gid[i + 1]);
	return s;
}

std::string or_dash(const std::string &s)
{
	return s.empty() ? "-" : s;
}
} // namespace

bool is_ipv4(const std::array<uint8_t, 16> &gid)
{
	return std::all_of(gid.begin(), gid.begin() + 10,
			   [](uint8_t b) { return b == 0; }) &&
	       gid[10] == 0xff && gid[11] == 0xff;
}

bool is_link_local(const std::array<uint8_t, 16> &gid)
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

bool parse_gid(const std::string &text, std::array<uint8_t, 16> &addr)
{
	/* Eight groups of four digits, always. */
	if (text.size() != 39)
		return false;
	for (std::size_t i = 0; i < 8; i++) {
		unsigned int group = 0;

		if (i && text[5 * i - 1] != ':')
			return false;
		for (std::size_t k = 5 * i; k < 5 * i + 4; k++) {
			const char c = static_cast<char>(std::tolower(
				static_cast<unsigned char>(text[k])));

			if (c >= '0' && c <= '9')
				group = group * 16 +
					static_cast<unsigned int>(c - '0');
			else if (c >= 'a' && c <= 'f')
				group = group * 16 +
					static_cast<unsigned int>(c - 'a' + 10);
			else
				return false;
		}
		addr[2 * i] = static_cast<uint8_t>(group >> 8);
		addr[2 * i + 1] = static_cast<uint8_t>(group & 0xff);
	}
	return std::any_of(addr.begin(), addr.end(),
			   [](uint8_t b) { return b != 0; });
}

std::vector<std::string> sysfs_mrc_devices(Host &host)
{
	std::vector<std::string> out;

	for (const std::string &name : host.list("/sys/class/infiniband"))
		if (line_of(host, "/sys/class/infiniband/" + name +
					  "/hca_type") == "MRC")
			out.push_back(printable(name));
	return out;
}

std::vector<uint32_t> sysfs_ports(Host &host, const std::string &device)
{
	return numbers_in(host, "/sys/class/infiniband/" + device + "/ports",
			  255);
}

std::vector<Gid> gids_of(Host &host, const std::string &device, uint32_t port)
{
	const std::string dir = sysfs_port_dir(device, port);
	std::vector<Gid> out;

	for (const uint32_t i : numbers_in(host, dir + "/gids", max_gids)) {
		Gid g{.device = device, .port = port, .index = i};

		if (!parse_gid(line_of(host, fmt::format("{}/gids/{}", dir, i)),
			       g.addr))
			continue;
		/* The entry may be gone by now. Then reading these fails. */
		g.type = short_type(line_of(
			host, fmt::format("{}/gid_attrs/types/{}", dir, i)));
		g.netdev = line_of(
			host, fmt::format("{}/gid_attrs/ndevs/{}", dir, i));
		out.push_back(std::move(g));
	}
	return out;
}

std::string text_of(const std::vector<Gid> &gids)
{
	constexpr std::string_view line =
		"{:<8} {:>4} {:>5} {:<39} {:<15} {:<4} {}\n";
	std::string s = fmt::format(line, "DEV", "PORT", "INDEX", "GID", "IPv4",
				    "VER", "NETDEV");

	for (const Gid &g : gids)
		s += fmt::format(line, g.device, g.port, g.index,
				 gid_text(g.addr), or_dash(ipv4_text(g.addr)),
				 or_dash(g.type), or_dash(g.netdev));
	return s;
}

Json json_of(const Gid &g)
{
	const std::string v4 = ipv4_text(g.addr);

	return {{"device", g.device},
		{"port", g.port},
		{"index", g.index},
		{"gid", gid_text(g.addr)},
		{"ipv4", v4.empty() ? Json(nullptr) : Json(v4)},
		{"type", g.type},
		{"netdev", g.netdev}};
}
} // namespace mrcctl
