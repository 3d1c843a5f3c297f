/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: what it needs of a server for HTTP. */
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mrcctl
{
struct WebRequest {
	std::string method;
	std::string target; /* path and query, as they were sent */
	std::string host;   /* the line "Host", or "" */
};

struct WebResponse {
	int status = 200;
	std::string type;
	std::string body;
};

class WebServer
{
public:
	virtual ~WebServer() = default;

	/*
	 * Waits for connections to an address. @port 0 is a free port. Returns
	 * the port. Throws DeviceError.
	 */
	virtual uint16_t listen(const std::string &address, uint16_t port) = 0;
	/*
	 * Has requests answered, in several threads, until SIGINT, SIGTERM or
	 * the end of @timeout_ns, if that is not 0.
	 */
	virtual void
	run(const std::function<WebResponse(const WebRequest &)> &answer,
	    uint64_t timeout_ns) = 0;
};
} // namespace mrcctl
