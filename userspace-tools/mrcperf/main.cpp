// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "device.hpp"
#include "session.hpp"

namespace
{
using namespace mrcperf;

Exit client(const Options &options)
{
	std::ofstream file;

	if (!options.output.empty()) {
		file.open(options.output);
		if (!file)
			throw RunError(options.output + ": cannot be written");
	}
	std::ostream &out = options.output.empty() ? std::cout : file;
	const auto report = make_report(options.format, out);
	const Device device(options);
	const Exit status = run_client(
		options, [&](const Setup &s) { return device.make(s); },
		[&] {
			return connect_to(options.server, options.port,
					  Seconds(options.connect_timeout));
		},
		*report, std::cerr);

	out.flush();
	if (!out) {
		std::cerr << "mrcperf: the report: write error\n";
		return std::max(status, exit_failed);
	}
	return status;
}

/* A peer that does not speak the protocol is no client, and is not counted. */
Exit server(const Options &options)
{
	const Device device(options);
	Listener listener(options.bind, options.port);
	Exit worst = exit_ok;

	std::cerr << fmt::format("mrcperf: {} serves on port {}\n",
				 device.name(), options.port);
	for (uint32_t n = 0; !options.sessions || n < options.sessions;) {
		std::string who;
		Link link = listener.accept(who);
		Hello hello;

		try {
			hello = greet(link);
		} catch (const RunError &e) {
			std::cerr << fmt::format("mrcperf: {} refused: {}\n",
						 who, e.what());
			continue;
		}
		n++;
		worst = std::max(worst, serve(
						hello, link,
						[&](const Setup &s) {
							return device.make(s);
						},
						std::cout, std::cerr));
	}
	return worst;
}
} // namespace

int main(int argc, char **argv)
{
	try {
		const auto options =
			parse_options({argv + 1, argv + argc}, std::cout);

		if (!options)
			return exit_ok;
		return options->server.empty() ? server(*options)
					       : client(*options);
	} catch (const UsageError &e) {
		std::cerr << "mrcperf: " << e.what()
			  << "\nTry mrcperf --help.\n";
		return exit_usage;
	} catch (const std::exception &e) {
		std::cerr << "mrcperf: " << e.what() << '\n';
		return exit_failed;
	}
}
