/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: the programs of a drill's traffic, and their command lines. Words of
 * jobs can have these placeholders, which have values when the fabric is up:
 *
 *	{device} {gid}	   RDMA device of the host; index of its IPv6 address
 *	{address} {mgmt}   its IPv6 address; its IPv4 address on the netdev mgmt
 *	{address:N}	   the same of the N-th host of the list, from 1
 *	{mgmt:N}
 *	{rank} {ranks}	   place of the host in the list, from 0; its length
 *
 * The list has the hosts of a command, or the sender and the receiver of a
 * stream.
 */
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drill.hpp"

namespace mrclab
{
/* Options of a stream between two hosts, as the file has them. */
struct Stream {
	std::string program;
	uint32_t qps = 1;
	uint64_t size = 0; /* bytes of a message; 0: the program's default */
	uint64_t count = 1000; /* exchanges of programs of latency */
	bool both_ways = false;
	std::vector<std::string> options; /* words for both sides */
};

/* Names of the programs that make streams, for messages. */
std::string stream_programs();
bool is_stream_program(std::string_view name);
/* Does it measure how long exchanges take, and then end? */
bool is_latency_program(std::string_view name);

/*
 * Data goes from @from to @to. The server is where the data goes to, but of
 * programs that read where it comes from. @number tells the streams of a drill
 * apart: it becomes a port.
 */
Flow stream_flow(const Stream &s, const std::string &name, uint32_t from,
		 uint32_t to, uint32_t number);

/* A stream from each host of @from to @to, numbered from @number on. */
Flow streams_flow(const Stream &s, const std::string &name,
		  const std::vector<uint32_t> &from, uint32_t to,
		  uint32_t number);

/* "h3" of each job's host, for files; its second job is "h3.2". */
std::vector<std::string> job_names(const std::vector<Job> &jobs);

/*
 * The same command on each of @hosts. Throws UsageError for placeholders that
 * there are not.
 */
Flow command_flow(const std::vector<std::string> &words,
		  const std::string &name, const std::vector<uint32_t> &hosts,
		  Ending ending);

/*
 * Decides at which end each flow is counted. Throws UsageError if two flows
 * cannot be told apart.
 */
void choose_counted(std::vector<Flow> &flows);

/* Replaces placeholders; @value is called with each name without braces. */
std::string
filled(const std::string &word,
       const std::function<std::string(const std::string &name)> &value);
} // namespace mrclab
