/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: the command line: what to measure, and how. */
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace mrcperf
{
enum class Kind : uint8_t { bw = 1, rate = 2, lat = 3 };
enum class Op : uint8_t { write = 1, write_imm = 2 };
enum class Format : uint8_t { text, csv, json };

const char *name_of(Kind test);
const char *name_of(Op op);

/* Bounds, for the command line and for requests of a peer. */
constexpr uint32_t max_qps = 1024;
constexpr uint32_t max_depth = 16384;
constexpr uint32_t max_rx_depth = 2 * max_depth;
constexpr uint32_t max_list = 1024;
constexpr uint32_t max_inline = 4096;
constexpr uint64_t max_size = 1u << 30;
constexpr uint64_t max_iterations = 1u << 30;
/* Each latency is stored until the percentiles are computed. */
constexpr uint64_t max_samples = 1u << 24;

struct Retry {
	uint8_t linear;
	uint8_t exponential;
};

struct Options {
	/* Options of each side. */
	std::string server; /* empty: this is the server */
	std::string device;
	uint8_t ib_port = 1;
	std::optional<uint32_t> gid_index;
	uint16_t port = 18700;
	std::string bind;
	uint32_t sessions = 1; /* 0: no end */
	std::optional<uint64_t> ev_profile;
	std::optional<uint64_t> cc_profile;
	double connect_timeout = 10;

	/* Options of the client, which sends them to the server. */
	std::vector<Kind> tests{Kind::bw};
	std::vector<Op> ops{Op::write};
	std::vector<uint64_t> sizes; /* empty: the defaults of the test */
	uint64_t iterations = 1000;
	double duration = 0; /* seconds, instead of iterations */
	uint64_t warmup = 16;
	uint32_t repetitions = 1;
	uint32_t qps = 1;
	uint32_t depth = 128;
	uint32_t rx_depth = 256;
	uint32_t signal = 16;
	uint32_t list = 1;
	uint32_t inline_size = 0;
	uint32_t mtu = 0; /* 0: the largest that both sides support */
	uint8_t traffic_class = 0;
	std::optional<uint8_t> timeout;
	std::optional<Retry> retry;
	double stall = 30;
	bool verify = false;
	bool events = false;
	Format format = Format::text;
	std::string output;
};

/*
 * Throws UsageError. Returns no value after printing help or the version to
 * @out.
 */
std::optional<Options> parse_options(const std::vector<std::string> &args,
				     std::ostream &out);

/* "4096", "64K", "1M", "1G"; 2 to the power of 10, 20, 30. */
uint64_t parse_size(const std::string &what, const std::string &text,
		    uint64_t min, uint64_t max);
uint64_t parse_number(const std::string &what, const std::string &text,
		      uint64_t min, uint64_t max);
double parse_seconds(const std::string &what, const std::string &text,
		     double min, double max);
} // namespace mrcperf
