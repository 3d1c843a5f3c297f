// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "counters.hpp"

#include <sstream>

#include <fmt/format.h>

#include "error.hpp"

namespace mrclab
{
bool has_listener(std::string_view text, uint16_t port)
{
	std::istringstream lines{std::string(text)};
	const std::string wanted = fmt::format(":{:04X}", port);
	std::string line;

	/* "N: LOCAL REMOTE STATE ...", in hexadecimal; 0A is LISTEN. */
	while (std::getline(lines, line)) {
		std::istringstream words(line);
		std::string number, local, remote, state;

		if (words >> number >> local >> remote >> state &&
		    state == "0A" && local.ends_with(wanted))
			return true;
	}
	return false;
}

std::map<std::string, Counters> parse_net_dev(std::string_view text)
{
	std::istringstream lines{std::string(text)};
	std::map<std::string, Counters> all;
	std::string line;

	/* Two lines of titles. */
	for (int n = 0; std::getline(lines, line); n++) {
		const std::size_t colon = line.find(':');
		uint64_t skip = 0;
		Counters c;

		if (n < 2)
			continue;
		if (colon == std::string::npos)
			throw SystemError("no netdev in \"" + line + "\"");
		std::istringstream numbers(line.substr(colon + 1));

		numbers >> c.rx_bytes >> c.rx_packets;
		for (int i = 0; i < 6; i++)
			numbers >> skip;
		numbers >> c.tx_bytes >> c.tx_packets;
		if (!numbers)
			throw SystemError("no counters in \"" + line + "\"");
		all[line.substr(line.find_first_not_of(' '),
				colon - line.find_first_not_of(' '))] = c;
	}
	return all;
}
} // namespace mrclab
