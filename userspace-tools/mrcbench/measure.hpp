/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: one measurement, from either side. */
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

#include "cpu.hpp"
#include "plans.hpp"
#include "talk.hpp"

namespace mrcbench
{
/* What a side has for a column. */
struct Place {
	std::string column;
	std::string device;  /* RDMA device; "" of TCP */
	std::string address; /* its GID, or the server's address of TCP */

	bool tcp() const { return column.rfind("tcp", 0) == 0; }
};

/* No message for so long ends a measurement. */
constexpr double stall_seconds = 10;
/* Before the seconds that count, as a share of them. */
constexpr double warm_share = 0.25;

/* What a side knows at a moment. */
struct Snapshot {
	double at = 0; /* seconds of the monotonic clock */
	CpuTimes cpu;
	double own = 0; /* processor time of the process, seconds */
	uint64_t bytes = 0; /* received */
	uint64_t sent = 0, resent = 0; /* packets, where somebody counts them */
};

Snapshot snapshot(const Place &place);
Message message_of(const Snapshot &s);
Snapshot snapshot_in(const Message &m);

/* A stream of the client's: counts, between the marks. */
struct Counts {
	Snapshot from, to;
	std::vector<uint64_t> messages; /* of each queue pair */
	std::vector<uint64_t> latencies; /* ns; of the ping-pongs */
};

/* The traffic of one side, over verbs or sockets. */
class Traffic
{
public:
	Traffic() = default;
	Traffic(const Traffic &) = delete;
	Traffic &operator=(const Traffic &) = delete;
	virtual ~Traffic() = default;

	/* The client's; @mark is called where the time that counts is begun
	 * and over.
	 */
	virtual Counts drive(const std::function<Snapshot()> &mark) = 0;
	/* The server's, until @stop, which is a descriptor to look at. */
	virtual void serve(const std::atomic<bool> &stop, int stop_fd) = 0;
	/* Bytes that the server has taken, for who cannot know at the client. */
	std::atomic<uint64_t> taken{0};
};

std::unique_ptr<Traffic> verbs_client(const Talk &talk, const Place &place,
				      const Shape &shape);
std::unique_ptr<Traffic> verbs_server(const Talk &talk, const Place &place,
				      const Shape &shape);
/* @host: the server's address where the server does not say. */
std::unique_ptr<Traffic> tcp_client(const Talk &talk, const Place &place,
				    const Shape &shape,
				    const std::string &host);
std::unique_ptr<Traffic> tcp_server(const Talk &talk, const Place &place,
				    const Shape &shape);

/* The shape as words, KEY=VALUE, and back. */
Message message_of(const Shape &shape);
Shape shape_in(const Message &m);

using Values = std::map<std::string, double>;

/* Throws RunError, which names what failed. */
Values run_client(const Talk &talk, const Place &place, const Shape &shape,
		  const std::string &host, double background);
/* @find: what this side has for the column; throws if it has nothing. */
void run_server(const Talk &talk,
		const std::function<Place(const std::string &)> &find);

/*
 * The figures of what was counted. @server: its own marks; @one_machine: its
 * processor time is the client's.
 */
Values figures(const Shape &shape, Counts &counts, const Snapshot &server_from,
	       const Snapshot &server_to, bool by_server, bool one_machine,
	       double background);
/* 1: all the same; 1/n: one has all. */
double jain(const std::vector<uint64_t> &shares);
} // namespace mrcbench
