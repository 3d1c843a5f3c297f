// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "site.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "endpoint.hpp"
#include "error.hpp"
#include "state.hpp"
#include "web_files.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
constexpr std::string_view json_type = "application/json";
constexpr std::string_view text_type = "text/plain; charset=utf-8";

constexpr std::pair<std::string_view, std::string_view> constant_headers[] = {
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'self'; style-src 'self'; "
	 "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
	 "form-action 'none'; frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Referrer-Policy", "no-referrer"},
	{"Cache-Control", "no-store"},
};

WebResponse say(int status, std::string_view what)
{
	return {.status = status,
		.type = std::string(text_type),
		.body = std::string(what) + "\n"};
}

WebResponse json(std::string body)
{
	return {.status = 200,
		.type = std::string(json_type),
		.body = std::move(body)};
}

std::optional<unsigned> hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return static_cast<unsigned>(c - '0');
	if (c >= 'a' && c <= 'f')
		return static_cast<unsigned>(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return static_cast<unsigned>(c - 'A' + 10);
	return {};
}

/* What %xx stands for; no value if it is wrong. */
std::optional<std::string> decoded(std::string_view s)
{
	std::string out;

	for (std::size_t i = 0; i < s.size(); i++) {
		if (s[i] != '%') {
			out += s[i];
			continue;
		}
		if (i + 2 >= s.size())
			return {};
		const auto high = hex_digit(s[i + 1]);
		const auto low = hex_digit(s[i + 2]);

		if (!high || !low)
			return {};
		out += static_cast<char>(*high << 4 | *low);
		i += 2;
	}
	return out;
}

/* The value of "NAME=VALUE" among those with & between; "" if there is none. */
std::string parameter(std::string_view query, std::string_view name)
{
	while (!query.empty()) {
		const std::string_view one = query.substr(0, query.find('&'));

		query.remove_prefix(std::min(one.size() + 1, query.size()));
		if (one.starts_with(name) && one.substr(name.size(), 1) == "=")
			return decoded(one.substr(name.size() + 1))
				.value_or("");
	}
	return "";
}
} // namespace

std::span<const std::pair<std::string_view, std::string_view>>
headers_of_all_answers()
{
	return constant_headers;
}

Site::Site(const Env &env, const Config &c)
	: config_(c),
	  host_name_(line_of(env.host, "/proc/sys/kernel/hostname")),
	  sampler_(env.system, env.clock, c.device, c.interval_ns),
	  health_(env.host, env.clock, c.health, c.interval_ns)
{
}

WebResponse Site::answer(const WebRequest &r)
{
	if (config_.local && !is_loopback_host(r.host))
		return say(403, "This is served to localhost, 127.0.0.1 and "
				"[::1] only.");
	if (r.method != "GET" && r.method != "HEAD")
		return say(405, "Only GET and HEAD are possible.");
	try {
		return find(r);
	} catch (const std::exception &e) {
		return say(500, e.what());
	}
}

WebResponse Site::find(const WebRequest &r)
{
	const std::string_view target = r.target;
	const std::string_view path = target.substr(0, target.find('?'));
	const std::string_view query =
		target.substr(std::min(path.size() + 1, target.size()));

	if (path == "/api/state")
		return state();
	if (path == "/api/qp")
		return qp(query);
	if (path == "/api/health")
		return json(*health_.json());
	if (path == "/metrics")
		return metrics();
	for (const WebFile &f : web_files())
		if (path == f.path)
			return {.status = 200,
				.type = std::string(f.type),
				.body = std::string(f.text)};
	return say(404, "There is no such page.");
}

WebResponse Site::state()
{
	const auto s = sampler_.get();

	return json(
		dumped(state_of(*s, {.host = host_name_,
				     .interval_ns = config_.interval_ns,
				     .next_in_ns = sampler_.next_in_ns(*s)})));
}

WebResponse Site::qp(std::string_view query)
{
	uint64_t qpn = 0;

	try {
		qpn = parse_number(parameter(query, "qpn"));
	} catch (const UsageError &e) {
		return say(400, e.what());
	}
	const auto q = qp_of(*sampler_.get(), parameter(query, "device"), qpn);

	return q ? json(dumped(*q)) : say(404, "There is no such queue pair.");
}

WebResponse Site::metrics()
{
	std::vector<MetricsOfDevice> list;

	for (const SampledDevice &d : sampler_.get()->devices)
		list.push_back(d.figures);
	return {.status = 200,
		.type = "text/plain; version=0.0.4; charset=utf-8",
		.body = metrics_of(list)};
}
} // namespace mrcctl
