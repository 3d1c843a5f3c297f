// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "endpoint.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "error.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
struct Parts {
	std::string_view address;
	std::optional<std::string_view> port;
	bool brackets = false;
};

/* No value: brackets do not fit. */
std::optional<Parts> parts_of(std::string_view s)
{
	Parts p;

	if (s.starts_with('[')) {
		const std::size_t end = s.find(']');

		if (end == std::string_view::npos)
			return {};
		p.address = s.substr(1, end - 1);
		p.brackets = true;
		s.remove_prefix(end + 1);
		if (s.empty())
			return p;
		if (!s.starts_with(':'))
			return {};
		p.port = s.substr(1);
		return p;
	}
	/* An IPv6 address without brackets has several colons. */
	if (std::count(s.begin(), s.end(), ':') != 1) {
		p.address = s;
		return p;
	}
	p.address = s.substr(0, s.find(':'));
	p.port = s.substr(p.address.size() + 1);
	return p;
}

bool is_localhost(std::string_view s)
{
	static constexpr std::string_view name = "localhost";

	return std::equal(s.begin(), s.end(), name.begin(), name.end(),
			  [](char a, char b) { return (a | 0x20) == b; });
}
} // namespace

WebEndpoint parse_endpoint(std::string_view s)
{
	const std::optional<Parts> p = parts_of(s);
	WebEndpoint e;

	if (s.empty() || !p || (p->brackets && p->address.empty()))
		throw UsageError(fmt::format(
			"\"{}\" is not ADDRESS, ADDRESS:PORT or :PORT", s));
	e.addr = parse_address(p->address.empty() || is_localhost(p->address)
				       ? "127.0.0.1"
				       : p->address);
	if (p->brackets && is_v4(e.addr))
		throw UsageError(fmt::format(
			"\"{}\" has brackets, but no IPv6 address", s));
	if (p->port)
		e.port = static_cast<uint16_t>(
			parse_number(*p->port, UINT16_MAX));
	return e;
}

std::string show_endpoint(const WebEndpoint &e)
{
	const std::string address = show_address(e.addr);

	if (is_v4(e.addr))
		return fmt::format("{}:{}", address, e.port);
	return fmt::format("[{}]:{}", address, e.port);
}

bool is_loopback(const std::array<uint8_t, 16> &addr)
{
	if (is_v4(addr))
		return addr[12] == 127;
	return std::all_of(addr.begin(), addr.end() - 1,
			   [](uint8_t b) { return b == 0; }) &&
	       addr[15] == 1;
}

bool is_loopback_host(std::string_view host)
{
	const std::optional<Parts> p = parts_of(host);

	if (!p)
		return false;
	if (!p->brackets && is_localhost(p->address))
		return true;
	try {
		const auto addr = parse_address(p->address);

		return p->brackets != is_v4(addr) && is_loopback(addr);
	} catch (const UsageError &) {
		return false;
	}
}
} // namespace mrcctl
