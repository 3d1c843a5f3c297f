/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: the collector without sockets, files and clocks. Times @now are
 * CLOCK_MONOTONIC in ns, @wall is Unix time in ms. A program does:
 *
 *	for each connection: LineReader, then on_line() for each line
 *	every Config::evaluate_every: evaluate(), then deny_lines()
 *	at any time: snapshot(), for the functions of output.hpp
 */
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deny.hpp"
#include "evidence.hpp"
#include "health.hpp"
#include "locate.hpp"
#include "report.hpp"

namespace mrcmap
{
struct AgentView {
	uint32_t host = 0;
	bool connected = false;
	bool silent = true;	     /* no report for Config::silent_time */
	uint64_t reports = 0;	     /* lines with windows */
	std::optional<uint64_t> age; /* ns since the last one */
	Evidence::Totals probes;     /* of paths that it sends on */
	std::vector<std::optional<bool>> carrier; /* by plane */
	uint64_t ev_events = 0; /* new states of queue pairs' EVs */
	std::size_t denied = 0; /* entries of its deny list */
};

struct LinkView {
	mrclab::Direction direction{};
	std::optional<double> loss;	   /* none: nothing known */
	uint64_t qp_sent = 0, qp_lost = 0; /* by the queue pairs' reports */
};

/* Everything that is shown. */
struct Snapshot {
	int64_t wall = 0;
	std::vector<Alarm> alarms;
	std::vector<AgentView> agents;	     /* by host */
	std::vector<LinkView> links;	     /* by 2 * link + (up ? 0 : 1) */
	std::vector<Evidence::Totals> kinds; /* by PathKind */
	std::deque<Change> history;
	uint64_t bad_lines = 0;
};

using Connection = uint64_t; /* numbers of the program's choice */

class CollectorState
{
public:
	/* All must live longer. */
	CollectorState(const mrclab::Topology &topology, const Plan &plan,
		       const Config &config);

	struct Answer {
		std::vector<std::string> lines; /* to send back */
		bool close = false;		/* then close the connection */
		std::string why;		/* of closing, for a log */
	};
	/*
	 * A line without its newline. Lines that are wrong close the
	 * connection. A second connection of a host takes over: close_also()
	 * returns, once, the old ones, for which there is nothing else to do.
	 */
	Answer on_line(Connection from, std::string_view line, uint64_t now);
	std::vector<Connection> close_also();
	void on_disconnect(Connection from);

	/* Looks for faults. Returns what has changed. */
	std::vector<Change> evaluate(uint64_t now, int64_t wall);

	/* Lines for agents whose deny list is not the one they have. */
	struct Line {
		Connection to = 0;
		std::string text;
	};
	std::vector<Line> deny_lines();
	/* Deny lists are made only if asked for; at first they are empty. */
	void enable_deny(bool on) { deny_ = on; }
	const DenyList &deny_list_of(uint32_t host) const;

	Snapshot snapshot(uint64_t now, int64_t wall) const;

private:
	struct Agent {
		std::optional<Connection> connection;
		std::optional<uint64_t> last; /* report */
		uint64_t reports = 0;
		uint64_t ev_events = 0;
		std::vector<std::optional<bool>> carrier;
		DenyList told; /* by the last line to it */
	};

	Answer refuse(const std::string &why);
	Answer on_hello(Connection from, const Hello &hello);
	void on_windows(uint32_t host, const Windows &w, uint64_t now);
	void on_evs(uint32_t host, const EvCounts &counts);
	Answer on_message(uint32_t host, const Message &m, uint64_t now);
	void check_path(uint32_t host, uint32_t to, uint32_t plane,
			uint32_t t1) const;

	const mrclab::Topology &t_;
	const Plan &plan_;
	Config config_;
	Evidence evidence_;
	Locator locator_;
	Health health_;
	bool deny_ = false;
	std::vector<Agent> agents_; /* by host - 1 */
	std::map<Connection, uint32_t> hosts_;
	std::vector<Connection> close_also_;
	std::vector<DenyList> lists_; /* by host - 1 */
	std::vector<LinkView> links_;
	uint64_t bad_lines_ = 0;
};
} // namespace mrcmap
