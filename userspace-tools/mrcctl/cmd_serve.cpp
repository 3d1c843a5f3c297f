// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* serve: a web page of what the devices do. */
#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "commands.hpp"
#include "endpoint.hpp"
#include "error.hpp"
#include "site.hpp"

namespace mrcctl
{
namespace
{
void must_exist(const HostContext &c)
{
	const std::vector<std::string> all = c.env.system.devices();

	if (!c.device.empty() &&
	    std::find(all.begin(), all.end(), c.device) == all.end())
		throw DeviceError(fmt::format("no MRC device {}", c.device));
}

/* The same run in words for the program that has the server. */
std::vector<std::string> command_of(const HostContext &c, const WebEndpoint &at,
				    const std::string &health)
{
	std::vector<std::string> words{c.env.serve_program};

	if (c.opt.json)
		words.emplace_back(c.opt.pretty ? "-p" : "-j");
	if (!c.device.empty())
		words.insert(words.end(), {"-d", c.device});
	words.insert(words.end(),
		     {"serve", "-i", fmt::format("{}ns", c.opt.interval_ns)});
	if (c.opt.timeout_ns)
		words.insert(words.end(),
			     {"-t", fmt::format("{}ns", c.opt.timeout_ns)});
	words.insert(words.end(), {"listen", show_endpoint(at)});
	if (!health.empty())
		words.insert(words.end(), {"health", health});
	return words;
}
} // namespace

int serve(const HostContext &c, Words &w)
{
	WebEndpoint at = parse_endpoint("localhost");
	std::string health;

	while (!w.empty()) {
		const std::string word = w.next("a word");

		if (word == "listen")
			at = parse_endpoint(w.next("ADDRESS"));
		else if (word == "health")
			health = w.next("FILE");
		else
			throw UsageError(fmt::format(
				"\"{}\" is not listen or health", word));
	}
	must_exist(c);
	if (!c.env.web)
		c.env.host.become(command_of(c, at, health));
	const bool local = is_loopback(at.addr);
	Site site(c.env, {.device = c.device,
			  .health = health,
			  .interval_ns = c.opt.interval_ns,
			  .local = local});

	at.port = c.env.web->listen(show_address(at.addr), at.port);
	const std::string url = fmt::format("http://{}/", show_endpoint(at));

	if (!local)
		c.env.err << "mrcctl: warning: everybody who reaches "
			  << show_endpoint(at)
			  << " can read this; there is no password\n";
	if (c.opt.json)
		c.print_json({{"url", url}});
	else
		c.print(url + "\n");
	c.env.web->run([&](const WebRequest &r) { return site.answer(r); },
		       c.opt.timeout_ns);
	return exit_ok;
}
} // namespace mrcctl
