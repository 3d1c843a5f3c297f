/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: results, as text, CSV and JSON. */
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "plan.hpp"
#include "stats.hpp"

namespace mrcperf
{
/* Version of the JSON structure. A change that breaks readers increments it. */
constexpr int report_schema = 1;

/* The properties of the session. */
struct Setting {
	std::string device;
	std::string peer_device;
	uint32_t mtu = 0;
};

/* One repetition of a point. */
struct Run {
	uint32_t repetition = 1;
	uint64_t messages = 0;
	uint64_t bytes = 0;
	double seconds = 0;
	/* Ping-pong: half a round trip, in microseconds. */
	std::optional<Percentiles> latency;
	uint64_t checked = 0;
	uint64_t bad = 0;

	double bytes_per_second() const
	{
		return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
	}
	double messages_per_second() const
	{
		return seconds > 0 ? static_cast<double>(messages) / seconds
				   : 0;
	}
};

struct PointResult {
	Point point{};
	std::vector<Run> runs;
};

struct Totals {
	uint64_t messages = 0;
	uint64_t bytes = 0;
	uint64_t checked = 0;
	uint64_t bad = 0;

	void add(const Run &run)
	{
		messages += run.messages;
		bytes += run.bytes;
		checked += run.checked;
		bad += run.bad;
	}
};

/* Receives all results as they arise, and prints them as soon as possible. */
class Report
{
public:
	Report() = default;
	Report(const Report &) = delete;
	Report &operator=(const Report &) = delete;
	virtual ~Report() = default;

	virtual void begin(const Options &options, const Setting &setting) = 0;
	virtual void run(const Point &point, const Run &run) = 0;
	/* Called when all repetitions of the point are done. */
	virtual void point(const PointResult &result) = 0;
	/* @error: why the runs ended early, empty if they did not. */
	virtual void end(const Totals &totals, const std::string &error) = 0;
};

std::unique_ptr<Report> make_report(Format format, std::ostream &out);

/* A field in the format of RFC 4180: in quotes if necessary. */
std::string csv_field(const std::string &text);
} // namespace mrcperf
