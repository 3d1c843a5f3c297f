/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: one measurement, for both sides. */
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../common/fairness.hpp"
#include "cpu.hpp"
#include "plans.hpp"
#include "talk.hpp"

namespace mrcbench
{
using fairness::jain;

/* The device and address of a side for a column. */
struct Place {
	std::string column;
	std::string device;  /* RDMA device; "" for TCP */
	std::string address; /* its GID, or for TCP the server's address */

	bool tcp() const { return column.rfind("tcp", 0) == 0; }
};

/* A measurement ends after this long without a message. */
constexpr double stall_seconds = 10;
/* Warm-up before the measured seconds, as a share of them. */
constexpr double warm_share = 0.25;

/* The counters of a side at one moment. */
struct Snapshot {
	double at = 0; /* seconds of the monotonic clock */
	CpuTimes cpu;
	double own = 0; /* processor time of the process, seconds */
	uint64_t bytes = 0; /* received */
	uint64_t sent = 0, resent = 0; /* packets, if they are counted */
};

Snapshot snapshot(const Place &place);
Message message_of(const Snapshot &s);
Snapshot snapshot_in(const Message &m);

/* The client's counts between the marks. */
struct Counts {
	Snapshot from, to;
	std::vector<uint64_t> messages; /* of each queue pair */
	std::vector<uint64_t> latencies; /* ns; with ping-pong */
};

/* The traffic of one side, over verbs or sockets. */
class Traffic
{
public:
	Traffic() = default;
	Traffic(const Traffic &) = delete;
	Traffic &operator=(const Traffic &) = delete;
	virtual ~Traffic() = default;

	/* The client's side; calls @mark at the begin and at the end of the
	 * measured time.
	 */
	virtual Counts drive(const std::function<Snapshot()> &mark) = 0;
	/* The server's side, until @stop; @stop_fd is a descriptor that becomes
	 * readable then.
	 */
	virtual void serve(const std::atomic<bool> &stop, int stop_fd) = 0;
	/* Bytes that the server has received, for columns that the client
	 * cannot count.
	 */
	std::atomic<uint64_t> taken{0};
};

std::unique_ptr<Traffic> verbs_client(const Talk &talk, const Place &place,
				      const Shape &shape);
std::unique_ptr<Traffic> verbs_server(const Talk &talk, const Place &place,
				      const Shape &shape);
/* @host: the server's address, used if the server sends none. */
std::unique_ptr<Traffic> tcp_client(const Talk &talk, const Place &place,
				    const Shape &shape,
				    const std::string &host);
std::unique_ptr<Traffic> tcp_server(const Talk &talk, const Place &place,
				    const Shape &shape);

/* The shape as words, KEY=VALUE, and back. */
Message message_of(const Shape &shape);
Shape shape_in(const Message &m);

using Values = std::map<std::string, double>;

/* Throws RunError with the reason. */
Values run_client(const Talk &talk, const Place &place, const Shape &shape,
		  const std::string &host, double background);
/* @find: returns this side's place for a column; throws if there is none. */
void run_server(const Talk &talk,
		const std::function<Place(const std::string &)> &find);

/*
 * The figures from the counts. @by_server: use the server's marks;
 * @one_machine: both sides share the processor time of one machine.
 */
Values figures(const Shape &shape, Counts &counts, const Snapshot &server_from,
	       const Snapshot &server_to, bool by_server, bool one_machine,
	       double background);
} // namespace mrcbench
