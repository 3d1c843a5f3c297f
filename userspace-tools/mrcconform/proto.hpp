/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcconform: what the tester asks a target for. Requests and answers are JSON
 * objects, one a line. Documentation/conformance.md describes them, so that a
 * target can be written for endpoints that have no verbs.
 */
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "ip.hpp"

namespace mrcconform
{
constexpr int proto_version = 1;
/* No request and no answer is longer. */
constexpr size_t max_line = 4 << 20;
constexpr uint64_t max_memory = 16 << 20;

enum class State { reset, init, rtr, rts, error };

/* Rights of remote peers, as bits. */
enum Access : uint32_t {
	access_write = 1,
	access_read = 2,
	access_atomic = 4,
};

namespace req
{
struct Hello {
	int version = 0;
};

/*
 * A queue pair with memory, both of its own. @local is an address of the
 * device, @peer one of the tester.
 */
struct MakeQp {
	Address local, peer;
	uint32_t peer_qpn = 0, sq_psn = 0, rq_psn = 0;
	uint32_t mtu = 0; /* 0: what the tester was told to use */
	uint32_t timeout = 20, retry = 7, recvs = 0;
	uint64_t memory = 65536;
	uint32_t qp_access = access_write, mr_access = access_write;
	State state = State::rts;
};

struct Modify {
	uint32_t qp = 0;
	State state = State::rts;
};

struct Query {
	uint32_t qp = 0;
};

struct Recv {
	uint32_t qp = 0, count = 1;
};

struct Post {
	uint32_t qp = 0, length = 0, rkey = 0;
	uint64_t id = 0, offset = 0, va = 0;
	bool imm = false, solicited = false;
	uint32_t imm_data = 0;
};

/* Answers when @want completions are there, or after @ms. */
struct Poll {
	uint32_t qp = 0, want = 1, ms = 0;
};

struct Read {
	uint32_t qp = 0;
	uint64_t offset = 0, length = 0;
};

struct Write {
	uint32_t qp = 0;
	uint64_t offset = 0;
	Bytes data;
};

/* Ends the registration of a queue pair's memory. */
struct Deregister {
	uint32_t qp = 0;
};

/* Asynchronous events of a queue pair that came within @ms. */
struct Events {
	uint32_t qp = 0, ms = 0;
};

struct Destroy {
	uint32_t qp = 0;
};
} // namespace req

using Request =
	std::variant<req::Hello, req::MakeQp, req::Modify, req::Query,
		     req::Recv, req::Post, req::Poll, req::Read, req::Write,
		     req::Deregister, req::Events, req::Destroy>;

/* Throws FormatError: no JSON, a field that is unknown, missing or out of
 * range. */
Request parse_request(const std::string &line);
/* The line of a request, without the end of the line. */
std::string format_request(const Request &r);

const char *state_name(State s);
State state_named(const std::string &name);
} // namespace mrcconform
