/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: what is to be measured, and how, as the command line says it. */
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

/* Bounds, for the command line and for what a peer asks for. */
constexpr uint32_t max_qps = 1024;
constexpr uint32_t max_depth = 16384;
constexpr uint32_t max_rx_depth = 2 * max_depth;
constexpr uint32_t max_list = 1024;
constexpr uint32_t max_inline = 4096;
constexpr uint64_t max_size = 1u << 30;
constexpr uint64_t max_iterations = 1u << 30;
/* Latencies are kept one by one until the percentiles are known. */
constexpr uint64_t max_samples = 1u << 24;

struct Retry {
	uint8_t linear;
	uint8_t exponential;
};

struct Options {
	/* Each side's own. */
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

	/* The client's, who tells the server. */
	std::vector<Kind> tests{Kind::bw};
	std::vector<Op> ops{Op::write};
	std::vector<uint64_t> sizes; /* empty: as the test wants it */
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
	uint32_t mtu = 0; /* 0: the largest that both sides can do */
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
 * Throws UsageError. No value: help or the version was asked for and is printed
 * to @out.
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
