/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: addresses with ports, as people and HTTP write them. */
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mrcctl
{
constexpr uint16_t default_web_port = 4680;

struct WebEndpoint {
	std::array<uint8_t, 16> addr{};
	uint16_t port = default_web_port;
};

/*
 * ADDRESS, ADDRESS:PORT, :PORT. An IPv6 address before a port is in brackets.
 * "localhost" is 127.0.0.1, and so is no address. Throws UsageError.
 */
WebEndpoint parse_endpoint(std::string_view s);
/* "127.0.0.1:80", "[::1]:80" */
std::string show_endpoint(const WebEndpoint &e);
bool is_loopback(const std::array<uint8_t, 16> &addr);
/* Whether a line "Host" names the loopback, with any port or none. */
bool is_loopback_host(std::string_view host);
} // namespace mrcctl
