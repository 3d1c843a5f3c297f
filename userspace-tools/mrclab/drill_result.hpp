/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: what a drill has measured. "mrclab drill" writes it as JSON and CSV;
 * "mrclab report" reads the JSON.
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mrclab
{
/* Values of one quantity, one for each interval between two samples. */
struct Series {
	std::string name;  /* "write", "total", "plane 2", "p1l1:s1" */
	bool flow = false; /* goodput of a program; otherwise bytes of links */
	std::vector<double> values; /* bit/s */

	bool operator==(const Series &) const = default;
};

/* Something that the timeline has done. */
struct Event {
	double at = 0;	  /* s, when the change began */
	std::string text; /* the words of the faults */
	double done = 0;  /* s, when all of it was made */

	bool operator==(const Event &) const = default;
};

/* How long the exchanges of a flow took, in us, as its program has measured. */
struct Latency {
	std::string name; /* of the flow */
	double min = 0;
	double typical = 0;	  /* half of them took no longer */
	double p99 = 0, p999 = 0; /* so did 99 and 99.9 % */

	bool operator==(const Latency &) const = default;
};

/* The longest time between two samples in which a flow moved no byte. */
struct Gap {
	std::string name; /* of the flow */
	double ms = 0;

	bool operator==(const Gap &) const = default;
};

/* How the programs of a flow have ended. */
struct FlowEnd {
	std::string name;
	bool ok = false;
	std::string why; /* of !ok: the last lines of the program that failed */

	bool operator==(const FlowEnd &) const = default;
};

/* A requirement of the drill, and what was measured. */
struct Verdict {
	std::string text; /* "write, 3 s to 7 s: worst sample at least 60 %" */
	double wanted = 0;
	double got = 0;
	std::string unit; /* "%", "ms", "us", "" */
	bool ok = false;

	bool operator==(const Verdict &) const = default;
};

/* The drill with one kind of devices. */
struct DrillRun {
	std::string devices;	   /* "mrc" or "rxe" */
	std::vector<double> times; /* ends of the intervals, s */
	std::vector<Series> series;
	std::vector<Event> events;
	std::vector<FlowEnd> flows;
	std::vector<Latency> latencies; /* of flows that measure them */
	std::vector<Gap> gaps;		/* of the others */
	std::vector<Verdict> verdicts;	/* those with mrc count */

	bool operator==(const DrillRun &) const = default;
};

struct DrillResult {
	std::string name;      /* of the drill; a file name */
	std::string title;     /* of its picture */
	std::string figure;    /* of the paper; empty: none */
	std::string published; /* what the paper has */
	std::string about;     /* why ours is better or worse; free text */
	std::string fabric;    /* one line, see summary() */
	std::string kernel;    /* uname -r */
	std::string date;      /* ISO 8601, UTC */
	std::vector<std::string> shown; /* names of the series to draw */
	std::vector<DrillRun> runs;

	bool operator==(const DrillResult &) const = default;
};

/*
 * Text that is no UTF-8 is replaced. Throws SystemError for values that are not
 * finite, which JSON does not have.
 */
std::string json_of(const DrillResult &result);
/* Longer results are refused, in bytes. A drill of an hour has some 10 MB. */
constexpr std::size_t max_result = std::size_t{256} << 20;

/*
 * Throws FileError for text that is no result: too long, unknown, missing and wrong
 * members, times that do not ascend from 0, names of drills that are no names
 * of files, devices and names of series that are there twice.
 */
DrillResult parse_result(std::string_view text, const std::string &file);

/* A line of titles, then a line for each interval: s, bit/s of each series. */
std::string csv_of(const DrillRun &run);
/* The same of latencies: a line for each flow. */
std::string latency_csv_of(const DrillRun &run);

/*
 * Is there a run with mrc, have all of its programs succeeded, and do all of
 * its verdicts hold?
 */
bool passed(const DrillResult &result);
} // namespace mrclab
