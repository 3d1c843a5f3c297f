/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: plans. A plan is a text file with sections. A section measures one
 * quantity in several columns (mrc, rxe, tcp), at one point or at a series of
 * points, and may have goals. mrcbench(1) describes the format.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mrcbench
{
enum class Kind {
	bw,   /* a stream of messages: goodput */
	rate, /* the same with small ones: message rate */
	lat,  /* ping-pong: half of a round trip */
	rtt,  /* from post to completion, one at a time */
	idle, /* memory of connected queue pairs that do nothing */
};

enum class Op { write, write_imm, send, read };

enum class Wait {
	event, /* sleep until there is a completion */
	yield, /* poll, and yield the processor in between */
	poll,  /* poll without a break */
};

/* One measurement. */
struct Shape {
	Kind test = Kind::bw;
	Op op = Op::write;
	uint64_t size = 65536; /* bytes of a message, 1 to 2^30 */
	uint32_t qps = 1;      /* queue pairs or connections */
	uint32_t planes = 1;   /* netdevs of each host; always one with rxe and tcp */
	uint32_t mtu = 4096;   /* path MTU; netdevs have room for headers */
	uint32_t evs = 0;      /* entropy values of a QP of mrc, 0: the default */
	uint32_t depth = 64;   /* messages in flight on each queue pair */
	uint32_t list = 1;     /* messages posted at once */
	uint32_t inline_size = 0; /* messages up to this size are sent inline */
	uint32_t timeout = 14;	  /* of the QP, 4.096 us to the power of 2 */
	Wait wait = Wait::event;
	double seconds = 1;	/* measured time; a quarter more is warm-up */
	std::string netem;	/* for packets of the client, on each plane */
	std::string netem_back; /* for packets of the server */
	std::string cc;		/* congestion control of mrc, "": the default */
};

/* The names in plans and in results. */
const char *name_of(Kind test);
const char *name_of(Op op);
const char *name_of(Wait wait);

/* Throws UsageError for an invalid key or value. */
void set_key(Shape &shape, const std::string &key, const std::string &value);

/* A key that has several values in a section. */
struct Axis {
	std::string key;
	std::vector<std::string> values;
};

struct Point {
	std::vector<std::string> at; /* a value for each axis */
	Shape shape;

	std::string label() const; /* "64K/16"; "" without axes */
};

/* The source of a goal's figure. */
struct Operand {
	std::string column;
	std::string section;
	std::string label; /* of the point */
};

/* A figure that is part of a goal's limit. */
struct Term {
	double factor = 1;
	std::string metric;
	Operand of;
};

struct Goal {
	std::string text; /* text of the plan, with section and point */
	std::string metric;
	Operand value;
	bool ratio = false;
	Operand base; /* of a ratio */
	bool at_least = true;
	std::vector<Term> terms; /* of the limit: measured figures, ... */
	double limit = 0;	 /* ... and the sum of the numbers */
};

struct Section {
	std::string name;
	std::string title;
	std::vector<std::string> columns;
	std::vector<std::string> metrics; /* shown in charts and tables */
	std::vector<Axis> axes;		  /* at most two */
	std::vector<Point> points;
	std::vector<Goal> goals;
};

struct Plan {
	std::string name;
	std::string title;
	unsigned int repeat = 5;
	std::vector<Section> sections;

	const Section &section(const std::string &name) const;
};

/*
 * Each of @overrides is "KEY=VALUE" and overrides the whole file. Throws
 * UsageError with @name and the line.
 */
Plan parse_plan(const std::string &name, const std::string &text,
		const std::vector<std::string> &overrides);

/* Whether there is such a column. */
bool is_column(const std::string &name);
} // namespace mrcbench
