/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two sides of queue pairs in one process. A message is copied when it is
 * posted, its packets from the last to the first, because their order means
 * nothing. What a device would refuse or run out of is an error here as well:
 * a full send queue, a receive queue that overflows, an immediate without a
 * receive, an address outside of the memory.
 */
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "endpoint.hpp"
#include "link.hpp"
#include "pattern.hpp"

namespace mrcperf
{
class FakeEndpoint;

enum class Fate { arrives, lost, error };

/* A message on its way; what is changed here arrives so. */
struct Passing {
	Direction direction;
	uint32_t qp;
	const SendRequest &request;
	/* What the receiver has there, and goes on having if it is lost. */
	std::span<const uint8_t> before;
	/* What the receiver will have, from the message on to a bit behind it.
	 */
	std::span<uint8_t> target;
	ReceiveDone &completion;
};

class Fabric
{
public:
	/* Called for each message before it arrives. */
	std::function<Fate(const Passing &)> meddle;
	/* Thrown where an endpoint of the server's is to be made. */
	std::string server_cannot;
	uint16_t server_mtu = 4096;

	MakeEndpoint client();
	MakeEndpoint server();

	std::mutex lock;
	std::array<FakeEndpoint *, 2> ends{};
	/* The longest that a send queue has been. */
	uint64_t longest_queue = 0;
	uint64_t sleeps = 0;
};

/* Two sockets that are connected to each other. */
std::array<int, 2> socket_pair();

/* Outcome of one side. */
struct Outcome {
	int status = -1;
	std::string out;
	std::string err;
};

struct SessionResult {
	Outcome client;
	Outcome server;
	/* The client's report. */
	std::string report;
};

/* A client with this command line, and the server that it needs. */
SessionResult run_session(const std::string &line, Fabric &fabric);

/* Words of a command line. */
std::vector<std::string> words(const std::string &line);
} // namespace mrcperf
