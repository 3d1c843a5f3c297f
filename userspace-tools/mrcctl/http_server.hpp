/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: HTTP by cpp-httplib. */
#pragma once

#include <memory>

#include "web_server.hpp"

namespace mrcctl
{
class HttpServer : public WebServer
{
public:
	HttpServer();
	~HttpServer() override;

	/* From here to the end of run() SIGINT and SIGTERM are blocked. */
	uint16_t listen(const std::string &address, uint16_t port) override;
	void run(const std::function<WebResponse(const WebRequest &)> &answer,
		 uint64_t timeout_ns) override;

private:
	struct Data;
	std::unique_ptr<Data> data_;
};
} // namespace mrcctl
