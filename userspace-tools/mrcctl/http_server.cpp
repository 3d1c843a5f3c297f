// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "http_server.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include "error.hpp"
#include "site.hpp"

namespace mrcctl
{
namespace
{
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/* A connection occupies one of them until its request is answered. */
constexpr std::size_t threads = 8;
/* For clients that connect and send nothing, or read nothing. */
constexpr time_t patience_s = 2;
/* Requests have no payload. */
constexpr std::size_t max_payload = 1024;

sigset_t ending_signals()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

/* Blocks the signals, so that all threads do, until it is gone. */
class SignalsWait
{
public:
	SignalsWait()
	{
		const sigset_t set = ending_signals();

		pthread_sigmask(SIG_BLOCK, &set, &before_);
	}
	~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
	SignalsWait(const SignalsWait &) = delete;
	SignalsWait &operator=(const SignalsWait &) = delete;

	/* Whether one came within that time. */
	static bool came(milliseconds time)
	{
		const sigset_t set = ending_signals();
		const timespec t{.tv_sec = time.count() / 1000,
				 .tv_nsec = time.count() % 1000 * 1000000};

		return sigtimedwait(&set, nullptr, &t) > 0;
	}

private:
	sigset_t before_{};
};

void fill(httplib::Response &to, const WebResponse &from)
{
	to.status = from.status;
	to.set_content(from.body, from.type);
	if (from.status == 405)
		to.set_header("Allow", "GET, HEAD");
}

/* Not what the errno means to a device. */
DeviceError listen_error(const std::string &address, uint16_t port, int err)
{
	if (err == EADDRINUSE)
		return DeviceError(fmt::format(
			"port {} of {} is in use by another program", port,
			address));
	if (err == EADDRNOTAVAIL)
		return DeviceError(
			fmt::format("{} is no address of this host", address));
	if (err == EACCES)
		return DeviceError(fmt::format(
			"no right to listen to port {}, root has it", port));
	return DeviceError(fmt::format("listening to {} port {}: {}", address,
				       port,
				       std::generic_category().message(err)));
}

void prepare(httplib::Server &s)
{
	httplib::Headers constant;

	for (const auto &[name, value] : headers_of_all_answers())
		constant.emplace(name, value);
	s.set_default_headers(std::move(constant));
	/* The library deletes it. */
	s.new_task_queue = [] { return new httplib::ThreadPool(threads); };
	/* An idle browser must not occupy a thread. */
	s.set_keep_alive_max_count(1);
	s.set_keep_alive_timeout(patience_s);
	s.set_read_timeout(patience_s);
	s.set_write_timeout(patience_s);
	s.set_payload_max_length(max_payload);
	/*
	 * Not the library's SO_REUSEPORT: with that a second server would get
	 * the same port, and half of the requests.
	 */
	s.set_socket_options([](socket_t fd) {
		const int on = 1;

		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	});
}
} // namespace

struct HttpServer::Data {
	httplib::Server server;
	SignalsWait signals;
	std::string where;
};

HttpServer::HttpServer() = default;
HttpServer::~HttpServer() = default;

uint16_t HttpServer::listen(const std::string &address, uint16_t port)
{
	int got = 0;

	data_ = std::make_unique<Data>();
	data_->where = fmt::format("{} port {}", address, port);
	prepare(data_->server);
	errno = 0;
	if (!port)
		got = data_->server.bind_to_any_port(address);
	else if (data_->server.bind_to_port(address, port))
		got = port;
	if (got <= 0) {
		const int err = errno ? errno : EADDRNOTAVAIL;

		data_.reset();
		throw listen_error(address, port, err);
	}
	return static_cast<uint16_t>(got);
}

void HttpServer::run(
	const std::function<WebResponse(const WebRequest &)> &answer,
	uint64_t timeout_ns)
{
	const steady_clock::time_point end =
		timeout_ns ? steady_clock::now() +
				     std::chrono::nanoseconds(timeout_ns)
			   : steady_clock::time_point::max();
	httplib::Server &s = data_->server;
	std::atomic<bool> done = false;
	bool well = false;

	/* Before anything else is read of a request, its payload included. */
	s.set_pre_routing_handler(
		[&](const httplib::Request &r, httplib::Response &to) {
			fill(to, answer({.method = r.method,
					 .target = r.target,
					 .host = r.get_header_value("Host")}));
			return httplib::Server::HandlerResponse::Handled;
		});
	std::thread listener([&] {
		well = s.listen_after_bind();
		done = true;
	});

	/* The library ignores stop() before it runs. */
	while (!done && !s.is_running())
		std::this_thread::sleep_for(milliseconds(1));
	while (!done && steady_clock::now() < end) {
		const auto left = std::chrono::ceil<milliseconds>(
			std::min<steady_clock::duration>(
				end - steady_clock::now(),
				std::chrono::seconds(1)));

		if (SignalsWait::came(std::max(left, milliseconds(0))))
			break;
	}
	s.stop();
	listener.join();
	const std::string where = data_->where;

	data_.reset();
	if (!well)
		throw DeviceError(where + ": connections cannot be accepted");
}
} // namespace mrcctl
